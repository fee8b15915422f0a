"""Bulk encoding of corpora into memory-mapped token ids; ids equal the Rust backend's. It trains nothing."""
