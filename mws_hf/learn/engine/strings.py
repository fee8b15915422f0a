"""Test exactly whether a product string is taken: by 64-bit hashes that kernels can combine, verified by the caller.

The hash of a string is a polynomial in its code points modulo 2**64. So the hash of l + r follows from the hashes of l
and r. Equal strings have equal hashes: a hash not in the set proves a string new; one in the set must be looked up in
full.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from mws_hf.kernels.arrays import Array
from mws_hf.kernels.int_table import FREE, new_keys, slot_of
from mws_hf.kernels.jit import njit
from mws_hf.learn.words import CodePoints
from mws_hf.text.special import BYTE_TOKENS as BYTE_TOKENS

_BASE = 0x5851F42D4C957F2D


def _signed(value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def hash_and_power(string: str) -> tuple[int, int]:
    """Compute hash and power (base ** length) of a string, signed 64-bit: hash(l + r) = hash(l) * power(r) + hash(r).

    >>> (a, p), (b, q), (ab, _) = (hash_and_power(s) for s in ("при", "вет", "привет"))
    >>> (a * q + b - ab) % 2**64
    0
    """
    total = 0
    for character in string:
        total = (total * _BASE + ord(character) + 1) & ((1 << 64) - 1)
    return _signed(total), _signed(pow(_BASE, len(string), 1 << 64))


def hashes_and_powers(strings: Sequence[str]) -> Array:
    """Compute hash and base ** length of many strings; int64, shape (n, 2).

    >>> hashes_and_powers(["вет", ""]).tolist() == [list(hash_and_power("вет")), list(hash_and_power(""))]
    True
    """
    words = CodePoints.of(strings)
    found = np.empty((len(words), 2), np.int64)
    _fill_hashes(words.points, words.starts, found)
    return found


@njit
def _fill_hashes(points: Array, starts: Array, found: Array) -> None:
    for w in range(len(found)):
        total, power = np.int64(0), np.int64(1)
        for i in range(starts[w], starts[w + 1]):
            total = total * _BASE + points[i] + 1
            power *= _BASE
        found[w, 0], found[w, 1] = total, power


@njit(inline="always")
def _member(value: int) -> int:
    return value if value != FREE else 0  # costs a question to whoever asks, seldom enough


@njit
def known(table: Array, value: int) -> bool:
    """Tell whether the hash `value` is in the set `table` (see kernels/int_table.py)."""
    return table[slot_of(table, _member(value))] != FREE


@njit
def remember(table: Array, value: int) -> None:
    """Add the hash `value` to the set; the caller keeps it at most half full."""
    table[slot_of(table, _member(value))] = _member(value)


@njit
def _remember_all(table: Array, values: Array) -> None:
    for value in values:
        remember(table, value)


def hash_set(values: Iterable[int], room: int) -> Array:
    """Make a set of hashes with room for `room` members in all, at most half full."""
    members = np.fromiter(values, np.int64)
    table = new_keys(max(room, len(members)))
    _remember_all(table, members)
    return table
