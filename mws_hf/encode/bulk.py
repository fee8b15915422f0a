"""Write the token ids of a corpus (`encode_corpus`), on all cores and in shards that a resumed run does not repeat."""

from __future__ import annotations

import os
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path
from typing import Any

from mws_hf.atomic import output_lock
from mws_hf.corpus.blocks import MAX_BYTES_WITHOUT_KERNELS, Block
from mws_hf.corpus.files import Reading, progress_bar
from mws_hf.corpus.sources import Source
from mws_hf.encode.corpus import DATASET_FILES, EncodedCorpus, Shard, shard_name, write_shard
from mws_hf.encode.encoder import BlockEncoder, EncodedBlock
from mws_hf.encode.plan import Plan, finish, prepare, write_manifest
from mws_hf.errors import MwSError, SettingError, check_count
from mws_hf.kernels.threads import thread_count
from mws_hf.tokenizer.merging import Dropout
from mws_hf.tokenizer.opened import open_tokenizer

SHARD_BYTES = 64 << 20
"""The default minimum number of bytes of text in a shard."""
BLOCK_BYTES = 4 << 20
"""The usual number of bytes of text that a thread encodes at once."""
CHECKSUM_DIGITS = 8
"""The number of hexadecimal digits of the checksum of a shard; up to mws_hf 0.4.0 there were 16."""
_ENCODE_AGAIN = "choose another output, or give --force to encode it again"


def encode_corpus(
    tokenizer: Any,
    source: Any,
    output: str | os.PathLike[str],
    *,
    workers: int | None = None,
    shard_size: int = SHARD_BYTES,
    separator: str | None = "eos",
    document: str = "line",
    dropout: float | Dropout | None = None,
    column: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    resume: bool = True,
    force: bool = False,
    show_progress: bool = False,
) -> EncodedCorpus:
    """Encode a corpus into a folder of memory-mapped ids that `datasets.load_from_disk` can also read.

    The ids of each document are those of ``tokenizer.encode(document, add_special_tokens=False)`` of `tokenizers`, for
    any tokenizer. The fast path is for byte-level BPE, and BPE with byte fallback, if the split pattern is a named one.
    The output depends on the source and the arguments, but not on the number of workers.

    Args:
        tokenizer: a folder, a fast transformers tokenizer or a `tokenizers.Tokenizer` (see `open_tokenizer`).
        source: files (a path, glob or "-", or a list of them), or documents (an iterable of strings, a table, a
            `datasets` dataset), as for `MwSTrainer.train`; ``iter(texts)`` is never read as file names.
        output: the folder to write. It may contain a corpus that an earlier run wrote, but no other Arrow files.
        workers: number of threads. None takes the number from the environment variable MWS_NUM_THREADS or
            OMP_NUM_THREADS if one is set, otherwise one thread per processor. Tokenizers without the fast path use the
            threads of `tokenizers` instead.
        shard_size: minimum number of bytes of text in a shard; a killed run loses at most one shard.
        separator: token that is written after each document: "eos" for the tokenizer's own, another token, or None.
        document: what a document is in text files: "line", with its line end, so that the joined documents equal the
            file, or "file".
        dropout: BPE-dropout (`mws_hf.tokenizer.merging`): the probability that a merge is left out, or a `Dropout` with
            a seed. With the same seed a document always has the same ids, so give each epoch its own seed.
        column: the field of JSON-lines records, or the column of tables and datasets, that contains the text; None for
            ``text``. If it is given, standard input and files of unknown kinds are read as JSON lines.
        encoding: the encoding of text, JSON-lines and CSV files.
        errors: "strict", "replace" or "ignore" for bytes that are not text.
        resume: whether to continue an interrupted run after checking that the corpus begins as before; False starts
            again.
        force: whether to replace a corpus in the output that has a different tokenizer, text or settings. A finished
            corpus stays until the new one is complete. If an interrupted run with `force` is repeated, it resumes.
        show_progress: whether to draw a progress bar on standard error, if that is a terminal.

    Returns:
        The encoded corpus, open for reading.

    Raises:
        MwSError: an argument is out of range; the source is unreadable, empty or not in its encoding; the separator is
            not in the vocabulary; or the output has a different tokenizer, text or settings, is being written by
            another run, or cannot be written.
    """
    threads = thread_count(workers)
    directory = Path(output)
    with output_lock(directory):
        opened = open_tokenizer(tokenizer)
        how_dropped = dropout if dropout is None or isinstance(dropout, Dropout) else Dropout(dropout)
        kinds = opened.kinds if how_dropped is not None and how_dropped.kind != "all" else []
        encoder = BlockEncoder(
            opened.backend, separator_token(separator, opened.eos_token), dropout=how_dropped, kinds=kinds
        )
        manifest = new_manifest(encoder, document, shard_size)
        plan = Plan.of(directory, manifest, resume, force)
        how = Reading(column, encoding, errors)
        text = Source.of(source, how, groups=False, call="encode_corpus(tokenizer, iter(texts), ...)")
        with progress_bar(show_progress, total=text.size, unit="B", unit_scale=True, desc="encode") as bar:
            blocks = text.blocks(document, min(BLOCK_BYTES, shard_size), bar.update)
            manifest["shards"], blocks = _resumed(blocks, plan, force=force)
            if not plan.finished or not all((directory / name).is_file() for name in DATASET_FILES):
                pairs = _encode_in_order(encoder, blocks, threads)
                _write_shards(plan.work, manifest, gathered_shards(pairs, shard_size))
                finish(plan.work, directory, manifest)
    return EncodedCorpus.open(directory)


def _write_shards(work: Path, manifest: dict[str, Any], gathered: Iterator[tuple[list[EncodedBlock], str]]) -> None:
    """Write shards one by one; nothing on disk changes before the first one is encoded without an error."""
    shards: list[Shard] = manifest["shards"]
    for number, (parts, check) in enumerate(gathered):
        if number == 0:
            prepare(work, manifest)
        shards.append(write_shard(work / shard_name(len(shards)), parts, check))
        write_manifest(work, manifest)
    if not shards:
        raise MwSError("the corpus has no documents to encode; give files with text")


def separator_token(separator: str | None, eos: str | None) -> str | None:
    """Return the separator token; "eos" stands for the tokenizer's own end-of-sequence token.

    Args:
        separator: "eos", the text of another token, or None.
        eos: the end-of-sequence token of the tokenizer; None if it has none.

    Raises:
        MwSError: `separator` is not a string, or it is "eos" and the tokenizer has no such token.
    """
    if separator is not None and not isinstance(separator, str):
        raise SettingError("separator", separator, "is not a token; give its text, not its id")
    if separator != "eos":
        return separator
    if eos is None:
        raise MwSError(
            "the tokenizer has no end-of-sequence token to put between documents; give another separator, or none (in "
            "Python: None)"
        )
    return eos


def new_manifest(encoder: BlockEncoder, document: str, shard_size: int) -> dict[str, Any]:
    """Return the manifest of an unfinished corpus without shards.

    Raises:
        MwSError: `shard_size` is not a whole number of at least 1.
    """
    check_count("shard_size", shard_size)
    return {
        "format": 1,
        "complete": False,
        "tokenizer": encoder.fingerprint,
        "fast_path": encoder.is_fast,
        "dtype": str(encoder.dtype),
        "separator": encoder.separator,
        "separator_id": encoder.separator_id if encoder.separator is not None else None,
        "document": document,
        "shard_size": shard_size,
        "shards": [],
    }


def _resumed(blocks: Iterator[Block], plan: Plan, *, force: bool) -> tuple[list[Shard], Iterator[Block]]:
    """Compare the shards of an earlier run with the text, and return those to keep and the blocks still to be encoded.

    If `force` is given, the first shard of a different text and all shards after it are encoded again.

    Raises:
        MwSError: a shard cannot be compared, or the text differs or is longer, and `force` is not given.
    """
    for number, shard in enumerate(plan.shards):
        check, read, advice = 0, list[Block](), _ENCODE_AGAIN
        if len(shard.checksum) != CHECKSUM_DIGITS:
            what = f"{shard.file} has the checksum of an earlier mws_hf, so it cannot be compared with the text"
            advice = f"read it as it is with mws_hf.EncodedCorpus, {advice}" if plan.finished else advice
        else:
            for block in islice(blocks, shard.blocks):
                check = checksum(block, check)
                if force:
                    read.append(block)
            if f"{check:08x}" == shard.checksum:
                continue
            what = f"{shard.file} was encoded from a different corpus, field or column"
        if force:
            return plan.shards[:number], chain(read, blocks)
        raise MwSError(f"{plan.work}: {what}; {advice}")
    if plan.finished and next(blocks, None) is not None:
        raise MwSError(f"{plan.work}: was encoded from a shorter corpus; {_ENCODE_AGAIN}")
    return plan.shards, blocks


def _encode_in_order(
    encoder: BlockEncoder, blocks: Iterator[Block], workers: int
) -> Iterator[tuple[EncodedBlock, Block]]:
    """Encode blocks in `workers` threads, a few blocks ahead, and yield each result with its block, in order."""
    begin = list(islice(blocks, 2))
    if len(begin) == 1 and begin[0].size <= MAX_BYTES_WITHOUT_KERNELS:
        yield encoder.encode_without_kernels(begin[0]), begin[0]
        return
    blocks, threads = chain(begin, blocks), workers if encoder.is_fast else 1
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[tuple[Future[EncodedBlock], Block]] = deque()
        for block in blocks:
            waiting.append((pool.submit(encoder.encode, block), block))
            if len(waiting) > 2 * threads:
                future, first = waiting.popleft()
                yield future.result(), first
        for future, first in waiting:
            yield future.result(), first


def gathered_shards(
    pairs: Iterable[tuple[EncodedBlock, Block]], shard_size: int
) -> Iterator[tuple[list[EncodedBlock], str]]:
    """Yield encoded blocks in shards of at least `shard_size` bytes of text, with the checksum of their text."""
    parts, size, check = list[EncodedBlock](), 0, 0
    for encoded, block in pairs:
        parts.append(encoded)
        size += block.size
        check = checksum(block, check)
        if size >= shard_size:
            yield parts, f"{check:08x}"
            parts, size, check = [], 0, 0
    if parts:
        yield parts, f"{check:08x}"


def checksum(block: Block, seed: int = 0) -> int:
    """Compute the CRC-32 of the documents of a block and of their ends, continued from `seed`."""
    return zlib.crc32(block.offsets[1:].tobytes(), zlib.crc32(memoryview(block.buffer)[: block.size], seed))
