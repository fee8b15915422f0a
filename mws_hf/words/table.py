"""An exact hash table from byte strings to 64-bit counts: no Python object per token. It knows no order and no files.

A slot holds four numbers: two of key, count, start in the arena. The key of a string of at most 15 bytes is the string
itself with its length on top; that of a longer one is a 64-bit hash and the length, and its bytes are compared in the
arena, which holds the distinct strings one after another in order of arrival. Tokens go in by batches whose slots are
touched ahead of their use, so that waiting for memory overlaps. The kernels stop when a batch might not fit; Python
then makes room and calls again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mws_hf.jit import njit
from mws_hf.words.scanner import character_classes, letter_pairs, next_pretoken, plain_end

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

BATCH = 256
_FIRST_SLOTS, _FIRST_ARENA = 1 << 12, 1 << 16
_SMALL = 1 << 20  # numbers in slots, below which a table grows by 4 at once
_MULTIPLY, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_S20, _S29, _S32, _S52, _S56 = np.uint64(20), np.uint64(29), np.uint64(32), np.uint64(52), np.uint64(56)
_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
_SHORT, _LONG, _REST = 15, np.uint64(0xFF << 56), np.uint64((1 << 56) - 1)
_MASKS = np.array([(1 << (8 * k)) - 1 for k in range(9)], np.uint64)


@intrinsic
def _load64(typingctx: Any, data: Any, i: Any) -> Any:
    """The 8 bytes from ``data[i]`` on as one little-endian uint64, unaligned; numba has no such load of its own."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        pointer = builder.gep(array.data, [args[1]])
        return builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(data, types.int64), codegen


@intrinsic
def _prefetch(typingctx: Any, data: Any, i: Any) -> Any:
    """Have the memory of ``data[i]`` fetched while other work goes on."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        integer, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, integer, integer, integer])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        address = builder.bitcast(builder.gep(array.data, [args[1]]), pointer)
        builder.call(prefetch, [address, integer(1), integer(3), integer(1)])  # to write, keep near, data
        return context.get_dummy_value()

    return types.void(data, types.int64), codegen


@njit(inline="always")
def _block(data: Bytes, i: int, size: int) -> np.uint64:
    """The first `size` (at most 8; 0 when negative) bytes from `i` on, as a uint64 padded with zeros."""
    size = min(max(size, 0), 8)
    if i + 8 <= len(data):
        return _load64(data, i) & _MASKS[size]
    block = np.uint64(0)
    for k in range(size):
        block |= np.uint64(data[i + k]) << np.uint64(8 * k)
    return block


@njit(inline="always")
def _mixed(low: int, high: int) -> np.uint64:
    """A well-spread 64-bit hash of two uint64."""
    value = (low * _MULTIPLY) ^ ((high + _MIX) * _MIX)
    value = (value ^ (value >> _S32)) * _MULTIPLY
    return value ^ (value >> _S29)


@njit(inline="always")
def _key(data: Bytes, start: int, size: int) -> tuple[np.uint64, np.uint64]:
    if size <= _SHORT:
        return _block(data, start, size), _block(data, start + 8, size - 8) | np.uint64(size) << _S56
    value = _mixed(_block(data, start, 8), _block(data, start + 8, 8))
    for k in range(16, size, 8):
        value = _mixed(value, _block(data, start + k, size - k))
    return value, _LONG | np.uint64(size)


@njit(inline="always")
def _size(high: int) -> np.int64:
    """The length of the string that has the second key number `high`."""
    return np.int64(high & _REST) if high >= _LONG else np.int64(high >> _S56)


@njit(inline="always")
def _same(data: Bytes, start: int, size: int, arena: Bytes, at: int) -> bool:
    differ = np.uint64(0)
    for k in range(0, size, 8):
        differ |= _block(data, start + k, size - k) ^ _block(arena, at + k, size - k)
    return differ == 0


@njit(inline="always")
def _file(keys: Words, q: int, low: int, high: int, slots: Words) -> None:
    """Put down two numbers of key and the first slot to look at as row `q` of `keys`, and fetch that slot early."""
    slot = (_mixed(low, high) >> _S20 << _TWO) & np.uint64(len(slots) - 1)
    row = np.uint64(3 * q)
    keys[row], keys[row + _ONE], keys[row + _TWO] = low, high, slot
    _prefetch(slots, np.int64(slot))


@njit
def _add_batch(
    data: Bytes, starts: Ints, ends: Ints, keys: Words, amounts: Ints, n: int, slots: Words, arena: Bytes, used: Ints
) -> bool:
    """Add `amounts[q]` to the count of ``data[starts[q]:ends[q]]`` for q < n <= BATCH; False when room may not do.

    `keys` holds what `_file` put there; `used` the number of entries, of arena bytes, and (out) the arena bytes that
    the batch may need.
    """
    mask = np.uint64(len(slots) - 1)
    used[2] = 0
    for q in range(n):
        used[2] += ends[q] - starts[q]
    if 32 * (used[0] + n) > 5 * len(slots) or used[1] + used[2] > len(arena):
        return False
    for q in range(n):
        row, size = np.uint64(3 * q), ends[q] - starts[q]
        low, high, slot = keys[row], keys[row + _ONE], keys[row + _TWO]
        while slots[slot + _ONE] != 0:
            if slots[slot] == low and slots[slot + _ONE] == high:
                if size <= _SHORT or _same(data, starts[q], size, arena, np.int64(slots[slot + _THREE])):
                    break
            slot = (slot + _FOUR) & mask
        if slots[slot + _ONE] == 0:
            slots[slot], slots[slot + _ONE], slots[slot + _THREE] = low, high, np.uint64(used[1])
            for k in range(size):
                arena[used[1] + k] = data[starts[q] + k]
            used[0] += 1
            used[1] += size
        slots[slot + _TWO] += np.uint64(amounts[q])
    return True


@njit
def _plain_limit(data: Bytes) -> int:
    """Before this byte `plain_end` is safe: an ASCII character below "A" is there, with one byte behind it."""
    limit = len(data) - 2
    while limit >= 0 and data[limit] >= 0x41:
        limit -= 1
    return limit


@njit(nogil=True)
def _count_texts(
    data: Bytes,
    offsets: Ints,
    cursor: Ints,
    classes: Bytes,
    pairs: Bytes,
    kind: int,
    slots: Words,
    arena: Bytes,
    used: Ints,
) -> bool:
    """Count the pre-tokens of the texts ``data[offsets[d]:offsets[d + 1]]`` from `cursor` (text, byte) on."""
    starts, ends, ones = np.empty(BATCH, np.int64), np.empty(BATCH, np.int64), np.ones(BATCH, np.int64)
    keys = np.empty(3 * BATCH, np.uint64)
    d, i, limit = cursor[0], max(cursor[1], offsets[cursor[0]]), _plain_limit(data)
    while d < len(offsets) - 1:
        found = 0
        while d < len(offsets) - 1 and found < BATCH:
            n = offsets[d + 1]
            while i < n and found < BATCH:
                starts[found] = i
                end = plain_end(data, i, n, pairs) if i < limit else -1
                i = end if end >= 0 else next_pretoken(data, i, n, classes, kind)
                ends[found] = i
                low, high = _key(data, starts[found], i - starts[found])
                _file(keys, found, low, high, slots)
                found += 1
            if i >= n:
                d += 1
        if not _add_batch(data, starts, ends, keys, ones, found, slots, arena, used):
            return False
        cursor[0], cursor[1] = d, i
    return True


@njit(nogil=True)
def _count_words(
    data: Bytes, offsets: Ints, counts: Ints, cursor: Ints, slots: Words, arena: Bytes, used: Ints
) -> bool:
    """Add the counts of the words ``data[offsets[w]:offsets[w + 1]]`` from word `cursor` on."""
    keys = np.empty(3 * BATCH, np.uint64)
    while cursor[0] < len(offsets) - 1:
        first, last = cursor[0], min(cursor[0] + BATCH, len(offsets) - 1)
        starts, ends = offsets[first:last], offsets[first + 1 : last + 1]
        for q in range(last - first):
            low, high = _key(data, starts[q], ends[q] - starts[q])
            _file(keys, q, low, high, slots)
        if not _add_batch(data, starts, ends, keys, counts[first:last], last - first, slots, arena, used):
            return False
        cursor[0] = last
    return True


@njit(nogil=True)
def _count_slots(
    old: Words, old_arena: Bytes, part: int, parts: int, cursor: Ints, slots: Words, arena: Bytes, used: Ints
) -> bool:
    """Add the entries of another table whose hash falls to `part` of `parts`, from its slot `cursor` on."""
    starts, ends, amounts = np.empty(BATCH, np.int64), np.empty(BATCH, np.int64), np.empty(BATCH, np.int64)
    keys = np.empty(3 * BATCH, np.uint64)
    s = cursor[0]
    while s < len(old):
        found = 0
        while s < len(old) and found < BATCH:
            low, high = old[s], old[s + 1]
            if high != 0 and np.int64(_mixed(low, high) >> _S52) * parts >> 12 == part:
                starts[found], amounts[found] = old[s + 3], old[s + 2]
                ends[found] = starts[found] + _size(high)
                _file(keys, found, low, high, slots)
                found += 1
            s += 4
        if not _add_batch(old_arena, starts, ends, keys, amounts, found, slots, arena, used):
            return False
        cursor[0] = s
    return True


@njit(nogil=True)
def _rehash(old: Words, new: Words) -> None:
    mask = np.uint64(len(new) - 1)
    for s in range(0, len(old), 4):
        if old[s + 1] != 0:
            slot = (_mixed(old[s], old[s + 1]) >> _S20 << _TWO) & mask
            while new[slot + _ONE] != 0:
                slot = (slot + _FOUR) & mask
            for k in range(4):
                new[slot + np.uint64(k)] = old[s + k]


@njit(nogil=True)
def _list_slots(slots: Words, starts: Ints, counts: Ints) -> None:
    """Where in the arena each entry starts, and its count, in the order of the slots."""
    n = 0
    for s in range(0, len(slots), 4):
        if slots[s + 1] != 0:
            starts[n], counts[n] = slots[s + 3], slots[s + 2]
            n += 1


@njit(nogil=True)
def hash_words(data: Bytes, offsets: Ints) -> Words:
    """A 64-bit hash of every word, equal on every machine: uint64, shape (n_words,)."""
    hashes = np.empty(len(offsets) - 1, np.uint64)
    for w in range(len(hashes)):
        low, high = _key(data, offsets[w], offsets[w + 1] - offsets[w])
        hashes[w] = _mixed(low, high)
    return hashes


class TokenTable:
    """Counts of distinct byte strings, growing as needed. One thread at a time; the kernels release the GIL.

    Args:
        max_bytes: memory that growing may take at its peak; None for no bound.
        spill: called with the table when the next growth would pass `max_bytes`; the table is emptied after it.
        room: strings and bytes of strings to make room for beforehand.

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
        room: tuple[int, int] = (0, 0),
    ) -> None:
        self._max_bytes, self._spill = max_bytes, spill
        self.clear()
        if room[0] > 0:
            n_slots = 1 << (8 * (room[0] + BATCH) // 5).bit_length()
            self._slots, self._arena = np.zeros(4 * n_slots, np.uint64), np.empty(room[1] + _FIRST_ARENA, np.uint8)

    def clear(self) -> None:
        """Forget everything and give the memory back."""
        self._slots = np.zeros(4 * _FIRST_SLOTS, np.uint64)
        self._arena = np.empty(_FIRST_ARENA, np.uint8)
        self._used = np.zeros(3, np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of memory the table takes."""
        return int(self._slots.nbytes + self._arena.nbytes)

    def __len__(self) -> int:
        return int(self._used[0])

    def count_texts(self, data: Bytes, offsets: Ints, kind: int) -> None:
        """Count the pre-tokens of the texts ``data[offsets[d]:offsets[d + 1]]``, valid UTF-8, each on its own.

        Args:
            data: uint8, the bytes of all texts.
            offsets: int64, shape (n_texts + 1,).
            kind: `scanner_kind` of the split pattern.
        """
        cursor, classes, pairs = np.zeros(2, np.int64), character_classes(), letter_pairs()
        while not _count_texts(data, offsets, cursor, classes, pairs, kind, self._slots, self._arena, self._used):
            self._make_room()

    def count_words(self, data: Bytes, offsets: Ints, counts: Ints) -> None:
        """Add ``counts[w]`` for each word ``data[offsets[w]:offsets[w + 1]]``."""
        cursor = np.zeros(1, np.int64)
        while not _count_words(data, offsets, counts, cursor, self._slots, self._arena, self._used):
            self._make_room()

    def entries(self) -> tuple[pa.LargeStringArray, Ints]:
        """The distinct strings in order of arrival, and their counts."""
        n, end = len(self), self._used[1]
        starts, counts = np.empty(n, np.int64), np.empty(n, np.int64)
        _list_slots(self._slots, starts, counts)
        order = np.argsort(starts)
        offsets = np.append(starts[order], end)
        data = pa.py_buffer(self._arena[:end])  # no copy: what is in an arena never changes
        return pa.LargeStringArray.from_buffers(n, pa.py_buffer(offsets), data), counts[order]

    def _make_room(self) -> None:
        more_slots = 32 * (len(self) + BATCH) > 5 * len(self._slots)
        arena_bytes = int(self._used[1] + self._used[2])
        factor = 4 if len(self._slots) < _SMALL else 2
        peak = self._slots.nbytes * (1 + factor if more_slots else 1) + len(self._arena) + 2 * arena_bytes
        if self._spill is not None and self._max_bytes is not None and peak > self._max_bytes and len(self) > 0:
            self._spill(self)
            self.clear()
            return
        if more_slots:
            slots = np.zeros(factor * len(self._slots), np.uint64)
            _rehash(self._slots, slots)
            self._slots = slots
        if arena_bytes > len(self._arena):
            arena = np.empty(2 * arena_bytes, np.uint8)
            arena[: self._used[1]] = self._arena[: self._used[1]]
            self._arena = arena


def merged_part(tables: Sequence[TokenTable], part: int, parts: int) -> TokenTable:
    """The entries of all tables whose hash falls to `part` (from 0) of `parts`, added up.

    >>> tables = [TokenTable(), TokenTable()]
    >>> for table in tables:
    ...     table.count_words(np.frombuffer(b"abcab", np.uint8), np.array([0, 2, 3, 5]), np.array([1, 5, 2]))
    >>> sorted(n for part in range(3) for n in merged_part(tables, part, 3).entries()[1].tolist())
    [6, 10]
    """
    # large enough at once: entries come in the order of their slots, which would crowd a table that grows
    entries, size = sum(map(len, tables)), sum(int(table._used[1]) for table in tables)
    merged = TokenTable(room=(entries // parts, size // parts))
    for table in tables:
        cursor = np.zeros(1, np.int64)
        while not _count_slots(
            table._slots, table._arena, part, parts, cursor, merged._slots, merged._arena, merged._used
        ):
            merged._make_room()
    return merged
