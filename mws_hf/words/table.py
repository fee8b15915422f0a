"""An exact hash table from byte strings to 64-bit counts: no Python object per token. It knows no order and no files.

A slot holds four numbers: two of key, count, start in the arena. The key of a string of at most 15 bytes is the string
itself with its length on top; that of a longer one is a 64-bit hash and the length, and its bytes are compared in the
arena, which holds the distinct strings one after another in order of arrival. Tokens go in by batches whose slots are
touched ahead of their use, so that waiting for memory overlaps. The kernels stop when a batch might not fit; Python
then makes room and calls again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mws_hf.jit import njit
from mws_hf.words.scanner import character_classes, letter_pairs, next_pretoken, plain_end

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

BATCH = 256
_FIRST_SLOTS, _FIRST_ARENA = 1 << 12, 1 << 16
_MULTIPLY, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_S20, _S29, _S32, _S56 = np.uint64(20), np.uint64(29), np.uint64(32), np.uint64(56)
_SHORT, _LONG = 15, np.uint64(0xFF << 56)
_MASKS = np.array([(1 << (8 * k)) - 1 for k in range(9)], np.uint64)


@intrinsic
def _load64(typingctx: Any, data: Any, i: Any) -> Any:
    """The 8 bytes from ``data[i]`` on as one little-endian uint64, unaligned; numba has no such load of its own."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        pointer = builder.gep(array.data, [args[1]])
        return builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(data, types.int64), codegen


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
def _same(data: Bytes, start: int, size: int, arena: Bytes, at: int) -> bool:
    differ = np.uint64(0)
    for k in range(0, size, 8):
        differ |= _block(data, start + k, size - k) ^ _block(arena, at + k, size - k)
    return differ == 0


@njit
def _add_batch(
    data: Bytes, starts: Ints, ends: Ints, keys: Words, amounts: Ints, n: int, slots: Words, arena: Bytes, used: Ints
) -> bool:
    """Add `amounts[q]` to the count of ``data[starts[q]:ends[q]]`` for q < n <= BATCH; False when room may not do.

    `keys` holds the two key numbers and the hash of each; `used` the number of entries, of arena bytes, and (out) the
    arena bytes that the batch may need.
    """
    mask = np.int64(slots.shape[0] - 1)
    used[2], touched = 0, np.uint64(0)
    for q in range(n):
        used[2] += ends[q] - starts[q]
        touched |= slots[np.int64(keys[q, 2] >> _S20) & mask, 2]
    if 8 * (used[0] + n) > 5 * (mask + 1) or used[1] + used[2] > len(arena):
        return False
    used[2] += np.int64(touched >> np.uint64(63))  # zero; keeps the compiler from dropping the early loads
    for q in range(n):
        size, slot = ends[q] - starts[q], np.int64(keys[q, 2] >> _S20) & mask
        while slots[slot, 1] != 0:
            if slots[slot, 0] == keys[q, 0] and slots[slot, 1] == keys[q, 1]:
                if size <= _SHORT or _same(data, starts[q], size, arena, np.int64(slots[slot, 3])):
                    break
            slot = (slot + 1) & mask
        if slots[slot, 1] == 0:
            slots[slot, 0] = keys[q, 0]
            slots[slot, 1] = keys[q, 1]
            slots[slot, 3] = np.uint64(used[1])
            for k in range(size):
                arena[used[1] + k] = data[starts[q] + k]
            used[0] += 1
            used[1] += size
        slots[slot, 2] += np.uint64(amounts[q])
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
    keys = np.empty((BATCH, 3), np.uint64)
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
                keys[found, 0], keys[found, 1], keys[found, 2] = low, high, _mixed(low, high)
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
    keys = np.empty((BATCH, 3), np.uint64)
    while cursor[0] < len(offsets) - 1:
        first, last = cursor[0], min(cursor[0] + BATCH, len(offsets) - 1)
        starts, ends = offsets[first:last], offsets[first + 1 : last + 1]
        for q in range(last - first):
            low, high = _key(data, starts[q], ends[q] - starts[q])
            keys[q, 0], keys[q, 1], keys[q, 2] = low, high, _mixed(low, high)
        if not _add_batch(data, starts, ends, keys, counts[first:last], last - first, slots, arena, used):
            return False
        cursor[0] = last
    return True


@njit(nogil=True)
def _rehash(old: Words, new: Words) -> None:
    mask = np.int64(new.shape[0] - 1)
    for s in range(old.shape[0]):
        if old[s, 1] != 0:
            slot = np.int64(_mixed(old[s, 0], old[s, 1]) >> _S20) & mask
            while new[slot, 1] != 0:
                slot = (slot + 1) & mask
            for k in range(4):
                new[slot, k] = old[s, k]


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

    >>> table = TokenTable()
    >>> table.count_words(np.frombuffer(b"abcab", np.uint8), np.array([0, 2, 3, 5]), np.array([1, 5, 2]))
    >>> strings, counts = table.entries()
    >>> strings.to_pylist(), counts.tolist()
    (['ab', 'c'], [3, 5])
    """

    def __init__(self, max_bytes: int | None = None, spill: Callable[[TokenTable], None] | None = None) -> None:
        self._max_bytes, self._spill = max_bytes, spill
        self.clear()

    def clear(self) -> None:
        """Forget everything and give the memory back."""
        self._slots = np.zeros((_FIRST_SLOTS, 4), np.uint64)
        self._arena = np.empty(_FIRST_ARENA, np.uint8)
        self._used = np.zeros(3, np.int64)

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
        taken = self._slots[self._slots[:, 1] != 0][:, 2:]
        taken = taken[np.argsort(taken[:, 1])]
        offsets = np.append(taken[:, 1], np.uint64(self._used[1])).astype(np.int64)
        data = self._arena[: self._used[1]].copy()
        strings = pa.LargeStringArray.from_buffers(len(taken), pa.py_buffer(offsets), pa.py_buffer(data))
        return strings, taken[:, 0].astype(np.int64)

    def _make_room(self) -> None:
        more_slots = 8 * (len(self) + BATCH) > 5 * len(self._slots)
        arena_bytes = int(self._used[1] + self._used[2])
        peak = self._slots.nbytes * (3 if more_slots else 1) + len(self._arena) + 2 * arena_bytes
        if self._spill is not None and self._max_bytes is not None and peak > self._max_bytes and len(self) > 0:
            self._spill(self)
            self.clear()
            return
        if more_slots:
            slots = np.zeros((2 * len(self._slots), 4), np.uint64)
            _rehash(self._slots, slots)
            self._slots = slots
        if arena_bytes > len(self._arena):
            arena = np.empty(2 * arena_bytes, np.uint8)
            arena[: self._used[1]] = self._arena[: self._used[1]]
            self._arena = arena
