"""The hash table from integers to integers: flat arrays that kernels read and write, with linear probing.

    keys    int64, shape (slots,), a power of two; `FREE` where there is no entry, so no key may be `FREE`
    values  int32, shape (slots,); the value of a free slot is the answer for every absent key

A set is `keys` alone. Callers that add keep a table at most half full, and makes a larger one with `enlarged`, in a
kernel with `move_entries`. The hash decides places alone: entries are never walked through in order of slots.

>>> keys, values = new_table(3)
>>> put(keys, values, pair_key(7, 8), 5)
>>> find_pair(keys, values, 7, 8), find_pair(keys, values, 8, 7)
(5, -1)
"""

from __future__ import annotations

import numpy as np

from mws_hf.kernels.arrays import Ints, Longs
from mws_hf.kernels.jit import njit

FREE = -1
_MULTIPLIER = 0x9E3779B97F4A7C15 - (1 << 64)


def new_keys(entries: int) -> Longs:
    """Make an empty set with room for so many members."""
    return np.full(1 << max(4, (2 * entries).bit_length()), FREE, np.int64)


def new_table(entries: int, absent: int = -1) -> tuple[Longs, Ints]:
    """Make keys and values of an empty table with room for so many entries; absent keys have the value `absent`."""
    keys = new_keys(entries)
    return keys, np.full(len(keys), absent, np.int32)


@njit
def pair_key(left: int, right: int) -> np.int64:
    """Make one key of two numbers from 0 to 2**31 - 1; keys are in the order of pairs."""
    return np.int64(left) << 32 | np.int64(right)


@njit
def home_of(keys: Longs, key: int) -> int:
    """Find the slot where the search for `key` begins, in the order of hashes: so a larger table fills in order."""
    return (((key * _MULTIPLIER) >> 32 & 0xFFFFFFFF) * len(keys)) >> 32


@njit
def slot_of(keys: Longs, key: int) -> int:
    """Find the slot of `key`, or the free slot where it belongs."""
    slot, mask = home_of(keys, key), len(keys) - 1
    while keys[slot] != key and keys[slot] != FREE:
        slot = (slot + 1) & mask
    return slot


@njit
def find_pair(keys: Longs, values: Ints, left: int, right: int) -> np.int64:
    """Return the value of a pair; a free slot answers by itself, without a branch."""
    return np.int64(values[slot_of(keys, pair_key(left, right))])


@njit
def put(keys: Longs, values: Ints, key: int, value: int) -> None:
    """Set the value of `key`, whether it has one or not."""
    slot = slot_of(keys, key)
    keys[slot], values[slot] = key, value


def enlarged(keys: Longs, values: Ints, slots: int) -> tuple[Longs, Ints]:
    """Copy a table's entries into `slots` slots, a power of two; the values of free slots are -1."""
    larger, moved = np.full(slots, FREE, np.int64), np.full(slots, -1, np.int32)  # numpy's memory comes in large pages
    move_entries(keys, values, larger, moved)
    return larger, moved


@njit
def move_entries(keys: Longs, values: Ints, larger: Longs, moved: Ints) -> None:
    """Enter all entries of a table into another, empty one."""
    for old in range(len(keys)):
        if keys[old] != FREE:
            put(larger, moved, keys[old], values[old])
