"""Exact test whether a product string is taken: 64-bit hashes that kernels can combine, verified by whoever asks.

The hash of a string is a polynomial in its code points modulo 2**64, so that of l + r follows from those of l and r.
Equal strings have equal hashes: a hash not in the set proves a string new; one in the set must be looked up in full.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from mws_hf.jit import njit

_BASE = 0x5851F42D4C957F2D
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(256))

Array = npt.NDArray[Any]


def _signed(value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def hash_and_power(string: str) -> tuple[int, int]:
    """Hash of a string and base ** length, as signed 64-bit numbers: hash(l + r) = hash(l) * power(r) + hash(r).

    >>> (a, p), (b, q), (ab, _) = (hash_and_power(s) for s in ("при", "вет", "привет"))
    >>> (a * q + b - ab) % 2**64
    0
    """
    total = 0
    for character in string:
        total = (total * _BASE + ord(character) + 1) & ((1 << 64) - 1)
    return _signed(total), _signed(pow(_BASE, len(string), 1 << 64))


@njit
def known(table: Array, value: int) -> bool:
    """Whether the hash `value` is in the set `table` (int64, a power of two long, 0 = free)."""
    value = value if value != 0 else 1
    mask = len(table) - 1
    at = np.int64((np.uint64(value) * _SPREAD) >> np.uint64(20)) & mask
    while table[at] != 0 and table[at] != value:
        at = (at + 1) & mask
    return table[at] == value


@njit
def remember(table: Array, value: int) -> None:
    """Add the hash `value` to the set; the caller keeps it at most half full."""
    value = value if value != 0 else 1
    mask = len(table) - 1
    at = np.int64((np.uint64(value) * _SPREAD) >> np.uint64(20)) & mask
    while table[at] != 0 and table[at] != value:
        at = (at + 1) & mask
    table[at] = value


@njit
def _remember_all(table: Array, values: Array) -> None:
    for value in values:
        remember(table, value)


def hash_set(values: Iterable[int], room: int) -> Array:
    """A set of hashes with room for `room` members in all, at most half full."""
    members = np.fromiter(values, np.int64)
    table = np.zeros(1 << (2 * max(room, len(members)) + 1).bit_length(), np.int64)
    _remember_all(table, members)
    return table
