"""The Parquet file of word counts, with a column of groups or without; what is in one is checked, never executed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mws_hf.atomic import atomic_path
from mws_hf.corpus.columns import arrow_integers, arrow_strings
from mws_hf.errors import MwSError

FORMAT_VERSION, GROUPS_VERSION = "1", "2"
"""Of files without and with a column of groups."""
_KEY = b"mws_hf.word_counts"

Columns: TypeAlias = tuple[Any, npt.NDArray[np.int64]]
"""Distinct words, an Arrow array of large strings, and how often each occurs."""


def fingerprint(pattern: str, normalization: str | None, groups: Sequence[str] = ()) -> str:
    """Hexadecimal SHA-256 of a split pattern, a normalization and names of groups: counts mix only when it is equal.

    >>> fingerprint("a", None) == fingerprint("a", "nfc")
    False
    """
    return hashlib.sha256("\0".join([pattern, normalization or "", *groups]).encode()).hexdigest()


def write_columns(
    path: str | os.PathLike[str], groups: Mapping[str, Columns], pattern: str, normalization: str | None
) -> None:
    """Write counts of named groups, or those of no group under the name "", as Parquet, atomically.

    Columns: word, count and, where groups are named, group. The fingerprint in the metadata covers their names.
    """
    named = set(groups) != {""}
    words, counts = [part[0] for part in groups.values()], [part[1] for part in groups.values()]
    columns: dict[str, Any] = {
        "word": pa.chunked_array(words, pa.large_string()),
        "count": pa.chunked_array(list(map(arrow_integers, counts)), pa.int64()),
    }
    settings = {
        _KEY: GROUPS_VERSION if named else FORMAT_VERSION,
        "pattern": pattern,
        "normalization": normalization or "",
        "fingerprint": fingerprint(pattern, normalization, sorted(groups) if named else ()),
        "total": str(sum(int(part.sum()) for part in counts)),
    }
    if named:
        numbers = np.repeat(np.arange(len(groups), dtype=np.int64), list(map(len, counts)))
        columns["group"] = pa.DictionaryArray.from_arrays(arrow_integers(numbers), arrow_strings(list(groups)))
        settings["groups"] = json.dumps(
            {name: int(part.sum()) for name, (_, part) in groups.items()}, ensure_ascii=False
        )
    table = pa.table(columns).replace_schema_metadata(settings)
    with atomic_path(path) as temporary:
        pq.write_table(
            table,
            temporary,
            compression="zstd",
            use_dictionary=["group"] if named else False,
            write_page_checksum=True,
            row_group_size=2**20,
        )


def read_columns(path: str | os.PathLike[str]) -> tuple[dict[str, Columns], str, str | None]:
    """Read what `write_columns` wrote: the columns of each group, pattern and normalization.

    Raises:
        MwSError: the file is missing, truncated, corrupt, or not made by it.
    """
    table = _read_table(Path(path))
    settings = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
    version = settings.get(_KEY.decode())
    if version not in (None, FORMAT_VERSION, GROUPS_VERSION):
        raise MwSError(
            f"{path}: word counts of format {version}, this version reads {FORMAT_VERSION} and {GROUPS_VERSION}; "
            "update mws-hf"
        )
    named = version == GROUPS_VERSION
    if version is None or table.column_names != ["word", "count", *(["group"] if named else [])]:
        raise MwSError(
            f"{path}: a Parquet file, but not of word counts (columns: {', '.join(table.column_names)}); "
            "make word counts with `mws count`"
        )
    check_strings(table["word"], str(path))
    pattern, normalization = settings["pattern"], settings["normalization"] or None
    groups: dict[str, Columns] = {}
    for name, rows in _rows_by_group(table, settings, str(path)).items():
        numbers = pc.cast(rows["count"], pa.int64()).combine_chunks()  # `to_numpy` would import pandas
        counts = np.frombuffer(numbers.buffers()[1] or b"", np.int64)[numbers.offset : numbers.offset + len(numbers)]
        groups[name] = rows["word"], counts
    expected = fingerprint(pattern, normalization, sorted(groups) if named else ())
    total = sum(int(part.sum()) for _, part in groups.values())
    if settings["fingerprint"] != expected or settings["total"] != str(total):
        raise MwSError(f"{path}: its counts do not match its own metadata; the file was altered, count again")
    return groups, pattern, normalization


def _rows_by_group(table: pa.Table, settings: Mapping[str, str], path: str) -> dict[str, pa.Table]:
    """The rows of each group, which follow each other in the order of the metadata."""
    if "group" not in table.column_names:
        return {"": table}
    try:
        names = list(json.loads(settings["groups"]))
        of = pc.index_in(pc.cast(table["group"], pa.large_string()), value_set=arrow_strings(names)).combine_chunks()
    except (KeyError, ValueError, pa.ArrowException) as error:
        raise MwSError(f"{path}: groups of words that cannot be read ({error}); count again") from error
    if of.null_count:
        raise MwSError(f"{path}: its groups do not match its own metadata; the file was altered, count again")
    numbers = np.frombuffer(of.buffers()[1] or b"", np.int32)[of.offset : of.offset + len(of)]
    edges = np.searchsorted(numbers, np.arange(len(names) + 1)).tolist()
    if (np.diff(numbers) < 0).any():
        raise MwSError(f"{path}: its groups are out of order; the file was altered, count again")
    return {name: table.slice(edges[k], edges[k + 1] - edges[k]) for k, name in enumerate(names)}


def check_strings(strings: Any, name: str) -> None:
    """Raise MwSError unless every word is valid UTF-8: what works on the words is not made for anything else."""
    try:
        strings.validate(full=True)
    except pa.ArrowException as error:
        raise MwSError(f"{name}: words that are not UTF-8 ({error}); count again") from error


def is_counts_file(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is a Parquet file that says it holds word counts; False for anything else, absent files too."""
    try:
        return _KEY in (pq.read_schema(path).metadata or {})
    except (OSError, pa.ArrowException):
        return False


def _read_table(path: Path) -> pa.Table:
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:  # `read_table` imports pandas: 50 MB
            return file.read()
    except FileNotFoundError as error:
        raise MwSError(f"{path}: no such file of word counts") from error
    except (OSError, pa.ArrowException) as error:
        raise MwSError(f"{path}: not a readable Parquet file of word counts ({error}); count again") from error
