"""One reader for counting and encoding: files of every kind, or the values of Python users, as strings of documents.

Plain text files become blocks of bytes in `corpus.blocks`, because a document may be a line or a file there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from mws_hf.corpus.columns import (
    arrow_strings,
    check_column,
    checked_strings,
    is_text,
    load_folder,
    read_column,
    refuse_splits,
)
from mws_hf.corpus.files import (
    COMPRESSED,
    DEFAULT_COLUMN,
    KINDS,
    PLAIN,
    TEXT,
    PathLike,
    Reading,
    expand_paths,
    names_file,
)
from mws_hf.corpus.readers import no_place, read_jsonl, read_lines
from mws_hf.errors import MwSError
from mws_hf.text.alphabets import check_unicode

BATCH = 1 << 19
_LOOKED_AT = 100  # elements of a list that say whether it names files
_SHOWN = 60


def input_files(source: Any, texts_call: str) -> list[str] | None:
    """Return the files that `source` names, or None if it holds documents.

    A str or path is a file, glob or "-". A list or tuple of paths, or of strings of which one of the first hundred
    names a file, is files, and all must exist. A list of strings is texts if one of them has a space and none looks
    like a file name. Everything else (iterators, datasets, tables, lists of lists) is documents.

    Args:
        source: the value that the user gave.
        texts_call: the call that takes texts beyond doubt, for the error.

    Raises:
        MwSError: a file does not exist, or strings could be files or texts.

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
    known = Path(name).suffix.lower() in (*TEXT, *KINDS, *COMPRESSED)
    return known or (os.sep in name and len(name.split()) == 1)


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def check_files(names: Sequence[str], how: Reading = PLAIN) -> None:
    """Find faults of input files before any work, as far as they can be known.

    Raises:
        MwSError: a kind of file that is not read, a file that may not be read, a file without that column (of JSON
            lines the first is looked at), a dataset of several splits, a column named where no file has any.
    """
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

    `advance` is called with the number of bytes taken from the file as stored, and
    where documents come one by one an array has `size` characters at least.

    Raises:
        MwSError: a file is unreadable or of the wrong kind; the message names file and line or row.
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
    """Read documents of many files in order: lines of text, each with its line end, or strings as from `read_strings`.

    Raises:
        MwSError: a file is missing, unreadable or of the wrong kind; the message names file and line or row.
    """
    for name in expand_paths(paths):
        if how.kind(name) == "text":
            yield from read_lines(name, how)
        else:
            for batch in read_strings(name, how):
                yield from batch.to_pylist()


def iterate_documents(source: Any, column: str | None = None) -> Iterator[str]:
    """Yield documents from the values that Python users hold; a missing value (None, NaN) is an empty text.

    Args:
        source: an iterable of str, of batches (lists) of str or, with `column`, of records (dicts); a `datasets`
            Dataset, IterableDataset or a dict with one of them; a pandas Series or DataFrame; a pyarrow array,
            ChunkedArray, Table or RecordBatch.
        column: the text column of a dataset, DataFrame, table or record; None: ``text``.

    Raises:
        MwSError: a bare string or path, counts, no such column, a column named for a source that has none, several
            splits, an element that is no text.

    >>> list(iterate_documents(["раз", ["два", "три"]]))
    ['раз', 'два', 'три']
    """
    if isinstance(source, (str, bytes, os.PathLike)):
        raise MwSError("expected an iterable of texts, got one string; wrap it in a list, or count files by name")
    arrow = isinstance(source, (pa.Array, pa.ChunkedArray))
    if column is not None and (arrow or hasattr(source, "dtype")):
        raise MwSError(f"{type(source).__name__} is a single column; leave column={column!r} out")
    if arrow:
        yield from _arrow_documents(source)
    elif isinstance(source, Mapping):  # a DatasetDict is a dict of splits
        yield from iterate_documents(only_split(source), column)
    elif hasattr(source, "columns"):  # a DataFrame, an Arrow table: iterating over it gives columns
        yield from iterate_documents(source[_column_of(source, column)])
    elif hasattr(source, "column_names") or column is not None:
        yield from _guarded(_dataset_documents(source, column))
    else:
        yield from _guarded(_flat_documents(source))


def stream_shards(documents: Any, most: int) -> list[Any]:
    """Divide a `datasets` IterableDataset into up to so many streams of its shards, read side by side.

    Any other source is one stream.

    >>> stream_shards(["раз", "два"], 4)
    [['раз', 'два']]
    """
    n = 1 if hasattr(documents, "__len__") else min(most, getattr(documents, "num_shards", 1))
    return [documents] if n < 2 else [documents.shard(num_shards=n, index=k) for k in range(n)]


def _column_of(table: Any, column: str | None) -> str:
    names = [str(name) for name in getattr(table, "column_names", table.columns)]
    wanted = column or DEFAULT_COLUMN
    if wanted not in names:
        raise no_place(type(table).__name__, "column", column, names, "column=")
    return wanted


def _arrow_documents(values: Any) -> Iterator[str]:
    if not is_text(values.type):
        raise MwSError(f"pyarrow array: it holds {values.type}, not text")
    first = 1
    for chunk in values.chunks if isinstance(values, pa.ChunkedArray) else [values]:
        yield from checked_strings(chunk, "pyarrow array", first).to_pylist()
        first += len(chunk)


def only_split(splits: Mapping[Any, Any]) -> Any:
    """Return the one dataset in a dict of splits.

    Raises:
        MwSError: counts of words, or several splits: one of them may be the test set.

    >>> only_split({"train": ["раз"]})
    ['раз']
    """
    for name, split in splits.items():
        if isinstance(split, (str, bytes)) or not isinstance(split, Iterable):
            raise MwSError(
                f"a mapping with {type(split).__name__} under {name!r}: for counts of words call "
                "MwSTrainer.train_from_counts(mapping); for texts give a list of them"
            )
    if len(splits) != 1:
        here = ", ".join(map(str, splits)) or "none"
        raise MwSError(f"a dict of splits ({here}); give the one to read, such as dataset['train']")
    return next(iter(splits.values()))


def _guarded(documents: Iterator[str]) -> Iterator[str]:
    """Yield the same documents; bytes that a library cannot decode on the way become a MwSError."""
    number = 1
    try:
        for number, document in enumerate(documents, start=2):  # noqa: B007
            yield document
    except UnicodeDecodeError as error:
        raise MwSError(
            f"document {number} of the source cannot be decoded: byte {error.start} of it is not {error.encoding} "
            f"({error.reason}); mend the text where it is read"
        ) from error


def _dataset_documents(dataset: Any, column: str | None) -> Iterator[str]:
    names = getattr(dataset, "column_names", None)  # None too for a stream whose features are not known yet
    given, column = column, column or DEFAULT_COLUMN
    if names is not None and column not in names:
        raise no_place("dataset", "column", given, names, "column=")
    if names is not None and hasattr(dataset, "select_columns"):
        dataset = dataset.select_columns([column])  # leaves the other columns undecoded
    batches = dataset.iter(batch_size=1000) if hasattr(dataset, "iter") else _records(dataset, column)
    for number, batch in enumerate(batches):
        if column not in batch:
            raise no_place("dataset", "column", given, batch, "column=")
        for text in batch[column]:
            yield _text(text, f"dataset: batch {number}: column {column!r}")


def _records(source: Iterable[Any], column: str) -> Iterator[dict[str, list[Any]]]:
    for number, record in enumerate(source):
        if not isinstance(record, Mapping):
            what = type(record).__name__
            raise MwSError(f"element {number} is {what}, not a record; column={column!r} is for records and tables")
        yield {key: [value] for key, value in record.items()}


def _flat_documents(source: Any) -> Iterator[str]:
    if hasattr(source, "notna"):  # a pandas Series: its missing values are not None
        source = source.astype(object).where(source.notna(), None)
    if not isinstance(source, Iterable):
        raise MwSError(
            f"{type(source).__name__} holds no texts; give files, an iterable of texts, a dataset with column=, or "
            "call train_from_counts for word counts"
        )
    for number, item in enumerate(source):
        if isinstance(item, str):
            yield item
        elif isinstance(item, (list, tuple)):
            for text in item:
                yield _text(text, f"batch {number} of the iterator")
        elif isinstance(item, Mapping):
            if DEFAULT_COLUMN not in item:
                raise no_place(f"element {number} of the iterator", "field", None, item, "column=")
            yield _text(item[DEFAULT_COLUMN], f"element {number} of the iterator: field {DEFAULT_COLUMN!r}")
        elif item is None:
            yield ""
        else:
            hint = "; decode it first" if isinstance(item, bytes) else ""
            hint = "; give files as a list" if isinstance(item, os.PathLike) else hint
            raise MwSError(
                f"element {number} of the iterator is {type(item).__name__}; expected str or a list of str{hint}"
            )


def _text(value: object, where: str) -> str:
    if value is None or value != value:  # NaN
        return ""
    if not isinstance(value, str):
        raise MwSError(f"{where} holds {type(value).__name__}, not text")
    return value


def document_batches(documents: Iterable[str], name: str, size: int = BATCH) -> Iterator[pa.LargeStringArray]:
    """Put documents, each a str, into Arrow arrays of at least `size` characters; `name` tells errors their source.

    Raises:
        MwSError: a document holds a lone surrogate, which no UTF-8 text can.
    """
    batch: list[str] = []
    held, first = 0, 1
    for document in documents:
        batch.append(document)
        held += len(document)
        if held >= size:
            yield _as_arrow(batch, name, first)
            first, held, batch = first + len(batch), 0, []
    if batch:
        yield _as_arrow(batch, name, first)


def _as_arrow(batch: list[str], name: str, first: int) -> pa.LargeStringArray:
    try:
        return arrow_strings(batch)
    except UnicodeEncodeError:
        for number, document in enumerate(batch, start=first):
            check_unicode(document, f"{name}, document {number}")
        raise
