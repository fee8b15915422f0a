"""`mws pretrained`: the trained tokenizers of this project, listed, or one of them written into a folder."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from mws_hf.commands import options
from mws_hf.commands.outputs import aligned, claim_folder, refuse_overwriting
from mws_hf.errors import MwSError


def pretrained_command(
    name: Annotated[str | None, typer.Argument(help="The tokenizer to write [default: list all].")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder to write [default: NAME, in this folder].")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FILE|URL|DIR|hub:USER",
            help="A release's archive by path or URL, a folder of tokenizers, or a user of the Hub "
            "[default: MWS_PRETRAINED if set, else the checkout, else what was taken before].",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List the trained tokenizers of this project, or write one of them into a folder; its files are checked.

    No network is asked unless --from names a URL or the Hub. What is taken from an archive is kept in
    ~/.cache/mws_hf/pretrained, where `mws_hf.pretrained("NAME")` and `mws pretrained NAME` find it again. On a machine
    without a network, carry the archive there and name its path.

    For example:

        mws pretrained

        mws pretrained mws-ru-32k -o out/russian

        mws pretrained mws-fi-16k --from mws-pretrained.zip
    """
    from mws_hf.by_name import pretrained_folder, write_pretrained
    from mws_hf.tokenizer.hub import place_of, ready_made

    if name is not None:
        target = output or Path(name)
        refuse_overwriting([target], source)
        claim_folder(target, beside=pretrained_folder(name, source), anew=False)
        written = write_pretrained(name, target, source)
        entry = ready_made()[name]
        found = {"directory": str(written), "license": entry.license}
        typer.echo(json.dumps(found) if as_json else f"{written}: {name}, {entry.entries:,} entries, {entry.license}")
        return
    if output is not None or source is not None:
        raise MwSError("--output and --from are for one tokenizer; name it: mws pretrained NAME ...")
    rows = [{**asdict(entry), "here": place_of(entry.name)} for entry in ready_made().values()]
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False))
        return
    header = ["name", "languages", "entries", "MB", "F1", "tokens/word", "bytes/token", "licence", "here"]
    cells = [
        [
            row["name"],
            " ".join(row["languages"]),
            f"{row['entries']:,}",
            f"{row['megabytes']:.1f}",
            "" if row["f1"] is None else f"{row['f1']:.3f}",
            f"{row['tokens_per_word']:.2f}",
            f"{row['bytes_per_token']:.2f}",
            row["license"],
            row["here"] or "no: --from",
        ]
        for row in rows
    ]
    typer.echo(aligned([header, *cells]))
    typer.echo(
        "F1: boundary F1 on the first gold set of the language; lengths on held-out text. See docs/pretrained.md.",
        err=True,
    )
