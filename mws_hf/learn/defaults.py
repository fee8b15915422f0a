"""Defaults of the training settings that were chosen by measurement, each with its measured reasons.

Nothing is imported here, because the help of a command shows these values and must start without numpy.

One set of values serves all languages. They were chosen with the reference segmentations that `docs/measured` reports,
so figures on those sets are slightly optimistic. Other reference segmentations were not looked at. The reasons give F1
of boundaries and tokens per word; details are in the development log (scripts/log) under the date given.
"""

DEFAULT_VOCAB_SIZE = 32_000

DEFAULT_COMPOSITION = 0.5
"""Share of the merges that join frequent neighbors (compositions), from 0 to 1, with the contextual criterion.

At 32,000 entries the other half is more morph merges than most word lists yield evidence for. At 8,000 entries the F1
of the morphs no longer rises from 4,000 merges on (2026-11-21).
"""

COMPOSITION_OF_GROUPS = 0.6
"""Share of the merges that join frequent neighbors when there are several groups, such as languages.

Morphs are learned from every language alike, but compositions by the frequencies of the text, as in BPE. With one half
of the merges, a language that has more text than the others gets too few whole words. Measured on eight languages at
64,000 and 128,000 entries, and compared with BPE of the same text, Russian needs up to 9 % more tokens per word with
0.5, and with 0.6 at most 7.8 (64,000) and 7.4 % more (128,000; docs/languages.md; 2026-11-22).
"""

DEFAULT_HIDDEN_BOUNDARY_PRICE = 1.0
"""Penalty for one certain boundary inside a token of one word type, in units of the mean frequency of a word type.

With 1, a composition must save at least as many tokens as an average word type has occurrences, for each boundary that
it hides. At 32,000 entries this costs 4.6 (English) to 7.9 % (Russian) more tokens per word than BPE, and keeps 80
(forms of Russian text) to 100 % (English) of the boundary F1 of the morphs (scripts/results/quality.md). With 0, which
is plain frequency, the cost is 0.5 % in Finnish and 2.6 % in Russian, and 79 and 73 % of the F1 are kept (2026-11-22).
"""

DEFAULT_CROSSING_PENALTY = 16.0
"""Cost of a merge across a boundary, where a merge inside a morph gains 1.

With 8 and a granularity that is higher by 0.02, the mean F1 does not differ.
"""

DEFAULT_GRANULARITY = 0.095
"""Share of the positions inside words that are more probably a boundary than not.

From 0.09 to 0.11 the F1 of English falls from 0.663 to 0.654, and that of Turkish rises from 0.664 to 0.676.
"""
