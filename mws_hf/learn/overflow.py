"""Check that sums of weights over all letters fit into 64 bits, or find how many low bits of the weights must go."""

from __future__ import annotations

import math

import numpy as np

from mws_hf.errors import MwSError
from mws_hf.kernels.arrays import Longs

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
