"""`mws extend`: add tokens for a corpus to a pretrained tokenizer."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mws_hf.atomic import output_lock
from mws_hf.commands.options import (
    BASE,
    INPUTS_OR_COUNTS,
    add_output,
    add_reading,
    add_setting,
    add_writing,
    parse_size,
    reading_of,
)
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
from mws_hf.errors import MwSError, SettingError

if TYPE_CHECKING:
    from mws_hf.corpus.counts import WordCounts
    from mws_hf.corpus.sources import Source

HELD_OUT_EVERY, MAX_HELD_OUT = 50, 2000
"""Every 50th line, up to 2,000 lines, is not used for training, so that the change can be measured on these lines."""

HELP = """
Add tokens for a corpus to a pretrained tokenizer. Every old token keeps its id, and every old merge its rank, unless
you give --replace or --trim-to.

For example:

    mws extend Qwen/Qwen3-0.6B 'russian/*.txt.gz' --add 16000 --also english.txt --output out/qwen-ru

    mws extend models/llama corpus.jsonl --add 8000 --composition 0.7 --output out/llama-fi

    mws extend Qwen/Qwen3-0.6B turkish.txt --add 8000 --protect 'english/*.txt' --output out/qwen-tr

    mws extend Qwen/Qwen3-0.6B russian.txt --also english.txt --trim-to 90000 --add 16000 --output out/qwen-ru-small
"""


def add_options(parser: Parser) -> None:
    """Add the arguments and options of the command."""
    add = parser.add_argument
    add("base", metavar="BASE", help=BASE)
    add("corpus", nargs="+", metavar="CORPUS...", help=f"{INPUTS_OR_COUNTS}.")
    add("--add", required=True, metavar="SIZE", type=parse_size, help="How many tokens to add, such as 4k.")
    add_output(parser, "The folder of the new tokenizer.")
    also = "Other text on which to measure the change, such as English; repeat the option for more."
    add("--also", action="append", default=[], metavar="FILE", help=also)
    share = "Share of the new tokens that are frequent stems and words; the others are morphs."
    add("--composition", default=0.5, type=float, help=share)
    replace = "Give new tokens the ids of old ones that the corpus, --also and --protect never use."
    add("--replace", action="store_true", help=replace)
    protect = (
        "Text that the model knows, such as English, which no new merge may change. One line in fifty is held out to "
        "measure how similar text changes. Repeat the option for more."
    )
    add("--protect", action="append", default=[], metavar="FILE", help=protect)
    add_setting(parser, "required")
    add_setting(parser, "keep_apart")
    trim = (
        "First remove the tokens that the corpus, --also and --protect use least, until this many are left. BASE must "
        "have more."
    )
    add("--trim-to", metavar="SIZE", type=parse_size, help=trim)
    add_reading(parser)
    add_writing(parser)


def run(given: Namespace) -> None:
    """Learn new merges and write the folder."""
    if given.replace and given.trim_to is not None:
        raise MwSError("--replace and --trim-to both free ids for new tokens; give only one of them")
    read = given.base, given.corpus, given.also, given.protect, given.required, given.keep_apart
    output = given.output
    claim_folder(output, *read, force=given.force)
    from mws_hf.corpus.sources import Source
    from mws_hf.surgery.change_report import extension_summary
    from mws_hf.surgery.new_tokens import ExtensionSettings

    ExtensionSettings(composition=given.composition)  # raises MwSError for a wrong value before anything is read
    twice = "--replace" if given.replace else "--trim-to" if given.trim_to is not None else None
    source = Source.of_options(given.corpus, reading_of(given), also=[*given.also, *given.protect], twice=twice)
    with output_lock(output):
        result, left_behind = _extended(given, source, output)
    show_faults(output, left_behind)
    show_written(result, f"{output}: {extension_summary(result)}", given)


def _extended(given: Namespace, source: Source, output: Path) -> tuple[dict[str, Any], list[str]]:
    """Read, trim, learn and write; return the printed figures, and the names of files that are not copied."""
    from mws_hf.corpus.sources import read_documents
    from mws_hf.learn.limits import Apart
    from mws_hf.surgery.base import open_base
    from mws_hf.surgery.change_report import extension_figures, measure_change
    from mws_hf.surgery.extension import check_strings, extend
    from mws_hf.surgery.trim import trim
    from mws_hf.tokenizer.layout import RETIRED_FILE
    from mws_hf.tokenizer.spec import Spec

    reading, show_progress = reading_of(given), not given.quiet

    def all_texts() -> Iterator[str]:
        return read_documents([*given.corpus, *given.also, *given.protect], reading)

    original = open_base(given.base)  # raises MwSError for an unsuitable base before anything is counted
    required = entries_in(given.required, reading, lambda entry: check_strings(original, [entry]))
    apart = entries_in(given.keep_apart, reading, lambda entry: Apart.of([entry]))
    try:
        trimmed = None if given.trim_to is None else trim(original, all_texts(), keep_size=given.trim_to)
    except SettingError as error:
        raise SettingError("trim_to", error.value, error.problem) from error
    held_out, unseen = list[str](), list[str]()
    extension = extend(
        original if trimmed is None else trimmed.trimmed_base,
        _count_corpus(source, held_out, sorted(original.added), show_progress),
        given.add,
        replace=all_texts() if given.replace else None,
        protected=_hold_out(read_documents(given.protect, reading), unseen) if given.protect else (),
        composition=given.composition,
        required=required,
        keep_apart=apart,
        show_progress=show_progress,
    )
    texts = {"held-out text": held_out, "held-out protected text": unseen}
    for name in given.also:
        texts[name] = list(islice((line for line in read_documents([name], reading) if line.strip()), MAX_HELD_OUT))
    before = Spec(original.spec).open()
    changes = {name: measure_change(before, extension.tokenizer, lines) for name, lines in texts.items() if lines}
    result = {"directory": str(output), **extension_figures(extension, changes, trimmed)}
    retired = {name: result[name] for name in ("retired_words", "retired_tokens", "dropped_merges")}
    figures = {
        "base": name_of_base(given.base),
        **{name: result[name] for name in ("new_tokens", "vocabulary", "word_types", "texts")},
        **{name: len(result[name]) for name in ("retired_tokens", "retired_words")},
        "dropped_before": sum((result["trimmed"] or {}).get("dropped", {}).values()),
    }
    with replaced(output) as stage:
        left_behind = extension.save(stage, given.base, {RETIRED_FILE: retired} if given.replace else {})
        corpus = ", ".join(file_names(given.corpus))
        save_card(stage, output.resolve().name, extension.tokenizer, corpus, extended=figures)
    return result, left_behind


def _count_corpus(source: Source, held_out: list[str], added: list[str], show_progress: bool) -> WordCounts:
    """Count the words of the corpus, split at the added tokens, and append the held-out lines to `held_out`."""
    from mws_hf.corpus.counting import count_documents
    from mws_hf.corpus.counts import WordCounts

    parts = [WordCounts.load(name).union for names in source.saved.values() for name in names]
    if source.files:
        lines = _hold_out(source.documents(), held_out)
        parts.append(count_documents(lines, special_tokens=added, show_progress=show_progress))
    return parts[0].merge(*parts[1:])


def _hold_out(documents: Iterator[str], held_out: list[str]) -> Iterator[str]:
    """Append every `HELD_OUT_EVERY`th document, up to `MAX_HELD_OUT`, to `held_out`, and yield all others."""
    for number, document in enumerate(documents, start=1):
        if number % HELD_OUT_EVERY == 0 and len(held_out) < MAX_HELD_OUT and document.strip():
            held_out.append(document)
        else:
            yield document
