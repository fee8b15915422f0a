"""The lexicon view: explain words by a lexicon of prefixes, stems and suffixes, and find boundary probabilities.

The model is a hidden Markov model. Its states are the three classes, and each state emits a substring, as in Morfessor
FlatCat (Grönroos et al. 2014). It is fitted by expectation maximization (EM). Every entry of the lexicon has a cost,
which is its description length, as in Morfessor Baseline (Creutz and Lagus 2002), times a factor that rises step by
step. At each step, the entries whose gain in log probability is below their cost are removed. The M-step is that of
variational inference with a sparse Dirichlet prior.

A stem may also be spelled out letter by letter, as by the base distribution of a Dirichlet process (Goldwater et al.
2009). So a stem that occurs only once stays whole if the rest of its word is known.

The candidates for entries are all substrings that occur often enough (`build_lattice`). The result of an EM step does
not depend on the number of threads; its formulas are in `lexicon_kernels.forward_backward`. The affix view, which does
not remove entries, uses the same step.
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
"""Maximum length of a lexicon entry, in graphemes; longer stems are compounds or loanwords. It can be 16 at most,
because each symbol has a mask with one bit for each length."""

MIN_ENTRY_COUNT = 2
"""Minimum number of occurrences of an entry. An entry that occurs only once explains no other word."""

LONGEST_PREFIX, LONGEST_SUFFIX = 6, 8
"""Maximum length, in graphemes, of an entry that may be a prefix, and of one that may be a suffix."""

COST_FACTORS = (0.1, 0.3, 0.6, 1.0, 2.0)
"""Factors of the spelling cost of an entry, one after another. With the last factor only, stems are removed before
suffixes emerge (F1 0.52 instead of 0.59). Ten factors from 0.02 on are not better than these five (mean
F1 of eight reference sets 0.664 and 0.666), and take a quarter more time."""

AVERAGED_COST_FACTORS = (0.3, 1.0, 2.0)
"""Factors of `COST_FACTORS` after which the boundary probabilities are averaged, because no single size of the lexicon
suits all languages."""

EM_STEPS = 2
"""EM steps at each factor; with two, the counts settle after entries were removed."""

MEAN_ENTRY_LENGTH = 4.0
"""Mean length of an entry, about that of a morph, in the geometric prior that is part of its spelling cost."""

SINGLE_STEM = 1e-7
"""Probability of a single grapheme as a stem; it is so small that it matters only if nothing else explains a word."""

UNKNOWN_STEMS = 0.5
"""Probability that a stem is spelled out instead of taken from the lexicon.

Without spelled-out stems, a stem that occurs only once is split into known entries: F1 is lower by up to 0.05 on lists
of 8,000 to 25,000 types, and by 0.00 to 0.01 on longer lists. Values from 0.3 to 0.9 give about the same F1."""

UNKNOWN_STEM_LENGTH = 5.0
"""Mean number of graphemes of a spelled-out stem in the Poisson prior; 5 and 7 give about the same F1."""

_MIN_COUNT_ARRAYS, _COUNT_ARRAYS_BYTES = 2, 64 << 20
"""Minimum number of arrays of counts in an EM step, and the memory in bytes for all of them. Each thread has its own
array, with 24 bytes per entry (up to 20 MB). Their number is limited, so that memory does not grow with the number of
processors."""


class Moves(NamedTuple):
    """Transition probabilities of the classes: `step`, `stop` and `start` of a `WordModel`."""

    step: Doubles
    stop: Doubles
    start: Doubles

    @classmethod
    def first(cls) -> Moves:
        """Return the probabilities before the first EM step; those that are 0 stay 0 in all steps.

        So no word begins with a suffix or ends with a prefix, no prefix follows a stem or a suffix, and no suffix
        follows a prefix. A stem may follow a suffix, because compounds can have linking elements.
        """
        step = ((0.2, 0.8, 0.0), (0.0, 0.175, 0.525), (0.0, 0.1, 0.4))
        return cls(np.array(step), np.array((0.0, 0.3, 0.5)), np.array((0.3, 0.7, 0.0)))


def expect(
    corpus: SymbolCorpus, arcs: Arcs, model: WordModel, posterior: Floats, pool: ThreadPool,
) -> tuple[Longs, Longs]:  # fmt: skip
    """Take the E-step of EM over all words, on all threads of the pool.

    Args:
        corpus: the words.
        arcs: the entries that may start at each symbol.
        model: probabilities of entries and classes.
        posterior: float32, shape (n_symbols,): overwritten with the probability of a boundary after each symbol.
        pool: threads that work on it.

    Returns:
        `counts` and `moves` of `lexicon_kernels.Expected`.
    """
    most = max(_MIN_COUNT_ARRAYS, _COUNT_ARRAYS_BYTES // (24 * max(1, len(model.p))))
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
    """Take the M-step of EM: returns the transition probabilities, and writes the probabilities of entries to `p`.

    Args:
        counts: expected uses of the entries, as `expect` returns them.
        moved: expected transitions, as `expect` returns them.
        lengths: uint8, shape (n_entries,): the length of each entry, in symbols.
        p: float64, shape (n_entries, 3): overwritten with the probability of each entry in each class.
    """
    variational_weights(counts, lengths, SINGLE_STEM, p)
    step, stop, start = moved[:3] / FIXED_POINT, moved[3] / FIXED_POINT, moved[4] / FIXED_POINT
    leave = step[:, 0] + step[:, 1] + step[:, 2] + stop + 1e-9
    return Moves(step / leave[:, None], stop / leave, start / max(math.fsum(start), 1e-9))


TYPICAL_STEM = 3.0
"""Length, in symbols, at which a substring is initially half as likely to be a stem as a long one with the same
count."""


@dataclass
class _State:
    """The entries that were not removed, their arcs and the model; `_prune` replaces or shortens the arrays."""

    rows: Ints
    entries: Ints
    spans: Bytes
    first: Ints
    lengths: Bytes
    costs: Doubles
    p: Doubles
    moves: Moves


def letter_probabilities(corpus: SymbolCorpus) -> Doubles:
    """Compute the relative frequency of each symbol of the alphabet, after 1 was added to each count: float64."""
    frequency = np.bincount(corpus.symbols, minlength=len(corpus.alphabet)) + 1
    found: Doubles = frequency / frequency.sum()
    return found


def unknown_stems(share: float, mean_length: float, longest: int) -> Doubles:
    """Compute the probability that a stem is spelled out and has 0, 1, ... `longest` symbols; their sum is `share`.

    Lengths follow a Poisson distribution without its first two values, because a stem has at least two symbols.

    Args:
        share: the sum of the probabilities.
        mean_length: mean of the Poisson distribution.
        longest: maximum number of symbols.

    Returns:
        float64, shape (longest + 1,).

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
    """Compute the cost of spelling each entry, in nats: float64, shape (n_entries,).

    Each symbol costs the negative logarithm of its relative frequency. The length has a geometric distribution with the
    mean `mean_length`.
    """
    stop = 1 / mean_length
    upto = np.zeros(len(corpus.symbols) + 1)
    costs = upto[1:]
    costs[:] = (-logs(letter_probabilities(corpus)) - log(1 - stop))[corpus.symbols]
    np.cumsum(costs, out=costs)
    return upto[lattice.first + lattice.lengths.astype(np.int64)] - upto[lattice.first] - log(stop / (1 - stop))


def initial_probabilities(corpus: SymbolCorpus, lattice: Lattice) -> Doubles:
    """Compute the probability of each entry in each class before the first EM step: float64, shape (n_entries, 3).

    It is in proportion to the number of longer words that the entry begins (prefix) or ends (suffix), or to the number
    of its occurrences (stem). Longer entries are preferred as stems.
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
    """Count the longer words that each entry begins and ends; columns PREFIX and SUFFIX of `weights`."""
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
    """Compute the probability of a boundary after each symbol, once for each of `AVERAGED_COST_FACTORS`, ascending.

    Yields:
        float32, shape (n_symbols,), 0 after the last symbol of a word. It is the same array each time, so use or copy
        it before you advance the iterator.
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

    for before, cost_factor in pairwise((-math.inf, *COST_FACTORS, math.inf)):
        for _ in range(EM_STEPS - 1):
            state.moves = maximize(*expected(), state.lengths, state.p)
        counts, moves = expected()
        if before in AVERAGED_COST_FACTORS:
            yield posterior
        if cost_factor == math.inf:
            return
        state.moves = maximize(counts, moves, state.lengths, state.p)
        _prune(state, counts, cost_factor)
        del counts


def _first_state(corpus: SymbolCorpus) -> _State:
    lattice = build_lattice(corpus)
    costs, p = spelling_costs(corpus, lattice, MEAN_ENTRY_LENGTH), initial_probabilities(corpus, lattice)
    rows, entries, spans, first, lengths = lattice.rows, lattice.entries, lattice.spans, lattice.first, lattice.lengths
    return _State(rows, entries, spans, first, lengths, costs, p, Moves.first())


def _prune(state: _State, counts: Longs, cost_factor: float) -> None:
    """Remove the entries whose gain is below their cost, which is `cost_factor` times their spelling cost.

    The gain of an entry is its expected count in all classes, times the difference between its log probability and that
    of its best split into other entries.
    """
    by_class = counts[:, PREFIX], counts[:, STEM], counts[:, SUFFIX]  # numpy adds rows of three numbers slowly
    totals = np.array([counts_of_class.sum() for counts_of_class in by_class]) / FIXED_POINT
    share = totals / max(math.fsum(totals), 1e-9)
    p = state.p[:, PREFIX] * share[PREFIX] + state.p[:, STEM] * share[STEM] + state.p[:, SUFFIX] * share[SUFFIX]
    logp = logs(p)
    split = np.empty(len(logp))
    best_splits(state.first, state.lengths, state.rows, state.entries, state.spans, logp, split)
    single = state.lengths == 1
    with np.errstate(invalid="ignore"):
        gain = reduce(add, by_class) / FIXED_POINT * (logp - split)
    keep = single | ((p > 0) & (gain >= cost_factor * state.costs))
    number = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
    arcs = drop_arcs(state.rows, state.entries, state.spans, number)
    for array in (state.entries, state.spans):
        array.resize(arcs, refcheck=False)  # gives the rest of the memory back without a copy
    state.first, state.lengths, state.costs = state.first[keep], state.lengths[keep], state.costs[keep]
    state.p = state.p[keep]
    state.p /= column_sums(state.p)
    state.p[state.lengths == 1, STEM] = SINGLE_STEM


@dataclass(frozen=True)
class Lattice:
    """The lexicon entries that may start at each symbol (arcs), the shortest first; single symbols are always entries.

    Attributes:
        rows: int32, shape (n_symbols + 1,): the arcs that start at symbol i are ``rows[i]:rows[i + 1]``.
        entries: int32, shape (n_arcs,): the entry of each arc.
        spans: uint8, shape (n_arcs,): the length of the entry of each arc, in symbols.
        first: int32, shape (n_entries,): the first symbol of the corpus at which each entry starts.
        lengths: uint8, shape (n_entries,): the length of each entry, in symbols.
        counts: int32, shape (n_entries,): how often each entry occurs.
    """

    rows: Ints
    entries: Ints
    spans: Bytes
    first: Ints
    lengths: Bytes
    counts: Ints


@njit(nogil=True)
def _extensible(current: Ints, symbols: Ints, starts: Longs, length: int, left: Ints, right: Ints) -> None:
    """Find the symbols where a substring of `length` starts whose prefix and suffix of `length` - 1 are frequent.

    There, `left` becomes the number of this prefix, and `right` the last symbol of the substring. Elsewhere `left`
    becomes -1.
    """
    for w in range(len(starts) - 1):
        for i in range(starts[w], starts[w + 1]):
            left[i] = -1
            if i + length <= starts[w + 1] and current[i] >= 0 and current[i + 1] >= 0:
                left[i] = current[i]
                right[i] = symbols[i + length - 1]


@njit(nogil=True)
def _fill_rows(masks: npt.NDArray[np.uint16], rows: Ints) -> int:
    """Write `Lattice.rows`, with one arc for each bit of a symbol's mask; returns the number of arcs."""
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
    """Write the arcs of one length behind the shorter arcs of the same symbol, whose number is `free`."""
    at = 0
    for i in range(len(masks)):
        if masks[i] >> (length - 1) & 1:
            arc = rows[i] + free[i]
            free[i] += 1
            entries[arc], spans[arc] = level[at], length
            at += 1


def _frequent_entries(current: Ints, first: Ints, counts: Ints, least: int, offset: int) -> tuple[Ints, Ints, Ints]:
    """Give new numbers from `offset` on to the ids that occur at least `least` times; all others become -1.

    Returns:
        The new number of each element of `current`; and for the ids that are kept, their first appearance and count.
    """
    keep = counts >= least
    number = np.where(keep, np.cumsum(keep, dtype=np.int32) - 1 + np.int32(offset), np.int32(-1))
    # The -1 at the end is for elements of `current` that are -1.
    return np.append(number, np.int32(-1))[current], first[keep], counts[keep]


def build_lattice(corpus: SymbolCorpus, longest: int = LONGEST_ENTRY, min_count: int = MIN_ENTRY_COUNT) -> Lattice:
    """List all substrings of at most `longest` symbols that occur at least `min_count` times in distinct words.

    Time and memory grow with the number of arcs, because a substring is counted only if it is frequent both without its
    first symbol and without its last symbol.

    Args:
        corpus: distinct words.
        longest: maximum length of a substring, in symbols; at most 16.
        min_count: minimum number of occurrences of a substring of two or more symbols.

    Returns:
        The substrings as entries, and where each of them starts.
    """
    symbols, n = corpus.symbols, len(corpus.symbols)
    masks = np.ones(n, np.uint16)
    counts0 = np.bincount(symbols, minlength=len(corpus.alphabet)).astype(np.int32)
    first0 = np.zeros(len(corpus.alphabet), np.int32)
    first0[symbols[::-1]] = np.arange(n - 1, -1, -1, dtype=np.int32)
    levels, firsts, counts = [symbols], [first0], [counts0]
    current, left = symbols, np.empty(n, np.int32)
    right = np.zeros(n, np.int32)  # zeros, because `intern_pairs` reads all of it
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
        levels[length - 1] = symbols  # so that the memory of each level is free after it was copied
    lengths = np.repeat(np.arange(1, len(firsts) + 1), [len(f) for f in firsts]).astype(np.uint8)
    return Lattice(rows, entries, spans, np.concatenate(firsts), lengths, np.concatenate(counts))
