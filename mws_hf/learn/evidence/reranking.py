"""Re-rank the positions inside words of a short list by two more views, paradigms and affixes.

The log-odds of the mixture are only permuted, because the calibration and the constants of the merges were chosen for
their distribution. First the paradigm view re-ranks the positions. Then the affix view is fitted to the boundaries of
this new ranking, and both views together re-rank the positions of the mixture. Long lists need neither view, because
there the lexicon view alone is as accurate.
"""

from __future__ import annotations

import numpy as np

from mws_hf.kernels import Doubles
from mws_hf.kernels.arithmetic import moments
from mws_hf.kernels.threads import ThreadPool
from mws_hf.learn.evidence.affix_view import affix_log_odds, fit_affixes
from mws_hf.learn.evidence.forms import inner_positions, share_threshold
from mws_hf.learn.evidence.lexicon import build_lattice
from mws_hf.learn.words import SymbolCorpus

SHORT_LIST = 8_000
"""Number of types below which the weight of both views is reduced, in proportion to the number of types. With their
full weight, F1 of 300 to 2,000 lemmas is lower by 0.01 to 0.04 in Latin and Russian, and higher by as much in Finnish,
Hungarian, Turkish and Czech."""

RERANK_FULLY, RERANK_BELOW = 20_000, 60_000
"""Number of types up to which both views have their full weight, and from which on they have none. Between these
numbers the weight falls linearly. A weight of 20,000 / types is not significantly different, but never reaches 0.

At 44,000 to 55,000 types, the views raise F1 by 0.011 to 0.019 in Russian and Finnish, and lower it by 0.004 to 0.007
in Hungarian and Turkish. At 77,000 types they would lower it by 0.005 in Finnish."""

PARADIGM_WEIGHT = 0.3
"""Full weight of the paradigm view in standard scores, compared with 1 for the mixture.

It is multiplied by the square of `short_list_weight`, because from 44,000 types on this view alone lowers F1 by 0.004
to 0.010 in English, Turkish and Russian. In short lists, with 0.15 most of the gain in Latin and Czech is lost, and
with 0.5 most of the gain in English."""

AFFIX_WEIGHT = 1.0
"""Full weight of the affix view in the same unit; with 0.7 and 1.5 the differences are not significant."""


def short_list_weight(n_types: int) -> float:
    """Compute the share of their full weight that both views have in a list of `n_types` types.

    Below `SHORT_LIST` types the share falls with the number of types. Both views count how often stems and endings
    occur again, and a list of a few hundred words contains too few of them.

    >>> [short_list_weight(n) for n in (100, 4_000, 8_000, 20_000, 40_000, 60_000, 400_000)]
    [0.0125, 0.5, 1.0, 1.0, 0.5, 0.0, 0.0]
    """
    falling = (RERANK_BELOW - n_types) / (RERANK_BELOW - RERANK_FULLY)
    return min(1.0, n_types / SHORT_LIST, max(0.0, falling))


def rerank(
    mixed: Doubles, corpus: SymbolCorpus, support: Doubles, granularity: float, pool: ThreadPool,
) -> tuple[Doubles, Doubles]:  # fmt: skip
    """Permute the log-odds of the mixture at the n positions inside the words of a short list.

    Args:
        mixed: float64, shape (n,): log-odds of the mixture.
        corpus: the words.
        support: float64, shape (n_symbols,): the paradigm view, from `word_support`.
        granularity: share of the positions at which words are split before the affix view is fitted.
        pool: threads that work on it.

    Returns:
        The permuted log-odds, shape (n,), and both views, shape (n, 2).
    """
    weight, inner = short_list_weight(len(corpus)), inner_positions(corpus.starts)
    lattice = pool.submit(build_lattice, corpus)
    paradigms = support[inner]
    order = standard_scores(mixed) + weight * weight * PARADIGM_WEIGHT * standard_scores(paradigms)
    is_split = np.zeros(len(inner), bool)
    is_split[inner] = permuted(mixed, order) > share_threshold(mixed, granularity)
    model = fit_affixes(corpus, lattice.result(), is_split, pool)
    affixes = affix_log_odds(model, corpus, lattice.result(), pool)[inner].astype(np.float64)
    order += weight * AFFIX_WEIGHT * standard_scores(affixes)
    return permuted(mixed, order), np.stack([paradigms, affixes], axis=1)


def standard_scores(values: Doubles) -> Doubles:
    """Compute the distance of each value from the mean in standard deviations; 0 if all values are equal."""
    mean, deviation = moments(values[:, None])
    return (values - mean[0]) / max(float(deviation[0]), 1e-9)


def permuted(values: Doubles, order: Doubles) -> Doubles:
    """Permute values so that they have the same ranks as `order`; of equal ranks, the lower value comes first."""
    found = np.empty(len(values))
    found[np.lexsort((values, order))] = np.sort(values)
    return found
