"""Read text and count words: readers, pre-token counts, lexicons. Nothing is learnt here."""
