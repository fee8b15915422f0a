"""One way in for counting and encoding: files of every kind, or Python objects, as Arrow strings of documents.

Plain text files alone are read by others, as blocks of bytes, because what a document is in them differs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from mws_hf.corpus.columns import check_column, read_column
from mws_hf.corpus.documents import BATCH, document_batches, iterate_documents, load_folder
from mws_hf.corpus.files import COMPRESSED, KINDS, STDIN, PathLike, expand_paths, file_kind, names_file
from mws_hf.corpus.readers import check_codec, read_jsonl, read_lines
from mws_hf.errors import MwSError

_LOOKED_AT = 100  # elements of a list that say whether it names files
_SHOWN = 60


def input_files(source: Any, texts_call: str) -> list[str] | None:
    """The files that `source` names, or None if it holds documents.

    A str or path is a file, glob or "-". A list or tuple of paths, or of strings of which one of the first hundred
    names a file, is files, and all must exist. A list of strings is texts if one of them has a space and none looks
    like a file name. Everything else (iterators, datasets, tables, lists of lists) is documents.

    Args:
        source: what the user gave.
        texts_call: how to give texts beyond doubt, for the error.

    Raises:
        MwSError: a file does not exist, or strings that could be either.

    >>> input_files(["раз два", "три"], "f(iter(texts))"), input_files("-", "")
    (None, ['-'])
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
    known = Path(name).suffix.lower() in (".txt", *KINDS, *COMPRESSED)
    return known or (os.sep in name and len(name.split()) == 1)


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def check_files(
    names: Sequence[str],
    *,
    field: str | None = None,
    column: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
) -> None:
    """Find out before any work what can be known of input files; arguments as `read_strings`.

    Raises:
        MwSError: an unknown encoding, a kind of file that is not read, a file that may not be read, one without that
            column, or, for the first JSON-lines file, that field.
    """
    check_codec(encoding, errors)
    records_seen = False
    for name in names:
        kind = "text" if name == STDIN else file_kind(name)
        if not os.path.isfile(name):
            continue
        if not os.access(name, os.R_OK):
            raise MwSError(f"{name}: cannot be read (Permission denied)")
        if kind in ("csv", "parquet", "arrow"):
            check_column(name, column, encoding=encoding, errors=errors)
        elif kind == "jsonl" and not records_seen:
            records_seen = next(read_jsonl(name, field, encoding=encoding, errors=errors), None) is not None


def read_strings(
    name: str,
    *,
    field: str | None = None,
    column: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    advance: Callable[[int], None] | None = None,
    size: int = BATCH,
) -> Iterator[pa.LargeStringArray]:
    """The documents of a file of any kind but plain text: JSON-lines records, rows of tables and datasets.

    Args:
        name: the file, or the folder of a dataset.
        field: the field of JSON-lines records that holds the text.
        column: the text column of tables and datasets.
        encoding: of JSON-lines and CSV files.
        errors: "strict", "replace" or "ignore" for bytes that are not text.
        advance: called with the number of bytes taken from the file as stored.
        size: characters an array has at least, where the documents come one by one.

    Raises:
        MwSError: anything unreadable or of the wrong kind, by file and line or row.
    """
    kind = file_kind(name)
    if kind == "jsonl":
        lines = read_jsonl(name, field, encoding=encoding, errors=errors, advance=advance)
        yield from document_batches(lines, name, size)
    elif kind == "dataset":
        try:
            yield from document_batches(iterate_documents(load_folder(name), column), name, size)
        except MwSError as error:
            raise error if str(error).startswith(name) else MwSError(f"{name}: {error}") from error
    else:
        yield from read_column(name, column, encoding=encoding, errors=errors, advance=advance)


def read_documents(
    paths: PathLike | Sequence[PathLike],
    *,
    field: str | None = None,
    column: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
) -> Iterator[str]:
    """Documents of many files in order: a line (with its line end) of text, or what `read_strings` gives.

    Raises:
        MwSError: anything missing, unreadable or of the wrong kind, by file and line or row.
    """
    for name in expand_paths(paths):
        if file_kind(name) == "text":
            yield from read_lines(name, encoding=encoding, errors=errors)
        else:
            for batch in read_strings(name, field=field, column=column, encoding=encoding, errors=errors):
                yield from batch.to_pylist()
