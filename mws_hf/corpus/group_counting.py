"""Count by group: sources that are named one by one, or a column that names the group of each document.

Each byte of text is read and counted once, however many groups there are.

A group, such as a language, may also stand in another column of tables and datasets; these come by batches of one
group.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mws_hf.corpus.block_counts import MEMORY_CAP, GroupBlock, count_blocks
from mws_hf.corpus.blocks import arrow_block
from mws_hf.corpus.columns import arrow_strings, load_folder, read_columns
from mws_hf.corpus.counting import byte_bar, count_documents, count_files
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.files import DEFAULT_COLUMN, PathLike, Reading, expand_paths, file_kind
from mws_hf.corpus.groups import GroupedCounts, check_group_name
from mws_hf.corpus.inputs import check_files, input_files, only_split
from mws_hf.corpus.readers import no_place
from mws_hf.corpus.word_list import as_word_counts
from mws_hf.errors import MwSError
from mws_hf.text.alphabets import check_unicode
from mws_hf.text.pattern import DEFAULT_PATTERN
from mws_hf.text.special import DEFAULT_SPECIAL_TOKENS

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


_TEXTS = "train_from_iterator(texts)"


def count_source(
    source: Any,
    *,
    column: str | None = None,
    group_column: str | None = None,
    **options: Any,
) -> GroupedCounts:
    """Count any source that `MwSTrainer.train` takes: files or texts, of no group or by group.

    A dict goes from group to files or texts; with a `group_column` the source is tables or datasets. `count_files`
    describes the options, for texts `count_documents`.

    Raises:
        MwSError: a source that cannot be read, a bad name of a group, a group within a group.

    >>> found = count_source({"fin": ["talo ja talot"], "eng": ["a house", "a hut"]})
    >>> {name: counts.total for name, counts in found.items()}
    {'eng': 4, 'fin': 3}
    """
    if group_column is not None:
        return _count_by_column(source, column, group_column, **options)
    if not _names_groups(source):
        return GroupedCounts.of(_count_one(source, column, options))
    for name, part in source.items():
        if not isinstance(part, (str, os.PathLike)) and (isinstance(part, bytes) or not hasattr(part, "__iter__")):
            raise MwSError(
                f"a mapping with {type(part).__name__} under {name!r}: for counts of words call "
                "MwSTrainer.train_from_counts(mapping); for texts give a list of them"
            )
        check_group_name(name)
        if _names_groups(part):
            raise MwSError(f"group {name!r}: groups within a group; give files or texts of it")
    return GroupedCounts({name: _count_one(part, column, dict(options)) for name, part in source.items()})


def as_grouped_counts(
    counts: Any, *, pattern: str = DEFAULT_PATTERN, normalization: str | None = None
) -> GroupedCounts:
    """Turn a Python user's counts, or a dict from group to such counts, into `GroupedCounts`.

    `word_list.as_word_counts` lists the forms that counts may have.

    >>> list(as_grouped_counts({"fin": {"talo": 2}, "eng": {"house": 3}}))
    ['eng', 'fin']
    """
    if isinstance(counts, GroupedCounts):
        return counts
    if isinstance(counts, Mapping) and any(_is_counts(part) for part in counts.values()):
        parts = {
            name: as_word_counts(part, pattern=pattern, normalization=normalization) for name, part in counts.items()
        }
        return GroupedCounts(parts)
    if isinstance(counts, (str, bytes)) or hasattr(counts, "__fspath__"):
        return GroupedCounts.load(counts)
    return GroupedCounts.of(as_word_counts(counts, pattern=pattern, normalization=normalization))


def _is_counts(part: Any) -> bool:
    return isinstance(part, (WordCounts, Mapping, str)) or hasattr(part, "to_dict") or hasattr(part, "__fspath__")


def _names_groups(source: Any) -> bool:
    """Tell whether a source is a dict from group to source; a `DatasetDict` is one of splits."""
    return isinstance(source, Mapping) and not hasattr(source, "with_format")


def _count_one(source: Any, column: str | None, options: dict[str, Any]) -> WordCounts:
    files = input_files(source, _TEXTS)
    if files is not None:
        return count_files(files, column=column, **options)
    _only_for_files(options, source)
    return count_documents(source, column=column, **options)


def _only_for_files(options: Mapping[str, Any], source: Any) -> None:
    if only := sorted({"encoding", "errors"}.intersection(options)):
        raise MwSError(f"{', '.join(only)}: for files, but {type(source).__name__} holds texts")


def _count_by_column(source: Any, column: str | None, group_column: str, **options: Any) -> GroupedCounts:
    files = input_files(source, "train({group: texts})")
    if files is not None:
        return count_group_column(files, column, group_column, **options)
    _only_for_files(options, source)
    batches = [group_batches(source, column, group_column)]
    return _count_batches(batches, **{k: v for k, v in options.items() if k not in ("length", "show_progress")})


def count_group_column(
    paths: Any,
    column: str | None,
    group_column: str,
    *,
    encoding: str = "utf-8",
    errors: str = "strict",
    show_progress: bool = False,
    **options: Any,
) -> GroupedCounts:
    """Count tables and datasets whose rows name their group in another column, in one pass.

    `counting.count_files` describes the options; JSON lines are not read here.

    Raises:
        MwSError: another kind of file, an absent column, a row with text but no group, more than 256 groups.
    """
    names = check_group_files(paths)
    how = Reading(column, encoding, errors)
    check_files(names, how)
    check_files(names, replace(how, column=group_column))
    with byte_bar(names) if show_progress else nullcontext() as advance:
        sources = [file_group_batches(name, group_column, how, advance) for name in names]
        return _count_batches(sources, **options)


def _count_batches(
    sources: Sequence[Iterator[GroupBatch]],
    *,
    pattern: str = DEFAULT_PATTERN,
    normalization: str | None = None,
    special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS,
    workers: int | None = None,
    memory_cap: int = MEMORY_CAP,
) -> GroupedCounts:
    blocks = [(_as_block(*batch) for batch in source) for source in sources]
    found = count_blocks(blocks, pattern, normalization, workers, memory_cap, 0, special_tokens)
    if not found:
        raise MwSError("no row with text and a group; name the columns that hold them")
    return GroupedCounts({
        name: WordCounts.from_arrays(*entries, pattern=pattern, normalization=normalization, checked=True)
        for name, entries in found.items()
    })  # fmt: skip


def _as_block(group: str, texts: pa.LargeStringArray) -> GroupBlock:
    return group, arrow_block(texts, lambda _: f"a text of group {group!r}")
