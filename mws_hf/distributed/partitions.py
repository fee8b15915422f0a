"""Count or encode one partition, for Spark or another engine: Arrow batches become partial counts, ids or shards.

No engine is imported here. An engine may process a partition twice, if a worker dies or is slow. This is safe because a
result depends only on the batches, and because each attempt writes files with new names. The driver uses the files that
the engine reports.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tokenizers import Tokenizer

from mws_hf.atomic import staged
from mws_hf.corpus.arrow_arrays import arrow_integers, flat_utf8, valid_strings
from mws_hf.corpus.blocks import Block, arrow_block, padded
from mws_hf.corpus.columns import by_group, check_names
from mws_hf.corpus.counting import GroupTables
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.counts_file import check_utf8, count_column
from mws_hf.corpus.groups import UNNAMED
from mws_hf.corpus.place import Fault, about
from mws_hf.corpus.splitter import Splitter
from mws_hf.encode.bulk import BLOCK_BYTES, SHARD_BYTES, gathered_shards, new_manifest, separator_token
from mws_hf.encode.corpus import MANIFEST, EncodedCorpus, Shard, shard_name, write_shard
from mws_hf.encode.encoder import BlockEncoder
from mws_hf.encode.plan import finish
from mws_hf.errors import MwSError, check_count
from mws_hf.text.pattern import DEFAULT_PATTERN, compiled
from mws_hf.tokenizer.opened import open_tokenizer

SHARD = pa.schema([(name, pa.string() if name in ("file", "checksum") else pa.int64()) for name in Shard._fields])
"""The schema of the rows in which a worker reports the files that it wrote."""

_BATCH_ROWS = 1 << 16  # rows of a batch of partial counts
Batches = Iterable[pa.RecordBatch]


@dataclass(frozen=True)
class Counting:
    """The settings for counting partitions.

    Raises:
        MwSError: the pattern or the normalization is not valid, or a number is not a whole number of at least 1.

    Attributes:
        column: the text column; each row is a document.
        group_column: the column with the group of each row, such as its language; with it, counts are by group.
        pattern: the split pattern.
        normalization: Unicode normalization before splitting: None, "nfc", "nfd", "nfkc" or "nfkd". "capitals", or
            "nfc+capitals" and so on, also writes the marker of a training with ``capitals="marker"``.
        partial_min_count: words with a lower count are left out of each partial table, before the tables are added up.
            This reduces shuffling but is **not exact**. With P partial tables (one per partition, more if the words of
            a partition exceed `memory_cap`) a count is too low by at most ``(partial_min_count - 1) * P`` and never too
            high, and a rare word may be missing.
        memory_cap: maximum size in bytes of the counts that a task collects before it returns a partial table.
    """

    column: str
    group_column: str | None = None
    pattern: str = DEFAULT_PATTERN
    normalization: str | None = None
    partial_min_count: int = 1
    memory_cap: int = 256 << 20

    def __post_init__(self) -> None:
        object.__setattr__(self, "normalization", self.splitter.normalization)
        compiled(self.pattern)
        for name in ("partial_min_count", "memory_cap"):
            check_count(name, getattr(self, name))

    @property
    def splitter(self) -> Splitter:
        """The splitter that splits text into pre-tokens."""
        return Splitter(self.pattern, self.normalization)

    @property
    def inputs(self) -> list[str]:
        """The columns that are read."""
        return [self.column] if self.group_column is None else [self.column, self.group_column]

    @property
    def keys(self) -> list[str]:
        """The columns by which partial counts are summed."""
        return ["word"] if self.group_column is None else ["group", "word"]

    @property
    def schema(self) -> pa.Schema:
        """The schema of partial counts: the columns `keys`, and ``count``."""
        return pa.schema([*((key, pa.string()) for key in self.keys), ("count", pa.int64())])


def partial_counts(batches: Batches, how: Counting) -> Iterator[pa.RecordBatch]:
    """Count the documents of a partition.

    A word may occur in several of the resulting batches, so add up their counts.

    Args:
        batches: batches with the columns `how.inputs`, in that order; their names do not matter.
        how: the settings.

    Yields:
        Batches with the schema `how.schema`.

    Raises:
        MwSError: a text is not UTF-8, or a row with text has no group or an invalid one.

    >>> rows = pa.record_batch({"text": ["кот и кот", None, " и"]})
    >>> [batch.to_pydict() for batch in partial_counts([rows], Counting("text"))]
    [{'word': ['кот', ' и', ' кот'], 'count': [1, 2, 1]}]
    """
    count_block, column = how.splitter.counter(), f"column {how.column!r}"
    full: list[tuple[str, Any, Any]] = []
    tables = GroupTables(how.memory_cap, lambda group, table: full.append((group, *table.entries())))
    for batch in batches:
        with about(column):
            texts = valid_strings(batch.column(0))
        parts = [(UNNAMED, texts.drop_null())]
        if how.group_column is not None:
            with about(f"column {how.group_column!r}"):
                parts = list(by_group(texts, valid_strings(batch.column(1))))
        for group, part in parts:
            count_block(tables.table(group), arrow_block(part, lambda _: column))
        while full:
            yield from _partial_batches(*full.pop(0), how)
    for group, table in tables.items():
        yield from _partial_batches(group, *table.entries(), how)


def _partial_batches(group: str, words: Any, counts: Any, how: Counting) -> Iterator[pa.RecordBatch]:
    """Yield the counts of one table as batches with the schema `how.schema`."""
    if how.partial_min_count > 1:
        kept = counts >= how.partial_min_count
        words, counts = words.filter(pa.array(kept)), counts[kept]
    for start in range(0, len(words), _BATCH_ROWS):
        part = words.slice(start, _BATCH_ROWS).cast(pa.string())
        names = [] if how.group_column is None else [pa.repeat(pa.scalar(group, pa.string()), len(part))]
        columns = [*names, part, arrow_integers(counts[start : start + _BATCH_ROWS])]
        yield pa.RecordBatch.from_arrays(columns, schema=how.schema)


def check_columns(found: Sequence[tuple[str, bool]], wanted: Sequence[str]) -> None:
    """Raise `Fault` unless each of the wanted columns exists exactly once and contains text.

    Args:
        found: the name of each column, and whether it contains text.
        wanted: names of the columns that are needed.
    """
    for name, index in zip(wanted, check_names(wanted, [name for name, _ in found]), strict=True):
        if not found[index][1]:
            raise Fault(f"column {name!r} does not contain text; cast it to a string")


def total_counts(table: pa.Table, how: Counting, min_count: int) -> WordCounts:
    """Return the counts of a table of distinct words and their sums, by group if there are groups.

    Args:
        table: a table with the columns `how.keys` and ``count``; its rows may be in any order.
        how: the settings.
        min_count: words with a lower count in all groups together are left out. Without groups this has no effect,
            because the engine has already left them out.

    Raises:
        MwSError: a word is not UTF-8, or no row has text and a group.
    """

    def counts(rows: pa.Table) -> WordCounts:
        with about("word counts"):
            check_utf8(rows["word"])
        return WordCounts.of(rows["word"], count_column(rows), how.splitter)

    if how.group_column is None:
        return counts(table)
    names = pc.unique(table["group"]).to_pylist()
    if not names:
        raise MwSError("no row has both text and a group; check the names of the two columns")
    groups = {name: counts(table.filter(pc.equal(table["group"], name))) for name in names}
    return WordCounts.from_groups(groups).at_least(min_count)


@dataclass(frozen=True)
class EncodingTask:
    """The settings for encoding partitions, including the tokenizer; they are sent to the workers.

    Attributes:
        tokenizer_json: the content of tokenizer.json.
        encode_special_tokens: the tokenizer's setting of this name, which tokenizer.json does not contain.
        separator: the token after each document; None for none.
        column: the name of the text column.
        column_index: the index of the text column in batches.
        ids_column: the name of the new column of ids.
        shard_size: minimum number of bytes of text in a shard.
    """

    tokenizer_json: str
    encode_special_tokens: bool
    separator: str | None
    column: str
    column_index: int = 0
    ids_column: str = "input_ids"
    shard_size: int = SHARD_BYTES

    @classmethod
    def of(
        cls, columns: Mapping[str, bool], source: str, tokenizer: Any, column: str, separator: str | None, **more: Any
    ) -> EncodingTask:
        """Check the arguments of a call and return the task.

        Args:
            columns: the columns of the source, and whether each contains text.
            source: the name of the source in messages.
            tokenizer: any tokenizer that `encode_corpus` accepts.
            column: the text column.
            separator: the token after each document, as for `encode_corpus`.
            **more: `ids_column` or `shard_size`.

        Raises:
            MwSError: there is no such text column or separator, the new column already exists, or `shard_size` is not a
                whole number of at least 1.
        """
        new = more.get("ids_column")
        with about(source):
            check_columns(list(columns.items()), [column])
        if new in columns:
            raise MwSError(f"{source}: already has a column {new!r}; choose another ids_column")
        check_count("shard_size", more.get("shard_size", SHARD_BYTES))
        index = 0 if new is None else list(columns).index(column)
        opened = open_tokenizer(tokenizer)
        separator = separator_token(separator, opened.eos_token)
        how = cls(opened.backend.to_str(), opened.backend.encode_special_tokens, separator, column, index, **more)
        _encoder(how)  # checks the separator here and not on a worker
        return how


@lru_cache(maxsize=2)  # because a worker process encodes many partitions
def _encoder(how: EncodingTask) -> BlockEncoder:
    """Return the encoder for a task."""
    backend = Tokenizer.from_str(how.tokenizer_json)
    backend.encode_special_tokens = how.encode_special_tokens
    return BlockEncoder(backend, how.separator)


def encoded_batches(batches: Batches, how: EncodingTask) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a partition with a new column of token ids, list<int32>, which is null if the text is null."""
    encoder = _encoder(how)
    for rows, block in _blocks(batches, how):
        ids, ends, _ = encoder.encode(block)
        offsets = np.concatenate([[0], ends]).astype(np.int32)
        nulls = rows.column(how.column_index).is_null()
        lists = pa.ListArray.from_arrays(arrow_integers(offsets), arrow_integers(ids.astype(np.int32)), mask=nulls)
        yield rows.append_column(how.ids_column, lists)


def _blocks(batches: Batches, how: EncodingTask) -> Iterator[tuple[pa.RecordBatch, Block]]:
    """Yield rows in parts, each with its block of text; a row whose text is longer than a block is a separate part."""
    column, size = f"column {how.column!r}", min(BLOCK_BYTES, how.shard_size)
    for batch in batches:
        with about(column):
            texts = valid_strings(batch.column(how.column_index)).fill_null("")
        ends, start = flat_utf8(texts)[1], 0
        while start < len(batch):
            stop = max(start + 1, int(np.searchsorted(ends, ends[start] + size, side="right")) - 1)
            block = padded(arrow_block(texts.slice(start, stop - start), lambda _: column))
            yield batch.slice(start, stop - start), block
            start = stop


def write_shards(batches: Batches, how: EncodingTask, folder: str) -> Iterator[pa.RecordBatch]:
    """Write the ids of a partition into `folder` as shards of an encoded corpus; yield a row of `SHARD` for each."""
    encoder = _encoder(how)
    encoded = ((encoder.encode(block), block) for _, block in _blocks(batches, how))
    for parts, check in gathered_shards(encoded, how.shard_size):
        name = f"part-{secrets.token_hex(8)}.arrow"  # no other attempt at this partition uses the same name
        shard = write_shard(Path(folder) / name, parts, check)
        yield pa.RecordBatch.from_pylist([shard._asdict()], schema=SHARD)


def assembled(output: Path, how: EncodingTask, write: Callable[[str], pa.Table]) -> EncodedCorpus:
    """Assemble an encoded corpus from shards that workers write, in the order of the partitions.

    Args:
        output: the folder of the corpus, on a file system that all workers share.
        how: the settings.
        write: a function that runs `write_shards` on all partitions with the folder that it gets, and returns the rows
            that `write_shards` yields, in the order of the partitions.

    Raises:
        MwSError: the output exists, there are no documents, or the workers write to a different file system.
    """
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise MwSError(f"{output}: already exists; choose another output, or remove it")
    with staged(output, head=MANIFEST) as stage:
        rows = write(str(stage.absolute())).to_pylist()
        if not rows:
            raise MwSError("the corpus has no documents to encode; give rows with text")
        shards: list[Shard] = []
        for row in rows:
            name = shard_name(len(shards))
            try:
                (stage / row["file"]).rename(stage / name)
            except FileNotFoundError as error:
                raise MwSError(
                    f"{output}: the files of the workers are not there; choose a folder that all machines share"
                ) from error
            shards.append(Shard(**{**row, "file": name}))
        for leftover in stage.glob("part-*"):  # files of workers that died before they reported them
            leftover.unlink()
        finish(stage, stage, {**new_manifest(_encoder(how), "line", how.shard_size), "shards": shards})
    return EncodedCorpus.open(output)
