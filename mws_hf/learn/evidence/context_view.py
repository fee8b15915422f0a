"""The context view: a logistic regression from the contexts of a position to the probability of a boundary there.

The features of a position are 50 numbers from the tables of contexts, the squares of these numbers, and 9 flags:

* In each of the ten views: entropy at the position, its rise from the previous position (in the direction of the view),
  the next rise, log2 support, log2 variety.
* Flags: whether the left part has 1, 2 or 3 symbols, whether the right part has 1, 2 or 3 symbols, whether the left
  part is a word, whether the right part is a word, and a constant.

The regression is fitted by Newton's method with a ridge penalty, without BLAS. BLAS libraries add in different orders
on different machines, and they stall when other programs use the processor. With 109 weights, plain loops are as fast.
Together with our own exp and log, they give the same digits on every machine.
"""

from __future__ import annotations

import math

import numpy as np

from mws_hf.kernels import Doubles, Floats, Ints, Longs, Mask
from mws_hf.kernels.arithmetic import exp, log, moments
from mws_hf.kernels.jit import njit
from mws_hf.kernels.threads import ThreadPool, side_by_side, thread_count
from mws_hf.learn.evidence.contexts import Contexts, View, read_contexts
from mws_hf.learn.evidence.forms import inner_positions, word_ranges
from mws_hf.learn.words import SymbolCorpus

FIT_SAMPLE = 60_000
"""Maximum number of positions that the regression is fitted to; from 40,000 on, differences in F1 are not
significant."""

RIDGE = 3.0
"""L2 penalty of the regression; it only keeps the weights of collinear features small."""

PER_VIEW = 5
"""Number of features of a view."""

N_FLAGS = 9
"""Number of flags, which are the last features."""


@njit(nogil=True)
def _fill_view(backwards: bool, i: int, n: int, nodes: Ints, table: Floats, row: Doubles) -> None:
    """Write the features of one view at the position after symbol `i` of a word with `n` symbols.

    `nodes` are the contexts of the symbols of the word in the view.
    """
    if backwards:
        here, last, following, edge = i + 1, i + 2, i, i + 2 == n
    else:
        here, last, following, edge = i, i - 1, i + 1, i == 0
    node = nodes[here]
    entropy = np.float64(table[node, 0])
    row[0] = entropy
    row[1] = entropy if edge else entropy - table[nodes[last], 0]
    row[2] = table[nodes[following], 0] - entropy
    row[3] = table[node, 1]
    row[4] = table[node, 2]


@njit(nogil=True)
def _fill_flags(i: int, n: int, left_is_word: bool, right_is_word: bool, row: Doubles) -> None:
    for k in range(3):
        row[k] = i == k
        row[3 + k] = n - 2 - i == k
    row[6] = left_is_word
    row[7] = right_is_word
    row[8] = 1.0


@njit(nogil=True, allocates=True)
def _gather_view(
    positions: Longs, words: Longs, starts: Longs, view: View, backwards: bool, rows: Doubles, column: int
) -> None:
    nodes = np.empty(_longest(starts), np.int32)
    for k in range(len(positions)):
        begin, end = starts[words[k]], starts[words[k] + 1]
        read_contexts(view, words[k], begin, end, nodes)
        _fill_view(backwards, positions[k] - begin, end - begin, nodes, view.table, rows[k, column:])


@njit(nogil=True)
def _gather_flags(
    positions: Longs, words: Longs, starts: Longs, prefixes: Ints, suffixes: Ints, prefix_is_word: Mask,
    suffix_is_word: Mask, rows: Doubles,
) -> None:  # fmt: skip
    for k in range(len(positions)):
        i, begin, end = positions[k], starts[words[k]], starts[words[k] + 1]
        words_beside = prefix_is_word[prefixes[i]], suffix_is_word[suffixes[i + 1]]
        _fill_flags(i - begin, end - begin, *words_beside, rows[k, rows.shape[1] - N_FLAGS :])


@njit(nogil=True)
def _longest(starts: Longs) -> int:
    longest = 0
    for w in range(len(starts) - 1):
        longest = max(longest, starts[w + 1] - starts[w])
    return longest


@njit(nogil=True, allocates=True)
def _add_view(
    first: int, starts: Longs, view: View, backwards: bool, linear: Doubles, square: Doubles, out: Doubles
) -> None:
    nodes, row = np.empty(_longest(starts), np.int32), np.empty(len(linear))
    for w in range(len(starts) - 1):
        begin, end = starts[w], starts[w + 1]
        read_contexts(view, first + w, begin, end, nodes)
        for i in range(end - begin - 1):
            _fill_view(backwards, i, end - begin, nodes, view.table, row)
            for k in range(len(row)):
                out[begin + i] += (linear[k] + square[k] * row[k]) * row[k]


@njit(nogil=True, allocates=True)
def _add_flags(
    starts: Longs, prefixes: Ints, suffixes: Ints, prefix_is_word: Mask, suffix_is_word: Mask, linear: Doubles,
    square: Doubles, out: Doubles,
) -> None:  # fmt: skip
    row = np.empty(len(linear))
    for w in range(len(starts) - 1):
        begin, end = starts[w], starts[w + 1]
        for i in range(begin, end - 1):
            words_beside = prefix_is_word[prefixes[i]], suffix_is_word[suffixes[i + 1]]
            _fill_flags(i - begin, end - begin, *words_beside, row)
            for k in range(len(row)):
                out[i] += (linear[k] + square[k] * row[k]) * row[k]


def add_log_odds(contexts: Contexts, first: int, starts: Longs, linear: Doubles, square: Doubles, out: Doubles) -> None:
    """Add the log-odds of a boundary to `out`: linear . row + square . row ** 2, where row are the features.

    Args:
        contexts: the contexts of the corpus.
        first: number of the first word.
        starts: int64: where the words from `first` on begin, and where the last one ends.
        linear: weights of the features.
        square: weights of their squares.
        out: float64, shape (n_symbols of the corpus,): changed at all positions inside these words.
    """
    for v, view in enumerate(contexts.views):
        part = slice(PER_VIEW * v, PER_VIEW * (v + 1))
        _add_view(first, starts, view, v % 2 == 1, linear[part], square[part], out)
    prefixes, suffixes = (view.ids for view in contexts.views[:2])
    _add_flags(starts, prefixes, suffixes, *contexts.is_word, linear[-N_FLAGS:], square[-N_FLAGS:], out)


def all_log_odds(
    corpus: SymbolCorpus, contexts: Contexts, linear: Doubles, square: Doubles, pool: ThreadPool
) -> Doubles:
    """Compute the log-odds of a boundary after each symbol: float64, shape (n_symbols,), 0 at the ends of words."""
    out = np.zeros(len(corpus.symbols))

    def work(starts: Longs) -> None:
        add_log_odds(contexts, int(np.searchsorted(corpus.starts, starts[0])), starts, linear, square, out)

    list(pool.map(work, word_ranges(corpus, pool.size)))
    return out


def sample_rows(contexts: Contexts, starts: Longs, positions: Longs, rows: Doubles) -> None:
    """Write the features of the positions after the given symbols into `rows`.

    The numbers are written into the first columns, and the flags into the last ones; the columns in between stay as
    they are.
    """
    words = np.searchsorted(starts, positions, side="right") - 1
    side_by_side(
        lambda v: _gather_view(positions, words, starts, contexts.views[v], v % 2 == 1, rows, PER_VIEW * v),
        range(len(contexts.views)),
    )
    prefixes, suffixes = (view.ids for view in contexts.views[:2])
    _gather_flags(positions, words, starts, prefixes, suffixes, *contexts.is_word, rows)


def context_log_odds(corpus: SymbolCorpus, contexts: Contexts, targets: Floats, pool: ThreadPool) -> Floats:
    """Fit the regression to the words that have targets, then compute the log-odds after each symbol of all words.

    Returns:
        float32, shape (n_symbols,).
    """
    return all_log_odds(corpus, contexts, *fit_contexts(corpus, contexts, targets), pool).astype(np.float32)


def fit_contexts(
    corpus: SymbolCorpus, contexts: Contexts, targets: Floats, most: int = FIT_SAMPLE
) -> tuple[Doubles, Doubles]:
    """Fit the regression to the first words of a corpus.

    Args:
        corpus: distinct words.
        contexts: their contexts.
        targets: float32: the probability of a boundary after each symbol of the first words.
        most: maximum number of positions to fit to; if there are more, an even sample is taken.

    Returns:
        The weights of the features, and the weights of their squares.
    """
    positions = np.nonzero(inner_positions(corpus.starts)[: len(targets)])[0]
    size = min(most, len(positions))
    sample = positions[np.arange(size) * len(positions) // max(size, 1)]
    n = PER_VIEW * len(contexts.views)
    rows = np.empty((size, 2 * n + N_FLAGS))  # numbers, their squares, flags
    sample_rows(contexts, corpus.starts, sample, rows)
    mean, scale = standardize(rows, n)
    np.square(rows[:, :n], out=rows[:, n : 2 * n])
    weights = fit_logistic(rows, targets[sample].astype(np.float64), RIDGE)
    return raw_coefficients(weights, mean, scale)


def standardize(rows: Doubles, n: int) -> tuple[Doubles, Doubles]:
    """Standardize the first `n` columns in place; returns their former means and standard deviations."""
    mean, scale = moments(rows, n)
    scale += 1e-6
    rows[:, :n] -= mean
    rows[:, :n] /= scale
    return mean, scale


def raw_coefficients(weights: Doubles, mean: Doubles, scale: Doubles) -> tuple[Doubles, Doubles]:
    """Convert weights of standardized features to weights of raw features.

    Returns:
        `linear` and `square`, so that the log-odds are linear . raw + square . raw ** 2.
    """
    n = len(mean)
    first, second, flags = weights[:n], weights[n : 2 * n], weights[2 * n :].copy()
    square = second / (scale * scale)
    linear = first / scale - 2 * square * mean
    flags[-1] += math.fsum(square * mean * mean) - math.fsum(first * mean / scale)
    return np.concatenate([linear, flags]), np.concatenate([square, np.zeros(N_FLAGS)])


MAX_STEPS = 50
"""Maximum number of steps of Newton's method."""

KEEP_CURVATURE = 0.5
"""The curvature is kept for the next step if the largest component of the gradient falls to this share or less."""

TOLERANCE = 1e-3
"""The fit ends when no weight changes by this much."""

FIRST_SAMPLE = 8000
"""Number of rows of the sample that is fitted first."""

MOST_BANDS, BAND_ROWS = 4, 2000
"""Maximum number of bands into which the triangle of the curvature is divided, with one thread per band; and minimum
number of rows per band, because every band reads all rows."""


@njit(nogil=True)
def penalized_likelihood(rows: Doubles, targets: Doubles, ridge: float, weights: Doubles, gradient: Doubles) -> float:
    """Compute the log-likelihood of soft targets minus ridge / 2 * |weights|^2; its gradient is written, too."""
    value = 0.0
    for k in range(len(weights)):
        gradient[k] = -ridge * weights[k]
        value -= 0.5 * ridge * weights[k] * weights[k]
    for i in range(len(rows)):
        x = 0.0
        for k in range(len(weights)):
            x += rows[i, k] * weights[k]
        # log(1 + exp(x)) without overflow
        decay = exp(-abs(x))
        value += targets[i] * x - max(x, 0.0) - log(1 + decay)
        residual = targets[i] - (1.0 if x > 0 else decay) / (1 + decay)
        for k in range(len(weights)):
            gradient[k] += residual * rows[i, k]
    return value


def curvature_of(rows: Doubles, ridge: float, weights: Doubles) -> Doubles:
    """Compute the lower triangle of the negative Hessian of the penalized likelihood; float64, shape (k, k)."""
    n, bands = len(weights), max(1, min(thread_count(), MOST_BANDS, len(rows) // BAND_ROWS))
    factors, result = np.empty(len(rows)), np.zeros((n, n))
    _fill_factors(rows, weights, factors)
    edges = [round(n * math.sqrt(k / bands)) for k in range(bands + 1)]  # bands with the same number of cells
    side_by_side(lambda first, end: _add_curvature(rows, factors, first, end, result), edges, edges[1:])
    result[np.diag_indices_from(result)] += ridge
    return result


@njit(nogil=True)
def _fill_factors(rows: Doubles, weights: Doubles, factors: Doubles) -> None:
    for i in range(len(rows)):
        x = 0.0
        for k in range(len(weights)):
            x += rows[i, k] * weights[k]
        decay = exp(-abs(x))
        factors[i] = decay / (1 + decay) ** 2 + 1e-6


@njit(nogil=True)
def _add_curvature(rows: Doubles, factors: Doubles, first: int, end: int, result: Doubles) -> None:
    """Fill the rows [first, end) of the triangle; each cell is a sum in the order of `rows`."""
    whole = len(rows) - len(rows) % 4
    for i in range(0, whole, 4):  # four rows at a time, so that the triangle is read a quarter as often
        for a in range(first, end):
            s0, s1 = factors[i] * rows[i, a], factors[i + 1] * rows[i + 1, a]
            s2, s3 = factors[i + 2] * rows[i + 2, a], factors[i + 3] * rows[i + 3, a]
            for b in range(a + 1):
                total = result[a, b] + s0 * rows[i, b]
                total += s1 * rows[i + 1, b]
                total += s2 * rows[i + 2, b]
                result[a, b] = total + s3 * rows[i + 3, b]
    for i in range(whole, len(rows)):
        for a in range(first, end):
            scaled = factors[i] * rows[i, a]
            for b in range(a + 1):
                result[a, b] += scaled * rows[i, b]


@njit(nogil=True)
def factorize(lower: Doubles) -> None:
    """Replace the lower triangle of a positive definite matrix by its Cholesky factor."""
    for a in range(len(lower)):
        for b in range(a + 1):
            total = lower[a, b]
            for k in range(b):
                total -= lower[a, k] * lower[b, k]
            lower[a, b] = math.sqrt(total) if a == b else total / lower[b, b]


def substitute(factor: Doubles, right: Doubles) -> Doubles:
    """Solve A x = right, given the Cholesky factor of A."""
    x = right.copy()
    _substitute(factor, x)
    return x


@njit(nogil=True)
def _substitute(factor: Doubles, x: Doubles) -> None:
    n = len(x)
    for a in range(n):
        for k in range(a):
            x[a] -= factor[a, k] * x[k]
        x[a] /= factor[a, a]
    for a in range(n - 1, -1, -1):
        for k in range(a + 1, n):
            x[a] -= factor[k, a] * x[k]
        x[a] /= factor[a, a]


def fit_logistic(rows: Doubles, targets: Doubles, ridge: float, start: Doubles | None = None) -> Doubles:
    """Find the weights that maximize the log-likelihood of soft targets minus ridge / 2 * |weights|^2.

    If there are many rows, an even sample is fitted first. Its weights are near the final ones, and its curvature can
    be used for all rows.

    Args:
        rows: float64, shape (n, k): features.
        targets: float64, shape (n,): probabilities.
        ridge: L2 penalty.
        start: float64, shape (k,): first weights; 0 if not given.

    Returns:
        float64, shape (k,).

    >>> rows = np.array([[1.0, 1.0], [1.0, -1.0]])
    >>> [round(float(w), 3) for w in fit_logistic(rows, np.array([0.9, 0.1]), 1e-9)]
    [0.0, 2.197]
    """
    weights, factor = np.zeros(rows.shape[1]) if start is None else start, None
    stride = len(rows) // FIRST_SAMPLE
    if stride > 1:
        sample = rows[::stride].copy()
        weights = _newton(sample, targets[::stride].copy(), ridge / stride, weights)
        factor = stride * curvature_of(sample, ridge / stride, weights)
        factorize(factor)
    return _newton(rows, targets, ridge, weights, factor)


def _newton(rows: Doubles, targets: Doubles, ridge: float, weights: Doubles, factor: Doubles | None = None) -> Doubles:
    """Take Newton steps, and halve each step until it does not lower the likelihood.

    The curvature takes as much time as ten gradients, so it is reused as long as the steps reduce the gradient enough.
    """
    weights, gradient, ahead = weights.copy(), np.empty(len(weights)), np.empty(len(weights))
    value = penalized_likelihood(rows, targets, ridge, weights, gradient)
    for _ in range(MAX_STEPS):
        if factor is None:
            factor = curvature_of(rows, ridge, weights)
            factorize(factor)
        step = substitute(factor, gradient)
        while (better := penalized_likelihood(rows, targets, ridge, weights + step, ahead)) < value:
            step /= 2
            if np.abs(step).max() < TOLERANCE:
                return weights
        weights += step
        if np.abs(step).max() < TOLERANCE:
            break
        if np.abs(ahead).max() > KEEP_CURVATURE * np.abs(gradient).max():
            factor = None
        value, gradient, ahead = better, ahead, gradient
    return weights
