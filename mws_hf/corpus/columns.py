"""Text columns of tables (Parquet, Arrow, CSV) as Arrow strings, checked to be valid UTF-8; strings to and from bytes.

Arrow hands on bytes and offsets as a file has them; code that reads them without a check can crash.

Folders that `save_to_disk` of the `datasets` library wrote name their files here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mws_hf.corpus.files import DEFAULT_COLUMN, PLAIN, PathLike, Reading, file_kind, open_binary
from mws_hf.corpus.readers import decoding_error, no_place, read_header, read_rows
from mws_hf.errors import MwSError, first_line

Columns: TypeAlias = tuple[Any, npt.NDArray[np.int64]]
"""Distinct words, an Arrow array of large strings, and how often each occurs."""


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


_ROWS = 4096


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


def is_text(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of strings, or a dictionary of strings."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def valid_strings(array: pa.Array, where: str, first: int = 1, errors: str = "strict") -> pa.LargeStringArray:
    """Turn an array of text, whatever its bytes and offsets are, into valid large strings; nulls stay.

    `where` and `first`, the number of its first row, name places in errors.
    """
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        try:
            raw = _as_bytes(array)
            raw.validate(full=True)
        except pa.ArrowException:
            raise MwSError(f"{where}: the data is damaged ({first_line(error)})") from error
        array = pa.array([_decoded(row, where, first + k, errors) for k, row in enumerate(raw.to_pylist())])
    return array.cast(pa.large_string())


def _as_bytes(array: pa.Array) -> pa.Array:
    if isinstance(array, pa.DictionaryArray):
        values = _as_bytes(array.dictionary)
        values.validate(full=True)
        return pa.DictionaryArray.from_arrays(array.indices, values).dictionary_decode()
    if pa.types.is_string_view(array.type):
        return array.view(pa.binary_view())
    return array.view(pa.large_binary() if pa.types.is_large_string(array.type) else pa.binary())


def _decoded(row: bytes | None, where: str, number: int, errors: str) -> str | None:
    try:
        return None if row is None else row.decode("utf-8", errors)
    except UnicodeDecodeError as error:
        raise decoding_error(f"{where}, row {number}: byte {error.start}", "utf-8", error.reason) from error


def arrow_strings(texts: Sequence[str]) -> pa.LargeStringArray:
    """Make an Arrow array of strings; `pa.array` would import pandas where it is installed, 0.2 s in every process."""
    encoded = [text.encode() for text in texts]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
    data = pa.py_buffer(b"".join(encoded))
    return pa.LargeStringArray.from_buffers(len(encoded), pa.py_buffer(offsets), data)


def arrow_integers(values: npt.NDArray[Any]) -> pa.Array:
    """Make an Arrow array of numbers of one dimension, without a copy; `pa.array` would import pandas."""
    buffer = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, buffer])


def integers(array: pa.Array) -> npt.NDArray[Any]:
    """View an Arrow array without nulls as numbers of its own type; `to_numpy` would import pandas."""
    numbers = np.frombuffer(array.buffers()[1] or b"", str(array.type))
    return numbers[array.offset : array.offset + len(array)]


def flat_utf8(strings: pa.LargeStringArray) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """View an Arrow large_string array as (data uint8, offsets int64 of n + 1) without a copy."""
    _, offsets, data = strings.buffers()
    bounds = np.frombuffer(offsets, np.int64) if offsets is not None else np.zeros(1, np.int64)
    empty = np.zeros(0, np.uint8)
    return (
        empty if data is None else np.frombuffer(data, np.uint8),
        bounds[strings.offset : strings.offset + len(strings) + 1],
    )


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
