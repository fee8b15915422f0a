"""`mws import` and `mws export`: the notebook's vocabulary.json + merges.json to and from a tokenizer directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mws_hf.atomic import check_output
from mws_hf.commands.figures import counted


def import_notebook_command(
    source: Annotated[Path, typer.Argument(help="A folder with vocabulary.json and merges.json.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The tokenizer directory to write.")],
) -> None:
    """Turn the original notebook's artifact into a Hugging Face directory; every id is kept.

    For example:

        mws import notebook/ --output out/imported
    """
    check_output(output, folder=True)
    from mws_hf.artifact import import_notebook

    tokenizer = import_notebook(source)
    tokenizer.save_pretrained(str(output))
    typer.echo(f"{output}: {counted(len(tokenizer), 'token')}")


def export_notebook_command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="An MwS tokenizer directory.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for vocabulary.json and merges.json.")],
) -> None:
    """Write a tokenizer in the original notebook's two-file layout.

    For example:

        mws export out/imported --output notebook/
    """
    check_output(output, folder=True)
    from mws_hf.artifact import export_notebook
    from mws_hf.tokenization_mws_fast import MwSTokenizerFast

    export_notebook(MwSTokenizerFast.from_pretrained(str(directory)), output)
    typer.echo(f"{output}: vocabulary.json, merges.json")
