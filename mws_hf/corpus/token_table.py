"""Count byte strings exactly, in a hash table, and on disk if the counts exceed a memory cap.

The kernels come first. They add strings in batches (see `kernels.containers`). A kernel returns False if the next batch
might not fit into the table; the caller then makes room and calls it again with the same cursor. It returns True when
all strings are added.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from mws_hf.atomic import temporary_folder
from mws_hf.corpus.arrow_arrays import flat_utf8
from mws_hf.corpus.blocks import Columns
from mws_hf.errors import MwSError
from mws_hf.kernels import Bits, Bytes, Longs
from mws_hf.kernels.containers import (
    KEY_BYTES,
    LONG,
    WINDOW,
    empty_slots,
    ends_at_home,
    enter,
    find,
    home_of,
    key_at_end,
    key_of,
    look_ahead,
    rehash,
    size_of,
    store_word,
)
from mws_hf.kernels.jit import njit
from mws_hf.kernels.scanner import find_pretokens
from mws_hf.text.scanner_classes import classes_of

MEMORY_CAP = 2 << 30
"""The most bytes that tables of counts may take, unless a caller gives another number."""
SMALLEST_TABLE = 1 << 19
"""The fewest bytes of a table that is moved to disk; moving smaller tables would take too much time."""
_MIN_FIRST_SLOTS, _MAX_FIRST_SLOTS = 1 << 12, 1 << 19
_SMALL_SLOTS = 1 << 18  # a table with fewer slots grows by a factor of 4, and a larger one by 2
BATCH = 256
"""The number of strings after which a batch ends."""
MAX_BATCH = BATCH + WINDOW
"""The most strings that a batch can have, because the scanner may find more than were wanted."""
_U: Any = np.uint64
_I: Any = np.int64


class TableArrays(NamedTuple):
    """The arrays of a `TokenTable`.

    Attributes:
        slots: uint64, shape (n_slots, 4), see `kernels.containers`; the fourth word is the count.
        arena: uint8, the distinct strings one after another, with `KEY_BYTES` to spare after the last.
        ends: int64, end of each string in the arena, by order of arrival.
        places: int64, slot of each string.
        used: int64, shape (3,): the number of strings, the number of arena bytes, and (set by a kernel) the number of
            arena bytes that the batch may need.
        keys: uint64, shape (`MAX_BATCH`, 4): working memory for the keys and hashes of a batch.
    """

    slots: Bits
    arena: Bytes
    ends: Longs
    places: Longs
    used: Longs
    keys: Bits


@njit(inline="always")
def _put(data: Bytes, start: int, first: int, second: int, third: int, out: Bytes, at: int) -> None:
    """Copy a string, which begins at ``data[start]``, to `out` from byte `at` on, where there is room for a whole key.

    `first`, `second` and `third` are the words of its key.
    """
    if third >= LONG:
        for k in range(size_of(third)):
            out[at + k] = data[start + k]
        return
    store_word(out, at, first)  # the next string overwrites the bytes after this one
    store_word(out, at + 8, second)
    store_word(out, at + 16, third)


@njit(inner=True)
def _add_batch(data: Bytes, starts: Longs, amounts: Longs, n: int, size: int, table: TableArrays) -> bool:
    """Add `amounts[q]` to the count of the string with key ``table.keys[q]`` for each q < n.

    Args:
        data: the bytes from which long strings are copied.
        starts: the first byte of each string in `data`.
        amounts: the number to add for each string.
        n: the number of strings.
        size: the number of bytes of all strings together.
        table: the table.

    Returns:
        False if the table may be full, and nothing was added.
    """
    slots, arena, ends, places, used, keys = table
    mask = _U(len(slots) - 1)
    used[2] = size + KEY_BYTES
    if used[0] + n > len(ends) or used[1] + used[2] > len(arena):
        return False
    for q in range(_U(n)):
        slot = keys[q, 3] & mask
        if not ends_at_home(slots, slot, keys, q):
            slot = find(slots, arena, keys, q, data, starts[q])
        if slots[slot, 2] == _U(0):
            enter(slots, slot, keys, q, used[1])
            _put(data, starts[q], keys[q, 0], keys[q, 1], keys[q, 2], arena, used[1])
            used[1] += size_of(keys[q, 2])
            ends[used[0]], places[used[0]] = used[1], _I(slot)
            used[0] += 1
        slots[slot, 3] += _U(amounts[q])
    return True


@njit(nogil=True)
def count_texts(
    data: Bytes,
    offsets: Longs,
    cursor: Longs,
    classes: Bytes,
    kind: int,
    table: TableArrays,
    bounds: Longs,
    ones: Longs,
) -> bool:
    """Count the pre-tokens of the texts ``data[offsets[d]:offsets[d + 1]]``; `cursor` is the next text and byte."""
    while cursor[0] < len(offsets) - 1:
        d, n = cursor[0], _I(0)
        bounds[0] = max(cursor[1], offsets[d])
        while d < len(offsets) - 1 and n < BATCH:  # pre-token q is bounds[q:q + 2]
            n = find_pretokens(data, bounds[n], offsets[d + 1], classes, kind, bounds, n, _I(BATCH))
            if bounds[n] >= offsets[d + 1]:
                d += 1
        look_ahead(data, bounds, n, table.keys, table.slots)
        if not _add_batch(data, bounds, ones, n, bounds[n] - bounds[0], table):
            return False
        cursor[0], cursor[1] = d, bounds[n]
    return True


@njit(nogil=True)
def count_words(data: Bytes, offsets: Longs, counts: Longs, cursor: Longs, table: TableArrays) -> bool:
    """Add the counts of the words ``data[offsets[w]:offsets[w + 1]]``; ``cursor[0]`` is the next word."""
    while cursor[0] < len(offsets) - 1:
        first, last = cursor[0], min(cursor[0] + BATCH, len(offsets) - 1)
        bounds, size = offsets[first : last + 1], offsets[last] - offsets[first]
        look_ahead(data, bounds, last - first, table.keys, table.slots)
        if not _add_batch(data, bounds, counts[first:last], last - first, size, table):
            return False
        cursor[0] = last
    return True


@njit(nogil=True, allocates=True)
def hash_words(data: Bytes, offsets: Longs) -> Bits:
    """Return a 64-bit hash of every word, which is the same on every machine: uint64, shape (n_words,)."""
    hashes = np.empty(len(offsets) - 1, np.uint64)
    for w in range(len(hashes)):
        start, size = offsets[w], offsets[w + 1] - offsets[w]
        safe = start + KEY_BYTES <= len(data)
        first, second, third = key_of(data, start, size) if safe else key_at_end(data, start, size)
        hashes[w] = home_of(first, second, third)
    return hashes


class TokenTable:
    """A table of distinct byte strings and their counts, which grows as needed.

    Only one thread may use a table at a time. The kernels release the GIL, so that threads with separate tables run at
    the same time.

    Args:
        max_bytes: the most memory that the table may take, even while it grows; None for no limit.
        spill: called with the table before it would exceed `max_bytes`; the table is emptied afterwards.
        text_bytes: the approximate size of the text to count, for which enough memory is reserved from the start.
    """

    def __init__(
        self, max_bytes: int | None = None, spill: Callable[[TokenTable], None] | None = None, text_bytes: int = 0
    ) -> None:
        self._max_bytes, self._spill = max_bytes, spill
        # working memory for a batch, which is made here because a kernel that makes arrays takes 25 ms more to load
        self._keys, self._bounds = np.empty((MAX_BATCH, 4), np.uint64), np.empty(MAX_BATCH + 1, np.int64)
        self._ones = np.ones(MAX_BATCH, np.int64)
        most = _MAX_FIRST_SLOTS if max_bytes is None else min(max_bytes >> 7, _MAX_FIRST_SLOTS)
        self._first_slots = max(_MIN_FIRST_SLOTS, 1 << max(0, min(text_bytes >> 6, most).bit_length() - 1))
        self.clear()

    def clear(self) -> None:
        """Remove all strings and release the memory."""
        # at most three quarters of the slots are used, because searches would otherwise take many steps
        ends, places = np.empty((2, 3 * self._first_slots // 4), np.int64)
        arena, used = np.empty(16 * self._first_slots, np.uint8), np.zeros(3, np.int64)
        self._table = TableArrays(empty_slots(self._first_slots), arena, ends, places, used, self._keys)

    @property
    def nbytes(self) -> int:
        """The number of bytes that the table takes in memory."""
        return sum(array.nbytes for array in self._table[:4])

    def __len__(self) -> int:
        return int(self._table.used[0])

    def count_texts(self, data: Bytes, offsets: Longs, kind: int) -> None:
        """Count the pre-tokens of several texts, each of which is split separately.

        Args:
            data: uint8, valid UTF-8.
            offsets: int64, shape (n_texts + 1,); text d is ``data[offsets[d]:offsets[d + 1]]``.
            kind: the scanner's kind of the split pattern (`text.scanner_classes.scanner_kind`).
        """
        cursor, classes = np.zeros(2, np.int64), classes_of(kind)
        while not count_texts(data, offsets, cursor, classes, kind, self._table, self._bounds, self._ones):
            self._make_room()

    def count_words(self, data: Bytes, offsets: Longs, counts: Longs) -> None:
        """Add ``counts[w]`` for each word ``data[offsets[w]:offsets[w + 1]]``."""
        cursor = np.zeros(1, np.int64)
        while not count_words(data, offsets, counts, cursor, self._table):
            self._make_room()

    def entries(self) -> tuple[pa.LargeStringArray, Longs]:
        """Return the distinct strings in order of arrival, and their counts."""
        slots, arena, ends, places = self._table[:4]
        n = len(self)
        offsets = np.zeros(n + 1, np.int64)
        offsets[1:] = ends[:n]
        data = pa.py_buffer(arena[: offsets[-1]])  # without a copy, because strings in an arena never change
        counts = slots[places[:n], 3].view(np.int64)
        return pa.LargeStringArray.from_buffers(n, pa.py_buffer(offsets), data), counts

    def _make_room(self) -> None:
        """Enlarge the table for the next batch, or move its content to disk and empty it."""
        slots, arena, ends, places, used, _ = self._table
        more_slots = len(self) + MAX_BATCH > len(ends)
        arena_bytes = int(used[1] + used[2])
        factor = 4 if len(slots) < _SMALL_SLOTS else 2
        growing = slots.nbytes + ends.nbytes + places.nbytes
        peak = growing * (1 + factor if more_slots else 1) + len(arena) + 2 * arena_bytes
        if self._spill is not None and self._max_bytes is not None and peak > self._max_bytes and len(self) > 0:
            self._spill(self)
            self.clear()
            return
        if more_slots:
            larger = empty_slots(factor * len(slots))
            more = np.empty((2, 3 * len(larger) // 4), np.int64)
            more[:, : len(self)] = ends[: len(self)], places[: len(self)]
            rehash(slots, more[1, : len(self)], larger)
            self._table = self._table._replace(slots=larger, ends=more[0], places=more[1])
        if arena_bytes > len(arena):
            longer = np.empty(2 * arena_bytes, np.uint8)
            longer[: used[1]] = arena[: used[1]]
            self._table = self._table._replace(arena=longer)


def summed(parts: Iterable[Columns]) -> Columns:
    """Add up counts of words, in no particular order."""
    table = TokenTable()
    for words, counts in parts:
        table.count_words(*flat_utf8(words), counts)
    return table.entries()


def merge_tables(tables: Sequence[TokenTable]) -> tuple[pa.LargeStringArray, Longs]:
    """Return the distinct strings of all tables and the sums of their counts; the tables are emptied.

    Half of the tables are added to the other half in parallel, until only one is left. A table may exceed its limit
    here; it is not moved to disk, because its entries would then be missing from the result.
    """

    def add(table: TokenTable, other: TokenTable) -> None:
        table._spill = None
        words, counts = other.entries()
        other.clear()  # its slots are free before the other table grows
        table.count_words(*flat_utf8(words), counts)

    while half := len(tables) // 2:
        with ThreadPoolExecutor(half, thread_name_prefix="mws-merge") as pool:
            list(pool.map(add, tables[:half], tables[half : 2 * half]))
        tables = [*tables[:half], *tables[2 * half :]]
    found = tables[0].entries()
    tables[0].clear()
    return found


class Shards:
    """Counts on disk: a temporary folder of Arrow files, each with the counts of one table, sorted by word hash.

    It is a context manager, which removes the folder at its end. Sorting by hash is faster than sorting by word, and
    equal words still come together: merging goes through the range of hashes in steps, and each step reads only the
    words whose hashes are in its part of the range.
    """

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._opened = ExitStack()
        self._lock = threading.Lock()
        self._files: list[Path] = []

    def __enter__(self) -> Shards:
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def add(self, table: TokenTable) -> None:
        """Write the entries of a table, which is not changed; several threads may call this method at the same time.

        Raises:
            MwSError: the temporary folder cannot be written, or has no space left.
        """
        strings, counts = table.entries()
        hashes = hash_words(*flat_utf8(strings))
        order = np.argsort(hashes)
        columns = {"hash": hashes[order], "word": strings.take(pa.array(order)), "count": counts[order]}
        try:
            with self._lock:
                if self._folder is None:
                    self._folder = self._opened.enter_context(temporary_folder("mws-counts-"))
                path = self._folder / f"{len(self._files)}.arrow"
                self._files.append(path)
            shard = pa.table(columns)
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, shard.schema) as writer:
                writer.write_table(shard)
        except OSError as error:
            raise MwSError(
                f"{tempfile.gettempdir()}: counts that exceed the memory cap cannot be written there ({error}); "
                "set TMPDIR to a folder with more space, or raise the cap"
            ) from error

    def merged(self, step_bytes: int, min_count: int = 1) -> tuple[pa.LargeStringArray, Longs]:
        """Return the distinct strings of all shards and the sums of their counts, in no particular order.

        Args:
            step_bytes: the approximate number of bytes of shards that are added up in one step.
            min_count: strings with a smaller sum are left out.
        """
        steps, parts = 1 + sum(path.stat().st_size for path in self._files) // step_bytes, list[Columns]()
        for number in range(steps):
            words, counts = self._part(number, steps)
            kept = counts >= min_count
            parts.append((words, counts) if kept.all() else (words.filter(pa.array(kept)), counts[kept]))
        return pa.concat_arrays([words for words, _ in parts]), np.concatenate([counts for _, counts in parts])

    def _part(self, number: int, parts: int) -> tuple[pa.LargeStringArray, Longs]:
        """Return the sums over all shards for words with hashes in range `number` of `parts` equal ranges."""
        inner = np.array([(k << 64) // parts for k in range(number, number + 2) if 0 < k < parts], np.uint64)
        table = TokenTable()
        for path in self._files:
            shard = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
            found = np.searchsorted(shard["hash"].to_numpy(), inner).tolist()
            first, *last = [0, *found] if number == 0 else found
            rows = shard.slice(first, (last[0] if last else len(shard)) - first)
            table.count_words(*flat_utf8(rows["word"].combine_chunks()), rows["count"].to_numpy())
        return table.entries()
