"""Add upper-case variants of frequent words at a small share of their count, so that some become compositions.

Running text has few words in capitals, so a vocabulary learnt from it cuts a headline into many tokens. One occurrence
in capitals for every `SHARE` in small letters mends this for 30 to 300 entries (scripts/LOG.md, 2026-11-23). Words with
one capital at the head get no variant: they are so many that they would make text 1.9 % longer.
"""

from __future__ import annotations

import numpy as np

from mws_hf.kernels.arrays import Longs
from mws_hf.learn.words import CodePoints, both_lists, find_among

SHARE = 500
"""Occurrences in small letters for which a word counts once in capitals."""


def with_capitals(words: CodePoints, counts: Longs) -> tuple[CodePoints, Longs]:
    """Give each word that occurs `SHARE` times and more in small letters an upper-case variant.

    A word whose upper-case variant is longer, such as one with "ß", gets none.

    Args:
        words: distinct words.
        counts: int64, shape (n_words,), how often each occurs.

    Returns:
        The words, with new ones at the end, and the count of each.

    >>> words, counts = with_capitals(CodePoints.of([" ab", " AB", " Cd", " cd"]), np.array([1000, 3, 900, 500]))
    >>> words.strings(), counts.tolist()
    ([' ab', ' AB', ' Cd', ' cd', ' CD'], [1000, 5, 900, 500, 1])
    """
    often = np.nonzero(counts >= SHARE)[0]
    variants: dict[str, int] = {}
    for word, count in zip(words.take(often).strings(), counts[often].tolist(), strict=True):
        variant = word.upper()
        if word == word.lower() and variant != word and len(variant) == len(word):
            variants[variant] = variants.get(variant, 0) + count // SHARE
    if not variants:
        return words, counts
    added, times = CodePoints.of(list(variants)), np.fromiter(variants.values(), np.int64, len(variants))
    found = find_among(added, words)
    known = found >= 0
    counts = counts.astype(np.int64)  # a copy
    counts[found[known]] += times[known]
    return both_lists(words, added.take(np.nonzero(~known)[0])), np.concatenate([counts, times[~known]])
