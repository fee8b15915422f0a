"""Options that several commands share, and functions that parse their values, such as GROUP=FILE, ru=2 and 2G."""

from __future__ import annotations

import os
import re
from argparse import ArgumentTypeError, Namespace, _ActionsContainer
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from mws_hf.commands.parser import Parser
from mws_hf.corpus.files import Reading
from mws_hf.errors import MwSError
from mws_hf.learn.setting_rules import CLASSIC, CONTEXTUAL, Range
from mws_hf.learn.settings import SETTINGS, Settings
from mws_hf.text.pattern import Digits
from mws_hf.text.symbols import Alphabet

T = TypeVar("T")

FORMATS = (
    "Text (.txt, .jsonl, .csv or .tsv, also compressed: .gz, .bz2, .xz, .zst), .parquet, .arrow, folders that "
    "`datasets` saved, globs"
)
INPUTS = f"{FORMATS}, or '-' for standard input"
INPUTS_OR_COUNTS = f"{FORMATS}, '-' for standard input, or counts from `mws count`"
BASE = "A folder with a BPE tokenizer.json, or a name on the Hub."


def add_tokenizer(parser: Parser) -> None:
    """Add the argument TOKENIZER."""
    text = "A folder with a tokenizer, a tokenizer.json, a pretrained name, or a name on the Hub such as user/repo."
    parser.add_argument("tokenizer", metavar="TOKENIZER", help=text)


def add_tokenizers(parser: Parser) -> None:
    """Add the argument for one or more tokenizers of any kind."""
    text = (
        "Tokenizers: a folder, tokenizer.json, pretrained name, Hub name, SentencePiece .model, Morfessor model as "
        "text, or a file of word<TAB>tokens. NAME=TOKENIZER gives one a name in the table."
    )
    parser.add_argument("tokenizers", nargs="+", metavar="TOKENIZER...", help=text)


def add_output(parser: Parser, text: str) -> None:
    """Add --output, a path, with the help `text`."""
    parser.add_argument("--output", "-o", required=True, type=Path, help=text)


def add_lexicon(parser: _ActionsContainer) -> None:
    """Add --lexicon, which names a dictionary of pymorphy3."""
    text = "Read all word forms of a pymorphy3 dictionary: 'ru' (3.06 million) or 'uk'."
    parser.add_argument("--lexicon", metavar="{ru,uk}", help=text)


def add_column(parser: _ActionsContainer) -> None:
    """Add --column, the field or column that contains the text."""
    text = (
        "Where the text is: the field of .jsonl records, or the column of .csv, .tsv, .parquet, .arrow and datasets. "
        "If you give it, '-' and files of unknown kinds are read as JSON lines [default: text]."
    )
    parser.add_argument("--column", metavar="NAME", help=text)


def add_reading(parser: Parser) -> None:
    """Add --column, --encoding and --errors, which say how files are read."""
    add_column(parser.input)
    add = parser.input.add_argument
    encoding = "Character encoding of text, .jsonl, .csv and word lists, such as cp1250."
    errors = "What to do with invalid bytes: stop with an error, replace them or ignore them."
    add("--encoding", default="utf-8", metavar="NAME", help=encoding)
    add("--errors", default="strict", metavar="{strict,replace,ignore}", help=errors)


def reading_of(given: Namespace) -> Reading:
    """Return the values of the options of `add_reading`."""
    return Reading(given.column, given.encoding, given.errors)


def add_scoring(parser: Parser) -> None:
    """Add --gold (reference segmentations) and --bits (training text of n-gram models)."""
    gold = "A file of reference segmentations; repeat the option for more."
    bits = "A text to train n-gram models on, which give the bits per byte of --text."
    parser.add_argument("--gold", action="append", default=[], type=Path, metavar="FILE", help=gold)
    parser.add_argument("--bits", type=Path, metavar="TRAIN", help=bits)


def add_text(parser: Parser) -> None:
    """Add --text, held-out running text."""
    parser.add_argument("--text", type=Path, metavar="FILE", help="Held-out running text, read line by line.")


def add_json(parser: _ActionsContainer) -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", dest="as_json", help="Print the result as JSON, for programs.")


def add_quiet(parser: _ActionsContainer) -> None:
    """Add --quiet."""
    text = (
        "Print only errors, and the result if the command prints one. Print no progress bars, warnings or notes, and "
        "no summary of the written files."
    )
    parser.add_argument("--quiet", "-q", action="store_true", help=text)


def add_writing(parser: Parser) -> None:
    """Add --force, --quiet and --json, which all commands with an output have."""
    parser.output.add_argument("--force", action="store_true", help="Replace an output that already exists.")
    add_quiet(parser.output)
    add_json(parser.output)


_NUMBER = re.compile(r"(?![\d_]*\.\d*$)((?:\d[\d_]*\.?\d*|\.\d+)(?:E\d\d?)?) ?([KMGT]?)")
"""A number in capitals. A point needs a letter after the number: 16.000 is sixteen thousand in many countries."""


def _number(text: str, unit: int) -> Decimal:
    """Parse a number and a letter (K, M, G, T) for a power of `unit`; return 0 if the text has a different form."""
    found = _NUMBER.fullmatch(text.strip().upper())
    return Decimal(found[1].replace("_", "")) * unit ** " KMGT".index(found[2] or " ") if found else Decimal(0)


def parse_size(text: str) -> int:
    """Parse a number of tokens or words: plain, or with k or M for thousands or millions.

    Raises:
        ArgumentTypeError: the text is not a whole number above 0.

    >>> parse_size("8k"), parse_size("1.5M"), parse_size("32_000")
    (8000, 1500000, 32000)
    """
    size = _number(text, 1000)
    if size < 1 or size != int(size):
        raise ArgumentTypeError(
            f"{text!r} is not a whole number above 0; write it without separators, as 32000, or as 32k"
        )
    return int(size)


def parse_bytes(text: str) -> int:
    """Parse a number of bytes: plain, or with K, M, G or T, which are powers of 1024.

    Raises:
        ArgumentTypeError: the text is not a number of bytes above 0.

    >>> parse_bytes("2 GiB"), parse_bytes("1.5m"), parse_bytes("1e9")
    (2147483648, 1572864, 1000000000)
    """
    size = int(_number(text.strip().upper().removesuffix("IB").removesuffix("B"), 1024))
    if size < 1:
        raise ArgumentTypeError(f"{text!r} is not a number of bytes above 0; write it as 500M or 2G")
    return size


def parse_composition(text: str) -> float | Literal["fill"]:
    """Parse the value of --composition: a number, or the word fill; whether it is a share is checked by `Settings`.

    Raises:
        ArgumentTypeError: the text is neither.

    >>> parse_composition("0.5"), parse_composition("fill")
    (0.5, 'fill')
    """
    try:
        return "fill" if text == "fill" else float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is neither a share from 0 to 1 nor 'fill'") from None


_CHOICES = {
    "alphabet": get_args(Alphabet),
    "capitals": ("marker",),
    "criterion": (CONTEXTUAL, CLASSIC),
    "digits": get_args(Digits),
}
_REPEATED = ("special_tokens", "labels", "weights")


def add_setting(parser: Parser, name: str, shown: str | None = None) -> None:
    """Add the option of a training setting, as `mws_hf.learn.settings` describes it.

    Args:
        parser: the parser of a command.
        name: name of the setting.
        shown: the default in words, if it differs from that of `mws train`.
    """
    described = SETTINGS[name] if shown is None else SETTINGS[name]._replace(shown=shown)
    first = described.first or name in ("digits", "normalization", "capitals")
    default = None if described.default else getattr(Settings, name, None)
    more: dict[str, Any] = {"default": default, "metavar": described.metavar}
    if name in _CHOICES:
        more["choices"] = _CHOICES[name]
    elif name in _REPEATED:
        more |= {"action": "append", "default": []}
    elif described.metavar == "FILE":
        more["type"] = Path
    elif described.metavar == "SIZE":
        more["type"] = parse_size
    elif isinstance(described.takes, Range) and described.takes.word:
        more |= {"type": parse_composition, "metavar": "NUMBER"}
    elif isinstance(described.takes, Range):
        more["type"] = int if described.takes.whole else float
    (parser if first else parser.learning).add_argument(
        option_of(name), dest=name, help=described.option_help().replace("%", "%%"), **more
    )


def option_of(name: str) -> str:
    """Return the option that sets an argument of the library.

    >>> option_of("vocab_size"), option_of("weights")
    ('--vocab-size', '--weight')
    """
    described = SETTINGS.get(name)
    return (described and described.option) or "--" + name.replace("_", "-")


def group_of(name: str) -> tuple[str, str]:
    """Split GROUP=FILE into group and file.

    The group is "" if there is no = before the first slash, or if a file has this whole name.

    Raises:
        MwSError: the name of the group is not allowed, there is no file after the =, or it is ambiguous.

    >>> group_of("ru=ru/*.gz"), group_of("./a=b.txt"), group_of("a.txt")
    (('ru', 'ru/*.gz'), ('', './a=b.txt'), ('', 'a.txt'))
    """
    from mws_hf.corpus.groups import check_group_name

    group, equals, file = str(name).partition("=")
    if not equals or os.sep in group or "/" in group:
        return "", name
    advice = f"; for a file with this name give ./{name}"
    if os.path.exists(name):
        if os.path.exists(file):
            raise MwSError(
                f"{name}: is a file, but so is {file}; for {file} in group {group!r} give {group}=./{file}{advice}"
            )
        return "", name
    if not file:
        raise MwSError(f"{name}: there is no file after the ={advice}")
    try:
        return check_group_name(group), file
    except MwSError as error:
        raise MwSError(f"{name}: {error}{advice}") from error


def by_group(option: str, texts: Sequence[str], parse: Callable[[str], tuple[str, T]]) -> dict[str, T]:
    """Parse the values of an option that is given once, or once for each group.

    Args:
        option: the option, for messages.
        texts: the values as they were typed.
        parse: splits a value into the name of the group ("" if there is none) and the value for it.

    Returns:
        The value of each group; the key is "" if the only value has no group.

    Raises:
        MwSError: one of several values has no group, or two have the same group.

    >>> by_group("--weight", ["ru=2", "en=0.5"], weight_of)
    {'ru': 2.0, 'en': 0.5}
    """
    found: dict[str, T] = {}
    for text in texts:
        group, value = parse(text)
        if not group and len(texts) > 1:
            raise MwSError(
                f"{option} {text}: has no group, but the option is given several times; give it once, or once for each "
                "group (GROUP=...)"
            )
        if group in found:
            raise MwSError(f"{option} {text}: is the second one for group {group!r}; give one for each group")
        found[group] = value
    return found


def weight_of(text: str) -> tuple[str, float]:
    """Parse a value of --weight: group=number.

    Raises:
        MwSError: the text does not have this form.

    >>> weight_of("ru=.5")
    ('ru', 0.5)
    """
    group, _, number = text.partition("=")
    try:
        return group, float(number)
    except ValueError:
        raise MwSError(f"--weight {text!r} is not a group and a number; write it like ru=2") from None
