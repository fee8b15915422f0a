"""`mws count` and `mws encode`: what becomes of a corpus, counts to train from and ids to train on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mws_hf.commands import options
from mws_hf.commands.options import Read, Writing, argument, option, parse_bytes, parse_size
from mws_hf.commands.outputs import claim_file, claim_folder, counted, tell
from mws_hf.commands.sources import Words
from mws_hf.text.pattern import DEFAULT_PATTERN, Digits, with_digits

if TYPE_CHECKING:
    from mws_hf.encode.corpus import EncodedCorpus


def count_command(
    words: Words,
    output: Path = option("The counts file to write (Parquet).", names="--output -o"),
    *,
    pattern: str | None = options.setting("pattern"),
    digits: Digits | None = options.setting("digits"),
    normalization: str | None = options.setting("normalization"),
    memory_cap: int = option(
        "Spill to disk above this many bytes [default: 2G]; the words written are in memory in any case.",
        2 << 30,
        metavar="BYTES",
        read=parse_bytes,
    ),
    min_count: int = option("Leave out rarer words, once everything is added up.", 1, read=parse_size),
    writing: Writing,
) -> None:
    """Count pre-tokens of text, or merge counts made before; train from the result with `mws train COUNTS`.

    For example:

        mws count 'corpus/*.txt.gz' --output counts.parquet

        mws count monday.parquet tuesday.parquet --output both.parquet

        mws count 'parts/*.parquet' --min-count 5 --memory-cap 1G --output whole.parquet

        mws count 'corpus/*.txt.gz' --pattern gpt4 --output for-the-classic-criterion.parquet

        mws count ru='ru/*.gz' en='en/*.gz' --output mixture.parquet

        mws train both.parquet --vocab-size 32000 --output out/mine
    """
    claim_file(output, words.read, force=writing.force)
    if digits:
        pattern = with_digits(pattern or DEFAULT_PATTERN, digits)
    saved = words.source.saved_alone if pattern is None and normalization is None else []
    if saved:
        from mws_hf.corpus.counting import merge_files

        counts = merge_files(saved, output, memory_cap=memory_cap, min_count=min_count)
    else:
        splitter = words.splitter(pattern, normalization)
        counts = words.count(splitter, memory_cap=memory_cap, show_progress=not writing.quiet).at_least(min_count)
        counts.save(output, words.source.marks())
    sizes = {name: {"types": len(part), "tokens": part.total} for name, part in counts.items()}
    result = {"file": str(output), "types": len(counts.union), "tokens": counts.total}
    lines = [
        f"{output}{', ' if name else ''}{name}: {counted(len(part), 'distinct pre-token')}, {part.total:,} in all"
        for name, part in counts.items()
    ]
    tell(result | ({} if "" in sizes else {"groups": sizes}), "\n".join(lines), writing.as_json)


def encode_command(
    tokenizer: str = options.TOKENIZER,
    corpus: Sequence[str] = argument(f"{options.INPUTS}."),
    output: Path = option("The directory to write.", names="--output -o"),
    *,
    document: str = option("What a document is in text files: line or file.", "line"),
    separator: str = option("Token after each document: eos, another token of the vocabulary, or none.", "eos"),
    shard_size: int = option(
        "Text in a shard, such as 500K or 1G [default: 64M].", 64 << 20, metavar="BYTES", read=parse_bytes
    ),
    dropout: float | None = option("Probability that a merge fails (BPE-dropout), such as 0.1.", None, metavar="SHARE"),
    seed: int = option("Of --dropout: which merges fail; another one for each pass.", 0),
    drop: Literal["all", "morph", "composition"] = option(
        "Merges that --dropout concerns: all, morph (within one), composition (across).", "all"
    ),
    reading: Read,
    writing: Writing,
) -> None:
    """Encode a corpus: memory-mapped ids that `datasets.load_from_disk` and `mws_hf.EncodedCorpus` read.

    Run the same command again to finish an interrupted run. A run that fails leaves a finished corpus as it was.

    For example:

        mws encode out/mine 'corpus/*.txt.gz' --output ids

        mws encode out/mine corpus.jsonl --output ids --separator none

        mws encode out/mine corpus.txt --output ids-2 --dropout 0.1 --seed 2
    """
    from mws_hf.corpus.files import expand_paths
    from mws_hf.encode.bulk import encode_corpus
    from mws_hf.encode.corpus import DATASET_FILES, MANIFEST
    from mws_hf.tokenizer.merging import Dropout

    claim_folder(output, tokenizer, corpus, force=writing.force, resumed=(MANIFEST, *DATASET_FILES, "*.arrow"))
    began, before = time.perf_counter(), _written(output / MANIFEST)
    encoded = encode_corpus(
        tokenizer,
        expand_paths(corpus),  # on a command line they are files, never texts
        output,
        shard_size=shard_size,
        separator=None if separator == "none" else separator,
        document=document,
        dropout=None if dropout is None else Dropout(dropout, seed, drop),
        **asdict(reading),
        force=writing.force,
        show_progress=not writing.quiet,
    )
    there = before is not None and before == _written(output / MANIFEST)
    _tell_encoded(encoded, time.perf_counter() - began, there, writing.as_json)


def _tell_encoded(encoded: EncodedCorpus, seconds: float, there: bool, as_json: bool) -> None:
    result = {
        "directory": str(encoded.directory),
        "documents": len(encoded),
        "tokens": encoded.n_tokens,
        "bytes": encoded.n_bytes,
        "dtype": str(encoded.dtype),
        **{name: encoded.manifest[name] for name in ("separator", "fast_path")},
        "seconds": round(seconds, 3),
        "already_there": there,
    }
    rate, ratio = encoded.n_bytes / 1e6 / max(seconds, 1e-9), encoded.n_bytes / max(encoded.n_tokens, 1)
    said = (
        f"{encoded.directory}: {'already there, ' if there else ''}{counted(len(encoded), 'document')}, "
        f"{counted(encoded.n_tokens, 'id')} ({encoded.dtype}), {ratio:.2f} bytes per id"
    )
    tell(result, said if there else f"{said}, {rate:.1f} MB/s", as_json)


def _written(manifest: Path) -> tuple[int, int] | None:
    """Return which file a manifest is and when it was written; None where there is none."""
    status = manifest.stat() if manifest.exists() else None
    return status and (status.st_ino, status.st_mtime_ns)
