"""Learning merges from word counts: both criteria, and the trainer. Nothing here is needed to encode."""
