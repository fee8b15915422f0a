"""Encode corpora in bulk into memory-mapped token ids; ids equal the Rust backend's."""
