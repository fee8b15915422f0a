"""Read and write the Parquet file of word counts, and check its content."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mws_hf.atomic import atomic_path
from mws_hf.corpus.arrow_arrays import arrow_integers, arrow_strings, integers, is_text
from mws_hf.corpus.blocks import Columns
from mws_hf.corpus.files import open_for_arrow, why_missing
from mws_hf.corpus.groups import UNNAMED
from mws_hf.corpus.place import Fault, about
from mws_hf.corpus.splitter import Splitter, fingerprint
from mws_hf.errors import MwSError, brief, first_line
from mws_hf.text.pattern import compiled

if TYPE_CHECKING:
    import pyarrow.parquet as pq

FORMAT_VERSION, GROUPS_VERSION = "1", "2"
"""Versions of the format without and with a column of groups."""
_KEY, _MAGIC = b"mws_hf.word_counts", b"PAR1"

_ALTERED = "its counts do not match its own metadata; the file was altered, count again"

ROW_GROUP = 2**20
"""The number of rows in a row group of the file."""
MAX_TOTAL = 2**63 - 1
"""The largest sum of counts, because counts are added up as int64."""


def write_columns(
    path: str | os.PathLike[str],
    groups: Mapping[str, Columns],
    splitter: Splitter,
    texts: Sequence[str] = (),
) -> None:
    """Write word counts as a Parquet file, completely or not at all.

    Args:
        path: the file.
        groups: words and counts by group; without named groups, the only name is `UNNAMED`.
        splitter: the pattern and normalization of the words. A fingerprint of these and of the names of the groups is
            part of the metadata.
        texts: digests of the counted texts.

    Raises:
        MwSError: the file cannot be written.
    """
    named = set(groups) != {UNNAMED}
    words, counts = [part[0] for part in groups.values()], [part[1] for part in groups.values()]
    columns: dict[str, Any] = {
        "word": pa.chunked_array(words, pa.large_string()),
        "count": pa.chunked_array(list(map(arrow_integers, counts)), pa.int64()),
    }
    if named:
        numbers = np.repeat(np.arange(len(groups), dtype=np.int64), list(map(len, counts)))
        columns["group"] = pa.DictionaryArray.from_arrays(arrow_integers(numbers), arrow_strings(list(groups)))
    totals = {name: int(part.sum()) for name, (_, part) in groups.items()}
    settings: dict[str | bytes, str] = {
        _KEY: GROUPS_VERSION if named else FORMAT_VERSION,
        "pattern": splitter.pattern,
        "normalization": splitter.normalization or "",
        "fingerprint": fingerprint(splitter.pattern, splitter.normalization, sorted(totals) if named else ()),
        "total": str(sum(totals.values())),
        **({"texts": json.dumps(list(texts))} if texts else {}),
        **({"groups": json.dumps(totals, ensure_ascii=False)} if named else {}),
    }
    table = pa.table(columns).replace_schema_metadata(settings)
    import pyarrow.parquet as pq  # here and below, because most programs that count neither write nor read this file

    options = {"compression": "zstd", "use_dictionary": ["group"] if named else False, "write_page_checksum": True}
    with atomic_path(path) as temporary, pq.ParquetWriter(temporary, table.schema, **options) as writer:
        writer.write_table(table, ROW_GROUP)


class CountsFile(NamedTuple):
    """A file of counts that is read in pieces.

    Attributes:
        path: the file.
        splitter: the pattern and normalization of the words.
        totals: the sum of the counts of each group, in the order of the file; without named groups, the name is
            `UNNAMED`.
        texts: digests of the counted texts, if they are known.
    """

    path: Path
    splitter: Splitter
    totals: dict[str, int]
    texts: list[str]

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> CountsFile:
        """Read the metadata of a file of counts, and check it as far as possible without reading the words.

        Raises:
            MwSError: the file is missing, is not a file of counts, has a newer format, or its metadata was altered.
        """
        with about(path):
            with _parquet(Path(path)) as file:
                schema = file.schema_arrow
            settings = {
                k.decode("utf-8", "replace"): v.decode("utf-8", "replace") for k, v in (schema.metadata or {}).items()
            }
            named = _checked_version(schema, settings)
            try:
                totals = _checked_totals(settings, named)
                texts = [str(mark) for mark in json.loads(settings.get("texts", "[]"))]
            except (KeyError, TypeError, ValueError, RecursionError) as error:
                if isinstance(error, MwSError):
                    raise
                raise Fault(f"its metadata cannot be read ({brief(error)}); count again") from error
            try:
                compiled(settings["pattern"])
                splitter = Splitter(settings["pattern"], settings["normalization"] or None)
            except MwSError as error:
                raise Fault(str(error)) from error
        return cls(Path(path), splitter, totals, texts)

    def batches(self, rows: int) -> Iterator[tuple[str, Columns]]:
        """Yield words and counts with the name of their group, in the order of the file.

        Args:
            rows: the number of rows that are read at once.

        Raises:
            MwSError: the file is damaged or was altered.
        """
        rest, first = dict(self.totals), 1
        with about(self.path):
            with _parquet(self.path) as file:
                for batch in file.iter_batches(rows, use_threads=False):
                    table = pa.Table.from_batches([batch])
                    check_utf8(table["word"])
                    _check_rows(table, first)
                    first += len(table)
                    for name, part in _rows_by_group(table, list(self.totals)).items():
                        if len(part):
                            numbers = count_column(part)
                            rest[name] -= exact_sum(numbers)
                            yield name, (part["word"].combine_chunks(), numbers)
            if any(rest.values()):
                raise Fault(_ALTERED)


def _checked_totals(settings: Mapping[str, str], named: bool) -> dict[str, int]:
    """Return the total of each group, after checking it against the fingerprint."""
    totals = json.loads(settings["groups"]) if named else {UNNAMED: int(settings["total"])}
    if not isinstance(totals, dict) or not all(type(total) is int and total >= 0 for total in totals.values()):
        raise ValueError("no total of each group")
    whole = fingerprint(settings["pattern"], settings["normalization"], sorted(totals) if named else ())
    if settings["fingerprint"] != whole or settings["total"] != str(sum(totals.values())):
        raise Fault(_ALTERED)
    check_total(sum(totals.values()))
    return totals


def _check_rows(table: pa.Table, first: int) -> None:
    """Raise `Fault` for a row without a word or a count; `first` is the number of the first row."""
    for what, column in (
        ("its word is missing or empty", pc.binary_length(table["word"])),
        ("its count is missing or below 1", table["count"]),
    ):
        if column.null_count or (len(column) and pc.min_max(column)["min"].as_py() < 1):
            row = first + next(i for i, value in enumerate(column.to_pylist()) if value is None or value < 1)
            raise Fault(f"row {row}: {what}; the file was altered, count again")


def check_total(total: int) -> None:
    """Raise `Fault` if the sum of all counts does not fit into 64 bits."""
    if total > MAX_TOTAL:
        raise Fault(f"word counts add up to {total}, which is more than a 64-bit integer can hold ({MAX_TOTAL})")


def exact_sum(counts: npt.NDArray[np.int64]) -> int:
    """Sum 64-bit counts without overflow, by adding up their upper and lower halves separately."""
    return (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())


def count_column(rows: pa.Table) -> npt.NDArray[np.int64]:
    """Return the column `count` of a table, which may contain integers of any type, as int64."""
    return integers(pc.cast(rows["count"], pa.int64()).combine_chunks())


def _checked_version(schema: pa.Schema, settings: Mapping[str, str]) -> bool:
    """Check that a file is a file of counts, and return whether it has named groups."""
    version = settings.get(_KEY.decode())
    if version not in (None, FORMAT_VERSION, GROUPS_VERSION):
        raise Fault(
            f"contains word counts of format {version}, but this version reads {FORMAT_VERSION} and {GROUPS_VERSION}; "
            "update mws-hf"
        )
    named = version == GROUPS_VERSION
    if version is None or schema.names != ["word", "count", *(["group"] if named else [])]:
        raise Fault(
            f"is a Parquet file, but does not contain word counts (columns: {', '.join(schema.names)}); "
            "make word counts with `mws count`"
        )
    kinds = dict(zip(schema.names, schema.types, strict=True))
    for name, kind in kinds.items():
        if not (pa.types.is_integer(kind) if name == "count" else is_text(kind)):
            raise Fault(f"its column {name!r} contains {kind}; the file was altered, count again")
    return named


def _rows_by_group(table: pa.Table, names: list[str]) -> dict[str, pa.Table]:
    """Return the rows of each group; in the file, groups follow each other in the order of the metadata."""
    if "group" not in table.column_names:
        return {UNNAMED: table}
    try:
        of = pc.index_in(pc.cast(table["group"], pa.large_string()), value_set=arrow_strings(names)).combine_chunks()
    except pa.ArrowException as error:
        raise Fault(f"its groups of words cannot be read ({first_line(error)}); count again") from error
    if of.null_count:
        raise Fault("its groups do not match its own metadata; the file was altered, count again")
    numbers = integers(of)
    edges = np.searchsorted(numbers, np.arange(len(names) + 1)).tolist()
    if (np.diff(numbers) < 0).any():
        raise Fault("its groups are out of order; the file was altered, count again")
    return {name: table.slice(edges[k], edges[k + 1] - edges[k]) for k, name in enumerate(names)}


def check_utf8(strings: Any) -> None:
    """Raise `Fault` unless every word is valid UTF-8, which the kernels that read the words require."""
    try:
        strings.validate(full=True)
    except pa.ArrowException as error:
        raise Fault(f"some words are not UTF-8 ({first_line(error)}); count again") from error


def is_counts_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a Parquet file with the metadata of word counts."""
    try:
        with open(path, "rb") as stream:
            if stream.read(len(_MAGIC)) != _MAGIC:
                return False
        import pyarrow.parquet as pq

        with open_for_arrow(path) as stored:
            return _KEY in (pq.read_schema(stored).metadata or {})
    except (OSError, pa.ArrowException):
        return False


@contextmanager
def _parquet(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file; errors of reading it become a `Fault`."""
    import pyarrow.parquet as pq

    try:
        # `read_table` would import pandas, which takes 50 MB
        with open_for_arrow(path) as stored, pq.ParquetFile(stored, page_checksum_verification=True) as file:
            yield file
    except FileNotFoundError as error:
        raise Fault(why_missing(path)) from error
    except (OSError, pa.ArrowException) as error:
        raise Fault(f"is not a readable Parquet file of word counts ({first_line(error)}); count again") from error
