"""Whether what words weigh, summed over their letters, stays within 64 bits; weights that do not are cut down."""

from __future__ import annotations

import math

import numpy as np

from mws_hf.errors import MwSError
from mws_hf.kernels.arrays import Longs

SCALE = 256
"""Units in which compositions reckon an occurrence."""

BITS = 62
"""Sums of worth stay below 2 ** BITS, a factor of two below what int64 holds."""


def letters_weighed(starts: Longs, weights: Longs) -> int:
    """The sum of all words' lengths times weights, exactly.

    >>> letters_weighed(np.array([0, 3, 4]), np.array([2**62, 1]))
    13835058055282163713
    """
    lengths = np.diff(starts)
    return (int((lengths * (weights >> 32)).sum()) << 32) + int((lengths * (weights & 0xFFFFFFFF)).sum())


def check_fits(starts: Longs, counts: Longs, scale: int, price: float = 0.0) -> None:
    """Check that the worth of all places in running text can be summed, each worth `scale` and priced at the mean.

    Args:
        starts: int64, shape (n_words + 1,), where words begin.
        counts: int64, how often each occurs.
        scale: units of an occurrence.
        price: of a boundary, in units of the mean count of a word.

    Raises:
        MwSError: it can not.

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
    """How many low bits of the weights must go for the sum over all letters, each worth at most `scale`, to fit.

    >>> [spare_bits(np.array([0, 4]), np.array([2**40]), 2.0**power) for power in (19, 20)]
    [0, 1]
    """
    return max(0, (letters_weighed(starts, weights) * math.ceil(scale)).bit_length() - BITS)
