"""`mws import`: the notebook's vocabulary.json + merges.json to a tokenizer directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mws_hf.atomic import check_output
from mws_hf.commands.figures import counted
from mws_hf.commands.outputs import refuse_overwriting, tokenizer_files


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
