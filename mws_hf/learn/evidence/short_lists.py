"""Re-rank the places inside words of a short list by two more views; the values of the mixture stay.

The mixture's values are handed out again in the new order, since the calibration and the constants of the merges are
made for them. First the paradigm view moves the places, then the affix view is started from the cuts that this gives.
Full lists need neither view: there the lexicon view knows as much.
"""

from __future__ import annotations

import numpy as np

from mws_hf.kernels.arithmetic import moments
from mws_hf.kernels.arrays import Doubles
from mws_hf.kernels.threads import ThreadPool
from mws_hf.learn.evidence.affixes import affix_log_odds, fit_affixes
from mws_hf.learn.evidence.contexts import Contexts
from mws_hf.learn.evidence.paradigms import find_splits, fit_paradigms, paradigm_support
from mws_hf.learn.evidence.positions import inner_positions, least_cut
from mws_hf.learn.evidence.settings import DEFAULT_GRANULARITY, EvidenceSettings
from mws_hf.learn.evidence.substrings import build_lattice
from mws_hf.learn.words import SymbolCorpus


def short_list_weight(n_types: int, settings: EvidenceSettings) -> float:
    """Compute the share of their full weight that the two views have in a list of `n_types` types.

    Below `short_list` types the share falls with their number: both views count how often stems and endings come back,
    and a list of some hundred words shows too few of them.

    >>> settings = EvidenceSettings(short_list=8_000, rerank_below=60_000, rerank_fully=20_000)
    >>> [short_list_weight(n, settings) for n in (100, 4_000, 8_000, 20_000, 40_000, 60_000, 400_000)]
    [0.0125, 0.5, 1.0, 1.0, 0.5, 0.0, 0.0]
    """
    below, fully = settings.rerank_below, settings.rerank_fully
    return min(1.0, n_types / settings.short_list, max(0.0, (below - n_types) / (below - fully)))


def rerank(
    mixed: Doubles, corpus: SymbolCorpus, contexts: Contexts, settings: EvidenceSettings, pool: ThreadPool,
) -> tuple[Doubles, Doubles]:  # fmt: skip
    """Bring the inner positions of a short list into a better order.

    Args:
        mixed: float64, shape (n,), the mixture's log-odds at the inner positions.
        corpus: distinct words.
        contexts: from `collect_contexts`; their first two views, the tries, number the prefixes and suffixes.
        settings: weights of the views.
        pool: threads; the result does not depend on their number.

    Returns:
        The same values in the new order; the two views, shape (n, 2): paradigms, affixes.
    """
    weight, inner = short_list_weight(len(corpus), settings), inner_positions(corpus)
    prefixes, suffixes = (trie.ids for trie in contexts.views[:2])
    splits = find_splits(corpus, prefixes, suffixes)
    paradigms = paradigm_support(fit_paradigms(splits), splits, len(corpus.symbols))[inner]
    order = standard_scores(mixed) + weight * weight * settings.paradigm_weight * standard_scores(paradigms)
    cut = np.zeros(len(inner), bool)
    cut[inner] = handed_out(mixed, order) > least_cut(mixed, settings.granularity or DEFAULT_GRANULARITY)
    lattice = build_lattice(corpus, settings.max_substring, settings.min_substring_count)
    model = fit_affixes(corpus, lattice, cut, settings, pool)
    affixes = affix_log_odds(model, corpus, lattice, settings, pool)[inner].astype(np.float64)
    order += weight * settings.affix_weight * standard_scores(affixes)
    return handed_out(mixed, order), np.stack([paradigms, affixes], axis=1)


def standard_scores(values: Doubles) -> Doubles:
    """Compute distances from the mean in standard deviations; 0 for each value where all are alike.

    >>> standard_scores(np.array([1.0, 3.0])).tolist()
    [-1.0, 1.0]
    """
    mean, deviation = moments(values[:, None])
    return (values - mean[0]) / max(float(deviation[0]), 1e-9)


def handed_out(values: Doubles, order: Doubles) -> Doubles:
    """Hand the sorted values out in ascending `order`; of equal ones first the lower value, then the first place.

    >>> handed_out(np.array([5.0, 6.0, 7.0]), np.array([2.0, 1.0, 1.0])).tolist()
    [7.0, 5.0, 6.0]
    """
    found = np.empty(len(values))
    found[np.lexsort((values, order))] = np.sort(values)
    return found
