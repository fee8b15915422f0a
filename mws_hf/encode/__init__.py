"""Encode a corpus into memory-mapped token ids, which are the same as those of `tokenizers`."""
