"""Read texts that are in memory: tables, DataFrames, datasets, records, columns, and lists and batches of texts.

`read_records` reads columns of any value that has columns, and `iterate_documents` reads documents of any of these
values. `by_group` divides rows by a column that contains their groups, such as languages.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from numbers import Real
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mws_hf.corpus.arrow_arrays import arrow_strings, is_text, valid_strings
from mws_hf.corpus.blocks import BLOCK_BYTES
from mws_hf.corpus.files import DEFAULT_COLUMN
from mws_hf.corpus.groups import check_group_name
from mws_hf.corpus.place import Fault, about, within
from mws_hf.errors import MwSError
from mws_hf.text.valid_text import surrogate_problem

ROWS = 1000
"""The number of rows that are read at once from tables and values. The blocks of an encoded corpus depend on it."""
GroupBatch = tuple[str, pa.LargeStringArray]
"""The name of a group, and texts of the group."""
_COLUMNS = ("columns", "column_names")  # a table, a DataFrame or a dataset has one of these attributes


def no_column(kind: str, wanted: str | None, names: Iterable[object]) -> str:
    """Return the message for a missing column or field, with the names of those that exist.

    Args:
        kind: "column" or "field".
        wanted: the name that the user gave; None if the user gave none, and `DEFAULT_COLUMN` is missing.
        names: the existing names.
    """
    here = f"{kind}s here: {', '.join(map(str, names)) or 'none'}"
    if wanted is not None:
        return f"no {kind} {wanted!r}; {here}"
    choose = "choose one with --column, if the command has this option (column= in Python)"
    return f"which {kind} contains the text? {here}; {choose}, or rename it to {DEFAULT_COLUMN}"


def check_names(columns: Sequence[str | None], names: Sequence[Any]) -> list[int]:
    """Return the position of each column among the names of a table; None stands for `DEFAULT_COLUMN`.

    Raises:
        Fault: a column is missing or occurs twice.
    """
    found = [[place for place, name in enumerate(names) if str(name) == (c or DEFAULT_COLUMN)] for c in columns]
    for column, places in zip(columns, found, strict=True):
        if not places:
            raise Fault(no_column("column", column, names))
        if len(places) > 1:
            here = ", ".join(map(str, names))
            raise Fault(f"more than one column {column or DEFAULT_COLUMN!r}; columns here: {here}; rename one")
    return [place for (place,) in found]


def read_records(source: Any, columns: Sequence[str | None]) -> Iterator[list[list[str | None]]]:
    """Read columns of a table, DataFrame, dataset, dict of one split or iterable of records, some rows at a time.

    Args:
        source: the table or another value with columns.
        columns: the names of the columns; None stands for `DEFAULT_COLUMN`.

    Yields:
        A list of values for each column, in the order of `columns`; a missing value is None.

    Raises:
        Fault: a column is missing, or a value is not text; the row is counted from 1.
        MwSError: the source has no columns.

    >>> list(read_records([{"text": "раз", "n": 1}, {"text": None}], ["text"]))
    [[['раз', None]]]
    """
    first = 1
    for batch in _batches(source, columns):
        yield [_texts_of(values, name, first) for name, values in zip(columns, batch, strict=True)]
        first += len(batch[0])


def _texts_of(values: Sequence[Any], column: str | None, first: int) -> list[str | None]:
    """Return the texts of a column; raises `Fault` with the row of a value that is not text."""
    texts: list[str | None] = []
    try:
        texts.extend(map(text_of, values))
    except Fault as fault:
        problem = f"column {column or DEFAULT_COLUMN!r} {fault.problem}"
        raise Fault(problem, inside=f", row {first + len(texts)}") from fault
    return texts


def _batches(source: Any, columns: Sequence[str | None]) -> Iterator[list[Sequence[Any]]]:
    """Yield the values of columns, some rows at a time."""
    if isinstance(source, Mapping):
        yield from _batches(only_split(source), columns)
    elif hasattr(source, "columns"):
        yield from _frame_batches(source, columns)
    elif hasattr(source, "iter"):  # a `datasets` Dataset or IterableDataset
        wanted = [name or DEFAULT_COLUMN for name in columns]
        if (known := getattr(source, "column_names", None)) is not None:  # None for a stream without features
            check_names(columns, known)
            source = source.select_columns(list(wanted))
        for batch in source.iter(batch_size=ROWS):
            if not isinstance(batch, Mapping):  # it was given the format "arrow", "pandas" or "polars"
                yield from _frame_batches(batch, columns)
                continue
            check_names(columns, list(batch))
            yield [batch[name] for name in wanted]
    else:
        yield from _column_batches(source, columns)


def _frame_batches(frame: Any, columns: Sequence[str | None]) -> Iterator[list[Sequence[Any]]]:
    """Yield the values of columns of an Arrow table or a DataFrame; columns are found by position, not by name."""
    if not hasattr(frame, "__len__"):
        raise Fault("contains no rows yet; give the table that it computes, such as frame.collect()")
    names = list(getattr(frame, "column_names", frame.columns))
    places = check_names(columns, names)
    if isinstance(frame, (pa.Table, pa.RecordBatch)):
        found = [frame.column(place) for place in places]
    else:
        found = [frame.iloc[:, place] if hasattr(frame, "iloc") else frame[names[place]] for place in places]
    if any(type(column) is type(frame) for column in found):  # a relation of duckdb, for example, is a query
        raise Fault("is a query, not a table; give the table that it computes, such as relation.to_arrow_table()")
    for start in range(0, len(frame), ROWS):
        yield [_values(column, name, start) for column, name in zip(found, columns, strict=True)]


def _values(column: Any, name: str | None, start: int) -> list[Any]:
    """Return up to `ROWS` values of a column from row `start` on."""
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        part = column.slice(start, ROWS)
        if not is_text(part.type):
            raise Fault(f"it contains {part.type}, not text", inside=f", column {name or DEFAULT_COLUMN!r}")
        whole = part.combine_chunks() if isinstance(part, pa.ChunkedArray) else part
        with within(f", column {name or DEFAULT_COLUMN!r}"):
            return valid_strings(whole, start + 1).to_pylist()
    return list(getattr(column, "iloc", column)[start : start + ROWS])


def _column_batches(source: Any, columns: Sequence[str | None]) -> Iterator[list[Sequence[Any]]]:
    """Yield the values of columns of an iterable of records, some records at a time."""
    if isinstance(source, (str, bytes)) or not isinstance(source, Iterable):
        raise MwSError(
            f"{type(source).__name__} has no columns; give a table, a dataset or records, or leave column out"
        )
    wanted = [name or DEFAULT_COLUMN for name in columns]
    records = enumerate(source)
    while batch := list(islice(records, ROWS)):
        for number, record in batch:
            if not isinstance(record, Mapping):
                what = type(record).__name__
                raise MwSError(
                    f"element {number} is {what}, not a record, so it has no column {wanted[-1]!r}; give records such "
                    f"as {{{wanted[-1]!r}: ...}}, or leave column out"
                )
            check_names(columns, list(record))
        yield [[record[name] for _, record in batch] for name in wanted]


def text_of(value: Any) -> str | None:
    """Return a text, or None for a missing text (None, NaN, or the NA of pandas); raises `Fault` for other values."""
    if isinstance(value, str):
        return value
    if _is_missing(value):
        return None
    raise Fault(f"contains {type(value).__name__}, not text")


def _is_missing(value: Any) -> bool:
    """Return whether a value stands for a missing one: None, NaN, or the NA or NaT of pandas."""
    is_nan = isinstance(value, Real) and value != value  # of Python or numpy
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def group_batches(source: Any, column: str | None, group_column: str) -> Iterator[GroupBatch]:
    """Read the documents of a source with columns, sorted by group within each batch of rows.

    Rows without a text are left out.

    Raises:
        Fault: a column is missing, a value is not text, or a row with text has no group or an invalid one.
    """
    first = 1
    if isinstance(source, Mapping):
        source = only_split(source)
    names = _class_names(source, group_column)
    for values, labels in _batches(source, [column, group_column]):
        texts = _texts_of(values, column, first)
        groups = _texts_of([names.get(label, label) for label in labels] if names else labels, group_column, first)
        for row, text in enumerate(texts, start=first):
            if problem := surrogate_problem(text or ""):
                raise Fault(problem, inside=f", row {row}")
        yield from by_group(pa.array(texts, pa.large_string()), pa.array(groups, pa.large_string()), first)
        first += len(texts)


def _class_names(source: Any, column: str) -> dict[Any, str]:
    """Return the name of each number in a `ClassLabel` column of a `datasets` dataset; empty for any other column."""
    features = getattr(source, "features", None)
    feature = features.get(column) if isinstance(features, Mapping) else None
    return dict(enumerate(getattr(feature, "names", None) or ()))


def by_group(texts: pa.LargeStringArray, groups: pa.LargeStringArray, first: int = 1) -> Iterator[GroupBatch]:
    """Yield the texts of each group, groups sorted by name; rows without a text are left out.

    Args:
        texts: the texts.
        groups: the group of each text.
        first: the number of the first row, for errors.

    Raises:
        Fault: a row with text has no group, or one with a name that is not allowed.
    """
    kept = texts.is_valid()
    if len(lost := pc.indices_nonzero(pc.and_(kept, groups.is_null()))):
        raise Fault("its group is missing; every row with text needs one", inside=f", row {first + lost[0].as_py()}")
    texts, groups, rows = texts.filter(kept), groups.filter(kept), pc.indices_nonzero(kept)
    for name in sorted(groups.unique().to_pylist()):
        try:
            check_group_name(name)
        except MwSError as error:
            row = first + rows[pc.index(groups, name).as_py()].as_py()
            raise Fault(str(error), inside=f", row {row}") from error
        yield name, texts.filter(pc.equal(groups, name))


def iterate_documents(source: Any, column: str | None = None) -> Iterator[str]:
    """Yield the documents of a value in memory; a missing value (None, NaN) is an empty text.

    Args:
        source: an iterable of str, of batches (lists) of str or of records; a `datasets` Dataset, IterableDataset or a
            dict with one of them; a pandas Series or DataFrame; or a pyarrow array, ChunkedArray, Table or RecordBatch.
        column: the column of records and of sources with columns that contains the text; None for ``text``.

    Raises:
        MwSError: the source is a single string or path, has no such column, or contains something that is not text.

    >>> list(iterate_documents(["раз", ["два", "три"]]))
    ['раз', 'два', 'три']
    """
    if isinstance(source, (str, bytes, os.PathLike)):
        raise MwSError("expected an iterable of texts, got one string; wrap it in a list, or count files by name")
    if column is not None and (isinstance(source, (pa.Array, pa.ChunkedArray)) or hasattr(source, "dtype")):
        raise MwSError(f"{type(source).__name__} is a single column; leave column={column!r} out")
    with about(type(source).__name__):
        yield from documents_of(source, column)


def documents_of(source: Any, column: str | None) -> Iterator[str]:
    """Yield documents as `iterate_documents` does; a `Fault` does not name the source."""
    if isinstance(source, (pa.Array, pa.ChunkedArray)):
        if not is_text(source.type):
            raise Fault(f"it contains {source.type}, not text")
        first = 1
        for chunk in source.chunks if isinstance(source, pa.ChunkedArray) else [source]:
            yield from valid_strings(chunk, first).fill_null("").to_pylist()
            first += len(chunk)
    elif isinstance(source, Mapping):
        yield from documents_of(only_split(source), column)
    elif column is not None or any(hasattr(source, name) for name in _COLUMNS):
        texts = (text for (texts,) in read_records(source, [column]) for text in texts)
        yield from _guarded("" if text is None else text for text in texts)
    else:
        yield from _guarded(_flat_documents(source))


def only_split(splits: Mapping[Any, Any]) -> Any:
    """Return the only value of a dict of splits or columns; several are an error, because one may be the test set."""
    for name, split in splits.items():
        if isinstance(split, (str, bytes)) or not isinstance(split, Iterable):
            raise no_texts(name, split)
    if not splits:
        raise MwSError("an empty dict contains no texts; give texts, or a dict with one dataset or list of texts")
    if len(splits) > 1:
        one = next((name for name in ("train", DEFAULT_COLUMN) if name in splits), next(iter(splits)))
        here = ", ".join(map(str, splits))
        raise MwSError(f"a dict of several splits or columns ({here}); give the one to read, such as data[{one!r}]")
    return next(iter(splits.values()))


def no_texts(key: object, value: object) -> MwSError:
    """Return the error for a dict whose value under `key` can be neither texts nor a dataset, such as a count."""
    return MwSError(
        f"the dict has {type(value).__name__} under {key!r}, which contains no texts; for counts of words call "
        "MwSTrainer.train_from_counts(mapping), for texts give a list of them"
    )


def _guarded(documents: Iterator[str]) -> Iterator[str]:
    """Yield the same documents, and raise `Fault` if the source stops at bytes that it cannot decode."""
    number = 1
    try:
        for number, document in enumerate(documents, start=2):  # noqa: B007
            yield document
    except UnicodeDecodeError as error:
        raise Fault(
            f"document {number} of the source cannot be decoded: byte {error.start} of it is not {error.encoding} "
            f"({error.reason}); give the right encoding where the text is read"
        ) from error


def _flat_documents(source: Any) -> Iterator[str]:
    """Yield the documents of an iterable of texts, of batches of texts, or of records."""
    if not isinstance(source, Iterable) or getattr(source, "shape", None) == ():  # an array without a dimension
        raise MwSError(
            f"{type(source).__name__} is not text; give files, an iterable of texts, a dataset with column=, or "
            "call train_from_counts for word counts"
        )
    for number, item in enumerate(source):
        if isinstance(item, str):
            yield item
        elif isinstance(item, (list, tuple)):
            with about(f"batch {number} of the iterator"):
                for text in item:
                    yield text_of(text) or ""
        elif isinstance(item, Mapping):
            with about(f"element {number} of the iterator"):
                if DEFAULT_COLUMN not in item:
                    raise Fault(no_column("field", None, item))
                if not isinstance(value := item[DEFAULT_COLUMN], str) and isinstance(value, Iterable):
                    lists = f"(batch[{DEFAULT_COLUMN!r}] for batch in batches)"
                    raise Fault(f"its field {DEFAULT_COLUMN!r} contains several texts; give the lists: {lists}")
                yield text_of(value) or ""
        elif _is_missing(item):
            yield ""
        else:
            hint = "; decode it first" if isinstance(item, bytes) else ""
            hint = "; give files as a list" if isinstance(item, os.PathLike) else hint
            raise MwSError(
                f"element {number} of the iterator is {type(item).__name__}; expected str or a list of str{hint}"
            )


def document_batches(documents: Iterable[str], size: int = BLOCK_BYTES) -> Iterator[pa.LargeStringArray]:
    """Collect documents in Arrow arrays of at least `size` characters; only the last array may have fewer.

    Raises:
        Fault: a document contains a lone surrogate.
    """
    batch: list[str] = []
    collected, first = 0, 1
    for document in documents:
        batch.append(document)
        collected += len(document)
        if collected >= size:
            yield _as_arrow(batch, first)
            first, collected, batch = first + len(batch), 0, []
    if batch:
        yield _as_arrow(batch, first)


def _as_arrow(batch: list[str], first: int) -> pa.LargeStringArray:
    """Convert documents to an Arrow array; raises `Fault` with the number of one with a lone surrogate."""
    try:
        return arrow_strings(batch)
    except UnicodeEncodeError:
        for number, document in enumerate(batch, start=first):
            if problem := surrogate_problem(document):
                raise Fault(problem, inside=f", document {number}") from None
        raise
