"""`mws count`: count pre-tokens once, save the counts, merge them with others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from mws_hf.commands.outputs import refuse_overwriting
from mws_hf.commands.sources import (
    Column,
    Encoding,
    Errors,
    Field,
    Files,
    Json,
    Lemmas,
    Lexicon,
    Quiet,
    Reading,
    Sources,
    WordList,
)
from mws_hf.pattern import GPT4_PATTERN


def count(
    output: Annotated[Path, typer.Option("--output", "-o", dir_okay=False, help="The counts file to write (Parquet).")],
    files: Files = None,
    lexicon: Lexicon = None,
    word_list: WordList = None,
    lemmas: Lemmas = None,
    classic: Annotated[
        bool, typer.Option("--classic", help="Split by GPT-4's pattern, as --criterion classic does.")
    ] = False,
    pattern: Annotated[str | None, typer.Option(help="Another split pattern (regular expression).")] = None,
    normalization: Annotated[str | None, typer.Option(help="nfc, nfd, nfkc or nfkd (lossy).")] = None,
    field: Field = None,
    column: Column = None,
    encoding: Encoding = "utf-8",
    errors: Errors = "strict",
    workers: Annotated[int | None, typer.Option(help="Threads [default: all cores].")] = None,
    memory_cap: Annotated[int | None, typer.Option(help="Spill to disk above this many bytes.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Count pre-tokens of text, or merge counts made before; train from the result with `mws train COUNTS`.

    Examples:
        mws count 'corpus/*.txt.gz' --output counts.parquet

        mws count monday.parquet tuesday.parquet --output both.parquet

        mws train both.parquet --vocab-size 32000 --output out/mine
    """
    refuse_overwriting([output], files, word_list, lemmas)
    reading = Reading(field, column, encoding, errors)
    sources = Sources.from_options(
        files, lexicon, word_list, lemmas, reading=reading, quiet=quiet, workers=workers, memory_cap=memory_cap
    )
    counts = sources.gather(GPT4_PATTERN if classic else pattern, normalization)
    counts.save(output)
    result = {"file": str(output), "types": len(counts), "tokens": int(counts.counts.sum())}
    if as_json:
        typer.echo(json.dumps(result))
    else:
        typer.echo(f"{output}: {result['types']:,} distinct pre-tokens, {result['tokens']:,} in all")
