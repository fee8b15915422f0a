"""The published MwS coefficient, exact, and merges by it."""
