"""Read text of every kind and count its words; read reference segmentations and labels."""
