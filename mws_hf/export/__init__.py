"""Tokenizers for clients that do not read tokenizer.json; each format is compared with it before it is written."""
