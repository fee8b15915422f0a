"""Add up saved counts of any number of files into one file, within a memory cap.

Rows are added to hash tables; rows that these cannot hold are spilled, sorted by hash. Then one range of hashes after
another is summed, pruned and written as a run in canonical order, and the runs are merged into the one order of the
result. So the peak depends neither on the number of files nor on the number of words.
"""

from __future__ import annotations

import os
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mws_hf.corpus.columns import Columns, arrow_integers, arrow_strings, flat_utf8
from mws_hf.corpus.counts import in_order
from mws_hf.corpus.counts_file import ROW_GROUP, CountsFile, check_total, counts_writer, settings_of
from mws_hf.corpus.token_table import MEMORY_CAP, SMALLEST_TABLE, Shards, TokenTable, summed
from mws_hf.errors import MwSError
from mws_hf.text.pattern import cut_by

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_ROWS = 1 << 15  # of a batch that is read from a file
_RUN_ROWS = 1 << 12  # and from a run: one of each run is in memory at a time
EMPTY: Columns = (arrow_strings([]), np.zeros(0, np.int64))
Groups: TypeAlias = dict[str, Columns]


class Merged(NamedTuple):
    """Figures of `merge_files`: distinct words and the sum of all counts, together and of each group ("": no group)."""

    types: int
    tokens: int
    groups: dict[str, tuple[int, int]]


def merge_files(
    paths: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    memory_cap: int = MEMORY_CAP,
    min_count: int = 1,
) -> Merged:
    """Add up saved counts into another such file: the same file, to the byte, as `merge` and `save` make in memory.

    Counts above some `memory_cap` bytes are spilled to a temporary folder. Words rarer than `min_count`,
    in all groups together, are left out after everything is added up.
    """
    files = _checked_alike([CountsFile.open(path) for path in paths])
    first = files[0]
    names = sorted({name for file in files for name in file.totals})
    step = max(memory_cap // 4, SMALLEST_TABLE * len(names))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mws-runs-")))
        runs = {name: _Runs(folder, number) for number, name in enumerate(names)}
        types = 0
        for groups in _summed(files, {name: stack.enter_context(Shards()) for name in names}, step):
            groups, found = _frequent(groups, min_count)
            types += found
            for name, columns in groups.items():
                runs[name].add(columns)
        totals = {name: run.tokens for name, run in runs.items()}
        texts = sorted({mark for file in files for mark in file.texts})
        settings = settings_of(totals, first.pattern, first.normalization, texts)
        empty = _columns_table(EMPTY, 0, names)
        writer = stack.enter_context(counts_writer(output, empty.schema.with_metadata(settings)))
        _write_merged(writer, _tables(runs), empty)
    sizes = {name: (run.types, run.tokens) for name, run in runs.items()}
    return Merged(types, sum(run.tokens for run in runs.values()), sizes)


def _checked_alike(files: list[CountsFile]) -> list[CountsFile]:
    if not files:
        raise MwSError("no files of word counts to merge")
    first = files[0]
    for file in files[1:]:
        if (file.pattern, file.normalization) != (first.pattern, first.normalization):
            raise MwSError(
                f"{file.path}: counted with {cut_by(file.pattern, file.normalization)}, but {first.path} with "
                f"{cut_by(first.pattern, first.normalization)}; count again with one setting"
            )
        if ("" in file.totals) != ("" in first.totals):
            raise MwSError(f"{file.path}, {first.path}: only one of them names groups of words; count the other so too")
    check_total(sum(sum(file.totals.values()) for file in files))
    return files


def _summed(files: Sequence[CountsFile], shards: dict[str, Shards], step: int) -> Iterator[Groups]:
    """Yield the sums over all files, one range of hashes after another: no word comes twice."""
    tables = {name: TokenTable() for name in shards}
    for file in files:
        for name, (words, counts) in file.batches(_ROWS):
            tables[name].count_words(*flat_utf8(words), counts)
            if sum(table.nbytes for table in tables.values()) > step:
                _spill(tables, shards)
    if not any(map(len, shards.values())):
        yield {name: table.entries() for name, table in tables.items()}
        return
    _spill(tables, shards)
    del tables
    parts = 1 + sum(each.nbytes for each in shards.values()) // step
    for number in range(parts):
        yield {name: each.part(number, parts) for name, each in shards.items()}


def _spill(tables: dict[str, TokenTable], shards: dict[str, Shards]) -> None:
    for name, table in tables.items():
        if len(table):
            shards[name].add(table)
            table.clear()


def _frequent(groups: Groups, min_count: int) -> tuple[Groups, int]:
    """Keep the words that all groups together have at least `min_count` times; return their distinct number too."""
    words, counts = _union(groups)
    kept = counts >= min_count
    types = int(np.count_nonzero(kept))
    if types == len(counts):
        return groups, types
    if len(groups) == 1:
        return {name: _where(columns, pa.array(kept)) for name, columns in groups.items()}, types
    words = words.filter(pa.array(kept))
    return {name: _where(each, pc.is_in(each[0], value_set=words)) for name, each in groups.items()}, types


def _union(groups: Groups) -> Columns:
    if len(groups) == 1:
        return next(iter(groups.values()))
    return summed(groups.values())


def _where(columns: Columns, mask: pa.BooleanArray) -> Columns:
    return columns[0].filter(mask), columns[1][np.asarray(mask)]


class _Runs:
    """Files, each in canonical order, of the words of one group; no word is in two of them."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder, self._number, self._files = folder, number, list[Path]()
        self.types = self.tokens = 0

    def add(self, columns: Columns) -> None:
        """Write a run."""
        words, counts = in_order(*columns)
        self.types, self.tokens = self.types + len(counts), self.tokens + int(counts.sum())
        if len(counts):
            self._files.append(self._folder / f"{self._number}-{len(self._files)}.arrow")
            table = pa.table({"word": words, "count": arrow_integers(counts)})
            with pa.OSFile(str(self._files[-1]), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table, _RUN_ROWS)

    def merged(self) -> Iterator[Columns]:
        """Merge all runs into one, in canonical order, piece by piece."""
        heads = [(next(run), run) for run in map(_read_columns, self._files)]
        while heads:
            bound = min(_key(words, counts, len(counts) - 1) for (words, counts), _ in heads)
            taken, rest = list[Columns](), []
            for (words, counts), run in heads:
                cut = bisect_right(range(len(counts)), bound, key=partial(_key, words, counts))
                taken.append((words[:cut], counts[:cut]))
                head = (words[cut:], counts[cut:]) if cut < len(counts) else next(run, None)
                if head is not None:
                    rest.append((head, run))
            yield in_order(pa.concat_arrays([words for words, _ in taken]), np.concatenate([c for _, c in taken]))
            heads = rest


def _read_columns(path: Path) -> Iterator[Columns]:
    with pa.OSFile(str(path)) as source, pa.ipc.open_file(source) as reader:
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            yield batch.column(0), batch.column(1).to_numpy()


def _key(words: pa.LargeStringArray, counts: np.ndarray, row: int) -> tuple[int, str]:
    return -int(counts[row]), words[row].as_py()


def _tables(runs: dict[str, _Runs]) -> Iterator[pa.Table]:
    """Yield the rows of all groups in the order of the file."""
    for number, run in enumerate(runs.values()):
        for columns in run.merged():
            yield _columns_table(columns, number, list(runs))


def _columns_table(columns: Columns, number: int, names: list[str]) -> pa.Table:
    """Make a table of the rows of the group of that number."""
    rows = {"word": columns[0], "count": arrow_integers(columns[1])}
    if "" not in names:
        of = arrow_integers(np.full(len(columns[1]), number, np.int64))
        rows["group"] = pa.DictionaryArray.from_arrays(of, arrow_strings(names))
    return pa.table(rows)


def _write_merged(writer: pq.ParquetWriter, tables: Iterator[pa.Table], empty: pa.Table) -> None:
    """Write the rows in groups of `ROW_GROUP`, one of them in memory at a time; `empty` where there are none."""
    waiting, size, any_rows = [empty], 0, False
    for table in tables:
        while size + len(table) >= ROW_GROUP:
            cut = ROW_GROUP - size
            waiting.append(table.slice(0, cut))
            writer.write_table(_joined(waiting), ROW_GROUP)
            table, size, any_rows = table.slice(cut), 0, True
        waiting.append(table)
        size += len(table)
    if size or not any_rows:
        writer.write_table(_joined(waiting), ROW_GROUP)


def _joined(tables: list[pa.Table]) -> pa.Table:
    """Join tables into one that alone holds their rows: the list is emptied."""
    whole = pa.concat_tables(tables).combine_chunks()
    tables.clear()
    return whole
