"""`mws encode`: encode a corpus to token ids, to train a model on."""

from __future__ import annotations

import time
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from mws_hf.commands.options import (
    INPUTS,
    add_output,
    add_reading,
    add_tokenizer,
    add_writing,
    parse_bytes,
    reading_of,
)
from mws_hf.commands.outputs import claim_folder, show_written
from mws_hf.commands.parser import Parser
from mws_hf.errors import MwSError
from mws_hf.text.phrases import counted

if TYPE_CHECKING:
    from mws_hf.encode.corpus import EncodedCorpus

HELP = """
Encode a corpus to token ids in memory-mapped files, which `datasets.load_from_disk` and `mws_hf.EncodedCorpus` read.

If a run is interrupted, run the same command again to resume it. With --force, a corpus in the output folder that has a
different tokenizer, text or setting is replaced. A run that fails leaves a finished corpus unchanged.

For example:

    mws encode my-tokenizer 'corpus/*.txt.gz' --output ids

    mws encode my-tokenizer corpus.jsonl --output ids --separator none

    mws encode my-tokenizer corpus.txt --output ids-2 --dropout 0.1 --seed 2
"""


def add_options(parser: Parser) -> None:
    """Add the arguments and options of the command."""
    add_tokenizer(parser)
    add = parser.add_argument
    add("corpus", nargs="+", metavar="CORPUS...", help=f"{INPUTS}.")
    add_output(parser, "The folder to write.")
    add("--document", default="line", metavar="{line,file}", help="What a document is in text files.")
    separator = "Token after each document: eos, another token of the vocabulary, or none."
    add("--separator", default="eos", metavar="TOKEN", help=separator)
    size = "Write a new shard after this much text, such as 500K or 1G [default: 64M]."
    add("--shard-size", default=64 << 20, metavar="BYTES", type=parse_bytes, help=size)
    add("--dropout", metavar="SHARE", type=float, help="Probability that a merge fails (BPE-dropout), such as 0.1.")
    add("--seed", default=0, type=int, help="Seed of --dropout. Use a different one for each epoch.")
    add(
        "--drop",
        default="all",
        choices=("all", "morph", "composition"),
        help="Merges that --dropout applies to: all, those within a morph, or those across morphs (composition).",
    )
    add_reading(parser)
    add_writing(parser)


def run(given: Namespace) -> None:
    """Encode a corpus, or resume an interrupted run, and write the folder."""
    from mws_hf.corpus.files import expand_paths
    from mws_hf.encode.bulk import encode_corpus
    from mws_hf.encode.corpus import DATASET_FILES, MANIFEST
    from mws_hf.tokenizer.merging import Dropout

    output = given.output
    if given.dropout is None and (given.seed != 0 or given.drop != "all"):
        raise MwSError("--seed and --drop are for --dropout; give it, such as --dropout 0.1, or leave them out")
    claim_folder(
        output, given.tokenizer, given.corpus, force=given.force, resumed=(MANIFEST, *DATASET_FILES, "*.arrow")
    )
    began, before = time.perf_counter(), _written(output / MANIFEST)
    encoded = encode_corpus(
        given.tokenizer,
        expand_paths(given.corpus),  # as paths, so that a missing file is not taken for a text
        output,
        shard_size=given.shard_size,
        separator=None if given.separator == "none" else given.separator,
        document=given.document,
        dropout=None if given.dropout is None else Dropout(given.dropout, given.seed, given.drop),
        **asdict(reading_of(given)),
        force=given.force,
        show_progress=not given.quiet,
    )
    unchanged = before is not None and before == _written(output / MANIFEST)
    _show_encoded(encoded, time.perf_counter() - began, unchanged, given)


def _show_encoded(encoded: EncodedCorpus, seconds: float, unchanged: bool, given: Namespace) -> None:
    """Print the result; an `unchanged` corpus was already complete before this run."""
    result = {
        "directory": str(encoded.directory),
        "documents": len(encoded),
        "tokens": encoded.n_tokens,
        "bytes": encoded.n_bytes,
        "dtype": str(encoded.dtype),
        **{name: encoded.manifest[name] for name in ("separator", "fast_path")},
        "seconds": round(seconds, 3),
        "already_there": unchanged,
    }
    rate, ratio = encoded.n_bytes / 1e6 / max(seconds, 1e-9), encoded.n_bytes / max(encoded.n_tokens, 1)
    summary = (
        f"{encoded.directory}: {'is already there, with ' if unchanged else ''}{counted(len(encoded), 'document')}, "
        f"{counted(encoded.n_tokens, 'id')} ({encoded.dtype}), {ratio:.2f} bytes per id"
    )
    show_written(result, summary if unchanged else f"{summary}, {rate:.1f} MB/s", given)


def _written(manifest: Path) -> tuple[int, int] | None:
    """Return inode and modification time of a manifest, to find out whether it is replaced; None without one."""
    status = manifest.stat() if manifest.exists() else None
    return status and (status.st_ino, status.st_mtime_ns)
