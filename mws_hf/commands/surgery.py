"""`mws extend`, `mws trim`, `mws transplant`: a pretrained tokenizer with other entries, its model fitted to them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mws_hf.atomic import output_lock
from mws_hf.commands import options
from mws_hf.commands.options import Read, Writing, argument, option, parse_size
from mws_hf.commands.outputs import claim_folder, replaced, save_card, tell, tell_faults
from mws_hf.commands.sources import entries_in
from mws_hf.errors import MwSError

if TYPE_CHECKING:
    from mws_hf.corpus.counts import WordCounts
    from mws_hf.corpus.sources import Source

EVERY, MOST = 50, 2000
"""Each 50th line is held out of learning to be measured on, up to 2,000."""


@dataclass(frozen=True, kw_only=True)
class Extending:
    """The base, what is read, and what is asked for."""

    base: str = options.BASE
    corpus: Sequence[str] = argument(f"{options.INPUTS}, or counts from `mws count`.")
    add: int = option("How many tokens to add, such as 4k.", metavar="SIZE", read=parse_size)
    also: Sequence[str] = option("Other text to report on, such as English; repeat for more.", ())
    composition: float = option("Share of new tokens for frequent stems and words after the morphs.", 0.5)
    replace: bool = option("Give ids of old tokens that corpus and --also never use to the new ones.", False)
    protect: Sequence[str] = option(
        "Text of what the model knows, such as English: no new merge fires in it, save for a line in fifty "
        "held out to measure how other such text fares; repeat for more.",
        (),
    )
    required: Path | None = options.setting("required")
    keep_apart: Path | None = options.setting("keep_apart")
    trim_to: int | None = option(
        "First drop entries that corpus and --also use least, until so many are left.",
        None,
        metavar="SIZE",
        read=parse_size,
    )
    reading: Read


def extend_command(asked: Extending, writing: Writing, output: Path = options.DIRECTORY) -> None:
    """Add tokens of a corpus to a pretrained tokenizer; every old id and merge stays.

    For example:

        mws extend Qwen/Qwen3-0.6B 'russian/*.txt.gz' --add 16000 --also english.txt -o out/qwen-ru

        mws extend models/llama corpus.jsonl --add 8000 --composition 0.7 -o out/llama-fi

        mws extend Qwen/Qwen3-0.6B turkish.txt --add 8000 --protect 'english/*.txt' -o out/qwen-tr

        mws extend Qwen/Qwen3-0.6B russian.txt --also english.txt --trim-to 90000 --add 16000 -o out/qwen-ru-small
    """
    if asked.replace and asked.trim_to is not None:
        raise MwSError("--replace and --trim-to both make room for new tokens; give one of them")
    read = asked.base, asked.corpus, asked.also, asked.protect, asked.required, asked.keep_apart
    claim_folder(output, *read, force=writing.force)
    from mws_hf.corpus.sources import Source
    from mws_hf.surgery.change_report import extension_summary
    from mws_hf.surgery.new_tokens import ExtensionSettings

    ExtensionSettings(composition=asked.composition)  # refused before anything is read
    twice = "--replace" if asked.replace else "--trim-to" if asked.trim_to is not None else None
    source = Source.of_options(asked.corpus, asked.reading, also=[*asked.also, *asked.protect], twice=twice)
    with output_lock(output):
        result, left_behind = _extended(asked, source, output, not writing.quiet)
    tell_faults(output, left_behind)
    tell(result, f"{output}: {extension_summary(result)}", writing.as_json)


def _extended(asked: Extending, source: Source, output: Path, show_progress: bool) -> tuple[dict[str, Any], list[str]]:
    """Read, trim, learn and write; returns the report and the names of files left behind."""
    from tokenizers import Tokenizer

    from mws_hf.corpus.sources import read_documents
    from mws_hf.learn.limits import Apart
    from mws_hf.surgery.base import open_base
    from mws_hf.surgery.change_report import extension_figures, measure_change
    from mws_hf.surgery.extension import check_strings
    from mws_hf.surgery.extension import extend as run
    from mws_hf.surgery.trim import trim
    from mws_hf.tokenizer.layout import RETIRED_FILE

    def used() -> Iterator[str]:
        return read_documents([*asked.corpus, *asked.also, *asked.protect], asked.reading)

    original = open_base(asked.base)  # whatever is wrong with it is reported before anything is counted
    required = entries_in(asked.required, asked.reading, lambda entry: check_strings(original, [entry]))
    apart = entries_in(asked.keep_apart, asked.reading, lambda entry: Apart.of([entry]))
    trimmed = None if asked.trim_to is None else trim(original, used(), keep_size=asked.trim_to)
    held_out, unseen = list[str](), list[str]()
    extension = run(
        original if trimmed is None else trimmed.trimmed_base,
        _count_corpus(source, held_out, sorted(original.added), show_progress),
        asked.add,
        replace=used() if asked.replace else None,
        protected=_held_back(read_documents(asked.protect, asked.reading), unseen) if asked.protect else (),
        composition=asked.composition,
        required=required,
        keep_apart=apart,
        show_progress=show_progress,
    )
    texts = {"held out": held_out, "protected, held out": unseen}
    for name in asked.also:
        texts[name] = list(islice((each for each in read_documents([name], asked.reading) if each.strip()), MOST))
    before = Tokenizer.from_str(json.dumps(original.spec))
    changes = {name: measure_change(before, extension.tokenizer, lines) for name, lines in texts.items() if lines}
    result = {"directory": str(output), **extension_figures(extension, changes, trimmed)}
    retired = {name: result[name] for name in ("retired_words", "retired_tokens", "dropped_merges")}
    figures = {
        "base": _name_of_base(asked.base),
        **{name: result[name] for name in ("new_tokens", "vocabulary", "word_types", "texts")},
        **{name: len(result[name]) for name in ("retired_tokens", "retired_words")},
        "dropped_before": sum((result["trimmed"] or {}).get("dropped", {}).values()),
    }
    with replaced(output) as stage:
        left_behind = extension.save(stage, asked.base, {RETIRED_FILE: retired} if asked.replace else {})
        save_card(stage, output.resolve().name, extension.tokenizer, _named(asked.corpus), extended=figures)
    return result, left_behind


def _count_corpus(source: Source, held_out: list[str], added: list[str], show_progress: bool) -> WordCounts:
    """Count the words of the corpus, cut at added tokens; some lines go to `held_out` instead."""
    from mws_hf.corpus.counting import count_documents
    from mws_hf.corpus.counts import WordCounts

    parts = [WordCounts.load(name) for names in source.saved.values() for name in names]
    if source.files:
        lines = _held_back(source.documents(), held_out)
        parts.append(count_documents(lines, special_tokens=added, show_progress=show_progress))
    return parts[0].merge(*parts[1:])


def _held_back(documents: Iterator[str], held_out: list[str]) -> Iterator[str]:
    """Yield the documents; each `EVERY`th one with text goes to `held_out` instead, until `MOST` are there."""
    for number, document in enumerate(documents, start=1):
        if number % EVERY == 0 and len(held_out) < MOST and document.strip():
            held_out.append(document)
        else:
            yield document


def trim_command(
    base: str = options.BASE,
    text: Sequence[str] = option(f"What it must stay good at; repeat for more. {options.INPUTS} (no stdin)."),
    output: Path = options.DIRECTORY,
    *,
    keep_size: int | None = option(
        "How many entries stay, such as 64k; or give --min-count.", None, metavar="SIZE", read=parse_size
    ),
    min_count: int | None = option("Least number of uses with which an entry stays.", None, read=parse_size),
    keep: Path | None = option("Entries that stay in any case, one a line.", None),
    reading: Read,
    writing: Writing,
) -> None:
    """Drop entries that texts do not use from a pretrained tokenizer; text of kept entries is cut as before.

    Added tokens and bytes stay. What became of each id: ids.json, which `mws transplant` takes.

    For example:

        mws trim meta-llama/Llama-3.2-1B --text 'english/*.txt.gz' --text code.txt --keep-size 64000 -o out/smaller

        mws trim Qwen/Qwen3-0.6B --text corpus.jsonl --min-count 20 --keep words.txt -o out/smaller
    """
    if (keep_size is None) == (min_count is None):
        raise MwSError("give one of --keep-size (how many entries stay) and --min-count (the least uses)")
    claim_folder(output, base, text, keep, force=writing.force)
    from mws_hf.corpus.files import expand_paths
    from mws_hf.corpus.sources import Source, read_documents
    from mws_hf.surgery.base import open_base
    from mws_hf.surgery.change_report import measure_use, trim_figures, trim_summary
    from mws_hf.surgery.trim import named_entry
    from mws_hf.surgery.trim import trim as run
    from mws_hf.tokenizer.layout import TRIM_FILE

    Source.of_options(text, reading, twice="mws trim")
    opened = open_base(base)
    named = entries_in(keep, reading, partial(named_entry, opened))
    with output_lock(output):
        before: dict[str, Any] = {
            name: measure_use(opened, read_documents([name], reading)) for name in expand_paths(text)
        }
        uses = sum(use.uses for use in before.values())
        trimming = run(opened, uses, keep_size=keep_size, min_count=min_count, keep=named)
        after = {name: measure_use(trimming.trimmed_base, read_documents([name], reading)) for name in before}
        found = trim_figures(trimming, before, after)
        with replaced(output) as stage:
            left_behind = trimming.save(stage, base, {TRIM_FILE: {"base": base, **found}})
            figures = {"base": _name_of_base(base), **found}
            save_card(stage, output.resolve().name, trimming.tokenizer, _named(text), trimmed=figures)
    tell_faults(output, left_behind)
    tell({"directory": str(output), **found}, f"{output}: {trim_summary(found)}", writing.as_json)


def _named(texts: Sequence[str]) -> str:
    return ", ".join(Path(name).name for name in texts)


def _name_of_base(base: str) -> str:
    """Return the name of a base as cards have it: the name of its folder, or its name on the Hub."""
    return Path(base).resolve().name if Path(base).exists() else base


def transplant_command(
    model: str = argument("Directory of a causal model with its tokenizer, or a Hub name."),
    tokenizer: str = argument("Directory of the new tokenizer, or a Hub name."),
    output: Path = option("The model directory to write.", names="--output -o"),
    *,
    init: Literal["mean", "quiet"] = option(
        "First row of a new token: the mean of its old pieces; or half that, half the rows of bytes that no text has.",
        "mean",
    ),
    writing: Writing,
) -> None:
    """Give a pretrained model another tokenizer, such as its own trimmed or extended; nothing is trained.

    Rows of old tokens stay bit for bit: ids.json beside the tokenizer says which. Only embeddings are held in memory.
    Files and folders of the model are copied, except another tokenizer and weights in another form, which a warning
    names. A LoRA adapter beside the weights must be merged into them first.

    For example:

        mws transplant Qwen/Qwen3-0.6B out/qwen-ru -o out/qwen-ru-model

        mws transplant Qwen/Qwen3-0.6B out/qwen-ru --init quiet -o out/qwen-ru-model
    """
    claim_folder(output, model, tokenizer, force=writing.force)
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MwSError("models need torch: pip install torch accelerate") from error
    from mws_hf.surgery.checkpoint import transplant_directory

    report = asdict(transplant_directory(model, tokenizer, output, init))
    tell_faults(output)
    line = ", ".join(f"{number:,} {name}" for name, number in report.items())
    tell({"directory": str(output), **report}, f"{output}: rows {line}", writing.as_json)
