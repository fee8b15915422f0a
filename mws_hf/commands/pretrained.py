"""`mws pretrained`: list the tokenizers that come with the package, or write one to a folder."""

from __future__ import annotations

import shutil
from argparse import Namespace
from pathlib import Path

from mws_hf.commands.options import add_writing
from mws_hf.commands.outputs import aligned, claim_folder, replaced, show, show_written
from mws_hf.commands.parser import Parser
from mws_hf.errors import MwSError

HELP = """
List the pretrained tokenizers of this package, or write one of them to a folder.

Every command that takes a tokenizer accepts these names. You need to write one to a folder only if another program
should load it.

For example:

    mws pretrained

    mws pretrained mws-ru-32k --output out/russian
    out/russian: mws-ru-32k, 32,000 tokens, cc-by-4.0
"""


def add_options(parser: Parser) -> None:
    """Add the arguments and options of the command."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="The tokenizer to write [default: list all].")
    output = "The folder to write [default: NAME, in the current folder]."
    parser.add_argument("--output", "-o", type=Path, help=output)
    add_writing(parser)


def run(given: Namespace) -> None:
    """Print the list, or write a tokenizer."""
    from mws_hf.tokenizer.places import pretrained_folder, pretrained_rows

    name, output = given.name, given.output
    if name is not None:
        target = output or Path(name)
        folder, entry = pretrained_folder(name), pretrained_rows()[name]
        claim_folder(target, folder, force=given.force)
        with replaced(target) as stage:
            for file in filter(Path.is_file, folder.iterdir()):
                shutil.copyfile(file, stage / file.name)
        written = {"directory": str(target), "license": entry["license"]}
        show_written(written, f"{target}: {name}, {entry['entries']:,} tokens, {entry['license']}", given)
        return
    if output is not None:
        raise MwSError("--output needs the name of a tokenizer; give it: mws pretrained NAME --output DIR")
    rows = list(pretrained_rows().values())
    cells = [
        [row["name"], " ".join(row["languages"]), f"{row['entries']:,}", f"{row['f1']:.3f}" if row["f1"] else "",
         f"{row['tokens_per_word']:.3f}", row["license"]]
        for row in rows
    ]  # fmt: skip
    table = aligned([["name", "languages", "tokens", "F1", "tokens/word", "license"], *cells])
    legend = "F1: morpheme boundaries in reference segmentations; tokens/word: in text that it was not trained on"
    show(rows, f"{table}\n{legend}", given)
