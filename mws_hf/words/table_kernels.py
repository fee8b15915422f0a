"""Kernels of the hash table of byte strings: counting, growing, taking a part out. `words.table` owns the arrays.

All work on the same arrays, each made by `TokenTable`:

    slots    uint64, shape (a power of two, 4): three words of key (`words.keys`) and a count; free where the third is 0
    arena    uint8, the distinct strings one after another, with `KEY_BYTES` to spare behind the last
    entries  int64, shape (n, 2): where each string ends in the arena, and its slot, by order of arrival
    used     int64: number of entries, of arena bytes, and (out) the arena bytes that a batch may need
    keys     uint64, shape (`MOST`, 4): room for the keys and hashes of a batch

Tokens go in by batches whose slots are touched ahead of their use, so that waiting for memory overlaps. Kernels that
add return False when a batch might not fit; the caller makes room and calls again with the same cursor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mws_hf.jit import njit
from mws_hf.words.instructions import WINDOW, prefetch, store_word, trailing_zeros
from mws_hf.words.keys import LONG, home_of, key_at_end, key_of, same_bytes, size_of
from mws_hf.words.scanner import next_pretoken
from mws_hf.words.windows import plain_boundaries

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

BATCH = 256
MOST = BATCH + WINDOW
"""Tokens that a batch may have."""
KEY_BYTES = 24
_AHEAD = 32  # entries, whose slots are fetched while those before them are worked on
_U: Any = np.uint64
_I: Any = np.int64


@njit(inline="always")
def _file(keys: Words, q: int, first: int, second: int, third: int, slots: Words) -> int:
    """Put down a key and its hash as row `q` of `keys`, have its slot fetched early, and return the hash."""
    home = home_of(first, second, third)
    keys[q, 0], keys[q, 1], keys[q, 2], keys[q, 3] = first, second, third, home
    prefetch(slots, _I(home & _U(len(slots) - 1)))
    return home


@njit
def _file_texts(data: Bytes, bounds: Ints, n: int, keys: Words, slots: Words) -> None:
    """`_file` for the strings ``data[bounds[q]:bounds[q + 1]]``, q < n."""
    safe = len(data) - KEY_BYTES
    for q in range(_U(n)):  # unsigned, as numba tests signed indices for being negative: a quarter of the time
        start, size = bounds[q], bounds[q + _U(1)] - bounds[q]
        first, second, third = key_of(data, start, size) if start <= safe else key_at_end(data, start, size)
        _file(keys, q, first, second, third, slots)


@njit(inline="always")
def _put(data: Bytes, start: int, first: int, second: int, third: int, out: Bytes, at: int) -> None:
    """Copy the string with this key, ``data[start:]``, to `out`, which has room for a whole key."""
    if third >= LONG:
        for k in range(size_of(third)):
            out[at + k] = data[start + k]
        return
    store_word(out, at, first)  # what is beyond the string is overwritten by the next one
    store_word(out, at + 8, second)
    store_word(out, at + 16, third)


@njit
def _add_batch(
    data: Bytes,
    starts: Ints,
    keys: Words,
    amounts: Ints,
    n: int,
    size: int,
    slots: Words,
    arena: Bytes,
    entries: Ints,
    used: Ints,
) -> bool:
    """Add `amounts[q]` to the count of the string with key ``keys[q]`` for q < n; False when room may not do.

    `data` and `starts` tell the bytes of long strings, `keys` is what `_file` put down, `size` the bytes of all
    strings. `entries` holds, for each entry, where it ends in the arena, and its slot; `used` the number of entries, of
    arena bytes, and (out) the arena bytes that the batch may need.
    """
    mask = _U(len(slots) - 1)
    used[2] = size + KEY_BYTES
    if used[0] + n > len(entries) or used[1] + used[2] > len(arena):
        return False
    for q in range(n):
        first, second, third = keys[q, 0], keys[q, 1], keys[q, 2]
        slot = keys[q, 3] & mask
        while slots[slot, 2] != _U(0):
            if slots[slot, 0] == first and slots[slot, 2] == third:
                if third >= LONG:
                    if same_bytes(arena, _I(slots[slot, 1]), data, starts[q], size_of(third)):
                        break
                elif slots[slot, 1] == second:
                    break
            slot = (slot + _U(1)) & mask
        if slots[slot, 2] == _U(0):
            slots[slot, 0], slots[slot, 1], slots[slot, 2] = first, second, third
            if third >= LONG:
                slots[slot, 1] = _U(used[1])
            _put(data, starts[q], first, second, third, arena, used[1])
            used[1] += size_of(third)
            entries[used[0], 0], entries[used[0], 1] = used[1], _I(slot)
            used[0] += 1
        slots[slot, 3] += _U(amounts[q])
    return True


@njit
def _cut(data: Bytes, offsets: Ints, cursor: Ints, classes: Bytes, kind: int, bounds: Ints) -> int:
    """Cut a batch of pre-tokens of the texts ``data[offsets[d]:offsets[d + 1]]`` from `cursor` (text, byte) on.

    Pre-token q is ``bounds[q:q + 2]``; `cursor` is moved on.
    """
    d, i, n = cursor[0], max(cursor[1], offsets[cursor[0]]), 0
    bounds[0] = i
    while d < len(offsets) - 1 and n < BATCH:
        end = offsets[d + 1]
        while i < end and n < BATCH:
            found = plain_boundaries(data, i, end) if i + WINDOW <= len(data) else _U(0)
            if found == _U(0):
                n += 1
                bounds[n] = next_pretoken(data, i, end, classes, kind)
            while found != _U(0):
                n += 1
                bounds[n] = i + trailing_zeros(found)
                found &= found - _U(1)
            i = bounds[n]
        if i >= end:
            d += 1
    cursor[0], cursor[1] = d, i
    return n


@njit(nogil=True)
def count_texts(
    data: Bytes,
    offsets: Ints,
    cursor: Ints,
    classes: Bytes,
    kind: int,
    slots: Words,
    arena: Bytes,
    entries: Ints,
    used: Ints,
    keys: Words,
    bounds: Ints,
    ones: Ints,
) -> bool:
    """Count the pre-tokens of the texts ``data[offsets[d]:offsets[d + 1]]`` from `cursor` (text, byte) on."""
    while cursor[0] < len(offsets) - 1:
        d, i = cursor
        n = _cut(data, offsets, cursor, classes, kind, bounds)
        _file_texts(data, bounds, n, keys, slots)
        if not _add_batch(data, bounds, keys, ones, n, bounds[n] - bounds[0], slots, arena, entries, used):
            cursor[0], cursor[1] = d, i
            return False
    return True


@njit(nogil=True)
def count_words(
    data: Bytes,
    offsets: Ints,
    counts: Ints,
    cursor: Ints,
    slots: Words,
    arena: Bytes,
    entries: Ints,
    used: Ints,
    keys: Words,
) -> bool:
    """Add the counts of the words ``data[offsets[w]:offsets[w + 1]]`` from word `cursor` on."""
    while cursor[0] < len(offsets) - 1:
        first, last = cursor[0], min(cursor[0] + BATCH, len(offsets) - 1)
        bounds, size = offsets[first : last + 1], offsets[last] - offsets[first]
        _file_texts(data, bounds, last - first, keys, slots)
        if not _add_batch(data, bounds, keys, counts[first:last], last - first, size, slots, arena, entries, used):
            return False
        cursor[0] = last
    return True


@njit(inline="always")
def _part_of(home: int, parts: int) -> int:
    """Which of `parts` equal ranges of hashes one falls into."""
    return _I(home >> _U(52)) * parts >> 12


@njit(nogil=True)
def count_part(
    old: Words,
    old_arena: Bytes,
    old_entries: Ints,
    part: int,
    parts: int,
    cursor: Ints,
    slots: Words,
    arena: Bytes,
    entries: Ints,
    used: Ints,
    keys: Words,
    starts: Ints,
    amounts: Ints,
) -> bool:
    """Add the entries of another table whose hash falls to `part` of `parts`, from entry `cursor` on."""
    e = cursor[0]
    while e < len(old_entries):
        n = size = 0
        while e < len(old_entries) and n < BATCH:
            start = old_entries[e - 1, 0] if e > 0 else 0
            first, second, third = key_of(old_arena, start, old_entries[e, 0] - start)
            starts[n], amounts[n] = start, _I(old[old_entries[e, 1], 3])
            prefetch(old, old_entries[min(e + _AHEAD, len(old_entries) - 1), 1])
            wanted = _I(_part_of(_file(keys, n, first, second, third, slots), parts) == part)
            size += wanted * size_of(third)
            n += wanted
            e += 1
        if not _add_batch(old_arena, starts, keys, amounts, n, size, slots, arena, entries, used):
            return False
        cursor[0] = e
    return True


@njit(nogil=True)
def part_size(arena: Bytes, entries: Ints, part: int, parts: int) -> tuple[int, int]:
    """How many strings have a hash that falls to `part` of `parts`, and their bytes."""
    n = size = 0
    for e in range(len(entries)):
        start = entries[e - 1, 0] if e > 0 else 0
        first, second, third = key_of(arena, start, entries[e, 0] - start)
        wanted = _I(_part_of(home_of(first, second, third), parts) == part)
        n += wanted
        size += wanted * size_of(third)
    return n, size


@njit(nogil=True)
def copy_part(
    slots: Words, arena: Bytes, entries: Ints, part: int, parts: int, data: Bytes, offsets: Ints, counts: Ints
) -> None:
    """Write the strings whose hash falls to `part` of `parts` one after another, and their counts.

    `counts` has as many cells as there are, `offsets` one more; its first and last are given.
    """
    n, at, safe = 0, offsets[0], offsets[len(counts)] - KEY_BYTES
    for e in range(len(entries)):
        start = entries[e - 1, 0] if e > 0 else 0
        first, second, third = key_of(arena, start, entries[e, 0] - start)
        prefetch(slots, entries[min(e + _AHEAD, len(entries) - 1), 1])
        if _part_of(home_of(first, second, third), parts) == part:
            if at <= safe:
                _put(arena, start, first, second, third, data, at)
            else:
                for k in range(size_of(third)):
                    data[at + k] = arena[start + k]
            at += size_of(third)
            counts[n] = _I(slots[entries[e, 1], 3])
            n += 1
            offsets[n] = at


@njit(nogil=True)
def rehash(old: Words, entries: Ints, n: int, new: Words, keys: Words) -> None:
    """Move the first `n` entries to new slots."""
    mask = _U(len(new) - 1)
    for begin in range(0, n, BATCH):
        end = min(begin + BATCH, n)
        for e in range(begin, end):
            s = entries[e, 1]
            prefetch(old, entries[min(e + _AHEAD, n - 1), 1])
            _file(keys, e - begin, old[s, 0], _U(0) if old[s, 2] >= LONG else old[s, 1], old[s, 2], new)
        for e in range(begin, end):
            slot = keys[e - begin, 3] & mask
            while new[slot, 2] != _U(0):
                slot = (slot + _U(1)) & mask
            for k in range(4):
                new[slot, k] = old[entries[e, 1], k]
            entries[e, 1] = _I(slot)


@njit(nogil=True)
def hash_words(data: Bytes, offsets: Ints) -> Words:
    """A 64-bit hash of every word, equal on every machine: uint64, shape (n_words,)."""
    hashes = np.empty(len(offsets) - 1, np.uint64)
    for w in range(len(hashes)):
        start, size = offsets[w], offsets[w + 1] - offsets[w]
        safe = start + KEY_BYTES <= len(data)
        first, second, third = key_of(data, start, size) if safe else key_at_end(data, start, size)
        hashes[w] = home_of(first, second, third)
    return hashes
