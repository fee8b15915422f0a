"""Compiled inner loops of the lexicon view: expected counts, best split, pruning. Readable twins: `reference`."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Doubles = npt.NDArray[np.float64]

FIXED_POINT = 2.0**32
"""Expected counts are summed as integers of this unit, so that the sum does not depend on the number of threads."""


@njit(cache=True, nogil=True)
def expected_counts(
    starts: Longs, rows: Longs, entries: Ints, spans: Bytes, p: Doubles, odds: npt.NDArray[np.float32],
    counts: Longs, posterior: npt.NDArray[np.float32],
) -> None:  # fmt: skip
    """Forward-backward over all segmentations of each word.

    A segmentation's weight is the product of the probabilities of its entries and of `odds` (prior boundary odds of
    the junction after each symbol) where it cuts: the factor of the uncut junctions is the same for all.

    Args:
        starts: words of this call; `rows`, `odds` and `posterior` are indexed by symbols of the whole corpus.
        rows: the lattice, with `entries` and `spans`.
        entries: see `Lattice`.
        spans: see `Lattice`.
        p: probability of each entry.
        odds: prior odds of a cut after each symbol; 1 everywhere for a flat prior.
        counts: expected uses of each entry in units of 1 / FIXED_POINT are added here.
        posterior: probability of a cut after each symbol is written here.
    """
    longest = 0
    for w in range(len(starts) - 1):
        longest = max(longest, starts[w + 1] - starts[w])
    f = np.empty(longest + 1)
    b = np.empty(longest + 1)
    weights = np.empty(longest * 16)
    for w in range(len(starts) - 1):
        s = starts[w]
        n = starts[w + 1] - s
        base = rows[s]
        f[0] = 1.0
        for i in range(1, n + 1):
            f[i] = 0.0
        for i in range(n):
            enter = f[i] * odds[s + i - 1] if i > 0 else 1.0
            for e in range(rows[s + i], rows[s + i + 1]):
                x = p[entries[e]]
                weights[e - base] = x
                f[i + spans[e]] += enter * x
        if f[n] <= 0.0:
            continue
        inverse = 1.0 / f[n]
        b[n] = 1.0
        for i in range(n - 1, -1, -1):
            prior = odds[s + i - 1] if i > 0 else 1.0
            enter = f[i] * prior * inverse
            total = 0.0
            for e in range(rows[s + i], rows[s + i + 1]):
                x = weights[e - base] * b[i + spans[e]]
                total += x
                counts[entries[e]] += np.int64(enter * x * FIXED_POINT + 0.5)
            b[i] = total * prior
            if i > 0:
                posterior[s + i - 1] = f[i] * b[i] * inverse


@njit(cache=True, nogil=True)
def variational_weights(counts: Longs, lengths: Bytes, p: Doubles) -> None:
    """M-step under a sparse prior: p proportional to exp(digamma(expected count)), which starves rare entries.

    Entries expected less than a millionth of a time get 0, single symbols at least a tenth of a use.
    """
    total = 0.0
    for t in range(len(p)):
        x = counts[t] / FIXED_POINT
        value = 0.0
        if x >= 1e-6:
            shift = 0.0
            while x < 6.0:
                shift -= 1.0 / x
                x += 1.0
            z = 1.0 / (x * x)
            value = math.exp(shift + math.log(x) - 0.5 / x - z * (1 / 12 - z * (1 / 120 - z / 252)))
        p[t] = max(value, 0.1) if lengths[t] == 1 else value
        total += p[t]
    for t in range(len(p)):
        p[t] /= total


@njit(cache=True, nogil=True)
def best_splits(
    first: Ints, lengths: Bytes, rows: Longs, entries: Ints, spans: Bytes, logp: Doubles, out: Doubles
) -> None:
    """Log probability of the best segmentation of each entry into two or more others (-inf for single symbols)."""
    best = np.empty(257)
    for t in range(len(first)):
        s = first[t]
        n = np.int64(lengths[t])
        best[0] = 0.0
        for i in range(1, n + 1):
            best[i] = -np.inf
        for i in range(n):
            for e in range(rows[s + i], rows[s + i + 1]):
                end = i + spans[e]
                if end > n or (i == 0 and end == n):
                    break
                best[end] = max(best[end], best[i] + logp[entries[e]])
        out[t] = best[n]


@njit(cache=True, nogil=True)
def drop_arcs(rows: Longs, entries: Ints, spans: Bytes, number: Ints) -> int:
    """Remove in place the arcs of entries whose new `number` is negative, renumber the others; arcs left."""
    arc = 0
    for i in range(len(rows) - 1):
        begin, end = rows[i], rows[i + 1]
        rows[i] = arc
        for e in range(begin, end):
            new = number[entries[e]]
            if new >= 0:
                entries[arc] = new
                spans[arc] = spans[e]
                arc += 1
    rows[len(rows) - 1] = arc
    return arc
