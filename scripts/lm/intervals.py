"""Intervals for differences between language models: a t interval over all seeds, documents drawn by whole works.

Resampling three seeds gives two thirds of the variance of their mean, and "95 %" then covers 85 to 90 %. So the
variance of a mean over seeds is estimated as usual, s^2 / n for each system, and the quantile is that of Student with
the degrees of freedom of Welch and Satterthwaite. Held-out text adds the variance of a bootstrap over works, or over
single lines, both systems on the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from lab.tables import student_quantile

from mws_hf.kernels.arrays import Doubles, Longs

RESAMPLES = 2000


class Interval(NamedTuple):
    """A difference in bits per byte, the ends of its 95 % interval, and the difference over the second's bits."""

    value: float
    low: float
    high: float
    relative: float


def seed_noise(systems: Sequence[Sequence[float]]) -> tuple[float, int]:
    """Variance of a run around the mean of its system, pooled over systems, and its degrees of freedom.

    Args:
        systems: bits per byte of each seed, of each system; those of one seed say nothing.

    Returns:
        Nothing known, where no system has two seeds, is (0, 1).

    >>> seed_noise([[1.0, 3.0], [5.0], [2.0, 2.0]])
    (1.0, 2)
    """
    several = [np.array(each) for each in systems if len(each) > 1]
    freedom = sum(len(each) - 1 for each in several)
    squares = sum(float(((each - each.mean()) ** 2).sum()) for each in several)
    return (squares / freedom, freedom) if freedom else (0.0, 1)


def seeds_difference(
    first: Sequence[float], second: Sequence[float], text: float, noise: tuple[float, int] = (0.0, 1)
) -> Interval:
    """Compare two systems by the means of all their runs, with a 95 % t interval.

    Args:
        first: bits per byte of each run of the first system.
        second: the same for the second; the number of runs may differ.
        text: variance of the difference that the held-out text adds (`text_variance`).
        noise: from `seed_noise`, for systems that have one run.

    >>> found = seeds_difference([0.9, 1.1], [1.8, 2.2], 0.0)
    >>> round(found.value, 6), round(found.relative, 6), found.low < -1 < found.high
    (-1.0, -0.5, True)
    """
    sides = [np.array(side) for side in (first, second)]
    parts = [(float(x.var(ddof=1)) / len(x), len(x) - 1) if len(x) > 1 else noise for x in sides]
    total = sum(variance for variance, _ in parts) + text
    doubt = sum(variance**2 / freedom for variance, freedom in parts)
    half = student_quantile(0.975, min(1e6, total**2 / doubt) if doubt else 1e6) * math.sqrt(total)
    means = [float(x.mean()) for x in sides]
    value = means[0] - means[1]
    return Interval(value, value - half, value + half, value / means[1])


def text_variance(nats: Doubles, n_bytes: Longs) -> float:
    """Variance of bits per byte when works, or lines, are drawn with replacement; `nats` is a difference of two sides.

    >>> text_variance(np.array([7.0, 7.0]), np.array([10, 10]))
    0.0
    """
    generator = np.random.Generator(np.random.PCG64(0))
    drawn = (generator.random((RESAMPLES, len(nats))) * len(nats)).astype(np.int64)
    bits, sizes = nats / math.log(2), n_bytes.astype(np.float64)
    return float((bits[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)).var())
