"""BPE inside one pre-token: lowest rank first, then leftmost, as `tokenizers` does it. No text, no cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mws_hf.encode.tables import NO_RANK, Merges
from mws_hf.kernels.heap import pop, push
from mws_hf.kernels.instructions import leading_zeros, trailing_zeros
from mws_hf.kernels.int_table import find_pair
from mws_hf.kernels.jit import njit

_I: Any = np.int64
_U: Any = np.uint64
_ONE = _U(1)

SHORT = 48
"""Longest pre-token, in symbols, merged by scanning for the lowest rank; beyond it a heap is faster."""

_NEVER = NO_RANK << 6


def merge_reference(ids: Sequence[int], ranks: Mapping[tuple[int, int], tuple[int, int]]) -> list[int]:
    """The definition: merge the adjacent pair of lowest rank, leftmost first, until no pair is a merge.

    Args:
        ids: symbol ids of one pre-token.
        ranks: pair of ids -> (rank, id of the product).

    >>> merge_reference([0, 1, 0, 1], {(0, 1): (0, 2), (2, 2): (1, 3)})
    [3]
    """
    symbols = list(ids)
    while True:
        pairs = [(ranks[pair], at) for at, pair in enumerate(zip(symbols, symbols[1:], strict=False)) if pair in ranks]
        if not pairs:
            return symbols
        (_, product), at = min(pairs, key=lambda item: (item[0][0], item[1]))
        symbols[at : at + 2] = [product]


@njit
def merge_short(scratch: np.ndarray, size: int, merges: Merges) -> int:
    """Merge the symbols ``scratch[0, :size]`` in place; returns the new size.

    Quadratic, and the fastest for words: ``rank << 6 | place`` of all pairs is kept, and searched for its minimum every
    time. Symbols keep their places, a bit set tells which are left, so that nothing moves and few branches are guessed.

    Args:
        scratch: int64[2 or more, >= size]: symbols; room for a number to each.
        size: how many symbols, 1 to `SHORT`.
        merges: the table of merges.
    """
    ids, waiting = scratch[0], scratch[1]
    pairs, ranks, products = merges.pairs, merges.ranks, merges.products
    for k in range(size - 1):
        waiting[k] = find_pair(pairs, ranks, ids[k], ids[k + 1]) << 6 | k
    alive = (_ONE << _U(size)) - _ONE
    while True:
        best = _I(_NEVER)
        for k in range(size - 1):
            best = min(best, waiting[k])
        if best >= _NEVER:
            break
        at = best & 63
        ids[at] = products[best >> 6]
        behind = alive >> _U(at) >> _ONE
        right = at + 1 + trailing_zeros(behind)
        waiting[at] = waiting[right] = _NEVER
        alive &= ~(_ONE << _U(right))
        behind &= behind - _ONE
        if behind != 0:
            waiting[at] = find_pair(pairs, ranks, ids[at], ids[at + 1 + trailing_zeros(behind)]) << 6 | at
        before = alive & ((_ONE << _U(at)) - _ONE)
        if before != 0:
            left = 63 - leading_zeros(before)
            waiting[left] = find_pair(pairs, ranks, ids[left], ids[at]) << 6 | left
    kept = _I(0)
    while alive != 0:
        ids[kept] = ids[trailing_zeros(alive)]
        alive &= alive - _ONE
        kept += 1
    return kept


@njit
def _offer(heap: np.ndarray, size: int, merges: Merges, left: int, right: int, at: int) -> int:
    rank = find_pair(merges.pairs, merges.ranks, left, right)
    return size if rank == NO_RANK else push(heap, size, rank, at)


@njit(allocates=True)
def merge_long(ids: np.ndarray, size: int, merges: Merges) -> int:
    """Merge ``ids[:size]`` in place in O(n log n): linked symbols, a heap of (rank, position).

    An entry whose pair has changed since is dropped when its rank no longer matches.
    """
    following = np.arange(1, size + 1)
    previous = np.arange(-1, size - 1)
    heap = np.empty((3 * size, 2), np.int64)
    waiting = np.int64(0)
    for k in range(size - 1):
        waiting = _offer(heap, waiting, merges, ids[k], ids[k + 1], k)
    while waiting > 0:
        rank, at = heap[0, 0], heap[0, 1]
        waiting = pop(heap, waiting)
        right = following[at]
        if ids[at] < 0 or right >= size or find_pair(merges.pairs, merges.ranks, ids[at], ids[right]) != rank:
            continue
        ids[at] = merges.products[rank]
        ids[right] = -1
        after = following[right]
        following[at] = after
        if after < size:
            previous[after] = at
            waiting = _offer(heap, waiting, merges, ids[at], ids[after], at)
        if previous[at] >= 0:
            waiting = _offer(heap, waiting, merges, ids[previous[at]], ids[at], previous[at])
    kept = 0
    for k in range(size):
        ids[kept] = ids[k]
        kept += ids[k] >= 0
    return kept
