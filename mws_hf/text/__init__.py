"""Describe the text that tokenizers work on: split patterns, special tokens, alphabets, letter case."""
