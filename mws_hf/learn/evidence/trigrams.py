"""A letter model of stems: each letter after the two before it, and the end of the stem. No stems are chosen here.

Interpolated absolute discounting (Ney et al. 1994) down to bigrams, letters and the uniform distribution. It is learnt
from distinct stems, so that a stem says how stems are spelled and not how frequent it is. Rare letters share one row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mws_hf.kernels.arrays import Doubles, Ints, Longs
from mws_hf.kernels.jit import njit
from mws_hf.learn.words import CodePoints, SymbolCorpus

MOST_LETTERS = 80
"""Letters with a row of their own: the most frequent ones. The table has the cube of their number of cells."""

DISCOUNT = 0.75
_FLOOR = 1e-12


class Trigrams(NamedTuple):
    """Fitted letter model.

    Attributes:
        letter_of: int32, shape (n_alphabet,), the row of each symbol of the alphabet.
        share_of: float64, shape (n_alphabet,), the share of each symbol among the symbols of its row.
        table: float64, shape (n, n, n): probability of a letter (last axis) after two others. The last number stands
            for the start before a stem and for its end.
    """

    letter_of: Ints
    share_of: Doubles
    table: Doubles


class StemLetters(NamedTuple):
    """Factors of the probability of stems, spelled out in a corpus; float64, shape (n_symbols,) each.

    Attributes:
        letters: probability of each symbol after the two before it; 1 for the first two of a word.
        heads: probability that a stem begins with this symbol and the next, over the `letters` of both.
        ends: probability that a stem ends after this symbol and the one before it.
    """

    letters: Doubles
    heads: Doubles
    ends: Doubles


def fit_trigrams(corpus: SymbolCorpus, stems: CodePoints, most: int = MOST_LETTERS) -> Trigrams:
    """Learn how stems are spelled.

    Args:
        corpus: distinct words, for the frequency of letters.
        stems: distinct stems, in symbols of the corpus.
        most: so many of the most frequent letters have a row of their own.
    """
    frequency = np.bincount(corpus.symbols, minlength=len(corpus.alphabet))
    order = np.argsort(-frequency, kind="stable")
    n = min(len(order), most)
    letter_of = np.full(len(order), n, np.int32)
    letter_of[order[:n]] = np.arange(n, dtype=np.int32)
    share_of = np.ones(len(order))
    rare = order[n:]
    share_of[rare] = frequency[rare] / max(int(frequency[rare].sum()), 1)
    edge = n + 1
    counts = np.zeros((edge + 1, edge + 1, edge + 1))
    _add_trigrams(letter_of[stems.points], stems.starts, edge, counts)
    pairs = counts.sum(0)
    single = pairs.sum(0)
    lower = _smoothed(single, np.full(edge + 1, 1 / (edge + 1)))
    return Trigrams(letter_of, share_of, _smoothed(counts, _smoothed(pairs, lower)[None]))


@njit(nogil=True)
def _add_trigrams(letters: Ints, starts: Longs, edge: int, counts: Doubles) -> None:
    for w in range(len(starts) - 1):
        x = y = np.int64(edge)
        for i in range(starts[w], starts[w + 1]):
            z = np.int64(letters[i])
            counts[x, y, z] += 1
            x, y = y, z
        counts[x, y, edge] += 1


def _smoothed(counts: Doubles, lower: Doubles) -> Doubles:
    """Compute probabilities along the last axis; the shorter context spreads the discounted mass.

    >>> _smoothed(np.array([2.0, 0.0]), np.array([0.5, 0.5])).tolist()
    [0.8125, 0.1875]
    """
    total = counts.sum(-1, keepdims=True)  # sums of whole numbers, the same in any order
    seen = (counts > 0).sum(-1, keepdims=True)
    per = np.maximum(total, 1)
    found: Doubles = np.where(total > 0, np.maximum(counts - DISCOUNT, 0) / per + DISCOUNT * seen / per * lower, lower)
    return found


def spell_stems(trigrams: Trigrams, corpus: SymbolCorpus) -> StemLetters:
    """Look up the factors of all symbols of a corpus that has the alphabet of the model."""
    n = len(corpus.symbols)
    found = StemLetters(np.ones(n), np.ones(n), np.ones(n))
    letters, shares = trigrams.letter_of[corpus.symbols], trigrams.share_of[corpus.symbols]
    _fill_letters(letters, shares, corpus.starts, trigrams.table, *found)
    return found


@njit(nogil=True)
def _fill_letters(
    symbols: Ints, shares: Doubles, starts: Longs, table: Doubles, letters: Doubles, heads: Doubles, ends: Doubles
) -> None:
    edge = len(table) - 1
    for w in range(len(starts) - 1):
        begin, end = starts[w], starts[w + 1]
        for i in range(begin + 1, end):
            if i > begin + 1:
                letters[i] = max(table[symbols[i - 2], symbols[i - 1], symbols[i]] * shares[i], _FLOOR)
            ends[i] = max(table[symbols[i - 1], symbols[i], edge], _FLOOR)
        for i in range(begin, end - 1):
            first, second = table[edge, edge, symbols[i]] * shares[i], table[edge, symbols[i], symbols[i + 1]]
            heads[i] = max(first * second * shares[i + 1], _FLOOR) / (letters[i] * letters[i + 1])
