"""Dense ids: for pairs of integers and trie nodes, by ranked bits or a hash table; for slices of flat arrays.

Slices are words spelled out in code points, for example: equal content, equal id. Their table leads from a hash of the
content to the first slice that has it. Equal hashes prove nothing, so contents are compared, and another content with
the same hash goes under the next free key.

Arrow's `dictionary_encode` and `index_in` give the same numbers, but they do not ask for table rows ahead: on 381,000
Russian words they took 0.05 and 0.08 s of processor time instead of 0.03 and 0.04 s, and on 4.6 million words 1.2 and
1.4 s instead of 0.4 and 0.6 s (pyarrow 26, one thread, arrays of code points).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mws_hf.kernels import Bits, Ints, Longs
from mws_hf.kernels.containers import FREE, home_of_int, move_entries, new_table, pair_key, prefetch, slot_of
from mws_hf.kernels.jit import njit
from mws_hf.kernels.threads import in_parts

BITS_A_ROW, LEAST_ROWS = 32, 1 << 16
"""Bits that a row may cost where every possible pair has one; beyond that pairs are hashed."""


class Interned(NamedTuple):
    """Distinct pairs, numbered in order of first appearance."""

    ids: Ints  # of each row's pair; -1 where `left` was negative
    first: Ints  # row of each pair's first appearance
    counts: Ints


class Trie(NamedTuple):
    """The trie of all words read in one direction; a branch with a single word is not followed further."""

    nodes: Ints  # one a symbol, reached by the word up to and with it; -1 after a node that has this word alone
    parents: Ints  # one a node; -1 under the root
    counts: Ints  # words that pass through or end in a node
    ends: Ints  # words that end in a node


@njit(nogil=True, allocates=True)
def _twice(values: Ints) -> Ints:
    """Return an array twice as long, zeros at the end; `np.append` would import SciPy (0.2 s in every process)."""
    longer = np.zeros(2 * len(values), np.int32)
    for k in range(len(values)):
        longer[k] = values[k]
    return longer


@njit(nogil=True, allocates=True)
def intern_hashed(left: Ints, right: Ints, ids: Ints) -> tuple[Ints, Ints]:
    """Number distinct pairs of any keys by a hash table: return first appearances and counts; `ids` is written."""
    keys, numbers = np.full(1 << 12, FREE, np.int64), np.full(1 << 12, -1, np.int32)
    first = np.zeros(1 << 11, np.int32)
    counts = np.zeros(1 << 11, np.int32)
    size = 0
    for i in range(len(left)):
        if left[i] < 0:
            ids[i] = -1
            continue
        key = pair_key(left[i], right[i])
        slot = slot_of(keys, key)
        if keys[slot] == FREE:
            if size == len(first):
                first, counts = _twice(first), _twice(counts)
                larger, moved = np.full(2 * len(keys), FREE, np.int64), np.full(2 * len(keys), -1, np.int32)
                move_entries(keys, numbers, larger, moved)
                keys, numbers = larger, moved
                slot = slot_of(keys, key)
            keys[slot], numbers[slot] = key, size
            first[size] = i
            size += 1
        ids[i] = numbers[slot]
        counts[numbers[slot]] += 1
    return first[:size].copy(), counts[:size].copy()


@njit(inner=True)
def _ones(x: np.uint64) -> int:
    """Count the bits of `x` that are set."""
    x -= (x >> np.uint64(1)) & np.uint64(0x5555555555555555)
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(nogil=True)
def _mark_pairs(left: Ints, right: Ints, rights: int, bits: Bits, before: Ints) -> int:
    """Set the bit of every pair; write how many there are `before` each word of bits, and return their number."""
    one = np.uint64(1)
    for i in range(len(left)):
        if left[i] >= 0:
            key = np.int64(left[i]) * rights + right[i]
            bits[key >> 6] |= one << np.uint64(key & 63)
    total = 0
    for k in range(len(bits)):
        before[k] = total
        total += _ones(bits[k])
    return total


@njit(nogil=True)
def _number_pairs(
    left: Ints, right: Ints, rights: int, bits: Bits, before: Ints, number: Ints, found: Interned
) -> None:
    """Write the pairs into `found`; `number` gets the pairs' numbers by rank."""
    ids, first, counts = found
    one = np.uint64(1)
    size = 0
    for i in range(len(left)):
        if left[i] < 0:
            ids[i] = -1
            continue
        key = np.int64(left[i]) * rights + right[i]
        rank = before[key >> 6] + _ones(bits[key >> 6] & ((one << np.uint64(key & 63)) - one))
        if number[rank] < 0:
            number[rank] = size
            first[size] = i
            size += 1
        ids[i] = number[rank]
        counts[number[rank]] += 1


def intern_dense(left: Ints, right: Ints, lefts: int, rights: int) -> Interned:
    """Number distinct pairs below `lefts` and `rights` as `intern_hashed` does, by a bit for every possible pair.

    Three to ten times faster where pairs are products of few values: the tables stay in the processor's cache.
    """
    bits = np.zeros((lefts * rights >> 6) + 1, np.uint64)
    before = np.empty(len(bits), np.int32)
    total = int(_mark_pairs(left, right, rights, bits, before))
    ids = np.empty(len(left), np.int32)
    found = Interned(ids, np.empty(total, np.int32), np.zeros(total, np.int32))
    _number_pairs(left, right, rights, bits, before, np.full(total, -1, np.int32), found)
    return found


def intern_pairs(left: Ints, right: Ints) -> Interned:
    """Number the distinct pairs (left[i], right[i]); rows with a negative `left` get -1.

    `right` is never negative; its largest decides how pairs are numbered, so it must be written in all rows.
    """
    lefts, rights = (int(side.max(initial=-1)) + 1 for side in (left, right))
    if lefts * rights <= BITS_A_ROW * max(len(left), LEAST_ROWS):
        return intern_dense(left, right, lefts, rights)
    ids = np.empty(len(left), np.int32)
    return Interned(ids, *intern_hashed(left, right, ids))


def build_trie(symbols: Ints, starts: Longs, backwards: bool) -> Trie:
    """Build the trie of words read forwards (nodes are prefixes) or `backwards` (nodes are suffixes), level by level.

    Nodes are numbered by depth, within a depth in order of first appearance.
    """
    nodes = np.full(len(symbols), -1, np.int32)
    left = np.diff(starts)
    place = starts[1:] - 1 if backwards else starts[:-1]
    above, total, on = np.zeros(len(left), np.int32), 0, left > 0
    parents, counts, ends = ([np.zeros(0, np.int32)] for _ in range(3))
    while len(place := place[on]):
        above, left = above[on], left[on] - 1
        level = intern_pairs(above, symbols[place])
        nodes[place] = level.ids + np.int32(total)
        parents.append(above[level.first] + np.int32(total - len(counts[-1])) if total else -1 - above[level.first])
        counts.append(level.counts)
        ends.append(np.bincount(level.ids[left == 0], minlength=len(level.first)).astype(np.int32))
        above, total = level.ids, total + len(level.first)
        place = place - 1 if backwards else place + 1
        on = (left > 0) & (level.counts[level.ids] > 1)
    return Trie(nodes, *map(np.concatenate, (parents, counts, ends)))


_AHEAD = 16  # words before its turn, a word's places in the table are asked for


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
    """Number the distinct slices ``points[starts[w]:starts[w + 1]]``: all the numbers, and each number's first slice.

    >>> ids, first = intern_slices(np.array([7, 8, 7, 7, 8], np.int32), np.array([0, 2, 3, 5]))
    >>> ids.tolist(), first.tolist()
    ([0, 1, 0], [0, 1])
    """
    ids, first = np.empty(len(starts) - 1, np.int32), np.empty(len(starts) - 1, np.int32)
    n = _intern(points, starts, *new_table(len(ids)), ids, first)
    return ids, first[:n].copy()


def find_slices(points: Ints, starts: Longs, known: Ints, known_starts: Longs) -> Ints:
    """Find for each slice the first equal slice of `known`, -1 where there is none: int32."""
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
    """Hash the given slices with `hash_of`."""
    hashes = np.empty(len(which), np.int64)
    _fill_hashes(points, starts, which, hashes)
    return hashes
