"""Making and enlarging a `PairTable`: the Python side of pairs.py; kernels never allocate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mws_hf.kernels.int_table import enlarged, new_table
from mws_hf.kernels.threads import in_parts
from mws_hf.learn.engine.pairs import (
    ARENA,
    PAIR_FIELDS,
    PAIRS,
    TOKEN_FIELDS,
    TOKENS,
    PairTable,
    count_pairs,
    list_occurrences,
    tidy,
    write_cells,
)
from mws_hf.learn.engine.strings import hashes_and_powers

Array = npt.NDArray[Any]
NO_LIMIT = 1 << 30
SPARE = 4096  # rows to start with; a power of two


def resized(array: Array, size: int, fill: float = 0) -> Array:
    """A copy with `size` columns (last axis), `fill` behind the old ones."""
    out = np.full((*array.shape[:-1], size), fill, array.dtype)
    out[..., : array.shape[-1]] = array
    return out


def fill_cells(symbols: Array, starts: Array, out: Array) -> None:
    """`write_cells`, in parts side by side."""
    in_parts(lambda a, b: write_cells(symbols, starts[a : b + 1], out[starts[a] + a :]), len(starts) - 1)


def open_table(
    tok: Array, val: Array, tokens: Sequence[str], limits: tuple[int, int, int], *, strip: bool = False
) -> PairTable:
    """Count and list the pairs of a segmented text.

    Args:
        tok: the text in cells (see pairs.py); changed in place by later merges.
        val: int64, worth of the position after each cell.
        tokens: the token strings by id.
        limits: (least occurrences, largest left size + length, greatest length in characters) of a pair to keep.
        strip: leave leading whitespace out of left sizes.
    """
    table = _empty_table(tok, val, tokens, strip)
    position = count_pairs(table, 0, limits[1], limits[2])
    while position < len(tok):
        table = _more_pairs(table, 2 * len(table.left))
        position = count_pairs(table, position, limits[1], limits[2])
    places = table.places[: table.used[PAIRS]]
    listed = int(places[places >= limits[0]].sum())
    table = table._replace(arena=np.empty(listed + listed // 4 + 1024, np.int32))
    list_occurrences(table, limits[0])
    return table


def make_room(table: PairTable, pair: int) -> PairTable:
    """Arrays large enough for merging row `pair` (see `has_room`), with room to spare."""
    occurrences = int(table.listed[pair])
    tokens, pairs = (int(table.used[i]) for i in (TOKENS, PAIRS))
    new_pairs = pairs + 2 * min(occurrences, tokens + 1)
    if tokens >= len(table.length):
        table = _more_tokens(table, 2 * len(table.length))
    if table.used[ARENA] + 2 * occurrences > len(table.arena):
        tidy(table)
        arena = int(table.used[ARENA])
        if arena + 2 * occurrences > len(table.arena) * 3 // 4:  # or it would be tidied too often
            more = np.empty(max(arena + 2 * occurrences, len(table.arena) + len(table.arena) // 2), np.int32)
            more[:arena] = table.arena[:arena]
            table = table._replace(arena=more)
    if new_pairs > len(table.left) or 2 * new_pairs > len(table.keys):
        table = _more_pairs(table, max(new_pairs, len(table.left) * 3 // 2))
    return table


def _empty_table(tok: Array, val: Array, tokens: Sequence[str], strip: bool) -> PairTable:
    n, room = len(tokens), len(tokens) + SPARE
    length = np.fromiter(map(len, tokens), np.int32, n)
    size = np.fromiter((len(token.lstrip()) for token in tokens), np.int32, n) if strip else length
    hashes = hashes_and_powers(tokens)
    nothing = np.full(n, -1, np.int32)
    rows: tuple[Array, ...] = (length, size, nothing, nothing, hashes[:, 0], hashes[:, 1], np.zeros(n))
    keys, ids = new_table(SPARE - 1)
    int32s = {name: np.zeros(SPARE, np.int32) for name in ("left", "right", "places", "listed")}
    return PairTable(
        tok=tok,
        val=val,
        **{name: resized(row, room) for name, row in zip(TOKEN_FIELDS, rows, strict=True)},
        **int32s,
        value=np.zeros(SPARE, np.int64),
        begin=np.zeros(SPARE, np.int64),
        keys=keys,
        ids=ids,
        arena=np.zeros(0, np.int32),
        hits=np.zeros((2, room), np.int32),
        sums=np.zeros((2, room), np.int64),
        seen=np.zeros((2, room), np.int32),
        n_seen=np.zeros(2, np.int64),
        cursor=np.zeros((2, room), np.int64),
        touched=np.zeros(2 * room, np.int32),
        used=np.array([n, 0, 0, 0], np.int64),
    )


def _more_tokens(table: PairTable, size: int) -> PairTable:
    fields = (*TOKEN_FIELDS, "hits", "sums", "seen", "cursor")
    table = table._replace(**{name: resized(getattr(table, name), size) for name in fields})
    return table._replace(touched=resized(table.touched, 2 * size))


def _more_pairs(table: PairTable, size: int) -> PairTable:
    for name in PAIR_FIELDS:  # in place: old and new side by side would be the peak of memory; no view of them lives
        getattr(table, name).resize(size, refcheck=False)
    slots = 1 << (2 * size - 1).bit_length()
    if slots <= len(table.keys):
        return table
    keys, ids = enlarged(table.keys, table.ids, slots)
    return table._replace(keys=keys, ids=ids)
