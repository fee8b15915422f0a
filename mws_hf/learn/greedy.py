"""Merge kernels that always take the most valuable pair: a heap with lazy entries; not where values come from.

Order of the heap: larger value, then smaller left id, then smaller right id (that of `tokenizers`' BpeTrainer).
`queued[p]` is the greatest value under which pair p stands in the heap and never less than its present value, so the
top entry, when it is not stale, is the best pair of all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mws_hf.jit import njit
from mws_hf.learn.pairs import PAIRS, TOKENS, TOUCHED, PairTable, has_room, take
from mws_hf.learn.strings import known, remember

REACHED, EXHAUSTED, ROOM, ASK = 0, 1, 2, 3
NOT_QUEUED = np.iinfo(np.int64).min

Array = npt.NDArray[Any]


class Heap(NamedTuple):
    """Entries `value` (int64) and `pair` (int32), `queued` (int64, by pair), and `size` (one number in an array)."""

    value: Array
    pair: Array
    queued: Array
    size: Array


@njit(nogil=True)
def _before(left: Array, right: Array, v: int, p: int, w: int, q: int) -> bool:
    if v != w:
        return v > w
    if left[p] != left[q]:
        return left[p] < left[q]
    return right[p] < right[q]


@njit(nogil=True)
def _sift_down(left: Array, right: Array, h: Heap) -> None:
    """Move the top entry down to where it belongs."""
    size, v, p, at = h.size[0], h.value[0], np.int64(h.pair[0]), np.int64(0)
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        w, q = h.value[child], np.int64(h.pair[child])
        if child + 1 < size:
            u, r = h.value[child + 1], np.int64(h.pair[child + 1])
            if _before(left, right, u, r, w, q):
                child, w, q = child + 1, u, r
        if not _before(left, right, w, q, v, p):
            break
        h.value[at], h.pair[at] = w, q
        at = child
    h.value[at], h.pair[at] = v, p


@njit(nogil=True)
def _pop(left: Array, right: Array, h: Heap) -> None:
    last = h.size[0] - 1
    h.size[0] = last
    if last > 0:
        h.value[0], h.pair[0] = h.value[last], h.pair[last]
        _sift_down(left, right, h)


@njit(nogil=True)
def _push(left: Array, right: Array, h: Heap, p: int, v: int) -> None:
    """Queue pair `p` under its value `v`."""
    h.queued[p] = v
    at = h.size[0]
    h.size[0] = at + 1
    while at > 0:
        parent = (at - 1) // 2
        if not _before(left, right, v, p, h.value[parent], np.int64(h.pair[parent])):
            break
        h.value[at], h.pair[at] = h.value[parent], h.pair[parent]
        at = parent
    h.value[at], h.pair[at] = v, p


@njit(nogil=True)
def fill_heap(t: PairTable, h: Heap, least: tuple[int, int]) -> None:
    """Queue every pair of the table; `least` is (occurrences, value) of a candidate."""
    for p in range(t.used[PAIRS]):
        if t.places[p] >= least[0] and t.value[p] >= least[1]:
            _push(t.left, t.right, h, p, t.value[p])


@njit(nogil=True)
def _refresh_top(t: PairTable, h: Heap, least: tuple[int, int]) -> int:
    """Bring the heap's top up to date; returns the best pair or -1 when no candidate is left."""
    while h.size[0] > 0:
        v, p = h.value[0], np.int64(h.pair[0])
        if v != h.queued[p]:
            _pop(t.left, t.right, h)
        elif t.places[p] < least[0] or t.value[p] < least[1]:
            h.queued[p] = NOT_QUEUED
            _pop(t.left, t.right, h)
        elif t.value[p] < v:
            h.value[0] = h.queued[p] = t.value[p]
            _sift_down(t.left, t.right, h)
        else:
            return int(p)
    return -1


@njit(nogil=True)
def most_pushes(t: PairTable, p: int) -> int:
    """Upper bound of the pairs that merging `p` can add to the heap: two lost and two new for each neighbour."""
    return int(4 * min(np.int64(t.listed[p]), t.used[TOKENS] + 1))


@njit(nogil=True)
def _frequency(t: PairTable, p: int, weights: Array) -> int:
    """Occurrences of a pair, each with the weight of its first cell."""
    tok, arena, left, right, total = t.tok, t.arena, t.left[p], t.right[p], np.int64(0)
    size = t.length[left]
    for s in range(t.begin[p], t.begin[p] + t.listed[p]):
        i = arena[s]
        if tok[i] == left and tok[i + size] == right:
            total += weights[i]
    return int(total)


@njit(nogil=True)
def advance(
    t: PairTable,
    h: Heap,
    strings: Array,
    goal: int,
    least: tuple[int, int],
    limits: tuple[int, int, int],
    accepted: int,
    weights: Array,
    min_frequency: int,
) -> int:
    """Merge until there are `goal` tokens or the caller is needed; the pair in question is `h.pair[0]`.

    Args:
        t: the pair table.
        h: its heap.
        strings: hashes of the strings that may not be made again (strings.py).
        goal: number of tokens to stop at.
        least: (occurrences, value) below which a pair is no candidate.
        limits: see `take`.
        accepted: a pair the caller has found to make a new string although its hash is known; else -1.
        weights: int64, by cell, how often each word counts in a frequency; empty when there is no `min_frequency`.
        min_frequency: least sum of `weights` over a pair's occurrences, looked at when its turn comes.

    Returns:
        REACHED, EXHAUSTED, ROOM (enlarge the arrays), or ASK (is the string new?).
    """
    while t.used[TOKENS] < goal:
        p = _refresh_top(t, h, least)
        if p < 0:
            return EXHAUSTED
        if len(weights) > 0 and _frequency(t, p, weights) < min_frequency:
            t.value[p] = t.places[p] = t.listed[p] = 0  # for good: occurrences only vanish
            continue
        left, right = t.left[p], t.right[p]
        product = t.token_hash[left] * t.token_power[right] + t.token_hash[right]
        if p != accepted and known(strings, product):
            return ASK
        if not has_room(t, p) or len(h.value) - h.size[0] < most_pushes(t, p):
            return ROOM
        first = t.used[PAIRS]
        t.token_score[t.used[TOKENS]] = t.value[p]
        h.queued[p] = NOT_QUEUED
        _pop(t.left, t.right, h)
        take(t, p, limits)
        remember(strings, product)
        for k in range(t.used[TOUCHED] + t.used[PAIRS] - first):
            q = np.int64(t.touched[k]) if k < t.used[TOUCHED] else first + k - t.used[TOUCHED]
            if t.places[q] >= least[0] and t.value[q] >= least[1] and t.value[q] > h.queued[q]:
                _push(t.left, t.right, h, q, t.value[q])
    return REACHED
