"""Compute boundary evidence from word types alone, for the contextual criterion; merges are learnt elsewhere."""
