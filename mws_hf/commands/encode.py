"""`mws encode`: a corpus to token ids on disk, with any tokenizer directory."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from mws_hf.commands import options
from mws_hf.commands.options import Argument, Option
from mws_hf.commands.outputs import claim_folder, counted, files_in, refuse_overwriting, tell
from mws_hf.errors import ending

if TYPE_CHECKING:
    from mws_hf.encode.corpus import EncodedCorpus
    from mws_hf.tokenizer.merging import Dropped


def encode_command(
    tokenizer: options.Tokenizer,
    corpus: Annotated[list[str], Argument(help=f"{options.INPUTS}.")],
    output: Annotated[Path, Option("--output", "-o", help="The directory to write.")],
    workers: options.Workers = None,
    document: Annotated[str, Option(help="What a document is in text files: line or file.")] = "line",
    separator: Annotated[
        str, Option(help="Token after each document: eos, another token of the vocabulary, or none.")
    ] = "eos",
    shard_size: Annotated[str, Option(metavar="BYTES", help="Text in a shard, such as 500K or 1G.")] = "64M",
    dropout: Annotated[
        float | None, Option(metavar="SHARE", help="Probability that a merge fails (BPE-dropout), such as 0.1.")
    ] = None,
    seed: Annotated[int, Option(help="Of --dropout: which merges fail; another one for each pass.")] = 0,
    drop: Annotated[
        str, Option(help="Merges that --dropout concerns: all, morph (within morphs) or composition (across).")
    ] = "all",
    resume: Annotated[bool, Option(help="Go on with an interrupted run, or start anew.")] = True,
    force: Annotated[bool, Option("--force", help="Replace a finished corpus of other settings.")] = False,
    column: options.Column = None,
    encoding: options.Encoding = "utf-8",
    errors: options.Errors = "strict",
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Encode a corpus: memory-mapped ids that `datasets.load_from_disk` and `mws_hf.encode.EncodedCorpus` read.

    Run the same command again to finish an interrupted run. A run that fails leaves a finished corpus as it was.

    For example:

        mws encode out/mine 'corpus/*.txt.gz' --output ids

        mws encode out/mine corpus.jsonl --output ids --separator none

        mws encode out/mine corpus.txt --output ids-2 --dropout 0.1 --seed 2
    """
    shard_bytes = options.parse_bytes(shard_size, "--shard-size")
    from mws_hf.corpus.files import expand_paths
    from mws_hf.encode.bulk import encode_corpus
    from mws_hf.encode.corpus import DATASET_FILES, MANIFEST
    from mws_hf.tokenizer.merging import Dropout

    refuse_overwriting(files_in(output, (MANIFEST, *DATASET_FILES, "*.arrow")), tokenizer, corpus)
    claim_folder(output, tokenizer, corpus, force=force)
    began, before = time.perf_counter(), _written(output / MANIFEST)
    try:
        encoded = encode_corpus(
            tokenizer,
            expand_paths(corpus),  # on a command line they are files, never texts
            output,
            workers=workers,
            shard_size=shard_bytes,
            separator=None if separator == "none" else separator,
            document=document,
            dropout=None if dropout is None else Dropout(dropout, seed, cast("Dropped", drop)),
            column=column,
            encoding=encoding,
            errors=errors,
            resume=resume,
            force=force,
            show_progress=not quiet,
        )
    except KeyboardInterrupt as interrupt:
        if resume:
            raise  # `commands.app` says that the same command goes on
        said, code = ending(interrupt)
        print(f"\n{said}; the same command without --no-resume goes on from here", file=sys.stderr)
        raise SystemExit(code) from None
    there = before is not None and before == _written(output / MANIFEST)
    _tell(encoded, output, time.perf_counter() - began, there, as_json)


def _written(manifest: Path) -> tuple[int, int] | None:
    """Return which file a manifest is and when it was written; None where there is none."""
    status = manifest.stat() if manifest.exists() else None
    return status and (status.st_ino, status.st_mtime_ns)


def _tell(encoded: EncodedCorpus, output: Path, seconds: float, there: bool, as_json: bool) -> None:
    result = {
        "directory": str(output),
        "documents": len(encoded),
        "tokens": encoded.n_tokens,
        "bytes": encoded.n_bytes,
        "dtype": str(encoded.dtype),
        "separator": encoded.manifest["separator"],
        "fast_path": encoded.manifest["fast_path"],
        "seconds": round(seconds, 3),
        "already_there": there,
    }
    rate, ratio = encoded.n_bytes / 1e6 / max(seconds, 1e-9), encoded.n_bytes / max(encoded.n_tokens, 1)
    said = (
        f"{output}: {'already there, ' if there else ''}{counted(len(encoded), 'document')}, "
        f"{counted(encoded.n_tokens, 'id')} ({encoded.dtype}), {ratio:.2f} bytes per id"
    )
    tell(result, said if there else f"{said}, {rate:.1f} MB/s", as_json)
