"""Re-fit boundary probabilities to labeled words, with the unsupervised mixture of views as the prior.

The log-odds of a boundary become ``a * mixture + b + w . features``. The features are those of the context view (its
numbers, their squares and its flags) and the log-odds of the single views. A ridge penalty keeps w small, so that the
ranking of the positions stays near the ranking by the mixture. `PRIOR_POSITIONS` pseudo-observations keep a and b near
values that were right in six languages.
"""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mws_hf.corpus.groups import UNNAMED
from mws_hf.corpus.segmentations import GoldWord
from mws_hf.kernels import Doubles, Longs, Mask
from mws_hf.kernels.arithmetic import column_sums, exp, log, moments, sigmoid
from mws_hf.kernels.threads import ThreadPool
from mws_hf.learn.defaults import DEFAULT_GRANULARITY
from mws_hf.learn.evidence.context_view import (
    N_FLAGS,
    PER_VIEW,
    all_log_odds,
    fit_logistic,
    penalized_likelihood,
    raw_coefficients,
    sample_rows,
    standardize,
)
from mws_hf.learn.evidence.contexts import Contexts
from mws_hf.learn.evidence.forms import count_graphemes, find_words, inner_positions
from mws_hf.learn.words import CodePoints, SymbolCorpus, concatenated, find_among

_logger = logging.getLogger(__name__)

SLOPE, SHIFT = 0.55, 1.55
"""Usual log-odds of a boundary: SLOPE * calibrated mixture + SHIFT. Fitted to the reference segmentations of six
languages, they were 0.48 to 0.70 and 0.6 to 2.7."""

PRIOR_POSITIONS = 60
"""Number of pseudo-observations with these log-odds; about ten words have as many positions."""

RIDGES = (1e6, 300.0, 100.0, 30.0, 10.0, 3.0)
"""Ridge penalties that cross-validation chooses from; the first one leaves the ranking of the mixture as it is."""

MIN_RIDGE_TIMES_WORDS = 1500.0
"""With n labeled words, ridge penalties below `MIN_RIDGE_TIMES_WORDS` / n are not tried. With 20 Hungarian words,
cross-validation chose 30, and F1 was lower by 0.018."""

FOLDS = 10
"""Number of folds of the cross-validation."""

USUAL_SHARE = 0.23
"""Share of positions with a boundary for which the default granularity is right."""

EQUAL_TRUST_LABELS = 25
"""Number of labeled words whose share of boundaries counts as much as the default granularity."""

STANDARDIZED_SAMPLE = 20_000
"""Maximum number of positions from which the mean and the standard deviation of features are computed."""

BOUNDARY_FROM = 0.4
"""Probability above which a position counts as a boundary in the cross-validated F1. The threshold with the highest
expected F1 is about half of that F1."""

_FREE = 3.0
"""Factor of the columns of `a` and `b`, which makes their ridge penalty negligible."""

MIN_LABELS = 5
"""Minimum number of distinct labeled words; fewer are not used, because too few other words would remain to learn from
in each fold of the cross-validation."""

MAX_LABELS = 10_000
"""Maximum number of labeled words that are used; if there are more, an even sample is taken. Each word takes 28 KB of
memory in the fit."""


def usable_labels(labels: Sequence[GoldWord], longest: int) -> Sequence[GoldWord]:
    """Select the labels that can be used: words of letters, of 2 to `longest` graphemes.

    If there are fewer than `MIN_LABELS` of them, none is selected; words that differ only in letter case count once. If
    there are more than `MAX_LABELS`, an even sample of this size is selected.

    >>> five = [GoldWord(word, ((word,),)) for word in ("cats", "dogs", "cows", "hens", "pigs")]
    >>> len(usable_labels([*five, GoldWord("7up", (("7", "up"),))], 29)), usable_labels([*five[:4], five[0]], 29)
    (5, [])
    """
    words, letters = _letters_of(labels)
    sizes = count_graphemes(letters)
    good = (sizes > 1) & (sizes <= longest)
    if len(set(letters.take(np.nonzero(good)[0]).strings())) < MIN_LABELS:
        return []
    usable = [labels[k] for k in words[good].tolist()]
    n = len(usable)
    return usable if n <= MAX_LABELS else [usable[k * n // MAX_LABELS] for k in range(MAX_LABELS)]


@dataclass(frozen=True)
class Refit:
    """Result of a fit to labeled words.

    Attributes:
        log_odds: float64, shape (n positions inside words,): the new log-odds of a boundary.
        granularity: share of positions with a probable boundary: that of the settings, or the one that fits the labels.
        ridge: the ridge penalty that cross-validation chose, one of `RIDGES`.
        f1: micro F1 of the boundaries in labeled words, each scored by a fit to the other folds (cross-validation).
        f1_without: micro F1 in the same words without a fit to labels.
    """

    log_odds: Doubles
    granularity: float
    ridge: float
    f1: float
    f1_without: float


@dataclass(frozen=True)
class LabelFit:
    """Result of the labels, for the training metadata and reports.

    Attributes:
        given: number of labeled words that the user gave.
        used: number of these that `usable_labels` selected.
        in_text: number of used ones that the text contains; the others were added to its words.
        f1, f1_without, granularity, ridge: as in `Refit`; None if no label was used.
    """

    given: int
    used: int
    in_text: int
    f1: float | None = None
    f1_without: float | None = None
    granularity: float | None = None
    ridge: float | None = None

    def describe(self) -> str:
        """Describe the result in one line, as it is written after "labels".

        >>> LabelFit(3, 0, 0).describe()
        'not used: 3 given, but 5 different words of two or more letters are needed'
        >>> LabelFit(40, 38, 30, 0.8125, 0.75, 0.091, 100.0).describe()
        '38 of 40 used (the others are too short, too long, or not only letters), 30 of them in the text; boundary F1 \
0.812 (cross-validated), without labels 0.750; granularity 0.091'
        """
        if self.f1 is None:
            return f"not used: {self.given} given, but {MIN_LABELS} different words of two or more letters are needed"
        are_all = self.used in (self.given, MAX_LABELS)
        others = "" if are_all else " (the others are too short, too long, or not only letters)"
        return (
            f"{self.used} of {self.given} used{others}, {self.in_text} of them in the text; boundary F1 {self.f1:.3f} "
            f"(cross-validated), without labels {self.f1_without:.3f}; granularity {self.granularity:.3f}"
        )


def add_labeled(types: CodePoints, labels: Sequence[GoldWord]) -> CodePoints:
    """Append the usable labeled words that are not among the types, in lowercase, ordered by code points.

    >>> add_labeled(CodePoints.of(["cats"]), [GoldWord("Dogs", (("Dog", "s"),))]).strings()
    ['cats', 'dogs']
    """
    _, letters = _letters_of(labels)
    absent = letters.take(np.nonzero(find_among(letters, types) < 0)[0])
    return concatenated([types, CodePoints.of(sorted(set(absent.strings())))])


def report_labels(
    given: int, used: Sequence[GoldWord], types: CodePoints, n_text: int, fitted: Refit | None
) -> dict[str, LabelFit]:
    """Summarize how labels of no named group were used, and log a warning if none was used.

    Args:
        given: number of labels that the user gave.
        used: the usable ones, as `usable_labels` returns them.
        types: the types, including the labeled words.
        n_text: the first `n_text` types are words of the text.
        fitted: the fit to the labels; None if none was used.

    Returns:
        The summary, under the key "", which stands for no named group.
    """
    if fitted is None:
        unused = LabelFit(given, 0, 0)
        _logger.warning("labels %s", unused.describe())
        return {UNNAMED: unused}
    in_text = int((find_among(_letters_of(used)[1], types) < n_text).sum())
    scores = (fitted.f1, fitted.f1_without, fitted.granularity, fitted.ridge)
    return {UNNAMED: LabelFit(given, len(used), in_text, *scores)}


def label_targets(types: CodePoints, labels: Sequence[GoldWord], last: Mask) -> Doubles:
    """Compute the share of the segmentations of a labeled word that have a boundary after each of its graphemes.

    Args:
        types: the types, including all labeled words.
        labels: usable labels.
        last: bool, shape (n_characters of the types,): whether a character ends a grapheme.

    Returns:
        float64, shape (n_graphemes of the types,): NaN where nothing is labeled.
    """
    _, letters = _letters_of(labels)
    total, seen = np.zeros(len(last)), np.zeros(len(last))
    for label, at in zip(labels, find_among(letters, types).tolist(), strict=True):
        begin, end = types.starts[at], types.starts[at + 1] - 1
        for morphs in label.segmentations:
            seen[begin:end] += 1
            total[begin + np.cumsum([len(morph) for morph in morphs])[:-1] - 1] += 1
    targets = np.full(len(last), np.nan)
    np.divide(total, seen, out=targets, where=seen > 0)
    return targets[last]


def _letters_of(labels: Sequence[GoldWord]) -> tuple[Longs, CodePoints]:
    """Find the labels that are words of letters; returns their indices, and their letters in lowercase."""
    places = find_words([" " + label.word for label in labels])
    words = np.nonzero(places.is_word)[0]
    return words, places.types(words)


@dataclass(frozen=True)
class _Design:
    """Means and standard deviations of the features of the context view and of the single views."""

    mean: Doubles
    scale: Doubles
    view_mean: Doubles
    view_scale: Doubles


def refit(
    corpus: SymbolCorpus, contexts: Contexts, views: Doubles, mixture: Doubles, targets: Doubles,
    pool: ThreadPool,
) -> Refit:  # fmt: skip
    """Fit to at least `MIN_LABELS` labeled words, and compute the new log-odds of all words.

    Args:
        corpus: the types.
        contexts: their contexts.
        views: float64, shape (n, k): the views at the n positions inside words, as in `posteriors.Ensemble`.
        mixture: float64, shape (n,): log-odds of the mixture, calibrated to the default granularity.
        targets: float64, shape (n_symbols,): the labels, as `label_targets` returns them.
        pool: threads that work on it.

    Returns:
        The new log-odds, with the cross-validated F1, the ridge penalty and the granularity that fits the labels.
    """
    inner = inner_positions(corpus.starts)
    rank = np.cumsum(inner) - 1
    at = np.nonzero(inner & ~np.isnan(targets))[0]
    words = np.searchsorted(corpus.starts, at, side="right") - 1
    labeled = targets[at]
    positions = np.nonzero(inner)[0]
    size = min(STANDARDIZED_SAMPLE, len(positions))
    sample = positions[np.arange(size) * len(positions) // size]
    design = _design_of(contexts, corpus, sample, views[rank[sample]])
    rows = _features(contexts, corpus, at, views[rank[at]], mixture[rank[at]], design)
    middles = (2 * np.arange(PRIOR_POSITIONS) + 1) * len(sample) // (2 * PRIOR_POSITIONS)
    prior = np.zeros((PRIOR_POSITIONS, rows.shape[1]))
    prior[:, -2], prior[:, -1] = _FREE * np.sort(mixture[rank[sample]])[middles], _FREE
    prior_targets = sigmoid(SLOPE / _FREE * prior[:, -2] + SHIFT)

    def fit(chosen: Mask, ridge: float) -> Doubles:
        scaled = np.concatenate([rows[chosen], prior])
        scaled[:, :-2] /= np.sqrt(ridge)
        weights = fit_logistic(scaled, np.concatenate([labeled[chosen], prior_targets]), 1.0)
        weights[:-2] /= np.sqrt(ridge)
        return weights

    folds = np.unique(words, return_inverse=True)[1] % FOLDS

    def held_out(ridge: float) -> Doubles:
        found = np.zeros(len(at))
        for fold in range(FOLDS):
            found[folds == fold] = _product(rows[folds == fold], fit(folds != fold, ridge))
        return found

    ridges = [ridge for ridge in RIDGES if ridge * len(np.unique(words)) >= MIN_RIDGE_TIMES_WORDS]
    tried = list(pool.map(held_out, ridges))
    best = _choose([_word_likelihoods(found, labeled, words) for found in tried])
    weights = fit(np.ones(len(at), bool), ridges[best])
    found = _score_all(corpus, contexts, views, mixture, weights, design, pool)
    n_words = len(np.unique(words))
    without = SLOPE * mixture[rank[at]] + SHIFT
    return Refit(found, _granularity(found, n_words), ridges[best], _f1(tried[best], labeled), _f1(without, labeled))


def _design_of(contexts: Contexts, corpus: SymbolCorpus, sample: Longs, views: Doubles) -> _Design:
    n = PER_VIEW * len(contexts.views)
    rows = np.empty((len(sample), n + N_FLAGS))
    sample_rows(contexts, corpus.starts, sample, rows)
    mean, scale = standardize(rows, n)
    view_mean, view_scale = moments(views)
    return _Design(mean, scale, view_mean, view_scale + 1e-6)


def _features(
    contexts: Contexts, corpus: SymbolCorpus, at: Longs, views: Doubles, mixture: Doubles, design: _Design
) -> Doubles:
    """Build the features of the positions `at`: numbers, their squares, flags, single views, mixture, constant."""
    n = len(design.mean)
    rows = np.empty((len(at), 2 * n + N_FLAGS))
    sample_rows(contexts, corpus.starts, at, rows)
    rows[:, :n] -= design.mean
    rows[:, :n] /= design.scale
    np.square(rows[:, :n], out=rows[:, n : 2 * n])
    single = (views - design.view_mean) / design.view_scale
    return np.concatenate([rows, single, _FREE * mixture[:, None], np.full((len(at), 1), _FREE)], axis=1)


def _score_all(
    corpus: SymbolCorpus, contexts: Contexts, views: Doubles, mixture: Doubles, weights: Doubles, design: _Design,
    pool: ThreadPool,
) -> Doubles:  # fmt: skip
    k = 2 * len(design.mean) + N_FLAGS
    linear, square = raw_coefficients(weights[:k], design.mean, design.scale)
    found = all_log_odds(corpus, contexts, linear, square, pool)[inner_positions(corpus.starts)]
    for column, weight in enumerate(weights[k:-2]):
        found += (views[:, column] - design.view_mean[column]) * (weight / design.view_scale[column])
    return found + mixture * (weights[-2] * _FREE) + weights[-1] * _FREE


def _product(rows: Doubles, weights: Doubles) -> Doubles:
    """Multiply rows by weights, column after column, because BLAS libraries add in different orders."""
    found = np.zeros(len(rows))
    for column, weight in enumerate(weights):
        found += rows[:, column] * weight
    return found


def _word_likelihoods(found: Doubles, targets: Doubles, words: Longs) -> Doubles:
    bounds = np.flatnonzero(np.diff(words, prepend=-1, append=-1)).tolist()
    one, spare, rows = np.ones(1), np.empty(1), found[:, None].copy()
    return np.array(
        [penalized_likelihood(rows[a:b], targets[a:b], 0.0, one, spare) for a, b in itertools.pairwise(bounds)]
    )


def _choose(tried: list[Doubles]) -> int:
    """Choose the strongest ridge whose likelihood is within one standard error of the best (Breiman et al. 1984).

    Args:
        tried: for each ridge, the strongest first, the likelihood of each labeled word.

    Returns:
        The index of the ridge.

    >>> _choose([np.array([-9.0, -1.0, -3.0]), np.array([-1.3, -0.75, -1.0]), np.array([-1.0, -1.0, -1.0])])
    1
    """
    totals = [math.fsum(likelihoods) for likelihoods in tried]
    best = totals.index(max(totals))
    for k in range(best):
        lost = tried[best] - tried[k]
        if math.fsum(lost) <= float(moments(lost[:, None])[1][0]) * math.sqrt(len(lost)):
            return k
    return best


def _f1(found: Doubles, targets: Doubles) -> float:
    """Compute the micro F1 of the boundaries with a probability above `BOUNDARY_FROM`; 1 if there are none at all.

    `targets` are shares, so that each of several alternative segmentations of a word counts in part.
    """
    is_boundary = found > log(BOUNDARY_FROM / (1 - BOUNDARY_FROM))
    both = float(is_boundary.sum() + column_sums(targets[:, None])[0])
    return 2 * float(column_sums(targets[is_boundary][:, None])[0]) / both if both else 1.0


def _granularity(found: Doubles, n_words: int) -> float:
    """Scale the default granularity by the share of boundaries relative to `USUAL_SHARE`.

    The fewer labeled words there are, the nearer to the default the result stays.
    """
    share = float(column_sums(sigmoid(found)[:, None])[0]) / len(found)
    trust = n_words / (n_words + EQUAL_TRUST_LABELS)
    return min(0.5, DEFAULT_GRANULARITY * float(exp(trust * log(share / USUAL_SHARE))))
