"""What a hash table of byte strings holds of a string: three 64-bit words. The tables themselves are elsewhere.

Strings of up to 23 bytes are their own key, zero-padded, with their length in the top byte, so that a look-up costs one
cache line and no comparison of strings. Longer ones are known by a hash and their length; the second word is left to
the table, to say where it keeps the bytes. Words are read little-endian, which every platform numba supports is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mws_hf.jit import njit
from mws_hf.words.instructions import load_word

INLINE_KEY = 23

_U: Any = np.uint64
LONG = _U(0xFF << 56)
"""A key whose third word is at least this is that of a long string."""

_KEY_MASKS = np.array(
    [[(1 << 8 * min(max(n - 8 * word, 0), 8)) - 1 for word in range(3)] for n in range(INLINE_KEY + 1)], np.uint64
)
_SIZE = _U((1 << 56) - 1)
_MULTIPLIERS = (_U(0x9E3779B97F4A7C15), _U(0xC2B2AE3D27D4EB4F), _U(0x165667B19E3779F9), _U(0xD6E8FEB86659FD93))


def empty_slots(n: int) -> np.ndarray:
    """Zeros: uint64, shape (n, 4), none of whose rows lies across two cache lines of 64 bytes."""
    memory = np.zeros(4 * n + 8, np.uint64)
    first = -(memory.ctypes.data >> 3) % 8
    return memory[first : first + 4 * n].reshape(-1, 4)


@njit(inline="always")
def key_of(text: np.ndarray, start: int, size: int) -> tuple[int, int, int]:
    """The three key words of the string of `size` bytes at byte `start`; 24 bytes from there on are read."""
    if size <= INLINE_KEY:
        length = _U(size)
        first = load_word(text, start) & _KEY_MASKS[length, _U(0)]
        second = load_word(text, start + 8) & _KEY_MASKS[length, _U(1)]
        third = load_word(text, start + 16) & _KEY_MASKS[length, _U(2)]
        return first, second, third | (length << _U(56))
    return long_key(text, start, size)


@njit
def long_key(text: np.ndarray, start: int, size: int) -> tuple[int, int, int]:
    """`key_of` a string of more than `INLINE_KEY` bytes."""
    mixed = _U(size)
    for at in range(start, start + size - 7, 8):
        mixed = (mixed ^ load_word(text, at)) * _MULTIPLIERS[0]
        mixed ^= mixed >> _U(32)
    mixed = (mixed ^ load_word(text, start + size - 8)) * _MULTIPLIERS[1]
    return mixed, _U(0), LONG | _U(size)


@njit
def key_at_end(text: np.ndarray, start: int, size: int) -> tuple[int, int, int]:
    """`key_of` where fewer than 24 bytes may follow `start` in `text`; slower."""
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
    """Hash of a key; the second word of a long one must be 0."""
    mixed = first * _MULTIPLIERS[0] + second * _MULTIPLIERS[1] + third * _MULTIPLIERS[2]
    mixed = (mixed ^ (mixed >> _U(32))) * _MULTIPLIERS[3]
    return mixed ^ (mixed >> _U(29))


@njit(inline="always")
def size_of(third: int) -> np.int64:
    """The length in bytes of the string whose key has this third word."""
    return np.int64(third & _SIZE) if third >= LONG else np.int64(third >> _U(56))


@njit
def same_bytes(pool: np.ndarray, at: int, text: np.ndarray, start: int, size: int) -> bool:
    """Whether `size` bytes, 8 or more, are the same."""
    for k in range(0, size - 7, 8):
        if load_word(pool, at + k) != load_word(text, start + k):
            return False
    return load_word(pool, at + size - 8) == load_word(text, start + size - 8)
