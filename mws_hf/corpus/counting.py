"""Count the pre-tokens of files, of texts that Python holds, and of Arrow arrays, all of one group."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pyarrow as pa

from mws_hf.corpus.block_counts import MEMORY_CAP, Entries, count_blocks
from mws_hf.corpus.blocks import Block, arrow_block, document_blocks, file_blocks
from mws_hf.corpus.columns import arrow_strings, checked_strings
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.files import STDIN, PathLike, Reading, expand_paths
from mws_hf.corpus.groups import UNNAMED
from mws_hf.corpus.inputs import check_files, iterate_documents, stream_shards
from mws_hf.corpus.progress import progress_bar
from mws_hf.kernels.threads import thread_count
from mws_hf.text.pattern import DEFAULT_PATTERN
from mws_hf.text.special import DEFAULT_SPECIAL_TOKENS
from mws_hf.text.unicode import scanner_kind


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
    names = expand_paths(paths)
    how = Reading(column, encoding, errors)
    check_files(names, how)
    lines = scanner_kind(pattern) is None
    size = sum(os.path.getsize(name) for name in names if name != STDIN)
    with byte_bar(names) if show_progress else nullcontext() as advance:
        sources = [file_blocks(name, how, lines=lines, advance=advance) for name in names]
        return _count(sources, pattern, normalization, workers, memory_cap, size, special_tokens)


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
            `inputs.iterate_documents`.
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
    parts = stream_shards(documents, 1 if scanner_kind(pattern) is None else thread_count(workers))
    with _bar(total=length, unit=" documents") if show_progress else nullcontext() as bar:
        advance = None if bar is None else _locked(bar.update)
        sources = [document_blocks(_advancing(iterate_documents(part, column), advance)) for part in parts]
        return _count(sources, pattern, normalization, workers, memory_cap, 0, special_tokens)


def _advancing(documents: Iterator[str], advance: Callable[[int], None] | None) -> Iterator[str]:
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
    """List the distinct pre-tokens of an Arrow large_string array without nulls, in order of appearance.

    `advance` is called now and then with the number of strings taken.

    >>> pretokens(pa.array([" кот", " кое-кто"], pa.large_string())).to_pylist()
    [' кот', ' кое', '-кто']
    """
    words = checked_strings(strings, "words")
    return _entries([_slices(words, advance)], pattern, normalization, 1)[0]


def _slices(strings: pa.LargeStringArray, advance: Callable[[int], Any] | None, size: int = 1 << 16) -> Iterator[Block]:
    for start in range(0, len(strings), size):
        part = strings.slice(start, size)
        yield arrow_block(part)
        if advance is not None:
            advance(len(part))


def _count(
    sources: Sequence[Iterator[Block]],
    pattern: str,
    normalization: str | None,
    workers: int | None,
    memory_cap: int,
    text_bytes: int,
    special_tokens: Sequence[str],
) -> WordCounts:
    entries = _entries(sources, pattern, normalization, workers, memory_cap, text_bytes, special_tokens)
    result = WordCounts.from_arrays(*entries, pattern=pattern, normalization=normalization, checked=True)
    del entries
    pa.default_memory_pool().release_unused()
    return result


def _entries(sources: Sequence[Iterator[Block]], *options: Any) -> Entries:
    """Return the distinct pre-tokens of sources of one group, and their counts."""
    found = count_blocks([((UNNAMED, block) for block in source) for source in sources], *options)
    return found[UNNAMED] if found else (arrow_strings([]), np.empty(0, np.int64))


def _bar(**options: Any) -> Any:
    return progress_bar(True, desc="counting words", **options)


@contextmanager
def byte_bar(names: Sequence[str]) -> Iterator[Callable[[int], None]]:
    """Show a bar of the bytes of files; yield the function that any thread tells of bytes taken."""
    size = sum(os.path.getsize(name) for name in names if name != STDIN)
    with _bar(total=size or None, unit="B", unit_scale=True) as bar:
        yield _locked(bar.update)


def _locked(update: Callable[[int], Any]) -> Callable[[int], None]:
    lock = threading.Lock()

    def advance(taken: int) -> None:
        with lock:
            update(taken)

    return advance
