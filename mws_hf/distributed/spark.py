"""Count and encode on Apache Spark 4, with the kernels of this package in `mapInArrow`.

Spark adds up the counts and runs failed partitions again. `mws_hf` must be installed on the workers. Rows with null
text are skipped, or get null ids. An `MwSError` is raised if pyspark or Java is missing, a column is missing, a text is
not UTF-8, or a job fails. See ``docs/terabyte.md``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mws_hf.corpus.files import DEFAULT_COLUMN, PathLike
from mws_hf.corpus.place import about
from mws_hf.distributed.partitions import (
    SHARD,
    Counting,
    EncodingTask,
    assembled,
    check_columns,
    encoded_batches,
    partial_counts,
    total_counts,
    write_shards,
)
from mws_hf.encode.bulk import SHARD_BYTES
from mws_hf.encode.corpus import EncodedCorpus
from mws_hf.errors import MwSError, check_count, first_line, needed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from mws_hf.corpus.counts import WordCounts


def count(
    source: DataFrame | PathLike | Sequence[PathLike],
    column: str = DEFAULT_COLUMN,
    *,
    min_count: int = 1,
    **settings: Any,
) -> WordCounts:
    """Count the pre-tokens of a column of text; the counts equal those of `count_files` for the same rows.

    Args:
        source: a DataFrame, or names of Parquet files and folders that Spark can read (``s3a://...``).
        column: the text column; each row is a document.
        min_count: words with a lower count in all partitions together are left out. This is exact, and the driver
            collects fewer words.
        **settings: `group_column`, `pattern`, `normalization`, `partial_min_count` and `memory_cap`, as
            `mws_hf.distributed.partitions.Counting` describes them.

    Returns:
        The counts of all partitions together, by group if there is a `group_column`.

    Raises:
        MwSError: Spark cannot start, a column is missing or not text, a number is not a whole number of at least 1, or
            the job fails.
    """
    how = Counting(column, **settings)
    check_count("min_count", min_count)
    df = _frame(source)
    from pyspark.sql import functions

    _checked(df, how.inputs)
    parts = _plain(df, how.inputs).mapInArrow(partial(partial_counts, how=how), _ddl(how.schema))
    sums = parts.groupBy(*how.keys).agg(functions.sum("count").alias("count"))
    if min_count > 1 and how.group_column is None:
        sums = sums.where(functions.col("count") >= min_count)
    return total_counts(_collected(sums), how, min_count)


def encode(
    df: DataFrame,
    tokenizer: Any,
    column: str = DEFAULT_COLUMN,
    *,
    ids_column: str = "input_ids",
    separator: str | None = None,
) -> DataFrame:
    """Add a column of token ids, ``array<int>``, to rows of text; Spark computes it when the rows are needed.

    The ids are those of ``tokenizer.encode(text, add_special_tokens=False)``, followed by the separator if there is
    one.

    Args:
        df: rows of text.
        tokenizer: any tokenizer that `encode_corpus` accepts; it is opened here and sent to the workers.
        column: the text column; null text has null ids.
        ids_column: the name of the new column.
        separator: the token after each document: "eos" for the end-of-sequence token, another token, or None.

    Returns:
        The rows with the new column.

    Raises:
        MwSError: there is no such text column or separator, the new column already exists, or a column name contains a
            dot or a backtick.
    """
    from pyspark.sql import types

    how = EncodingTask.of(_checked(df, [column]), "DataFrame", tokenizer, column, separator, ids_column=ids_column)
    if dotted := [name for name in df.columns if "." in name or "`" in name]:
        raise MwSError(f"DataFrame: mapInArrow does not support the column name {dotted[0]!r}; rename the column")
    ids = types.StructField(ids_column, types.ArrayType(types.IntegerType(), containsNull=True))
    return df.mapInArrow(partial(encoded_batches, how=how), types.StructType([*df.schema.fields, ids]))


def write_corpus(
    df: DataFrame,
    tokenizer: Any,
    column: str,
    output: str | os.PathLike[str],
    *,
    separator: str | None = "eos",
    shard_size: int = SHARD_BYTES,
) -> EncodedCorpus:
    """Encode a column of text into a folder like that of `encode_corpus`; the workers write its shards.

    `datasets.load_from_disk` and `EncodedCorpus.open` read the folder. Documents are in the order of the partitions,
    which Spark chooses for files. A run that fails or is killed leaves no corpus that can be opened.

    Args:
        df: rows of text; rows with null text are skipped.
        tokenizer: any tokenizer that `encode_corpus` accepts.
        column: the text column; each row is a document.
        output: a folder that does not exist or is empty, on a file system that the driver and all workers share. In
            an object store, write ``encode(...)`` as Parquet instead.
        separator: as for `encode`.
        shard_size: minimum number of bytes of text in a shard; all documents of a shard are from the same partition.

    Returns:
        The encoded corpus.

    Raises:
        MwSError: there is no such text column or separator, the output exists or is not on a shared file system, there
            are no documents, or the job fails.
    """
    how = EncodingTask.of(_checked(df, [column]), "DataFrame", tokenizer, column, separator, shard_size=shard_size)

    def write(folder: str) -> pa.Table:
        rows = _plain(df, [column]).mapInArrow(partial(write_shards, how=how, folder=folder), _ddl(SHARD))
        return _collected(rows)

    return assembled(Path(output), how, write)


def session() -> SparkSession:
    """Return the active session, or a new one with the default settings of Spark.

    Raises:
        MwSError: pyspark is not installed, or Spark cannot start.
    """
    needed("pyspark", "Spark", "'pyspark[sql]'")
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    try:
        return SparkSession.builder.appName("mws-hf").getOrCreate()
    except PySparkException as error:
        raise MwSError(
            f"Spark does not start ({first_line(error)}); it needs Java 17 or newer, in JAVA_HOME or on the PATH: "
            "install one, on Debian with: apt install openjdk-17-jre-headless"
        ) from error


def _frame(source: Any) -> DataFrame:
    """Return a DataFrame as it is, or read Parquet files as one."""
    if hasattr(source, "mapInArrow"):
        return source
    names = [source] if isinstance(source, (str, os.PathLike)) else source
    reader = session().read
    with _spark_errors("reading Parquet"):
        return reader.parquet(*map(os.fspath, names))


def _checked(df: DataFrame, wanted: Sequence[str]) -> dict[str, bool]:
    """Check that each wanted column exists exactly once and contains text; return which columns contain text."""
    texts = "string", "varchar", "char"
    found = [(field.name, field.dataType.typeName() in texts) for field in df.schema.fields]
    with about("DataFrame"):
        check_columns(found, wanted)
    return dict(found)


def _plain(df: DataFrame, names: Sequence[str]) -> DataFrame:
    """Select columns under new names without dots, because Spark reads a dot in a name as access to a field."""
    quoted = (name.replace("`", "``") for name in names)
    return df.selectExpr(*(f"`{name}` as column_{k}" for k, name in enumerate(quoted)))


def _ddl(schema: pa.Schema) -> str:
    """Return a schema in the language of Spark."""
    return ", ".join(f"{field.name} {'bigint' if field.type == pa.int64() else 'string'}" for field in schema)


def _collected(df: DataFrame) -> pa.Table:
    """Run the job, and return its rows."""
    with _spark_errors("the job"):
        return df.toArrow()


@contextmanager
def _spark_errors(what: str) -> Iterator[None]:
    """Raise a Spark error as MwSError, with the message of a worker's MwSError if the traceback contains one."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        remote = re.search(r"mws_hf\.(?:errors\.MwSError|corpus\.place\.Fault): (.*)", str(error))
        raise MwSError(remote.group(1) if remote else f"Spark: {what} failed ({first_line(error)})") from error
