"""Words that two tokenizers cut differently, the measures of a text as columns, and text written safely as HTML."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from mws_hf.evaluate.boundaries import boundaries
from mws_hf.evaluate.measures import TEXT
from mws_hf.evaluate.running_text import WORD, TextScores
from mws_hf.text.pattern import compiled
from mws_hf.tokenizer.opened import Opened

_JOINERS = "\u200c\u200d"
_SIGNS = {"\n": "↵", "\r": "␍", "\t": "⇥"}


@cache
def templates() -> Environment:
    """Return the templates of the package, which escape what they show; `visible` is a filter in them."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = visible
    return environment


def visible(text: str) -> Markup:
    """Write text as HTML: escaped, invisible characters as their code, line breaks marked and kept."""
    if unicodedata.category(text[:1] or " ").startswith("M"):
        text = "\u25cc" + text  # a mark at the beginning would be drawn on whatever stands before it
    return Markup("").join(map(_character, text))


def _character(character: str) -> Markup:
    if character in _SIGNS:
        return Markup("<i>{}</i>{}").format(_SIGNS[character], character.replace("\r", ""))
    if unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Zl", "Zp") and character not in _JOINERS:
        return Markup("<i>U+{:04X}</i>").format(ord(character))
    return escape(character)


def well_formed(text: str) -> str:
    """Replace lone surrogates by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Piece(NamedTuple):
    """A part of a word; `after` judges the cut at its end by gold: "hit", "miss", or "" where there is none."""

    text: str
    after: str = ""


class WordDifference(NamedTuple):
    """A word that two tokenizers cut differently, how often a text has it, its pieces by both, and by gold if known."""

    word: str
    times: int
    first: tuple[Piece, ...]
    second: tuple[Piece, ...]
    gold: tuple[str, ...] = ()


def differences(
    first: Opened, second: Opened, text: str, gold: Mapping[str, Sequence[str]] | None = None
) -> list[WordDifference]:
    """List the words that two tokenizers cut differently after a space, the most frequent first, then by letters.

    Args:
        first: a tokenizer.
        second: another one.
        text: whose words are looked at.
        gold: word -> its morphs; a cut of a word that is there is a hit or a miss.
    """
    counts = Counter(match.group() for match in compiled(WORD).finditer(text))
    words = sorted(counts, key=lambda word: (-counts[word], word))
    cuts = [opened.cut(words) for opened in (first, second)]
    gold = gold or {}
    return [
        WordDifference(
            word, counts[word], judged(one, gold.get(word)), judged(other, gold.get(word)), tuple(gold.get(word, ()))
        )
        for word, one, other in zip(words, *cuts, strict=True)
        if one != other
    ]


def judged(pieces: Sequence[str], gold: Sequence[str] | None) -> tuple[Piece, ...]:
    """Judge the cut at the end of each piece but the last.

    >>> [piece.after for piece in judged(("un", "pa", "cking"), ("un", "pack", "ing"))]
    ['hit', 'miss', '']
    """
    if gold is None:
        return tuple(map(Piece, pieces))
    true = boundaries(gold)
    return tuple(map(Piece, pieces, [*("hit" if end in true else "miss" for end in boundaries(pieces)), ""]))


class Column(NamedTuple):
    """A measure of a table: its title, its meaning, and for each tokenizer the figure and the line below it."""

    title: str
    about: str
    cells: Sequence[tuple[str, str]]


def text_columns(keys: Iterable[str], scores: Sequence[TextScores | None]) -> list[Column]:
    """Write measures of a text by several tokenizers; a dash for one that was not measured on it."""
    chosen = [TEXT[key] for key in keys]
    return [Column(each.name, each.about, [(each.cell(s) if s else "-", "") for s in scores]) for each in chosen]
