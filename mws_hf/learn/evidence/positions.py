"""Positions in a corpus of words: which lie inside words, which are cut, and how threads share the words out."""

from __future__ import annotations

import numpy as np

from mws_hf.kernels.arrays import Doubles, Longs, Mask
from mws_hf.learn.words import SymbolCorpus


def inner_positions(corpus: SymbolCorpus) -> Mask:
    """True after every symbol but the last of each word.

    >>> inner_positions(SymbolCorpus.from_words(["abc", "d"])).tolist()
    [True, True, False, False]
    """
    inner = np.ones(len(corpus.symbols), bool)
    inner[corpus.starts[1:] - 1] = False
    return inner


def word_ranges(corpus: SymbolCorpus, n: int) -> list[Longs]:
    """At most `n` slices of ``corpus.starts``, of about as many symbols each, that cover all words.

    >>> [r.tolist() for r in word_ranges(SymbolCorpus.from_words(["abc", "de", "f"]), 2)]
    [[0, 3], [3, 5, 6]]
    """
    cuts = np.searchsorted(corpus.starts, np.linspace(0, len(corpus.symbols), n + 1).astype(np.int64))
    return [corpus.starts[lo : hi + 1] for lo, hi in zip(cuts[:-1], cuts[1:], strict=True) if hi > lo]


def least_cut(values: Doubles, granularity: float) -> np.float64:
    """The value above which a share of `granularity` of the values lies.

    >>> float(least_cut(np.array([4.0, 1.0, 3.0, 2.0, 5.0]), 0.25))
    4.0
    """
    uncut = round((1 - granularity) * (len(values) - 1))
    found: np.float64 = np.partition(values, uncut)[uncut]
    return found
