"""Encode a corpus to memory-mapped token ids, which are the same as those of `tokenizers`."""
