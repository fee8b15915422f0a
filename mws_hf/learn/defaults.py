"""Defaults of the training settings that were chosen by measurement, each with its measured reasons.

Nothing is imported here, because the help of a command shows these values and must start without numpy.

One set of values serves all languages. They were chosen with the reference segmentations that `docs/measured` reports,
so figures on those sets are slightly optimistic. Other reference segmentations were not looked at. The reasons give F1
of boundaries and tokens per word; details are in the development log (scripts/log) under the date given.
"""

DEFAULT_VOCAB_SIZE = 32_000

DEFAULT_COMPOSITION = 0.5
"""Share of the merges that join frequent neighbors (compositions), from 0 to 1, with the contextual criterion.

With a vocabulary size of 32,000, the other half is more morph merges than most word lists provide evidence for. With
8,000, the F1 of the morphs no longer rises after 4,000 merges (2026-11-21).
"""

COMPOSITION_OF_GROUPS = 0.6
"""Share of the merges that join frequent neighbors when there are several groups, such as languages.

Morphs are learned equally from all languages, but compositions depend on the frequencies in the text, as in BPE. If
only half of the merges are compositions, a language with more text than the others gets too few whole words. This was
measured on eight languages with the vocabulary sizes 64,000 and 128,000: with 0.5, Russian needs up to 9 % more tokens
per word than with BPE on the same text; with 0.6, it needs at most 7.8 % (64,000) and 7.4 % (128,000) more
(docs/languages.md; 2026-11-22).
"""

DEFAULT_HIDDEN_BOUNDARY_PRICE = 1.0
"""Penalty for one certain boundary inside a token of one word type, in units of the mean frequency of a word type.

With 1, a composition must save at least as many tokens as an average word type has occurrences, for each boundary that
it hides. With a vocabulary size of 32,000, texts then need 4.6 % (English) to 7.9 % (Russian) more tokens per word than
with BPE, and 80 % (forms of Russian text) to 100 % (English) of the boundary F1 of the morphs is kept
(scripts/results/quality.md). With 0, which is plain frequency, they need 0.5 % (Finnish) and 2.6 % (Russian) more
tokens per word, and 79 % and 73 % of the F1 is kept (2026-11-22).
"""

DEFAULT_CROSSING_PENALTY = 16.0
"""Cost of an occurrence across a boundary in a morph merge, where one inside a morph gains 1.

With 8 and a granularity that is higher by 0.02, the mean F1 is the same.
"""

DEFAULT_GRANULARITY = 0.095
"""Share of the positions inside words that are more probably a boundary than not.

From 0.09 to 0.11 the F1 of English falls from 0.663 to 0.654, and that of Turkish rises from 0.664 to 0.676.
"""
