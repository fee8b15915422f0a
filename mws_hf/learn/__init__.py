"""Learn merges from word counts by either criterion. Nothing here is needed to encode."""
