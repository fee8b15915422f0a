"""What a user gives to be counted or encoded: files of every kind, or the values that Python holds, as documents.

Values are texts, batches of them, records, tables and datasets; `read_records` reads whatever has columns. Plain text
files become blocks of bytes in `corpus.blocks`, because a document may be a line or a file there. Texts that would be
used twice are found here too: a file given again, a copy under another name, a text beside its own counts.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from glob import escape, glob
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mws_hf.corpus.columns import (
    arrow_strings,
    check_columns,
    check_names,
    checked_strings,
    is_text,
    load_folder,
    read_columns,
    refuse_splits,
    valid_strings,
)
from mws_hf.corpus.counts_file import CountsFile, is_counts_file
from mws_hf.corpus.files import (
    COMPRESSED,
    DEFAULT_COLUMN,
    KINDS,
    PLAIN,
    STDIN,
    TEXT,
    PathLike,
    Reading,
    expand_paths,
    names_file,
    open_binary,
    read_blocks,
)
from mws_hf.corpus.groups import check_group_name
from mws_hf.corpus.readers import no_place, read_jsonl, stored_lines
from mws_hf.errors import MwSError
from mws_hf.text.alphabets import check_unicode

GroupBatch = tuple[str, pa.LargeStringArray]
"""A group, and texts of it."""
BATCH = 1 << 19
_ROWS = 1000
_LOOKED_AT = 100  # elements of a list that say whether it names files
_SHOWN = 60
_HEAD = 1 << 16  # bytes by which two files are known for one text
_MOST = 5  # warnings of texts that are used twice
_logger = logging.getLogger(__name__)


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


def check_files(names: Sequence[str], how: Reading = PLAIN, group_column: str | None = None) -> None:
    """Find faults of input files before any work; of JSON lines the first record is read, of tables the header."""
    columns = [how.column] if group_column is None else [how.column, group_column]
    kinds = {name: how.kind(name) for name in names}
    for name, kind in kinds.items():
        if group_column is not None and (name == STDIN or kind in ("text", "jsonl")):
            raise MwSError(
                f"{name}: a column of groups is for tables (.csv, .tsv, .parquet, .arrow) and datasets; give other "
                "files by group (group=FILE)"
            )
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
        if kind == "text":
            with open_binary(name):  # where its first bytes are looked at
                pass
        elif kind in ("csv", "parquet", "arrow"):
            check_columns(name, columns, how)
        elif kind == "jsonl":
            next(read_jsonl(name, how), None)


def warn_of_repeated(names: Iterable[str]) -> None:
    """Warn of files that hold one text; such a text is used as often as it is given.

    Two files hold one text if their unpacked content begins with the same 64 KiB, or if one holds counts that
    `mws count` made from the other. Standard input and pipes are not looked at.
    """
    found, seen = [], dict[str, str]()
    for name, times in Counter(map(os.path.normpath, names)).items():
        if times > 1:
            found.append(f"{name}: given {times} times, so its words count as often")
        marks = marks_of(name)
        other = next((seen[mark] for mark in marks if mark in seen), None)
        if other is not None:
            found.append(f"{name}, {other}: begin alike or hold counts of one text, whose words then count twice")
        for mark in marks:
            seen.setdefault(mark, name)
    for message in found[:_MOST]:
        _logger.warning("%s", message)
    if len(found) > _MOST:
        _logger.warning("%d more files are given twice or hold a text that another one holds", len(found) - _MOST)


def text_marks(names: Iterable[str]) -> list[str]:
    """Return the marks of some files, sorted: what counts of them are saved with."""
    return sorted({mark for name in names for mark in marks_of(name)})


def marks_of(name: str) -> list[str]:
    """Return the mark of the content of a file, and for saved counts also the marks of the texts counted.

    An empty file, and all that cannot be read twice or at all, has none.
    """
    if os.path.isdir(name):  # of `save_to_disk`
        return [mark for file in sorted(glob(os.path.join(escape(name), "*.arrow")))[:1] for mark in marks_of(file)]
    if not os.path.isfile(name):
        return []
    try:
        counted = CountsFile.open(name).texts if is_counts_file(name) else None
        with open(name, "rb") if counted is not None else open_binary(name) as stream:
            head = next(read_blocks(stream, name, _HEAD), b"")
    except (MwSError, OSError):
        return []
    return [hashlib.blake2b(head, digest_size=8).hexdigest(), *(counted or [])] if head else []


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
        for (array,) in read_columns(name, [how.column], how, advance):
            yield array.fill_null("")


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
    for texts, groups in read_columns(name, [how.column, group_column], how, advance):
        yield from by_group(texts, groups, f"{name}, column {group_column!r}", first)
        first += len(texts)


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
    held = [_held_column(frame, place, names) for place in check_names(where, columns, names, "column=")]
    for start in range(0, len(frame), _ROWS):
        yield [_values(column, f"{where}, column {name!r}", start) for column, name in zip(held, columns, strict=True)]


def _held_column(frame: Any, place: int, names: list[Any]) -> Any:
    if isinstance(frame, (pa.Table, pa.RecordBatch)):
        return frame.column(place)
    return frame.iloc[:, place] if hasattr(frame, "iloc") else frame[names[place]]


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
            yield from checked_strings(chunk, "pyarrow array", first).to_pylist()
            first += len(chunk)
    elif column is not None or _has_columns(source):
        texts = (text for (texts,) in read_records(source, [column]) for text in texts)
        yield from _guarded("" if text is None else text for text in texts)
    else:
        yield from _guarded(_flat_documents(source))


def _has_columns(source: Any) -> bool:
    return isinstance(source, Mapping) or any(hasattr(source, name) for name in ("columns", "column_names"))


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
            yield (_text_of(item[DEFAULT_COLUMN], f"element {number} of the iterator: field {DEFAULT_COLUMN!r}") or "")
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
