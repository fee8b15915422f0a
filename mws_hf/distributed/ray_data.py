"""Count and encode on Ray Data: this package's kernels in `map_batches`, sums and retries by Ray.

Workers need `mws_hf` installed; rows of null text are passed over, or get null ids. See ``docs/terabyte.md``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from mws_hf.corpus.columns import is_text
from mws_hf.corpus.files import DEFAULT_COLUMN, PathLike
from mws_hf.distributed.partitions import (
    PARTITION_CAP,
    SHARD,
    Counting,
    EncodingTask,
    assembled,
    check_columns,
    encoded_batches,
    names_of,
    partial_counts,
    summed,
    write_shards,
)
from mws_hf.encode.bulk import SHARD_BYTES
from mws_hf.encode.corpus import EncodedCorpus
from mws_hf.errors import MwSError
from mws_hf.text.pattern import DEFAULT_PATTERN

if TYPE_CHECKING:
    from ray.data import Dataset

    from mws_hf.corpus.counts import WordCounts
    from mws_hf.corpus.groups import GroupedCounts


def count(
    source: Dataset | PathLike | Sequence[PathLike],
    column: str = DEFAULT_COLUMN,
    *,
    group_column: str | None = None,
    pattern: str = DEFAULT_PATTERN,
    normalization: str | None = None,
    min_count: int = 1,
    partial_min_count: int = 1,
    memory_cap: int = PARTITION_CAP,
    partitions: int = 16,
) -> WordCounts | GroupedCounts:
    """Count the pre-tokens of a column of text on Ray: the same counts as `spark.count` gives for the same arguments.

    The source is a Ray Dataset, or Parquet files and folders by any name that Ray reads (``s3://...``); words are
    divided into so many `partitions` to be added up.

    Raises:
        MwSError: Ray is missing, there is no such column or no text in it, text that is not UTF-8.
    """
    how = Counting(column, group_column, pattern, normalization, partial_min_count, memory_cap)
    data = _dataset(source)
    check_columns(_columns(data), how.inputs, "Dataset")
    parts = data.select_columns(how.inputs).map_batches(
        partial(_tables, how.schema, partial_counts, how=how), **_BLOCKS
    )
    with _ray_errors("the job"):
        from ray.data.aggregate import Sum

        sums = parts.groupby(how.keys, num_partitions=partitions).aggregate(Sum("count", alias_name="count"))
        tables = [
            _wanted(table, how, min_count) for table in sums.iter_batches(batch_size=None, batch_format="pyarrow")
        ]
    return summed(pa.concat_tables([how.schema.empty_table(), *tables]), how, min_count)


def encode(
    data: Dataset,
    tokenizer: Any,
    column: str = DEFAULT_COLUMN,
    *,
    ids_column: str = "input_ids",
    separator: str | None = None,
) -> Dataset:
    """Add a column of token ids, list<int32>, to rows of text on Ray; nothing is computed before Ray is asked for rows.

    `spark.encode` describes the arguments.

    Raises:
        MwSError: there is no such tokenizer, separator or column, or `ids_column` is there already.
    """
    how = EncodingTask.of(_columns(data), "Dataset", tokenizer, column, separator, ids_column=ids_column)
    return data.map_batches(partial(_tables, None, encoded_batches, how=how), **_BLOCKS)


def write_corpus(
    data: Dataset,
    tokenizer: Any,
    column: str,
    output: str | os.PathLike[str],
    *,
    separator: str | None = "eos",
    shard_size: int = SHARD_BYTES,
) -> EncodedCorpus:
    """Encode a column of text into the directory that `encode_corpus` writes.

    `spark.write_corpus` describes the arguments.

    Documents are in the order of the dataset where its ``context.execution_options.preserve_order`` is set.
    """
    how = EncodingTask.of(_columns(data), "Dataset", tokenizer, column, separator, shard_size=shard_size)

    def write(folder: str) -> pa.Table:
        work = partial(_tables, SHARD, write_shards, how=how, folder=folder)
        rows = data.select_columns([column]).map_batches(work, **_BLOCKS)
        with _ray_errors("the job"):
            tables = list(rows.iter_batches(batch_size=None, batch_format="pyarrow"))
        return pa.concat_tables([SHARD.empty_table(), *(table.cast(SHARD) for table in tables if len(table))])

    return assembled(Path(output), how, write)


_BLOCKS: dict[str, Any] = {"batch_format": "pyarrow", "batch_size": None, "zero_copy_batch": True}
"""Whole blocks at once."""


def _tables(
    schema: pa.Schema | None, work: Callable[..., Iterator[pa.RecordBatch]], table: pa.Table, **options: Any
) -> Iterator[pa.Table]:
    """Let `work` make tables of a block; a table without rows where it makes none, so that Ray knows the columns."""
    any_rows = False
    for batch in work(table.to_batches(), **options):
        any_rows = True
        yield pa.Table.from_batches([batch])
    if not any_rows and schema is not None:
        yield schema.empty_table()


def _dataset(source: Any) -> Dataset:
    try:
        import ray.data
    except ImportError as error:
        raise MwSError("Ray Data is not installed: pip install 'mws-hf[ray]'") from error
    if hasattr(source, "map_batches"):
        return source
    with _ray_errors("reading Parquet"):
        return ray.data.read_parquet(names_of(source))


def _columns(data: Dataset) -> dict[str, bool]:
    """Tell, by name of column, whether it holds text."""
    with _ray_errors("the job"):
        schema = data.schema()
    kinds = [] if schema is None else zip(schema.names, schema.types, strict=True)
    return {name: kind is str or isinstance(kind, pa.DataType) and is_text(kind) for name, kind in kinds}


def _wanted(table: pa.Table, how: Counting, min_count: int) -> pa.Table:
    table = table.select([*how.keys, "count"]).cast(how.schema)
    return (
        table.filter(pc.greater_equal(table["count"], min_count))
        if min_count > 1 and how.group_column is None
        else table
    )


@contextmanager
def _ray_errors(what: str) -> Iterator[None]:
    """Turn a worker's message to the user, which is the cause of Ray's error or a line of it, into an error."""
    from ray.exceptions import RayError

    try:
        yield
    except (RayError, OSError) as error:
        said = re.findall(r"MwSError: (.*)", str(error))
        raise MwSError(said[-1] if said else f"Ray: {what} failed ({error})") from error
