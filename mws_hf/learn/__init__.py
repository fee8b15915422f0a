"""Learn merges from word counts, by the contextual or the classic criterion; encoding does not need this package."""
