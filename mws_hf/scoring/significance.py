"""Test differences for significance: paired bootstrap over words or documents, and tests on fixed samples of words."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
import numpy.typing as npt

from mws_hf.errors import MwSError, SettingError
from mws_hf.kernels import Doubles, Longs, Mask
from mws_hf.scoring.boundaries import WordTable, f1, macro_scores, summarize


@dataclass(frozen=True)
class Difference:
    """The difference between two segmentations of the same gold words, first minus second.

    Attributes:
        f1: difference in micro F1.
        low: 2.5 % quantile of the paired bootstrap.
        high: 97.5 % quantile.
        wilcoxon: two-sided p value of the Wilcoxon test over macro F1 of `stable_samples`. The samples overlap, so
            prefer the interval.
        samples_won: samples on which the first segmentation has the higher macro F1.
        samples: number of samples.
    """

    f1: float
    low: float
    high: float
    wilcoxon: float
    samples_won: int
    samples: int


@dataclass(frozen=True)
class PairedDifference:
    """Bits per byte of a first system minus those of a second one; negative if the first one is better.

    Attributes:
        value: the difference.
        low: 2.5 % quantile over resampled documents.
        high: 97.5 % quantile.
        relative: `value` divided by the bits per byte of the second system.
        documents: number of compared documents.
        second: bits per byte of the second system.
    """

    value: float
    low: float
    high: float
    relative: float
    documents: int
    second: float

    @property
    def percent(self) -> tuple[float, float, float]:
        """`value`, `low` and `high` in percent of the bits per byte of the second system.

        >>> PairedDifference(-0.5, -0.75, -0.25, -0.25, 9, 2.0).percent
        (-25.0, -37.5, -12.5)
        """
        return 100 * self.value / self.second, 100 * self.low / self.second, 100 * self.high / self.second


def check_resamples(resamples: int) -> None:
    """Raise SettingError unless the number of bootstrap resamples is a whole number of at least 1."""
    if isinstance(resamples, bool) or not isinstance(resamples, Integral) or resamples < 1:
        raise SettingError("resamples", resamples, "is not a number of bootstrap resamples; give 1000, or at least 1")


def bootstrap_f1(tables: Sequence[WordTable], resamples: int = 1000, seed: int = 0) -> Doubles:
    """Compute micro F1 of each table under the same resamples of words.

    Args:
        tables: tables of the same gold words.
        resamples: number of resamples.
        seed: seed of the resampling.

    Returns:
        Micro F1, float64, shape (len(tables), resamples).

    Raises:
        MwSError: the tables have different words, or none.
    """
    words = tables[0].words if tables else ()
    if not words or any(table.words != words for table in tables):
        raise MwSError("the bootstrap needs tables of the same gold words, and at least one word")
    # the columns 2 * hits and predicted + gold of each table are whole numbers, so that the matrix product is exact
    columns = np.stack([c for t in tables for c in (2 * t.hits, t.predicted + t.gold)], axis=1).astype(np.float64)
    result = np.empty((len(tables), resamples))
    for index, drawn in enumerate(_drawn(len(words), resamples, seed)):
        sums = drawn @ columns
        whole = sums[1::2]
        result[:, index] = np.where(whole > 0, sums[0::2] / np.maximum(whole, 1), 1.0)
    return result


def interval(values: npt.ArrayLike) -> tuple[float, float]:
    """Return the 2.5 % and 97.5 % quantiles of values."""
    low, high = np.quantile(np.asarray(values, dtype=np.float64), [0.025, 0.975])
    return float(low), float(high)


def stable_samples(words: Sequence[str], samples: int = 10, size: int = 1000) -> list[Longs]:
    """Draw random subsets of words that depend only on the set of words, so that runs can be paired.

    The subsets are those of Morfessor's evaluation, `random.Random(i).sample(sorted(words), size)`, but of at most half
    of the words.

    Returns:
        The indices of the words of each subset.
    """
    order = sorted(range(len(words)), key=words.__getitem__)
    size = min(size, (len(words) + 1) // 2)
    return [np.array(random.Random(seed).sample(order, size), dtype=np.int64) for seed in range(samples)]


def difference(first: WordTable, second: WordTable, first_f1: Doubles, second_f1: Doubles) -> Difference:
    """Compare two segmentations of the same gold words.

    Args:
        first: the counts of the first segmentation.
        second: the counts of the second segmentation.
        first_f1: the row of `bootstrap_f1` for the first segmentation, shape (resamples,).
        second_f1: the row for the second segmentation, under the same resamples.
    """
    low, high = interval(first_f1 - second_f1)
    subsets = stable_samples(first.words)
    gains = [f1(*macro_scores(first, subset)) - f1(*macro_scores(second, subset)) for subset in subsets]
    return Difference(
        f1=summarize(first).f1 - summarize(second).f1,
        low=low,
        high=high,
        wilcoxon=wilcoxon(gains),
        samples_won=sum(gain > 0 for gain in gains),
        samples=len(gains),
    )


def wilcoxon(differences: Sequence[float]) -> float:
    """Compute the exact two-sided p value of the Wilcoxon signed-rank test; zeros are ranked and then dropped.

    >>> wilcoxon([1.0, 2.0, 3.0, 4.0, 5.0])
    0.0625
    """
    sizes = [abs(value) for value in differences]
    # ranks are doubled, because the mean rank of equal differences may be half an integer, and sums must be exact
    doubled = [sum(other < size for other in sizes) * 2 + sum(other == size for other in sizes) + 1 for size in sizes]
    ranks = [rank for rank, value in zip(doubled, differences, strict=True) if value]
    positive = sum(rank for rank, value in zip(doubled, differences, strict=True) if value > 0)
    extreme = min(positive, sum(ranks) - positive)
    ways = Counter({0: 1})  # the number of subsets of the ranks by their sum
    for rank in ranks:
        ways.update({total + rank: count for total, count in ways.items()})
    tail = sum(count for total, count in ways.items() if total <= extreme)
    return min(1.0, 2 * tail / 2 ** len(ranks))


def paired_bootstrap(
    first: Sequence[Doubles],
    second: Sequence[Doubles],
    n_bytes: Longs,
    *,
    represented: Mask | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> PairedDifference:
    """Compare the bits per byte of two systems, each with one or more runs (seeds), on the same documents.

    The runs of a system are averaged for each document. Documents and runs are both drawn with replacement, so that the
    interval includes the variation between seeds if there are several.

    Args:
        first: negative log-likelihood of each document in nats, for each run of the first system; shape (n_documents,).
        second: the same for the second system.
        n_bytes: UTF-8 bytes of each document, int64 (n_documents,).
        represented: mask of the documents to compare; None for all.
        resamples: number of bootstrap resamples.
        seed: seed of the resampling.

    Raises:
        MwSError: a system has no run, or arrays have different lengths, or there is no document.

    >>> sizes = np.array([10, 20])
    >>> paired_bootstrap([np.log(2) * sizes], [np.log(2) * 2.0 * sizes], sizes)
    PairedDifference(value=-1.0, low=-1.0, high=-1.0, relative=-0.5, documents=2, second=2.0)
    """
    kept = np.ones(len(n_bytes), np.bool_) if represented is None else represented
    if not first or not second or any(len(run) != len(n_bytes) for run in (*first, *second)) or not kept.any():
        raise MwSError(
            "a paired comparison needs at least one run of each system, and the same documents in all of them"
        )
    bits = [np.stack(runs)[:, kept] / math.log(2) for runs in (first, second)]
    sizes = n_bytes[kept].astype(np.float64)
    chosen = [_drawn(len(runs), resamples, seed + order) for order, runs in enumerate(bits, 1)]
    differences = np.empty(resamples)
    for index, (weights, *shares) in enumerate(zip(_drawn(len(sizes), resamples, seed), *chosen, strict=True)):
        drawn = [(runs * share[:, None]).mean(axis=0) for runs, share in zip(bits, shares, strict=True)]
        # not a matrix product, which may differ in the last digits with the number of threads
        differences[index] = ((drawn[0] - drawn[1]) * weights).sum() / (sizes * weights).sum()
    low, high = interval(differences)
    means = [float(runs.mean(axis=0).sum() / sizes.sum()) for runs in bits]
    return PairedDifference(means[0] - means[1], low, high, (means[0] - means[1]) / means[1], int(kept.sum()), means[1])


def _drawn(size: int, resamples: int, seed: int) -> Iterator[Doubles]:
    """Count how often each of `size` items is drawn, with replacement, in each resample; float64 (size,)."""
    generator = np.random.Generator(np.random.PCG64(seed))
    for _ in range(resamples):
        yield np.bincount((generator.random(size) * size).astype(np.int64), minlength=size).astype(np.float64)
