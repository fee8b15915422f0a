"""Check and read every kind of input, with one class per kind.

Only `kind_of` decides which kind a file is. To add a kind, write one class, add it to `KINDS`, and add one row to
the table in ``tests/unit/test_kinds.py``.
"""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from glob import escape, glob
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from mws_hf.corpus.arrow_arrays import arrow_strings, is_text, valid_strings
from mws_hf.corpus.base_kind import Kind
from mws_hf.corpus.blocks import BLOCK_BYTES, Block, text_blocks
from mws_hf.corpus.columns import (
    ROWS,
    GroupBatch,
    by_group,
    check_names,
    document_batches,
    documents_of,
    group_batches,
    iterate_documents,
    no_column,
    text_of,
)
from mws_hf.corpus.compression import packing_of, suffixes_of
from mws_hf.corpus.files import DEFAULT_COLUMN, PLAIN, PathLike, Reading, is_dataset_folder, open_for_arrow
from mws_hf.corpus.octets import Advance, examine, stored_head, stored_lines
from mws_hf.corpus.place import Fault, about, within
from mws_hf.corpus.rows import check_separator, is_tsv, read_header, read_rows
from mws_hf.errors import MwSError, first_line, needed
from mws_hf.text.valid_text import surrogate_problem


class Text(Kind):
    """Plain text; each line, or the whole file, is a document."""

    title = "text"
    suffixes = (".txt", ".text", ".md", ".rst")
    has_columns = has_groups = False
    is_text = True

    def check(self, columns: Sequence[str | None]) -> None:
        """Examine the first bytes."""
        examine(self.place, self.how)

    def arrays(self, advance: Advance | None, size: int) -> Iterator[pa.LargeStringArray]:
        """Read lines."""
        return document_batches(stored_lines(self.place, self.how, advance), size)

    def texts(self) -> Iterator[str]:
        """Read the lines, each with its line end."""
        return stored_lines(self.place, self.how)

    def blocks(
        self, *, division: bytes | None, advance: Advance | None = None, size: int = BLOCK_BYTES
    ) -> Iterator[Block]:
        """Read the bytes; lines never become str."""
        return text_blocks(self.place, division=division, how=self.how, advance=advance, size=size)


class JsonLines(Kind):
    """JSON lines: each record is a document."""

    title = "jsonl"
    suffixes = (".jsonl", ".jsonlines", ".ndjson")
    has_groups = False

    def check(self, columns: Sequence[str | None]) -> None:
        """Read the first record."""
        examine(self.place, self.how)
        next(self.texts(), None)

    def arrays(self, advance: Advance | None, size: int) -> Iterator[pa.LargeStringArray]:
        """Read records."""
        with about(self.place):
            yield from document_batches(self._texts(advance), size)

    def texts(self) -> Iterator[str]:
        """Read the text of each record."""
        return self._texts(None)

    def _texts(self, advance: Advance | None) -> Iterator[str]:
        """Yield the text of the record in each line; blank lines are skipped.

        A null value, or NaN as Python writes it, is an empty text, so that there are as many documents as records.
        """
        field = self.how.column or DEFAULT_COLUMN
        with about(self.place):
            for number, line in enumerate(stored_lines(self.place, self.how, advance), start=1):
                if not line.strip():
                    continue
                record = _record(line, number)
                if field not in record:
                    raise Fault(no_column("field", self.how.column, record), number)
                try:
                    text = text_of(record[field]) or ""
                except Fault as fault:
                    raise Fault(f"field {field!r} {fault.problem}", number) from fault
                # lone surrogates, which UTF-8 cannot encode, can only be written as escapes
                if "\\u" in line and (problem := surrogate_problem(text)):
                    raise Fault(f"field {field!r}: {problem}", number)
                yield text


def _record(line: str, number: int) -> dict[str, object]:
    """Parse a line of JSON lines; raises `Fault` unless it is a JSON object."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise Fault(f"not JSON ({error.msg} at column {error.colno})", number) from error
    except RecursionError as error:
        raise Fault("JSON nested too deeply to be read; leave the record out", number) from error
    except ValueError as error:  # a number of more digits than Python reads
        raise Fault(f"JSON that cannot be read ({error})", number) from error
    if not isinstance(record, dict):
        raise Fault(f"a JSON {type(record).__name__}, not an object with a text field", number)
    return record


class _Table(Kind):
    """A table on disk; each row is a document, and a null value is an empty text."""

    @abstractmethod
    def _stored_columns(self, columns: Sequence[str | None], advance: Advance | None) -> Iterator[tuple[pa.Array, ...]]:
        """Read text columns, at most `ROWS` rows at a time; missing values are nulls."""

    def columns(
        self, columns: Sequence[str | None], advance: Advance | None = None
    ) -> Iterator[tuple[pa.LargeStringArray, ...]]:
        """Read text columns in batches of rows, as valid strings; missing values are nulls.

        Raises:
            MwSError: a column is missing, or a value is not UTF-8. The message contains the row, counted from 1.
        """
        first = 1
        with about(self.place):
            for arrays in self._stored_columns(columns, advance):
                strings = []
                for array, column in zip(arrays, columns, strict=True):
                    with within(f", column {column or DEFAULT_COLUMN!r}"):
                        strings.append(valid_strings(array, first, self.how.errors))
                yield tuple(strings)
                first += len(arrays[0])

    def arrays(self, advance: Advance | None, size: int) -> Iterator[pa.LargeStringArray]:
        """Read the column of text."""
        for (array,) in self.columns([self.how.column], advance):
            yield array.fill_null("")

    def groups(self, group_column: str, advance: Advance | None) -> Iterator[GroupBatch]:
        """Read the documents by group; a row without a text is left out."""
        first = 1
        for texts, groups in self.columns([self.how.column, group_column], advance):
            with about(self.place), within(f", column {group_column!r}"):
                batches = list(by_group(texts, groups, first))
            yield from batches
            first += len(texts)


class Rows(_Table):
    """A table as text: .csv or .tsv."""

    title = "csv"
    suffixes = (".csv", ".tsv")

    @property
    def is_word_list(self) -> bool:
        """Whether tabs divide its columns, as they do in word lists."""
        return is_tsv(self.place)

    def check(self, columns: Sequence[str | None]) -> None:
        """Read the names of the columns."""
        examine(self.place, self.how)
        with about(self.place):
            names = read_header(self.place, self.how)
            if len(names) == 1 and names[0] not in columns:
                check_separator(names[0], in_tsv=self.is_word_list)
            check_names(columns, names)

    def _stored_columns(self, columns: Sequence[str | None], advance: Advance | None) -> Iterator[tuple[pa.Array, ...]]:
        rows = read_rows(self.place, self.how, advance)  # opened once, since it may be a pipe
        places = check_names(columns, next(rows, []))
        while batch := list(islice(rows, ROWS)):
            yield tuple(arrow_strings([row[place] for row in batch]) for place in places)


class _ArrowTable(_Table):
    """A table of Arrow types on disk."""

    is_packable = False

    @abstractmethod
    def _schema(self) -> pa.Schema:
        """Read the names and types of the columns."""

    @abstractmethod
    def _batches(self, columns: Sequence[str], reach: Callable[[int], None]) -> Iterator[tuple[pa.Array, ...]]:
        """Read columns; `reach` is called with the number of bytes of the file that have been read so far."""

    def check(self, columns: Sequence[str | None]) -> None:
        """Check the names and types of the columns; no row is read."""
        with about(self.place):
            if not os.path.isfile(self.place):
                raise Fault("is a pipe, but a table of this kind cannot be read from start to end; save it as a file")
            head = stored_head(self.place)
            if (packing := packing_of(head)) is not None:
                raise Fault(f"is a table that was compressed as a whole by {packing}; unpack it first")
            self._check_head(head)
            try:
                schema = self._schema()
            except (OSError, pa.ArrowException) as error:
                raise self._unreadable(error) from error
            if None in columns and b"mws_hf.word_counts" in (schema.metadata or {}):
                raise Fault("contains saved word counts, not text; pass it to `mws train` or train_from_counts(path)")
            for place, column in zip(check_names(columns, schema.names), columns, strict=True):
                if not is_text(schema.field(place).type):
                    raise Fault(f"column {column or DEFAULT_COLUMN!r} contains {schema.field(place).type}, not text")

    def _check_head(self, head: bytes) -> None:
        """Raise `Fault` for a table of a format that is not read."""

    def _stored_columns(self, columns: Sequence[str | None], advance: Advance | None) -> Iterator[tuple[pa.Array, ...]]:
        self.check(columns)
        done = 0

        def reach(place: int) -> None:
            nonlocal done
            if advance is not None and place > done:
                advance(place - done)
                done = place

        try:
            for arrays in self._batches([column or DEFAULT_COLUMN for column in columns], reach):
                for start in range(0, len(arrays[0]), ROWS):
                    yield tuple(array.slice(start, ROWS) for array in arrays)
        except (OSError, pa.ArrowException) as error:
            raise self._unreadable(error) from error
        reach(os.path.getsize(self.place))

    def _unreadable(self, error: Exception) -> Fault:
        """Return the fault for an error of Arrow."""
        return Fault(f"not a readable {self.title.capitalize()} file ({first_line(error)})")

    def head(self) -> bytes:
        """Read the first bytes as stored."""
        return stored_head(self.place)


class Parquet(_ArrowTable):
    """A Parquet table."""

    title = "parquet"
    suffixes = (".parquet",)

    def _schema(self) -> pa.Schema:
        from pyarrow import parquet as pq  # here and below, because few need it

        with open_for_arrow(self.place) as stored:
            return pq.read_schema(stored)

    def _batches(self, columns: Sequence[str], reach: Callable[[int], None]) -> Iterator[tuple[pa.Array, ...]]:
        from pyarrow import parquet as pq

        with open_for_arrow(self.place) as stored, pq.ParquetFile(stored) as file:
            size, rows = os.path.getsize(self.place), 0
            for batch in file.iter_batches(ROWS, columns=list(columns)):
                yield tuple(batch.column(column) for column in columns)
                rows += len(batch)
                reach(size * rows // max(1, file.metadata.num_rows))  # estimated from rows, as columns are stored apart


class Arrow(_ArrowTable):
    """An Arrow table, in the file format or in the stream format, which `datasets` writes."""

    title = "arrow"
    suffixes = (".arrow", ".feather")

    def _check_head(self, head: bytes) -> None:
        if head.startswith(b"FEA1"):
            raise Fault("a Feather table of version 1; write version 2 with pyarrow.feather.write_feather")

    def _schema(self) -> pa.Schema:
        with open_for_arrow(self.place) as file:
            return _ipc_reader(file).schema

    def _batches(self, columns: Sequence[str], reach: Callable[[int], None]) -> Iterator[tuple[pa.Array, ...]]:
        with open_for_arrow(self.place) as file:
            reader = _ipc_reader(file)
            places = [reader.schema.get_field_index(column) for column in columns]
            is_file = isinstance(reader, pa.ipc.RecordBatchFileReader)
            for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader:
                yield tuple(batch.column(place) for place in places)
                reach(file.tell())


def _ipc_reader(file: pa.NativeFile) -> Any:
    """Open an Arrow file in the file format or in the stream format."""
    is_file = file.read(6) == b"ARROW1"
    file.seek(0)
    return pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)


class Saved(Kind):
    """A folder that `save_to_disk` of the `datasets` library wrote; each row is a document."""

    title = "dataset"
    is_stored = False

    def check(self, columns: Sequence[str | None]) -> None:
        """Raise MwSError for a folder of several splits, because one of them may be the test set."""
        file = Path(self.place, "dataset_dict.json")
        try:
            names = json.loads(file.read_text(encoding="utf-8"))["splits"] if file.is_file() else []
        except (OSError, ValueError, KeyError, TypeError):
            return  # the `datasets` library reports what is wrong with it
        if len(names) > 1:
            one, all_names = os.path.join(self.place, str(names[0])), ", ".join(map(str, names))
            raise MwSError(f"{self.place}: is a dataset of {len(names)} splits ({all_names}); give one of them: {one}")

    def _load(self) -> Any:
        """Load the dataset with the library `datasets`."""
        self.check([self.how.column])
        datasets = needed("datasets", f"{self.place}: this folder of a saved dataset")
        try:
            loaded = datasets.load_from_disk(self.place)
            rows = loaded.num_rows.values() if isinstance(loaded, datasets.DatasetDict) else [loaded.num_rows]
        except IndexError:  # recent versions save a dataset without rows without a table, and cannot load it
            rows = [0]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Fault(
                f"is not a folder that `save_to_disk` wrote, or is damaged ({first_line(error)}); save it again"
            ) from error
        if not any(rows):
            raise Fault("contains no rows; leave it out, or save a dataset with rows")
        return loaded

    def arrays(self, advance: Advance | None, size: int) -> Iterator[pa.LargeStringArray]:
        """Read the column of text."""
        with about(self.place):
            yield from document_batches(documents_of(self._load(), self.how.column), size)

    def groups(self, group_column: str, advance: Advance | None) -> Iterator[GroupBatch]:
        """Read the documents by group."""
        with about(self.place):
            yield from group_batches(self._load(), self.how.column, group_column)

    def head(self) -> bytes:
        """Read the first bytes of the first of its tables."""
        return next(map(stored_head, sorted(glob(os.path.join(escape(self.place), "*.arrow")))), b"")


class InMemory(Kind):
    """Texts in memory; `columns.iterate_documents` lists their types."""

    title = "texts"
    is_stored = False

    def __init__(self, value: Any, how: Reading) -> None:
        super().__init__("iterator", how)
        self._value = value

    def check(self, columns: Sequence[str | None]) -> None:
        """Raise MwSError if encoding or errors are given, because they are for files."""
        if (self.how.encoding, self.how.errors) != (PLAIN.encoding, PLAIN.errors):
            raise MwSError(
                f"encoding and errors are for files, but {type(self._value).__name__} contains texts; leave them out"
            )

    def arrays(self, advance: Advance | None, size: int) -> Iterator[pa.LargeStringArray]:
        """Read the documents; `advance` is called with 1 for each."""
        with about(self.place):
            yield from document_batches(_advancing(self.texts(), advance), size)

    def groups(self, group_column: str, advance: Advance | None) -> Iterator[GroupBatch]:
        """Read the documents by group."""
        with about(type(self._value).__name__):
            yield from group_batches(self._value, self.how.column, group_column)

    def texts(self) -> Iterator[str]:
        """Read the documents in order."""
        return iterate_documents(self._value, self.how.column)


def _advancing(documents: Iterable[str], advance: Advance | None) -> Iterator[str]:
    """Yield the documents, and call `advance` with 1 after each."""
    for document in documents:
        yield document
        if advance is not None:
            advance(1)


KINDS: tuple[type[Kind], ...] = (Text, JsonLines, Rows, Parquet, Arrow)
"""The kinds of files that are recognized by their names."""
_UNPACK = "archives cannot be read; unpack it, and give the files in it"
_TO_TEXT = "not text; convert it to .txt first"
_TO_TABLE = "tables and arrays of this kind cannot be read; convert it to .parquet first"
_NOT_READ = {
    ".json": "a single JSON document cannot be read; if the file has one record per line, rename it to end in .jsonl; "
    "otherwise convert it, for example with: jq -c '.[]' x.json > x.jsonl",
    **dict.fromkeys((".tar", ".tgz", ".zip", ".7z", ".rar"), _UNPACK),
    **dict.fromkeys((".pdf", ".doc", ".docx", ".odt", ".epub", ".rtf", ".xls", ".xlsx"), _TO_TEXT),
    **dict.fromkeys((".orc", ".avro", ".h5", ".hdf5", ".npy", ".npz", ".pkl", ".tfrecord", ".sqlite"), _TO_TABLE),
}


def kind_of(name: PathLike, how: Reading = PLAIN) -> Kind:
    """Return the kind of a file by its name; a folder is a dataset.

    A file with an unknown suffix is plain text, or JSON lines if a column is given.

    Raises:
        MwSError: files with this suffix cannot be read, or cannot be read if they are compressed.
    """
    place = os.fspath(name)
    if is_dataset_folder(place):
        return Saved(place, how)
    suffix, packing = suffixes_of(place)
    if suffix in _NOT_READ:
        raise MwSError(f"{place}: {_NOT_READ[suffix]}")
    kind = next((kind for kind in KINDS if suffix in kind.suffixes), Text if how.column is None else JsonLines)
    if packing and not kind.is_packable:
        raise MwSError(f"{place}: {suffix} files cannot be read if they are compressed by {packing}; unpack it first")
    return kind(place, how)


def has_known_suffix(name: str) -> bool:
    """Return whether a name has the suffix of a known kind of file, or of a compressed file."""
    suffix, packing = suffixes_of(name)
    return bool(packing) or any(suffix in kind.suffixes for kind in KINDS)
