"""Dense ids for slices of flat arrays, such as words spelled out in code points: equal content, equal id.

The table of `mws_hf.kernels.tables` leads from a hash of the content to the first slice that has it. Equal hashes prove
nothing, so contents are compared, and another content with the same hash goes under the next free key.
"""

from __future__ import annotations

import numpy as np

from mws_hf.kernels.arrays import Ints, Longs
from mws_hf.kernels.instructions import prefetch
from mws_hf.kernels.jit import njit
from mws_hf.kernels.tables import FREE, home_of_int, new_table, slot_of
from mws_hf.kernels.threads import in_parts

_AHEAD = 16
"""So many words before its turn a word's places in the table are asked for."""


@njit(nogil=True)
def hash_of(points: Ints, begin: int, end: int) -> np.int64:
    """Compute a well-mixed hash of ``points[begin:end]``, the same everywhere."""
    h = np.int64(1)
    for i in range(begin, end):
        h = (h ^ points[i]) * -7046029254386353131
        h ^= h >> 32
    return h


@njit(inner=True)
def _fetch(points: Ints, starts: Longs, w: int, keys: Longs, values: Ints) -> None:
    """Have the places of a word further on in the table brought near; the last words have none."""
    w += _AHEAD
    if w < len(starts) - 1:
        home = home_of_int(keys, hash_of(points, starts[w], starts[w + 1]))
        prefetch(keys, home)
        prefetch(values, home)


@njit(inner=True)
def _find(
    points: Ints, begin: int, end: int, known: Ints, starts: Longs, keys: Longs, values: Ints
) -> tuple[np.int64, np.int64]:
    """Find key and slot of a slice equal to ``points[begin:end]``, or the free ones where it belongs."""
    key = hash_of(points, begin, end)
    while True:
        key += key == FREE
        slot = slot_of(keys, key)
        if keys[slot] == FREE:
            return key, slot
        first = starts[values[slot]]
        if starts[values[slot] + 1] - first == end - begin:
            i = begin
            while i < end and points[i] == known[first + i - begin]:
                i += 1
            if i == end:
                return key, slot
        key += 1


@njit(nogil=True)
def _intern(points: Ints, starts: Longs, keys: Longs, values: Ints, ids: Ints, first: Ints) -> int:
    """Number distinct slices by first appearance; fill table, `ids` and `first`, and return their number."""
    n = 0
    for w in range(len(ids)):
        _fetch(points, starts, w, keys, values)
        key, slot = _find(points, starts[w], starts[w + 1], points, starts, keys, values)
        if keys[slot] == FREE:
            keys[slot], values[slot] = key, w
            ids[w], first[n] = n, w
            n += 1
        else:
            ids[w] = ids[values[slot]]
    return n


@njit(nogil=True)
def _look_up(
    points: Ints, starts: Longs, known: Ints, known_starts: Longs, keys: Longs, values: Ints, out: Ints
) -> None:
    for w in range(len(out)):
        _fetch(points, starts, w, keys, values)
        out[w] = values[_find(points, starts[w], starts[w + 1], known, known_starts, keys, values)[1]]


def intern_slices(points: Ints, starts: Longs) -> tuple[Ints, Ints]:
    """Number the distinct slices ``points[starts[w]:starts[w + 1]]`` in order of first appearance.

    Returns:
        The number of each slice, and the first slice with each number; int32.

    >>> ids, first = intern_slices(np.array([7, 8, 7, 7, 8], np.int32), np.array([0, 2, 3, 5]))
    >>> ids.tolist(), first.tolist()
    ([0, 1, 0], [0, 1])
    """
    ids, first = np.empty(len(starts) - 1, np.int32), np.empty(len(starts) - 1, np.int32)
    n = _intern(points, starts, *new_table(len(ids)), ids, first)
    return ids, first[:n].copy()


def find_slices(points: Ints, starts: Longs, known: Ints, known_starts: Longs) -> Ints:
    """Find for each slice the first equal slice of `known`, -1 where there is none: int32.

    >>> find_slices(np.array([8, 9], np.int32), np.arange(3), np.array([7, 8], np.int32), np.arange(3)).tolist()
    [1, -1]
    """
    keys, values = new_table(len(known_starts) - 1)
    scratch, out = np.empty((2, len(known_starts) - 1), np.int32), np.empty(len(starts) - 1, np.int32)
    _intern(known, known_starts, keys, values, scratch[0], scratch[1])
    in_parts(lambda a, b: _look_up(points, starts[a : b + 1], known, known_starts, keys, values, out[a:b]), len(out))
    return out


@njit(nogil=True)
def _fill_hashes(points: Ints, starts: Longs, which: Ints, hashes: Longs) -> None:
    for k in range(len(which)):
        hashes[k] = hash_of(points, starts[which[k]], starts[which[k] + 1])


def hash_slices(points: Ints, starts: Longs, which: Ints) -> Longs:
    """Hash the given slices with `hash_of`: int64."""
    hashes = np.empty(len(which), np.int64)
    _fill_hashes(points, starts, which, hashes)
    return hashes
