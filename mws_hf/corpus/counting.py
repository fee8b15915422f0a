"""Count the pre-tokens of files and of texts in memory, by language group if there are several.

One loop counts everything, including saved counts, word lists and lexicons. Several threads share the blocks of text
and add them to tables of pre-tokens, within a memory cap. Each byte of text is read and counted once, however many
groups there are. Named split patterns are run by the scanner (`kernels.scanner`), which splits as the Rust library
does. Any other pattern is run by the `regex` module, which is about ten times slower and uses one thread.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from numbers import Integral
from typing import Any, Generic, TypedDict, TypeVar, Unpack

import numpy as np
import pyarrow as pa

from mws_hf.corpus.blocks import Block, Columns, arrow_strings, flat_utf8
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.counts_file import CountsFile, check_total
from mws_hf.corpus.files import PathLike, Reading, expand_paths, progress_bar
from mws_hf.corpus.groups import MOST_GROUPS, UNNAMED, check_all_or_none
from mws_hf.corpus.sources import Source
from mws_hf.corpus.splitter import Splitter
from mws_hf.corpus.token_table import MEMORY_CAP, SMALLEST_TABLE, Shards, TokenTable, merge_tables
from mws_hf.errors import MwSError, SettingError
from mws_hf.kernels.threads import thread_count

T = TypeVar("T")
_ROWS = 1 << 15  # of a batch that is read from a file of counts


class CountOptions(TypedDict, total=False):
    """Options of `count_files`, `count_documents` and all other functions that count text.

    Attributes:
        pattern: the split pattern.
        normalization: Unicode normalization before splitting: None, "nfc", "nfd", "nfkc" or "nfkd". "capitals", or
            "nfc+capitals" and so on, also writes the marker of a training with ``capitals="marker"``.
        special_tokens: tokens at which texts are split, so that no part of one is counted. (A token that contains a
            line end can be missed if a text file is divided there, which is possible every half megabyte.)
        workers: number of threads; None for all processors.
        memory_cap: bytes that the tables of counts may take (at least half a MiB per worker). Larger tables are moved
            to a temporary folder and merged at the end. The distinct words of the result must fit into memory in any
            case.
        show_progress: whether to show a progress bar of bytes or documents, if stderr is a terminal.
    """

    pattern: str
    normalization: str | None
    special_tokens: Sequence[str]
    workers: int | None
    memory_cap: int
    show_progress: bool


def count_files(
    paths: PathLike | Sequence[PathLike],
    *,
    column: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    **options: Unpack[CountOptions],
) -> WordCounts:
    """Count the pre-tokens of files; the result is the same for any number of workers and any memory cap.

    A text file is one document (`corpus.blocks` explains how it is divided without changing a count). Each JSON-lines
    record and each row of a table is a document. With a pattern that the scanner does not support, each line of a text
    file is a document.

    Args:
        paths: names, globs, or "-" for standard input. The files can be .txt (or have any other name), .jsonl, .csv and
            .tsv, each also with .gz, .bz2, .xz or .zst; .parquet, .arrow, or folders of
            `datasets.Dataset.save_to_disk`.
        column: the field of JSON-lines records, or the column of tables, that contains the text; None for ``text``. If
            it is given, standard input and files of unknown kinds are read as JSON lines.
        encoding: the encoding of text, JSON-lines and CSV files. If bytes do not fit it, the error proposes encodings
            that do. If many words mix scripts, a warning says that the encoding may be wrong.
        errors: "strict", "replace" or "ignore" for bytes that are not text.
        **options: the options of `CountOptions`.

    Returns:
        The number of times each pre-token occurs.

    Raises:
        MwSError: an input is missing, unreadable or of the wrong kind; the message contains file and line.
    """
    return _counted(Source.of(expand_paths(paths), Reading(column, encoding, errors)), **options)


def count_documents(
    documents: Any, *, column: str | None = None, length: int | None = None, **options: Unpack[CountOptions]
) -> WordCounts:
    """Count the pre-tokens of documents; each document is split separately.

    Args:
        documents: an iterable of str or of lists of str, a table, a `datasets` dataset, or another value that
            `columns.iterate_documents` describes.
        column: the column of a table or dataset, or the field of records, that contains the text; None for ``text``.
        length: number of documents, which is used only for the progress bar.
        **options: the options of `CountOptions`.

    Raises:
        MwSError: a document is not text, or contains a lone surrogate.

    >>> list(count_documents(["кот и кот", [" и"]]).items())
    [(' и', 2), (' кот', 1), ('кот', 1)]
    """
    return _counted(Source(values={UNNAMED: documents}, how=Reading(column)), length=length, **options)


def count_source(
    given: Any,
    *,
    column: str | None = None,
    group_column: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    **options: Any,
) -> WordCounts:
    """Count any source that `MwSTrainer.train` accepts; `Source.of` lists them, and `count` describes the options.

    >>> found = count_source({"fin": ["talo ja talot"], "eng": ["a house", "a hut"]})
    >>> {name: counts.total for name, counts in found.groups.items()}
    {'eng': 4, 'fin': 3}
    """
    return _counted(Source.of(given, Reading(column, encoding, errors), group_column), **options)


def _counted(source: Source, **options: Any) -> WordCounts:
    """Count a source with the options of `CountOptions`, some of which are those of the splitter."""
    names = ("pattern", "normalization", "special_tokens")
    return count(source, Splitter(**{name: options.pop(name) for name in names if name in options}), **options)


def count(
    source: Source,
    splitter: Splitter,
    *,
    length: int | None = None,
    workers: int | None = None,
    memory_cap: int = MEMORY_CAP,
    show_progress: bool = False,
) -> WordCounts:
    """Count the pre-tokens of a source by group; see `CountOptions` and `count_documents` for the arguments."""
    source.check_splitter(splitter)
    if (counted := source.counted_alone(splitter)) is not None:
        return counted
    shown: dict[str, Any] = {"total": length, "unit": " documents"}
    if source.files:
        shown = {"total": source.size, "unit": "B", "unit_scale": True}
    lock = threading.Lock()

    with progress_bar(show_progress, desc="counting words", **shown) as bar:

        def advance(taken: int) -> None:
            with lock:
                bar.update(taken)

        found = add_up(
            source.streams(splitter, advance), source.groups, splitter,
            workers if splitter.is_scanned else 1,  # creating str objects needs the GIL, so other threads would wait
            memory_cap, source.size or 0,
        )  # fmt: skip
    pa.default_memory_pool().release_unused()
    return found


def merge_files(
    paths: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    memory_cap: int = MEMORY_CAP,
    min_count: int = 1,
) -> WordCounts:
    """Add up files of saved counts, and write the sum to a file.

    The file is the same, byte for byte, as that of `WordCounts.merge` and `WordCounts.save`.

    Args:
        paths: files of counts, which are read in pieces.
        output: the file to write.
        memory_cap: bytes above which tables are moved to disk.
        min_count: words that occur less often in all groups together are left out of the sum.

    Raises:
        MwSError: a file is unreadable, or the files were counted with different settings.
    """
    files = [CountsFile.open(path) for path in paths]
    first = files[0]
    for file in files:
        if not file.splitter.agrees(first.splitter):
            raise MwSError(
                f"{file.path}: counted with {file.splitter}, but {first.path} with {first.splitter}; count again with "
                "one setting"
            )
        if (UNNAMED in file.totals) != (UNNAMED in first.totals):
            raise MwSError(
                f"{file.path}, {first.path}: only one of them has groups of words; count the other one with groups, too"
            )
    check_total(sum(sum(file.totals.values()) for file in files))

    counts = add_up(
        [file.batches(_ROWS) for file in files], {name for file in files for name in file.totals},
        first.splitter, None, memory_cap, min_count=min_count,
    ).at_least(min_count)  # fmt: skip
    counts.save(output, sorted({mark for file in files for mark in file.texts}))
    return counts


def share_out(sources: Iterable[Iterator[T]], tasks: Sequence[Callable[[T], None]]) -> None:
    """Call one of `tasks` with every item of `sources`; each task runs in a separate thread.

    An iterator is advanced by one thread at a time, but different iterators are advanced at the same time, so that
    reading overlaps with work. A new iterator is taken from `sources` only if none is waiting, and it is dropped after
    its last item. Therefore memory depends on the number of open iterators and not on the number of all iterators. The
    first error stops all threads.
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
    except BaseException as error:  # after Ctrl-C, do not wait long for a thread that is blocked on a pipe
        supply.stop(error)
        for thread in threads:
            thread.join(1)
    if supply.error is not None:
        raise supply.error


class _Supply(Generic[T]):
    """Distribute the items of several sources to threads, until none is left or an error occurs."""

    def __init__(self, sources: Iterable[Iterator[T]]) -> None:
        self._unopened, self._idle = iter(sources), deque[Iterator[T]]()
        self._busy, self._change = 0, threading.Condition()
        self.error: BaseException | None = None

    def stop(self, error: BaseException) -> None:
        with self._change:
            self.error = self.error or error
            self._change.notify_all()

    def feed(self, task: Callable[[T], None]) -> None:
        try:
            while (source := self._taken()) is not None:
                item = next(source, None)
                with self._change:
                    self._busy -= 1
                    if item is not None:
                        self._idle.appendleft(source)
                    self._change.notify_all()
                if item is not None:
                    task(item)
        except BaseException as error:
            self.stop(error)

    def _taken(self) -> Iterator[T] | None:
        with self._change:
            while self.error is None:
                source = self._idle.popleft() if self._idle else next(self._unopened, None)
                if source is not None:
                    self._busy += 1
                    return source
                if self._busy == 0:
                    return None
                self._change.wait()
            return None


class GroupTables(dict[str, TokenTable]):
    """The tables of one thread by group; if they need more than their share of memory, all of them are moved to disk.

    Args:
        most: the most bytes of a table without groups; tables of groups may take half as many in all.
        spill: called with a group and its table to move it to disk; the table is emptied afterwards.
        text_bytes: the approximate size of the text, for the first size of a table.
    """

    def __init__(self, most: int, spill: Callable[[str, TokenTable], None], text_bytes: int = 0) -> None:
        super().__init__()
        self._most, self._spill, self._text_bytes = most, spill, text_bytes

    def table(self, group: str) -> TokenTable:
        """Return the table of a group; other tables are moved to disk if memory is short."""
        most = self._most if group == UNNAMED else self._most // 2
        if group not in self:
            self[group] = TokenTable(most, partial(self._spill, group), self._text_bytes)
        if group != UNNAMED and sum(each.nbytes for each in self.values()) > most:
            for name, each in self.items():
                if len(each):
                    self._spill(name, each)
                    each.clear()
        return self[group]


def add_up(
    sources: Iterable[Iterator[tuple[str, Block | Columns]]],
    groups: Iterable[str],
    splitter: Splitter,
    workers: int | None,
    memory_cap: int,
    text_bytes: int = 0,
    min_count: int = 1,
) -> WordCounts:
    """Count blocks of text, add saved counts of words, and return the sums by group.

    Args:
        sources: blocks and counts, several of which are read at the same time.
        groups: groups that the result has, even if they have no words.
        splitter: splits text into pre-tokens.
        workers: number of threads; None for all processors.
        memory_cap: bytes above which tables are moved to a temporary folder.
        text_bytes: approximate size of all text.
        min_count: words that are rarer may be left out if there is only one group.
    """
    if isinstance(memory_cap, bool) or not isinstance(memory_cap, Integral):
        raise SettingError("memory_cap", memory_cap, "is not a whole number of bytes")
    if memory_cap < 1:
        raise SettingError("memory_cap", memory_cap, "must be at least 1")
    workers, count_block = thread_count(workers), splitter.counter()
    lock, shards, seen = threading.Lock(), dict[str, Shards](), set(groups)
    with ExitStack() as stack:

        def spill(group: str, table: TokenTable) -> None:
            with lock:
                if group not in shards:
                    shards[group] = stack.enter_context(Shards())
            shards[group].add(table)

        def add_item(tables: GroupTables, item: tuple[str, Block | Columns]) -> None:
            group, part = item
            seen.add(group)
            check_all_or_none(seen)
            if len(seen) > MOST_GROUPS:
                raise MwSError(
                    f"there are more than {MOST_GROUPS} groups, such as {group!r}; give a column of groups that has "
                    "fewer different values"
                )
            if isinstance(part, Block):
                count_block(tables.table(group), part)
            else:
                tables.table(group).count_words(*flat_utf8(part[0]), part[1])

        most = max(memory_cap // workers, SMALLEST_TABLE)
        threads = [GroupTables(most, spill, text_bytes // workers) for _ in range(workers)]
        share_out(sources, [partial(add_item, tables) for tables in threads])
        if not seen:
            raise MwSError("there is no row with text and a group; give the names of the columns that contain them")
        found = {}
        for group in sorted(seen):
            tables = [each.pop(group) for each in threads if group in each]
            words, counts = _gathered(tables, shards.get(group), memory_cap, min_count if len(seen) == 1 else 1)
            found[group] = WordCounts.of(words, counts, splitter)
    return WordCounts.from_groups(found)


def _gathered(tables: list[TokenTable], shards: Shards | None, memory_cap: int, min_count: int) -> Columns:
    """Add up the tables of a group and its shards on disk; the tables are emptied."""
    if not tables:
        return arrow_strings([]), np.zeros(0, np.int64)
    if shards is None and (len(tables) == 1 or 3 * sum(table.nbytes for table in tables) <= memory_cap):
        return merge_tables(tables)
    with nullcontext(shards) if shards is not None else Shards() as spilled:
        while tables:
            spilled.add(tables.pop())
        return spilled.merged(max(memory_cap // 4, SMALLEST_TABLE), min_count)
