"""Create and enlarge the tables of the learner (pairs, candidates, known strings), and merge the best pair repeatedly.

Kernels never allocate memory, so this module allocates it for those of pairs.py. It also contains the heap of
candidates, from which the pair with the greatest value is taken.

**Known strings.** A product must not equal an earlier token. Kernels test this with 64-bit hashes. The hash of a string
is a polynomial in its code points modulo 2**64, so that the hash of l + r follows from the hashes of l and r. A hash
that is not in the set proves that a string is new. If it is in the set, the caller compares the strings themselves.

**Heap.** The pair with the larger value comes first, then the one with the smaller left id, then the one with the
smaller right id, as in `BpeTrainer` of `tokenizers`. `queued[p]` is the greatest value of pair p in the heap, and never
less than its present value. So the top entry is the best pair of all, if it is not stale.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mws_hf.kernels import Array, Longs
from mws_hf.kernels.containers import FREE, enlarged, new_keys, new_table, pair_key, pop, push, sift_down, slot_of
from mws_hf.kernels.jit import njit
from mws_hf.kernels.threads import in_parts, part_edges, side_by_side
from mws_hf.learn.pairs import (
    ARENA,
    PAIR,
    PAIRS,
    SEPARATOR,
    TOKEN_FIELDS,
    TOKENS,
    TOUCHED,
    Bounds,
    PairTable,
    add_counts,
    count_pairs,
    has_room,
    list_occurrences,
    merge_pair,
    tidy,
    write_cells,
)
from mws_hf.learn.words import CodePoints

_BASE = 0x5851F42D4C957F2D


def hashes_and_powers(strings: Sequence[str]) -> Array:
    """Compute hashes and powers (base ** length) of strings; returns int64, shape (n, 2).

    >>> (a, p), (b, q), (ab, _) = hashes_and_powers(["при", "вет", "привет"]).tolist()
    >>> (a * q + b - ab) % 2**64  # hash(l + r) = hash(l) * power(r) + hash(r)
    0
    """
    words = CodePoints.of(strings)
    found = np.empty((len(words), 2), np.int64)
    _hash_strings(words.points, words.starts, found)
    return found


@njit
def _hash_strings(points: Array, starts: Array, found: Array) -> None:
    for w in range(len(found)):
        total, power = np.int64(0), np.int64(1)
        for i in range(starts[w], starts[w + 1]):
            total = total * _BASE + points[i] + 1
            power *= _BASE
        found[w, 0], found[w, 1] = total, power


@njit(inline="always")
def _member(value: int) -> int:
    return value if value != FREE else 0  # `FREE` marks free slots, so this hash is stored as 0


@njit
def known(table: Array, value: int) -> bool:
    """Return whether a hash is in the set `table` (see kernels/containers.py)."""
    return table[slot_of(table, _member(value))] != FREE


@njit
def remember(table: Array, value: int) -> None:
    """Add a hash to the set, which the caller keeps at most half full."""
    table[slot_of(table, _member(value))] = _member(value)


@njit
def _remember_all(table: Array, values: Array) -> None:
    for value in values:
        remember(table, value)


def hash_set(members: Longs, capacity: int) -> Array:
    """Create a set of hashes that is at most half full when it has `capacity` members."""
    table = new_keys(max(capacity, len(members)))
    _remember_all(table, members)
    return table


SPARE = 4096
"""Number of rows that a new table has for pairs, and in addition to the given tokens; a power of two."""
_MAX_PARTS = 4
"""Maximum number of parts of the text whose pairs are counted in separate tables, which a single thread then joins."""


def resized(array: Array, size: int, fill: float = 0) -> Array:
    """Copy an array with `size` columns (last axis); new columns contain `fill`."""
    out = np.full((*array.shape[:-1], size), fill, array.dtype)
    out[..., : array.shape[-1]] = array
    return out


def fill_cells(symbols: Array, starts: Array, out: Array) -> None:
    """Copy the symbols of words into the cells `out`, with separators around each word, in several threads."""
    in_parts(lambda a, b: write_cells(symbols, starts[a : b + 1], out[starts[a] + a :]), len(starts) - 1)


def open_table(tok: Array, val: Array, tokens: Sequence[str], bounds: Bounds, *, strip: bool = False) -> PairTable:
    """Count and list the pairs of a segmented text.

    Args:
        tok: the text in cells (see pairs.py), which later merges change in place.
        val: int64, value of the position after each cell.
        tokens: strings of the tokens by id.
        bounds: limits of the pairs that are kept.
        strip: leave leading white space out of left sizes.

    Returns:
        The table, with all pairs of the text and lists of their occurrences, but without products.
    """
    edges = part_edges(len(tok), _MAX_PARTS)
    for k in range(1, len(edges) - 1):
        while tok[edges[k]] != SEPARATOR:
            edges[k] += 1
    empty = _empty_table(tok, val, tokens, strip)
    copied = ("pairs", "keys", "ids", "used")  # separate in each part, which share text and tokens
    parts = [empty, *(empty._replace(**{name: getattr(empty, name).copy() for name in copied}) for _ in edges[2:])]
    parts = side_by_side(_count_range, parts, edges, edges[1:], [bounds] * len(parts))
    table, counts_of_parts = _joined_tables(parts)
    del empty, parts
    table = _reserve_segments(table, bounds.min_occurrences)
    at = [table.pairs["begin"][: table.used[PAIRS]].copy()]  # by part: where it writes the occurrences of each pair
    for counts in counts_of_parts[:-1]:
        at.append(np.add(at[-1], counts, out=counts))
    side_by_side(list_occurrences, [table] * len(at), edges, edges[1:], at)
    return table


def remove_pair(table: PairTable, pair: int) -> None:
    """Remove a pair from a table, so that it is never merged.

    New occurrences of a pair arise only when one of its two tokens is made, so none can arise later.
    """
    table.pairs["value"][pair] = table.pairs["occurrences"][pair] = table.pairs["listed"][pair] = 0


def _count_range(table: PairTable, begin: int, end: int, bounds: Bounds) -> PairTable:
    """Count the pairs of the cells from `begin` to `end`; return the table, enlarged if necessary."""
    position = count_pairs(table, begin, end, bounds)
    while position < end:
        table = _more_pairs(table, 2 * len(table.pairs))
        position = count_pairs(table, position, end, bounds)
    return table


def _joined_tables(parts: Sequence[PairTable]) -> tuple[PairTable, list[Array]]:
    """Join the pairs of all parts in one table; also return how often each row occurs in each part (int64)."""
    table, rows = parts[0], [np.arange(parts[0].used[PAIRS], dtype=np.int32)]
    occurrences = [part.pairs["occurrences"][: part.used[PAIRS]].copy() for part in parts]
    for part in parts[1:]:
        needed = int(table.used[PAIRS] + part.used[PAIRS])
        table = _more_pairs(table, needed) if needed > min(len(table.pairs), len(table.keys) // 2) else table
        rows.append(np.empty(part.used[PAIRS], np.int32))
        add_counts(table, part, rows[-1])
    counts_of_parts = [np.zeros(table.used[PAIRS], np.int64) for _ in parts]
    for k in range(len(parts)):
        counts_of_parts[k][rows[k]] = occurrences[k]
    return table, counts_of_parts


def _reserve_segments(table: PairTable, least: int) -> PairTable:
    """Reserve a segment of the arena for every pair with at least `least` occurrences."""
    n = int(table.used[PAIRS])
    table.pairs["listed"][:n] = np.where(table.pairs["occurrences"][:n] >= least, table.pairs["occurrences"][:n], 0)
    ends = np.cumsum(table.pairs["listed"][:n], dtype=np.int64)
    table.pairs["begin"][:n] = ends - table.pairs["listed"][:n]
    table.used[ARENA] = listed = int(ends[-1]) if n else 0
    return table._replace(arena=np.empty(listed + listed // 4 + 1024, np.int32))


def make_room(table: PairTable, pair: int) -> PairTable:
    """Enlarge the arrays until row `pair` can be merged (see `has_room`), and more, so that this is rarely needed."""
    occurrences = int(table.pairs["listed"][pair])
    tokens, pairs = (int(table.used[i]) for i in (TOKENS, PAIRS))
    new_pairs = pairs + 2 * min(occurrences, tokens + 1)
    if tokens >= len(table.length):
        table = _more_tokens(table, 2 * len(table.length))
    if table.used[ARENA] + 2 * occurrences > len(table.arena):
        tidy(table)
        arena = int(table.used[ARENA])
        if arena + 2 * occurrences > len(table.arena) * 3 // 4:  # with less space, `tidy` would run too often
            more = np.empty(max(arena + 2 * occurrences, len(table.arena) + len(table.arena) // 2), np.int32)
            more[:arena] = table.arena[:arena]
            table = table._replace(arena=more)
    if new_pairs > len(table.pairs) or 2 * new_pairs > len(table.keys):
        table = _more_pairs(table, max(new_pairs, len(table.pairs) * 3 // 2))
    return table


def _empty_table(tok: Array, val: Array, tokens: Sequence[str], strip: bool) -> PairTable:
    n, capacity = len(tokens), len(tokens) + SPARE
    length = np.fromiter(map(len, tokens), np.int32, n)
    size = np.fromiter((len(token.lstrip()) for token in tokens), np.int32, n) if strip else length
    hashes = hashes_and_powers(tokens)
    nothing = np.full(n, -1, np.int32)
    rows: tuple[Array, ...] = (length, size, nothing, nothing, hashes[:, 0], hashes[:, 1], np.zeros(n))
    keys, ids = new_table(SPARE - 1)
    return PairTable(
        tok=tok,
        val=val,
        **{name: resized(row, capacity) for name, row in zip(TOKEN_FIELDS, rows, strict=True)},
        pairs=np.zeros(SPARE, PAIR),
        keys=keys,
        ids=ids,
        arena=np.zeros(0, np.int32),
        hits=np.zeros((2, capacity), np.int32),
        sums=np.zeros((2, capacity), np.int64),
        seen=np.zeros((2, capacity), np.int32),
        n_seen=np.zeros(2, np.int64),
        cursor=np.zeros((2, capacity), np.int64),
        touched=np.zeros(2 * capacity, np.int32),
        used=np.array([n, 0, 0, 0], np.int64),
    )


def _more_tokens(table: PairTable, size: int) -> PairTable:
    fields = (*TOKEN_FIELDS, "hits", "sums", "seen", "cursor")
    table = table._replace(**{name: resized(getattr(table, name), size) for name in fields})
    return table._replace(touched=resized(table.touched, 2 * size))


def _more_pairs(table: PairTable, size: int) -> PairTable:
    # resized in place, because a copy would be the peak of memory use; the array has no views
    table.pairs.resize(size, refcheck=False)
    slots = 1 << (2 * size - 1).bit_length()
    if slots <= len(table.keys):
        return table
    keys, ids = enlarged(table.keys, table.ids, slots)
    return table._replace(keys=keys, ids=ids)


REACHED, EXHAUSTED, FULL, HASH_KNOWN = 0, 1, 2, 3
"""The statuses that `advance` returns, which describes them."""
NOT_QUEUED = np.iinfo(np.int64).min
SIZE, PENDING = 0, 1  # indexes into Queue.used


class Queue(NamedTuple):
    """Candidates in the order of their values.

    Attributes:
        heap: int64, shape (n, 2), negated value and key of a pair; an entry is stale if the pair has another value.
        queued: int64, greatest value of each pair in the heap, by row of the pair; `NOT_QUEUED` if it is not in it.
        used: int64, shape (2,), number of entries in the heap (`SIZE`), and the pair that needs the caller (`PENDING`).
    """

    heap: Array
    queued: Array
    used: Array


class Minima(NamedTuple):
    """Minima of a candidate.

    Attributes:
        occurrences: minimum number of occurrences.
        value: minimum sum of values.
        frequency: minimum frequency, which is computed when the candidate is the best one.
    """

    occurrences: int
    value: int
    frequency: int


@njit(inner=True)
def _queue_pair(t: PairTable, q: Queue, p: int) -> None:
    q.queued[p] = t.pairs[p].value
    q.used[SIZE] = push(q.heap, q.used[SIZE], -t.pairs[p].value, pair_key(t.pairs[p].left, t.pairs[p].right))


@njit(nogil=True)
def _fill_queue(t: PairTable, q: Queue, minima: Minima) -> None:
    for p in range(t.used[PAIRS]):
        if t.pairs[p].occurrences >= minima.occurrences and t.pairs[p].value >= minima.value:
            _queue_pair(t, q, p)


def open_queue(table: PairTable, minima: Minima) -> Queue:
    """Create the queue of the candidates of a new table."""
    queued = np.full(len(table.pairs), NOT_QUEUED, np.int64)
    queue = Queue(np.empty((int(table.used[PAIRS]) + 1024, 2), np.int64), queued, np.zeros(2, np.int64))
    _fill_queue(table, queue, minima)
    return queue


def with_room(table: PairTable, queue: Queue) -> tuple[PairTable, Queue]:
    """Enlarge table and queue until the pair that needs the caller can be merged."""
    pair, size = (int(queue.used[i]) for i in (PENDING, SIZE))
    table = make_room(table, pair)
    heap, needed = queue.heap, size + _most_pushes(int(table.pairs["listed"][pair]), int(table.used[TOKENS]))
    if needed > len(heap):
        heap = np.empty((2 * needed, 2), np.int64)
        heap[:size] = queue.heap[:size]
    return table, Queue(heap, resized(queue.queued, len(table.pairs), NOT_QUEUED), queue.used)


@njit(inner=True)
def _best(t: PairTable, q: Queue, minima: Minima) -> int:
    """Update the top of the heap; return the best pair, or -1 if there is no candidate."""
    keys, ids, pairs, heap, queued, used = t.keys, t.ids, t.pairs, q.heap, q.queued, q.used
    while used[SIZE] > 0:
        p = np.int64(ids[slot_of(keys, heap[0, 1])])
        if -heap[0, 0] != queued[p]:
            used[SIZE] = pop(heap, used[SIZE])
        elif pairs[p].occurrences < minima.occurrences or pairs[p].value < minima.value:
            queued[p] = NOT_QUEUED
            used[SIZE] = pop(heap, used[SIZE])
        elif pairs[p].value < queued[p]:
            queued[p] = pairs[p].value
            heap[0, 0] = -pairs[p].value
            sift_down(heap, used[SIZE])
        else:
            return int(p)
    return -1


@njit
def _most_pushes(listed: int, n_tokens: int) -> int:
    """Return the maximum number of pairs that one merge adds to the heap: two old and two new ones per neighbor."""
    return 4 * min(listed, n_tokens + 1)


@njit(inner=True)
def _frequency(t: PairTable, p: int, weights: Array) -> int:
    """Sum the occurrences of a pair, each with the weight of its first cell."""
    tok, arena, left, right, total = t.tok, t.arena, t.pairs[p].left, t.pairs[p].right, np.int64(0)
    size = t.length[left]
    for s in range(t.pairs[p].begin, t.pairs[p].begin + t.pairs[p].listed):
        i = arena[s]
        if tok[i] == left and tok[i + size] == right:
            total += weights[i]
    return int(total)


@njit(nogil=True)
def advance(
    t: PairTable,
    q: Queue,
    strings: Array,
    goal: int,
    minima: Minima,
    bounds: Bounds,
    accepted: int,
    weights: Array,
) -> int:
    """Merge until there are `goal` tokens or the caller is needed; then the pair is ``q.used[PENDING]``.

    Args:
        t: the pair table.
        q: its candidates.
        strings: set of the hashes of strings that must not become products.
        goal: number of tokens.
        minima: minima of candidates.
        bounds: limits of the pairs that are kept.
        accepted: a pair whose product has a known hash, but is a new string, as the caller found out; -1 if none.
        weights: by cell, how often its word counts in a frequency; empty if there is no minimum frequency.

    Returns:
        `REACHED`, `EXHAUSTED` (no candidate is left), `FULL` (the arrays must be enlarged) or `HASH_KNOWN` (the hash of
        the product is in `strings`, so the caller must compare the strings themselves).
    """
    while t.used[TOKENS] < goal:
        p = _best(t, q, minima)
        q.used[PENDING] = p
        if p < 0:
            return EXHAUSTED
        if len(weights) > 0 and _frequency(t, p, weights) < minima.frequency:
            # removed for good, because its occurrences can only become fewer
            t.pairs[p].value = t.pairs[p].occurrences = t.pairs[p].listed = 0
            continue
        left, right = t.pairs[p].left, t.pairs[p].right
        product = t.token_hash[left] * t.token_power[right] + t.token_hash[right]
        if p != accepted and known(strings, product):
            return HASH_KNOWN
        if not has_room(t, p) or len(q.heap) - q.used[SIZE] < _most_pushes(np.int64(t.pairs[p].listed), t.used[TOKENS]):
            return FULL
        first = t.used[PAIRS]
        t.token_score[t.used[TOKENS]] = t.pairs[p].value
        q.queued[p] = NOT_QUEUED
        q.used[SIZE] = pop(q.heap, q.used[SIZE])
        merge_pair(t, p, bounds)
        remember(strings, product)
        for k in range(t.used[TOUCHED] + t.used[PAIRS] - first):
            p = np.int64(t.touched[k]) if k < t.used[TOUCHED] else first + k - t.used[TOUCHED]
            if (
                t.pairs[p].occurrences >= minima.occurrences
                and t.pairs[p].value >= minima.value
                and t.pairs[p].value > q.queued[p]
            ):
                _queue_pair(t, q, p)
    return REACHED
