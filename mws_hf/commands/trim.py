"""`mws trim`: remove the tokens that your texts do not use from a pretrained tokenizer."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import Any

from mws_hf.atomic import output_lock
from mws_hf.commands.options import BASE, FORMATS, add_output, add_reading, add_writing, parse_size, reading_of
from mws_hf.commands.outputs import (
    claim_folder,
    file_names,
    name_of_base,
    replaced,
    save_card,
    show_faults,
    show_written,
)
from mws_hf.commands.parser import Parser
from mws_hf.commands.sources import entries_in
from mws_hf.errors import MwSError

HELP = """
Remove the tokens that your texts use least from a pretrained tokenizer. Text that needs only the remaining tokens is
split as before.

Added tokens and bytes are kept. The file ids.json contains the new id of each old token, and `mws transplant` reads it.

For example:

    mws trim meta-llama/Llama-3.2-1B --text 'english/*.txt.gz' --text code.txt --keep-size 64000 --output out/smaller

    mws trim Qwen/Qwen3-0.6B --text corpus.jsonl --min-count 20 --keep words.txt --output out/smaller
"""


def add_options(parser: Parser) -> None:
    """Add the arguments and options of the command."""
    add = parser.add_argument
    add("base", metavar="BASE", help=BASE)
    formats = FORMATS.replace("Text", "text")
    text = f"Text that the tokenizer will be used for. Formats: {formats}; repeat the option for more."
    add("--text", required=True, action="append", default=[], metavar="FILE", help=text)
    add_output(parser, "The folder of the new tokenizer.")
    size = "How many tokens to keep, such as 64k; BASE must have more. Give this or --min-count."
    add("--keep-size", metavar="SIZE", type=parse_size, help=size)
    uses = "Keep the tokens that the texts use at least this often. The command warns you if it removes no token."
    add("--min-count", metavar="NUMBER", type=parse_size, help=uses)
    add("--keep", type=Path, metavar="FILE", help="Tokens to keep even if the texts do not use them, one per line.")
    add_reading(parser)
    add_writing(parser)


def run(given: Namespace) -> None:
    """Count how often the texts use each token, remove tokens and write the folder."""
    base, text, keep, output = given.base, given.text, given.keep, given.output
    keep_size, min_count, reading = given.keep_size, given.min_count, reading_of(given)
    if (keep_size is None) == (min_count is None):
        raise MwSError("give either --keep-size (how many tokens to keep) or --min-count (how often each must be used)")
    claim_folder(output, base, text, keep, force=given.force)
    from mws_hf.corpus.files import expand_paths
    from mws_hf.corpus.sources import Source, read_documents
    from mws_hf.surgery.base import open_base
    from mws_hf.surgery.change_report import measure_use, trim_figures, trim_summary
    from mws_hf.surgery.trim import check_keep_size, check_used, named_entry, trim
    from mws_hf.tokenizer.layout import TRIM_FILE

    Source.of_options(text, reading, twice="mws trim")
    opened = open_base(base)
    check_keep_size(opened, keep_size)  # before texts are read
    named = entries_in(keep, reading, partial(named_entry, opened))
    with output_lock(output):
        names = expand_paths(text)
        before: dict[str, Any] = {
            name: measure_use(opened, read_documents([name], reading)) for name in dict.fromkeys(names)
        }
        uses = check_used(sum(before[name].uses for name in names))  # a file given twice counts twice
        trimming = trim(opened, uses, keep_size=keep_size, min_count=min_count, keep=named)
        after = {name: measure_use(trimming.trimmed_base, read_documents([name], reading)) for name in before}
        found = trim_figures(trimming, before, after)
        with replaced(output) as stage:
            left_behind = trimming.save(stage, base, {TRIM_FILE: {"base": base, **found}})
            figures = {"base": name_of_base(base), **found}
            save_card(stage, output.resolve().name, trimming.tokenizer, ", ".join(file_names(text)), trimmed=figures)
    show_faults(output, left_behind)
    show_written({"directory": str(output), **found}, f"{output}: {trim_summary(found)}", given)
