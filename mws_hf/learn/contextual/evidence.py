"""Boundary evidence: two views of every junction teach each other, then their log-odds are mixed and calibrated.

No labels and no merges here. The context view generalises over contexts, the lexicon view over whole morphs; each
round the lexicon's posteriors are the targets of the context view, whose probabilities are the lexicon's next prior
(co-training, Blum and Mitchell 1998, on soft labels).
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from mws_hf.learn.contextual.context_view import ContextView
from mws_hf.learn.contextual.contexts import build_contexts
from mws_hf.learn.contextual.lexicon import LexiconView
from mws_hf.learn.contextual.logistic import sigmoid
from mws_hf.learn.contextual.settings import EvidenceSettings
from mws_hf.learn.contextual.substrings import build_lattice
from mws_hf.learn.contextual.words import inner_junctions
from mws_hf.learn.symbols import SymbolCorpus

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]


MAX_PRIOR = 9.2
"""Largest absolute log-odds that one view may impose on the other: no junction is ever decided for good."""


def log_odds(p: npt.NDArray[Any], least: float = 1e-3) -> npt.NDArray[Any]:
    """log(p / (1 - p)) with p kept `least` away from 0 and 1."""
    q = np.clip(p, least, 1 - least)
    odds: npt.NDArray[Any] = np.log(q / (1 - q))
    return odds


def boundary_probabilities(
    corpus: SymbolCorpus, settings: EvidenceSettings | None = None, n_threads: int | None = None
) -> Doubles:
    """Probability that a morph boundary lies after each symbol.

    Args:
        corpus: distinct words (weights are not used: every type counts once).
        settings: constants of the recipe.
        n_threads: threads; all cores when absent. The result does not depend on it.

    Returns:
        float64, shape (n_symbols,); 0 after the last symbol of a word.

    >>> corpus = SymbolCorpus.from_words([a + b for a in ("ev", "kitap", "masa") for b in ("", "lar", "da")])
    >>> j = boundary_probabilities(corpus)
    >>> j.shape == corpus.symbols.shape, float(j[corpus.starts[1:] - 1].max())
    (True, 0.0)
    """
    settings = settings or EvidenceSettings()
    n_threads = n_threads or os.cpu_count() or 1
    inner = inner_junctions(corpus)
    if not inner.any():
        return np.zeros(len(corpus.symbols))
    with ThreadPoolExecutor(n_threads) as pool:
        lattice = build_lattice(corpus, settings.max_substring, settings.min_substring_count)
        contexts = build_contexts(corpus, settings.orders, pool)
        lexicon = LexiconView(corpus, lattice, settings, pool, n_threads)
        context = ContextView(corpus, contexts, settings, pool, n_threads)
        mixed = _teach_each_other(lexicon, context, inner, settings)
    mixed = mixed[inner]
    j = np.zeros(len(inner))
    j[inner] = sigmoid(mixed - np.quantile(mixed, 1 - settings.cut_rate))
    return j


def _teach_each_other(
    lexicon: LexiconView, context: ContextView, inner: npt.NDArray[np.bool_], settings: EvidenceSettings
) -> Doubles:
    """Mixed log-odds after the last round."""
    odds = np.ones(len(inner), np.float32)
    levels = len(settings.price_ends)
    for _ in range(settings.rounds):
        targets = np.zeros(len(inner), np.float32)
        lexicon_odds = np.zeros(len(inner), np.float32)
        for posterior in lexicon.posteriors(odds):
            targets += posterior / np.float32(levels)
            lexicon_odds += log_odds(posterior) / np.float32(levels)
        context_odds = context.log_odds(targets)
        odds = np.exp(np.clip(context_odds, -MAX_PRIOR, MAX_PRIOR))
    share = settings.context_weight
    return (1 - share) * lexicon_odds.astype(np.float64) + share * context_odds.astype(np.float64)
