"""Paired bootstrap over documents between two systems scored on the same text; it knows nothing of their models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mws_hf.errors import MwSError
from mws_hf.evaluate.significance import interval

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PairedDifference:
    """Bits per byte of a first system minus those of a second: negative when the first is better.

    Attributes:
        value: the difference in bits per byte.
        low: 2.5 % quantile over resampled documents.
        high: 97.5 % quantile.
        relative: `value` over the second's bits per byte.
        documents: how many documents both represent.
    """

    value: float
    low: float
    high: float
    relative: float
    documents: int


def paired_bootstrap(
    first: Sequence[Floats],
    second: Sequence[Floats],
    n_bytes: npt.NDArray[np.int64],
    *,
    represented: npt.NDArray[np.bool_] | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> PairedDifference:
    """Compare two systems, each with one or more runs (seeds), on the same documents.

    Runs of a system are averaged document by document; documents are drawn with replacement, runs with them, so the
    interval holds the variation of seeds as well when there are several.

    Args:
        first: nats of each run of the first system, float64 (documents,).
        second: the same for the second.
        n_bytes: int64 (documents,), raw bytes.
        represented: bool (documents,), the documents to compare on; None: all.
        resamples: bootstrap samples.
        seed: of the resampling.

    Raises:
        MwSError: no run, no document, or arrays of unequal length.

    >>> sizes = np.array([10, 20])
    >>> paired_bootstrap([np.log(2) * sizes], [np.log(2) * 2.0 * sizes], sizes)
    PairedDifference(value=-1.0, low=-1.0, high=-1.0, relative=-0.5, documents=2)
    """
    kept = np.ones(len(n_bytes), np.bool_) if represented is None else represented
    if not first or not second or any(len(run) != len(n_bytes) for run in (*first, *second)) or not kept.any():
        raise MwSError("a paired comparison needs at least one run on each side and the same documents in all of them")
    bits = [np.stack(runs)[:, kept] / math.log(2) for runs in (first, second)]
    sizes = n_bytes[kept].astype(np.float64)
    generator = np.random.Generator(np.random.PCG64(seed))
    differences = np.empty(resamples)
    for index in range(resamples):
        weights = np.bincount(generator.integers(0, len(sizes), len(sizes)), minlength=len(sizes)).astype(np.float64)
        drawn = [runs[generator.integers(0, len(runs), len(runs))].mean(axis=0) for runs in bits]
        # not `@`: a library of linear algebra may add in another order with other threads
        differences[index] = ((drawn[0] - drawn[1]) * weights).sum() / (sizes * weights).sum()
    low, high = interval(differences)
    means = [float(runs.mean(axis=0).sum() / sizes.sum()) for runs in bits]
    return PairedDifference(means[0] - means[1], low, high, (means[0] - means[1]) / means[1], int(kept.sum()))
