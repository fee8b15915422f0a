"""Documents from files, iterators and datasets, as str; nothing is cut into words here.

Line ends stay in the text exactly as they are, because they are part of what will be encoded.
"""

from __future__ import annotations

import contextlib
import glob
import gzip
import io
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from mws_hf.errors import MwSError

PathLike = str | os.PathLike[str]
STDIN = "-"
_KINDS = "text (any other name, .gz allowed), .jsonl (.gz allowed) with field=, .parquet with column="


def expand_paths(paths: PathLike | Sequence[PathLike]) -> list[str]:
    """Turn names and globs into file names, sorted within each glob; "-" stands for standard input.

    Raises:
        MwSError: nothing given, a file that does not exist, a glob without a match, a folder.

    >>> expand_paths("-")
    ['-']
    """
    names = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not names:
        raise MwSError("no input files given; name files, globs such as 'corpus/*.txt.gz', or - for standard input")
    return [file for name in names for file in _expand(os.fspath(name))]


def _expand(name: str) -> list[str]:
    if name == STDIN or os.path.isfile(name):
        return [name]
    if os.path.isdir(name):
        raise MwSError(f"{name}: a folder; give a glob of its files, such as '{os.path.join(name, '*.txt')}'")
    if os.path.exists(name):  # a named pipe or a device: readable, once
        return [name]
    found = sorted(f for f in glob.glob(name, recursive=True) if os.path.isfile(f))
    if not found:
        what = "no file matches this glob" if glob.has_magic(name) else "no such file"
        raise MwSError(f"{name}: {what}")
    return found


def file_kind(name: PathLike) -> str:
    """One of "text", "jsonl", "parquet", by the file name (a final .gz is ignored).

    >>> [file_kind(n) for n in ("a.txt.gz", "b.jsonl", "c.parquet", "-")]
    ['text', 'jsonl', 'parquet', 'text']
    """
    suffixes = [s.lower() for s in Path(name).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    last = suffixes[-1] if suffixes else ""
    if last in (".jsonl", ".ndjson"):
        return "jsonl"
    return "parquet" if last == ".parquet" else "text"


class _Metered(io.FileIO):
    """A file that reports how many bytes were taken from it."""

    def __init__(self, name: PathLike, advance: Callable[[int], None]) -> None:
        super().__init__(name, "rb")
        self._advance = advance

    def readinto(self, buffer: Any) -> int | None:
        taken = super().readinto(buffer)
        self._advance(taken or 0)
        return taken


@contextlib.contextmanager
def open_binary(name: PathLike, advance: Callable[[int], None] | None = None) -> Iterator[BinaryIO]:
    """Open a file, a gzip file (by its .gz ending), or standard input ("-") for reading bytes.

    Args:
        name: what to open.
        advance: called with the number of bytes taken from the file as stored (compressed ones of a .gz).

    Raises:
        MwSError: the file cannot be opened.
    """
    if name == STDIN:
        yield sys.stdin.buffer
        return
    try:
        raw = io.BufferedReader(io.FileIO(name, "rb") if advance is None else _Metered(name, advance), 1 << 18)
    except OSError as error:
        raise MwSError(f"{name}: cannot be read ({error.strerror})") from error
    with raw:
        if os.fspath(name).lower().endswith(".gz"):
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield cast(BinaryIO, unpacked)
        else:
            yield raw


def read_blocks(stream: BinaryIO, name: PathLike, size: int) -> Iterator[bytes]:
    """Bytes of `stream` in blocks of at most `size`; a broken gzip file gives a MwSError naming it."""
    try:
        while block := stream.read(size):
            yield block
    except (EOFError, OSError, zlib.error) as error:
        raise MwSError(f"{name}: cannot be read to its end ({error}); is it damaged, cut off, or not gzip?") from error


def decoding_error(name: PathLike, line: int, byte: int, encoding: str, reason: str) -> MwSError:
    """The error for bytes that are not text, with file, 1-based line and byte offset in the (unpacked) file."""
    return MwSError(
        f"{name}:{line}: byte {byte} is not {encoding} ({reason}); "
        "name the encoding (--encoding cp1251) or choose what to do with bad bytes (--errors replace or ignore)"
    )


def read_lines(
    name: PathLike,
    *,
    encoding: str = "utf-8",
    errors: str = "strict",
    advance: Callable[[int], None] | None = None,
) -> Iterator[str]:
    r"""Lines of a text file, each with its line end (``\n``, ``\r\n`` or ``\r`` only as it stands; cut after ``\n``).

    Args:
        name: a file, .gz or not, or "-".
        encoding: any codec of Python.
        errors: "strict", "replace" (U+FFFD) or "ignore".
        advance: called with the number of bytes taken from the file as stored.

    Raises:
        MwSError: the file cannot be read, or a byte is not of `encoding` (file, line and byte are named).
    """
    check_codec(encoding, errors)
    line = byte = 0
    with open_binary(name, advance) as stream:
        for block in _line_blocks(stream, name, encoding):
            try:
                text = block.decode(encoding, errors)
            except UnicodeDecodeError as error:
                at = line + block.count(b"\n", 0, error.start) + 1
                raise decoding_error(name, at, byte + error.start, encoding, error.reason) from error
            line += block.count(b"\n")
            byte += len(block)
            yield from io.StringIO(text, newline="\n")


def _line_blocks(stream: BinaryIO, name: PathLike, encoding: str, size: int = 1 << 20) -> Iterator[bytes]:
    """Blocks that end after a line feed; an encoding whose line feed is not one byte 0x0A is read whole."""
    if "\n".encode(encoding) != b"\n" or "a\n".encode(encoding) != "a".encode(encoding) + b"\n":
        yield b"".join(read_blocks(stream, name, size))
        return
    rest: list[bytes] = []
    for block in read_blocks(stream, name, size):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join([*rest, block[:cut]])
            rest = [block[cut:]]
        else:
            rest.append(block)
    if any(rest):
        yield b"".join(rest)


def check_codec(encoding: str, errors: str) -> None:
    """Raise MwSError unless Python knows the encoding and `errors` is strict, replace or ignore."""
    try:
        "".encode(encoding)
    except LookupError as error:
        raise MwSError(f"unknown encoding {encoding!r}; examples: utf-8, utf-16, cp1251, koi8-r, latin-1") from error
    if errors not in ("strict", "replace", "ignore"):
        raise MwSError(f"unknown way to treat bad bytes {errors!r}; choose strict, replace or ignore")


def read_jsonl(
    name: PathLike,
    field: str | None,
    *,
    encoding: str = "utf-8",
    errors: str = "strict",
    advance: Callable[[int], None] | None = None,
) -> Iterator[str]:
    """The string under `field` of each line of a JSON-lines file; blank lines and null values are passed over.

    Raises:
        MwSError: no field named, a line that is no JSON object, a field that is absent or no string (file:line).
    """
    for number, line in enumerate(read_lines(name, encoding=encoding, errors=errors, advance=advance), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise MwSError(f"{name}:{number}: not JSON ({error.msg} at column {error.colno})") from error
        except RecursionError:
            raise MwSError(f"{name}:{number}: not usable JSON (nested too deeply)") from None
        if not isinstance(record, dict):
            raise MwSError(f"{name}:{number}: a JSON {type(record).__name__}, not an object with a text field")
        if field is None or field not in record:
            wanted = "which field holds the text?" if field is None else f"no field {field!r};"
            raise MwSError(
                f"{name}:{number}: {wanted} fields here: {', '.join(record) or 'none'} (choose with --field)"
            )
        if record[field] is not None:
            yield _text(record[field], f"{name}:{number}: field {field!r}")


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise MwSError(f"{where} holds {type(value).__name__}, not text")
    return value


def read_parquet_batches(
    name: PathLike, column: str | None, batch_size: int = 4096, *, advance: Callable[[int], None] | None = None
) -> Iterator[pa.LargeStringArray]:
    """The text column of a Parquet file as Arrow large_string arrays without nulls, a batch of rows at a time.

    `advance` is told the bytes of the file that the rows taken amount to; its size is shared out among the rows.

    Raises:
        MwSError: not a Parquet file, no column named, an absent column, a column of another type.
    """
    try:
        with pq.ParquetFile(name) as file:
            _check_column(name, file.schema_arrow, column)
            rows = done = 0
            for batch in file.iter_batches(batch_size, columns=[column]):
                yield batch.column(0).cast(pa.large_string()).drop_null()
                rows += len(batch)
                if advance is not None:
                    size, done = done, os.path.getsize(name) * rows // file.metadata.num_rows
                    advance(done - size)
    except (OSError, pa.ArrowException) as error:
        raise MwSError(f"{name}: not a readable Parquet file ({error})") from error


def _check_column(name: PathLike, schema: pa.Schema, column: str | None) -> None:
    if column is None or column not in schema.names:
        wanted = "which column holds the text?" if column is None else f"no column {column!r};"
        raise MwSError(f"{name}: {wanted} columns here: {', '.join(schema.names)} (choose with --column)")
    kind = schema.field(column).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise MwSError(f"{name}: column {column!r} holds {kind}, not text")


def read_documents(
    paths: PathLike | Sequence[PathLike],
    *,
    field: str | None = None,
    column: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
) -> Iterator[str]:
    """Documents of many files in order: a line (with its line end) of text, a JSON-lines record, a Parquet row.

    Args:
        paths: names, globs, "-" for standard input; the kind of a file goes by its name (see `file_kind`).
        field: the field of JSON-lines records that holds the text.
        column: the text column of Parquet files.
        encoding: of text and JSON-lines files.
        errors: "strict", "replace" or "ignore" for bytes that are not of `encoding`.

    Raises:
        MwSError: anything missing, unreadable or of the wrong kind, by file and line.
    """
    for name in expand_paths(paths):
        kind = file_kind(name)
        if kind == "jsonl":
            yield from read_jsonl(name, field, encoding=encoding, errors=errors)
        elif kind == "parquet":
            for batch in read_parquet_batches(name, column):
                yield from batch.to_pylist()
        else:
            yield from read_lines(name, encoding=encoding, errors=errors)


def iterate_documents(source: Any, column: str | None = None) -> Iterator[str]:
    """Documents from what Python users hold: strings, batches (lists) of strings, or a `datasets` dataset.

    Args:
        source: an iterable of str or of lists of str, or a Dataset, IterableDataset or DatasetDict (all splits).
        column: the text column of a dataset.

    Raises:
        MwSError: a bare string or path, a dataset without that column, an element that is no text.

    >>> list(iterate_documents(["раз", ["два", "три"]]))
    ['раз', 'два', 'три']
    """
    if isinstance(source, (str, bytes, os.PathLike)):
        raise MwSError("expected an iterable of texts, got one string; wrap it in a list, or count files by name")
    if isinstance(source, Mapping):  # a DatasetDict is a dict of splits
        for split in source.values():
            yield from iterate_documents(split, column)
    elif hasattr(source, "column_names") or column is not None:
        yield from _dataset_documents(source, column)
    else:
        yield from _flat_documents(source)


def _dataset_documents(dataset: Any, column: str | None) -> Iterator[str]:
    names = getattr(dataset, "column_names", None)  # None too for a stream whose features are not known yet
    if column is None or (names is not None and column not in names):
        wanted = "which column holds the text?" if column is None else f"no column {column!r};"
        raise MwSError(f"dataset: {wanted} columns here: {', '.join(names or ['not known before reading'])}")
    if names is not None and hasattr(dataset, "select_columns"):
        dataset = dataset.select_columns([column])  # leaves the other columns undecoded
    batches = dataset.iter(batch_size=1000) if hasattr(dataset, "iter") else ({k: [r[k]] for k in r} for r in dataset)
    for number, batch in enumerate(batches):
        if column not in batch:
            raise MwSError(f"dataset: no column {column!r}; columns here: {', '.join(batch)}")
        for text in batch[column]:
            if text is not None:
                yield _text(text, f"dataset: batch {number}: column {column!r}")


def _flat_documents(source: Iterable[object]) -> Iterator[str]:
    for number, item in enumerate(source):
        if isinstance(item, str):
            yield item
        elif isinstance(item, (list, tuple)):
            for text in item:
                yield _text(text, f"batch {number} of the iterator")
        else:
            raise MwSError(f"element {number} of the iterator is {type(item).__name__}; expected str or a list of str")
