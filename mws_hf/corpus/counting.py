"""Text to counts of pre-tokens: files, iterators, Arrow arrays; in threads, within a memory cap.

The named patterns go through the scanner (`kernels.scanner`), which agrees with the Rust backend; any other pattern
goes through the `regex` module, about ten times slower and in one thread.
"""

from __future__ import annotations

import os
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from numbers import Integral
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from tqdm import tqdm

from mws_hf.corpus.blocks import Block, arrow_block, document_blocks, file_blocks
from mws_hf.corpus.columns import arrow_strings, checked_strings, flat_utf8
from mws_hf.corpus.counts import WordCounts, check_normalization
from mws_hf.corpus.files import STDIN, PathLike, Reading, column_named, expand_paths
from mws_hf.corpus.inputs import check_files, iterate_documents, stream_shards
from mws_hf.corpus.sharing import share_out
from mws_hf.corpus.token_table import Shards, TokenTable, merge_tables
from mws_hf.errors import MwSError
from mws_hf.kernels.scanner import classes_of, scanner_kind
from mws_hf.kernels.threads import thread_count
from mws_hf.pattern import DEFAULT_PATTERN, compiled, split

MEMORY_CAP = 2 << 30
SMALLEST_TABLE = 1 << 19  # below it spilling would cost more than it saves


def count_files(
    paths: PathLike | Sequence[PathLike],
    *,
    pattern: str = DEFAULT_PATTERN,
    normalization: str | None = None,
    column: str | None = None,
    field: str | None = None,
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
        column: the field of JSON-lines records, or column of tables, that holds the text; None: ``text``. With a name,
            standard input and files of unknown kinds are JSON lines.
        field: a synonym of `column`.
        encoding: of text, JSON-lines and CSV files.
        errors: "strict", "replace" or "ignore" for bytes that are not text.
        workers: threads; all processors when None.
        memory_cap: bytes that the tables of counts may take (at least half a MiB a worker); beyond it they are spilled
            to a temporary folder and merged at the end. The distinct words of the result are in memory in any case.
        show_progress: a bar of bytes read, when stderr is a terminal.

    Raises:
        MwSError: an input is missing, unreadable or of the wrong kind, by file and line.
    """
    names = expand_paths(paths)
    how = Reading(column_named(column, field), encoding, errors)
    check_files(names, how)
    lines = scanner_kind(pattern) is None
    size = sum(os.path.getsize(name) for name in names if name != STDIN)
    with byte_bar(names) if show_progress else nullcontext() as advance:
        sources = [file_blocks(name, how, lines=lines, advance=advance) for name in names]
        return _count(sources, pattern, normalization, workers, memory_cap, size)


def count_documents(
    documents: Any,
    *,
    pattern: str = DEFAULT_PATTERN,
    normalization: str | None = None,
    column: str | None = None,
    field: str | None = None,
    length: int | None = None,
    workers: int | None = None,
    memory_cap: int = MEMORY_CAP,
    show_progress: bool = False,
) -> WordCounts:
    """Count the pre-tokens of documents, each cut on its own.

    Args:
        documents: an iterable of str or of lists of str, a table or `datasets` dataset with `column`, and more: see
            `inputs.iterate_documents`.
        pattern: the split pattern.
        normalization: Unicode normalization before splitting, or None.
        column: the text column of a table or dataset, or field of records; None: ``text``.
        field: a synonym of `column`.
        length: number of documents, for the progress bar only.
        workers: threads; all processors when None.
        memory_cap: as in `count_files`.
        show_progress: a bar of documents, when stderr is a terminal.

    Raises:
        MwSError: something that is no text, or text with lone surrogates.

    >>> list(count_documents(["кот и кот", [" и"]]).items())
    [(' и', 2), (' кот', 1), ('кот', 1)]
    """
    column = column_named(column, field)
    parts = stream_shards(documents, 1 if scanner_kind(pattern) is None else thread_count(workers))
    with _bar(total=length, unit=" documents") if show_progress else nullcontext() as bar:
        advance = None if bar is None else _locked(bar.update)
        sources = [document_blocks(_told(iterate_documents(part, column), advance)) for part in parts]
        return _count(sources, pattern, normalization, workers, memory_cap)


def _told(documents: Iterator[str], advance: Callable[[int], None] | None) -> Iterator[str]:
    for document in documents:
        yield document
        if advance is not None:
            advance(1)


def pretokens(
    strings: pa.LargeStringArray,
    *,
    pattern: str = DEFAULT_PATTERN,
    normalization: str | None = None,
    advance: Callable[[int], Any] | None = None,
) -> pa.LargeStringArray:
    """The distinct pre-tokens of an Arrow large_string array without nulls, in order of appearance.

    `advance` is told how many strings were taken, now and then.

    >>> pretokens(pa.array([" кот", " кое-кто"], pa.large_string())).to_pylist()
    [' кот', ' кое', '-кто']
    """
    words = checked_strings(strings, "words")
    return _count_entries([_slices(words, advance)], pattern, normalization, 1, MEMORY_CAP)[0]


def _slices(strings: pa.LargeStringArray, advance: Callable[[int], Any] | None, size: int = 1 << 16) -> Iterator[Block]:
    for start in range(0, len(strings), size):
        part = strings.slice(start, size)
        yield arrow_block(part)
        if advance is not None:
            advance(len(part))


def normalizer(normalization: str | None) -> Callable[[str], str]:
    r"""The function that brings text to a Unicode normalization form; identity for None.

    >>> normalizer("nfc")("и\u0306") == "й"
    True
    """
    if check_normalization(normalization) is None:
        return lambda text: text
    form = cast(Literal["NFC", "NFD", "NFKC", "NFKD"], str(normalization).upper())
    return lambda text: unicodedata.normalize(form, text)


def _count(
    sources: Sequence[Iterator[Block]],
    pattern: str,
    normalization: str | None,
    workers: int | None,
    memory_cap: int,
    text_bytes: int = 0,
) -> WordCounts:
    entries = _count_entries(sources, pattern, normalization, workers, memory_cap, text_bytes)
    result = WordCounts.from_arrays(*entries, pattern=pattern, normalization=normalization, checked=True)
    del entries
    pa.default_memory_pool().release_unused()
    return result


def _count_entries(
    sources: Sequence[Iterator[Block]],
    pattern: str,
    normalization: str | None,
    workers: int | None,
    memory_cap: int,
    text_bytes: int = 0,
) -> tuple[pa.LargeStringArray, npt.NDArray[np.int64]]:
    """The distinct pre-tokens of all sources and their counts, in an order that depends on the threads."""
    count_block = block_counter(pattern, normalization)
    workers = counting_threads(pattern, workers, memory_cap)
    with Shards() as shards:
        most = max(memory_cap // workers, SMALLEST_TABLE)
        tables = [TokenTable(most, shards.add, text_bytes // workers) for _ in range(workers)]
        share_out(sources, [_adder(count_block, table) for table in tables])
        return gathered(tables, shards, memory_cap)


def counting_threads(pattern: str, workers: int | None, memory_cap: int) -> int:
    """How many threads count.

    Raises:
        MwSError: the memory cap is below 1.
    """
    if isinstance(memory_cap, bool) or not isinstance(memory_cap, Integral):
        raise MwSError(f"memory_cap={memory_cap!r}: not a whole number of bytes")
    if memory_cap < 1:
        raise MwSError(f"memory_cap={memory_cap}: must be at least 1")
    if scanner_kind(pattern) is None:
        workers = 1  # building str objects holds the GIL: threads would only wait for each other
    return thread_count(workers)


def gathered(
    tables: Sequence[TokenTable], shards: Shards, memory_cap: int
) -> tuple[pa.LargeStringArray, npt.NDArray[np.int64]]:
    """What tables, and the shards they were spilled to, hold together; the tables are of no use after it."""
    if len(shards) == 0 and (len(tables) == 1 or 3 * sum(table.nbytes for table in tables) <= memory_cap):
        return merge_tables(tables)
    for table in tables:
        shards.add(table)
        table.clear()
    return shards.merged(max(memory_cap // 4, SMALLEST_TABLE))


def _adder(count_block: Callable[[TokenTable, Block], None], table: TokenTable) -> Callable[[Block], None]:
    return lambda block: count_block(table, block)


def block_counter(pattern: str, normalization: str | None) -> Callable[[TokenTable, Block], None]:
    """The function that adds the pre-tokens of a block to a table."""
    normalize = normalizer(normalization)
    kind = scanner_kind(pattern)
    if kind is None:
        compiled(pattern)  # a bad pattern is reported before anything is read
        return _matching_counter(pattern, normalize)
    known = kind
    classes_of(kind)  # made before the threads start, or each would make its own

    def scanned(table: TokenTable, block: Block) -> None:
        block.check()
        if normalization is not None:
            block = arrow_block(arrow_strings([normalize(text) for text in _texts(block)]), block.where)
        table.count_texts(block.data, block.offsets, known)

    return scanned


def _matching_counter(pattern: str, normalize: Callable[[str], str]) -> Callable[[TokenTable, Block], None]:
    def matched(table: TokenTable, block: Block) -> None:
        block.check()
        totals: Counter[str] = Counter()
        for text in _texts(block):
            totals.update(split(normalize(text), pattern))
        words = arrow_strings(list(totals))
        table.count_words(*flat_utf8(words), np.fromiter(totals.values(), np.int64, len(totals)))

    return matched


def _texts(block: Block) -> Iterator[str]:
    return map(block.document, range(len(block)))


def _bar(**options: Any) -> Any:
    return tqdm(desc="counting words", disable=None, **options)  # None: silent unless stderr is a terminal


@contextmanager
def byte_bar(names: Sequence[str]) -> Iterator[Callable[[int], None]]:
    """A bar of the bytes of files: the function that tells it of some taken, by any thread."""
    size = sum(os.path.getsize(name) for name in names if name != STDIN)
    with _bar(total=size or None, unit="B", unit_scale=True) as bar:
        yield _locked(bar.update)


def _locked(update: Callable[[int], Any]) -> Callable[[int], None]:
    lock = threading.Lock()

    def advance(taken: int) -> None:
        with lock:
            update(taken)

    return advance
