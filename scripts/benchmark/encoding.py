"""Encoding tasks: the same lines with the same tokenizer, by our bulk encoder, `encode_batch` and tiktoken."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmark.job import Job, Run, Skip, Task, script

TOKENIZER = "tokenizer"  # folder of the tokenizer that the set-up trained
_BATCH = 10_000  # lines: the encodings of a whole corpus at once would take gigabytes


def lines_of(path: str) -> list[str]:
    """The lines of a text with their line ends."""
    with open(path, encoding="utf-8", newline="\n") as lines:
        return list(lines)


def to_disk(job: Job) -> Run:
    """Text file to memory-mapped ids on disk, loading of the tokenizer included."""
    from mws_hf.encode.bulk import encode_corpus

    def run() -> dict[str, Any]:
        corpus = encode_corpus(Path(job.shared) / TOKENIZER, job.text, Path(job.output) / "ids", separator=None)
        return {"tokens": corpus.n_tokens, "fast_path": corpus.manifest["fast_path"], "digest": str(corpus.n_tokens)}

    return run


def encode_command(job: Job) -> list[str]:
    """`mws encode` as a user starts it."""
    tokenizer = Path(job.shared) / TOKENIZER
    return [sys.executable, "-m", "mws_hf", "encode", str(tokenizer), job.text, "-o", job.output + "/ids", "--quiet"]


def in_memory(job: Job) -> Run:
    """Text in memory to ids in memory on all cores: the kernel without reading and writing."""
    from mws_hf.encode.bulk import source_blocks
    from mws_hf.encode.encoder import BlockEncoder
    from mws_hf.kernels.threads import thread_count
    from mws_hf.tokenizer.opened import open_tokenizer

    backend = open_tokenizer(Path(job.shared) / TOKENIZER).backend
    blocks = list(source_blocks([job.text]))

    def run() -> dict[str, Any]:
        encoder = BlockEncoder(backend)
        with ThreadPoolExecutor(thread_count()) as pool:
            tokens = sum(len(encoded.ids) for encoded in pool.map(encoder.encode, blocks))
        return {"tokens": tokens, "digest": str(tokens)}

    return run


def rust_batches(job: Job, method: str) -> Run:
    """`encode_batch` or `encode_batch_fast` (without offsets) on lists of lines; ids stay in the Rust objects."""
    from tokenizers import Tokenizer

    backend = Tokenizer.from_file(str(Path(job.shared) / TOKENIZER / "tokenizer.json"))
    encode = getattr(backend, method)
    lines = lines_of(job.text)
    batches = [lines[i : i + _BATCH] for i in range(0, len(lines), _BATCH)]
    return lambda: {"tokens": sum(sum(map(len, encode(batch, add_special_tokens=False))) for batch in batches)}


def byte_ranks(backend: Any) -> dict[bytes, int]:
    """The vocabulary as tiktoken wants it: byte strings by rank, which in a byte-level training is the id."""
    from mws_hf.text.byte_alphabet import bytes_of

    added = backend.get_added_tokens_decoder()
    by_id = sorted((number, token) for token, number in backend.get_vocab().items() if number not in added)
    return {bytes_of(token): number for number, token in by_id}


def tiktoken_batch(job: Job) -> Run:
    """The library tiktoken with the same merges.

    Raises:
        Skip: it is not installed, or gives other ids in some line.
    """
    from tokenizers import Tokenizer

    from mws_hf.kernels.threads import thread_count
    from mws_hf.tokenizer.backend import pattern_of

    try:
        import tiktoken
    except ImportError:
        raise Skip("tiktoken is not installed") from None
    backend = Tokenizer.from_file(str(Path(job.shared) / TOKENIZER / "tokenizer.json"))
    ranks = byte_ranks(backend)
    encoding = tiktoken.Encoding("mws", pat_str=pattern_of(backend), mergeable_ranks=ranks, special_tokens={})
    lines = lines_of(job.text)
    for start in range(0, len(lines), _BATCH):
        batch = lines[start : start + _BATCH]
        ours = backend.encode_batch_fast(batch, add_special_tokens=False)
        theirs = encoding.encode_ordinary_batch(batch)
        pairs = zip(ours, theirs, strict=True)
        different = sum(a.ids != b for a, b in pairs)
        if different:
            raise Skip(
                f"with the same merges tiktoken gives other ids in {different} of {len(batch)} lines: it joins "
                "neighbours whenever their product is a token, whichever merge made that token"
            )
    threads = thread_count()
    return lambda: {"tokens": sum(map(len, encoding.encode_ordinary_batch(lines, num_threads=threads)))}


TASKS = {
    "encode/mws-disk": Task(to_disk, encode_command, ours=True),
    "encode/mws-memory": Task(in_memory, ours=True),
    "encode/encode_batch": Task(partial(rust_batches, method="encode_batch"), script),
    "encode/encode_batch_fast": Task(partial(rust_batches, method="encode_batch_fast")),
    "encode/tiktoken": Task(tiktoken_batch),
}
