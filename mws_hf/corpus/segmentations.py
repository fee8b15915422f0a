"""Read files of segmented words, such as reference segmentations; every line that is left out is reported.

The format of a file is found from its content, or named with `format=`:

* ``words``: ``word<TAB>m1 m2``, alternatives after a comma.
* ``sigmorphon2022``: ``word<TAB>m1 @@m2[<TAB>category]``; canonical morphs, used only where they spell the word.
* ``morphochallenge``: ``word<TAB>m1:tag m2:tag, alternative``; empty morphs ``~`` are left out.
* ``neural``: ``word<TAB>пере:PREF/чит:ROOT`` (NeuralMorphemeSegmentation), tags optional.
* ``morphscore``: CSV with ``wordform, preceding_part, stem, following_part`` (2025) or ``full_word, pt1, rest`` (2024).
* ``morphynet``: inflectional ``lemma, form, features, a|b`` or derivational ``source, target, POS, POS, affix, type``.
"""

from __future__ import annotations

import csv
import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial as bound
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, TypeAlias

from mws_hf.corpus.octets import COMPRESSED, stored_lines
from mws_hf.corpus.place import Fault, about
from mws_hf.errors import MwSError
from mws_hf.text.letter_case import caseless

Morphs: TypeAlias = tuple[str, ...]
Rows: TypeAlias = tuple[tuple[int, str, tuple[Morphs, ...]], ...]
_Parsed: TypeAlias = tuple[str, list[list[str]]]

_logger = logging.getLogger(__name__)
_MAX_SHOWN_PROBLEMS = 5

FORMATS = ("words", "sigmorphon2022", "morphochallenge", "neural", "morphscore", "morphynet")
CANONICAL = ("sigmorphon2022", "morphynet")
"""Formats whose morphs are in a base form, which often does not spell the word."""
_CSV_COLUMNS = (("wordform", "preceding_part", "stem", "following_part"), ("full_word", "pt1", "rest"))
_NEURAL = re.compile(r"[^:/\s]+:[A-Z]+(/[^:/\s]+:[A-Z]+)*|[^:/\s]+(/[^:/\s]+)+")


@dataclass(frozen=True)
class GoldWord:
    """A word and its accepted segmentations, in file order; the morphs of each spell the word exactly."""

    word: str
    segmentations: tuple[Morphs, ...]


@dataclass(frozen=True)
class Gold:
    """The content of a gold file.

    Attributes:
        name: short name for tables (the file name without ``.tsv``, ``.csv``, ``.txt``, ``.gz``).
        format: one of `FORMATS`.
        words: distinct words in file order, alternatives merged.
        problems: ``file:line: reason`` for each line left out.
        lines: lines that hold data (not empty, no comment, no header).
        partial: True if only one or two boundaries of a word are marked (MorphScore, derivational MorphyNet). Then
            precision and F1 penalize true boundaries; use recall.
        labelled: number of words that were left out because a tokenizer had learned from their labels.
        rows: (line number, word, its segmentations) of each usable line, in file order.
    """

    name: str
    format: str
    words: tuple[GoldWord, ...] = field(repr=False)
    problems: tuple[str, ...] = field(repr=False)
    lines: int
    partial: bool
    labelled: int = 0
    rows: Rows = field(default=(), repr=False)

    @property
    def remarks(self) -> list[str]:
        """Remarks that are necessary to understand scores on this file, such as how many lines were left out."""
        found = []
        if self.problems:
            found.append(f"{len(self.problems):,} of {self.lines:,} lines left out")
        if self.labelled:
            found.append(f"{self.labelled:,} words left out, because a tokenizer was trained on their labels")
        if self.partial:
            found.append("only one or two boundaries per word are marked, so compare recall or MorphScore, not F1")
        return found

    def without(self, words: frozenset[str]) -> Gold:
        """Return the gold less some words, given by `caseless`; raises MwSError where no word is left."""
        kept = tuple(entry for entry in self.words if caseless(entry.word) not in words)
        if not kept:
            raise MwSError(
                f"{self.name}: every word was a label in the training of a tokenizer; give reference segmentations of "
                "other words"
            )
        return replace(self, words=kept, labelled=self.labelled + len(self.words) - len(kept))


GoldFiles: TypeAlias = str | os.PathLike[str] | Gold | Iterable[str | os.PathLike[str] | Gold]
"""A gold file, or several; each a path, or the result of `read_gold`."""


def read_gold(path: str | os.PathLike[str], format: str | None = None) -> Gold:
    r"""Read a file of segmentations (UTF-8, also compressed); its format, of `FORMATS`, is found if not given.

    Alternatives of equal words are merged. Morphs that differ from the word in letter case only are accepted and take
    the word's letters.

    Raises:
        MwSError: unreadable file, unknown format, or more than half of the lines cannot be used; in a format that is
            `CANONICAL`, more than nine of ten.

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
        raise MwSError(f"gold format {format!r} is unknown; choose one of {', '.join(FORMATS)}")
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
        first = "; ".join(problems[: 3 if rows else 1]) or "the file is empty"
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
            raise MwSError(f"a morph of {word!r} is empty")
        if not word or len(joined) != len(word) or caseless(joined) != caseless(word):
            raise MwSError(f"the morphs {' '.join(morphs)!r} do not spell {word!r}")
        ends = [0, *accumulate(map(len, morphs))]
        found[tuple(word[start:end] for start, end in pairwise(ends))] = None
    return tuple(found)


def split_alternatives(word: str, analysis: str) -> list[list[str]]:
    """Split ``m1 m2, alternative`` into morphs.

    A comma without a space after it separates alternatives, too, unless the word contains a comma.

    >>> split_alternatives("unlocks", "un lock s,unlock s")
    [['un', 'lock', 's'], ['unlock', 's']]
    """
    return [alternative.split() for alternative in analysis.split(", " if "," in word else ",")]


def merge_alternatives(rows: Iterable[tuple[str, tuple[Morphs, ...]]]) -> tuple[GoldWord, ...]:
    """Merge rows of the same word; returns the distinct words in order of appearance, with all their segmentations."""
    found: dict[str, dict[Morphs, None]] = {}
    for word, alternatives in rows:
        found.setdefault(word, {}).update(dict.fromkeys(alternatives))
    return tuple(GoldWord(word, tuple(alternatives)) for word, alternatives in found.items())


def read_golds(given: GoldFiles) -> list[Gold]:
    """Read one gold file or several, each by `read_gold`, and log a warning for each file with `Gold.remarks`.

    Raises:
        MwSError: two files have the same name in tables, or a file cannot be read.
    """
    several: list[Any] = (
        [given]
        if isinstance(given, str | os.PathLike | Gold | Mapping) or not isinstance(given, Iterable)
        else [*given]
    )
    if wrong := [type(each).__name__ for each in several if not isinstance(each, str | os.PathLike | Gold)]:
        raise MwSError(f"gold: {wrong[0]} is not a file; give a path, or a list of paths")
    golds = [each if isinstance(each, Gold) else _read_with_warnings(each) for each in several]
    if len({gold.name for gold in golds}) < len(golds):
        raise MwSError(f"two gold files share a name: {', '.join(gold.name for gold in golds)}; rename one")
    return golds


def _read_with_warnings(file: str | os.PathLike[str]) -> Gold:
    gold = read_gold(file)
    if gold.remarks:
        _logger.warning("%s: %s", gold.name, "; ".join(gold.remarks))
    for problem in gold.problems[:_MAX_SHOWN_PROBLEMS]:
        _logger.warning("left out: %s", problem)
    return gold


def detect_format(lines: list[str]) -> str:
    """Return the format of data lines from the first 500; plain ``words`` unless they have marks of another."""
    if lines and "," in lines[0] and any(set(columns) <= set(_cells(lines[0])) for columns in _CSV_COLUMNS):
        return "morphscore"
    votes = Counter(_vote(line) for line in lines[:500])
    others = [(count, name) for name, count in votes.items() if name != "words" and count * 20 >= sum(votes.values())]
    return max(others)[1] if others else "words"


def _vote(line: str) -> str:
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
    """Read the lines that hold data, each with its number."""
    numbered = ((number, line.rstrip("\r\n")) for number, line in enumerate(stored_lines(file), start=1))
    return [(k, line) for k, line in numbered if line.strip() and not (line.startswith("#") and "\t" not in line)]


def _short_name(file: Path) -> str:
    name = file.name
    while name.endswith((".tsv", ".csv", ".txt", *COMPRESSED)) and "." in name[1:]:
        name = name.rpartition(".")[0]
    return name


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line]))
    except csv.Error:  # a cell of more than 128 KiB
        return []


def _csv_parser(header: str) -> Callable[[str], _Parsed]:
    """Make the parser of MorphScore's lines after such a header."""
    names = _cells(header)
    columns = next((columns for columns in _CSV_COLUMNS if set(columns) <= set(names)), None)
    if columns is None:
        here = " or ".join(map(str, _CSV_COLUMNS))
        raise Fault(f"no MorphScore header; the first line must name {here}", 1)
    places = [names.index(column) for column in columns]

    def parse(line: str) -> _Parsed:
        cells = _cells(line)
        if len(cells) <= max(places):
            raise MwSError(f"{len(cells)} cells, fewer than the header's")
        word, *parts = (cells[place].strip() for place in places)
        return word, [[part for part in parts if part]]

    return parse


def _parse_two(line: str, morphs_of: Callable[[str, str], list[list[str]]]) -> _Parsed:
    word, analysis, *_ = (field.strip() for field in [*line.split("\t"), "", ""])
    if not analysis:
        raise MwSError("no tab and no segmentation; write word<TAB>m1 m2")
    return word, morphs_of(word, analysis)


def _morphochallenge(_word: str, analysis: str) -> list[list[str]]:
    alternatives = []
    for alternative in analysis.split(", "):
        # A colon of the word itself is written "\\:" in the Finnish files ("hyy\\::~ n:+GEN"): the last colon divides.
        surfaces = [(item.rpartition(":")[0] or item).replace("\\:", ":") for item in alternative.split()]
        alternatives.append([surface for surface in surfaces if surface != "~"])
    return alternatives


_ANALYSES: dict[str, Callable[[str, str], list[list[str]]]] = {
    "words": split_alternatives,
    "sigmorphon2022": lambda _, analysis: [[morph.removeprefix("@@") for morph in analysis.split()]],
    "morphochallenge": _morphochallenge,
    "neural": lambda _, analysis: [[morph.rpartition(":")[0] or morph for morph in analysis.split("/")]],
}
"""How formats of ``word<TAB>analysis`` write the morphs of a word."""


def _parse_morphynet(line: str) -> _Parsed:
    fields = [field.strip() for field in line.split("\t")]
    if len(fields) == 4:
        return fields[1], [[morph.strip() for morph in fields[3].split("|")]]
    if len(fields) != 6:
        raise MwSError(f"{len(fields)} fields; MorphyNet has 4 (inflectional) or 6 (derivational)")
    source, target, affix, kind = fields[0], fields[1], fields[4], fields[5]
    return target, [[affix, source] if kind == "prefix" else [source, affix]]
