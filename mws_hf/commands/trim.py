"""`mws trim`: a pretrained BPE tokenizer without the entries that some texts do not use."""

from __future__ import annotations

import json
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mws_hf.atomic import check_output, output_lock
from mws_hf.commands import options
from mws_hf.commands.outputs import claim_folder, files_in, refuse_overwriting, tell_what_is_left
from mws_hf.commands.sources import Reading, check_texts, entries_in
from mws_hf.errors import MwSError

if TYPE_CHECKING:
    from mws_hf.extend.base import Base
    from mws_hf.tokenizer.stock import Tokenizer

WRITTEN = ("*.json", "*.jinja", "README.md")
"""Files of a tokenizer directory that a command writes."""


def trim_command(
    base: Annotated[str, typer.Argument(help="A directory with a BPE tokenizer.json, or a Hub name.")],
    text: Annotated[
        list[str], typer.Option(help=f"What it must stay good at; repeat for more. {options.INPUTS} (no stdin).")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The tokenizer directory to write.")],
    keep_size: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="How many entries stay, such as 64k; or give --min-count [default: none]."),
    ] = None,
    min_count: Annotated[
        int | None, typer.Option(help="Least number of uses with which an entry stays [default: none].", min=1)
    ] = None,
    keep: Annotated[
        Path | None, typer.Option(help="Entries that stay in any case, one a line [default: none].")
    ] = None,
    column: options.Column = None,
    encoding: options.Encoding = "utf-8",
    errors: options.Errors = "strict",
    as_json: options.Json = False,
) -> None:
    """Drop entries that texts do not use from a pretrained tokenizer; text of kept entries is cut as before.

    Added tokens and bytes stay. What became of each id: ids.json, which `mws transplant` takes.

    For example:

        mws trim meta-llama/Llama-3.2-1B --text 'english/*.txt.gz' --text code.txt --keep-size 64000 -o out/smaller

        mws trim Qwen/Qwen3-0.6B --text corpus.jsonl --min-count 20 --keep words.txt -o out/smaller
    """
    if (keep_size is None) == (min_count is None):
        raise MwSError("give one of --keep-size (how many entries stay) and --min-count (the least uses)")
    size = options.parse_optional_size(keep_size, "--keep-size")
    reading = Reading(column, encoding, errors)
    refuse_overwriting(files_in(output, WRITTEN), base, text, keep)
    check_output(output, folder=True)
    claim_folder(output, beside=Path(base))
    check_texts(text, reading, "mws trim")
    from mws_hf.corpus.files import expand_paths
    from mws_hf.corpus.repeats import warn_of_repeated
    from mws_hf.extend.base import TRIM_FILE, open_base
    from mws_hf.extend.trim import check_uses, entry_of, measure_use, trim_facts, trim_summary
    from mws_hf.extend.trim import trim as run

    warn_of_repeated(expand_paths(text))

    opened = open_base(base)
    named = entries_in(keep, reading, partial(entry_of, opened))
    with output_lock(output):
        before = measure_files(opened, text, reading)
        uses = check_uses(sum(use.uses for use in before.values()))
        trimming = run(opened, uses, keep_size=size, min_count=min_count, keep=named)
        after = {name: measure_use(trimming.trimmed_base, documents([name], reading)) for name in before}
        found = trim_facts(trimming, before, after)
        left_behind = trimming.save(output, base, {TRIM_FILE: {"base": base, **found}})
        write_made_card(output, trimming.tokenizer, text, trimmed={"base": name_of_base(base), **found})
    tell_what_is_left(output)
    if left_behind:
        typer.echo(f"not copied, for they hold the old vocabulary alone: {', '.join(left_behind)}", err=True)
    result = {"directory": str(output), **found}
    typer.echo(json.dumps(result, ensure_ascii=False) if as_json else f"{output}: {trim_summary(found)}")


def documents(names: list[str], reading: Reading) -> Any:
    """Read the documents of files, one after another."""
    from mws_hf.corpus.inputs import read_documents

    return read_documents(names, reading)


def measure_files(base: Base, texts: list[str], reading: Reading) -> dict[str, Any]:
    """Measure the use of entries in each file."""
    from mws_hf.corpus.files import expand_paths
    from mws_hf.extend.trim import measure_use

    return {name: measure_use(base, documents([name], reading)) for name in expand_paths(texts)}


def write_made_card(output: Path, backend: Tokenizer, texts: list[str], **figures: Any) -> None:
    """Write the card of a tokenizer made of another one, and its facts into the record.

    Args:
        output: the directory of the tokenizer.
        backend: the tokenizer.
        texts: the files it was extended with or trimmed to.
        **figures: ``extended`` or ``trimmed``, see `CardFacts`.
    """
    from mws_hf.cards.card import keep_card, trained_card
    from mws_hf.cards.facts import CardFacts

    data, command = ", ".join(Path(name).name for name in texts), shlex.join(["mws", *sys.argv[1:]])
    facts = CardFacts(data=data, command=command, **figures)
    keep_card(output, backend, trained_card(output.resolve().name, backend, facts, {}))


def name_of_base(base: str) -> str:
    """Return the name of a base as cards have it: the name of its folder, or its name on the Hub."""
    return Path(base).resolve().name if Path(base).exists() else base
