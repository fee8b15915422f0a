"""Count the pre-tokens of files and of texts in memory, by language group if there are several.

One loop counts everything, including saved counts, word lists and lexicons. Several threads share the blocks of text
and add their pre-tokens to tables, within a memory cap. Each byte of text is read and counted once, however many groups
there are. Named split patterns are run by the scanner (`kernels.scanner`), which splits as the Rust library does. Any
other pattern is run by the `regex` module, which is about ten times slower and uses one thread.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from typing import Any, TypedDict, Unpack

import numpy as np
import pyarrow as pa

from mws_hf.corpus.arrow_arrays import arrow_strings, flat_utf8
from mws_hf.corpus.blocks import Block, Columns
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.counts_file import CountsFile, check_total
from mws_hf.corpus.files import PathLike, Reading, expand_paths, progress_bar
from mws_hf.corpus.groups import MAX_GROUPS, UNNAMED, check_all_or_none
from mws_hf.corpus.sharing import share_out
from mws_hf.corpus.sources import Source
from mws_hf.corpus.splitter import Splitter
from mws_hf.corpus.token_table import MEMORY_CAP, SMALLEST_TABLE, Shards, TokenTable, merge_tables
from mws_hf.errors import MwSError, check_count
from mws_hf.kernels.threads import thread_count

_ROWS = 1 << 15  # rows of a batch that is read from a file of counts


class CountOptions(TypedDict, total=False):
    """Options of `count_files`, `count_documents` and all other functions that count text.

    Attributes:
        pattern: the split pattern.
        normalization: Unicode normalization before splitting: None, "nfc", "nfd", "nfkc" or "nfkd". "capitals", or
            "nfc+capitals" and so on, also writes the marker of a training with ``capitals="marker"``.
        special_tokens: tokens at which texts are split, so that no part of one is counted. (A token that contains a
            line end can be missed if a text file is divided there, which is possible every half megabyte.)
        workers: number of threads. None takes the number from the environment variable MWS_NUM_THREADS or
            OMP_NUM_THREADS if one is set, otherwise one thread per processor.
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
    """Count the pre-tokens of files.

    The result is the same for any number of workers and any memory cap. A text file is one document (`corpus.blocks`
    explains how it is divided without changing a count). Each JSON-lines record and each row of a table is a document.
    With a pattern that the scanner does not support, each line of a text file is a document.

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
        MwSError: a file is missing, unreadable or of the wrong kind, or contains bytes that are not text; the message
            contains file and line.

    >>> import tempfile
    >>> file = os.path.join(tempfile.mkdtemp(), "text.txt")
    >>> with open(file, "w", encoding="utf-8") as stream:
    ...     _ = stream.write("кот и кот")
    >>> list(count_files(file).items())
    [(' и', 1), (' кот', 1), ('кот', 1)]
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

    Returns:
        The number of times each pre-token occurs.

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
    """Count the pre-tokens of any source that `MwSTrainer.train` accepts, by group if it has groups.

    Args:
        given: files or texts, or a dict of these by group, as `Source.of` describes them.
        column: as in `count_files`.
        group_column: the column of tables and datasets that contains the group of each row.
        encoding: as in `count_files`.
        errors: as in `count_files`.
        **options: the options of `CountOptions`, and `length`, the number of documents for the progress bar.

    Returns:
        The number of times each pre-token occurs, by group.

    Raises:
        MwSError: an input is missing, unreadable or not text, or strings could be file names or texts.

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
    """Count the pre-tokens of a source by group.

    Args:
        source: everything to count.
        splitter: splits text into pre-tokens.
        length: number of documents, which is used only for the progress bar.
        workers: as in `CountOptions`.
        memory_cap: as in `CountOptions`.
        show_progress: as in `CountOptions`.

    Returns:
        The number of times each pre-token occurs, by group.

    Raises:
        MwSError: `length` is not a whole number, an input cannot be read, or saved counts were made with a different
            splitter.
    """
    if length is not None:
        check_count("length", length, least=0)
    source.check_splitter(splitter)
    if (counted := source.only_counted(splitter)) is not None:
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

    Returns:
        The sum, as it is in the file.

    Raises:
        MwSError: there is no file, a file is unreadable, the files were counted with different settings, or the output
            cannot be written.
    """
    check_count("min_count", min_count)
    files = [CountsFile.open(path) for path in paths]
    if not files:
        raise MwSError("no files of counts are given; give at least one")
    first = files[0]
    for file in files:
        if not file.splitter.agrees(first.splitter):
            raise MwSError(
                f"{file.path}: counted with {file.splitter}, but {first.path} with {first.splitter}; count again with "
                "the same settings"
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


class GroupTables(dict[str, TokenTable]):
    """The tables of one thread by group; if they need more than their share of memory, all of them are moved to disk.

    Args:
        max_bytes: maximum size of a table without groups, in bytes; tables of groups may take half of it in all.
        spill: called with a group and its table to move it to disk; the table is emptied afterwards.
        text_bytes: the approximate size of the text, for the first size of a table.
    """

    def __init__(self, max_bytes: int, spill: Callable[[str, TokenTable], None], text_bytes: int = 0) -> None:
        super().__init__()
        self._max_bytes, self._spill, self._text_bytes = max_bytes, spill, text_bytes

    def table(self, group: str) -> TokenTable:
        """Return the table of a group; other tables are moved to disk if memory is short."""
        max_bytes = self._max_bytes if group == UNNAMED else self._max_bytes // 2
        if group not in self:
            self[group] = TokenTable(max_bytes, partial(self._spill, group), self._text_bytes)
        if group != UNNAMED and sum(each.nbytes for each in self.values()) > max_bytes:
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
        sources: iterators over blocks and counts, several of which are read at the same time.
        groups: groups that the result has, even if they have no words.
        splitter: splits text into pre-tokens.
        workers: number of threads, as in `CountOptions`.
        memory_cap: bytes above which tables are moved to a temporary folder.
        text_bytes: approximate size of all text.
        min_count: words that are rarer may be left out if there is only one group.

    Raises:
        MwSError: a block is not UTF-8, there are no groups or too many, only some words have a group, or `memory_cap`
            or `workers` is not a whole number of at least 1.
    """
    check_count("memory_cap", memory_cap)
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
            if len(seen) > MAX_GROUPS:
                raise MwSError(
                    f"there are more than {MAX_GROUPS} groups, such as {group!r}; give a column of groups that has "
                    "fewer different values"
                )
            if isinstance(part, Block):
                count_block(tables.table(group), part)
            else:
                tables.table(group).count_words(*flat_utf8(part[0]), part[1])

        max_bytes = max(memory_cap // workers, SMALLEST_TABLE)
        threads = [GroupTables(max_bytes, spill, text_bytes // workers) for _ in range(workers)]
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
