"""Boundary probabilities of words (called *evidence*), computed from the distinct words of a text."""
