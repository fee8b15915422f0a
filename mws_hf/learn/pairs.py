"""Pair table: the pairs of neighboring tokens in a segmented corpus and their occurrences, updated at every merge.

Other modules decide which pair is merged (candidates.py, classic.py).

**Text.** One int32 array `tok` contains all words, with separators (-1) between them. A token occupies as many cells as
it has characters. Its id is in its first and in its last cell, and the cells between contain -2. So the neighbors of a
token are one cell away on either side, and no links are stored.

**Occurrences.** All occurrences of a pair arise in one step, the merge that makes the younger of its two tokens.
Therefore they are written once, in the order of the corpus, into a segment of `arena`. Later, occurrences can only
disappear, and code that reads the segment checks in `tok` whether they still exist.

"aaa" contains two occurrences of (a, a), as in Hugging Face BPE. They are replaced from left to right, which makes one
product.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mws_hf.kernels import Array
from mws_hf.kernels.containers import find_pair, pair_key, put
from mws_hf.kernels.jit import njit

SEPARATOR, INSIDE = -1, -2
# indices of PairTable.used
TOKENS, PAIRS, ARENA, TOUCHED = 0, 1, 2, 3
# sides; they have a type, so that kernels are compiled once and not for each constant
LEFT, RIGHT = np.int64(0), np.int64(1)


class Bounds(NamedTuple):
    """Limits of the pairs that a table contains.

    Attributes:
        min_occurrences: minimum number of occurrences of a pair.
        max_size: maximum left size of the left token plus length of the right one (see `PairTable`), in characters.
        max_length: maximum length of the product, in characters.
    """

    min_occurrences: int
    max_size: int
    max_length: int


class PairTable(NamedTuple):
    """Arrays of the table; of tokens, pairs, arena and touched pairs the first `used[...]` rows are in use.

    Attributes:
        tok: int32, the text in cells.
        val: int64, value of the position after each cell.
        length: length of each token in characters.
        left_size: length of each token as a left part, with or without its leading white space (see `Bounds.max_size`).
        token_left: left part of a product, -1 for other tokens.
        token_right: right part of a product, -1 for other tokens.
        token_hash: hash of the string (candidates.py).
        token_power: power of the hash base by the length of the string.
        token_score: score of the merge that made the token.
        pairs: records of type `PAIR`: the tokens `left` and `right`, their `occurrences`, `value` (sum of `val` over
            the occurrences), and the segment of `arena` that `begin` and `listed` describe.
        keys: keys of a hash table from a pair to its row in `pairs`.
        ids: values of this table.
        arena: int32, first cells of the listed occurrences of all pairs.
        hits: scratch, shape (2, tokens), number of occurrences by left and by right neighbor.
        sums: scratch, shape (2, tokens), sum of their values.
        seen: scratch, shape (2, tokens), the neighbors found.
        n_seen: scratch, shape (2,), the number of neighbors found.
        cursor: scratch, shape (2, tokens), index in `arena` for the next occurrence with each neighbor.
        touched: rows of pairs that lost occurrences in the last merge.
        used: int64, shape (4,), rows in use: `TOKENS`, `PAIRS`, `ARENA`, `TOUCHED`.
    """

    tok: Array
    val: Array
    length: Array
    left_size: Array
    token_left: Array
    token_right: Array
    token_hash: Array
    token_power: Array
    token_score: Array
    pairs: Array
    keys: Array
    ids: Array
    arena: Array
    hits: Array
    sums: Array
    seen: Array
    n_seen: Array
    cursor: Array
    touched: Array
    used: Array


TOKEN_FIELDS = ("length", "left_size", "token_left", "token_right", "token_hash", "token_power", "token_score")
PAIR = np.dtype(
    {
        "names": ["left", "right", "occurrences", "listed", "value", "begin"],
        "formats": [np.int32, np.int32, np.int32, np.int32, np.int64, np.int64],
    }
)
"""A row of `PairTable.pairs`. It has 32 bytes, so that two rows fit into a cache line."""


@njit(nogil=True)
def write_cells(symbols: Array, starts: Array, out: Array) -> None:
    """Copy the symbols of words into `out` (n_symbols + n_words + 1 cells), with separators around each word."""
    at = 0
    for w in range(len(starts) - 1):
        out[at] = SEPARATOR
        at += 1
        for i in range(starts[w], starts[w + 1]):
            out[at] = symbols[i]
            at += 1
    out[at] = SEPARATOR


@njit(inner=True)
def _new_pair(t: PairTable, left: int, right: int) -> int:
    p = t.used[PAIRS]
    t.used[PAIRS] = p + 1
    put(t.keys, t.ids, pair_key(left, right), p)
    t.pairs[p].left, t.pairs[p].right = left, right
    t.pairs[p].value = t.pairs[p].occurrences = t.pairs[p].begin = t.pairs[p].listed = 0
    return p


@njit(inner=True)
def _fits(left_size: Array, length: Array, left: int, right: int, bounds: Bounds) -> bool:
    small = max(1, left_size[left]) + length[right] <= bounds.max_size
    return small and length[left] + length[right] <= bounds.max_length


@njit(nogil=True)
def count_pairs(t: PairTable, position: int, end: int, bounds: Bounds) -> int:
    """Count pairs from cell `position` to `end`, a separator; return the cell at which room ran out, or `end`."""
    # passing the whole table to a function would count a reference for each of its arrays, which is slow in a loop
    tok, val, length, left_size, pairs, keys, ids = t.tok, t.val, t.length, t.left_size, t.pairs, t.keys, t.ids
    capacity = min(len(pairs), len(keys) // 2)
    while position < end:
        left = np.int64(tok[position])
        if left < 0:
            position += 1
            continue
        after = position + length[left]
        right = np.int64(tok[after])
        if right >= 0 and _fits(left_size, length, left, right, bounds):
            p = find_pair(keys, ids, left, right)
            if p < 0:
                if t.used[PAIRS] >= capacity:
                    return position
                p = _new_pair(t, left, right)
            pairs[p].value += val[after - 1]
            pairs[p].occurrences += 1
        position = after
    return position


@njit(nogil=True)
def add_counts(t: PairTable, other: PairTable, rows: Array) -> None:
    """Add the counts of another table, which must fit, and write to `rows` where the pairs of the other table are."""
    for k in range(other.used[PAIRS]):
        left, right = np.int64(other.pairs[k].left), np.int64(other.pairs[k].right)
        p = find_pair(t.keys, t.ids, left, right)
        if p < 0:
            p = _new_pair(t, left, right)
        t.pairs[p].value += other.pairs[k].value
        t.pairs[p].occurrences += other.pairs[k].occurrences
        rows[k] = p


@njit(nogil=True)
def list_occurrences(t: PairTable, position: int, end: int, at: Array) -> None:
    """Write the occurrences from cell `position` to `end`, a separator, into the arena, in the order of the corpus.

    Occurrences of pair p are written from ``at[p]`` (int64, changed) on. Pairs that are not listed are skipped.
    """
    tok, length, keys, ids, pairs, arena = t.tok, t.length, t.keys, t.ids, t.pairs, t.arena
    while position < end:
        left = np.int64(tok[position])
        if left < 0:
            position += 1
            continue
        after = position + length[left]
        if tok[after] >= 0:
            p = find_pair(keys, ids, left, np.int64(tok[after]))
            if p >= 0 and pairs[p].listed > 0:
                arena[at[p]] = position
                at[p] += 1
        position = after


@njit(inner=True)
def _count_neighbor(hits: Array, sums: Array, seen: Array, n_seen: Array, side: int, token: int, value: int) -> None:
    """Count one neighbor on a side."""
    if hits[side, token] == 0:
        seen[side, n_seen[side]] = token
        n_seen[side] += 1
    hits[side, token] += 1
    sums[side, token] += value


@njit(inner=True)
def _replace_occurrences(t: PairTable, p: int, new: int) -> tuple[int, int]:
    """Replace every occurrence of pair `p` by `new`, from left to right, and count the neighbors that lose the pair.

    Valid occurrences are moved to the front of the pair's segment in the arena. Returns their number and total value.
    """
    left, right = t.pairs[p].left, t.pairs[p].right
    left_length = t.length[left]
    size = left_length + t.length[right]
    tok, val, arena = t.tok, t.val, t.arena
    hits, sums, seen, n_seen = t.hits, t.sums, t.seen, t.n_seen
    first = t.pairs[p].begin
    kept = first
    total = np.int64(0)
    for s in range(first, first + t.pairs[p].listed):
        i = arena[s]
        j = i + left_length
        if tok[i] != left or tok[j] != right:
            continue
        last = i + size - 1
        # if a product is directly before, it has already counted the position between
        if tok[i - 1] >= 0 and tok[i - 1] != new:
            _count_neighbor(hits, sums, seen, n_seen, LEFT, np.int64(tok[i - 1]), val[i - 1])
        if tok[last + 1] >= 0:
            _count_neighbor(hits, sums, seen, n_seen, RIGHT, np.int64(tok[last + 1]), val[last])
        total += val[j - 1]
        tok[j - 1] = tok[j] = INSIDE
        tok[i] = tok[last] = new
        arena[kept] = i
        kept += 1
    return int(kept - first), int(total)


@njit(inner=True)
def _subtract_counts(t: PairTable, p: int) -> None:
    """Subtract the counted occurrences from the pairs (neighbor, left of p) and (right of p, neighbor)."""
    t.used[TOUCHED] = 0
    for side in range(2):
        for k in range(t.n_seen[side]):
            x = np.int64(t.seen[side, k])
            a, b = (x, np.int64(t.pairs[p].left)) if side == LEFT else (np.int64(t.pairs[p].right), x)
            q = find_pair(t.keys, t.ids, a, b)
            if q >= 0:
                t.pairs[q].value -= t.sums[side, x]
                t.pairs[q].occurrences -= t.hits[side, x]
                t.touched[t.used[TOUCHED]] = q
                t.used[TOUCHED] += 1
            t.hits[side, x] = t.sums[side, x] = 0
        t.n_seen[side] = 0


@njit(inner=True)
def _add_pairs(t: PairTable, new: int, bounds: Bounds) -> None:
    """Add the pairs of `new` with the counted neighbors, and reserve their segments in the arena."""
    for side in range(2):
        for k in range(t.n_seen[side]):
            x = np.int64(t.seen[side, k])
            hits, value = t.hits[side, x], t.sums[side, x]
            t.hits[side, x] = t.sums[side, x] = 0
            t.cursor[side, x] = -1
            a, b = (x, new) if side == LEFT else (new, x)
            if hits >= bounds.min_occurrences and _fits(t.left_size, t.length, a, b, bounds):
                q = _new_pair(t, a, b)
                t.pairs[q].value, t.pairs[q].occurrences, t.pairs[q].listed = value, hits, hits
                t.pairs[q].begin = t.cursor[side, x] = t.used[ARENA]
                t.used[ARENA] += hits
        t.n_seen[side] = 0


@njit(inner=True)
def _add_token(t: PairTable, p: int) -> int:
    new = t.used[TOKENS]
    left, right = t.pairs[p].left, t.pairs[p].right
    t.used[TOKENS] = new + 1
    t.token_left[new], t.token_right[new] = left, right
    t.length[new] = t.length[left] + t.length[right]
    # leading white space adds 0 to a left size, so the left size of a product of white space is that of its right part
    t.left_size[new] = t.left_size[left] + t.length[right] if t.left_size[left] > 0 else t.left_size[right]
    t.token_hash[new] = t.token_hash[left] * t.token_power[right] + t.token_hash[right]
    t.token_power[new] = t.token_power[left] * t.token_power[right]
    return new


@njit(nogil=True)
def merge_pair(t: PairTable, p: int, bounds: Bounds) -> int:
    """Merge pair `p` everywhere: add the token, and update text, counts and lists. There must be room (`has_room`).

    Args:
        t: the table. Afterwards `touched` contains the pairs that lost occurrences, and new pairs are the last rows.
        p: row of the pair.
        bounds: limits of the pairs that are kept.

    Returns:
        Sum of the values of the replaced occurrences. The id of the product is `used[TOKENS] - 1`.
    """
    new = _add_token(t, p)
    n, total = _replace_occurrences(t, p, new)
    _subtract_counts(t, p)
    t.pairs[p].value = t.pairs[p].occurrences = t.pairs[p].listed = 0
    first, size, tok, val, arena = t.pairs[p].begin, t.length[new], t.tok, t.val, t.arena
    hits, sums, seen, n_seen = t.hits, t.sums, t.seen, t.n_seen
    for s in range(first, first + n):
        i = arena[s]
        if tok[i - 1] >= 0 and tok[i - 1] != new:
            _count_neighbor(hits, sums, seen, n_seen, LEFT, np.int64(tok[i - 1]), val[i - 1])
        if tok[i + size] >= 0:
            _count_neighbor(hits, sums, seen, n_seen, RIGHT, np.int64(tok[i + size]), val[i + size - 1])
    _add_pairs(t, new, bounds)
    cursor, length = t.cursor, t.length
    for s in range(first, first + n):
        i = arena[s]
        before, after = tok[i - 1], tok[i + size]
        if before >= 0 and before != new and cursor[LEFT, before] >= 0:
            arena[cursor[LEFT, before]] = i - length[before]
            cursor[LEFT, before] += 1
        if after >= 0 and cursor[RIGHT, after] >= 0:
            arena[cursor[RIGHT, after]] = i
            cursor[RIGHT, after] += 1
    return total


@njit(nogil=True)
def tidy(t: PairTable) -> None:
    """Remove occurrences that disappeared from the arena; segments are in the order of the rows of their pairs."""
    tok, length, arena = t.tok, t.length, t.arena
    kept = np.int64(0)
    for p in range(t.used[PAIRS]):
        left, right = t.pairs[p].left, t.pairs[p].right
        first, t.pairs[p].begin = t.pairs[p].begin, kept
        for s in range(first, first + t.pairs[p].listed):
            i = arena[s]
            if tok[i] == left and tok[i + length[left]] == right:
                arena[kept] = i
                kept += 1
        t.pairs[p].listed = kept - t.pairs[p].begin
    t.used[ARENA] = kept


@njit(inner=True)
def has_room(t: PairTable, p: int) -> bool:
    """Return whether the arrays have room for `merge_pair(t, p)`."""
    n = np.int64(t.pairs[p].listed)
    pairs = t.used[PAIRS] + 2 * min(n, t.used[TOKENS] + 1)
    return (
        t.used[TOKENS] < len(t.length)
        and t.used[ARENA] + 2 * n <= len(t.arena)
        and pairs <= len(t.pairs)
        and 2 * pairs <= len(t.keys)
    )
