"""Text whose group, such as its language, stands in another column of tables and datasets, by batches of one group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mws_hf.corpus.columns import arrow_strings, read_columns
from mws_hf.corpus.files import DEFAULT_COLUMN, PathLike, Reading, expand_paths, file_kind
from mws_hf.corpus.groups import check_group_name
from mws_hf.corpus.inputs import only_split
from mws_hf.corpus.readers import check_unicode, no_place
from mws_hf.corpus.saved_datasets import load_folder
from mws_hf.errors import MwSError

GroupBatch = tuple[str, pa.LargeStringArray]
_BATCH = 1000


def file_group_batches(
    name: str, group_column: str, how: Reading, advance: Callable[[int], None] | None = None
) -> Iterator[GroupBatch]:
    """Read documents of a table (CSV, Parquet, Arrow) or of a `save_to_disk` folder, by group in each batch of rows.

    Raises:
        MwSError: an absent column, a row without a group, a bad name of a group.
    """
    if file_kind(name) == "dataset":
        yield from group_batches(load_folder(name), how.column, group_column, where=name)
        return
    first = 1
    for texts, groups in read_columns(name, [how.text_column, group_column], how, advance):
        where = f"{name}, column {group_column!r}"
        yield from by_group(texts, groups, where, first)
        first += len(texts)


def group_batches(source: Any, column: str | None, group_column: str, where: str = "") -> Iterator[GroupBatch]:
    """Read the documents of a table, dataset, dict of one split or iterable of records, by group within each batch.

    Raises:
        MwSError: an absent column, a document that is no text, a row without a group.

    >>> rows = [{"text": "talo", "lang": "fin"}, {"text": "house", "lang": "eng"}]
    >>> [(name, texts.to_pylist()) for name, texts in group_batches(rows, "text", "lang")]  # by name within a batch
    [('eng', ['house']), ('fin', ['talo'])]
    """
    where, first = where or type(source).__name__, 1
    column = column or DEFAULT_COLUMN
    for batch in _record_batches(source, column, group_column):
        for name in (column, group_column):
            if name not in batch:
                raise no_place(where, "column", name, batch, "column=")
        pairs = zip(batch[column], batch[group_column], strict=True)
        rows = [_checked(*pair, where, row) for row, pair in enumerate(pairs, start=first)]
        first += len(rows)
        kept = [pair for pair in rows if pair is not None]
        names = arrow_strings([group for _, group in kept])
        yield from by_group(arrow_strings([text for text, _ in kept]), names, where, first)


def _checked(text: Any, group: Any, where: str, row: int) -> tuple[str, str] | None:
    """Return text and group of a row; None where it has no text."""
    if text is None or text != text:  # pandas' NaN
        return None
    if not isinstance(text, str):
        raise MwSError(f"{where}, row {row}: {type(text).__name__}, not text")
    check_unicode(text, f"{where}, row {row}")
    if not isinstance(group, str):
        raise MwSError(f"{where}, row {row}: its group is {group!r}, no text; every row with text needs one")
    return text, group


def _record_batches(source: Any, column: str, group_column: str) -> Iterator[Mapping[Any, Sequence[Any]]]:
    if isinstance(source, (pa.Table, pa.RecordBatch)):
        table = pa.Table.from_batches([source]) if isinstance(source, pa.RecordBatch) else source
        yield from (batch.to_pydict() for batch in table.to_batches(_BATCH))
    elif isinstance(source, Mapping):
        yield from _record_batches(only_split(source), column, group_column)
    elif hasattr(source, "columns"):  # a DataFrame
        for start in range(0, len(source), _BATCH):
            part = source.iloc[start : start + _BATCH]
            yield {name: part[name].tolist() for name in part.columns}
    elif hasattr(source, "iter"):  # a `datasets` Dataset or IterableDataset
        names = getattr(source, "column_names", None) or ()
        if column in names and group_column in names:
            source = source.select_columns([column, group_column])  # leaves the other columns undecoded
        yield from source.iter(batch_size=_BATCH)
    else:
        yield from _gathered_records(source, column, group_column)


def _gathered_records(source: Any, column: str, group_column: str) -> Iterator[dict[Any, list[Any]]]:
    if isinstance(source, (str, bytes)) or not isinstance(source, Iterable):
        raise MwSError(f"{type(source).__name__}: a column of groups is for tables, datasets and records")
    batch: dict[Any, list[Any]] = {column: [], group_column: []}
    for number, record in enumerate(source):
        if not isinstance(record, Mapping):
            what = type(record).__name__
            raise MwSError(f"element {number} is {what}, not a record; a column of groups is for tables and records")
        if column not in record or group_column not in record:
            yield {name: [value] for name, value in record.items()}  # whose columns the error names
        for name, values in batch.items():
            values.append(record.get(name))
        if len(batch[group_column]) == _BATCH:
            yield batch
            batch = {column: [], group_column: []}
    if batch[group_column]:
        yield batch


def by_group(texts: pa.LargeStringArray, groups: pa.LargeStringArray, where: str, first: int) -> Iterator[GroupBatch]:
    """Sort texts by group, groups by name; rows without a text are passed over.

    Raises:
        MwSError: a row without a group, a bad name of a group.
    """
    kept = texts.is_valid()
    texts, groups = texts.filter(kept), groups.filter(kept)
    if groups.null_count:
        raise MwSError(f"{where}: rows from {first} on have text but no group; give each row one")
    for name in sorted(groups.unique().to_pylist()):
        try:
            check_group_name(name)
        except MwSError as error:
            raise MwSError(f"{where}: {error}") from error
        yield name, texts.filter(pc.equal(groups, name))


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
