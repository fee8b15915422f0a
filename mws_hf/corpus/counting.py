"""Count the pre-tokens of a source: files or texts that Python holds, of no group, of named groups, or by a column.

A byte of text is read and counted once, however many groups there are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from mws_hf.corpus.block_counts import MEMORY_CAP, count_blocks
from mws_hf.corpus.blocks import Block, arrow_block
from mws_hf.corpus.columns import arrow_strings, checked_strings
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.files import PathLike, Reading, expand_paths, progress_bar
from mws_hf.corpus.groups import UNNAMED, GroupedCounts
from mws_hf.corpus.sources import Source
from mws_hf.errors import MwSError
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
