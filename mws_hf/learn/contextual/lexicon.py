"""The lexicon view: words as sequences of entries that pay for their spelling; yields cut probabilities only.

Unigram EM over substrings with a description-length price on every entry, as in Morfessor Baseline (Creutz and Lagus,
2002), pruned step by step; the M-step is the mean-field one of a sparse Dirichlet prior.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mws_hf.learn.contextual.kernels import (
    FIXED_POINT,
    best_splits,
    drop_arcs,
    expected_counts,
    variational_weights,
)
from mws_hf.learn.contextual.settings import EvidenceSettings
from mws_hf.learn.contextual.substrings import Lattice
from mws_hf.learn.contextual.words import word_ranges
from mws_hf.learn.symbols import SymbolCorpus

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]


@dataclass
class _State:
    """The entries still alive and their arcs; arrays are replaced or shortened by pruning."""

    rows: npt.NDArray[np.int64]
    entries: npt.NDArray[np.int32]
    spans: npt.NDArray[np.uint8]
    first: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.uint8]
    costs: Doubles
    p: Doubles


def spelling_costs(corpus: SymbolCorpus, lattice: Lattice, mean_length: float) -> Doubles:
    """Nats to spell each entry: its symbols by their frequency, its length geometrically (`mean_length`)."""
    frequency = np.bincount(corpus.symbols, minlength=len(corpus.alphabet)) + 1.0
    stop = 1 / mean_length
    letter = -np.log(frequency / frequency.sum()) - np.log(1 - stop)
    upto = np.concatenate([[0.0], np.cumsum(letter[corpus.symbols])])
    return upto[lattice.first + lattice.lengths.astype(np.int64)] - upto[lattice.first] - np.log(stop / (1 - stop))


class LexiconView:
    """EM over the lattice of one corpus; each call starts again from all candidates.

    Args:
        corpus: distinct words.
        lattice: candidates from `build_lattice`.
        settings: price ramp, steps, spelling.
        pool: threads; the result does not depend on their number.
        n_threads: word ranges worked on side by side.
    """

    def __init__(
        self,
        corpus: SymbolCorpus,
        lattice: Lattice,
        settings: EvidenceSettings,
        pool: ThreadPoolExecutor,
        n_threads: int,
    ) -> None:
        self._lattice = lattice
        self._settings = settings
        self._pool = pool
        self._costs = spelling_costs(corpus, lattice, settings.mean_entry_length)
        self._ranges = word_ranges(corpus, n_threads)
        self._buffers = [np.empty(len(lattice.first), np.int64) for _ in self._ranges]

    def posteriors(self, odds: Floats) -> Iterator[Floats]:
        """Cut probability after each symbol, once for each end price, cheapest first.

        Args:
            odds: float32, prior odds of a cut after each symbol; ones for a flat prior.

        Yields:
            float32, one a symbol; 0 after the last symbol of a word. The array is reused by the next step.
        """
        source = self._lattice
        state = _State(
            source.rows.copy(), source.entries.copy(), source.spans.copy(), source.first, source.lengths, self._costs,
            source.counts / source.counts.sum(),
        )  # fmt: skip
        posterior = np.zeros(len(odds), np.float32)
        for price in self._settings.price_ramp:
            for _ in range(self._settings.em_steps):
                counts = self._step(state, odds, posterior)
                variational_weights(counts, state.lengths, state.p)
            self._prune(state, counts, price)
            if price in self._settings.price_ends:
                kept = state.p.copy()
                for _ in range(self._settings.em_steps - 1):
                    variational_weights(self._step(state, odds, posterior), state.lengths, state.p)
                self._step(state, odds, posterior)
                state.p = kept
                yield posterior

    def _step(self, state: _State, odds: Floats, posterior: Floats) -> npt.NDArray[np.int64]:
        """One expectation step; counts in fixed point."""
        buffers = [buffer[: len(state.p)] for buffer in self._buffers]

        def work(starts: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> None:
            counts[:] = 0
            expected_counts(starts, state.rows, state.entries, state.spans, state.p, odds, counts, posterior)

        list(self._pool.map(work, self._ranges, buffers))
        for other in buffers[1:]:
            buffers[0] += other
        return buffers[0]

    def _prune(self, state: _State, counts: npt.NDArray[np.int64], price: float) -> None:
        """Drop entries whose uses gain less over their best split than `price` times their spelling."""
        with np.errstate(divide="ignore"):
            logp = np.log(state.p)
        split = np.empty(len(logp))
        best_splits(state.first, state.lengths, state.rows, state.entries, state.spans, logp, split)
        single = state.lengths == 1
        with np.errstate(invalid="ignore"):
            gain = counts / FIXED_POINT * (logp - split)
        keep = single | ((state.p > 0) & (gain >= price * state.costs))
        number = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
        arcs = drop_arcs(state.rows, state.entries, state.spans, number)
        state.entries, state.spans = state.entries[:arcs], state.spans[:arcs]
        state.first, state.lengths, state.costs = state.first[keep], state.lengths[keep], state.costs[keep]
        state.p = state.p[keep] / state.p[keep].sum()
