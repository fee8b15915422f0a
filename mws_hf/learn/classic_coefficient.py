"""The coefficient of a pair in the original MwS score, term by term, with its hyperparameters.

Counts are of the present segmentation of the corpus, weighted by word counts: u(x) is the number of tokens x, b(l, r)
the number of neighboring pairs, N the sum of u, B the sum of b, and avg = sum of len(x) * u(x) / N the mean token
length in characters. L is max(1, length of l without leading white space), R the length of r, and n = L + R. All
logarithms have base `log_base`.

    candidate    n <= max_merge_len and |n - sqrt(avg)| <= max_len_delta
    p_l          u(l) / N
    p_r          (u(r) / N) ** 0.75
    p_b          b / B
    t            (b - u(l) * p_r) / sqrt(b)
    association  (log(max(1e-24, p_b / (p_l * p_r))) + log(max(1, t + 1))) / 2
    penalty      sqrt(n**2 - L**2 - R**2) / avg
    gain         -p_r * log(p_r) - p_l * log(p_l) + p_b * log(p_b)
    coefficient  max(0, association - log(log_base - len_norm_factor + len_norm_factor * penalty) + gain)

Source: the notebook of MwS ("Matvejev word Shredder"). x ** 0.75 is computed as sqrt(x) * sqrt(sqrt(x)), and the
logarithm by `kernels.arithmetic`, because both are then the same on every machine. The pair with the larger
coefficient, rounded to 1e-9, comes first, then the one with the smaller left id, then the one with the smaller right
id. Ids are those of the alphabet in the order of code points, then those of the merges. Combining marks are characters
like all others here, so tokens can begin with one, because the original score has no graphemes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mws_hf.kernels.arithmetic import log
from mws_hf.learn.settings import Settings

UNITS = 1_000_000_000
"""Coefficients are compared in units of 1 / UNITS."""

PUBLISHED = Settings(criterion="classic")
"""The hyperparameters of the original notebook."""


def floor(settings: Settings) -> int:
    """Return the coefficient that a pair must exceed to be merged, in units of 1e-9."""
    threshold = 0.0 if settings.stop_threshold is None else max(0.0, min(settings.stop_threshold, 1e6))
    return to_units(threshold)


class Counts(NamedTuple):
    """Counts of a pair, in the notation of the docstring of the module.

    Attributes:
        u_l: u(l).
        u_r: u(r).
        b: b(l, r).
        left_size: L, in characters.
        right_size: R, in characters.
        n_tokens: N.
        n_pairs: B.
        n_characters: number of characters of all tokens.
    """

    u_l: int
    u_r: int
    b: int
    left_size: int
    right_size: int
    n_tokens: int
    n_pairs: int
    n_characters: int


class Terms(NamedTuple):
    """All terms of a coefficient, in the notation of the docstring of the module; `t_score` is t.

    Attributes:
        pmi: the first logarithm of the association (pointwise mutual information).
        length: what the penalty adds to the coefficient, with its sign.
        total: the coefficient, which can be negative here.
    """

    p_l: float
    p_r: float
    p_b: float
    pmi: float
    t_score: float
    association: float
    penalty: float
    length: float
    gain: float
    total: float


def terms_of(counts: Counts, len_norm_factor: float, log_base: float) -> Terms:
    """Compute all terms of a pair with b > 0.

    Kernels compile this function, so it uses only what numba supports.

    Args:
        counts: the counts of the pair.
        len_norm_factor: weight of the length penalty, from 0 to `log_base`.
        log_base: base of all logarithms.
    """
    per_log = log(log_base)
    average = counts.n_characters / counts.n_tokens
    p_l = counts.u_l / counts.n_tokens
    root = math.sqrt(counts.u_r / counts.n_tokens)
    p_r = root * math.sqrt(root)
    p_b = counts.b / counts.n_pairs
    t_score = (counts.b - counts.u_l * p_r) / math.sqrt(counts.b)
    pmi = log(max(1e-24, p_b / (p_l * p_r))) / per_log
    association = 0.5 * (pmi + log(max(1.0, t_score + 1.0)) / per_log)
    penalty = math.sqrt(2.0 * counts.left_size * counts.right_size) / average
    length = -log(log_base - len_norm_factor + len_norm_factor * penalty) / per_log
    gain = (p_b * log(p_b) - p_r * log(p_r) - p_l * log(p_l)) / per_log
    return Terms(p_l, p_r, p_b, pmi, t_score, association, penalty, length, gain, association + length + gain)


def is_candidate(size: int, n_tokens: int, n_characters: int, max_merge_len: int, max_len_delta: float) -> bool:
    """Return whether a product of `size` = L + R characters is allowed at the present mean token length."""
    return size <= max_merge_len and abs(size - math.sqrt(n_characters / n_tokens)) <= max_len_delta


def to_units(coefficient: float) -> int:
    """Round a coefficient half up to a whole number of units of 1e-9, by which pairs are compared."""
    return math.floor(coefficient * UNITS + 0.5)


def coefficient(counts: Counts, settings: Settings = PUBLISHED) -> float:
    """Compute the coefficient of a pair, rounded to 1e-9; 0 if the pair is not a candidate.

    >>> coefficient(Counts(u_l=4, u_r=6, b=3, left_size=1, right_size=2, n_tokens=40, n_pairs=30, n_characters=60))
    0.666736425
    """
    size = counts.left_size + counts.right_size
    if not is_candidate(size, counts.n_tokens, counts.n_characters, settings.max_merge_len, settings.max_len_delta):
        return 0.0
    return max(0, to_units(terms_of(counts, settings.len_norm_factor, settings.log_base).total)) / UNITS
