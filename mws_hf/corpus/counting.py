"""Count the pre-tokens of a source: files or texts that Python holds, of no group, of named groups, or by a column.

All sources are counted in one loop, partitions of Spark too: blocks of text, each of a group, go into tables of
pre-tokens, in threads that share the blocks, within a memory cap. A byte of text is read and counted once, however many
groups there are. The named patterns go through the scanner (`kernels.scanner`), which agrees with the Rust backend. Any
other pattern goes through the `regex` module, about ten times slower and in one thread.
"""

from __future__ import annotations

import threading
import unicodedata
from collections import Counter, deque
from collections.abc import Callable, ItemsView, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from numbers import Integral
from typing import Any, Generic, Literal, TypeVar, cast

import numpy as np
import pyarrow as pa

from mws_hf.corpus.blocks import Block, GroupBlock, arrow_block, cut_at
from mws_hf.corpus.columns import Columns, arrow_strings, checked_strings, flat_utf8
from mws_hf.corpus.counts import WordCounts, check_normalization
from mws_hf.corpus.files import PathLike, Reading, expand_paths, progress_bar
from mws_hf.corpus.groups import MOST_GROUPS, UNNAMED, GroupedCounts
from mws_hf.corpus.sources import Source
from mws_hf.corpus.token_table import MEMORY_CAP, SMALLEST_TABLE, Shards, TokenTable, merge_tables
from mws_hf.errors import MwSError, SettingError
from mws_hf.kernels.threads import thread_count
from mws_hf.text.pattern import DEFAULT_PATTERN, compiled, split
from mws_hf.text.special import DEFAULT_SPECIAL_TOKENS
from mws_hf.text.unicode import classes_of, scanner_kind

T = TypeVar("T")


def count_files(
    paths: PathLike | Sequence[PathLike],
    *,
    pattern: str = DEFAULT_PATTERN,
    normalization: str | None = None,
    special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS,
    column: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    workers: int | None = None,
    memory_cap: int = MEMORY_CAP,
    show_progress: bool = False,
) -> WordCounts:
    """Count the pre-tokens of files; the result is the same for any number of workers and any memory cap.

    A text file is one document (see `corpus.blocks` for how it is cut up without changing a count); a JSON-lines record
    and a Parquet row are documents each. Under a pattern unknown to the scanner, a line of text is a document.

    Args:
        paths: names, globs, "-" for standard input; .txt (or any other name), .jsonl, .csv and .tsv, each also .gz,
            .bz2, .xz or .zst; .parquet, .arrow, folders of `datasets.Dataset.save_to_disk`.
        pattern: the split pattern.
        normalization: Unicode normalization before splitting: None, "nfc", "nfd", "nfkc" or "nfkd".
        special_tokens: the text is cut at these tokens, so that no part of one is counted. (One that holds a
            space can be missed where a text file is cut into blocks, every half megabyte.)
        column: the field of JSON-lines records, or column of tables, that holds the text; None: ``text``. With a name,
            standard input and files of unknown kinds are JSON lines.
        encoding: of text, JSON-lines and CSV files.
        errors: "strict", "replace" or "ignore" for bytes that are not text.
        workers: threads; all processors when None.
        memory_cap: bytes that the tables of counts may take (at least half a MiB a worker); beyond it they are spilled
            to a temporary folder and merged at the end. The distinct words of the result are in memory in any case.
        show_progress: a bar of bytes read, when stderr is a terminal.

    Raises:
        MwSError: an input is missing, unreadable or of the wrong kind, by file and line.
    """
    source = Source.of(expand_paths(paths), Reading(column, encoding, errors))
    return count(
        source, pattern=pattern, normalization=normalization, special_tokens=special_tokens, workers=workers,
        memory_cap=memory_cap, show_progress=show_progress,
    ).union  # fmt: skip


def count_documents(
    documents: Any,
    *,
    pattern: str = DEFAULT_PATTERN,
    normalization: str | None = None,
    special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS,
    column: str | None = None,
    length: int | None = None,
    workers: int | None = None,
    memory_cap: int = MEMORY_CAP,
    show_progress: bool = False,
) -> WordCounts:
    """Count the pre-tokens of documents, each cut on its own.

    Args:
        documents: an iterable of str or of lists of str, a table or `datasets` dataset with `column`, and more: see
            `values.iterate_documents`.
        pattern: the split pattern.
        normalization: Unicode normalization before splitting, or None.
        special_tokens: documents are cut at these tokens, so that none of their parts is counted.
        column: the text column of a table or dataset, or field of records; None: ``text``.
        length: number of documents, for the progress bar only.
        workers: threads; all processors when None.
        memory_cap: bytes that the tables of counts may take; see `count_files`.
        show_progress: a bar of documents, when stderr is a terminal.

    Raises:
        MwSError: a document is no text, or holds a lone surrogate.

    >>> list(count_documents(["кот и кот", [" и"]]).items())
    [(' и', 2), (' кот', 1), ('кот', 1)]
    """
    source = Source(values={UNNAMED: documents}, how=Reading(column))
    return count(
        source, pattern=pattern, normalization=normalization, special_tokens=special_tokens, workers=workers,
        memory_cap=memory_cap, show_progress=show_progress, length=length,
    ).union  # fmt: skip


def count_source(
    given: Any,
    *,
    column: str | None = None,
    group_column: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    **options: Any,
) -> GroupedCounts:
    """Count any source that `MwSTrainer.train` takes; `Source.of` has its kinds, `count` the options.

    >>> found = count_source({"fin": ["talo ja talot"], "eng": ["a house", "a hut"]})
    >>> {name: counts.total for name, counts in found.items()}
    {'eng': 4, 'fin': 3}
    """
    return count(Source.of(given, Reading(column, encoding, errors), group_column), **options)


def count(
    source: Source,
    *,
    pattern: str = DEFAULT_PATTERN,
    normalization: str | None = None,
    special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS,
    length: int | None = None,
    workers: int | None = None,
    memory_cap: int = MEMORY_CAP,
    show_progress: bool = False,
) -> GroupedCounts:
    """Count the pre-tokens of a source by group; `count_files` and `count_documents` describe the options.

    Raises:
        MwSError: an input that cannot be read, or no row with text and a group where a column names the groups.
    """
    shown: dict[str, Any] = {"total": length, "unit": " documents"}
    if source.files:
        shown = {"total": source.size, "unit": "B", "unit_scale": True}
    with progress_bar(show_progress, desc="counting words", **shown) as bar:
        streams = source.streams(lines=scanner_kind(pattern) is None, advance=_locked(bar.update))
        found = count_blocks(
            streams, pattern, normalization, workers, memory_cap, text_bytes=source.size or 0,
            special_tokens=special_tokens,
        )  # fmt: skip
    if not found and source.group_column is not None:
        raise MwSError("no row with text and a group; name the columns that hold them")
    cut: dict[str, Any] = {"pattern": pattern, "normalization": normalization}
    empty = {group: WordCounts.from_mapping({}, **cut) for group in source.groups if group not in found}
    full = {group: WordCounts.from_arrays(*found.pop(group), checked=True, **cut) for group in list(found)}
    pa.default_memory_pool().release_unused()
    return GroupedCounts({**full, **empty})


def _locked(update: Callable[[int], Any]) -> Callable[[int], None]:
    """Make a function that any thread may tell of what was taken."""
    lock = threading.Lock()

    def advance(taken: int) -> None:
        with lock:
            update(taken)

    return advance


def pretokens(
    strings: pa.LargeStringArray,
    *,
    pattern: str = DEFAULT_PATTERN,
    normalization: str | None = None,
    advance: Callable[[int], Any] | None = None,
) -> pa.LargeStringArray:
    """List the distinct pre-tokens of an Arrow large_string array without nulls, in order of appearance.

    `advance` is called now and then with the number of strings taken.
    """
    words = checked_strings(strings, "words")
    found = count_blocks([((UNNAMED, block) for block in _slices(words, advance))], pattern, normalization, 1)
    return found[UNNAMED][0] if found else arrow_strings([])


def _slices(strings: pa.LargeStringArray, advance: Callable[[int], Any] | None, size: int = 1 << 16) -> Iterator[Block]:
    for start in range(0, len(strings), size):
        part = strings.slice(start, size)
        yield arrow_block(part)
        if advance is not None:
            advance(len(part))


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
