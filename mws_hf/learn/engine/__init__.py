"""Merge adjacent pairs of tokens greedily, whatever their values come from."""
