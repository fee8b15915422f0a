"""Count by group: sources that are named one by one, or a column that names the group of each document.

Each byte of text is read and counted once, however many groups there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pyarrow as pa

from mws_hf.corpus.block_counts import MEMORY_CAP, GroupBlock, count_blocks
from mws_hf.corpus.blocks import arrow_block
from mws_hf.corpus.counting import byte_bar, count_documents, count_files
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.files import Reading, column_named
from mws_hf.corpus.group_column import GroupBatch, check_group_files, file_group_batches, group_batches
from mws_hf.corpus.groups import GroupedCounts, check_group_name
from mws_hf.corpus.inputs import check_files, input_files
from mws_hf.corpus.word_list import as_word_counts
from mws_hf.errors import MwSError
from mws_hf.text.pattern import DEFAULT_PATTERN

_TEXTS = "train_from_iterator(texts)"


def count_source(
    source: Any,
    *,
    column: str | None = None,
    field: str | None = None,
    group_column: str | None = None,
    **options: Any,
) -> GroupedCounts:
    """Count any source that `MwSTrainer.train` takes: files or texts, of no group or by group.

    A dict goes from group to files or texts; with a `group_column` the source is tables or datasets. `count_files`
    describes the options, for texts `count_documents`; `field` is a synonym of `column`.

    Raises:
        MwSError: a source that cannot be read, a bad name of a group, a group within a group.

    >>> found = count_source({"fin": ["talo ja talot"], "eng": ["a house", "a hut"]})
    >>> {name: counts.total for name, counts in found.items()}
    {'eng': 4, 'fin': 3}
    """
    column = column_named(column, field)
    if group_column is not None:
        return _count_by_column(source, column, group_column, **options)
    if not _names_groups(source):
        return GroupedCounts.of(_count_one(source, column, options))
    for name, part in source.items():
        if not isinstance(part, str) and (isinstance(part, bytes) or not hasattr(part, "__iter__")):
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
    workers: int | None = None,
    memory_cap: int = MEMORY_CAP,
) -> GroupedCounts:
    blocks = [(_as_block(*batch) for batch in source) for source in sources]
    found = count_blocks(blocks, pattern, normalization, workers, memory_cap)
    if not found:
        raise MwSError("no row with text and a group; name the columns that hold them")
    return GroupedCounts({
        name: WordCounts.from_arrays(*entries, pattern=pattern, normalization=normalization, checked=True)
        for name, entries in found.items()
    })  # fmt: skip


def _as_block(group: str, texts: pa.LargeStringArray) -> GroupBlock:
    return group, arrow_block(texts, lambda _: f"a text of group {group!r}")
