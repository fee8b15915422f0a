"""Count the pre-tokens of files and of texts that Python holds, of no group, of named groups, or by a column of groups.

Every source comes as blocks, each of a group; `UNNAMED` is the group of text of no group in particular. A byte of text
is read and counted once, however many groups there are.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pyarrow as pa

from mws_hf.corpus.block_counts import MEMORY_CAP, GroupBlock, count_blocks
from mws_hf.corpus.blocks import Block, arrow_block, document_blocks, file_blocks
from mws_hf.corpus.columns import arrow_strings, checked_strings
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.files import STDIN, PathLike, Reading, expand_paths, progress_bar
from mws_hf.corpus.groups import UNNAMED, GroupedCounts, check_group_name
from mws_hf.corpus.inputs import (
    GroupBatch,
    check_files,
    file_group_batches,
    group_batches,
    input_files,
    iterate_documents,
    warn_of_repeated,
)
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
    names = expand_paths(paths)
    how = Reading(column, encoding, errors)
    check_files(names, how)
    lines = scanner_kind(pattern) is None
    with _byte_bar(names, show_progress) as advance:
        sources = [file_blocks(name, how, lines=lines, advance=advance) for name in names]
        return _ungrouped(
            sources, pattern=pattern, normalization=normalization, workers=workers, memory_cap=memory_cap,
            text_bytes=_size_of(names), special_tokens=special_tokens,
        )  # fmt: skip


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
    with _bar(show_progress, total=length, unit=" documents") as bar:
        advance = _locked(bar.update) if show_progress else None
        sources = [document_blocks(_advancing(iterate_documents(documents, column), advance))]
        return _ungrouped(
            sources, pattern=pattern, normalization=normalization, workers=workers, memory_cap=memory_cap,
            special_tokens=special_tokens,
        )  # fmt: skip


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


def _count(
    sources: Sequence[Iterator[GroupBlock]],
    *,
    pattern: str = DEFAULT_PATTERN,
    normalization: str | None = None,
    **options: Any,
) -> dict[str, WordCounts]:
    """Count blocks by group; `block_counts.count_blocks` has the other options."""
    found = count_blocks(sources, pattern, normalization, **options)
    result = {
        name: WordCounts.from_arrays(*found.pop(name), pattern=pattern, normalization=normalization, checked=True)
        for name in list(found)
    }
    pa.default_memory_pool().release_unused()
    return result


def _ungrouped(sources: Iterable[Iterator[Block]], **options: Any) -> WordCounts:
    """Count blocks of no group."""
    found = _count([((UNNAMED, block) for block in source) for source in sources], **options)
    if UNNAMED in found:
        return found[UNNAMED]
    return WordCounts.from_mapping({}, pattern=options["pattern"], normalization=options["normalization"])


_TEXTS = "train_from_iterator(texts)"


def count_source(
    source: Any,
    *,
    column: str | None = None,
    group_column: str | None = None,
    **options: Any,
) -> GroupedCounts:
    """Count any source that `MwSTrainer.train` takes: files or texts, of no group or by group.

    A dict goes from group to files or texts; with a `group_column` the source is tables or datasets. `count_files`
    describes the options, for texts `count_documents`.

    Raises:
        MwSError: a source that cannot be read, a bad name of a group, a group within a group.

    >>> found = count_source({"fin": ["talo ja talot"], "eng": ["a house", "a hut"]})
    >>> {name: counts.total for name, counts in found.items()}
    {'eng': 4, 'fin': 3}
    """
    if group_column is not None:
        names = input_files(source, "train({group: texts})")
        if names is not None:
            return count_group_column(names, column, group_column, **options)
        _only_for_files(options, source)
        counting = {name: value for name, value in options.items() if name not in ("length", "show_progress")}
        return _by_group([group_batches(source, column, group_column)], counting)
    grouped = _names_groups(source)
    for name, part in source.items() if grouped else ():
        if not isinstance(part, (str, os.PathLike)) and (isinstance(part, bytes) or not hasattr(part, "__iter__")):
            raise MwSError(
                f"a mapping with {type(part).__name__} under {name!r}: for counts of words call "
                "MwSTrainer.train_from_counts(mapping); for texts give a list of them"
            )
        check_group_name(name)
        if _names_groups(part):
            raise MwSError(f"group {name!r}: groups within a group; give files or texts of it")
    parts = source if grouped else {UNNAMED: source}
    files = {name: input_files(part, _TEXTS) for name, part in parts.items()}
    warn_of_repeated(name for found in files.values() for name in found or ())
    return GroupedCounts({name: _count_one(part, files[name], column, options) for name, part in parts.items()})


def _names_groups(source: Any) -> bool:
    """Return whether a source is a dict from group to source; a `DatasetDict` is one of splits."""
    return isinstance(source, Mapping) and not hasattr(source, "with_format")


def _count_one(source: Any, files: list[str] | None, column: str | None, options: dict[str, Any]) -> WordCounts:
    if files is not None:
        return count_files(files, column=column, **options)
    _only_for_files(options, source)
    return count_documents(source, column=column, **options)


def _only_for_files(options: Mapping[str, Any], source: Any) -> None:
    if only := sorted({"encoding", "errors"}.intersection(options)):
        raise MwSError(f"{', '.join(only)}: for files, but {type(source).__name__} holds texts")


def count_group_column(
    paths: Any,
    column: str | None,
    group_column: str,
    *,
    encoding: str = "utf-8",
    errors: str = "strict",
    show_progress: bool = False,
    **options: Any,
) -> GroupedCounts:
    """Count tables and datasets whose rows name their group in another column, in one pass.

    `count_files` describes the options; JSON lines are not read here.
    """
    names = expand_paths(paths)
    how = Reading(column, encoding, errors)
    check_files(names, how, group_column)
    with _byte_bar(names, show_progress) as advance:
        sources = [file_group_batches(name, group_column, how, advance) for name in names]
        return _by_group(sources, options)


def _by_group(sources: Sequence[Iterator[GroupBatch]], options: dict[str, Any]) -> GroupedCounts:
    def blocks(source: Iterator[GroupBatch]) -> Iterator[GroupBlock]:
        for group, texts in source:
            yield group, arrow_block(texts, partial(_group_place, group))

    found = _count(list(map(blocks, sources)), **options)
    if not found:
        raise MwSError("no row with text and a group; name the columns that hold them")
    return GroupedCounts(found)


def _group_place(group: str, _row: int) -> str:
    return f"a text of group {group!r}"


_bar = partial(progress_bar, desc="counting words")


def _size_of(names: Sequence[str]) -> int:
    return sum(os.path.getsize(name) for name in names if name != STDIN)


@contextmanager
def _byte_bar(names: Sequence[str], show: bool) -> Iterator[Callable[[int], None]]:
    """Show a bar of the bytes of files; yield the function that any thread tells of bytes taken."""
    with _bar(show, total=_size_of(names) or None, unit="B", unit_scale=True) as bar:
        yield _locked(bar.update)


def _locked(update: Callable[[int], Any]) -> Callable[[int], None]:
    lock = threading.Lock()

    def advance(taken: int) -> None:
        with lock:
            update(taken)

    return advance
