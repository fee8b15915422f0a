"""`mws card` and `mws push`: measure a tokenizer, write its model card, upload both to the Hub."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mws_hf.commands import options
from mws_hf.commands.outputs import refuse_overwriting
from mws_hf.commands.sources import check_scored
from mws_hf.errors import MwSError

if TYPE_CHECKING:
    from mws_hf.cards.card import Card
    from mws_hf.cards.facts import CardFacts
    from mws_hf.evaluate.report import EvaluationReport
    from mws_hf.tokenizer.opened import Opened
    from mws_hf.tokenizer.stock import Tokenizer as Backend

_LINES = 1000
"""Lines of text that are decoded again."""

_RECORDED = "[default: what the record says]"
Languages = Annotated[
    list[str] | None, typer.Option(metavar="CODE", help=f"Language, such as ru; repeat for more {_RECORDED}.")
]
License = Annotated[
    str | None, typer.Option("--license", metavar="ID", help=f"License, such as cc-by-4.0 {_RECORDED}.")
]
Data = Annotated[str | None, typer.Option(help=f"What it was trained on, and under which license {_RECORDED}.")]
Name = Annotated[str | None, typer.Option(help=f"The name it is loaded by, such as user/repo {_RECORDED}.")]
Words = Annotated[
    list[str] | None,
    typer.Option(help="A word to show cut; repeat for more [default: some of --gold, --text or the record]."),
]
Beside = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=DIR", help="A directory or Hub name to measure beside it; repeat for more."),
]


@dataclass(frozen=True)
class _Asked:
    """What to measure on and beside, and what a person says about the tokenizer."""

    gold: list[Path]
    text: Path | None
    bits: Path | None
    beside: list[str]
    said: CardFacts


def card(
    tokenizer: options.Tokenizer,
    gold: options.GoldFiles = None,
    text: options.Text = None,
    bits: options.BitsText = None,
    language: Languages = None,
    license_: License = None,
    data: Data = None,
    name: Name = None,
    word: Words = None,
    beside: Beside = None,
    print_only: Annotated[bool, typer.Option("--print", help="Print the card and write nothing.")] = False,
) -> None:
    """Write the model card (README.md) of a tokenizer, with Hub metadata, from figures measured now.

    `--gold` gives boundary scores, `--text` tokens per word and bytes per token, `--bits TRAIN` n-gram bits per byte of
    `--text`; see `mws evaluate`. `--beside` adds a table of the same figures of other tokenizers. Facts of the
    training, and what you said with these options before, are kept beside the tokenizer (mws_training.json). A card
    that a person has edited is never overwritten.

    For example:

        mws card out/russian --gold rus.tsv --text heldout.txt --language ru --license cc-by-4.0

        mws card out/russian --text heldout.txt --bits train.txt.gz --name user/russian --data "novels, public domain"

        mws card out/russian --gold rus.tsv --text heldout.txt --beside BPE=out/bpe --beside Unigram=out/unigram
    """
    from mws_hf.cards.card import keep_card
    from mws_hf.cards.facts import CardFacts
    from mws_hf.cards.readme import FILE, is_untouched
    from mws_hf.tokenizer.hub import is_repository, tokenizer_folder
    from mws_hf.tokenizer.opened import open_tokenizer
    from mws_hf.tokenizer.training_record import FILE as RECORD

    said = CardFacts(
        name=name or (tokenizer if is_repository(tokenizer) else ""),
        data=" ".join((data or "").split()),
        languages=tuple(language or ()),
        license=license_ or "",
        words=tuple(word or ()),
    )
    asked = _Asked(gold or [], text, bits, beside or [], said)
    if is_repository(tokenizer) and not print_only:
        raise MwSError(f"{tokenizer}: lies on the Hub, where no card is written; add --print to have it printed")
    directory = tokenizer_folder(tokenizer)
    readme = directory / FILE
    if not print_only:
        refuse_overwriting([readme, directory / RECORD], gold, text, bits)
        if readme.exists() and not is_untouched(readme):
            raise MwSError(
                f"{readme}: left as it is, not a generated card or edited since; delete it, or take what you need from "
                "`mws card ... --print`"
            )
    _check_card_inputs(asked)
    backend = open_tokenizer(directory).backend
    made = _measured(directory, backend, asked)
    if print_only:
        typer.echo(made.to_markdown(), nl=False)
        return
    keep_card(directory, backend, made)
    typer.echo(str(readme))
    for option, value in (("--language", made.facts.languages), ("--license", made.facts.license)):
        if not value:
            typer.echo(f"the card names no {option[2:]}: give {option} for the Hub to show one", err=True)


def _check_card_inputs(asked: _Asked) -> None:
    """Refuse what cannot be measured, and metadata that the Hub would refuse."""
    check_scored(asked.gold, [asked.text], asked.bits)
    if asked.beside and asked.text is None and not asked.gold:
        raise MwSError("--beside compares figures of --gold and --text; give one of them too")
    for code in asked.said.languages:
        if not re.fullmatch(r"[a-z]{2,3}|code|multilingual", code):
            raise MwSError(f"--language {code!r}: give an ISO 639 code of two or three letters, such as ru, or code")
    license_ = asked.said.license
    if license_ and not re.fullmatch(r"[a-z0-9][a-z0-9.+-]*", license_):
        raise MwSError(f"--license {license_!r}: give an identifier such as apache-2.0 or cc-by-4.0, or other")


def _measured(directory: Path, backend: Backend, asked: _Asked) -> Card:
    """Measure the tokenizer; other facts are those said now, or else in the record."""
    from mws_hf.cards.card import Card
    from mws_hf.cards.facts import CardFacts, read_facts
    from mws_hf.evaluate.report import evaluate
    from mws_hf.tokenizer.hub import named_sources, tokenizer_place
    from mws_hf.tokenizer.opened import open_tokenizer
    from mws_hf.tokenizer.training_record import read_record

    beside = {title: tokenizer_place(source) for title, source in named_sources(asked.beside).items()}
    settings = read_record(directory, backend) or {}
    facts = (read_facts(directory, backend) or CardFacts()).with_(**asked.said.to_dict())
    name = facts.name or directory.resolve().name
    encoder = open_tokenizer(directory, by_class=True)
    whole = None
    if asked.gold or asked.text:
        if name in beside:
            raise MwSError(f"--beside: this tokenizer is called {name!r} itself; write NAME=DIR with another name")
        whole = evaluate({name: encoder, **beside}, asked.gold, asked.text, bits=asked.bits, baselines=False)
    report = whole and whole.of(name)
    chosen = asked.said.words or _sample(report, asked.text) or facts.words
    words = chosen or settings.get("sample_words", ())
    return Card(
        name=name,
        facts=facts.with_(words=chosen),
        settings=settings,
        vocabulary=encoder.vocabulary_size,
        examples=list(zip(words, encoder.cut(words), strict=True)),
        report=report,
        restored=_lines_restored(encoder, asked.text),
        text="" if asked.text is None else asked.text.name,
        bits="" if asked.bits is None else asked.bits.name,
        beside=whole if beside else None,
    )


def _sample(report: EvaluationReport | None, text: Path | None) -> tuple[str, ...]:
    """Choose some words to show, from the gold or else from the text."""
    from itertools import islice

    from mws_hf.cards.group_facts import sample_words
    from mws_hf.evaluate.running_text import WORD, read_lines
    from mws_hf.text.pattern import compiled

    if report is not None and report.golds:
        return sample_words(entry.word for entry in report.golds[0].words)
    if text is None:
        return ()
    lines = islice(read_lines(text), _LINES)
    found = dict.fromkeys(match.group() for line in lines for match in compiled(WORD).finditer(line))
    return sample_words(found)


def _lines_restored(encoder: Opened, text: Path | None) -> tuple[int, int]:
    """Count the first lines that decode to what they were, and the lines tried."""
    from itertools import islice

    from mws_hf.evaluate.running_text import read_lines

    if text is None:
        return 0, 0
    lines = list(islice(read_lines(text), _LINES))
    decoded = encoder.decode([item.ids for item in encoder.encode(lines)]) or [""] * len(lines)
    return sum(line == again for line, again in zip(lines, decoded, strict=True)), len(lines)


def push_command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A tokenizer directory.")],
    repository: Annotated[str, typer.Argument(metavar="USER/REPO", help="Its name on the Hub; made if absent.")],
    private: Annotated[bool, typer.Option("--private", help="Make the repository private.")] = False,
) -> None:
    """Upload a tokenizer and its card; nothing else that lies in the directory.

    The uploaded card says from_pretrained("USER/REPO"); the card in DIR stays as it is. A model beside the tokenizer is
    not uploaded, and a line on stderr says how to upload it. Log in first with `hf auth login`, or set HF_TOKEN.
    `mws card` writes the card.

    For example:

        mws push out/russian me/russian-mws

        mws push out/russian me/russian-mws --private
    """
    if not directory.is_dir():
        raise MwSError(f"{directory}: no such directory; give one written by `mws train` or save_pretrained")
    from mws_hf.cards.pushing import model_files
    from mws_hf.cards.pushing import push as upload

    address = upload(directory, repository, private=private)
    if not (directory / "README.md").is_file():
        typer.echo(f"{directory}: has no card; `mws card {directory}` writes one, then push again", err=True)
    if model := model_files(directory):
        shown = ", ".join(model[:3]) + (", ..." if len(model) > 3 else "")
        rest = shlex.join(["hf", "upload", repository, str(directory), ".", "--exclude", "README.md"])
        typer.echo(
            f"{directory}: only the tokenizer was uploaded, not the model beside it ({shown}); `{rest}` uploads "
            "everything else in the directory",
            err=True,
        )
    typer.echo(address)
