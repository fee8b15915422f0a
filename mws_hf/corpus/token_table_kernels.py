"""Kernels that count byte strings: adding, merging, taking a part out. `corpus.token_table` owns the arrays.

Tokens go in by batches (see `kernels.hash_tables`). Kernels that add return False when a batch might not fit; the
caller makes room and calls again with the same cursor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mws_hf.kernels.arrays import Bits, Bytes, Longs
from mws_hf.kernels.hash_tables import (
    KEY_BYTES,
    LONG,
    ends_at_home,
    enter,
    file_key,
    find,
    home_of,
    key_at_end,
    key_of,
    look_ahead,
    size_of,
)
from mws_hf.kernels.instructions import WINDOW, prefetch, store_word
from mws_hf.kernels.jit import njit
from mws_hf.kernels.windows import cut

BATCH = 256
MOST = BATCH + WINDOW
"""Tokens that a batch may have."""
_AHEAD = 32  # entries, whose slots are fetched while those before them are worked on
_U: Any = np.uint64
_I: Any = np.int64


class TableArrays(NamedTuple):
    """The arrays of a `corpus.token_table.TokenTable`.

    Attributes:
        slots: uint64, shape (n_slots, 4), see `kernels.hash_tables`; the fourth word is the count.
        arena: uint8, the distinct strings one after another, with `KEY_BYTES` to spare after the last.
        ends: int64, end of each string in the arena, by order of arrival.
        places: int64, slot of each string.
        used: int64: number of strings, of arena bytes, and (out) the arena bytes that a batch may need.
        keys: uint64, shape (`MOST`, 4): room for the keys and hashes of a batch.
    """

    slots: Bits
    arena: Bytes
    ends: Longs
    places: Longs
    used: Longs
    keys: Bits


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


@njit(inner=True)
def _add_batch(data: Bytes, starts: Longs, amounts: Longs, n: int, size: int, table: TableArrays) -> bool:
    """Add `amounts[q]` to the count of the string with key ``table.keys[q]`` for q < n; False when room may not do.

    `data` and `starts` tell the bytes of long strings, `size` the bytes of all strings.
    """
    slots, arena, ends, places, used, keys = table
    mask = _U(len(slots) - 1)
    used[2] = size + KEY_BYTES
    if used[0] + n > len(ends) or used[1] + used[2] > len(arena):
        return False
    for q in range(_U(n)):
        slot = keys[q, 3] & mask
        if not ends_at_home(slots, slot, keys, q):
            slot = find(slots, arena, keys, q, data, starts[q])
        if slots[slot, 2] == _U(0):
            enter(slots, slot, keys, q, used[1])
            _put(data, starts[q], keys[q, 0], keys[q, 1], keys[q, 2], arena, used[1])
            used[1] += size_of(keys[q, 2])
            ends[used[0]], places[used[0]] = used[1], _I(slot)
            used[0] += 1
        slots[slot, 3] += _U(amounts[q])
    return True


@njit(inline="always")
def _cut_texts(data: Bytes, offsets: Longs, cursor: Longs, classes: Bytes, kind: int, bounds: Longs) -> int:
    """Cut a batch of pre-tokens of the texts ``data[offsets[d]:offsets[d + 1]]`` from `cursor` (text, byte) on.

    Pre-token q is ``bounds[q:q + 2]``; `cursor` is moved on.
    """
    d, n = cursor[0], _I(0)
    bounds[0] = max(cursor[1], offsets[d])
    while d < len(offsets) - 1 and n < BATCH:
        n = cut(data, bounds[n], offsets[d + 1], classes, kind, bounds, n, _I(BATCH))
        if bounds[n] >= offsets[d + 1]:
            d += 1
    cursor[0], cursor[1] = d, bounds[n]
    return n


@njit(nogil=True)
def count_texts(
    data: Bytes,
    offsets: Longs,
    cursor: Longs,
    classes: Bytes,
    kind: int,
    table: TableArrays,
    bounds: Longs,
    ones: Longs,
) -> bool:
    """Count the pre-tokens of the texts ``data[offsets[d]:offsets[d + 1]]`` from `cursor` (text, byte) on."""
    while cursor[0] < len(offsets) - 1:
        d, i = cursor
        n = _cut_texts(data, offsets, cursor, classes, kind, bounds)
        look_ahead(data, bounds, n, table.keys, table.slots)
        if not _add_batch(data, bounds, ones, n, bounds[n] - bounds[0], table):
            cursor[0], cursor[1] = d, i
            return False
    return True


@njit(nogil=True)
def count_words(data: Bytes, offsets: Longs, counts: Longs, cursor: Longs, table: TableArrays) -> bool:
    """Add the counts of the words ``data[offsets[w]:offsets[w + 1]]`` from word `cursor` on."""
    while cursor[0] < len(offsets) - 1:
        first, last = cursor[0], min(cursor[0] + BATCH, len(offsets) - 1)
        bounds, size = offsets[first : last + 1], offsets[last] - offsets[first]
        look_ahead(data, bounds, last - first, table.keys, table.slots)
        if not _add_batch(data, bounds, counts[first:last], last - first, size, table):
            return False
        cursor[0] = last
    return True


@njit(inline="always")
def _part_of(home: int, parts: int) -> int:
    """Find which of `parts` equal ranges of hashes a hash falls into."""
    return _I(home >> _U(52)) * parts >> 12


@njit(nogil=True)
def count_part(
    old: TableArrays, part: int, parts: int, cursor: Longs, table: TableArrays, starts: Longs, amounts: Longs
) -> bool:
    """Add the entries of another table whose hash falls to `part` of `parts`, from entry `cursor` on."""
    e, old_slots, places = cursor[0], old.slots, old.places
    while e < len(places):
        n = size = 0
        while e < len(places) and n < BATCH:
            start = old.ends[e - 1] if e > 0 else 0
            first, second, third = key_of(old.arena, start, old.ends[e] - start)
            starts[n], amounts[n] = start, _I(old_slots[places[e], 3])
            prefetch(old_slots, places[min(e + _AHEAD, len(places) - 1)])
            wanted = _I(_part_of(file_key(table.keys, n, first, second, third, table.slots), parts) == part)
            size += wanted * size_of(third)
            n += wanted
            e += 1
        if not _add_batch(old.arena, starts, amounts, n, size, table):
            return False
        cursor[0] = e
    return True


@njit(nogil=True)
def part_size(table: TableArrays, part: int, parts: int) -> tuple[int, int]:
    """Count the strings whose hash falls to `part` of `parts`, and their bytes."""
    n, size, start = 0, 0, _I(0)
    for end in table.ends:
        first, second, third = key_of(table.arena, start, end - start)
        wanted = _I(_part_of(home_of(first, second, third), parts) == part)
        n += wanted
        size += wanted * size_of(third)
        start = end
    return n, size


@njit(nogil=True)
def copy_part(table: TableArrays, part: int, parts: int, data: Bytes, offsets: Longs, counts: Longs) -> None:
    """Write the strings whose hash falls to `part` of `parts` one after another, and their counts.

    `counts` has one cell a string, `offsets` one more; its first and last are given.
    """
    slots, arena, ends, places = table.slots, table.arena, table.ends, table.places
    n, at, safe = 0, offsets[0], offsets[len(counts)] - KEY_BYTES
    for e in range(len(places)):
        start = ends[e - 1] if e > 0 else 0
        first, second, third = key_of(arena, start, ends[e] - start)
        prefetch(slots, places[min(e + _AHEAD, len(places) - 1)])
        if _part_of(home_of(first, second, third), parts) == part:
            if at <= safe:
                _put(arena, start, first, second, third, data, at)
            else:
                for k in range(size_of(third)):
                    data[at + k] = arena[start + k]
            at += size_of(third)
            counts[n] = _I(slots[places[e], 3])
            n += 1
            offsets[n] = at


@njit(nogil=True, allocates=True)
def hash_words(data: Bytes, offsets: Longs) -> Bits:
    """Hash every word to 64 bits, equal on every machine: uint64, shape (n_words,)."""
    hashes = np.empty(len(offsets) - 1, np.uint64)
    for w in range(len(hashes)):
        start, size = offsets[w], offsets[w + 1] - offsets[w]
        safe = start + KEY_BYTES <= len(data)
        first, second, third = key_of(data, start, size) if safe else key_at_end(data, start, size)
        hashes[w] = home_of(first, second, third)
    return hashes
