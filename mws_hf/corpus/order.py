"""Canonical order of counted words: count descending, then bytes ascending, which for UTF-8 is by code point.

A radix sort from the first byte on: bytes come from memory seven at a time, groups of many words are dealt out by one
byte, those of few are sorted by all seven, and words that are still alike go on to their next seven. The counts, as
what they lack of the largest, stand before the first bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mws_hf.kernels.instructions import load_word, prefetch, store_word, swapped
from mws_hf.kernels.jit import njit

_U: Any = np.uint64
_FEW = 32
_STEP = 7
_AHEAD = 16  # words, whose bytes are fetched while those before them are worked on


@njit(inline="always")
def _chunk(data: npt.NDArray[np.uint8], start: int, end: int) -> int:
    """Seven bytes from `start` on, the first highest, padded with zeros, and in the lowest how many there are, or 8.

    Words with the same chunk are the same if they end in it.
    """
    size = end - start
    if start + 8 <= len(data):
        word = swapped(load_word(data, start)) & ~_U(0xFF)
        if size >= _STEP:
            return word | _U(min(size, _STEP + 1))
        return word & ~(~_U(0) >> _U(8 * size)) | _U(size) if size > 0 else _U(0)
    word = _U(0)
    for k in range(min(size, _STEP)):
        word |= _U(data[start + k]) << _U(56 - 8 * k)
    return word | _U(max(0, min(size, _STEP + 1)))


@njit
def _sort_few(chunks: npt.NDArray[np.uint64], rows: npt.NDArray[np.int64], low: int, high: int) -> None:
    """Sort by insertion."""
    for k in range(low + 1, high):
        chunk, row, at = chunks[k], rows[k], k
        while at > low and chunks[at - 1] > chunk:
            chunks[at], rows[at] = chunks[at - 1], rows[at - 1]
            at -= 1
        chunks[at], rows[at] = chunk, row


@njit
def _deal(
    chunks: npt.NDArray[np.uint64],
    rows: npt.NDArray[np.int64],
    low: int,
    high: int,
    shift: int,
    spare: tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]],
    places: npt.NDArray[np.int64],
) -> None:
    """Sort by the byte of the chunks that `shift` brings lowest; `spare` has the shapes of both, `places` 256."""
    spare_chunks, spare_rows = spare
    for byte in range(256):
        places[byte] = 0
    for k in range(low, high):
        places[(chunks[k] >> shift) & _U(0xFF)] += 1
    if places[(chunks[low] >> shift) & _U(0xFF)] == high - low:
        return
    at = low
    for byte in range(256):
        at, places[byte] = at + places[byte], at
    for k in range(low, high):
        spare_chunks[k], spare_rows[k] = chunks[k], rows[k]
    for k in range(low, high):
        byte = (spare_chunks[k] >> shift) & _U(0xFF)
        place = _U(places[byte])
        chunks[place], rows[place] = spare_chunks[k], spare_rows[k]
        places[byte] += 1


@njit
def _push_alike(
    chunks: npt.NDArray[np.uint64],
    low: int,
    high: int,
    first: int,
    shift: int,
    groups: npt.NDArray[np.int64],
    waiting: int,
) -> int:
    """Append to the `waiting` groups those that are alike down to the byte at `shift` and may differ after it."""
    start = low
    while start < high:
        same, stop = chunks[start] >> _U(shift), start + 1
        while stop < high and chunks[stop] >> _U(shift) == same:
            stop += 1
        ended = shift == 0 and first >= 0 and same & _U(0xFF) <= _U(_STEP)
        if stop - start > 1 and not ended:
            groups[waiting, 0], groups[waiting, 1] = start, stop
            groups[waiting, 2], groups[waiting, 3] = (first, shift - 8) if shift > 0 else (first + _STEP, 56)
            waiting += 1
        start = stop
    return waiting


@njit(nogil=True)
def _sort_rows(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    chunks: npt.NDArray[np.uint64],
    spare: tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]],
    places: npt.NDArray[np.int64],
    groups: npt.NDArray[np.int64],
) -> None:
    """`sort_rows` of two rows at least, with room for the work: `groups` has (n // 2 + 1, 4) cells.

    A group is: from, to, first byte of the chunk (below 0: the count), shift.
    """
    n, largest = len(rows), counts[rows[0]]  # a method of arrays would make every process import SciPy
    for k in range(n):
        largest = max(largest, counts[rows[k]])
    for k in range(n):
        chunks[k] = _U(largest - counts[rows[k]])
    shift = 56
    while shift > 0 and largest >> shift == 0:
        shift -= 8
    groups[0, 0], groups[0, 1], groups[0, 2], groups[0, 3] = 0, n, -_STEP, shift
    waiting = 1
    while waiting > 0:
        waiting -= 1
        low, high, first, shift = groups[waiting, 0], groups[waiting, 1], groups[waiting, 2], groups[waiting, 3]
        if shift == 56 and first >= 0:
            for k in range(low, high):
                chunks[k] = _chunk(data, offsets[rows[k]] + first, offsets[rows[k] + 1])
        if high - low > _FEW:
            _deal(chunks, rows, low, high, _U(shift), spare, places)
        else:
            _sort_few(chunks, rows, low, high)
            shift = 0
        waiting = _push_alike(chunks, low, high, first, shift, groups, waiting)


def sort_rows(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
) -> None:
    """Sort `rows`, numbers of words, in place; other threads run meanwhile.

    Args:
        data: uint8, the bytes of all words.
        offsets: int64, shape (n_words + 1,); word w is ``data[offsets[w]:offsets[w + 1]]``. No two are equal.
        counts: int64, shape (n_words,), not negative.
        rows: int64, shape (n,).

    >>> data, rows = np.frombuffer(b"abcab", np.uint8), np.arange(3)
    >>> sort_rows(data, np.array([0, 2, 3, 5]), np.array([1, 7, 7]), rows)
    >>> rows.tolist()
    [2, 1, 0]
    """
    n = len(rows)
    if n < 2:
        return
    # room is made here, since a kernel that makes arrays takes 25 ms more to load
    chunks, spare = np.empty(n, np.uint64), (np.empty(n, np.uint64), np.empty(n, np.int64))
    _sort_rows(data, offsets, counts, rows, chunks, spare, np.empty(256, np.int64), np.empty((n // 2 + 1, 4), np.int64))


@njit(nogil=True)
def copy_rows(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    out: npt.NDArray[np.uint8],
    out_offsets: npt.NDArray[np.int64],
) -> None:
    """Write the words `rows` one after another.

    Args:
        data: uint8, the bytes of all words.
        offsets: int64, shape (n_words + 1,); word w is ``data[offsets[w]:offsets[w + 1]]``.
        rows: int64, shape (n,).
        out: uint8; word k goes to ``out[out_offsets[k]:out_offsets[k + 1]]``.
        out_offsets: int64, shape (n + 1,); the first and the last are given, the others are written.

    >>> out, out_offsets = np.frombuffer(b"....", np.uint8).copy(), np.array([1, 0, 4])
    >>> copy_rows(np.frombuffer(b"abcab", np.uint8), np.array([0, 2, 3, 5]), np.array([1, 0]), out, out_offsets)
    >>> out.tobytes(), out_offsets.tolist()
    (b'.cab', [1, 2, 4])
    """
    n, at, last, safe = len(rows), out_offsets[0], out_offsets[-1] - 24, len(data) - 24
    for k in range(n):
        prefetch(offsets, rows[min(k + 2 * _AHEAD, n - 1)])
        prefetch(data, offsets[rows[min(k + _AHEAD, n - 1)]])
        start, end = offsets[rows[k]], offsets[rows[k] + 1]
        if end - start <= 24 and at <= last and start <= safe:  # what is too much is overwritten by the next word
            for word in range(0, 24, 8):
                store_word(out, at + word, load_word(data, start + word))
        else:
            for i in range(end - start):
                out[at + i] = data[start + i]
        at += end - start
        out_offsets[k + 1] = at
