"""One way to measure: `python scripts/lab` runs experiments, keeps their rows and writes their tables."""
