"""Encode a corpus into token ids on disk, which are memory-mapped and the same as those of `tokenizers`."""
