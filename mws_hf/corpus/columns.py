"""Text in columns: of tables on disk (Parquet, Arrow, CSV), and of values in which Python users hold documents.

A table on disk is read as Arrow strings, checked to be valid UTF-8. `read_records` reads whatever else has columns, and
`iterate_documents` texts, batches of them, records, tables and datasets. Folders that `save_to_disk` of the `datasets`
library wrote name their files here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mws_hf.corpus.blocks import arrow_strings, is_text, valid_strings
from mws_hf.corpus.files import DEFAULT_COLUMN, PLAIN, PathLike, Reading, file_kind, open_binary
from mws_hf.corpus.groups import check_group_name
from mws_hf.corpus.readers import no_place, read_header, read_rows
from mws_hf.errors import MwSError, first_line
from mws_hf.text.symbols import check_unicode

_ROWS = 1000
"""Rows that are taken at once from tables and values; the blocks of an encoded corpus follow from it."""


def refuse_splits(folder: str) -> None:
    """Raise MwSError for a folder of several splits, of which one may be the test set; it names one to give."""
    file = Path(folder, "dataset_dict.json")
    try:
        names = json.loads(file.read_text(encoding="utf-8"))["splits"] if file.is_file() else []
    except (OSError, ValueError, KeyError, TypeError):
        return  # the `datasets` library says what is wrong with it
    if len(names) > 1:
        places = os.path.join(folder, str(names[0]))
        raise MwSError(f"{folder}: a dataset of {len(names)} splits ({', '.join(map(str, names))}); give one: {places}")


def load_folder(name: str) -> Any:
    """Load the dataset, or dict of one, that `save_to_disk` wrote to a folder."""
    refuse_splits(name)
    try:
        from datasets import load_from_disk
    except ImportError as error:
        raise MwSError(f"{name}: folders of datasets need: pip install datasets") from error
    try:
        return load_from_disk(name)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MwSError(
            f"{name}: not a folder that `save_to_disk` wrote, or a damaged one ({first_line(error)})"
        ) from error


def read_columns(
    name: PathLike, columns: Sequence[str | None], how: Reading, advance: Callable[[int], None] | None = None
) -> Iterator[tuple[pa.LargeStringArray, ...]]:
    """Read text columns of a Parquet, Arrow or CSV file row by row, nulls included, some thousand rows at a time.

    A column None is `DEFAULT_COLUMN`. An error names the row, the first being 1.
    """
    kind, first, names = file_kind(name), 1, [column or DEFAULT_COLUMN for column in columns]
    reach = _reacher(advance)
    if kind == "csv":
        batches = _csv_arrays(name, columns, how, advance)
    else:
        check_columns(name, columns, how)
        batches = (_parquet_arrays if kind == "parquet" else _ipc_arrays)(name, names, reach)
    try:
        for arrays in batches:
            for start in range(0, len(arrays[0]), _ROWS):
                parts = [array.slice(start, _ROWS) for array in arrays]
                yield tuple(
                    valid_strings(part, f"{name}, column {column!r}", first, how.errors)
                    for part, column in zip(parts, names, strict=True)
                )
                first += len(parts[0])
    except (OSError, pa.ArrowException) as error:
        raise MwSError(f"{name}: not a readable {_TITLES[kind]} file ({first_line(error)})") from error
    if kind != "csv":
        reach(os.path.getsize(name))


_TITLES = {"csv": "CSV", "parquet": "Parquet", "arrow": "Arrow"}


def _reacher(advance: Callable[[int], None] | None) -> Callable[[int], None]:
    """Make a function of the place reached in a file, which calls `advance` with the bytes since the place before."""
    last = 0

    def reach(place: int) -> None:
        nonlocal last
        if advance is not None and place > last:
            advance(place - last)
            last = place

    return reach


def check_columns(name: PathLike, columns: Sequence[str | None], how: Reading = PLAIN) -> None:
    """Raise MwSError unless a table has those columns, and they hold text; None is `DEFAULT_COLUMN`. Reads no rows."""
    kind = file_kind(name)
    if kind != "csv" and not os.path.isfile(name):
        raise MwSError(f"{name}: a pipe, which is read once, but a table is read in several places; give a file")
    try:
        with open_binary(name):  # where its first bytes are looked at
            pass
        if kind == "csv":
            check_names(name, columns, read_header(name, how))
            return
        elif kind == "parquet":
            from pyarrow import parquet as pq  # here, because few need it

            schema = pq.read_schema(name)
        else:
            with pa.OSFile(os.fspath(name)) as file:
                schema = _ipc_reader(file).schema
    except (OSError, pa.ArrowException) as error:
        raise MwSError(f"{name}: not a readable {_TITLES[kind]} file ({first_line(error)})") from error
    for column in columns:
        if column is None and b"mws_hf.word_counts" in (schema.metadata or {}):
            raise MwSError(f"{name}: saved word counts, not text; they are for `mws train` and train_from_counts(path)")
    for place, column in zip(check_names(name, columns, schema.names), columns, strict=True):
        if not is_text(schema.field(place).type):
            raise MwSError(f"{name}: column {column or DEFAULT_COLUMN!r} holds {schema.field(place).type}, not text")


def check_names(
    where: PathLike, columns: Sequence[str | None], names: Sequence[Any], option: str = "--column"
) -> list[int]:
    """Return the places of columns among names; raises MwSError where one is absent or there twice."""
    found = [[place for place, name in enumerate(names) if str(name) == (c or DEFAULT_COLUMN)] for c in columns]
    for column, places in zip(columns, found, strict=True):
        if not places:
            raise no_place(str(where), "column", column, names, option)
        if len(places) > 1:
            here = ", ".join(map(str, names))
            raise MwSError(
                f"{where}: more than one column {column or DEFAULT_COLUMN!r}; columns here: {here}; rename one"
            )
    return [place for (place,) in found]


def _parquet_arrays(name: PathLike, columns: list[str], reach: Callable[[int], None]) -> Iterator[tuple[pa.Array, ...]]:
    from pyarrow import parquet as pq

    with pq.ParquetFile(name) as file:
        size, rows = os.path.getsize(name), 0
        for batch in file.iter_batches(_ROWS, columns=columns):
            yield tuple(batch.column(column) for column in columns)
            rows += len(batch)
            reach(size * rows // max(1, file.metadata.num_rows))  # a row's share, for columns lie apart


def _ipc_reader(file: pa.NativeFile) -> Any:
    """Open a reader of the Arrow file format, or of the stream format, which `datasets` writes."""
    is_file = file.read(6) == b"ARROW1"
    file.seek(0)
    return pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)


def _ipc_arrays(name: PathLike, columns: list[str], reach: Callable[[int], None]) -> Iterator[tuple[pa.Array, ...]]:
    with pa.OSFile(os.fspath(name)) as file:
        reader = _ipc_reader(file)
        places = [reader.schema.get_field_index(column) for column in columns]
        if isinstance(reader, pa.ipc.RecordBatchFileReader):
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                yield tuple(batch.column(place) for place in places)
                reach(file.tell())
        else:
            for batch in reader:
                yield tuple(batch.column(place) for place in places)
                reach(file.tell())


def _csv_arrays(
    name: PathLike, columns: Sequence[str | None], how: Reading, advance: Callable[[int], None] | None
) -> Iterator[tuple[pa.Array, ...]]:
    rows = read_rows(name, how, advance)  # opened once, since it may be a pipe
    places = check_names(name, columns, next(rows, []))
    while batch := list(islice(rows, _ROWS)):
        yield tuple(arrow_strings([row[place] for row in batch]) for place in places)


GroupBatch = tuple[str, pa.LargeStringArray]
"""A group, and texts of it."""
BATCH = 1 << 19
_COLUMNS = ("columns", "column_names")  # attributes of what holds columns


def read_records(source: Any, columns: Sequence[str | None], where: str = "") -> Iterator[list[list[str | None]]]:
    """Read columns of a table, DataFrame, dataset, dict of one split or iterable of records, some rows at a time.

    A missing value is None. A column None is `DEFAULT_COLUMN`; `where` names the source in errors.

    >>> list(read_records([{"text": "раз", "n": 1}, {"text": None}], ["text"]))
    [[['раз', None]]]
    """
    where, first = where or type(source).__name__, 1
    for batch in _batches(source, columns, where):
        yield [
            [_text_of(value, f"{where}, row {row}: column {name or DEFAULT_COLUMN!r}") for row, value in rows]
            for name, rows in zip(columns, (enumerate(values, start=first) for values in batch), strict=True)
        ]
        first += len(batch[0])


def _batches(source: Any, columns: Sequence[str | None], where: str) -> Iterator[list[Sequence[Any]]]:
    """Yield the values of columns, some rows at a time."""
    if isinstance(source, Mapping):
        yield from _batches(only_split(source), columns, where)
    elif hasattr(source, "columns"):
        yield from _frame_batches(source, columns, where)
    elif hasattr(source, "iter"):  # a `datasets` Dataset or IterableDataset
        wanted = [name or DEFAULT_COLUMN for name in columns]
        if (known := getattr(source, "column_names", None)) is not None:  # as it is for a stream without features
            check_names(where, columns, known, "column=")
            source = source.select_columns(list(wanted))
        for batch in source.iter(batch_size=_ROWS):
            if not isinstance(batch, Mapping):  # it was given the format "arrow", "pandas" or "polars"
                yield from _frame_batches(batch, columns, where)
                continue
            check_names(where, columns, list(batch), "column=")
            yield [batch[name] for name in wanted]
    else:
        yield from _column_batches(source, columns, where)


def _frame_batches(frame: Any, columns: Sequence[str | None], where: str) -> Iterator[list[Sequence[Any]]]:
    """Yield the values of columns of an Arrow table or a DataFrame; a column is taken by its place, not its name."""
    if not hasattr(frame, "__len__"):
        raise MwSError(f"{where}: holds no rows yet; give the table that it computes, such as frame.collect()")
    names = list(getattr(frame, "column_names", frame.columns))
    places = check_names(where, columns, names, "column=")
    if isinstance(frame, (pa.Table, pa.RecordBatch)):
        held = [frame.column(place) for place in places]
    else:
        held = [frame.iloc[:, place] if hasattr(frame, "iloc") else frame[names[place]] for place in places]
    for start in range(0, len(frame), _ROWS):
        yield [_values(column, f"{where}, column {name!r}", start) for column, name in zip(held, columns, strict=True)]


def _values(column: Any, where: str, start: int) -> list[Any]:
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        part = column.slice(start, _ROWS)
        if not is_text(part.type):
            raise MwSError(f"{where}: it holds {part.type}, not text")
        whole = part.combine_chunks() if isinstance(part, pa.ChunkedArray) else part
        return valid_strings(whole, where, start + 1).to_pylist()
    return list(getattr(column, "iloc", column)[start : start + _ROWS])


def _column_batches(source: Any, columns: Sequence[str | None], where: str) -> Iterator[list[Sequence[Any]]]:
    if isinstance(source, (str, bytes)) or not isinstance(source, Iterable):
        raise MwSError(f"{type(source).__name__}: a column is for tables, datasets and records")
    wanted = [name or DEFAULT_COLUMN for name in columns]
    records = enumerate(source)
    while batch := list(islice(records, _ROWS)):
        for number, record in batch:
            if not isinstance(record, Mapping):
                what = type(record).__name__
                raise MwSError(f"element {number} is {what}, not a record; the column {wanted[-1]!r} is for tables")
            check_names(where, columns, list(record), "column=")
        yield [[record[name] for _, record in batch] for name in wanted]


def _text_of(value: Any, where: str) -> str | None:
    """Return a text, or None for a missing one: None, NaN, or the NA of pandas."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, float) and value != value or type(value).__name__ in ("NAType", "NaTType"):
        return None
    raise MwSError(f"{where} holds {type(value).__name__}, not text")


def group_batches(source: Any, column: str | None, group_column: str, where: str = "") -> Iterator[GroupBatch]:
    """Read the documents of a source with columns, by group in each batch of rows; one that is missing is left out."""
    where, first = where or type(source).__name__, 1
    for texts, groups in read_records(source, [column, group_column], where):
        for row, text in enumerate(texts, start=first):
            check_unicode(text or "", f"{where}, row {row}")
        yield from by_group(pa.array(texts, pa.large_string()), pa.array(groups, pa.large_string()), where, first)
        first += len(texts)


def by_group(texts: pa.LargeStringArray, groups: pa.LargeStringArray, where: str, first: int) -> Iterator[GroupBatch]:
    """Sort texts by group, groups by name; rows without a text are passed over."""
    kept = texts.is_valid()
    if len(lost := pc.indices_nonzero(pc.and_(kept, groups.is_null()))):
        row = first + lost[0].as_py()
        raise MwSError(f"{where}, row {row}: its group is missing; every row with text needs one")
    texts, groups = texts.filter(kept), groups.filter(kept)
    for name in sorted(groups.unique().to_pylist()):
        try:
            check_group_name(name)
        except MwSError as error:
            raise MwSError(f"{where}: {error}") from error
        yield name, texts.filter(pc.equal(groups, name))


def iterate_documents(source: Any, column: str | None = None) -> Iterator[str]:
    """Yield documents from the values that Python users hold; a missing value (None, NaN) is an empty text.

    A source is an iterable of str, of batches (lists) of str or of records; a `datasets` Dataset, IterableDataset or a
    dict with one of them; a pandas Series or DataFrame; a pyarrow array, ChunkedArray, Table or RecordBatch. `column`
    is the text column of records and of sources with columns; None: ``text``.

    >>> list(iterate_documents(["раз", ["два", "три"]]))
    ['раз', 'два', 'три']
    """
    if isinstance(source, (str, bytes, os.PathLike)):
        raise MwSError("expected an iterable of texts, got one string; wrap it in a list, or count files by name")
    arrow = isinstance(source, (pa.Array, pa.ChunkedArray))
    if column is not None and (arrow or hasattr(source, "dtype")):
        raise MwSError(f"{type(source).__name__} is a single column; leave column={column!r} out")
    if arrow:
        if not is_text(source.type):
            raise MwSError(f"pyarrow array: it holds {source.type}, not text")
        first = 1
        for chunk in source.chunks if isinstance(source, pa.ChunkedArray) else [source]:
            yield from valid_strings(chunk, "pyarrow array", first).fill_null("").to_pylist()
            first += len(chunk)
    elif column is not None or isinstance(source, Mapping) or any(hasattr(source, name) for name in _COLUMNS):
        texts = (text for (texts,) in read_records(source, [column]) for text in texts)
        yield from _guarded("" if text is None else text for text in texts)
    else:
        yield from _guarded(_flat_documents(source))


def only_split(splits: Mapping[Any, Any]) -> Any:
    """Return the one dataset in a dict of splits; of several one may be the test set."""
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
                yield _text_of(text, f"batch {number} of the iterator") or ""
        elif isinstance(item, Mapping):
            if DEFAULT_COLUMN not in item:
                raise no_place(f"element {number} of the iterator", "field", None, item, "column=")
            yield _text_of(item[DEFAULT_COLUMN], f"element {number} of the iterator: field {DEFAULT_COLUMN!r}") or ""
        elif item is None:
            yield ""
        else:
            hint = "; decode it first" if isinstance(item, bytes) else ""
            hint = "; give files as a list" if isinstance(item, os.PathLike) else hint
            raise MwSError(
                f"element {number} of the iterator is {type(item).__name__}; expected str or a list of str{hint}"
            )


def document_batches(documents: Iterable[str], name: str, size: int = BATCH) -> Iterator[pa.LargeStringArray]:
    """Put documents, each a str, into Arrow arrays of at least `size` characters; `name` tells errors their source."""
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
