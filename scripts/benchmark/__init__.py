"""Parts of `scripts/benchmark.py`: corpus, tasks run in processes of their own, validation, tables and plot."""
