"""What text is to a tokenizer: split patterns, special tokens, the byte alphabet, named alphabets."""
