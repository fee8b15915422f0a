"""One step of expectation maximisation over all words, the same on any number of threads; `kernels` has its formulas.

The lexicon view, which prunes its entries between steps, and the affix view, which does not, both use it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mws_hf.kernels.arrays import Bytes, Doubles, Floats, Longs
from mws_hf.kernels.threads import ThreadPool
from mws_hf.learn.evidence.kernels import FIXED_POINT, Arcs, Expected, WordModel, forward_backward, variational_weights
from mws_hf.learn.evidence.positions import word_ranges
from mws_hf.learn.words import SymbolCorpus

_LEAST_COUNTERS, _COUNTER_BYTES = 2, 64 << 20
"""Each thread of an expectation step has counts of its own for all entries, 24 bytes each (up to 20 MB). There are as
many as fit into so many bytes, and these many at least, so that memory does not grow with the number of cores."""


class Moves(NamedTuple):
    """Probabilities of going on from class to class: `step`, `stop` and `start` of a `kernels.Model`."""

    step: Doubles
    stop: Doubles
    start: Doubles

    @classmethod
    def first(cls) -> Moves:
        """Return the probabilities before the first step.

        Zeros stay zero: no suffix before a stem, no prefix after one, no word ends with a prefix. A suffix may be
        followed by a stem (compounds with linking elements).
        """
        step = ((0.2, 0.8, 0.0), (0.0, 0.175, 0.525), (0.0, 0.1, 0.4))
        return cls(np.array(step), np.array((0.0, 0.3, 0.5)), np.array((0.3, 0.7, 0.0)))


def expect(
    corpus: SymbolCorpus, arcs: Arcs, model: WordModel, posterior: Floats, pool: ThreadPool,
) -> tuple[Longs, Longs]:  # fmt: skip
    """Compute the expected uses of the entries and moves between classes, in units of 1 / FIXED_POINT.

    Args:
        corpus: distinct words.
        arcs: the entries that may start at each of their symbols.
        model: the probabilities.
        posterior: float32, one a symbol; the probability of a cut after each is written here.
        pool: threads; the result does not depend on their number.

    Returns:
        int64, shapes (n_entries, 3) and (5, 3), as in `kernels.Expected`.
    """
    most = max(_LEAST_COUNTERS, _COUNTER_BYTES // (24 * max(1, len(model.p))))
    ranges = word_ranges(corpus, min(pool.size, most))
    counts = [np.zeros((len(model.p), 3), np.int64) for _ in ranges]
    moves = np.zeros((len(counts), 5, 3), np.int64)

    def work(starts: Longs, counted: Longs, moved: Longs) -> None:
        forward_backward(starts, arcs, model, Expected(counted, moved, posterior))

    list(pool.map(work, ranges, counts, moves))
    for other in counts[1:]:
        counts[0] += other
    return counts[0], moves.sum(0)


def maximise(counts: Longs, moved: Longs, lengths: Bytes, single_stem: float, p: Doubles) -> Moves:
    """Find the probabilities that explain the expected counts; write those of the entries to `p`.

    Args:
        counts: expected uses, from `expect`.
        moved: expected moves, from `expect`.
        lengths: uint8, symbols of each entry.
        single_stem: probability of a single symbol as a stem, which is fixed.
        p: float64, shape (n_entries, 3).

    Returns:
        The probabilities of moves between classes.
    """
    variational_weights(counts, lengths, single_stem, p)
    step, stop, start = moved[:3] / FIXED_POINT, moved[3] / FIXED_POINT, moved[4] / FIXED_POINT
    leave = step[:, 0] + step[:, 1] + step[:, 2] + stop + 1e-9
    return Moves(step / leave[:, None], stop / leave, start / max(math.fsum(start), 1e-9))
