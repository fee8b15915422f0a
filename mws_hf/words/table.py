"""An exact hash table from byte strings to 64-bit counts: no Python object per token. It knows no order and no files.

A slot is four numbers: three of key (`words.keys`) and a count. The arena holds the distinct strings one after another
in order of arrival, and the third word of a long string's key says where. Tokens go in by batches whose slots are
touched ahead of their use, so that waiting for memory overlaps. The kernels stop when a batch might not fit; Python
then makes room and calls again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mws_hf.jit import njit
from mws_hf.words.instructions import WINDOW, prefetch, store_word, trailing_zeros
from mws_hf.words.keys import LONG, empty_slots, home_of, key_at_end, key_of, same_bytes, size_of
from mws_hf.words.scanner import character_classes, next_pretoken
from mws_hf.words.windows import plain_boundaries

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

BATCH = 256
_MOST = BATCH + WINDOW  # tokens a batch may have
_FIRST_SLOTS, _MOST_FIRST_SLOTS = 1 << 12, 1 << 19
_SMALL = 1 << 18  # slots, below which a table grows by 4 at once
_KEY_BYTES = 24
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
    safe = len(data) - _KEY_BYTES
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
    used[2] = size + _KEY_BYTES
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
def _count_texts(
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
def _count_words(
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
def _count_entries(
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
def _part_size(arena: Bytes, entries: Ints, part: int, parts: int) -> tuple[int, int]:
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
def _copy_part(
    slots: Words, arena: Bytes, entries: Ints, part: int, parts: int, data: Bytes, offsets: Ints, counts: Ints
) -> None:
    """Write the strings whose hash falls to `part` of `parts` one after another, and their counts.

    `counts` has as many cells as there are, `offsets` one more; its first and last are given.
    """
    n, at, safe = 0, offsets[0], offsets[len(counts)] - _KEY_BYTES
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
def _rehash(old: Words, entries: Ints, n: int, new: Words, keys: Words) -> None:
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
        safe = start + _KEY_BYTES <= len(data)
        first, second, third = key_of(data, start, size) if safe else key_at_end(data, start, size)
        hashes[w] = home_of(first, second, third)
    return hashes


class TokenTable:
    """Counts of distinct byte strings, growing as needed. One thread at a time; the kernels release the GIL.

    Args:
        max_bytes: memory that growing may take at its peak; None for no bound.
        spill: called with the table when the next growth would pass `max_bytes`; the table is emptied after it.
        text_bytes: how much text will be counted, about; what it is likely to need is made room for at once.

    >>> table = TokenTable()
    >>> table.count_words(np.frombuffer(b"abcab", np.uint8), np.array([0, 2, 3, 5]), np.array([1, 5, 2]))
    >>> strings, counts = table.entries()
    >>> strings.to_pylist(), counts.tolist()
    (['ab', 'c'], [3, 5])
    """

    def __init__(
        self,
        max_bytes: int | None = None,
        spill: Callable[[TokenTable], None] | None = None,
        text_bytes: int = 0,
    ) -> None:
        self._max_bytes, self._spill = max_bytes, spill
        # room for a batch, made here: a kernel that makes arrays takes 25 ms more to load
        self._keys, self._bounds = np.empty((_MOST, 4), np.uint64), np.empty(_MOST + 1, np.int64)
        self._amounts = np.ones(_MOST, np.int64)
        wanted = min(text_bytes >> 6, _MOST_FIRST_SLOTS, _MOST_FIRST_SLOTS if max_bytes is None else max_bytes >> 7)
        self._first_slots = max(_FIRST_SLOTS, 1 << wanted.bit_length() - 1 if wanted > 0 else 0)
        self.clear()

    def clear(self) -> None:
        """Forget everything and give the memory back."""
        self._slots, self._arena = empty_slots(self._first_slots), np.empty(16 * self._first_slots, np.uint8)
        self._entries = np.empty((_most_entries(self._first_slots), 2), np.int64)
        self._used = np.zeros(3, np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of memory the table takes."""
        return int(self._slots.nbytes + self._entries.nbytes + self._arena.nbytes)

    def __len__(self) -> int:
        return int(self._used[0])

    def count_texts(self, data: Bytes, offsets: Ints, kind: int) -> None:
        """Count the pre-tokens of the texts ``data[offsets[d]:offsets[d + 1]]``, valid UTF-8, each on its own.

        Args:
            data: uint8, the bytes of all texts.
            offsets: int64, shape (n_texts + 1,).
            kind: `scanner_kind` of the split pattern.
        """
        cursor, classes = np.zeros(2, np.int64), character_classes()
        while not _count_texts(data, offsets, cursor, classes, kind, *self._arrays(), self._bounds, self._amounts):
            self._make_room()

    def count_words(self, data: Bytes, offsets: Ints, counts: Ints) -> None:
        """Add ``counts[w]`` for each word ``data[offsets[w]:offsets[w + 1]]``."""
        cursor = np.zeros(1, np.int64)
        while not _count_words(data, offsets, counts, cursor, *self._arrays()):
            self._make_room()

    def entries(self) -> tuple[pa.LargeStringArray, Ints]:
        """The distinct strings in order of arrival, and their counts."""
        n, end = len(self), self._used[1]
        offsets, places = np.zeros(n + 1, np.int64), self._entries[:n]
        offsets[1:] = places[:, 0]
        data = pa.py_buffer(self._arena[:end])  # no copy: what is in an arena never changes
        counts = self._slots[places[:, 1], 3].view(np.int64)
        return pa.LargeStringArray.from_buffers(n, pa.py_buffer(offsets), data), counts

    def _count_part(self, slots: Words, arena: Bytes, entries: Ints, part: int, parts: int) -> None:
        """Add what another table holds in one of `parts` ranges of hashes."""
        cursor, scratch = np.zeros(1, np.int64), np.empty((2, BATCH), np.int64)
        while not _count_entries(slots, arena, entries, part, parts, cursor, *self._arrays(), *scratch):
            self._make_room()

    def _part_size(self, part: int, parts: int) -> tuple[int, int]:
        return _part_size(self._arena, self._entries[: len(self)], part, parts)

    def _copy_part(self, part: int, parts: int, data: Bytes, offsets: Ints, counts: Ints) -> None:
        _copy_part(self._slots, self._arena, self._entries[: len(self)], part, parts, data, offsets, counts)

    def _arrays(self) -> tuple[Words, Bytes, Ints, Ints, Words]:
        return self._slots, self._arena, self._entries, self._used, self._keys

    def _make_room(self) -> None:
        more_slots = len(self) + _MOST > len(self._entries)
        arena_bytes = int(self._used[1] + self._used[2])
        factor = 4 if len(self._slots) < _SMALL else 2
        growing = self._slots.nbytes + self._entries.nbytes
        peak = growing * (1 + factor if more_slots else 1) + len(self._arena) + 2 * arena_bytes
        if self._spill is not None and self._max_bytes is not None and peak > self._max_bytes and len(self) > 0:
            self._spill(self)
            self.clear()
            return
        if more_slots:
            slots = empty_slots(factor * len(self._slots))
            entries = np.empty((_most_entries(len(slots)), 2), np.int64)
            entries[: len(self)] = self._entries[: len(self)]
            _rehash(self._slots, entries, len(self), slots, self._keys)
            self._slots, self._entries = slots, entries
        if arena_bytes > len(self._arena):
            arena = np.empty(2 * arena_bytes, np.uint8)
            arena[: self._used[1]] = self._arena[: self._used[1]]
            self._arena = arena


def _most_entries(n_slots: int) -> int:
    """How full a table may get: more would make strings stray far from the slots that their hashes point to."""
    return 3 * n_slots // 4


def merge_tables(tables: Sequence[TokenTable]) -> tuple[pa.LargeStringArray, Ints]:
    """The distinct strings of all tables and the sums of their counts; the tables are changed, and no longer of use.

    Thread k adds to table k what the other tables hold in the k-th range of hashes. Nothing else of a table is
    written, so the others may read it meanwhile.

    >>> tables = [TokenTable(), TokenTable()]
    >>> for table in tables:
    ...     table.count_words(np.frombuffer(b"abcab", np.uint8), np.array([0, 2, 3, 5]), np.array([1, 5, 2]))
    >>> strings, counts = merge_tables(tables)
    >>> sorted(zip(strings.to_pylist(), counts.tolist()))
    [('ab', 6), ('c', 10)]
    """
    n = len(tables)
    if n == 1:
        return tables[0].entries()
    for table in tables:
        table._spill = None
    before = [(table._slots, table._arena, table._entries[: len(table)]) for table in tables]

    def merge(part: int) -> tuple[int, int]:
        for other in (*range(part), *range(part + 1, n)):
            slots, arena, entries = before[other]
            tables[part]._count_part(slots, arena, entries, part, n)
        return tables[part]._part_size(part, n)

    with ThreadPoolExecutor(n, thread_name_prefix="mws-merge") as pool:
        ends = np.cumsum([(0, 0), *pool.map(merge, range(n))], axis=0)
        data, offsets = np.empty(ends[-1, 1], np.uint8), np.zeros(ends[-1, 0] + 1, np.int64)
        counts = np.empty(ends[-1, 0], np.int64)
        offsets[ends[:, 0]] = ends[:, 1]

        def copy(part: int) -> None:
            first, after = ends[part : part + 2, 0]
            tables[part]._copy_part(part, n, data, offsets[first : after + 1], counts[first:after])

        list(pool.map(copy, range(n)))
    return pa.LargeStringArray.from_buffers(len(counts), pa.py_buffer(offsets), pa.py_buffer(data)), counts
