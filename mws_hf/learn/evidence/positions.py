"""Find the positions inside words, cut a corpus into ranges of words for threads, and find the threshold of a share."""

from __future__ import annotations

import numpy as np

from mws_hf.kernels.arrays import Doubles, Longs, Mask
from mws_hf.learn.words import SymbolCorpus


def inner_positions(corpus: SymbolCorpus) -> Mask:
    """Mark the positions inside words: bool, shape (n_symbols,), True after every symbol but the last of each word.

    >>> inner_positions(SymbolCorpus.from_words(["abc", "d"])).tolist()
    [True, True, False, False]
    """
    inner = np.ones(len(corpus.symbols), bool)
    inner[corpus.starts[1:] - 1] = False
    return inner


def word_ranges(corpus: SymbolCorpus, n: int) -> list[Longs]:
    """Cut ``corpus.starts`` into at most `n` slices of about as many symbols each; together they cover all words.

    >>> [r.tolist() for r in word_ranges(SymbolCorpus.from_words(["abc", "de", "f"]), 2)]
    [[0, 3], [3, 5, 6]]
    """
    cuts = np.searchsorted(corpus.starts, np.linspace(0, len(corpus.symbols), n + 1).astype(np.int64))
    return [corpus.starts[lo : hi + 1] for lo, hi in zip(cuts[:-1], cuts[1:], strict=True) if hi > lo]


def least_cut(values: Doubles, granularity: float) -> np.float64:
    """Find the value above which a share of `granularity` of the values lies.

    >>> float(least_cut(np.array([4.0, 1.0, 3.0, 2.0, 5.0]), 0.25))
    4.0
    """
    uncut = round((1 - granularity) * (len(values) - 1))
    found: np.float64 = np.partition(values, uncut)[uncut]
    return found
