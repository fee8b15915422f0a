"""`mws import` and `mws export`: the notebook's vocabulary.json + merges.json to and from a tokenizer directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mws_hf.atomic import check_output
from mws_hf.commands.figures import counted
from mws_hf.commands.outputs import files_in, refuse_overwriting, tokenizer_files


def import_notebook_command(
    source: Annotated[Path, typer.Argument(help="A folder with vocabulary.json and merges.json.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The tokenizer directory to write.")],
) -> None:
    """Turn the original notebook's artifact into a Hugging Face directory; every id is kept.

    For example:

        mws import notebook/ --output out/imported
    """
    from mws_hf.notebook import MERGES_FILE, VOCABULARY_FILE, import_notebook

    files = [source / VOCABULARY_FILE, source / MERGES_FILE]
    refuse_overwriting(tokenizer_files(output), source, files)
    check_output(output, folder=True)
    tokenizer = import_notebook(source)
    tokenizer.save_pretrained(str(output))
    typer.echo(f"{output}: {counted(len(tokenizer), 'token')}")


def export_notebook_command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="An MwS tokenizer directory.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for vocabulary.json and merges.json.")],
) -> None:
    """Write a tokenizer in the original notebook's two-file layout; one that it cannot carry exactly is refused.

    For example:

        mws export out/imported --output notebook/
    """
    from mws_hf.backend import pattern_of
    from mws_hf.notebook import MERGES_FILE, VOCABULARY_FILE, export_notebook
    from mws_hf.pattern import GPT4_PATTERN
    from mws_hf.tokenization_mws_fast import MwSTokenizerFast

    refuse_overwriting(files_in(output, (VOCABULARY_FILE, MERGES_FILE)), directory, list(directory.glob("*.json")))
    check_output(output, folder=True)
    tokenizer = MwSTokenizerFast.from_pretrained(str(directory))
    export_notebook(tokenizer, output)
    if pattern_of(tokenizer.backend_tokenizer) != GPT4_PATTERN:
        typer.echo(
            "its split pattern is not the notebook's: `mws import` reads it from merges.json, the notebook does not",
            err=True,
        )
    typer.echo(f"{output}: vocabulary.json, merges.json")
