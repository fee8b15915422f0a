"""Options that several commands have, and what their values mean: GROUP=FILE, ru=2, 2G. No file is opened here."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_type_hints

from mws_hf.corpus.files import Reading
from mws_hf.errors import MwSError
from mws_hf.learn.settings import SETTINGS, Settings


class Option:
    """An option, as the annotation of a command's parameter declares it.

    `names` as they are typed, by default that of the parameter; of ``--byte-level/--characters`` the second is False.
    `read` reads a value, by default the type of the parameter; `least` is the least number. `title` is its heading in
    the help where that is not the one of its group.
    """

    def __init__(
        self,
        *names: str,
        help: str = "",
        metavar: str | None = None,
        least: int | None = None,
        read: Callable[[str], Any] | None = None,
        title: str = "",
    ) -> None:
        self.title = title
        self.names, self.help, self.metavar, self.least, self.read = names, help, metavar, least, read


@dataclass(frozen=True)
class Argument:
    """What is given without the name of an option."""

    help: str = ""
    metavar: str | None = None
    title: str = "Arguments"


TITLES = ("Arguments", "Options", "How it learns", "Input", "Output")
"""Headings of a help; a group of options, which is a dataclass, has one of these as its TITLE."""

INPUTS = (
    "Text (.txt, .jsonl, .csv, .tsv; each also .gz, .bz2, .xz, .zst), .parquet, .arrow, save_to_disk folders, globs, "
    "'-' for stdin"
)
Tokenizer = Annotated[
    str, Argument(metavar="DIR", help="A tokenizer directory, a tokenizer.json, or a Hub name such as user/repo.")
]
Tokenizers = Annotated[
    list[str],
    Argument(
        metavar="DIR...",
        help="Tokenizers: a directory, Hub name, tokenizer.json, SentencePiece .model, Morfessor model as text, or a "
        "file of word<TAB>pieces; NAME=DIR names one in the table.",
    ),
]
Base = Annotated[str, Argument(help="A directory with a BPE tokenizer.json, or a Hub name.")]
Directory = Annotated[Path, Option("--output", "-o", help="The tokenizer directory to write.")]
Lexicon = Annotated[
    str | None,
    Option(metavar="ru|uk", help="All word forms of a pymorphy3 dictionary: 'ru' (3.05 million) or 'uk'."),
]
Column = Annotated[
    str | None,
    Option(
        help="What holds the text: the field of .jsonl records, the column of .csv, .tsv, .parquet, .arrow, datasets. "
        "With it, '-' and files of unknown kinds are JSON lines [default: text].",
    ),
]
GoldFiles = Annotated[
    list[Path] | None, Option("--gold", metavar="FILE", help="Gold segmentations; repeat for several files.")
]
Text = Annotated[Path | None, Option(metavar="FILE", help="Held-out running text, any file that is counted; by line.")]
BitsText = Annotated[
    Path | None,
    Option(metavar="TRAIN", help="Also n-gram bits per byte of --text, by models of this text."),
]


_THOUSANDS = {"": 1, "k": 1_000, "m": 1_000_000}
_SIZE = re.compile(r"(\d[\d_]*(?:\.\d+)?)([kKmM]?)")


def parse_size(text: str) -> int:
    """Read a number of entries or tokens: plain, or with k or M for thousands or millions.

    >>> parse_size("8k"), parse_size("1.5M"), parse_size("32_000")
    (8000, 1500000, 32000)
    """
    found = _SIZE.fullmatch(text.strip())
    size = Decimal(found[1].replace("_", "")) * _THOUSANDS[found[2].lower()] if found else Decimal(0)
    if size < 1 or size != int(size):
        raise MwSError(f"{text}: not a whole number above 0; write it as 32000 or 32k")
    return int(size)


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_bytes(text: str) -> int:
    """Read a number of bytes, plain or with K, M, G or T (of 1024).

    >>> parse_bytes("2G"), parse_bytes("1.5m"), parse_bytes("64")
    (2147483648, 1572864, 64)
    """
    number = text.strip().upper().removesuffix("IB").removesuffix("B")
    unit = number[-1:] if number[-1:].isalpha() else ""
    try:
        size = int(float(number.removesuffix(unit)) * _UNITS[unit])
    except (ValueError, KeyError, OverflowError):
        size = 0
    if size < 1:
        raise MwSError(f"{text!r}: give a number of bytes above 0, such as 500M or 2G")
    return size


def parse_composition(text: str) -> float | Literal["fill"]:
    """Read the value of --composition: a share, or the word fill.

    >>> parse_composition("0.5"), parse_composition("fill")
    (0.5, 'fill')
    """
    return "fill" if text == "fill" else float(text)


def setting(name: str) -> Any:
    """Make the option of a setting of a training from its description (`mws_hf.learn.settings`)."""
    described = SETTINGS[name]
    title = "Options" if described.first or name in ("digits", "normalization") else "How it learns"
    read = {"composition": parse_composition}.get(name, parse_size if described.metavar == "SIZE" else None)
    return Option(option_of(name), metavar=described.metavar, help=described.option_help(), read=read, title=title)


def option_of(name: str) -> str:
    """Return the option of an argument or a setting.

    >>> option_of("vocab_size"), option_of("weights")
    ('--vocab-size', '--weight')
    """
    described = SETTINGS.get(name)
    return (described and described.option) or "--" + name.replace("_", "-")


Pattern = Annotated[str | None, setting("pattern")]
Digits = Annotated[str | None, setting("digits")]
Normalization = Annotated[str | None, setting("normalization")]
_AS_TYPED: dict[str, Any] = {
    "composition": float | None,
    **dict.fromkeys(("special_tokens", "labels", "weights"), list[str] | None),
    **dict.fromkeys(("tokens", "keep_apart"), Path | None),
    "alphabet": bool | None,
    "criterion": str,
}
"""Settings that are typed otherwise than a program gives them."""


def takes_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each setting of a training, after its own; it gets them by name."""
    own = inspect.signature(command, eval_str=True).parameters.values()
    parameters = [each for each in own if each.kind is not inspect.Parameter.VAR_KEYWORD]
    hints = get_type_hints(Settings)
    ready = {"pattern": Pattern, "digits": Digits, "normalization": Normalization}
    for each in fields(Settings):
        described = SETTINGS[each.name]
        if described.option is not None:
            default = None if described.default or each.default is MISSING else each.default
            kind = _AS_TYPED.get(each.name, hints[each.name])
            kind = kind if default is not None else kind | None
            annotation = ready.get(each.name) or Annotated[kind, setting(each.name)]
            found = inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            parameters.append(found)
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


Workers = Annotated[int | None, Option(least=1, help="Threads [default: all cores].")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="No progress bars, no notes.")]
Json = Annotated[bool, Option("--json", help="The result as JSON, for programs.")]


@dataclass(frozen=True)
class Read(Reading):
    """The way in which files are read, as options say it."""

    TITLE: ClassVar = "Input"
    column: Column = None
    encoding: Annotated[str, Option(help="Character encoding of text, .jsonl, .csv and word lists.")] = "utf-8"
    errors: Annotated[str, Option(help="What to do with undecodable bytes: strict, replace or ignore.")] = "strict"


@dataclass(frozen=True)
class Writing:
    """The options of every command that writes."""

    TITLE: ClassVar = "Output"
    force: Annotated[bool, Option("--force", help="Replace a finished output.")] = False
    quiet: Quiet = False
    as_json: Json = False


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


def parse_weights(texts: list[str] | None) -> dict[str, float]:
    """Read the values of --weight: group=number each.

    >>> parse_weights(["ru=2", "en=.5"])
    {'ru': 2.0, 'en': 0.5}
    """
    weights: dict[str, float] = {}
    for text in texts or []:
        group, _, number = text.partition("=")
        try:
            weight = float(number)
        except ValueError:
            raise MwSError(f"--weight {text!r}: give a group and a number, such as ru=2") from None
        if group in weights:
            raise MwSError(f"--weight {text!r}: group {group!r} has a weight already")
        weights[group] = weight
    return weights


def parse_labels(texts: list[str] | None) -> Path | dict[str, Path] | None:
    """Read the values of --labels: one file, or GROUP=FILE each.

    >>> parse_labels(["a.tsv", "eng=b.tsv"])
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: --labels a.tsv: stands beside others; give one file, or a group for each (GROUP=FILE)
    """
    found: dict[str, Path] = {}
    for text in texts or []:
        group, file = group_of(text)
        if not group and len(texts or []) > 1:
            raise MwSError(f"--labels {text}: stands beside others; give one file, or a group for each (GROUP=FILE)")
        if group in found:
            raise MwSError(f"--labels {text}: group {group!r} has labels already")
        found[group] = Path(file)
    return found.get("", found or None)
