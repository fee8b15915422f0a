"""Boundary evidence: three views of every junction, mixed as log-odds and calibrated. No labels and no merges here.

The lexicon view explains words by whole morphs, the context view generalises its posteriors over contexts (one round
of co-training, Blum and Mitchell 1998, on soft labels), normalised variation looks at entropy alone. One round, since
with classes in the lexicon further rounds move nothing or harm.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from mws_hf.kernels.arithmetic import log_odds, moments, sigmoid
from mws_hf.kernels.memory import give_back
from mws_hf.kernels.threads import thread_count
from mws_hf.learn.evidence.context_view import context_log_odds
from mws_hf.learn.evidence.contexts import collect_contexts, trie_view
from mws_hf.learn.evidence.lexicon import LexiconView
from mws_hf.learn.evidence.positions import inner_junctions
from mws_hf.learn.evidence.settings import EvidenceSettings
from mws_hf.learn.evidence.substrings import build_lattice
from mws_hf.learn.evidence.variation import normalised_variation
from mws_hf.learn.words import SymbolCorpus

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]


def boundary_probabilities(
    corpus: SymbolCorpus, settings: EvidenceSettings | None = None, n_threads: int | None = None
) -> Doubles:
    """Probability that a morph boundary lies after each symbol.

    Args:
        corpus: distinct words (weights are not used: every type counts once), those to learn the lexicon from first.
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
    n_threads = thread_count(n_threads)
    inner = inner_junctions(corpus)
    j = np.zeros(len(inner))
    if inner.any():
        mixed = _mixed_log_odds(corpus, inner, settings, n_threads)
        slope = settings.sharpness / max(float(moments(mixed[:, None])[1][0]), 1e-9)
        uncut = round((1 - settings.granularity) * (len(mixed) - 1))
        threshold = np.partition(mixed, uncut)[uncut]
        mixed -= threshold
        mixed *= slope
        j[inner] = sigmoid(mixed)
    return j


def _mixed_log_odds(
    corpus: SymbolCorpus, inner: npt.NDArray[np.bool_], settings: EvidenceSettings, n_threads: int
) -> Doubles:
    """Weighted sum of the views at every inner junction; the lexicon's only where it was learnt."""
    learnt = _first_words(corpus, settings.em_types)
    with ThreadPoolExecutor(n_threads) as pool, ThreadPoolExecutor(1) as aside:
        tries = [aside.submit(trie_view, corpus, backwards) for backwards in (False, True)]
        targets, lexicon = _lexicon_view(learnt, settings, pool, n_threads)
        give_back()
        contexts = collect_contexts(corpus, settings.orders, [trie.result() for trie in tries], pool)
        del tries
        give_back()
        mixed = context_log_odds(corpus, contexts, targets, settings, pool, n_threads)[inner].astype(np.float64)
        known = np.nonzero(inner[: len(targets)])[0]
        mixed[: len(known)] += (1 - settings.context_weight) * (lexicon[known] - mixed[: len(known)])
        size = min(max(len(corpus), settings.short_list), settings.full_list)
        variation = normalised_variation(corpus, contexts)
        variation *= settings.variation_weight * settings.full_list / size
        mixed += variation
    return mixed


def _lexicon_view(
    corpus: SymbolCorpus, settings: EvidenceSettings, pool: ThreadPoolExecutor, n_threads: int
) -> tuple[Floats, Floats]:
    """Mean over the price ends of the lexicon's cut probabilities, and of their log-odds."""
    lattice = build_lattice(corpus, settings.max_substring, settings.min_substring_count)
    view = LexiconView(corpus, lattice, settings, pool, n_threads)
    del lattice
    levels = np.float32(len(settings.price_ends))
    mean, odds = np.zeros(len(corpus.symbols), np.float32), np.zeros(len(corpus.symbols), np.float32)
    for posterior in view.posteriors():
        mean += posterior / levels
        odds += log_odds(posterior) / levels
    return mean, odds


def _first_words(corpus: SymbolCorpus, n: int) -> SymbolCorpus:
    """The first `n` words, with the same alphabet."""
    starts = corpus.starts[: n + 1]
    return SymbolCorpus(corpus.alphabet, corpus.symbols[: starts[-1]], starts, corpus.weights[:n])
