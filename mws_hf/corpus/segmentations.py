"""Read files of segmented words, such as reference segmentations; every line that is left out is reported.

The format of a file is recognized from its content, or named with `format=`:

* ``words``: ``word<TAB>m1 m2``; alternatives follow after a comma.
* ``sigmorphon2022``: ``word<TAB>m1 @@m2[<TAB>category]``; the morphs are canonical, and are used only if they spell the
  word.
* ``morphochallenge``: ``word<TAB>m1:tag m2:tag, alternative``; empty morphs ``~`` are left out.
* ``neural``: ``word<TAB>пере:PREF/чит:ROOT`` (NeuralMorphemeSegmentation); tags are optional.
* ``morphscore``: CSV with ``wordform, preceding_part, stem, following_part`` (2025) or ``full_word, pt1, rest`` (2024).
* ``morphynet``: inflectional ``lemma, form, features, a|b`` or derivational ``source, target, POS, POS, affix, type``.

In the API, reference segmentations are called *gold*.
"""

from __future__ import annotations

import csv
import logging
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial as bound
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias
from unicodedata import combining, normalize

from mws_hf.corpus.compression import COMPRESSED
from mws_hf.corpus.octets import stored_lines
from mws_hf.corpus.place import Fault, about
from mws_hf.errors import MwSError, quoted
from mws_hf.text.letter_case import caseless

Morphs: TypeAlias = tuple[str, ...]
Rows: TypeAlias = tuple[tuple[int, str, tuple[Morphs, ...]], ...]
_Parsed: TypeAlias = tuple[str, list[list[str]]]

_logger = logging.getLogger(__name__)
MAX_SHOWN_PROBLEMS = 5
"""Maximum number of problems in a file or a list that are shown."""

FORMATS = ("words", "sigmorphon2022", "morphochallenge", "neural", "morphscore", "morphynet")
CANONICAL = ("sigmorphon2022", "morphynet")
"""Formats whose morphs are in a base form, which often does not spell the word."""
_CSV_COLUMNS = (("wordform", "preceding_part", "stem", "following_part"), ("full_word", "pt1", "rest"))
_SEPARATORS = re.compile(r"[-+|/·•.=_#~]")
_NEURAL = re.compile(r"[^:/\s]+:[A-Z]+(/[^:/\s]+:[A-Z]+)*|[^:/\s]+(/[^:/\s]+)+")


@dataclass(frozen=True)
class GoldWord:
    """A word and its accepted segmentations.

    Attributes:
        word: the word.
        segmentations: the segmentations in the order of the file; the morphs of each spell the word exactly.
    """

    word: str
    segmentations: tuple[Morphs, ...]


@dataclass(frozen=True)
class Gold:
    """The content of a file of reference segmentations.

    Attributes:
        name: short name for tables (the file name without ``.tsv``, ``.csv``, ``.txt``, ``.gz``).
        format: one of `FORMATS`.
        words: the distinct words in the order of the file, each with all its segmentations.
        problems: ``file:line: reason`` for each line that was left out.
        lines: number of lines that contain data, without empty lines, comments and the header.
        partial: whether only one or two boundaries of a word are marked (MorphScore, derivational MorphyNet). In this
            case precision and F1 penalize true boundaries, so use recall.
        labeled: number of words that were left out because a tokenizer had learned from their labels.
        rows: line number, word and segmentations of each usable line, in the order of the file.
    """

    name: str
    format: str
    words: tuple[GoldWord, ...] = field(repr=False)
    problems: tuple[str, ...] = field(repr=False)
    lines: int
    partial: bool
    labeled: int = 0
    rows: Rows = field(default=(), repr=False)

    @property
    def labelled(self) -> int:
        """The former name of `labeled`, for one version."""
        warnings.warn("Gold.labelled is now Gold.labeled", DeprecationWarning, stacklevel=2)
        return self.labeled

    @property
    def remarks(self) -> list[str]:
        """Remarks that a reader of scores on this file needs, such as how many lines were left out."""
        found = []
        if self.problems:
            found.append(f"{len(self.problems):,} of {self.lines:,} lines left out")
        if self.labeled:
            found.append(f"{self.labeled:,} words left out, because a tokenizer was trained on their labels")
        if self.partial:
            found.append("only one or two boundaries per word are marked, so compare recall or MorphScore, not F1")
        return found

    def without(self, words: frozenset[str]) -> Gold:
        """Return a copy without some words.

        Args:
            words: the words to leave out, in the form that `caseless` returns.

        Raises:
            MwSError: no word is left.
        """
        kept = tuple(entry for entry in self.words if caseless(entry.word) not in words)
        if not kept:
            raise MwSError(
                f"{self.name}: every word was a label in the training of a tokenizer; give reference segmentations of "
                "other words"
            )
        return replace(self, words=kept, labeled=self.labeled + len(self.words) - len(kept))


GoldFiles: TypeAlias = str | os.PathLike[str] | Gold | Iterable[str | os.PathLike[str] | Gold]
"""One file of reference segmentations or several; each is a path, or the result of `read_gold`."""


def read_gold(path: str | os.PathLike[str], format: str | None = None) -> Gold:
    r"""Read a file of segmented words.

    Segmentations of equal words are collected. Morphs that differ from the word only in letter case are accepted, and
    get the letter case of the word. Lines that cannot be used are listed in `problems` of the result.

    Args:
        path: the file, in UTF-8; it may be compressed.
        format: one of `FORMATS`; None to recognize it from the content.

    Raises:
        MwSError: the file cannot be read, the format is unknown, or more than half of the lines cannot be used (in the
            `CANONICAL` formats, more than nine of ten).

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "toy.tsv"
    >>> _ = file.write_text("unlocks\tun lock s, unlock s\nbad\tb d\n", encoding="utf-8")
    >>> gold = read_gold(file)
    >>> gold.words
    (GoldWord(word='unlocks', segmentations=(('un', 'lock', 's'), ('unlock', 's'))),)
    >>> [problem.split("/")[-1] for problem in gold.problems]
    ["toy.tsv:2: the morphs 'b d' do not spell 'bad'"]
    """
    file = Path(path)
    numbered = _numbered_lines(file)
    if format is None:
        format = detect_format([line for _, line in numbered])
    elif format not in FORMATS:
        raise MwSError(f"format {format!r} of segmentations is unknown; choose one of {', '.join(FORMATS)}")
    if format == "morphscore":
        with about(file):
            parse = _csv_parser(numbered[0][1] if numbered else "")
        numbered = numbered[1:]
    else:
        parse = _parse_morphynet if format == "morphynet" else bound(_parse_two, morphs_of=_ANALYSES[format])
    rows: list[tuple[int, str, tuple[Morphs, ...]]] = []
    problems: list[str] = []
    for number, line in numbered:
        try:
            word, alternatives = parse(line)
            rows.append((number, word, spelled(word, alternatives)))
        except MwSError as reason:
            problems.append(f"{file}:{number}: {reason}")
    if not rows or len(problems) > (0.9 if format in CANONICAL else 0.5) * len(numbered):
        if not problems:
            raise MwSError(f"{file}: contains no segmented words; write one per line, as word<TAB>m1 m2")
        first = "; ".join(problems[: 3 if rows else 1])
        usable = (
            f"only {len(rows):,} of {len(numbered):,} lines are segmented words"
            if rows
            else "no line is a segmented word"
        )
        others = ", ".join(each for each in FORMATS if each != format)
        raise MwSError(f"{file}: {usable} in the format {format!r} ({first}); other formats: {others}")
    partial = format == "morphscore" or (format == "morphynet" and numbered[0][1].count("\t") == 5)
    words = merge_alternatives((word, alternatives) for _, word, alternatives in rows)
    return Gold(_short_name(file), format, words, tuple(problems), len(numbered), partial, rows=tuple(rows))


def spelled(word: str, alternatives: Iterable[list[str]]) -> tuple[Morphs, ...]:
    """Convert the segmentations of a word to the letter case of the word, and remove duplicates.

    Raises:
        MwSError: a segmentation does not spell the word, or contains an empty morph.

    >>> spelled("Unlocks", [["un", "lock", "s"], ["unlock", "s"]])
    (('Un', 'lock', 's'), ('Unlock', 's'))
    """
    found: dict[Morphs, None] = {}
    for morphs in alternatives:
        joined = "".join(morphs)
        if word and not all(morphs or [""]):
            raise MwSError(f"a morph of {quoted(word)} is empty")
        if not word or len(joined) != len(word) or caseless(joined) != caseless(word):
            raise MwSError(_spelling_problem(word, morphs))
        ends = [0, *accumulate(map(len, morphs))]
        found[tuple(word[start:end] for start, end in pairwise(ends))] = None
    return tuple(found)


def _spelling_problem(word: str, morphs: list[str]) -> str:
    """Return why morphs do not spell their word, and what to do if the reason is known."""
    joined, shown = "".join(morphs), quoted(" ".join(morphs))
    if len(word.split()) > 1 and caseless("".join(word.split())) == caseless(joined):
        return f"{quoted(word)} contains a space, and its morphs do not; leave it out"
    for form in ("NFC", "NFKC") if word else ():
        if normalize(form, word).lower() == normalize(form, joined).lower():
            return _form_problem(word, morphs, form)
    if word and word.lower() == _SEPARATORS.sub("", joined).lower():
        return f"the morphs {shown} of {quoted(word)} are not separated by spaces; write a space between morphs"
    return f"the morphs {shown} do not spell {quoted(word)}"


def _form_problem(word: str, morphs: list[str], form: Literal["NFC", "NFKC"]) -> str:
    """Return what to do if morphs spell their word only in a Unicode form, which is the name of this form."""
    if marked := next((morph for morph in morphs[1:] if combining(morph[0])), None):
        return (
            f"the morph {quoted(marked)} of {quoted(word)} begins with a combining character, which belongs to the "
            "letter before it; move the boundary"
        )
    return f"{quoted(word)} and its morphs have different Unicode forms of a character; normalize both to {form}"


def split_alternatives(word: str, analysis: str) -> list[list[str]]:
    """Split a string such as ``m1 m2, alternative`` into segmentations, each a list of morphs.

    A comma without a space after it separates alternatives, too, unless the word contains a comma.

    >>> split_alternatives("unlocks", "un lock s,unlock s")
    [['un', 'lock', 's'], ['unlock', 's']]
    """
    return [alternative.split() for alternative in analysis.split(", " if "," in word else ",")]


def merge_alternatives(rows: Iterable[tuple[str, tuple[Morphs, ...]]]) -> tuple[GoldWord, ...]:
    """Return the distinct words of rows in the order of first appearance, each with all its segmentations."""
    found: dict[str, dict[Morphs, None]] = {}
    for word, alternatives in rows:
        found.setdefault(word, {}).update(dict.fromkeys(alternatives))
    return tuple(GoldWord(word, tuple(alternatives)) for word, alternatives in found.items())


def read_golds(given: GoldFiles) -> list[Gold]:
    """Read one or several files of reference segmentations as `read_gold` does.

    A warning is logged for each file that has `Gold.remarks`.

    Raises:
        MwSError: a file cannot be read, or two of them have the same name in tables.
    """
    several: list[Any] = (
        [given]
        if isinstance(given, str | os.PathLike | Gold | Mapping) or not isinstance(given, Iterable)
        else [*given]
    )
    if wrong := [type(each).__name__ for each in several if not isinstance(each, str | os.PathLike | Gold)]:
        raise MwSError(
            f"reference segmentations cannot be read from {wrong[0]}; give the path of a file, or a list of paths"
        )
    golds = [each if isinstance(each, Gold) else _read_with_warnings(each) for each in several]
    if len({gold.name for gold in golds}) < len(golds):
        names = ", ".join(gold.name for gold in golds)
        raise MwSError(f"two files of reference segmentations have the same name ({names}); rename one")
    return golds


def _read_with_warnings(file: str | os.PathLike[str]) -> Gold:
    """Read a file of reference segmentations, and log its remarks and its first problems as warnings."""
    gold = read_gold(file)
    if gold.remarks:
        _logger.warning("%s: %s", gold.name, "; ".join(gold.remarks))
    for problem in gold.problems[:MAX_SHOWN_PROBLEMS]:
        _logger.warning("left out: %s", problem)
    return gold


def detect_format(lines: list[str]) -> str:
    """Recognize the format of a file by its first 500 lines.

    The format is ``words`` unless at least one line in twenty has marks of a different format.

    Args:
        lines: the lines of the file that contain data.
    """
    if lines and "," in lines[0] and any(set(columns) <= set(_cells(lines[0])) for columns in _CSV_COLUMNS):
        return "morphscore"
    votes = Counter(_vote(line) for line in lines[:500])
    others = [(count, name) for name, count in votes.items() if name != "words" and count * 20 >= sum(votes.values())]
    return max(others)[1] if others else "words"


def _vote(line: str) -> str:
    """Return the format that a line seems to have."""
    fields = line.split("\t")
    if len(fields) == 6 or (len(fields) == 4 and "|" in fields[3]):
        return "morphynet"
    if len(fields) < 2:
        return "words"
    analysis = fields[1].strip()
    if "@@" in analysis or (len(fields) == 3 and re.fullmatch("[01]{3}", fields[2].strip())):
        return "sigmorphon2022"
    if _NEURAL.fullmatch(analysis):
        return "neural"
    if analysis and all(":" in item[1:] for item in analysis.replace(", ", " ").split()):
        return "morphochallenge"
    return "words"


def _numbered_lines(file: Path) -> list[tuple[int, str]]:
    """Read the lines that contain data, each with its number; empty lines and comments are left out."""
    numbered = ((number, line.rstrip("\r\n")) for number, line in enumerate(stored_lines(file), start=1))
    kept = [(k, line) for k, line in numbered if line.strip() and not (line.startswith("#") and "\t" not in line)]
    return [(k, "\t".join(map(_unquoted, line.split("\t"))) if "\t" in line else line) for k, line in kept]


def _unquoted(field: str) -> str:
    """Return a field without the quotation marks that spreadsheets write around it, for example if it has a comma."""
    is_quoted = len(field) > 2 and field[0] == field[-1] == '"'
    return field[1:-1].replace('""', '"') if is_quoted else field


def _short_name(file: Path) -> str:
    """Return the name of a file without the suffixes of tables and compressed files."""
    name = file.name
    while name.endswith((".tsv", ".csv", ".txt", *COMPRESSED)) and "." in name[1:]:
        name = name.rpartition(".")[0]
    return name


def _cells(line: str) -> list[str]:
    """Return the cells of a line of CSV; none if it cannot be parsed."""
    try:
        return next(csv.reader([line]))
    except csv.Error:  # a cell of more than 128 KiB
        return []


def _csv_parser(header: str) -> Callable[[str], _Parsed]:
    """Return a function that parses lines of MorphScore, for a file with this header."""
    names = _cells(header)
    columns = next((columns for columns in _CSV_COLUMNS if set(columns) <= set(names)), None)
    if columns is None:
        here = " or ".join(map(str, _CSV_COLUMNS))
        raise Fault(f"is not a header of MorphScore; the first line must contain the names {here}", 1)
    places = [names.index(column) for column in columns]

    def parse(line: str) -> _Parsed:
        cells = _cells(line)
        if len(cells) <= max(places):
            raise MwSError(f"the line has {len(cells)} cells, fewer than the header; add the missing ones")
        word, *parts = (cells[place].strip() for place in places)
        return word, [[part for part in parts if part]]

    return parse


def _parse_two(line: str, morphs_of: Callable[[str, str], list[list[str]]]) -> _Parsed:
    """Parse a line of ``word<TAB>analysis``; `morphs_of` reads the analysis."""
    word, analysis, *_ = (field.strip() for field in [*line.split("\t"), "", ""])
    if not analysis:
        raise MwSError("the line has no segmentation; write word<TAB>m1 m2")
    return word, morphs_of(word, analysis)


def _morphochallenge(_word: str, analysis: str) -> list[list[str]]:
    """Return the segmentations of ``m1:tag m2:tag, alternative``."""
    alternatives = []
    for alternative in analysis.split(", "):
        # a colon of the word itself is written "\\:" in the Finnish files ("hyy\\::~ n:+GEN"), so the last one divides
        surfaces = [(item.rpartition(":")[0] or item).replace("\\:", ":") for item in alternative.split()]
        alternatives.append([surface for surface in surfaces if surface != "~"])
    return alternatives


_ANALYSES: dict[str, Callable[[str, str], list[list[str]]]] = {
    "words": split_alternatives,
    "sigmorphon2022": lambda _, analysis: [[morph.removeprefix("@@") for morph in analysis.split()]],
    "morphochallenge": _morphochallenge,
    "neural": lambda _, analysis: [[morph.rpartition(":")[0] or morph for morph in analysis.split("/")]],
}
"""The function that reads the morphs from the analysis, for each format whose lines are ``word<TAB>analysis``."""


def _parse_morphynet(line: str) -> _Parsed:
    """Parse a line of inflectional or derivational MorphyNet."""
    fields = [field.strip() for field in line.split("\t")]
    if len(fields) == 4:
        return fields[1], [[morph.strip() for morph in fields[3].split("|")]]
    if len(fields) != 6:
        raise MwSError(f"the line has {len(fields)} fields, but MorphyNet has 4 (inflectional) or 6 (derivational)")
    source, target, affix, kind = fields[0], fields[1], fields[4], fields[5]
    return target, [[affix, source] if kind == "prefix" else [source, affix]]
