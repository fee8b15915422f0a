"""An exact hash table from byte strings to 64-bit counts: no Python object per token. It knows no order and no files.

What is done to its arrays, and what they hold, is in `words.table_kernels`; here they are made, grown and given away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa

from mws_hf.words.keys import empty_slots
from mws_hf.words.scanner import character_classes
from mws_hf.words.table_kernels import (
    BATCH,
    MOST,
    Bytes,
    Ints,
    Words,
    copy_part,
    count_part,
    count_texts,
    count_words,
    part_size,
    rehash,
)

_FIRST_SLOTS, _MOST_FIRST_SLOTS = 1 << 12, 1 << 19
_SMALL = 1 << 18  # slots, below which a table grows by 4 at once


class TokenTable:
    """Counts of distinct byte strings, growing as needed. One thread at a time; the kernels release the GIL.

    Args:
        max_bytes: memory that growing may take at its peak; None for no bound.
        spill: called with the table when the next growth would pass `max_bytes`; the table is emptied after it.
        text_bytes: how much text will be counted, about; what it is likely to need is made room for at once.

    >>> table = TokenTable()
    >>> table.count_words(np.frombuffer(b"abcab", np.uint8), np.array([0, 2, 3, 5]), np.array([1, 5, 2]))
    >>> strings, counts = table.entries()
    >>> strings.to_pylist(), counts.tolist()
    (['ab', 'c'], [3, 5])
    """

    def __init__(
        self,
        max_bytes: int | None = None,
        spill: Callable[[TokenTable], None] | None = None,
        text_bytes: int = 0,
    ) -> None:
        self._max_bytes, self._spill = max_bytes, spill
        # room for a batch, made here: a kernel that makes arrays takes 25 ms more to load
        self._keys, self._bounds = np.empty((MOST, 4), np.uint64), np.empty(MOST + 1, np.int64)
        self._ones = np.ones(MOST, np.int64)
        most = _MOST_FIRST_SLOTS if max_bytes is None else min(max_bytes >> 7, _MOST_FIRST_SLOTS)
        self._first_slots = max(_FIRST_SLOTS, 1 << max(0, min(text_bytes >> 6, most).bit_length() - 1))
        self.clear()

    def clear(self) -> None:
        """Forget everything and give the memory back."""
        self._slots, self._arena = empty_slots(self._first_slots), np.empty(16 * self._first_slots, np.uint8)
        self._entries = np.empty((_most_entries(self._first_slots), 2), np.int64)
        self._used = np.zeros(3, np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of memory the table takes."""
        return int(self._slots.nbytes + self._entries.nbytes + self._arena.nbytes)

    def __len__(self) -> int:
        return int(self._used[0])

    def count_texts(self, data: Bytes, offsets: Ints, kind: int) -> None:
        """Count the pre-tokens of the texts ``data[offsets[d]:offsets[d + 1]]``, valid UTF-8, each on its own.

        Args:
            data: uint8, the bytes of all texts.
            offsets: int64, shape (n_texts + 1,).
            kind: `scanner_kind` of the split pattern.
        """
        cursor, classes = np.zeros(2, np.int64), character_classes()
        while not count_texts(data, offsets, cursor, classes, kind, *self._arrays(), self._bounds, self._ones):
            self._make_room()

    def count_words(self, data: Bytes, offsets: Ints, counts: Ints) -> None:
        """Add ``counts[w]`` for each word ``data[offsets[w]:offsets[w + 1]]``."""
        cursor = np.zeros(1, np.int64)
        while not count_words(data, offsets, counts, cursor, *self._arrays()):
            self._make_room()

    def entries(self) -> tuple[pa.LargeStringArray, Ints]:
        """The distinct strings in order of arrival, and their counts."""
        n, end = len(self), self._used[1]
        offsets, places = np.zeros(n + 1, np.int64), self._entries[:n]
        offsets[1:] = places[:, 0]
        data = pa.py_buffer(self._arena[:end])  # no copy: what is in an arena never changes
        counts = self._slots[places[:, 1], 3].view(np.int64)
        return pa.LargeStringArray.from_buffers(n, pa.py_buffer(offsets), data), counts

    def _count_part(self, slots: Words, arena: Bytes, entries: Ints, part: int, parts: int) -> None:
        """Add what another table holds in one of `parts` ranges of hashes."""
        cursor, scratch = np.zeros(1, np.int64), np.empty((2, BATCH), np.int64)
        while not count_part(slots, arena, entries, part, parts, cursor, *self._arrays(), *scratch):
            self._make_room()

    def _part_size(self, part: int, parts: int) -> tuple[int, int]:
        return part_size(self._arena, self._entries[: len(self)], part, parts)

    def _copy_part(self, part: int, parts: int, data: Bytes, offsets: Ints, counts: Ints) -> None:
        copy_part(self._slots, self._arena, self._entries[: len(self)], part, parts, data, offsets, counts)

    def _arrays(self) -> tuple[Words, Bytes, Ints, Ints, Words]:
        return self._slots, self._arena, self._entries, self._used, self._keys

    def _make_room(self) -> None:
        more_slots = len(self) + MOST > len(self._entries)
        arena_bytes = int(self._used[1] + self._used[2])
        factor = 4 if len(self._slots) < _SMALL else 2
        growing = self._slots.nbytes + self._entries.nbytes
        peak = growing * (1 + factor if more_slots else 1) + len(self._arena) + 2 * arena_bytes
        if self._spill is not None and self._max_bytes is not None and peak > self._max_bytes and len(self) > 0:
            self._spill(self)
            self.clear()
            return
        if more_slots:
            slots = empty_slots(factor * len(self._slots))
            entries = np.empty((_most_entries(len(slots)), 2), np.int64)
            entries[: len(self)] = self._entries[: len(self)]
            rehash(self._slots, entries, len(self), slots, self._keys)
            self._slots, self._entries = slots, entries
        if arena_bytes > len(self._arena):
            arena = np.empty(2 * arena_bytes, np.uint8)
            arena[: self._used[1]] = self._arena[: self._used[1]]
            self._arena = arena


def _most_entries(n_slots: int) -> int:
    """How full a table may get: more would make strings stray far from the slots that their hashes point to."""
    return 3 * n_slots // 4


def merge_tables(tables: Sequence[TokenTable]) -> tuple[pa.LargeStringArray, Ints]:
    """The distinct strings of all tables and the sums of their counts; the tables are changed, and no longer of use.

    Thread k adds to table k what the other tables hold in the k-th range of hashes. Nothing else of a table is
    written, so the others may read it meanwhile. A table may outgrow its bound here, but is never spilled, which would
    lose what it holds.

    >>> tables = [TokenTable(), TokenTable()]
    >>> for table in tables:
    ...     table.count_words(np.frombuffer(b"abcab", np.uint8), np.array([0, 2, 3, 5]), np.array([1, 5, 2]))
    >>> strings, counts = merge_tables(tables)
    >>> sorted(zip(strings.to_pylist(), counts.tolist()))
    [('ab', 6), ('c', 10)]
    """
    n = len(tables)
    if n == 1:
        return tables[0].entries()
    for table in tables:
        table._spill = None
    before = [(table._slots, table._arena, table._entries[: len(table)]) for table in tables]

    def merge(part: int) -> tuple[int, int]:
        for other in (*range(part), *range(part + 1, n)):
            slots, arena, entries = before[other]
            tables[part]._count_part(slots, arena, entries, part, n)
        return tables[part]._part_size(part, n)

    with ThreadPoolExecutor(n, thread_name_prefix="mws-merge") as pool:
        ends = np.cumsum([(0, 0), *pool.map(merge, range(n))], axis=0)
        data, offsets = np.empty(ends[-1, 1], np.uint8), np.zeros(ends[-1, 0] + 1, np.int64)
        counts = np.empty(ends[-1, 0], np.int64)
        offsets[ends[:, 0]] = ends[:, 1]

        def copy(part: int) -> None:
            first, after = ends[part : part + 2, 0]
            tables[part]._copy_part(part, n, data, offsets[first : after + 1], counts[first:after])

        list(pool.map(copy, range(n)))
    return pa.LargeStringArray.from_buffers(len(counts), pa.py_buffer(offsets), pa.py_buffer(data)), counts
