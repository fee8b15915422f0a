"""The lexicon view: words as prefixes, stems and suffixes that pay for their spelling; yields cut probabilities only.

EM of a hidden Markov model whose states are the three classes and which emits substrings, as in Morfessor FlatCat
(Grönroos et al. 2014), with a description-length price on every entry as in Morfessor Baseline (Creutz and Lagus,
2002), pruned step by step; the M-step is the mean-field one of a sparse Dirichlet prior. A stem may also be spelled out
letter by letter, as by the base distribution of a Dirichlet process (Goldwater et al. 2009), so that a stem seen once
stays whole where the rest of its word is known.

A step of expectation maximisation over all words is the same on any number of threads; `kernels` has its formulas. The
affix view, which does not prune, uses it as well. Candidate entries are a lattice: every substring seen often enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import add
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mws_hf.kernels import Bytes, Doubles, Floats, Ints, Longs
from mws_hf.kernels.arithmetic import column_sums, exps, log, logs
from mws_hf.kernels.interning import intern_pairs
from mws_hf.kernels.jit import njit
from mws_hf.kernels.threads import ThreadPool
from mws_hf.learn.evidence.forms import word_ranges
from mws_hf.learn.evidence.lexicon_kernels import (
    FIXED_POINT,
    PREFIX,
    STEM,
    SUFFIX,
    Arcs,
    Expected,
    StemSpelling,
    WordModel,
    best_splits,
    drop_arcs,
    forward_backward,
    variational_weights,
)
from mws_hf.learn.words import SymbolCorpus

LONGEST_ENTRY = 12
"""Longest lexicon entry in graphemes, 16 at most, for a place has a bit for each length; stems longer than this are
compounds or loans."""

LEAST_PLACES = 2
"""An entry seen once explains nothing but the word it came from."""

LONGEST_PREFIX, LONGEST_SUFFIX = 6, 8
"""Longest entry that may serve as a prefix, and as a suffix."""

PRICE_RAMP = (0.1, 0.3, 0.6, 1.0, 2.0)
"""Rising prices of a lexicon entry, in units of its spelling cost. One jump to the end value prunes stems before
suffixes are established (F1 0.52 against 0.59). Ten steps from 0.02 on are no better than these five (mean of eight
golds 0.664 against 0.666) and take a quarter more of the time."""

PRICE_ENDS = (0.3, 1.0, 2.0)
"""End prices whose posteriors are averaged (each one of `PRICE_RAMP`): no single grain of the lexicon suits all
languages."""

EM_STEPS = 2
"""Expectation steps at each price; two let the counts settle after a pruning."""

MEAN_ENTRY_LENGTH = 4.0
"""Mean of the geometric length prior in an entry's spelling cost, about a morph's length."""

SINGLE_STEM = 1e-7
"""Probability of a single grapheme as a stem: only where nothing else explains a word."""

UNKNOWN_STEMS = 0.5
"""Probability that a stem is spelled out instead of taken from the lexicon. Without it a stem seen once is cut into
pieces that happen to be known (F1 up to 0.05 less on lists of 8,000 to 25,000 types, 0.00 to 0.01 on longer ones); 0.3
to 0.9 are alike."""

UNKNOWN_STEM_LENGTH = 5.0
"""Mean of the Poisson prior on the graphemes of a stem that is spelled out; 5 and 7 are alike."""

_LEAST_COUNTERS, _COUNTER_BYTES = 2, 64 << 20
"""Each thread of an expectation step has counts of its own for all entries, 24 bytes each (up to 20 MB). There are as
many as fit into so many bytes, and these many at least, so that memory does not grow with the number of cores."""


class Moves(NamedTuple):
    """Probabilities of going on from class to class: `step`, `stop` and `start` of a `WordModel`."""

    step: Doubles
    stop: Doubles
    start: Doubles

    @classmethod
    def first(cls) -> Moves:
        """Return the probabilities before the first step; zeros stay zero.

        So there is no suffix before a stem, no prefix after one, no word ends with a prefix; but a stem may follow a
        suffix (compounds with linking elements).
        """
        step = ((0.2, 0.8, 0.0), (0.0, 0.175, 0.525), (0.0, 0.1, 0.4))
        return cls(np.array(step), np.array((0.0, 0.3, 0.5)), np.array((0.3, 0.7, 0.0)))


def expect(
    corpus: SymbolCorpus, arcs: Arcs, model: WordModel, posterior: Floats, pool: ThreadPool,
) -> tuple[Longs, Longs]:  # fmt: skip
    """Compute `lexicon_kernels.Expected`, on all threads of the pool; cut probabilities go to `posterior`."""
    most = max(_LEAST_COUNTERS, _COUNTER_BYTES // (24 * max(1, len(model.p))))
    ranges = word_ranges(corpus, min(pool.size, most))
    counts = [np.zeros((len(model.p), 3), np.int64) for _ in ranges]
    moves = np.zeros((len(counts), 5, 3), np.int64)

    def work(starts: Longs, counted: Longs, moved: Longs) -> None:
        forward_backward(starts, arcs, model, Expected(counted, moved, posterior))

    list(pool.map(work, ranges, counts, moves))
    for other in counts[1:]:
        counts[0] += other
    return counts[0], moves.sum(0)


def maximize(counts: Longs, moved: Longs, lengths: Bytes, p: Doubles) -> Moves:
    """Find the probabilities that explain the counts of `expect`; the entries' probabilities are written to `p`."""
    variational_weights(counts, lengths, SINGLE_STEM, p)
    step, stop, start = moved[:3] / FIXED_POINT, moved[3] / FIXED_POINT, moved[4] / FIXED_POINT
    leave = step[:, 0] + step[:, 1] + step[:, 2] + stop + 1e-9
    return Moves(step / leave[:, None], stop / leave, start / max(math.fsum(start), 1e-9))


TYPICAL_STEM = 3.0
"""Length in symbols at which a substring is half as likely a stem as a long one with the same count, at first."""


@dataclass
class _State:
    """The entries still alive, their arcs and the model; pruning replaces or shortens the arrays."""

    rows: Ints
    entries: Ints
    spans: Bytes
    first: Ints
    lengths: Bytes
    costs: Doubles
    p: Doubles
    moves: Moves


def letter_probabilities(corpus: SymbolCorpus) -> Doubles:
    """Compute the relative frequency of each symbol of the alphabet; each is counted once more than it occurs."""
    frequency = np.bincount(corpus.symbols, minlength=len(corpus.alphabet)) + 1
    found: Doubles = frequency / frequency.sum()
    return found


def unknown_stems(share: float, mean_length: float, longest: int) -> Doubles:
    """Compute the probability that a stem is spelled out and has 0, 1, ... `longest` symbols; they sum to `share`.

    Lengths follow a Poisson distribution without its first two values: no stem has one letter.

    >>> unknown_stems(0.5, 5.0, 4).round(3).tolist()
    [0.0, 0.0, 0.105, 0.175, 0.219]
    """
    weights = np.zeros(longest + 1)
    weight = mean_length
    for n in range(2, longest + 1):
        weight *= mean_length / n
        weights[n] = weight
    found: Doubles = share * weights / max(math.fsum(weights), 1e-300)
    return found


def spelling_costs(corpus: SymbolCorpus, lattice: Lattice, mean_length: float) -> Doubles:
    """Compute the nats to spell each entry: symbols by their frequency, the length geometrically (`mean_length`)."""
    stop = 1 / mean_length
    upto = np.zeros(len(corpus.symbols) + 1)
    costs = upto[1:]
    costs[:] = (-logs(letter_probabilities(corpus)) - log(1 - stop))[corpus.symbols]
    np.cumsum(costs, out=costs)
    return upto[lattice.first + lattice.lengths.astype(np.int64)] - upto[lattice.first] - log(stop / (1 - stop))


def initial_probabilities(corpus: SymbolCorpus, lattice: Lattice) -> Doubles:
    """Compute the probability of each entry in each class before the first step.

    Prefixes and suffixes count the words that they begin or end (but are not), stems their places; longer stems are
    preferred.
    """
    weights = np.zeros((len(lattice.first), 3))
    _count_edges(corpus.starts, lattice.rows, lattice.entries, lattice.spans, weights)
    weights[:, [PREFIX, SUFFIX]] += 1e-3
    weights[:, STEM] = lattice.counts / (1 + exps(TYPICAL_STEM - np.arange(256))[lattice.lengths])
    weights[lattice.lengths > LONGEST_PREFIX, PREFIX] = 0
    weights[lattice.lengths > LONGEST_SUFFIX, SUFFIX] = 0
    weights /= column_sums(weights)
    return weights


@njit(nogil=True)
def _count_edges(starts: Longs, rows: Ints, entries: Ints, spans: Bytes, weights: Doubles) -> None:
    """Count how many words each entry begins, and how many it ends, without being the word."""
    for w in range(len(starts) - 1):
        end = starts[w + 1]
        for i in range(starts[w], end):
            for e in range(rows[i], rows[i + 1]):
                opens, closes = i == starts[w], i + spans[e] == end
                if opens and not closes:
                    weights[entries[e], PREFIX] += 1
                if closes and not opens:
                    weights[entries[e], SUFFIX] += 1


def lexicon_posteriors(corpus: SymbolCorpus, pool: ThreadPool) -> Iterator[Floats]:
    """Compute the posterior of a cut after each symbol, once for each end price, cheapest first.

    The array, 0 after the last symbol of a word, is reused by the next step.
    """
    spelled_out = unknown_stems(UNKNOWN_STEMS, UNKNOWN_STEM_LENGTH, LONGEST_ENTRY)
    known = 1 - reduce(add, spelled_out.tolist())
    letters = letter_probabilities(corpus)[corpus.symbols]
    spelling = StemSpelling(spelled_out, letters, np.zeros(0), np.zeros(0))
    state = _first_state(corpus)
    posterior = np.zeros(len(corpus.symbols), np.float32)

    def expected() -> tuple[Longs, Longs]:
        arcs = Arcs(state.rows, state.entries, state.spans)
        return expect(corpus, arcs, WordModel(state.p, *state.moves, known, spelling), posterior, pool)

    for before, price in pairwise((-math.inf, *PRICE_RAMP, math.inf)):
        for _ in range(EM_STEPS - 1):
            state.moves = maximize(*expected(), state.lengths, state.p)
        counts, moves = expected()
        if before in PRICE_ENDS:
            yield posterior
        if price == math.inf:
            return
        state.moves = maximize(counts, moves, state.lengths, state.p)
        _prune(state, counts, price)
        del counts


def _first_state(corpus: SymbolCorpus) -> _State:
    lattice = build_lattice(corpus)
    costs, p = spelling_costs(corpus, lattice, MEAN_ENTRY_LENGTH), initial_probabilities(corpus, lattice)
    rows, entries, spans, first, lengths = lattice.rows, lattice.entries, lattice.spans, lattice.first, lattice.lengths
    return _State(rows, entries, spans, first, lengths, costs, p, Moves.first())


def _prune(state: _State, counts: Longs, price: float) -> None:
    """Drop entries that gain less over their best split, in all classes, than `price` times their spelling."""
    by_class = counts[:, PREFIX], counts[:, STEM], counts[:, SUFFIX]  # numpy sums rows of three slowly
    totals = np.array([each.sum() for each in by_class]) / FIXED_POINT
    share = totals / max(math.fsum(totals), 1e-9)
    p = state.p[:, PREFIX] * share[PREFIX] + state.p[:, STEM] * share[STEM] + state.p[:, SUFFIX] * share[SUFFIX]
    logp = logs(p)
    split = np.empty(len(logp))
    best_splits(state.first, state.lengths, state.rows, state.entries, state.spans, logp, split)
    single = state.lengths == 1
    with np.errstate(invalid="ignore"):
        gain = reduce(add, by_class) / FIXED_POINT * (logp - split)
    keep = single | ((p > 0) & (gain >= price * state.costs))
    number = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
    arcs = drop_arcs(state.rows, state.entries, state.spans, number)
    for array in (state.entries, state.spans):
        array.resize(arcs, refcheck=False)  # what is after the arcs left goes back to the system, without a copy
    state.first, state.lengths, state.costs = state.first[keep], state.lengths[keep], state.costs[keep]
    state.p = state.p[keep]
    state.p /= column_sums(state.p)
    state.p[state.lengths == 1, STEM] = SINGLE_STEM


@dataclass(frozen=True)
class Lattice:
    """The lexicon entries that may start at each symbol, shortest first; single symbols are always entries.

    The arcs that start at symbol i are ``rows[i]:rows[i + 1]``, each with its entry and the entry's span in symbols. Of
    each entry there are the `first` symbol where it starts, its length, and in how many places it occurs.
    """

    rows: Ints
    entries: Ints
    spans: Bytes
    first: Ints
    lengths: Bytes
    counts: Ints


@njit(nogil=True)
def _extensible(current: Ints, symbols: Ints, starts: Longs, length: int, left: Ints, right: Ints) -> None:
    """Mark (left >= 0) the places where a substring of `length` fits and both of its shorter parts are frequent."""
    for w in range(len(starts) - 1):
        for i in range(starts[w], starts[w + 1]):
            left[i] = -1
            if i + length <= starts[w + 1] and current[i] >= 0 and current[i + 1] >= 0:
                left[i] = current[i]
                right[i] = symbols[i + length - 1]


@njit(nogil=True)
def _fill_rows(masks: npt.NDArray[np.uint16], rows: Ints) -> int:
    """Write where the arcs of each symbol begin, one arc for each bit of its mask; returns the number of arcs."""
    arc = 0
    for i in range(len(masks)):
        rows[i] = arc
        mask = masks[i]
        while mask != 0:
            mask &= mask - 1
            arc += 1
    rows[len(masks)] = arc
    return arc


@njit(nogil=True)
def _scatter(
    level: Ints, length: int, masks: npt.NDArray[np.uint16], free: Bytes,
    rows: Ints, entries: Ints, spans: Bytes,
) -> None:  # fmt: skip
    """Bring the arcs of one length into the order of their start, after the shorter ones, which `free` counts."""
    at = 0
    for i in range(len(masks)):
        if masks[i] >> (length - 1) & 1:
            arc = rows[i] + free[i]
            free[i] += 1
            entries[arc], spans[arc] = level[at], length
            at += 1


def _frequent_entries(current: Ints, first: Ints, counts: Ints, least: int, offset: int) -> tuple[Ints, Ints, Ints]:
    """Renumber the ids that occur at least `least` times from `offset` on; all other ids become -1."""
    keep = counts >= least
    number = np.where(keep, np.cumsum(keep, dtype=np.int32) - 1 + np.int32(offset), np.int32(-1))
    # the extra -1 at the end answers for places that have no id
    return np.append(number, np.int32(-1))[current], first[keep], counts[keep]


def build_lattice(corpus: SymbolCorpus, longest: int = LONGEST_ENTRY, min_count: int = LEAST_PLACES) -> Lattice:
    """List all substrings of at most `longest` (16) symbols with at least `min_count` places in distinct words.

    Time and memory grow with the number of arcs: a substring is looked at only where both of its parts shorter by one
    symbol are frequent.
    """
    symbols, n = corpus.symbols, len(corpus.symbols)
    masks = np.ones(n, np.uint16)
    counts0 = np.bincount(symbols, minlength=len(corpus.alphabet)).astype(np.int32)
    first0 = np.zeros(len(corpus.alphabet), np.int32)
    first0[symbols[::-1]] = np.arange(n - 1, -1, -1, dtype=np.int32)
    levels, firsts, counts = [symbols], [first0], [counts0]
    current, left = symbols, np.empty(n, np.int32)
    right = np.zeros(n, np.int32)  # not empty: `intern_pairs` looks at all of it
    total = len(corpus.alphabet)
    for length in range(2, longest + 1):
        _extensible(current, symbols, corpus.starts, length, left, right)
        longer = intern_pairs(left, right)
        current, first, count = _frequent_entries(longer.ids, longer.first, longer.counts, min_count, total)
        del longer
        here = current >= 0
        masks |= here.astype(np.uint16) << np.uint16(length - 1)
        levels.append(current[here])
        firsts.append(first)
        counts.append(count)
        total += len(first)
    del current, left, right
    rows = np.empty(n + 1, np.int32)
    arcs = _fill_rows(masks, rows)
    entries, spans, free = np.empty(arcs, np.int32), np.empty(arcs, np.uint8), np.zeros(n, np.uint8)
    for length in range(1, len(firsts) + 1):
        _scatter(levels[length - 1], length, masks, free, rows, entries, spans)
        levels[length - 1] = symbols  # each is let go once it is copied
    lengths = np.repeat(np.arange(1, len(firsts) + 1), [len(f) for f in firsts]).astype(np.uint8)
    return Lattice(rows, entries, spans, np.concatenate(firsts), lengths, np.concatenate(counts))
