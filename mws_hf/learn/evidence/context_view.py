"""The context view: a logistic regression from contexts to cut probabilities. No mixing with other views."""

from __future__ import annotations

import math

import numpy as np

from mws_hf.kernels.arithmetic import moments
from mws_hf.kernels.arrays import Doubles, Floats, Longs
from mws_hf.kernels.threads import ThreadPool
from mws_hf.learn.evidence.contexts import Contexts
from mws_hf.learn.evidence.features import N_FLAGS, PER_VIEW, add_log_odds, sample_rows
from mws_hf.learn.evidence.logistic import fit_logistic
from mws_hf.learn.evidence.positions import inner_positions, word_ranges
from mws_hf.learn.evidence.settings import EvidenceSettings
from mws_hf.learn.words import SymbolCorpus


def context_log_odds(
    corpus: SymbolCorpus,
    contexts: Contexts,
    targets: Floats,
    settings: EvidenceSettings,
    pool: ThreadPool,
) -> Floats:
    """Fit the regression to words with targets, then compute the log-odds of a cut after each symbol of all words.

    Args:
        corpus: distinct words.
        contexts: their context nodes.
        targets: float32, cut probabilities after the first ``len(targets)`` symbols, whole words.
        settings: sample size and ridge. The sample is spread evenly over the positions that have targets.
        pool: threads; the result does not depend on their number.

    Returns:
        float32, one a symbol; 0 at word ends.
    """
    weights = fit_contexts(corpus, contexts, targets, settings)
    out = np.zeros(len(corpus.symbols))

    def work(starts: Longs) -> None:
        add_log_odds(contexts, int(np.searchsorted(corpus.starts, starts[0])), starts, *weights, out)

    list(pool.map(work, word_ranges(corpus, pool.size)))
    return out.astype(np.float32)


def fit_contexts(
    corpus: SymbolCorpus, contexts: Contexts, targets: Floats, settings: EvidenceSettings
) -> tuple[Doubles, Doubles]:
    """Fit the regression to the words that have targets.

    Args:
        corpus: distinct words.
        contexts: their context nodes.
        targets: float32, cut probabilities after the first ``len(targets)`` symbols, whole words.
        settings: sample size and ridge.

    Returns:
        The weights of the raw numbers that describe a position, and of their squares.
    """
    positions = np.nonzero(inner_positions(corpus)[: len(targets)])[0]
    size = min(settings.fit_sample, len(positions))
    sample = positions[np.arange(size) * len(positions) // max(size, 1)]
    n = PER_VIEW * len(contexts.views)
    rows = np.empty((size, 2 * n + N_FLAGS))  # numbers, their squares, flags
    sample_rows(contexts, corpus.starts, sample, rows)
    mean, scale = standardise(rows, n)
    np.square(rows[:, :n], out=rows[:, n : 2 * n])
    weights = fit_logistic(rows, targets[sample].astype(np.float64), settings.ridge)
    return raw_coefficients(weights, mean, scale)


def word_log_odds(
    contexts: Contexts, first: int, starts: Longs, weights: tuple[Doubles, Doubles], n_symbols: int
) -> Doubles:
    """Compute the log-odds of a cut after each symbol of some words; 0 elsewhere.

    Args:
        contexts: from `collect_contexts`.
        first: number of the first word.
        starts: where the words begin, and the end of the last.
        weights: from `fit_contexts`.
        n_symbols: symbols of the whole corpus, the size of the result.
    """
    out = np.zeros(n_symbols)
    add_log_odds(contexts, first, starts, *weights, out)
    return out


def standardise(rows: Doubles, n: int) -> tuple[Doubles, Doubles]:
    """Bring the first `n` columns to mean 0 and deviation 1, in place; returns the former means and deviations."""
    mean, scale = moments(rows, n)
    scale += 1e-6
    rows[:, :n] -= mean
    rows[:, :n] /= scale
    return mean, scale


def raw_coefficients(weights: Doubles, mean: Doubles, scale: Doubles) -> tuple[Doubles, Doubles]:
    """Fold the standardisation into the weights: log-odds = linear . raw + square . raw ** 2."""
    n = len(mean)
    first, second, flags = weights[:n], weights[n : 2 * n], weights[2 * n :].copy()
    square = second / (scale * scale)
    linear = first / scale - 2 * square * mean
    flags[-1] += math.fsum(square * mean * mean) - math.fsum(first * mean / scale)
    return np.concatenate([linear, flags]), np.concatenate([square, np.zeros(N_FLAGS)])
