"""`mws encode`: a corpus to token ids on disk, with any tokenizer directory."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from mws_hf.atomic import check_output
from mws_hf.commands.figures import counted, parse_bytes
from mws_hf.commands.sources import Column, Field, Json, Quiet, Workers


def encode(
    tokenizer: Annotated[
        str, typer.Argument(help="A tokenizer directory (any with a tokenizer.json), or a Hub name, user/repo.")
    ],
    corpus: Annotated[list[str], typer.Argument(help="Text, .jsonl, .parquet (.gz too), globs, '-' for stdin.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The directory to write.")],
    workers: Workers = None,
    document: Annotated[str, typer.Option(help="What a document is in text files: line or file.")] = "line",
    separator: Annotated[
        str, typer.Option(help="Token after each document: eos, another token of the vocabulary, or none.")
    ] = "eos",
    shard_size: Annotated[
        str, typer.Option(metavar="BYTES", help="Bytes of text per shard, such as 500K or 1G.")
    ] = "64M",
    resume: Annotated[bool, typer.Option(help="Go on with an interrupted run, or start anew.")] = True,
    field: Field = None,
    column: Column = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Encode a corpus: memory-mapped ids that `datasets.load_from_disk` and `mws_hf.encode.EncodedCorpus` read.

    Run the same command again to finish an interrupted run.

    For example:

        mws encode out/mine 'corpus/*.txt.gz' --output ids

        mws encode out/mine corpus.jsonl --field text --output ids --separator none
    """
    check_output(output, folder=True)
    shard_bytes = parse_bytes(shard_size, "--shard-size")
    from mws_hf.encode.bulk import encode_corpus

    began = time.perf_counter()
    encoded = encode_corpus(
        tokenizer,
        corpus,
        output,
        workers=workers,
        shard_size=shard_bytes,
        separator=None if separator == "none" else separator,
        document=document,
        field=field,
        column=column,
        resume=resume,
        show_progress=not quiet,
    )
    seconds = time.perf_counter() - began
    result = {
        "directory": str(output),
        "documents": len(encoded),
        "tokens": encoded.n_tokens,
        "bytes": encoded.n_bytes,
        "dtype": str(encoded.dtype),
        "separator": encoded.manifest["separator"],
        "fast_path": encoded.manifest["fast_path"],
        "seconds": round(seconds, 3),
    }
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False))
        return
    rate, ratio = encoded.n_bytes / 1e6 / max(seconds, 1e-9), encoded.n_bytes / max(encoded.n_tokens, 1)
    typer.echo(
        f"{output}: {counted(len(encoded), 'document')}, {counted(encoded.n_tokens, 'id')} ({encoded.dtype}), "
        f"{ratio:.2f} bytes per id, {rate:.1f} MB/s"
    )
