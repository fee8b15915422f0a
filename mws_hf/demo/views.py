"""The panels of a text and of two tokenizers compared, as HTML by pure functions; views.html has the drawing.

Any text is shown safely: escaped, invisible characters named, each script in its own direction.
"""

from __future__ import annotations

import math
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from mws_hf.demo.tokens import Opened, Token, tokens_of
from mws_hf.evaluate.running_text import WORD, TextScores, score_text
from mws_hf.evaluate.segment import segment_words
from mws_hf.evaluate.tables import number_cell
from mws_hf.text.pattern import compiled

COLOURS = 6
MOST_CHARACTERS = 200_000  # that are encoded; what is pasted beyond is left out, and the page says so
MOST_TYPED = 2_000_000  # characters that the page's boxes take
MOST_DRAWN = 1500  # tokens, of all tokenizers together; a browser grows slow with many more
MOST_LISTED = 200  # tokens, or words, in a table
_JOINERS = "\u200c\u200d"
_SIGNS = {"\n": "↵", "\r": "␍", "\t": "⇥"}


@cache
def templates() -> Environment:
    """Return the templates of the package, which escape what they show; `visible` is a filter in them."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent.parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = visible
    return environment


@cache
def views() -> Any:
    """Return the macros of views.html."""
    return templates().get_template("demo/views.html").module


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


def direction(text: str) -> str:
    """Return the direction of the first letter, "ltr" or "rtl", else "number" if there is a digit, else ""."""
    kinds = [unicodedata.bidirectional(character) for character in text]
    letter = next((kind for kind in kinds if kind in ("L", "R", "AL")), "")
    if letter:
        return "ltr" if letter == "L" else "rtl"
    return "number" if {"EN", "AN"} & set(kinds) else ""


def paragraph_direction(text: str) -> str:
    """Return the direction that a text is read in, by its first letter."""
    return "rtl" if direction(text) == "rtl" else "ltr"


def _in_reading_order(tokens: Iterable[Token], text: str, draw: Callable[[Token], Markup]) -> Markup:
    """Draw tokens so that each script is read in its own direction, though every token is isolated from the others.

    Tokens of one direction are put in a run of that direction; a number within a run from right to left is kept whole.
    """
    base = current = paragraph_direction(text)
    directed: list[tuple[str, bool, Token]] = []
    for token in tokens:
        kind = direction(text[token.start : token.end])
        current = kind if kind in ("ltr", "rtl") else current
        directed.append((current, kind == "number", token))
    parts = []
    for run, group in groupby(directed, key=lambda each: each[0]):
        inside = []
        for number, members in groupby(group, key=lambda each: each[1]):
            drawn = Markup("").join(draw(token) for _, _, token in members)
            inside.append(Markup('<bdi dir="ltr">{}</bdi>').format(drawn) if number and run == "rtl" else drawn)
        joined = Markup("").join(inside)
        parts.append(joined if run == base else Markup('<bdi dir="{}">{}</bdi>').format(run, joined))
    return Markup("").join(parts)


def text_html(tokenizers: Sequence[Opened], text: str) -> str:
    """Write the panel of a text: its size, and a card for each tokenizer."""
    if not text:
        return str(views().note("Type or paste some text: its tokens appear here."))
    text, said = _shortened(text)
    most = max(100, MOST_DRAWN // len(tokenizers))
    return str(views().text([*said, text_size(text)], [_card(opened, text, most) for opened in tokenizers]))


def text_size(text: str) -> str:
    """Measure a text in figures that depend on no tokenizer.

    >>> text_size("но она")
    '6 characters, 11 bytes, 2 words, 5.0 bytes per word'
    """
    words = compiled(WORD).findall(text)
    said = f"{len(text):,} characters, {len(text.encode()):,} bytes"
    if not words:
        return said
    return f"{said}, {len(words):,} words, {len(''.join(words).encode()) / len(words):.1f} bytes per word"


def well_formed(text: str) -> str:
    """Replace lone surrogates by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _shortened(text: str) -> tuple[str, list[str]]:
    """Cut a text to the length that is encoded, with a note where it is longer."""
    text = well_formed(text)
    said = [f"Only the first {MOST_CHARACTERS:,} of {len(text):,} characters are used."]
    return text[:MOST_CHARACTERS], said if len(text) > MOST_CHARACTERS else []


def _card(opened: Opened, text: str, most: int) -> dict[str, Any]:
    """Gather what a tokenizer's card shows: figures of the whole text, its first tokens in colours, a table of some."""
    encoded = opened.encoder.encode([text])[0]
    tokens = tokens_of(opened, text, encoded, most)
    about = _about_words(tokens, text)
    places = {id(token): at for at, token in enumerate(tokens)}
    ends = [0, *accumulate((token.end for token in tokens), max)]

    def draw(token: Token) -> Markup:
        at = places[id(token)]
        gap = text[ends[at] : token.start] if token.end > token.start else ""  # what no token holds
        return visible(gap) + _chip(token, at, opened, about[at])

    return {
        "name": opened.name,
        "figures": _figures(score_text(opened.encoder, [text])) if encoded.ids else {},
        "direction": paragraph_direction(text),
        "tokens": _in_reading_order(tokens, text, draw),
        "total": len(encoded.ids),
        "most": most,
        "listed": f"the first {MOST_LISTED}" if len(tokens) > MOST_LISTED else "all",
        "rows": [
            (_chip(token, at, opened), token.number, made_by(token, opened))
            for at, token in enumerate(tokens[:MOST_LISTED])
        ],
    }


def _figures(scores: TextScores) -> dict[str, str]:
    found = {
        "tokens": f"{scores.tokens:,}",
        "tokens per word": f"{scores.fertility:.2f}",
        "bytes per token": f"{scores.bytes_per_token:.2f}",
        "words whole": f"{scores.whole_words:.0%}",
    }
    return {name: figure for name, figure in found.items() if "word" not in name or not math.isnan(scores.fertility)}


def _chip(token: Token, place: int, opened: Opened, more: str = "") -> Markup:
    """Write a token in the colour of its place; pointing at it shows its id and merge."""
    shown = Markup("<i>{}</i>").format(token.shown) if token.in_bytes else visible(token.shown)
    title = f"id {token.number} · {made_by(token, opened)}{more}"
    return Markup('<span class="mws-t mws-c{}" title="{}">{}</span>').format(place % COLOURS, title, shown)


def made_by(token: Token, opened: Opened) -> str:
    """Describe the merge that made a token and its kind, in words; or the nature of a token that no merge made."""
    if token.rank is None:
        added = opened.backend.get_added_tokens_decoder()
        return "an added token" if token.number in added else "made by no merge"
    kind = opened.merge_kinds[token.rank]
    return f"merge {token.rank}, {kind}" if kind else f"merge {token.rank}"


def _about_words(tokens: Sequence[Token], text: str) -> list[str]:
    """Count, for each token, the tokens and bytes of the word it belongs to; empty outside words."""
    end = tokens[-1].end if tokens else 0
    words = [match.span() for match in compiled(WORD).finditer(text, 0, min(len(text), end + 100))]
    starts = [start for start, _ in words]
    owner: list[int | None] = []
    for token in tokens:
        at = bisect_right(starts, max(token.start, token.end - 1)) - 1
        owner.append(at if at >= 0 and token.start < words[at][1] else None)
    counts = Counter(owner)
    return [
        ""
        if word is None
        else f" · word of {counts[word]} token{'s' * (counts[word] != 1)}, "
        f"{len(text[slice(*words[word])].encode())} bytes"
        for word in owner
    ]


@dataclass(frozen=True)
class WordDifference:
    """A word that two tokenizers cut differently, its frequency in a text, and its pieces by both."""

    word: str
    count: int
    first: tuple[str, ...]
    second: tuple[str, ...]


def differences(first: Opened, second: Opened, text: str) -> list[WordDifference]:
    """List the words that two tokenizers cut differently after a space, the most frequent first, then by letters."""
    counts = Counter(match.group() for match in compiled(WORD).finditer(text))
    words = sorted(counts, key=lambda word: (-counts[word], word))
    cuts = [segment_words(opened.encoder, words) for opened in (first, second)]
    return [WordDifference(word, counts[word], a, b) for word, a, b in zip(words, *cuts, strict=True) if a != b]


class Column(NamedTuple):
    """A measure of a table: its title, its meaning, and for each tokenizer the figure and the line below it."""

    title: str
    about: str
    cells: Sequence[tuple[str, str]]


_MEASURES: dict[str, tuple[str, Callable[[TextScores], str]]] = {
    "tokens": ("of the text", lambda scores: f"{scores.tokens:,}"),
    "entries": ("of the vocabulary", lambda scores: f"{scores.vocabulary_size:,}"),
    "tokens per word": ("how long text becomes; fewer is shorter", lambda scores: number_cell(scores.fertility)),
    "bytes per token": ("how much text a token holds", lambda scores: number_cell(scores.bytes_per_token)),
    "words whole": ("running words that are one token", lambda scores: number_cell(scores.whole_words, ".1%")),
    "entries unused": ("in the texts of this report", lambda scores: f"{1 - scores.vocabulary_used:.1%}"),
    "parts of characters": (
        "tokens that are single bytes or less than a character",
        lambda scores: f"{scores.byte_tokens:.2%}",
    ),
}


def text_columns(titles: Iterable[str], scores: Sequence[TextScores | None]) -> list[Column]:
    """Write measures of a text by several tokenizers; a dash for one that was not measured on it."""
    chosen = [(title, *_MEASURES[title]) for title in titles]
    return [Column(name, about, [(write(s) if s else "-", "") for s in scores]) for name, about, write in chosen]


def comparison_html(first: Opened, second: Opened, text: str) -> str:
    """Write the panel of two tokenizers: a table of lengths, and a list of words cut differently."""
    if first is second:
        return str(views().note("Choose two different tokenizers; start the page with two directories to have them."))
    if not text.strip():
        return str(views().note("Paste a text: both are compared on it."))
    text, said = _shortened(text)
    titles = ("tokens", "tokens per word", "bytes per token", "words whole", "entries")
    columns = text_columns(titles, [score_text(opened.encoder, [text]) for opened in (first, second)])
    found = differences(first, second, text)
    about = "Every word of the text is cut alike."
    if found:
        running, words = sum(each.count for each in found), len(compiled(WORD).findall(text))
        about = f"{len(found):,} words are cut differently, {running:,} of {words:,} in running text"
        about += f"; the {MOST_LISTED} most frequent:" if len(found) > MOST_LISTED else ":"
    return str(views().comparison(said, [first.name, second.name], columns, found[:MOST_LISTED], about))
