"""`encode_corpus`: a corpus to token ids on disk, on all cores, in shards that an interrupted run need not repeat."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tqdm import tqdm

from mws_hf.atomic import write_text
from mws_hf.encode.corpus import MANIFEST, EncodedCorpus, read_manifest
from mws_hf.encode.encoder import BlockEncoder, Encoded, load_backend
from mws_hf.encode.shards import Shard, remove_dataset_files, write_dataset_files, write_shard
from mws_hf.encode.sources import Block, checksum, read_source, source_size
from mws_hf.errors import MwSError

SHARD_BYTES = 64 << 20
_FIXED = ("tokenizer", "separator", "document", "shard_size")


def encode_corpus(
    tokenizer: Any,
    source: Any,
    output: str | os.PathLike[str],
    *,
    workers: int | None = None,
    shard_size: int = SHARD_BYTES,
    separator: str | None = "eos",
    document: str = "line",
    field: str | None = None,
    column: str | None = None,
    resume: bool = True,
    show_progress: bool = False,
) -> EncodedCorpus:
    """Encode a corpus into a directory of memory-mapped ids that `datasets.load_from_disk` also reads.

    The ids of each document equal ``tokenizer.encode(document, add_special_tokens=False)`` of the Rust backend, for any
    tokenizer; character-level BPE with byte fallback after one of our split patterns takes the fast path. Output
    depends on the source and the arguments, never on the number of workers.

    Args:
        tokenizer: a directory, a fast transformers tokenizer or a `tokenizers.Tokenizer` (see `load_backend`).
        source: files (a path, glob or "-", or a list of them: text, .gz, .jsonl, .parquet), or an iterable of strings,
            or a `datasets` dataset. A list of documents must be given as ``iter(documents)``.
        output: the directory to write; it must not hold anything else.
        workers: threads; all cores by default. Tokenizers off the fast path use the threads of the Rust library.
        shard_size: bytes of text per shard, at least; a killed run loses at most one shard.
        separator: token written after each document: "eos" for the tokenizer's own, another token, or None.
        document: what a document is in text files: "line" (its line end included, so that the documents joined are the
            file) or "file".
        field: the field of JSON-lines records that holds the text.
        column: the text column of Parquet files and datasets.
        resume: continue an interrupted run after checking that the corpus begins as before; False starts anew.
        show_progress: a bar on standard error, if that is a terminal.

    Returns:
        The corpus, opened.

    Raises:
        MwSError: unreadable or empty source, text that is not UTF-8, no such separator, an output made from another
            tokenizer, corpus or settings.
    """
    if workers is not None and workers < 1:
        raise MwSError(f"workers={workers}: at least one thread is needed; None takes all cores")
    backend, eos = load_backend(tokenizer)
    encoder = BlockEncoder(backend, _separator_token(separator, eos))
    directory = Path(output)
    manifest = _begin(directory, encoder, document, shard_size, resume)
    with _progress(source, show_progress) as bar:
        blocks = read_source(source, document=document, field=field, column=column, advance=bar.update)
        _skip_finished(blocks, manifest["shards"], directory)
        pairs = _encode_in_order(encoder, blocks, workers or available_cores())
        for parts, check in _gathered(pairs, shard_size):
            name = f"shard-{len(manifest['shards']):05d}.arrow"
            manifest["shards"].append(write_shard(directory / name, parts, check))
            _write_manifest(directory, manifest)
    if not manifest["shards"]:
        raise MwSError("the corpus has no documents, nothing to encode")
    write_dataset_files(directory, manifest["shards"], encoder.dtype, _corpus_fingerprint(manifest))
    manifest["complete"] = True
    _write_manifest(directory, manifest)
    return EncodedCorpus.open(directory)


def _progress(source: Any, show: bool) -> tqdm:
    disable = None if show else True  # None: only where standard error is a terminal
    return tqdm(total=source_size(source), unit="B", unit_scale=True, desc="encode", disable=disable)


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _separator_token(separator: str | None, eos: str | None) -> str | None:
    if separator != "eos":
        return separator
    if eos is None:
        raise MwSError("the tokenizer has no end-of-sequence token to put between documents; name a separator, or None")
    return eos


def _begin(directory: Path, encoder: BlockEncoder, document: str, shard_size: int, resume: bool) -> dict[str, Any]:
    """The manifest to go on with: a new one, or that of an earlier run of the same kind."""
    if shard_size < 1:
        raise MwSError(f"shard_size={shard_size}: must be at least one byte")
    new: dict[str, Any] = {
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
    old = read_manifest(directory)
    if old is None:
        if directory.exists() and (not directory.is_dir() or any(directory.glob("*.arrow"))):
            raise MwSError(f"{directory}: holds something that is not an encoded corpus; choose another output")
        return new
    if not resume:
        for shard in old["shards"]:
            (directory / shard.file).unlink(missing_ok=True)
    else:
        for key in _FIXED:
            if old[key] != new[key]:
                raise MwSError(f"{directory}: was begun with another {key}; choose another output, or do not resume")
        new["shards"] = old["shards"]
    for rest in directory.glob(".*.tmp"):  # what a killed run was writing
        rest.unlink()
    remove_dataset_files(directory)
    _write_manifest(directory, new)
    return new


def _write_manifest(directory: Path, manifest: dict[str, Any]) -> None:
    shards: list[Shard] = manifest["shards"]
    totals = {
        "documents": sum(shard.documents for shard in shards),
        "tokens": sum(shard.tokens for shard in shards),
        "bytes": sum(shard.bytes for shard in shards),
    }
    rows = {**manifest, **totals, "shards": [shard._asdict() for shard in shards]}
    write_text(directory / MANIFEST, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def _corpus_fingerprint(manifest: dict[str, Any]) -> str:
    return "".join(shard.checksum for shard in manifest["shards"][-1:]) + manifest["tokenizer"]


def _skip_finished(blocks: Iterator[Block], shards: list[Shard], directory: Path) -> None:
    """Pass over the blocks of finished shards, making sure that they are the ones which were encoded."""
    for shard in shards:
        check = 0
        for block in _first(blocks, shard.blocks):
            check = checksum(block, check)
        if f"{check:016x}" != shard.checksum or not (directory / shard.file).is_file():
            raise MwSError(f"{directory}: {shard.file} is gone or comes from another corpus; choose another output")


def _first(blocks: Iterator[Block], count: int) -> Iterator[Block]:
    for _ in range(count):
        block = next(blocks, None)
        if block is None:
            return
        yield block


def _encode_in_order(encoder: BlockEncoder, blocks: Iterator[Block], workers: int) -> Iterator[tuple[Encoded, Block]]:
    """Encode on `workers` threads, a few blocks ahead, and hand results over in the order of the source."""
    threads = workers if encoder.is_fast else 1
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[tuple[Future[Encoded], Block]] = deque()
        for block in blocks:
            waiting.append((pool.submit(encoder.encode, block), block))
            if len(waiting) > 2 * threads:
                future, first = waiting.popleft()
                yield future.result(), first
        for future, first in waiting:
            yield future.result(), first


def _gathered(pairs: Iterator[tuple[Encoded, Block]], shard_size: int) -> Iterator[tuple[list[Encoded], str]]:
    """Blocks gathered into shards of at least `shard_size` bytes, with the checksum of their text."""
    parts, size, check = list[Encoded](), 0, 0
    for encoded, block in pairs:
        parts.append(encoded)
        size += block.size
        check = checksum(block, check)
        if size >= shard_size:
            yield parts, f"{check:016x}"
            parts, size, check = [], 0, 0
    if parts:
        yield parts, f"{check:016x}"
