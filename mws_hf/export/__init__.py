"""Tokenizers for clients that do not read tokenizer.json; each is compared with the original before it is written."""
