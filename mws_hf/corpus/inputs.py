"""One reader for counting and encoding: files of every kind as strings of documents, by group where a column says so.

Plain text files become blocks of bytes in `corpus.blocks`, because a document may be a line or a file there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from mws_hf.corpus.columns import check_column, load_folder, read_column, read_columns, refuse_splits
from mws_hf.corpus.files import (
    COMPRESSED,
    KINDS,
    PLAIN,
    TEXT,
    PathLike,
    Reading,
    expand_paths,
    file_kind,
    names_file,
)
from mws_hf.corpus.readers import read_jsonl, stored_lines
from mws_hf.corpus.records import BATCH, GroupBatch, by_group, document_batches, group_batches, iterate_documents
from mws_hf.errors import MwSError

_LOOKED_AT = 100  # elements of a list that say whether it names files
_SHOWN = 60


def input_files(source: Any, texts_call: str) -> list[str] | None:
    """Return the files that `source` names, or None if it holds documents.

    A str or path is a file, glob or "-". A list or tuple of paths, or of strings of which one of the first hundred
    names a file, is files, and all must exist. A list of strings is texts if one of them has a space and none looks
    like a file name. Everything else (iterators, datasets, tables, lists of lists) is documents.

    `texts_call` is the call that takes texts beyond doubt, for the error where strings could be files or texts.
    """
    if isinstance(source, str) and not names_file(source):
        raise MwSError(f"{_short(source)}: no such file, nor a glob that matches one; for texts call {texts_call}")
    if isinstance(source, (str, os.PathLike)):
        return expand_paths(source)
    if not isinstance(source, (list, tuple)):
        return None
    if not source:
        return expand_paths([])
    first = source[:_LOOKED_AT]
    if not all(isinstance(item, (str, os.PathLike)) for item in first):
        return None
    if any(isinstance(item, os.PathLike) or names_file(item) for item in first):
        if strange := next((item for item in source if not isinstance(item, (str, os.PathLike))), None):
            raise MwSError(f"a list of files with {type(strange).__name__} in it; give names alone")
        return expand_paths(source)
    if any(map(_like_a_path, first)) or not any(len(item.split()) > 1 for item in first):
        raise MwSError(
            f"a list of strings such as {_short(first[0])}: no file, and not surely texts; check the names, "
            f"or for texts call {texts_call}"
        )
    return None


def _like_a_path(name: str) -> bool:
    if "\n" in name:
        return False
    known = Path(name).suffix.lower() in (*TEXT, *KINDS, *COMPRESSED)
    return known or (os.sep in name and len(name.split()) == 1)


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def check_files(names: Sequence[str], how: Reading = PLAIN) -> None:
    """Find faults of input files before any work, as far as they can be known; of JSON lines one is looked at."""
    records_seen = False
    kinds = {name: how.kind(name) for name in names}
    if how.column is not None and all(kind == "text" for kind in kinds.values()):
        what = f"{names[0]}: plain text, which has no columns" if names else "nothing is given that has columns"
        raise MwSError(f"{what}; leave --column {how.column} out")
    for name, kind in kinds.items():
        if kind == "dataset":
            refuse_splits(name)
        if not os.path.isfile(name):
            continue
        if not os.access(name, os.R_OK):
            raise MwSError(f"{name}: cannot be read (Permission denied)")
        if kind in ("csv", "parquet", "arrow"):
            check_column(name, how.column, how)
        elif kind == "jsonl" and not records_seen:
            records_seen = next(read_jsonl(name, how), None) is not None


def read_strings(
    name: str, how: Reading, advance: Callable[[int], None] | None = None, size: int = BATCH
) -> Iterator[pa.LargeStringArray]:
    """Read the documents of a file of any kind but plain text: JSON-lines records, rows of tables and datasets.

    Where documents come one by one, an array has `size` characters at least.
    """
    kind = how.kind(name)
    if kind == "jsonl":
        yield from document_batches(read_jsonl(name, how, advance), name, size)
    elif kind == "dataset":
        try:
            yield from document_batches(iterate_documents(load_folder(name), how.column), name, size)
        except MwSError as error:
            raise error if str(error).startswith(name) else MwSError(f"{name}: {error}") from error
    else:
        yield from read_column(name, how, advance)


def read_documents(paths: PathLike | Sequence[PathLike], how: Reading = PLAIN) -> Iterator[str]:
    """Read documents of many files in order: lines of text, each with its line end, or those of `read_strings`."""
    for name in expand_paths(paths):
        if how.kind(name) == "text":
            yield from stored_lines(name, how)
        else:
            for batch in read_strings(name, how):
                yield from batch.to_pylist()


def file_group_batches(
    name: str, group_column: str, how: Reading, advance: Callable[[int], None] | None = None
) -> Iterator[GroupBatch]:
    """Read documents of a table (CSV, Parquet, Arrow) or of a `save_to_disk` folder, by group in each batch of rows."""
    if how.kind(name) == "dataset":
        yield from group_batches(load_folder(name), how.column, group_column, where=name)
        return
    first = 1
    for texts, groups in read_columns(name, [how.text_column, group_column], how, advance):
        yield from by_group(texts, groups, f"{name}, column {group_column!r}", first)
        first += len(texts)


def check_group_files(paths: PathLike | Sequence[PathLike]) -> list[str]:
    """Return the names of tables and datasets; raises MwSError for a file of another kind."""
    names = expand_paths(paths)
    for name in names:
        if name == "-" or file_kind(name) in ("text", "jsonl"):
            raise MwSError(
                f"{name}: a column of groups is for tables (.csv, .tsv, .parquet, .arrow) and datasets; give other "
                "files by group (group=FILE)"
            )
    return names
