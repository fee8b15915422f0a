"""What Python users hold: iterators, lists, `datasets`, pandas and pyarrow objects, as documents. No files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from mws_hf.corpus.columns import checked_strings, is_text
from mws_hf.corpus.counts import arrow_strings
from mws_hf.corpus.readers import check_unicode
from mws_hf.errors import MwSError

BATCH = 1 << 19


def iterate_documents(source: Any, column: str | None = None) -> Iterator[str]:
    """Documents from what Python users hold; missing values (None, NaN) are passed over.

    Args:
        source: an iterable of str, of batches (lists) of str or, with `column`, of records (dicts); a `datasets`
            Dataset, IterableDataset or a dict of them (all splits); a pandas Series or DataFrame; a pyarrow array,
            ChunkedArray, Table or RecordBatch.
        column: the text column of a dataset, DataFrame, table or record.

    Raises:
        MwSError: a bare string or path, counts, no such column, an element that is no text.

    >>> list(iterate_documents(["раз", ["два", "три"]]))
    ['раз', 'два', 'три']
    """
    if isinstance(source, (str, bytes, os.PathLike)):
        raise MwSError("expected an iterable of texts, got one string; wrap it in a list, or count files by name")
    if isinstance(source, (pa.Array, pa.ChunkedArray)):
        yield from _arrow_documents(source)
    elif isinstance(source, Mapping):  # a DatasetDict is a dict of splits
        yield from _mapped_documents(source, column)
    elif hasattr(source, "columns"):  # a DataFrame, an Arrow table: iterating over it gives columns
        yield from iterate_documents(source[_column_of(source, column)])
    elif hasattr(source, "column_names") or (column is not None and not hasattr(source, "dtype")):
        yield from _guarded(_dataset_documents(source, column))
    else:
        yield from _guarded(_flat_documents(source))


def _column_of(table: Any, column: str | None) -> str:
    names = [str(name) for name in getattr(table, "column_names", table.columns)]
    if column is None or column not in names:
        wanted = "which column holds the text?" if column is None else f"no column {column!r};"
        raise MwSError(f"{type(table).__name__}: {wanted} columns here: {', '.join(names)} (choose with column=)")
    return column


def _arrow_documents(values: Any) -> Iterator[str]:
    if not is_text(values.type):
        raise MwSError(f"pyarrow array: it holds {values.type}, not text")
    first = 1
    for chunk in values.chunks if isinstance(values, pa.ChunkedArray) else [values]:
        yield from checked_strings(chunk, "pyarrow array", first).to_pylist()
        first += len(chunk)


def _mapped_documents(splits: Mapping[Any, Any], column: str | None) -> Iterator[str]:
    for name, split in splits.items():
        if isinstance(split, (str, bytes)) or not isinstance(split, Iterable):
            raise MwSError(
                f"a mapping with {type(split).__name__} under {name!r}: for counts of words call "
                "MwSTrainer.train_from_counts(mapping); for texts give a list of them"
            )
        yield from iterate_documents(split, column)


def _guarded(documents: Iterator[str]) -> Iterator[str]:
    """The same documents; bytes that a library cannot decode on the way become a MwSError."""
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
    if column is None or (names is not None and column not in names):
        wanted = "which column holds the text?" if column is None else f"no column {column!r};"
        raise MwSError(
            f"dataset: {wanted} columns here: {', '.join(names or ['not known before reading'])} (choose with column=)"
        )
    if names is not None and hasattr(dataset, "select_columns"):
        dataset = dataset.select_columns([column])  # leaves the other columns undecoded
    batches = dataset.iter(batch_size=1000) if hasattr(dataset, "iter") else _records(dataset, column)
    for number, batch in enumerate(batches):
        if column not in batch:
            raise MwSError(f"dataset: no column {column!r}; columns here: {', '.join(batch)}")
        for text in batch[column]:
            if text is not None:
                yield _text(text, f"dataset: batch {number}: column {column!r}")


def _records(source: Iterable[Any], column: str) -> Iterator[dict[str, list[Any]]]:
    for number, record in enumerate(source):
        if not isinstance(record, Mapping):
            what = type(record).__name__
            raise MwSError(f"element {number} is {what}, not a record; column={column!r} is for records and tables")
        yield {key: [value] for key, value in record.items()}


def _flat_documents(source: Iterable[object]) -> Iterator[str]:
    if hasattr(source, "dropna"):  # a pandas Series: its missing values are not None
        source = source.dropna()
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
        elif item is not None:
            hint = {"dict": "; name the field of records with column=", "bytes": "; decode it first"}.get(
                type(item).__name__, "; give files as a list" if isinstance(item, os.PathLike) else ""
            )
            raise MwSError(
                f"element {number} of the iterator is {type(item).__name__}; expected str or a list of str{hint}"
            )


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise MwSError(f"{where} holds {type(value).__name__}, not text")
    return value


def document_batches(documents: Iterable[str], name: str, size: int = BATCH) -> Iterator[pa.LargeStringArray]:
    """Documents, each a str, as Arrow arrays of at least `size` characters; `name` says in errors where they are from.

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


def load_folder(name: str) -> Any:
    """The dataset, or dict of them, that `save_to_disk` wrote to a folder.

    Raises:
        MwSError: the `datasets` library is missing, or cannot read the folder.
    """
    try:
        from datasets import load_from_disk
    except ImportError as error:
        raise MwSError(f"{name}: folders of datasets need: pip install 'mws-hf[datasets]'") from error
    try:
        return load_from_disk(name)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MwSError(f"{name}: not a folder that `save_to_disk` wrote, or a damaged one ({error})") from error
