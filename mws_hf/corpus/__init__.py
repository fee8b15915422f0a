"""Where words come from: readers, pre-token counts, lexicons. Nothing is learnt here."""
