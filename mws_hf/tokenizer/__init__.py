"""A tokenizer and its directory: built, opened, read as a value, checked, explained, saved. Nothing here learns."""
