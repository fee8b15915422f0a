"""Compute the published MwS coefficient exactly, and learn merges by it."""
