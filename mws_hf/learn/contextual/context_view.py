"""The context view: a logistic regression from contexts to cut probabilities, refitted every round. No mixing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from mws_hf.learn.contextual.contexts import Contexts
from mws_hf.learn.contextual.features import N_FLAGS, sample_rows, score
from mws_hf.learn.contextual.logistic import fit_logistic
from mws_hf.learn.contextual.settings import EvidenceSettings
from mws_hf.learn.contextual.words import inner_junctions, word_ranges
from mws_hf.learn.symbols import SymbolCorpus

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]


class ContextView:
    """Logistic regression from contexts to cut probabilities, refitted to every round's targets.

    Args:
        corpus: distinct words.
        contexts: their context nodes.
        settings: sample size and ridge. The sample is spread evenly over the junctions in corpus order.
        pool: threads for scoring.
        n_threads: word ranges scored side by side.
    """

    def __init__(
        self,
        corpus: SymbolCorpus,
        contexts: Contexts,
        settings: EvidenceSettings,
        pool: ThreadPoolExecutor,
        n_threads: int,
    ) -> None:
        self._contexts, self._ridge, self._pool = contexts, settings.ridge, pool
        junctions = np.nonzero(inner_junctions(corpus))[0]
        size = min(settings.fit_sample, len(junctions))
        self._sample = junctions[np.arange(size) * len(junctions) // max(size, 1)]
        raw = sample_rows(contexts, corpus.starts, self._sample)
        self._n_numbers = raw.shape[1] - N_FLAGS
        numbers = raw[:, : self._n_numbers]
        self._mean, self._scale = numbers.mean(0), numbers.std(0) + 1e-6
        z = (numbers - self._mean) / self._scale
        self._rows = np.concatenate([z, z**2, raw[:, self._n_numbers :]], axis=1)
        self._weights: Doubles | None = None
        self._ranges = word_ranges(corpus, n_threads)

    def log_odds(self, targets: Floats) -> Floats:
        """Fit to `targets` (cut probability after each symbol), then log-odds after each symbol; 0 at word ends."""
        self._weights = fit_logistic(self._rows, targets[self._sample].astype(np.float64), self._ridge, self._weights)
        linear, square = self._coefficients(self._weights)
        contexts = self._contexts
        out = np.zeros(len(targets), np.float32)

        def work(starts: npt.NDArray[np.int64]) -> None:
            score(starts, contexts.nodes, contexts.table, contexts.is_word, linear, square, out)

        list(self._pool.map(work, self._ranges))
        return out

    def _coefficients(self, weights: Doubles) -> tuple[Doubles, Doubles]:
        """Fold the standardisation into the weights: log-odds = linear . raw + square . raw ** 2."""
        n = self._n_numbers
        first, second, flags = weights[:n], weights[n : 2 * n], weights[2 * n :].copy()
        square = second / self._scale**2
        linear = first / self._scale - 2 * square * self._mean
        flags[-1] += np.sum(square * self._mean**2) - np.sum(first * self._mean / self._scale)
        return np.concatenate([linear, flags]), np.concatenate([square, np.zeros(N_FLAGS)])
