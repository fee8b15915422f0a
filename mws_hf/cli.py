"""The `mws` command: gathers the commands of `mws_hf.commands` and turns user errors into one line and exit code 2."""

from __future__ import annotations

import io
import logging
import sys
from typing import Annotated

import typer

import mws_hf
from mws_hf.commands.compare import compare
from mws_hf.commands.count import count
from mws_hf.commands.encode import encode
from mws_hf.commands.evaluate import evaluate
from mws_hf.commands.explain import explain
from mws_hf.commands.notebook import export_notebook_command, import_notebook_command
from mws_hf.commands.segment import segment
from mws_hf.commands.train import train
from mws_hf.errors import MwSError

app = typer.Typer(
    name="mws",
    help="Morphemic BPE tokenizers from raw text: train, look inside, measure, encode.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mws_hf {mws_hf.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


for function in (train, count, segment, explain, evaluate, compare, encode):
    app.command()(function)
app.command("import")(import_notebook_command)
app.command("export")(export_notebook_command)


def main() -> None:
    """Run the command line; exit code 0 on success, 2 on misuse, 130 on Ctrl-C."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s", stream=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a cp1252 console shows \\u0436 rather than a traceback
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except MwSError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
