"""Compiled loops of the lexicon view: expected counts, best splits, removal of arcs.

``tests/reference`` has a readable implementation of each loop, with the same results.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mws_hf.kernels import Bytes, Doubles, Floats, Ints, Longs
from mws_hf.kernels.arithmetic import exp, log
from mws_hf.kernels.containers import prefetch
from mws_hf.kernels.jit import njit

PREFIX, STEM, SUFFIX = range(3)
"""Classes of the parts of a word; columns of all arrays of shape (n_entries, 3)."""

FIXED_POINT = 2.0**32
"""Units per expected count. Expected counts are added as integers, so that the number of threads changes no sum."""


class Arcs(NamedTuple):
    """The entries that may start at each symbol: `rows`, `entries` and `spans` of a `lexicon.Lattice`."""

    rows: Ints
    entries: Ints
    spans: Bytes


class StemSpelling(NamedTuple):
    """Factors of the probability that a stem is spelled out as the `n` symbols from symbol `i` on.

    The probability is ``lengths[n] * heads[i] * ends[i + n - 1]`` times the product of the `letters` of the symbols.

    Attributes:
        lengths: float64, shape (longest + 1,): factor of each length.
        letters, heads, ends: float64, shape (n_symbols,): factors of each symbol in a stem, at the beginning and at the
            end of a stem. If `heads` or `ends` is empty, its factors are 1.
    """

    lengths: Doubles
    letters: Doubles
    heads: Doubles
    ends: Doubles


class WordModel(NamedTuple):
    """Probabilities of the hidden Markov model of words.

    Attributes:
        p: float64, shape (n_entries, 3): probability of each entry in each class.
        step: float64, shape (3, 3): probability of the next class (column) after a class (row).
        stop: float64, shape (3,): probability that the word ends after a class.
        start: float64, shape (3,): probability that a word begins with a class.
        known: probability that a stem is an entry, and not spelled out.
        spelling: factors of the probability of each way to spell out a stem.
    """

    p: Doubles
    step: Doubles
    stop: Doubles
    start: Doubles
    known: float
    spelling: StemSpelling


class Expected(NamedTuple):
    """Expected counts of an E-step, in units of 1 / `FIXED_POINT`, and the boundary probabilities.

    Attributes:
        counts: int64, shape (n_entries, 3): uses of each entry in each class.
        moves: int64, shape (5, 3): three rows with the transitions from each class to each class, then a row with the
            words that end with each class, and one with the words that begin with it.
        posterior: float32, shape (n_symbols,): the probability of a boundary after each symbol.
    """

    counts: Longs
    moves: Longs
    posterior: Floats


class _Weights(NamedTuple):
    """Weights of the parts of a word, each of shape (longest + 1, 3); `forward_backward` explains them."""

    f: Doubles
    enter: Doubles
    b: Doubles


def forward_backward(starts: Longs, arcs: Arcs, model: WordModel, expected: Expected) -> None:
    """Add the expected counts over all ways to write each word as a sequence of parts with classes.

    A part is an entry or a spelled-out stem. The weight of a sequence is a product: `start` of its first class, the
    probabilities of its parts in their classes, `step` from each class to the next, and `stop` of its last class. The
    probability of a stem is ``known * p`` if it is an entry, or that of `StemSpelling` if it is spelled out. If
    q(i, j, c) is the probability of the part from i to j in class c:

        enter[0, c] = start[c]                  enter[i, c] = sum over d of f[i, d] * step[d, c]
        f[j, c] = sum over i < j of enter[i, c] * q(i, j, c)
        b[n, c] = stop[c]                       b[i, d] = sum over j > i, c of step[d, c] * q(i, j, c) * b[j, c]
        total = sum over c of f[n, c] * stop[c], P(boundary at i) = sum over c of f[i, c] * b[i, c] / total

    Args:
        starts: where the words of this call begin in the corpus, and where the last one ends.
        arcs: the entries that may start at each symbol of the corpus.
        model: the probabilities.
        expected: sums to which the counts are added, and the boundary probabilities of the corpus.
    """
    longest = np.diff(starts).max(initial=0)
    _add_expected(starts, arcs, model, _Weights(*np.empty((3, longest + 1, 3))), expected)


@njit(nogil=True)
def _add_expected(starts: Longs, arcs: Arcs, model: WordModel, weights: _Weights, expected: Expected) -> None:
    f, stop, rows = weights.f, model.stop, arcs.rows
    for w in range(len(starts) - 1):
        # The data of the next word's entries are fetched from memory during the sums of this word.
        for e in range(rows[starts[w + 1]], rows[starts[min(w + 2, len(starts) - 1)]]):
            prefetch(model.p, arcs.entries[e])
            prefetch(expected.counts, arcs.entries[e])
        s = starts[w]
        n = starts[w + 1] - s
        _forward(s, n, arcs, model, weights)
        total = f[n, 0] * stop[0] + f[n, 1] * stop[1] + f[n, 2] * stop[2]
        expected.posterior[s : s + n] = 0.0
        if total > 0.0:
            _backward(s, n, arcs, model, weights, total, expected)


@njit(inline="always")
def _forward(s: int, n: int, arcs: Arcs, model: WordModel, weights: _Weights) -> None:
    """Compute f[i, c], the weight of all ways to write the first i symbols with class c at the end, and enter[i, c]."""
    rows, entries, spans = arcs
    p, step, _, start, known, spelling = model
    lengths, letters, heads, ends = spelling
    f, enter, _ = weights
    f[1 : n + 1] = 0.0
    for i in range(n):
        for c in range(3):
            enter[i, c] = f[i, 0] * step[0, c] + f[i, 1] * step[1, c] + f[i, 2] * step[2, c] if i > 0 else start[c]
        for e in range(rows[s + i], rows[s + i + 1]):
            t, end = entries[e], i + spans[e]
            f[end, 0] += enter[i, 0] * p[t, 0]
            f[end, 1] += enter[i, 1] * known * p[t, 1]
            f[end, 2] += enter[i, 2] * p[t, 2]
        spelled = enter[i, 1] * heads[s + i] if len(heads) else enter[i, 1]
        for size in range(1, min(len(lengths), n - i + 1)):
            spelled *= letters[s + i + size - 1]
            f[i + size, 1] += spelled * (lengths[size] * ends[s + i + size - 1] if len(ends) else lengths[size])


@njit(inline="always")
def _backward(
    s: int, n: int, arcs: Arcs, model: WordModel, weights: _Weights, total: float, expected: Expected
) -> None:
    """Compute b[i, c], the weight of all ways to write the rest after class c at i, and add to the expected counts."""
    rows, entries, spans = arcs
    p, step, stop, _, known, spelling = model
    lengths, letters, heads, ends = spelling
    f, enter, b = weights
    counts, moves, posterior = expected
    scale = FIXED_POINT / total
    for c in range(3):
        b[n, c] = stop[c]
        moves[3, c] += np.int64(f[n, c] * stop[c] * scale + 0.5)
    for i in range(n - 1, -1, -1):
        x0, x1, x2 = 0.0, 0.0, 0.0
        e0, e1, e2 = enter[i, 0] * scale, enter[i, 1] * scale, enter[i, 2] * scale
        for e in range(rows[s + i], rows[s + i + 1]):
            t, end = entries[e], i + spans[e]
            y0, y1, y2 = p[t, 0] * b[end, 0], known * p[t, 1] * b[end, 1], p[t, 2] * b[end, 2]
            x0, x1, x2 = x0 + y0, x1 + y1, x2 + y2
            counts[t, 0] += np.int64(e0 * y0 + 0.5)
            counts[t, 1] += np.int64(e1 * y1 + 0.5)
            counts[t, 2] += np.int64(e2 * y2 + 0.5)
        spelled = heads[s + i] if len(heads) else 1.0
        for size in range(1, min(len(lengths), n - i + 1)):
            spelled *= letters[s + i + size - 1]
            ending = lengths[size] * ends[s + i + size - 1] if len(ends) else lengths[size]
            x1 += spelled * ending * b[i + size, 1]
        if i == 0:
            moves[4, 0] += np.int64(e0 * x0 + 0.5)
            moves[4, 1] += np.int64(e1 * x1 + 0.5)
            moves[4, 2] += np.int64(e2 * x2 + 0.5)
            return
        boundary = 0.0
        for d in range(3):
            z0, z1, z2 = step[d, 0] * x0, step[d, 1] * x1, step[d, 2] * x2
            b[i, d] = z0 + z1 + z2
            boundary += f[i, d] * b[i, d]
            weight = f[i, d] * scale
            moves[d, 0] += np.int64(weight * z0 + 0.5)
            moves[d, 1] += np.int64(weight * z1 + 0.5)
            moves[d, 2] += np.int64(weight * z2 + 0.5)
        posterior[s + i - 1] = boundary / total


@njit(inline="always")
def digamma(x: float) -> float:
    """Compute digamma for x > 0, to 1e-8 (Abramowitz and Stegun, 6.3.5 and 6.3.18)."""
    shift = 0.0
    while x < 6.0:
        shift -= 1.0 / x
        x += 1.0
    z = 1.0 / (x * x)
    return shift + log(x) - 0.5 / x - z * (1 / 12 - z * (1 / 120 - z / 252))


@njit(nogil=True)
def variational_weights(counts: Longs, lengths: Bytes, single_stem: float, p: Doubles) -> None:
    """Take the M-step with a sparse prior: `p` is in proportion to exp(digamma(expected count)) in each class.

    An entry with an expected count below a millionth gets 0. A single symbol counts at least a tenth as a prefix and as
    a suffix, and has the fixed probability `single_stem` as a stem.

    Args:
        counts: int64, shape (n_entries, 3): expected counts, in units of 1 / `FIXED_POINT`.
        lengths: uint8, shape (n_entries,): length of each entry, in symbols.
        single_stem: probability of a single symbol as a stem.
        p: float64, shape (n_entries, 3): overwritten.
    """
    for c in range(3):
        total = 0.0
        for t in range(len(p)):
            x = counts[t, c] / FIXED_POINT
            value = exp(digamma(x)) if x >= 1e-6 else 0.0
            p[t, c] = max(value, 0.1) if lengths[t] == 1 else value
            total += p[t, c]
        for t in range(len(p)):
            p[t, c] = single_stem if c == 1 and lengths[t] == 1 else p[t, c] / total


@njit(nogil=True, allocates=True)
def best_splits(
    first: Ints, lengths: Bytes, rows: Ints, entries: Ints, spans: Bytes, logp: Doubles, out: Doubles
) -> None:
    """Write the log probability of each entry's best split into other entries to `out`; -inf for single symbols."""
    best = np.empty(257)
    for t in range(len(first)):
        prefetch(rows, first[min(t + 16, len(first) - 1)])
        ahead = rows[first[min(t + 8, len(first) - 1)]]
        prefetch(entries, ahead)
        prefetch(spans, ahead)
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


@njit(nogil=True)
def drop_arcs(rows: Ints, entries: Ints, spans: Bytes, number: Ints) -> int:
    """Remove the arcs of entries whose new `number` is negative, and give the others their new number, in place.

    Returns:
        The number of arcs that stay.
    """
    arc = 0
    for i in range(len(rows) - 1):
        begin, end = rows[i], rows[i + 1]
        rows[i] = arc
        for e in range(begin, end):
            new = number[entries[e]]
            # a removed arc is written, too, and overwritten by the next one; this avoids a branch
            entries[arc], spans[arc] = new, spans[e]
            arc += new >= 0
    rows[len(rows) - 1] = arc
    return arc
