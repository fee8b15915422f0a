"""A bounded map from pre-tokens (UTF-8 bytes) to their ids, for one thread. It never evicts, and is always right.

It is a table of `kernels.byte_table`. The fourth word of a slot holds up to three ids, or says where in a pool more
are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mws_hf.encode.merge import ID_BITS
from mws_hf.kernels.byte_table import LONG, empty_slots, enter, rehash
from mws_hf.kernels.jit import njit

LONGEST_KEY = 512
"""Pre-tokens of more bytes are merged each time: they are rare and seldom repeat."""

_U: Any = np.uint64
_I: Any = np.int64
_INLINE_IDS = 3
_ID_MASK = (1 << ID_BITS) - 1

SLOTS_USED, IDS_USED, BYTES_USED, MISSES, LOOKUPS = range(5)


class PretokenCache(NamedTuple):
    """Arrays of one thread's cache.

    Attributes:
        slots: uint64[slots, 4], a power of two of them.
        ids: int32 pool of runs of more than three ids.
        text: uint8 pool of keys of more than 23 bytes.
        counters: int64[5]: slots, ids and bytes in use, misses, lookups.
    """

    slots: np.ndarray
    ids: np.ndarray
    text: np.ndarray
    counters: np.ndarray


def empty_cache(slots: int = 1 << 18) -> PretokenCache:
    """Make a cache of `slots` slots (a power of two), with pools in proportion."""
    return PretokenCache(
        empty_slots(slots), np.empty(slots, np.int32), np.empty(4 * slots, np.uint8), np.zeros(5, np.int64)
    )


@njit
def add(
    cache: PretokenCache,
    slot: int,
    text: np.ndarray,
    start: int,
    size: int,
    keys: np.ndarray,
    k: int,
    ids: np.ndarray,
) -> None:
    """Store the ids under key k in a free slot; without room in a pool or the table nothing is stored."""
    counters = cache.counters
    at, long = counters[BYTES_USED], keys[k, 2] >= LONG
    if 4 * counters[SLOTS_USED] >= 3 * cache.slots.shape[0] or long and at + size > cache.text.shape[0]:
        return
    value = _pack(cache, ids)
    if value < 0:
        return
    if long:
        for i in range(size):  # a slice assignment takes two seconds more to compile
            cache.text[at + i] = text[start + i]
        counters[BYTES_USED] += size
    enter(cache.slots, slot, keys, k, at)
    cache.slots[slot, 3] = _U(value)
    counters[SLOTS_USED] += 1


@njit
def _pack(cache: PretokenCache, ids: np.ndarray) -> int:
    """Pack n ids: ``ids << 2 | n`` for at most three, else ``(place << 20 | n) << 2``; -1 when the pool is full."""
    n = _I(len(ids))
    if n <= _INLINE_IDS:
        packed = _I(0)
        for k in range(n):
            packed |= ids[k] << (ID_BITS * k)
        return (packed << 2) | n
    at = cache.counters[IDS_USED]
    if at + n > cache.ids.shape[0]:
        return -1
    for k in range(n):
        cache.ids[at + k] = ids[k]
    cache.counters[IDS_USED] += n
    return ((at << ID_BITS) | n) << 2


@njit(inline="always")
def copy_ids(cache: PretokenCache, slot: int, out: np.ndarray, at: int) -> int:
    """Write the ids of a slot to ``out[at:]``, which has room for three more; return the place behind them."""
    value = _I(cache.slots[slot, 3])
    n = value & 3
    value >>= 2
    if n > 0:
        out[at] = value & _ID_MASK
        out[at + 1] = (value >> ID_BITS) & _ID_MASK
        out[at + 2] = value >> (2 * ID_BITS)
        return at + n
    n = value & _ID_MASK
    place = value >> ID_BITS
    for k in range(n):
        out[at + k] = cache.ids[place + k]
    return at + n


def cache_bytes(slots: int) -> int:
    """Compute the memory of a cache of `slots` slots with its pools, in bytes."""
    return 40 * slots


def grown(cache: PretokenCache, limit: int) -> PretokenCache:
    """Return the same cache with four times the room, if it is nearly full and `limit` bytes allow it; else `cache`."""
    slots, counters = cache.slots.shape[0], cache.counters
    pools = max(counters[IDS_USED] / cache.ids.shape[0], counters[BYTES_USED] / cache.text.shape[0])
    if max(0.8 * pools, counters[SLOTS_USED] / slots) < 0.6 or cache_bytes(4 * slots) > limit:
        return cache
    larger = empty_cache(4 * slots)
    larger.ids[: counters[IDS_USED]] = cache.ids[: counters[IDS_USED]]
    larger.text[: counters[BYTES_USED]] = cache.text[: counters[BYTES_USED]]
    larger.counters[:] = counters
    rehash(cache.slots, np.flatnonzero(cache.slots[:, 2]), larger.slots)
    return larger
