"""`mws extend` and `mws transplant`: new tokens for a pretrained tokenizer, and its model fitted to them."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mws_hf.atomic import check_output, output_lock, write_text
from mws_hf.commands import options
from mws_hf.commands.outputs import files_in, refuse_overwriting
from mws_hf.commands.sources import Reading
from mws_hf.errors import MwSError

if TYPE_CHECKING:
    from mws_hf.corpus.counts import WordCounts

EVERY, MOST = 50, 2000
"""Each 50th line is held out of learning to be measured on, up to 2,000."""


def extend(
    base: Annotated[str, typer.Argument(help="A directory with a BPE tokenizer.json, or a Hub name.")],
    corpus: Annotated[list[str], typer.Argument(help=f"{options.INPUTS}, or counts from `mws count`.")],
    add: Annotated[int, typer.Option(help="How many tokens to add.", min=1)],
    output: Annotated[Path, typer.Option("--output", "-o", help="The tokenizer directory to write.")],
    also: Annotated[
        list[str] | None,
        typer.Option(help="Other text to report on, such as English; repeat for more [default: none]."),
    ] = None,
    composition: Annotated[
        float, typer.Option(help="Share of new tokens for frequent stems and words after the morphs.", min=0, max=1)
    ] = 0.5,
    crossing_penalty: Annotated[
        float, typer.Option(help="Price of merging across a boundary; higher cuts finer.")
    ] = 16,
    hidden_boundary_price: Annotated[
        float, typer.Option(help="Price of a boundary hidden by a frequent stem or word.")
    ] = 1,
    min_saving: Annotated[int, typer.Option(help="Occurrences that a new token must save at least.", min=0)] = 2,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Give ids of old tokens that corpus and --also never use to the new ones."),
    ] = False,
    field: options.Field = None,
    column: options.Column = None,
    encoding: options.Encoding = "utf-8",
    errors: options.Errors = "strict",
    workers: options.Workers = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Add tokens of a corpus to a pretrained tokenizer; every old id and merge stays.

    For example:

        mws extend Qwen/Qwen3-0.6B 'russian/*.txt.gz' --add 16000 --also english.txt -o out/qwen-ru

        mws extend models/llama corpus.jsonl --field text --add 8000 --composition 0.7 -o out/llama-fi
    """
    also = also or []
    reading = Reading(field, column, encoding, errors)
    refuse_overwriting(files_in(output, ("*.json", "*.jinja", "README.md")), base, corpus, also)
    check_output(output, folder=True)
    _check_inputs([*corpus, *also], reading, replace)
    from mws_hf.extend.extension import extend as run
    from mws_hf.extend.extension import read_base
    from mws_hf.extend.report import facts, told

    opened = read_base(base)  # whatever is wrong with it is told before anything is counted
    with output_lock(output):
        counts, held_out = _count(corpus, reading, workers, quiet)
        extension = run(
            opened, counts, add,
            composition=composition, crossing_penalty=crossing_penalty,
            hidden_boundary_price=hidden_boundary_price, min_saving=min_saving,
            replace=_documents([*corpus, *also], reading) if replace else None, show_progress=not quiet,
        )  # fmt: skip
        left_behind = extension.save(output, base)
        texts = _changes(extension, held_out, also, reading)
        result = {"directory": str(output), **facts(extension, texts)}
        if replace:
            retired = {name: result[name] for name in ("retired_tokens", "dropped_merges")}
            write_text(output / "retired.json", json.dumps(retired, ensure_ascii=False, indent=1) + "\n")
        _write_card(output, base, corpus, result)
    if left_behind:
        typer.echo(f"not copied, for they hold the old vocabulary alone: {', '.join(left_behind)}", err=True)
    typer.echo(json.dumps(result, ensure_ascii=False) if as_json else f"{output}: {told(result)}")


def _write_card(output: Path, base: str, corpus: list[str], found: dict[str, Any]) -> None:
    from mws_hf.extend.card import extension_card
    from mws_hf.model_card import write_model_card

    named = base if not Path(base).exists() else Path(base).resolve().name
    sources = ", ".join(Path(name).name for name in corpus)
    command = shlex.join(["mws", *sys.argv[1:]])
    write_model_card(output, extension_card(output.resolve().name, named, sources, command, found))


def _check_inputs(names: list[str], reading: Reading, replace: bool) -> None:
    from mws_hf.corpus.counts_file import is_counts_file
    from mws_hf.corpus.files import STDIN, expand_paths
    from mws_hf.corpus.inputs import check_files

    files = expand_paths(names)
    texts = [name for name in files if not is_counts_file(name)]
    check_files(texts, reading)
    if replace and (len(texts) < len(files) or STDIN in files):
        raise MwSError(
            "--replace reads the texts twice to see which tokens they use; give files of text, not counts or '-'"
        )


def _count(corpus: list[str], reading: Reading, workers: int | None, quiet: bool) -> tuple[WordCounts, list[str]]:
    """Words of the corpus, and the lines held out of them."""
    from mws_hf.corpus.counting import count_documents
    from mws_hf.corpus.counts import WordCounts
    from mws_hf.corpus.counts_file import is_counts_file
    from mws_hf.corpus.files import expand_paths

    files = expand_paths(corpus)
    saved = [name for name in files if is_counts_file(name)]
    parts = [WordCounts.load(name) for name in saved]
    held_out: list[str] = []
    if texts := [name for name in files if name not in saved]:
        lines = _held_back(_documents(texts, reading), held_out)
        parts.append(count_documents(lines, workers=workers, show_progress=not quiet))
    return parts[0].merge(*parts[1:]), held_out


def _documents(names: list[str], reading: Reading) -> Iterator[str]:
    from mws_hf.corpus.inputs import read_documents

    return read_documents(names, reading)


def _held_back(documents: Iterator[str], held_out: list[str]) -> Iterator[str]:
    """The documents but each `EVERY`th one that has text, which goes to `held_out` until there are `MOST`."""
    for number, document in enumerate(documents, start=1):
        if number % EVERY == 0 and len(held_out) < MOST and document.strip():
            held_out.append(document)
        else:
            yield document


def _changes(extension: Any, held_out: list[str], also: list[str], reading: Reading) -> dict[str, Any]:
    from tokenizers import Tokenizer

    from mws_hf.extend.report import measure_change

    before = Tokenizer.from_str(json.dumps(extension.base.spec))
    texts = {"held out": held_out}
    texts |= {name: list(islice((d for d in _documents([name], reading) if d.strip()), MOST)) for name in also}
    return {name: measure_change(before, extension.tokenizer, lines) for name, lines in texts.items() if lines}


def transplant(
    model: Annotated[str, typer.Argument(help="Directory of a causal model with its tokenizer, or a Hub name.")],
    tokenizer: Annotated[str, typer.Argument(help="Directory of the new tokenizer, or a Hub name.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model directory to write.")],
    method: Annotated[
        Literal["mean", "focus"], typer.Option(metavar="mean|focus", help="mean of the old pieces, or focus.")
    ] = "mean",
    multiple_of: Annotated[int, typer.Option(help="Fill rows up to a multiple of this.", min=1)] = 64,
    as_json: options.Json = False,
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

    report = asdict(transplant_directory(model, tokenizer, output, method, multiple_of))
    line = ", ".join(f"{number:,} {name}" for name, number in report.items())
    typer.echo(json.dumps({"directory": str(output), **report}) if as_json else f"{output}: rows {line}")
