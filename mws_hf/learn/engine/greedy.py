"""Merge the most valuable pair again and again, by a heap with lazy entries; where values come from is not known here.

Order of the heap: larger value, then smaller left id, then smaller right id (as in `tokenizers`' BpeTrainer).
`queued[p]` is the greatest value under which pair p stands in the heap, and never less than its present value. So the
top entry, when it is not stale, is the best pair of all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mws_hf.kernels.arrays import Array
from mws_hf.kernels.heap import pop, push, sift_down
from mws_hf.kernels.jit import njit
from mws_hf.kernels.tables import pair_key, slot_of
from mws_hf.learn.engine.pairs import PAIRS, TOKENS, TOUCHED, PairTable, has_room, merge_pair
from mws_hf.learn.engine.tables import known, make_room, remember, resized

REACHED, EXHAUSTED, ROOM, ASK = 0, 1, 2, 3
NOT_QUEUED = np.iinfo(np.int64).min
SIZE, ASKED = 0, 1  # indexes into Queue.used


class Queue(NamedTuple):
    """Candidates for merging.

    Attributes:
        heap: int64 (see kernels/heap.py), the negated value and the `pair_key` of each entry.
        queued: int64, by pair, the greatest value under which it stands in the heap.
        used: int64, how many entries the heap has, and the pair that the caller is asked about.
    """

    heap: Array
    queued: Array
    used: Array


class Least(NamedTuple):
    """Least occurrences and value of a candidate, and its least frequency when its turn comes."""

    occurrences: int
    value: int
    frequency: int


@njit(inner=True)
def _queue_pair(t: PairTable, q: Queue, p: int) -> None:
    """Queue pair `p` under its present value."""
    q.queued[p] = t.pairs[p].value
    q.used[SIZE] = push(q.heap, q.used[SIZE], -t.pairs[p].value, pair_key(t.pairs[p].left, t.pairs[p].right))


@njit(nogil=True)
def _fill_queue(t: PairTable, q: Queue, least: Least) -> None:
    """Queue every pair of the table that is a candidate."""
    for p in range(t.used[PAIRS]):
        if t.pairs[p].occurrences >= least.occurrences and t.pairs[p].value >= least.value:
            _queue_pair(t, q, p)


def open_queue(table: PairTable, least: Least) -> Queue:
    """Queue the candidates of a table that was just opened."""
    queued = np.full(len(table.pairs), NOT_QUEUED, np.int64)
    queue = Queue(np.empty((int(table.used[PAIRS]) + 1024, 2), np.int64), queued, np.zeros(2, np.int64))
    _fill_queue(table, queue, least)
    return queue


def with_room(table: PairTable, queue: Queue) -> tuple[PairTable, Queue]:
    """Enlarge table and queue until the pair in question can be merged."""
    pair, size = (int(queue.used[i]) for i in (ASKED, SIZE))
    table = make_room(table, pair)
    heap, needed = queue.heap, size + _most_pushes(int(table.pairs["listed"][pair]), int(table.used[TOKENS]))
    if needed > len(heap):
        heap = np.empty((2 * needed, 2), np.int64)
        heap[:size] = queue.heap[:size]
    return table, Queue(heap, resized(queue.queued, len(table.pairs), NOT_QUEUED), queue.used)


@njit(inner=True)
def _best(t: PairTable, q: Queue, least: Least) -> int:
    """Bring the heap's top up to date; returns the best pair, or -1 when no candidate is left."""
    keys, ids, pairs, heap, queued, used = t.keys, t.ids, t.pairs, q.heap, q.queued, q.used
    while used[SIZE] > 0:
        p = np.int64(ids[slot_of(keys, heap[0, 1])])
        if -heap[0, 0] != queued[p]:
            used[SIZE] = pop(heap, used[SIZE])
        elif pairs[p].occurrences < least.occurrences or pairs[p].value < least.value:
            queued[p] = NOT_QUEUED
            used[SIZE] = pop(heap, used[SIZE])
        elif pairs[p].value < queued[p]:
            queued[p] = pairs[p].value
            heap[0, 0] = -pairs[p].value
            sift_down(heap, used[SIZE])
        else:
            return int(p)
    return -1


@njit
def _most_pushes(listed: int, n_tokens: int) -> int:
    """Bound the pairs that one merge can add to the heap: two lost and two new ones for each neighbour."""
    return 4 * min(listed, n_tokens + 1)


@njit(inner=True)
def _frequency(t: PairTable, p: int, weights: Array) -> int:
    """Add up the occurrences of a pair, each with the weight of its first cell."""
    tok, arena, left, right, total = t.tok, t.arena, t.pairs[p].left, t.pairs[p].right, np.int64(0)
    size = t.length[left]
    for s in range(t.pairs[p].begin, t.pairs[p].begin + t.pairs[p].listed):
        i = arena[s]
        if tok[i] == left and tok[i + size] == right:
            total += weights[i]
    return int(total)


@njit(nogil=True)
def advance(
    t: PairTable,
    q: Queue,
    strings: Array,
    goal: int,
    least: Least,
    bounds: tuple[int, int, int],
    accepted: int,
    weights: Array,
) -> int:
    """Merge until there are `goal` tokens or the caller is needed; the pair in question is ``q.used[ASKED]``.

    Args:
        t: the pair table.
        q: its candidates.
        strings: hashes of the strings that may not be made again (tables.py).
        goal: number of tokens to stop at.
        least: thresholds that make a pair a candidate.
        bounds: (least occurrences, largest left size + length, greatest length) of a pair worth keeping.
        accepted: a pair whose product the caller has found to be a new string although its hash is known; else -1.
        weights: int64, by cell, how often each word counts in a frequency; empty when no frequency is asked for.

    Returns:
        REACHED, EXHAUSTED, ROOM (enlarge the arrays), or ASK (is the string new?).
    """
    while t.used[TOKENS] < goal:
        p = _best(t, q, least)
        q.used[ASKED] = p
        if p < 0:
            return EXHAUSTED
        if len(weights) > 0 and _frequency(t, p, weights) < least.frequency:
            t.pairs[p].value = t.pairs[p].occurrences = t.pairs[p].listed = 0  # for good: occurrences only vanish
            continue
        left, right = t.pairs[p].left, t.pairs[p].right
        product = t.token_hash[left] * t.token_power[right] + t.token_hash[right]
        if p != accepted and known(strings, product):
            return ASK
        if not has_room(t, p) or len(q.heap) - q.used[SIZE] < _most_pushes(np.int64(t.pairs[p].listed), t.used[TOKENS]):
            return ROOM
        first = t.used[PAIRS]
        t.token_score[t.used[TOKENS]] = t.pairs[p].value
        q.queued[p] = NOT_QUEUED
        q.used[SIZE] = pop(q.heap, q.used[SIZE])
        merge_pair(t, p, bounds)
        remember(strings, product)
        for k in range(t.used[TOUCHED] + t.used[PAIRS] - first):
            p = np.int64(t.touched[k]) if k < t.used[TOUCHED] else first + k - t.used[TOUCHED]
            if (
                t.pairs[p].occurrences >= least.occurrences
                and t.pairs[p].value >= least.value
                and t.pairs[p].value > q.queued[p]
            ):
                _queue_pair(t, q, p)
    return REACHED
