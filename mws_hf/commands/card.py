"""`mws card`: measure a tokenizer and write its model card."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mws_hf.commands.evaluate import BitsText, GoldFiles, Text, named_tokenizers
from mws_hf.commands.outputs import refuse_overwriting
from mws_hf.commands.sources import check_present
from mws_hf.errors import MwSError

if TYPE_CHECKING:
    from mws_hf.evaluate.encoder import Encoder
    from mws_hf.evaluate.report import EvaluationReport
    from mws_hf.measured_card import Measured

_EXAMPLES = 8
_LINES = 1000
"""Lines of text that are decoded again."""


def card(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A tokenizer directory (any with a tokenizer.json).")
    ],
    gold: GoldFiles = None,
    text: Text = None,
    bits: BitsText = None,
    language: Annotated[
        list[str] | None,
        typer.Option(metavar="CODE", help="Language, such as ru; repeat for more [default: the earlier card's]."),
    ] = None,
    license_: Annotated[
        str | None,
        typer.Option("--license", metavar="ID", help="License, such as cc-by-4.0 [default: the earlier card's]."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help="What it was trained on, and under which license [default: what the earlier card says]."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The name it is loaded by, such as user/repo [default: the earlier card's].")
    ] = None,
    word: Annotated[
        list[str] | None,
        typer.Option(help="A word to show cut; repeat for more [default: some of --gold, --text or the earlier card]."),
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=DIR",
            help="A tokenizer to measure beside it, such as BPE of the same text; repeat for more [default: none].",
        ),
    ] = None,
    print_only: Annotated[bool, typer.Option("--print", help="Print the card and write nothing.")] = False,
) -> None:
    """Write the model card (README.md) of a tokenizer, with Hub metadata, from figures measured now.

    `--gold` gives boundary scores, `--text` tokens per word and bytes per token, `--bits TRAIN` n-gram bits per byte of
    `--text`; see `mws evaluate`. `--beside` adds a table of the same figures of other tokenizers. What `mws train`
    wrote into the earlier card is kept. A card that a person has edited is never overwritten.

    For example:

        mws card out/russian --gold rus.tsv --text heldout.txt --language ru --license cc-by-4.0

        mws card out/russian --text heldout.txt --bits train.txt.gz --name user/russian --data "novels, public domain"

        mws card out/russian --gold rus.tsv --text heldout.txt --beside BPE=out/bpe --beside Unigram=out/unigram
    """
    from mws_hf.measured_card import measured_card
    from mws_hf.model_card import is_untouched, write_model_card

    if not directory.is_dir():
        raise MwSError(f"{directory}: no such tokenizer directory; train one with `mws train ... --output {directory}`")
    check_present([*(gold or []), *([text] if text else []), *([bits] if bits else [])])
    readme = directory / "README.md"
    if not print_only:
        refuse_overwriting([readme], gold, text, bits)
        if readme.exists() and not is_untouched(readme):
            raise MwSError(
                f"{readme}: left as it is, not a generated card or edited since; delete it, or take what you need from "
                "`mws card ... --print`"
            )
    if bits is not None and text is None:
        raise MwSError("--bits measures the bits of --text; give that too")
    if beside and text is None and not gold:
        raise MwSError("--beside compares figures of --gold and --text; give one of them too")
    _check_metadata(language or [], license_)
    earlier = readme.read_text(encoding="utf-8") if is_untouched(readme) else ""
    said = _Said(language or [], license_, data and " ".join(data.split()), name, word or [])
    told = _told(directory, earlier, said, _Given(gold or [], text, bits, named_tokenizers(beside or [])))
    if print_only:
        typer.echo(measured_card(told), nl=False)
        return
    write_model_card(directory, measured_card(told))
    typer.echo(str(readme))
    for option, value in (("--language", told.languages), ("--license", told.license)):
        if not value:
            typer.echo(f"the card names no {option[2:]}: give {option} for the Hub to show one", err=True)


@dataclass(frozen=True)
class _Said:
    """What a person says about the tokenizer: the options of these names."""

    languages: list[str]
    license: str | None
    data: str | None
    name: str | None
    words: list[str]


@dataclass(frozen=True)
class _Given:
    """What to measure on, and which tokenizers beside it: the options of these names."""

    gold: list[Path]
    text: Path | None
    bits: Path | None
    beside: dict[str, str]


def _check_metadata(languages: list[str], license_: str | None) -> None:
    """Refuse what the Hub would refuse.

    Raises:
        MwSError: a language is no code, or the license no identifier.
    """
    for code in languages:
        if not re.fullmatch(r"[a-z]{2,3}|code|multilingual", code):
            raise MwSError(f"--language {code!r}: give an ISO 639 code of two or three letters, such as ru, or code")
    if license_ is not None and not re.fullmatch(r"[a-z0-9][a-z0-9.+-]*", license_):
        raise MwSError(f"--license {license_!r}: give an identifier such as apache-2.0 or cc-by-4.0, or other")


def _told(directory: Path, earlier: str, said: _Said, given: _Given) -> Measured:
    """All that the card tells: measured now, said now, or else said by the earlier generated card ("" for none)."""
    from huggingface_hub import ModelCard

    from mws_hf.evaluate.encoder import load_encoder
    from mws_hf.evaluate.report import evaluate
    from mws_hf.evaluate.segment import segment_words
    from mws_hf.measured_card import Measured, kept_head, name_of, plain_head, words_of
    from mws_hf.tokenizer_file import load_backend
    from mws_hf.training_record import read_record

    before = ModelCard(earlier).data.to_dict() if earlier else {}
    name = said.name or name_of(earlier) or directory.resolve().name
    encoder = load_encoder(str(directory))
    record = read_record(directory, load_backend(directory)[0])
    whole = None
    if given.gold or given.text:
        if name in given.beside:
            raise MwSError(f"--beside: this tokenizer is called {name!r} itself; write NAME=DIR with another name")
        tokenizers = {name: encoder, **given.beside}
        whole = evaluate(tokenizers, given.gold, given.text, bits=given.bits, baselines=False)
    report = whole and whole.of(name)
    words = said.words or _sample(report, given.text) or words_of(earlier)
    languages = said.languages or before.get("language") or []
    return Measured(
        name=name,
        head=kept_head(earlier, name, said.data)
        if earlier
        else plain_head(name, encoder.vocabulary_size, said.data, record or {}),
        ours=record is not None or "mws-hf" in before.get("tags", []),
        report=report,
        examples=list(zip(words, segment_words(encoder, words), strict=True)),
        restored=_restored(encoder, given.text),
        text="" if given.text is None else given.text.name,
        bits="" if given.bits is None else given.bits.name,
        languages=[languages] if isinstance(languages, str) else languages,
        license=said.license or before.get("license"),
        beside=whole if given.beside else None,
    )


def _sample(report: EvaluationReport | None, text: Path | None) -> list[str]:
    """Some words to show, from the gold or else from the text."""
    from itertools import islice

    from mws_hf.commands.train import sample_words
    from mws_hf.evaluate.running_text import WORD, read_lines
    from mws_hf.pattern import compiled

    if report is not None and report.golds:
        return sample_words([entry.word for entry in report.golds[0].words], _EXAMPLES)
    if text is None:
        return []
    lines = islice(read_lines(text), _LINES)
    found = dict.fromkeys(match.group() for line in lines for match in compiled(WORD).finditer(line))
    return sample_words(list(found), _EXAMPLES)


def _restored(encoder: Encoder, text: Path | None) -> tuple[int, int]:
    """How many of the first lines decode to what they were, and how many were tried."""
    from itertools import islice

    from mws_hf.evaluate.running_text import read_lines

    if text is None or encoder.decode is None:
        return 0, 0
    lines = list(islice(read_lines(text), _LINES))
    decoded = encoder.decode([item.ids for item in encoder.encode(lines)])
    return sum(line == again for line, again in zip(lines, decoded, strict=True)), len(lines)
