"""The command line `python scripts/lm` with the commands pretrain, evaluate and generate."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from mws_hf.commands.entry import run  # noqa: E402
from mws_hf.errors import MwSError  # noqa: E402

if importlib.util.find_spec("torch") is None:
    sys.exit("error: language models need PyTorch, which is not installed; run: pip install torch accelerate")

app = typer.Typer(
    name="python scripts/lm",
    help="Train small language models over any tokenizer directory, measure them, and generate text.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def pretrain(
    output: Annotated[Path, typer.Argument(help="Run directory; an interrupted run in it is resumed.")],
    config: Annotated[Path | None, typer.Option(help="JSON file with the settings; options override it.")] = None,
    tokenizer: Annotated[str | None, typer.Option(help="Tokenizer directory.")] = None,
    text: Annotated[list[str] | None, typer.Option(help="UTF-8 text, one document per line; repeatable.")] = None,
    train_bytes: Annotated[int | None, typer.Option(help="Bytes of text to train on; default: all.")] = None,
    held_out_bytes: Annotated[int | None, typer.Option(help="Bytes of text to hold out.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the initial weights and of the order.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=JSON", help="Any other setting of a run.")
    ] = None,
    fresh: Annotated[bool, typer.Option(help="Start again instead of resuming.")] = False,
) -> None:
    """Train a small decoder.

    For example:

        python scripts/lm pretrain runs/mws --tokenizer out/mws --text corpus.txt --set layers=6 --set save_every=500
    """
    from lm.config import RunConfig
    from lm.training import pretrain as run

    values = RunConfig.load(config).to_dict() if config else {}
    named = {"tokenizer": tokenizer, "text": text or None, "train_bytes": train_bytes}
    named |= {"held_out_bytes": held_out_bytes, "seed": seed}
    values |= {key: value for key, value in named.items() if value is not None} | _assignments(set_ or [])
    report = run(RunConfig.from_dict(values), output, resume=not fresh)
    typer.echo(json.dumps({key: value for key, value in report.items() if key != "curve"}, indent=1))


@app.command()
def evaluate(
    run_dir: Annotated[Path, typer.Argument(help="Run directory of `pretrain`.")],
    text: Annotated[list[Path] | None, typer.Option(help="Text to score; default: held-out text.")] = None,
    batch_size: Annotated[int, typer.Option(help="Windows per forward pass.")] = 32,
) -> None:
    """Measure bits per byte, over all text and over seen and unseen words, and whether the tokenizer is lossless."""
    from lm.data import documents_of
    from lm.evaluation import evaluate_run

    documents = documents_of(text) if text else None
    result = evaluate_run(run_dir, documents, batch_size=batch_size)
    shown = {key: value for key, value in result.items() if key not in ("nats", "n_bytes", "represented")}
    typer.echo(json.dumps(shown, ensure_ascii=False, indent=1))


@app.command()
def generate(
    run_dir: Annotated[Path, typer.Argument(help="Run directory of `pretrain`.")],
    prompt: Annotated[str, typer.Option(help="Beginning of the text.")] = "",
    max_new_tokens: Annotated[int, typer.Option(help="Maximum number of new tokens.")] = 60,
) -> None:
    """Continue a prompt greedily; a multi-token model decodes speculatively and reports its acceptance rates."""
    from lm.evaluation import generate as continue_prompt
    from lm.evaluation import open_run

    text, gain = continue_prompt(*open_run(run_dir), prompt, max_new_tokens)
    typer.echo(text)
    if gain is not None:
        typer.echo(json.dumps(gain.to_dict()), err=True)


def _assignments(pairs: list[str]) -> dict[str, Any]:
    values = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise MwSError(f"--set {pair}: write KEY=VALUE, e.g. --set layers=6")
        try:
            values[key] = json.loads(value)
        except ValueError:
            values[key] = value
    return values


if __name__ == "__main__":
    run(lambda arguments: app(arguments, prog_name="python scripts/lm"))
