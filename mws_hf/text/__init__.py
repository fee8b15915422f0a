"""Properties of text that tokenizers depend on: split patterns, special tokens, alphabets, Unicode classes."""
