"""Run experiments, save their raw results as rows, and write their tables: `python scripts/lab`."""
