"""Provide hash tables and a heap in flat arrays, for kernels.

The module begins with processor instructions for which numba has no function. They do not check indices.

There are two hash tables. One maps strings of bytes to slots (`empty_slots`, `look_ahead`, `find`, `enter`), the other
maps integers to integers (`new_table`, `slot_of`, `put`).

The heap is a priority queue: int64, shape (capacity, 2). An entry is two numbers; the smallest entry, by the first
number and then by the second, is ``heap[0]``. The caller passes the number of entries, gets the new number back, and
makes sure that the array is large enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from mws_hf.kernels import Ints, Longs
from mws_hf.kernels.jit import instruction, njit

WINDOW = 64  # bytes that `range_mask` compares at once

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_LANES = ir.VectorType(_I8, WINDOW)


def _address(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Return the pointer to row `index` of an array."""
    view = context.make_array(kind)(context, builder, array)
    row = builder.extract_value(view.strides, 0)
    start = builder.ptrtoint(view.data, row.type)
    return builder.inttoptr(builder.add(start, builder.mul(row, index)), _I8.as_pointer())


@instruction
def prefetch(_typing: Any, array: Any, index: Any) -> Any:
    """Start loading the cache line of ``array[index, 0]`` (C order), without waiting for it."""
    from numba import types
    from numba.core import cgutils

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _address(context, builder, signature.args[0], *arguments)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, *[_I32] * 3])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [pointer, *(ir.Constant(_I32, flag) for flag in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


@instruction
def load_word(_typing: Any, text: Any, at: Any) -> Any:
    """Return the 8 bytes of a uint8 array from byte `at` on as a uint64 (little-endian); any alignment works."""
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _address(context, builder, signature.args[0], *arguments)
        return builder.load(builder.bitcast(pointer, _I64.as_pointer()), align=1)

    return types.uint64(text, types.int64), codegen


@instruction
def store_word(_typing: Any, text: Any, at: Any, word: Any) -> Any:
    """Write the 8 bytes of a uint64 (little-endian) to a uint8 array from byte `at` on."""
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _address(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], builder.bitcast(pointer, _I64.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(text, types.int64, types.uint64), codegen


@instruction
def range_mask(_typing: Any, text: Any, at: Any, first: Any, count: Any) -> Any:
    """Return a mask of the bytes from ``text[at]`` on that are at least `first` and below ``first + count``.

    The mask is a uint64 for the `WINDOW` of 64 bytes; its lowest bit stands for the first byte. `count` is 1 to 255.
    It takes a few vector instructions.
    """
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _address(context, builder, signature.args[0], *arguments[:2])
        window = builder.load(builder.bitcast(pointer, _LANES.as_pointer()), align=1)
        low, size = (_repeated(builder, byte) for byte in arguments[2:])
        return builder.bitcast(builder.icmp_unsigned("<", builder.sub(window, low), size), _I64)

    return types.uint64(text, types.int64, types.uint8, types.uint8), codegen


def _repeated(builder: Any, byte: Any) -> Any:
    empty = ir.Constant(_LANES, ir.Undefined)
    one = builder.insert_element(empty, byte, ir.Constant(_I32, 0))
    return builder.shuffle_vector(one, empty, ir.Constant(ir.VectorType(_I32, WINDOW), [0] * WINDOW))


@instruction
def trailing_zeros(_typing: Any, word: Any) -> Any:
    """Return the number of zero bits below the lowest set bit of a uint64; 64 if it is 0."""
    from numba import types

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


@instruction
def leading_zeros(_typing: Any, word: Any) -> Any:
    """Return the number of zero bits above the highest set bit of a uint64; 64 if it is 0."""
    from numba import types

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


INLINE_KEY = 23
"""Maximum length, in bytes, of a string that its key contains; the key of a longer string contains its hash."""
KEY_BYTES = 24
"""Number of bytes in the three words of a key."""
_BATCH = 256
_PREFETCH_DISTANCE = 32  # the number of entries between the prefetch of a slot and its use

_U: Any = np.uint64
LONG = _U(0xFF << 56)
"""A key belongs to a long string if its third word is at least this."""

_KEY_MASKS = np.array(
    [[(1 << 8 * min(max(n - 8 * word, 0), 8)) - 1 for word in range(3)] for n in range(INLINE_KEY + 1)], np.uint64
)
_SIZE = _U((1 << 56) - 1)
_MULTIPLIERS = (_U(0x9E3779B97F4A7C15), _U(0xC2B2AE3D27D4EB4F), _U(0x165667B19E3779F9), _U(0xD6E8FEB86659FD93))


def empty_slots(n: int) -> np.ndarray:
    """Make an empty table: zeros, uint64, shape (n, 4); each row lies within one cache line of 64 bytes."""
    memory = np.zeros(4 * n + 8, np.uint64)
    first = -(memory.ctypes.data >> 3) % 8
    return memory[first : first + 4 * n].reshape(-1, 4)


@njit(inline="always")
def key_of(text: np.ndarray, start: int, size: int) -> tuple[int, int, int]:
    """Compute the three words of the key of the string of `size` bytes at byte `start`.

    `text` must have 24 bytes from `start` on, because all of them are read. The key of a string of at most `INLINE_KEY`
    bytes contains the string itself.
    """
    if size <= INLINE_KEY:
        length = _U(size)
        first = load_word(text, start) & _KEY_MASKS[length, _U(0)]
        second = load_word(text, start + 8) & _KEY_MASKS[length, _U(1)]
        third = load_word(text, start + 16) & _KEY_MASKS[length, _U(2)]
        return first, second, third | (length << _U(56))
    return long_key(text, start, size)


@njit(inner=True)
def long_key(text: np.ndarray, start: int, size: int) -> tuple[int, int, int]:
    """Compute the three words of the key of a string of more than `INLINE_KEY` bytes: hash, 0, and length."""
    mixed = _U(size)
    for at in range(start, start + size - 7, 8):
        mixed = (mixed ^ load_word(text, at)) * _MULTIPLIERS[0]
        mixed ^= mixed >> _U(32)
    mixed = (mixed ^ load_word(text, start + size - 8)) * _MULTIPLIERS[1]
    return mixed, _U(0), LONG | _U(size)


@njit(inline="always")
def key_at_end(text: np.ndarray, start: int, size: int) -> tuple[int, int, int]:
    """Compute the same key as `key_of`, more slowly, where `text` may have fewer than 24 bytes from `start` on."""
    if size > INLINE_KEY:
        return long_key(text, start, size)
    first, second, third = _U(0), _U(0), _U(size) << _U(56)
    for k in range(size):
        byte = _U(text[start + k]) << _U(8 * (k & 7))
        if k < 8:
            first |= byte
        elif k < 16:
            second |= byte
        else:
            third |= byte
    return first, second, third


@njit(inline="always")
def home_of(first: int, second: int, third: int) -> int:
    """Return the hash of a key; the second word of a long key must be 0."""
    mixed = first * _MULTIPLIERS[0] + second * _MULTIPLIERS[1] + third * _MULTIPLIERS[2]
    mixed = (mixed ^ (mixed >> _U(32))) * _MULTIPLIERS[3]
    return mixed ^ (mixed >> _U(29))


@njit(inline="always")
def size_of(third: int) -> np.int64:
    """Return the length in bytes of the string whose key has this third word."""
    return np.int64(third & _SIZE) if third >= LONG else np.int64(third >> _U(56))


@njit(inner=True)
def same_bytes(pool: np.ndarray, at: int, text: np.ndarray, start: int, size: int) -> bool:
    """Return whether `size` bytes (at least 8) are the same in `pool` from `at` on and in `text` from `start` on."""
    for k in range(0, size - 7, 8):
        if load_word(pool, at + k) != load_word(text, start + k):
            return False
    return load_word(pool, at + size - 8) == load_word(text, start + size - 8)


@njit(inline="always")
def store_key(keys: np.ndarray, q: int, first: int, second: int, third: int, slots: np.ndarray) -> int:
    """Write a key and its hash to row `q` of `keys`, prefetch its slot, and return the hash."""
    home = home_of(first, second, third)
    keys[q, 0], keys[q, 1], keys[q, 2], keys[q, 3] = first, second, third, home
    prefetch(slots, np.int64(home & _U(len(slots) - 1)))
    return home


@njit
def look_ahead(text: np.ndarray, bounds: np.ndarray, n: int, keys: np.ndarray, slots: np.ndarray) -> None:
    """Write the keys and hashes of `n` strings to ``keys[:n]``, and prefetch their slots.

    String q is ``text[bounds[q]:bounds[q + 1]]``; `keys` is uint64, shape (at least n, 4).
    """
    safe = len(text) - KEY_BYTES
    for q in range(_U(n)):  # unsigned: numba checks signed indices for being negative (a quarter of the time)
        start, size = bounds[q], bounds[q + _U(1)] - bounds[q]
        first, second, third = key_of(text, start, size) if start <= safe else key_at_end(text, start, size)
        store_key(keys, q, first, second, third, slots)


@njit(inline="always")
def ends_at_home(slots: np.ndarray, slot: int, keys: np.ndarray, q: int) -> bool:
    """Return whether `find` would stop at once at `slot`, the home of string q, and the string is short.

    This is true for nine of ten strings. A call of `find` takes longer, because numba counts references to its arrays.
    """
    same = slots[slot, 0] == keys[q, 0] and slots[slot, 1] == keys[q, 1] and slots[slot, 2] == keys[q, 2]
    return slots[slot, 2] == _U(0) or same and keys[q, 2] < LONG


@njit
def find(slots: np.ndarray, pool: np.ndarray, keys: np.ndarray, q: int, text: np.ndarray, start: int) -> int:
    """Return the slot (uint64) of the string with key q, which is at ``text[start:]``, or the free slot for it."""
    first, second, third = keys[q, 0], keys[q, 1], keys[q, 2]
    mask = _U(len(slots) - 1)
    slot = keys[q, 3] & mask
    while slots[slot, 2] != _U(0):
        if slots[slot, 0] == first and slots[slot, 2] == third:
            if third >= LONG:
                if same_bytes(pool, np.int64(slots[slot, 1]), text, start, size_of(third)):
                    break
            elif slots[slot, 1] == second:
                break
        slot = (slot + _U(1)) & mask
    return slot


@njit(inline="always")
def enter(slots: np.ndarray, slot: int, keys: np.ndarray, q: int, place: int) -> None:
    """Write the key of string q to a free slot; for a long string, `place` is its position in the pool."""
    slots[slot, 0], slots[slot, 2] = keys[q, 0], keys[q, 2]
    slots[slot, 1] = _U(place) if keys[q, 2] >= LONG else keys[q, 1]


@njit(nogil=True, allocates=True)
def rehash(old: np.ndarray, places: np.ndarray, new: np.ndarray) -> None:
    """Move the entries in slots `places` (int64) of `old` to the empty table `new`; `places` gets their new slots."""
    n, mask = len(places), _U(len(new) - 1)
    homes = np.empty(_BATCH, np.uint64)
    for begin in range(0, n, _BATCH):
        end = min(begin + _BATCH, n)
        for e in range(begin, end):
            s = places[e]
            prefetch(old, places[min(e + _PREFETCH_DISTANCE, n - 1)])
            home = home_of(old[s, 0], _U(0) if old[s, 2] >= LONG else old[s, 1], old[s, 2]) & mask
            prefetch(new, np.int64(home))
            homes[e - begin] = home
        for e in range(begin, end):
            slot = homes[e - begin]
            while new[slot, 2] != _U(0):
                slot = (slot + _U(1)) & mask
            for k in range(4):
                new[slot, k] = old[places[e], k]
            places[e] = np.int64(slot)


FREE = -1
"""The key in a free slot of a table of integers."""
_MULTIPLIER = 0x9E3779B97F4A7C15 - (1 << 64)


def new_keys(entries: int) -> Longs:
    """Create an empty set for up to `entries` integers: int64, with `FREE` in each slot."""
    return np.full(1 << max(4, (2 * entries).bit_length()), FREE, np.int64)


def new_table(entries: int, absent: int = -1) -> tuple[Longs, Ints]:
    """Create the keys and values of an empty table for up to `entries` keys; absent keys have the value `absent`."""
    keys = new_keys(entries)
    return keys, np.full(len(keys), absent, np.int32)


@njit
def pair_key(left: int, right: int) -> np.int64:
    """Return the key of a pair of numbers from 0 to 2**31 - 1; keys are in the order of pairs."""
    return np.int64(left) << 32 | np.int64(right)


@njit
def home_of_int(keys: Longs, key: int) -> int:
    """Return the slot where the search for `key` begins.

    Slots are in the order of hashes, so that entries move to a larger table in the order of its memory.
    """
    return (((key * _MULTIPLIER) >> 32 & 0xFFFFFFFF) * len(keys)) >> 32


@njit
def slot_of(keys: Longs, key: int) -> int:
    """Return the slot of `key`, or the free slot where it belongs."""
    slot, mask = home_of_int(keys, key), len(keys) - 1
    while keys[slot] != key and keys[slot] != FREE:
        slot = (slot + 1) & mask
    return slot


@njit
def find_pair(keys: Longs, values: Ints, left: int, right: int) -> np.int64:
    """Return the value of a pair; a free slot contains the value of absent keys, so that no branch is needed."""
    return np.int64(values[slot_of(keys, pair_key(left, right))])


@njit
def put(keys: Longs, values: Ints, key: int, value: int) -> None:
    """Set the value of `key`, which may be new."""
    slot = slot_of(keys, key)
    keys[slot], values[slot] = key, value


def enlarged(keys: Longs, values: Ints, slots: int) -> tuple[Longs, Ints]:
    """Copy a table's entries into `slots` slots, a power of two; the values of free slots are -1."""
    larger, moved = np.full(slots, FREE, np.int64), np.full(slots, -1, np.int32)  # NumPy allocates them in large pages
    move_entries(keys, values, larger, moved)
    return larger, moved


@njit
def move_entries(keys: Longs, values: Ints, larger: Longs, moved: Ints) -> None:
    """Copy all entries of a table to another, empty table."""
    for old in range(len(keys)):
        if keys[old] != FREE:
            put(larger, moved, keys[old], values[old])


@njit
def push(heap: Longs, size: int, first: int, second: int) -> int:
    """Add an entry to the heap, and return the new number of entries."""
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if heap[parent, 0] < first or heap[parent, 0] == first and heap[parent, 1] <= second:
            break
        heap[at, 0], heap[at, 1] = heap[parent, 0], heap[parent, 1]
        at = parent
    heap[at, 0], heap[at, 1] = first, second
    return size + 1


@njit
def pop(heap: Longs, size: int) -> int:
    """Remove the smallest entry, and return the new number of entries."""
    heap[0, 0], heap[0, 1] = heap[size - 1, 0], heap[size - 1, 1]
    sift_down(heap, size - 1)
    return size - 1


@njit
def sift_down(heap: Longs, size: int) -> None:
    """Move ``heap[0]``, which may be larger than its children, down to where it belongs."""
    first, second, at = heap[0, 0], heap[0, 1], np.int64(0)
    while 2 * at + 1 < size:
        child = 2 * at + 1
        other = child + 1
        if other < size and (
            heap[other, 0] < heap[child, 0] or heap[other, 0] == heap[child, 0] and heap[other, 1] < heap[child, 1]
        ):
            child = other
        if heap[child, 0] > first or heap[child, 0] == first and heap[child, 1] >= second:
            break
        heap[at, 0], heap[at, 1] = heap[child, 0], heap[child, 1]
        at = child
    heap[at, 0], heap[at, 1] = first, second
