"""Options that several commands have, and what their values mean: GROUP=FILE, ru=2, 2G. No file is opened here."""

from __future__ import annotations

import inspect
import os
import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Literal, TypeVar

from mws_hf.corpus.files import Reading
from mws_hf.errors import MwSError
from mws_hf.learn.settings import SETTINGS, Settings

T = TypeVar("T")


@dataclass(frozen=True)
class Option:
    """What a parameter of a command, or a field of a group of options, has as its default: how it is given.

    `names` as they are typed, by default that of the parameter; `read` reads a value, by default the parameter's type;
    `title` is its heading in the help where that is not the one of its group. `default` is ... where it must be given.
    """

    help: str
    default: Any = ...
    names: str = ""
    metavar: str | None = None
    read: Callable[[str], Any] | None = None
    title: str = ""


class Argument(Option):
    """What is given without the name of an option."""


def option(help: str, default: Any = ..., **more: Any) -> Any:
    """Declare an option; a type checker takes it for a value of the parameter."""
    return Option(help, default, **more)


def argument(help: str, default: Any = ..., metavar: str | None = None) -> Any:
    """Declare an argument."""
    return Argument(help, default, metavar=metavar, title="Arguments")


def made(target: Callable[..., T], **given: Any) -> T:
    """Call a command, or make a group of options, with what was given, else with the defaults.

    >>> made(Read, column="text")
    Read(column='text', encoding='utf-8', errors='strict')
    """
    values = {}
    for each in inspect.signature(target, eval_str=True).parameters.values():
        is_option = isinstance(each.default, Option)
        values[each.name] = given.get(each.name, each.default.default) if is_option else made(each.annotation, **given)
    return target(**values)


TITLES = ("Arguments", "Options", "How it learns", "Input", "Output")
"""Headings of a help; a group of options, which is a dataclass, has one of these as its TITLE."""

INPUTS = (
    "Text (.txt, .jsonl, .csv, .tsv; each also .gz, .bz2, .xz, .zst), .parquet, .arrow, save_to_disk folders, globs, "
    "'-' for stdin"
)
TOKENIZER = argument("A tokenizer directory, a tokenizer.json, or a Hub name such as user/repo.", metavar="DIR")
TOKENIZERS = argument(
    "Tokenizers: a directory, Hub name, tokenizer.json, SentencePiece .model, Morfessor model as text, or a file of "
    "word<TAB>pieces; NAME=DIR names one in the table.",
    metavar="DIR...",
)
BASE = argument("A directory with a BPE tokenizer.json, or a Hub name.")
DIRECTORY = option("The tokenizer directory to write.", names="--output -o")
LEXICON = option("All word forms of a pymorphy3 dictionary: 'ru' (3.05 million) or 'uk'.", None, metavar="ru|uk")
COLUMN = option(
    "What holds the text: the field of .jsonl records, the column of .csv, .tsv, .parquet, .arrow, datasets. With it, "
    "'-' and files of unknown kinds are JSON lines [default: text].",
    None,
)
GOLD = option("Gold segmentations; repeat for several files.", (), metavar="FILE")
TEXT = option("Held-out running text, any file that is counted; by line.", None, metavar="FILE")
BITS = option("Also n-gram bits per byte of --text, by models of this text.", None, metavar="TRAIN")
QUIET = option("No progress bars, no notes.", False, names="--quiet -q")
JSON = option("The result as JSON, for programs.", False, names="--json")


_NUMBER = re.compile(r"((?:\d[\d_]*\.?\d*|\.\d+)(?:E\d\d?)?) ?([KMGT]?)")


def _number(text: str, unit: int) -> Decimal:
    """Read a number with a letter for a power of `unit`; 0 stands for what is none."""
    found = _NUMBER.fullmatch(text.strip().upper())
    return Decimal(found[1].replace("_", "")) * unit ** " KMGT".index(found[2] or " ") if found else Decimal(0)


def parse_size(text: str) -> int:
    """Read a number of entries or tokens: plain, or with k or M for thousands or millions.

    >>> parse_size("8k"), parse_size("1.5M"), parse_size("32_000")
    (8000, 1500000, 32000)
    """
    size = _number(text, 1000)
    if size < 1 or size != int(size):
        raise ArgumentTypeError(f"{text}: not a whole number above 0; write it as 32000 or 32k")
    return int(size)


def parse_bytes(text: str) -> int:
    """Read a number of bytes, plain or with K, M, G or T (of 1024).

    >>> parse_bytes("2 GiB"), parse_bytes("1.5m"), parse_bytes("1e9")
    (2147483648, 1572864, 1000000000)
    """
    size = int(_number(text.strip().upper().removesuffix("IB").removesuffix("B"), 1024))
    if size < 1:
        raise ArgumentTypeError(f"{text!r}: give a number of bytes above 0, such as 500M or 2G")
    return size


def parse_composition(text: str) -> float | Literal["fill"]:
    """Read the value of --composition: a share, or the word fill.

    >>> parse_composition("0.5"), parse_composition("fill")
    (0.5, 'fill')
    """
    try:
        return "fill" if text == "fill" else float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r}: give a share from 0 to 1, or 'fill'") from None


def setting(name: str) -> Any:
    """Declare the option of a setting of a training from its description (`mws_hf.learn.settings`)."""
    described = SETTINGS[name]
    title = "Options" if described.first or name in ("digits", "normalization") else "How it learns"
    read = {"composition": parse_composition}.get(name, parse_size if described.metavar == "SIZE" else None)
    default = None if described.default else getattr(Settings, name, None)
    return option(described.option_help(), default, metavar=described.metavar, read=read, title=title)


def option_of(name: str) -> str:
    """Return the option of an argument or a setting.

    >>> option_of("vocab_size"), option_of("weights")
    ('--vocab-size', '--weight')
    """
    described = SETTINGS.get(name)
    return (described and described.option) or "--" + name.replace("_", "-")


@dataclass(frozen=True)
class Read(Reading):
    """The way in which files are read, as options say it."""

    TITLE: ClassVar = "Input"
    column: str | None = COLUMN
    encoding: str = option("Character encoding of text, .jsonl, .csv and word lists.", "utf-8")
    errors: str = option("What to do with undecodable bytes: strict, replace or ignore.", "strict")


@dataclass(frozen=True)
class Writing:
    """The options of every command that writes."""

    TITLE: ClassVar = "Output"
    force: bool = option("Replace a finished output.", False)
    quiet: bool = QUIET
    as_json: bool = JSON


def group_of(name: str) -> tuple[str, str]:
    """Read GROUP=FILE: group and file; the group is "" where no = stands before a slash, or a file has this name.

    >>> group_of("ru=ru/*.gz"), group_of("./a=b.txt"), group_of("a.txt")
    (('ru', 'ru/*.gz'), ('', './a=b.txt'), ('', 'a.txt'))
    """
    from mws_hf.corpus.groups import check_group_name

    group, equals, file = str(name).partition("=")
    if not equals or os.sep in group or "/" in group:
        return "", name
    advice = f"; for a file of this name give ./{name}"
    if os.path.exists(name):
        if os.path.exists(file):
            raise MwSError(f"{name}: a file of this name is there, and {file} is too; give {group}=./{file}{advice}")
        return "", name
    if not file:
        raise MwSError(f"{name}: no file stands after the ={advice}")
    try:
        return check_group_name(group), file
    except MwSError as error:
        raise MwSError(f"{name}: {error}{advice}") from error


def by_group(option: str, texts: Sequence[str], split: Callable[[str], tuple[str, T]]) -> dict[str, T]:
    """Read the values of an option that is given once, or once for each group."""
    found: dict[str, T] = {}
    for text in texts:
        group, value = split(text)
        if not group and len(texts) > 1:
            raise MwSError(f"{option} {text}: stands beside others; give one, or one for each group (GROUP=...)")
        if group in found:
            raise MwSError(f"{option} {text}: group {group!r} has one already")
        found[group] = value
    return found


def weight_of(text: str) -> tuple[str, float]:
    """Read a value of --weight: group=number.

    >>> weight_of("ru=.5")
    ('ru', 0.5)
    """
    group, _, number = text.partition("=")
    try:
        return group, float(number)
    except ValueError:
        raise MwSError(f"--weight {text!r}: give a group and a number, such as ru=2") from None
