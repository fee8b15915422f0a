"""A bounded map from pre-tokens (UTF-8 bytes) to their ids, for one thread. It never evicts, and is always right.

A slot is four uint64 words: three hold the key (`words.keys`), one the ids. Keys of up to 23 bytes lie in the slot
itself; longer ones leave their hash, their place in a byte pool and their length. Up to three ids lie in the slot too,
more in an id pool.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mws_hf.encode.tables import ID_BITS
from mws_hf.jit import njit
from mws_hf.words.instructions import prefetch
from mws_hf.words.keys import LONG, empty_slots, home_of, key_of, same_bytes

LONGEST_KEY = 512
"""Pre-tokens of more bytes are merged each time: they are rare and seldom repeat."""

_U: Any = np.uint64
_I: Any = np.int64
_INLINE_IDS = 3
_ID_MASK = (1 << ID_BITS) - 1

SLOTS_USED, IDS_USED, BYTES_USED, MISSES, LOOKUPS = range(5)


class Cache(NamedTuple):
    """Arrays of one thread's cache.

    Attributes:
        slots: uint64[slots, 4], a power of two of them; a free slot has 0 in its third word.
        ids: int32 pool of runs of more than three ids.
        text: uint8 pool of keys of more than 23 bytes.
        counters: int64[5]: slots, ids and bytes in use, misses, lookups.
    """

    slots: np.ndarray
    ids: np.ndarray
    text: np.ndarray
    counters: np.ndarray


def empty_cache(slots: int = 1 << 18) -> Cache:
    """A cache of `slots` slots (a power of two), with pools in proportion."""
    return Cache(empty_slots(slots), np.empty(slots, np.int32), np.empty(4 * slots, np.uint8), np.zeros(5, np.int64))


@njit
def look_ahead(text: np.ndarray, starts: np.ndarray, n: int, cache: Cache, keys: np.ndarray) -> None:
    """Keys and hashes of `n` pre-tokens into uint64 ``keys[:n, :4]``, and their slots on the way to the processor."""
    mask = cache.slots.shape[0] - 1
    for k in range(_U(n)):  # numba tests signed indices for being negative
        first, second, third = key_of(text, starts[k], starts[k + _U(1)] - starts[k])
        home = home_of(first, second, third)
        keys[k, 0], keys[k, 1], keys[k, 2], keys[k, 3] = first, second, third, home
        prefetch(cache.slots, _I(home) & mask)


@njit(inline="always")
def home_slot(cache: Cache, keys: np.ndarray, k: int) -> int:
    """Slot of key `k` if it lies where its hash points, else -1: all that nine look-ups in ten need, without a call."""
    slots = cache.slots
    slot = _I(keys[k, 3]) & (slots.shape[0] - 1)
    same = slots[slot, 0] == keys[k, 0] and slots[slot, 1] == keys[k, 1] and slots[slot, 2] == keys[k, 2]
    return slot if same else -1


@njit
def find(cache: Cache, text: np.ndarray, start: int, size: int, key: np.ndarray) -> int:
    """Slot of the key, or -1 - (the free slot where it belongs)."""
    first, second, third = key[0], key[1], key[2]
    slots = cache.slots
    mask = slots.shape[0] - 1
    long = third >= LONG
    slot = _I(key[3]) & mask
    while True:
        found = slots[slot, 2]
        if found == third and slots[slot, 0] == first:
            if long:
                if same_bytes(cache.text, _I(slots[slot, 1]), text, start, size):
                    return slot
            elif slots[slot, 1] == second:
                return slot
        elif found == _U(0):
            return -1 - slot
        slot = (slot + 1) & mask


@njit
def add(
    cache: Cache, slot: int, text: np.ndarray, start: int, size: int, key: np.ndarray, ids: np.ndarray, n: int
) -> None:
    """Store ``ids[:n]`` under the key in a free slot; does nothing when a pool or the table has no room."""
    counters = cache.counters
    first, second, third = key[0], key[1], key[2]
    if 4 * counters[SLOTS_USED] >= 3 * cache.slots.shape[0]:
        return
    if third >= LONG:
        at = counters[BYTES_USED]
        if at + size > cache.text.shape[0]:
            return
        for k in range(size):  # a slice assignment takes two seconds more to compile
            cache.text[at + k] = text[start + k]
        second = _U(at)
    value = _pack(cache, ids, n)
    if value < 0:
        return
    if third >= LONG:
        counters[BYTES_USED] += size
    cache.slots[slot, 0], cache.slots[slot, 1], cache.slots[slot, 2] = first, second, third
    cache.slots[slot, 3] = _U(value)
    counters[SLOTS_USED] += 1


@njit
def _pack(cache: Cache, ids: np.ndarray, n: int) -> int:
    """``ids << 2 | n`` for at most three ids, else ``(place << 20 | n) << 2``; -1 when the pool is full."""
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
def copy_ids(cache: Cache, slot: int, out: np.ndarray, at: int) -> int:
    """Write the ids of a slot to ``out[at:]``, which has room for three more; returns the place behind them."""
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


@njit
def _refill(old: Cache, new: Cache) -> None:
    mask = new.slots.shape[0] - 1
    for k in range(old.slots.shape[0]):
        third = old.slots[k, 2]
        if third == _U(0):
            continue
        second = _U(0) if third >= LONG else old.slots[k, 1]
        slot = _I(home_of(old.slots[k, 0], second, third)) & mask
        while new.slots[slot, 2] != _U(0):
            slot = (slot + 1) & mask
        for word in range(4):
            new.slots[slot, word] = old.slots[k, word]


def cache_bytes(slots: int) -> int:
    """Memory of a cache of `slots` slots with its pools."""
    return 40 * slots


def grown(cache: Cache, limit: int) -> Cache:
    """The same cache with four times the room, if it is nearly full and that is within `limit` bytes; else `cache`."""
    slots, counters = cache.slots.shape[0], cache.counters
    pools = max(counters[IDS_USED] / cache.ids.shape[0], counters[BYTES_USED] / cache.text.shape[0])
    if max(0.8 * pools, counters[SLOTS_USED] / slots) < 0.6 or cache_bytes(4 * slots) > limit:
        return cache
    larger = empty_cache(4 * slots)
    larger.ids[: counters[IDS_USED]] = cache.ids[: counters[IDS_USED]]
    larger.text[: counters[BYTES_USED]] = cache.text[: counters[BYTES_USED]]
    larger.counters[:] = counters
    _refill(cache, larger)
    return larger
