"""The counting loop: blocks of text, each of a group, into tables of pre-tokens, in threads, within a memory cap.

Text of no group in particular is the group `UNNAMED`. All sources are counted here: files, texts, tables with a column
of groups, and partitions of Spark. The named patterns go through the scanner (`kernels.scanner`), which agrees
with the Rust backend. Any other pattern goes through the `regex` module, about ten times slower and in one thread.

Threads share the blocks of several sources, so that reading overlaps with work.
"""

from __future__ import annotations

import threading
import unicodedata
from collections import Counter, deque
from collections.abc import Callable, ItemsView, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from numbers import Integral
from typing import Generic, Literal, TypeVar, cast

import numpy as np

from mws_hf.corpus.blocks import Block, GroupBlock, arrow_block, cut_at
from mws_hf.corpus.columns import Columns, arrow_strings, flat_utf8
from mws_hf.corpus.counts import check_normalization
from mws_hf.corpus.groups import MOST_GROUPS, UNNAMED
from mws_hf.corpus.token_table import MEMORY_CAP, SMALLEST_TABLE, Shards, TokenTable, merge_tables
from mws_hf.errors import MwSError, SettingError
from mws_hf.kernels.threads import thread_count
from mws_hf.text.pattern import compiled, split
from mws_hf.text.special import DEFAULT_SPECIAL_TOKENS
from mws_hf.text.unicode import classes_of, scanner_kind

T = TypeVar("T")


def share_out(sources: Sequence[Iterator[T]], tasks: Sequence[Callable[[T], None]]) -> None:
    """Give every item of `sources` to one of `tasks`, each in a thread of its own; the first error stops all.

    Each iterator is advanced by one thread at a time, different ones side by side, so reading overlaps with work.
    """
    supply = _Supply(sources)
    if len(tasks) == 1:
        supply.feed(tasks[0])
    threads = [threading.Thread(target=supply.feed, args=[task], daemon=True) for task in tasks[1:] and tasks]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:  # Ctrl-C, while a thread may wait for a pipe that nobody writes: none is waited for long
        supply.stop()
        for thread in threads:
            thread.join(1)
        raise
    if supply.error is not None:
        raise supply.error


class _Supply(Generic[T]):
    def __init__(self, sources: Sequence[Iterator[T]]) -> None:
        self._idle = deque(sources)
        self._busy = 0
        self._stopped = False
        self.error: BaseException | None = None
        self._condition = threading.Condition()

    def stop(self) -> None:
        with self._condition:
            self._stopped = True
            self._condition.notify_all()

    def feed(self, task: Callable[[T], None]) -> None:
        """Take items and give them to `task` until there are none, or until `stop`."""
        try:
            while (item := self._take()) is not None:
                task(item)
        except BaseException as error:
            self.error = self.error or error
            self.stop()

    def _take(self) -> T | None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._idle or self._busy == 0 or self._stopped)
                if self._stopped or not self._idle:
                    return None
                source = self._idle.popleft()
                self._busy += 1
            item = next(source, None)
            with self._condition:
                self._busy -= 1
                if item is not None:
                    self._idle.appendleft(source)
                self._condition.notify_all()
            if item is not None:
                return item


class GroupTables:
    """The tables of one thread, one a group, spilled together where they outgrow their share of memory.

    Of `most` bytes a table of no group may take all, tables of groups half. `spill` is called with a group and its
    table, which is emptied afterwards. `text_bytes` is about the size of the text to be counted.
    """

    def __init__(self, most: int, spill: Callable[[str, TokenTable], None], text_bytes: int = 0) -> None:
        self._most, self._spill, self._text_bytes = most, spill, text_bytes
        self._by_group: dict[str, TokenTable] = {}

    def table(self, group: str) -> TokenTable:
        """Return the table of a group; room for it is made."""
        if group == UNNAMED:
            return self._made(group, self._most)
        table = self._made(group, self._most // 2)
        if sum(each.nbytes for each in self._by_group.values()) > self._most // 2:
            for name, each in self._by_group.items():
                if len(each):
                    self._spill(name, each)
                    each.clear()
        return table

    def _made(self, group: str, most: int) -> TokenTable:
        if group not in self._by_group:
            self._by_group[group] = TokenTable(most, partial(self._spill, group), self._text_bytes)
        return self._by_group[group]

    def taken(self, group: str) -> list[TokenTable]:
        """Take the table of a group out; a list of none or one."""
        table = self._by_group.pop(group, None)
        return [] if table is None else [table]

    def items(self) -> ItemsView[str, TokenTable]:
        """List the groups and their tables."""
        return self._by_group.items()


def count_blocks(
    sources: Sequence[Iterator[GroupBlock]],
    pattern: str,
    normalization: str | None,
    workers: int | None = None,
    memory_cap: int = MEMORY_CAP,
    text_bytes: int = 0,
    special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS,
) -> dict[str, Columns]:
    """Count the pre-tokens of all sources, iterators of (group, block) read side by side, by group.

    Tables that outgrow `memory_cap` bytes are spilled to a temporary folder. `text_bytes` is about the size of all
    sources, 0 where it is not known. Texts are cut at `special_tokens`, which are not counted.
    """
    count_block = block_counter(pattern, normalization, special_tokens)
    workers = _counting_threads(pattern, workers, memory_cap)
    lock, shards = threading.Lock(), dict[str, Shards]()
    with ExitStack() as stack:

        def spill(group: str, table: TokenTable) -> None:
            with lock:
                if group not in shards:
                    shards[group] = stack.enter_context(Shards())
            shards[group].add(table)

        most = max(memory_cap // workers, SMALLEST_TABLE)
        threads = [GroupTables(most, spill, text_bytes // workers) for _ in range(workers)]
        seen: set[str] = set()

        def adder(tables: GroupTables) -> Callable[[GroupBlock], None]:
            def add(item: GroupBlock) -> None:
                group, block = item
                seen.add(group)
                if len(seen) > MOST_GROUPS:
                    raise MwSError(f"more than {MOST_GROUPS} groups, {group!r} among them; is that a column of groups?")
                count_block(tables.table(group), block)

            return add

        share_out(sources, [adder(tables) for tables in threads])
        return {group: _gathered(group, threads, shards.get(group), memory_cap) for group in sorted(seen)}


def _gathered(group: str, threads: Sequence[GroupTables], shards: Shards | None, memory_cap: int) -> Columns:
    """Add up the tables of a group and the shards it was spilled to; the tables are given up."""
    tables = [table for thread in threads for table in thread.taken(group)]
    if shards is None and (len(tables) == 1 or 3 * sum(table.nbytes for table in tables) <= memory_cap):
        return merge_tables(tables)
    with nullcontext(shards) if shards is not None else Shards() as spilled:
        while tables:
            spilled.add(tables.pop())
        return spilled.merged(max(memory_cap // 4, SMALLEST_TABLE))


def _counting_threads(pattern: str, workers: int | None, memory_cap: int) -> int:
    if isinstance(memory_cap, bool) or not isinstance(memory_cap, Integral):
        raise SettingError("memory_cap", memory_cap, "is not a whole number of bytes")
    if memory_cap < 1:
        raise SettingError("memory_cap", memory_cap, "must be at least 1")
    if scanner_kind(pattern) is None:
        workers = 1  # building str objects holds the GIL: threads would only wait for each other
    return thread_count(workers)


def normalizer(normalization: str | None) -> Callable[[str], str]:
    """Make the function that brings text to a Unicode normalization form; identity for None."""
    if check_normalization(normalization) is None:
        return lambda text: text
    form = cast(Literal["NFC", "NFD", "NFKC", "NFKD"], str(normalization).upper())
    return lambda text: unicodedata.normalize(form, text)


def block_counter(
    pattern: str, normalization: str | None, special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS
) -> Callable[[TokenTable, Block], None]:
    """Make the function that adds the pre-tokens of a block to a table; texts are cut at special tokens."""
    normalize, tokens = normalizer(normalization), [token.encode() for token in special_tokens]
    kind = scanner_kind(pattern)
    if kind is None:
        compiled(pattern)  # a bad pattern is reported before anything is read
        return _matching_counter(pattern, normalize, tokens)
    known = kind
    classes_of(kind)  # made before the threads start, or each would make its own

    def scanned(table: TokenTable, block: Block) -> None:
        block.check()
        block = cut_at(block, tokens)
        if normalization is not None:
            block = arrow_block(arrow_strings([normalize(text) for text in _texts(block)]), block.where)
        table.count_texts(block.data, block.offsets, known)

    return scanned


def _matching_counter(
    pattern: str, normalize: Callable[[str], str], tokens: Sequence[bytes]
) -> Callable[[TokenTable, Block], None]:
    def matched(table: TokenTable, block: Block) -> None:
        block.check()
        block = cut_at(block, tokens)
        totals: Counter[str] = Counter()
        for text in _texts(block):
            totals.update(split(normalize(text), pattern))
        words = arrow_strings(list(totals))
        table.count_words(*flat_utf8(words), np.fromiter(totals.values(), np.int64, len(totals)))

    return matched


def _texts(block: Block) -> Iterator[str]:
    return map(block.document, range(len(block)))
