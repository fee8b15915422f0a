"""Boundary evidence from word types alone, the contextual criterion. It proposes cuts; merges are learnt elsewhere."""
