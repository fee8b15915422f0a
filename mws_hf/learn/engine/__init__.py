"""Greedy merging of adjacent pairs of tokens, whatever their values come from."""
