"""Define split patterns, special tokens, alphabets, letter case and other properties of the text of a tokenizer."""
