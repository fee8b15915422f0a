"""Intervals for differences between language models: a t interval over all seeds, documents drawn by whole works.

Resampling three seeds gives two thirds of the variance of their mean, and "95 %" then covers 85 to 90 %. So the
variance of a mean over seeds is estimated as usual, s^2 / n for each system, and the quantile is that of Student with
the degrees of freedom of Welch and Satterthwaite. Held-out text adds the variance of a bootstrap over works, or over
documents, both systems on the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from lab.tables import student_quantile

from mws_hf.errors import MwSError
from mws_hf.evaluate.significance import PairedDifference

Floats = npt.NDArray[np.float64]
RESAMPLES = 2000


def seed_noise(systems: Sequence[Sequence[float]]) -> tuple[float, int]:
    """Variance of a run around the mean of its system, pooled over systems, and its degrees of freedom.

    Args:
        systems: bits per byte of each seed, of each system; those of one seed say nothing.

    >>> seed_noise([[1.0, 3.0], [5.0], [2.0, 2.0]])
    (1.0, 2)
    """
    several = [np.array(each) for each in systems if len(each) > 1]
    freedom = sum(len(each) - 1 for each in several)
    squares = sum(float(((each - each.mean()) ** 2).sum()) for each in several)
    return (squares / freedom if freedom else math.nan), freedom


def seeds_difference(
    first: Sequence[Floats],
    second: Sequence[Floats],
    n_bytes: npt.NDArray[np.int64],
    *,
    represented: npt.NDArray[np.bool_] | None = None,
    works: Sequence[int] | None = None,
    noise: tuple[float, int] | None = None,
) -> PairedDifference:
    """Compare two systems by the means of all their runs, with a 95 % t interval.

    Args:
        first: nats of each run of the first system, float64 (documents,).
        second: the same for the second; the number of runs may differ.
        n_bytes: int64 (documents,), raw bytes.
        represented: bool (documents,), the documents to compare on; None: all.
        works: number of the work each document belongs to; None: each document stands for itself.
        noise: from `seed_noise`, for systems that have one run.

    Raises:
        MwSError: no run on a side, no document, or one run and no `noise`.

    >>> sizes = np.array([10, 10])
    >>> runs = [np.log(2) * np.array([10.0, 10.0]) * x for x in (0.9, 1.1)]
    >>> found = seeds_difference(runs, [2 * run for run in runs], sizes)
    >>> round(found.value, 6), round(found.relative, 6), found.low < -1 < found.high
    (-1.0, -0.5, True)
    """
    kept = np.ones(len(n_bytes), np.bool_) if represented is None else represented
    if not first or not second or not kept.any():
        raise MwSError("a comparison of runs needs at least one run on each side and a document that both represent")
    sizes = n_bytes[kept].astype(np.float64)
    bits = [np.stack(runs)[:, kept] / math.log(2) for runs in (first, second)]
    parts = [_of_seeds(runs.sum(axis=1) / sizes.sum(), noise) for runs in bits]
    of_works = _of_works(
        bits[0].mean(axis=0) - bits[1].mean(axis=0), sizes, None if works is None else np.array(works)[kept]
    )
    total = sum(variance for variance, _ in parts) + of_works
    doubt = sum(variance**2 / freedom for variance, freedom in parts)
    half = student_quantile(0.975, min(1e6, total**2 / doubt) if doubt else 1e6) * math.sqrt(total)
    means = [float(runs.mean(axis=0).sum() / sizes.sum()) for runs in bits]
    value = means[0] - means[1]
    return PairedDifference(value, value - half, value + half, value / means[1], int(kept.sum()))


def _of_seeds(values: Floats, noise: tuple[float, int] | None) -> tuple[float, int]:
    """Variance of the mean of the runs, and its degrees of freedom."""
    if len(values) > 1:
        return float(values.var(ddof=1)) / len(values), len(values) - 1
    if noise is None or not noise[1]:
        raise MwSError("one run alone has no spread of seeds; give that of the other systems (noise=)")
    return noise


def _of_works(bits: Floats, sizes: Floats, works: npt.NDArray[np.int64] | None) -> float:
    """Variance of the difference in bits per byte when works, or documents, are drawn with replacement."""
    if works is not None:
        numbers = np.unique(works, return_inverse=True)[1]
        bits, sizes = np.bincount(numbers, bits), np.bincount(numbers, sizes)
    generator = np.random.Generator(np.random.PCG64(0))
    drawn = (generator.random((RESAMPLES, len(bits))) * len(bits)).astype(np.int64)
    return float((bits[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)).var())
