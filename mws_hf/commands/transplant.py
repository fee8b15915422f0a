"""`mws transplant`: a pretrained model on disk, fitted to another tokenizer."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from mws_hf.atomic import check_output
from mws_hf.commands.outputs import refuse_overwriting
from mws_hf.commands.sources import Json
from mws_hf.errors import MwSError


def transplant(
    model: Annotated[str, typer.Argument(help="Directory of a causal model with its tokenizer, or a Hub name.")],
    tokenizer: Annotated[str, typer.Argument(help="Directory of the new tokenizer, or a Hub name.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model directory to write.")],
    method: Annotated[str, typer.Option(help="mean of the old pieces, or focus.")] = "mean",
    multiple_of: Annotated[int, typer.Option(help="Fill rows up to a multiple of this.", min=1)] = 64,
    as_json: Json = False,
) -> None:
    """Give a pretrained model another tokenizer, such as its own extended by `mws extend`; nothing is trained.

    Rows of old tokens stay bit for bit. Only embeddings are held in memory.

    For example:

        mws transplant Qwen/Qwen3-0.6B out/qwen-ru -o out/qwen-ru-model
    """
    refuse_overwriting([output], model, tokenizer)
    check_output(output, folder=True)
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MwSError("models need torch: pip install 'mws-hf[lm]'") from error
    from mws_hf.lm.checkpoint import transplant_directory

    report = dataclasses.asdict(transplant_directory(model, tokenizer, output, method, multiple_of))
    line = ", ".join(f"{number:,} {name}" for name, number in report.items())
    typer.echo(json.dumps({"directory": str(output), **report}) if as_json else f"{output}: rows {line}")
