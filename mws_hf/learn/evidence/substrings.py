"""List candidate lexicon entries as a lattice: every substring seen often enough, with its places; none is chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mws_hf.kernels.arrays import Bytes, Ints, Longs
from mws_hf.kernels.interning import intern_pairs
from mws_hf.kernels.jit import njit
from mws_hf.learn.words import SymbolCorpus

LONGEST_ENTRY = 12
"""Longest lexicon entry in graphemes, 16 at most, for a place has a bit for each length; stems longer than this are
compounds or loans."""

LEAST_PLACES = 2
"""An entry seen once explains nothing but the word it came from."""


@dataclass(frozen=True)
class Lattice:
    """The lexicon entries that may start at each symbol, shortest first; single symbols are always entries.

    Attributes:
        rows: int32, shape (n_symbols + 1,); the arcs that start at symbol i are ``rows[i]:rows[i + 1]``.
        entries: int32, shape (n_arcs,), the entry of each arc.
        spans: uint8, shape (n_arcs,), the length of the entry in symbols.
        first: int32, shape (n_entries,), a symbol where the entry starts.
        lengths: uint8, shape (n_entries,), the length of the entry in symbols.
        counts: int32, shape (n_entries,), in how many places the entry occurs.
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
    """Bring the arcs of one length into the order of their start, behind the shorter ones, which `free` counts."""
    at = 0
    for i in range(len(masks)):
        if masks[i] >> (length - 1) & 1:
            arc = rows[i] + free[i]
            free[i] += 1
            entries[arc], spans[arc] = level[at], length
            at += 1


def _frequent(current: Ints, first: Ints, counts: Ints, least: int, offset: int) -> tuple[Ints, Ints, Ints]:
    """Renumber the ids that occur at least `least` times from `offset` on; the others become -1."""
    keep = counts >= least
    number = np.where(keep, np.cumsum(keep, dtype=np.int32) - 1 + np.int32(offset), np.int32(-1))
    # the extra -1 at the end answers for places that have no id
    return np.append(number, np.int32(-1))[current], first[keep], counts[keep]


def build_lattice(corpus: SymbolCorpus, longest: int = LONGEST_ENTRY, min_count: int = LEAST_PLACES) -> Lattice:
    """List all substrings of at most `longest` (16) symbols with at least `min_count` places in distinct words.

    Time and memory grow with the number of arcs: a substring is looked at only where both of its parts shorter by one
    symbol are frequent.

    >>> lattice = build_lattice(SymbolCorpus.from_words(["ab", "abc"]), 12, 2)
    >>> lattice.rows.tolist(), lattice.entries.tolist(), lattice.spans.tolist(), lattice.counts.tolist()
    ([0, 2, 3, 5, 6, 7], [0, 3, 1, 0, 3, 1, 2], [1, 2, 1, 1, 2, 1, 1], [2, 2, 1, 2])
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
        current, first, count = _frequent(longer.ids, longer.first, longer.counts, min_count, total)
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
