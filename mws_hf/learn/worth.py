"""Work out what a position is worth to the merges of each phase, from boundary posteriors and weights.

A position is the place after a character, where a boundary may lie. The value of a pair of tokens is the sum of the
worth of the positions between them. A position inside a morph is worth its word's weight to the morph phase, and one
across a boundary costs the crossing penalty. To the composition phase each position is worth the tokens that it saves
in running text, less the price of the boundary that it hides. Nothing is merged here.

Sums of weights over all letters must fit into 64 bits; where they do not, low bits of the weights go.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mws_hf.errors import MwSError
from mws_hf.kernels.arrays import Doubles, Ints, Longs
from mws_hf.kernels.threads import in_parts
from mws_hf.learn.engine.pairs import write_cells
from mws_hf.learn.engine.segmentation import Segmentation
from mws_hf.learn.evidence.forms import Forms
from mws_hf.learn.words import SymbolCorpus

SCALE = 256
"""Units in which the composition phase counts one occurrence."""

BITS = 62
"""Sums of worth stay below 2 ** BITS, a factor of two below what int64 holds."""


def letters_weighed(starts: Longs, weights: Longs) -> int:
    """Add up the lengths of all words times their weights, exactly.

    >>> letters_weighed(np.array([0, 3, 4]), np.array([2**62, 1]))
    13835058055282163713
    """
    lengths = np.diff(starts)
    return (int((lengths * (weights >> 32)).sum()) << 32) + int((lengths * (weights & 0xFFFFFFFF)).sum())


def check_fits(starts: Longs, counts: Longs, scale: int, price: float = 0.0) -> None:
    """Check that 64 bits hold the worth of all positions of the running text, each at the price of a certain boundary.

    Args:
        starts: int64, shape (n_words + 1,), where words begin.
        counts: int64, shape (n_words,), how often each word occurs.
        scale: units of an occurrence.
        price: of a boundary, in units of the mean count of a word.

    Raises:
        MwSError: the sum is too large.

    >>> check_fits(np.array([0, 4]), np.array([2**52 - 1]), 256)
    >>> check_fits(np.array([0, 4]), np.array([2**52]), 256)
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: the words add up to 18014398509481984 letters of text, more than can be weighed; divide ...
    """
    letters = letters_weighed(starts, counts)
    mean = float(counts.sum(dtype=np.float64)) / max(1, len(counts))
    needed = scale * (letters + math.ceil(price * mean * float(starts[-1] - starts[0])))
    if needed >> BITS:
        factor = (needed >> BITS) + 1
        raise MwSError(
            f"the words add up to {letters} letters of text, more than can be weighed; divide all counts by {factor} "
            "or more"
        )


def spare_bits(starts: Longs, weights: Longs, scale: float) -> int:
    """Find how many low bits of the weights must go so that the sum over all letters fits into `BITS` bits.

    Args:
        starts: int64, shape (n_words + 1,), where words begin.
        weights: int64, shape (n_words,).
        scale: the most that one letter of a word of weight 1 is worth.

    >>> [spare_bits(np.array([0, 4]), np.array([2**40]), 2.0**power) for power in (19, 20)]
    [0, 1]
    """
    return max(0, (letters_weighed(starts, weights) * math.ceil(scale)).bit_length() - BITS)


UNIT = 1 << 16
"""Worth of an occurrence that is surely inside a morph; posteriors are rounded to 1 / UNIT before any comparison."""

FORM_UNIT = 256
"""Weight of a type, shared out among its forms by their counts, each at least 1: entries go to the forms that text has
(equal shares cost lower-case English words .008 of F1, Russian ones .002)."""

_WORDS_AT_ONCE = 1 << 12
"""Words whose worth is worked out at a time, so that intermediate arrays stay small."""


def form_weights(forms: Forms, type_of: Ints, type_weights: Doubles | None = None) -> Longs:
    """Share each type's weight of `FORM_UNIT` out among its forms by their counts, at least 1 each.

    Args:
        forms: forms and the types that they share.
        type_of: int32, shape (n_forms,): number of the form's type in the evidence; negative where it has none.
        type_weights: float64, factor of each type of the evidence; None: 1 for all.

    Returns:
        int64, shape (n_forms,); 0 for forms without evidence.
    """
    total = np.bincount(forms.type_of, forms.counts)[forms.type_of]
    shares = np.rint(FORM_UNIT * forms.counts / total)
    if type_weights is not None:
        shares = np.rint(np.maximum(1, shares) * type_weights[np.maximum(type_of, 0)])
    return np.where(type_of < 0, 0, np.maximum(1, shares)).astype(np.int64)


def morph_worth(boundaries: Doubles, weights: Longs, crossing_penalty: float) -> Longs:
    """Work out what positions are worth to morphs: weight * (1 - (1 + penalty) * P(boundary)), in 1 / UNIT.

    >>> (morph_worth(np.array([0.0, 1.0]), np.array([3, 3]), 16.0) / UNIT).tolist()
    [3.0, -48.0]
    """
    return np.rint(UNIT * (1 - (1 + crossing_penalty) * boundaries)).astype(np.int64) * weights


def composition_worth(boundaries: Doubles, counts: Longs, price: float) -> Longs:
    """Work out what positions are worth to compositions: count - price * P(boundary), in 1 / SCALE of an occurrence.

    Args:
        boundaries: float64, probability of a boundary at each position.
        counts: int64, how often the word of each position occurs in running text.
        price: of a certain boundary, in 1 / SCALE of an occurrence.

    >>> (composition_worth(np.array([0.0, 0.5]), np.array([3, 3]), 8.0 * SCALE) / SCALE).tolist()
    [3.0, -1.0]
    """
    return SCALE * counts - np.rint(price * boundaries).astype(np.int64)


Worth = Callable[[Doubles, Longs], Longs]
"""Worth of positions from the boundaries there and the weights of their words, such as `morph_worth`."""


class Cells(Protocol):
    """Words in the cells of the merge engine (see learn/engine/pairs.py): all that a phase sees of them.

    The words of a training are `SymbolCells`; `mws_hf.extend` has words as another tokenizer cuts them. Both are learnt
    from by `morphs.learn_morphs` and `compositions.compose`.
    """

    @property
    def segmentation(self) -> Segmentation:
        """The words in tokens; learning moves it on."""

    def values(self, boundaries: Doubles, weights: Longs, worth: Worth) -> Longs:
        """Lay the worth of all positions out by cell: int64, shape (n_cells,); cells between words hold no worth.

        Args:
            boundaries: float64, shape (n_characters,): probability of a boundary after each character of the words.
            weights: int64, shape (n_words,).
            worth: gives worth from the boundaries and the weights of some positions.
        """


@dataclass(frozen=True)
class SymbolCells:
    """Words of an alphabet, a cell for each symbol.

    >>> corpus = SymbolCorpus.from_words(["ab", "c"])
    >>> cells = SymbolCells(Segmentation(corpus), corpus)
    >>> cells.values(np.zeros(3), np.array([2, 7]), lambda _, weights: weights)[[1, 2, 4]].tolist()
    [2, 2, 7]
    """

    segmentation: Segmentation
    corpus: SymbolCorpus

    def values(self, boundaries: Doubles, weights: Longs, worth: Worth) -> Longs:
        """Lay the worth of all positions out by cell, some words at a time, in threads."""
        return _cell_values(self.corpus, boundaries, weights, worth)


def _cell_values(corpus: SymbolCorpus, boundaries: Doubles, weights: Longs, worth: Worth) -> Longs:
    values = np.empty(len(corpus.symbols) + len(corpus) + 1, np.int64)
    values[0] = 0

    def fill(a: int, b: int) -> None:
        for first in range(a, b, _WORDS_AT_ONCE):
            starts = corpus.starts[first : min(b, first + _WORDS_AT_ONCE) + 1]
            each = np.repeat(weights[first : first + len(starts) - 1], np.diff(starts))
            found = worth(boundaries[starts[0] : starts[-1]], each)
            write_cells(found, starts - starts[0], values[starts[0] + first :])

    in_parts(fill, len(corpus))
    return values
