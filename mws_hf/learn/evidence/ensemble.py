"""Boundary posteriors from an ensemble of views: mixed as log-odds, then calibrated. No merges here.

The lexicon view explains words by whole morphs. The context view generalises the posteriors of the lexicon over
contexts (one round of co-training, Blum and Mitchell 1998, on soft labels). Normalised variation looks at entropy
alone. One round suffices: with classes in the lexicon further rounds move nothing or harm. In a short list
`short_lists` re-ranks the positions by two more views. Where words are labelled, `labels` re-fits the mixture.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mws_hf.kernels.arithmetic import log_odds, moments, sigmoid
from mws_hf.kernels.arrays import Doubles, Floats
from mws_hf.kernels.threads import ThreadPool, give_back
from mws_hf.learn.evidence.context_view import context_log_odds
from mws_hf.learn.evidence.contexts import CONTEXT_LENGTHS, Contexts, collect_contexts, normalised_variation, trie_view
from mws_hf.learn.evidence.forms import inner_positions, least_cut
from mws_hf.learn.evidence.lexicon import PRICE_ENDS, lexicon_posteriors
from mws_hf.learn.evidence.short_lists import SHORT_LIST, rerank, short_list_weight, word_support
from mws_hf.learn.settings import DEFAULT_GRANULARITY, Settings
from mws_hf.learn.words import SymbolCorpus

if TYPE_CHECKING:
    from mws_hf.learn.evidence.labels import Refit

EM_TYPES = 150_000
"""The lexicon is learnt from this many most frequent types. More take time and spoil it with names, typing errors and
loans (400,000: Russian lemmas lose 0.005 to 0.03), fewer miss stems (60,000: Finnish 0.01)."""

CONTEXT_WEIGHT = 0.75
"""Share of the context view in the mixture of its log-odds with the lexicon's, which are the sharper and noisier of the
two; 0.5 favours English, 0.875 Turkish, by 0.005 to 0.02."""

VARIATION_WEIGHT, FULL_LIST = 0.5, 70_000
"""Weight of the normalised variation (standard scores) in the mixture, and the types from which on a list is full. In
shorter lists the lexicon is poor and the weight grows in inverse proportion to their number: at 8,000 types this gains
0.05 to 0.12 on Latin, Czech and Russian and loses 0.02 to 0.05 on Finnish and Turkish. Below `SHORT_LIST` types it
grows no more: in made-up paradigms of some hundred types every view is right, and twice this weight spoils them (Hindi
0.82 to 0.78, Finnish 0.87 to 0.79)."""

SHARPNESS = 4.0
"""Slope of the calibration, in log-odds of the evidence for each standard deviation of the mixture; 3 to 5 are ties, at
half of it unseen Finnish stems lose 0.02."""


def boundary_posteriors(
    corpus: SymbolCorpus, settings: Settings, n_threads: int | None = None, labelled: Doubles | None = None
) -> tuple[Doubles, Refit | None]:
    """Compute the posterior probability of a morph boundary after each symbol, fitted to labels where there are some.

    Every type counts once: weights are not used. `labelled` is from `labels.label_targets`. The posteriors, 0 after the
    last symbol of a word, do not depend on the number of threads. With them comes the fit, None without labels.
    """
    mixture = mix_views(corpus, settings, n_threads, keep=labelled is not None)
    return calibrated_posteriors(mixture, corpus, settings, n_threads, labelled)


@dataclass(frozen=True)
class Ensemble:
    """Log-odds of the views at the n inner positions, mixed but not calibrated; single views and contexts only if kept.

    `views` has the shape (n, 4): the lexicon, whether it was learnt there, contexts, variation; in a short list (n, 6),
    with paradigms and affixes last.
    """

    log_odds: Doubles
    views: Doubles | None = None
    contexts: Contexts | None = None


def calibrated_posteriors(
    mixture: Ensemble,
    corpus: SymbolCorpus,
    settings: Settings,
    n_threads: int | None = None,
    labelled: Doubles | None = None,
) -> tuple[Doubles, Refit | None]:
    """Calibrate an ensemble, after re-fitting it where words are labelled; arguments as in `boundary_posteriors`."""
    inner = inner_positions(corpus.starts)
    j, mixed, found = np.zeros(len(inner)), mixture.log_odds.copy(), None
    if len(mixed) == 0:
        return j, None
    if labelled is not None and mixture.views is not None and mixture.contexts is not None:
        from mws_hf.learn.evidence.labels import refit

        _calibrate(mixed, DEFAULT_GRANULARITY)
        with ThreadPool(n_threads) as pool:
            found = refit(corpus, mixture.contexts, mixture.views, mixed, labelled, pool)
        mixed = found.log_odds.copy()
    granularity = settings.granularity or (DEFAULT_GRANULARITY if found is None else found.granularity)
    if found is not None:
        found = replace(found, granularity=granularity)
    _calibrate(mixed, granularity)
    j[inner] = sigmoid(mixed)
    return j, found


def _calibrate(mixed: Doubles, granularity: float) -> None:
    """Bring log-odds to deviation `SHARPNESS`, 0 where a share of `granularity` lies above; in place."""
    slope = SHARPNESS / max(float(moments(mixed[:, None])[1][0]), 1e-9)
    mixed -= least_cut(mixed, granularity)
    mixed *= slope


def mix_views(
    corpus: SymbolCorpus, settings: Settings, n_threads: int | None = None, *, keep: bool = False
) -> Ensemble:
    """Compute the views and their weighted sum at every inner position; the lexicon counts only where it was learnt."""
    inner = inner_positions(corpus.starts)
    if not inner.any():
        return Ensemble(np.zeros(0))
    starts = corpus.starts[: EM_TYPES + 1]
    learnt = SymbolCorpus(corpus.alphabet, corpus.symbols[: starts[-1]], starts, corpus.weights[:EM_TYPES])

    def contexts_of() -> Contexts:
        return collect_contexts(corpus, CONTEXT_LENGTHS, [trie_view(corpus, backwards) for backwards in (False, True)])

    with ThreadPool(n_threads) as pool:
        prepared = pool.submit(contexts_of)  # in one thread, for the lexicon leaves some idle
        targets, lexicon = _lexicon_view(learnt, pool)
        give_back()
        contexts = prepared.result()
        del prepared
        is_short = short_list_weight(len(corpus)) > 0
        support = pool.submit(word_support, corpus, *contexts.views[:2]) if is_short else None
        varied = pool.submit(normalised_variation, corpus, contexts)  # while one thread fits the context view
        mixed = context_log_odds(corpus, contexts, targets, pool)[inner].astype(np.float64)
        context = mixed.copy() if keep else None
        known = np.nonzero(inner[: len(targets)])[0]
        mixed[: len(known)] += (1 - CONTEXT_WEIGHT) * (lexicon[known] - mixed[: len(known)])
        size = min(max(len(corpus), SHORT_LIST), FULL_LIST)
        variation = varied.result()
        variation *= VARIATION_WEIGHT * FULL_LIST / size
        mixed += variation
        more = np.zeros((len(mixed), 0))
        if support is not None:
            mixed, more = rerank(mixed, corpus, support.result(), settings.granularity or DEFAULT_GRANULARITY, pool)
    if context is None:
        return Ensemble(mixed)
    views = np.zeros((len(mixed), 4))
    views[: len(known), 0], views[: len(known), 1] = lexicon[known], 1
    views[:, 2], views[:, 3] = context, variation
    return Ensemble(mixed, np.concatenate([views, more], axis=1), contexts)


def _lexicon_view(corpus: SymbolCorpus, pool: ThreadPool) -> tuple[Floats, Floats]:
    """Average the lexicon's cut probabilities over the end prices, and likewise their log-odds."""
    levels = np.float32(len(PRICE_ENDS))
    mean, odds = np.zeros(len(corpus.symbols), np.float32), np.zeros(len(corpus.symbols), np.float32)
    for posterior in lexicon_posteriors(corpus, pool):
        mean += posterior / levels
        odds += log_odds(posterior) / levels
    return mean, odds
