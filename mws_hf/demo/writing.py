"""Write characters of any text as safe HTML: escaped, invisible ones named, each script in its own direction."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable, Iterable
from itertools import groupby

from mws_hf.demo.tokens import Token

_RIGHT_TO_LEFT = ("R", "AL")
_NUMBER = ("EN", "AN")
_JOINERS = "\u200c\u200d"
_SIGNS = {"\n": "↵", "\r": "␍", "\t": "⇥"}


def visible(text: str) -> str:
    r"""Write text as HTML: escaped, invisible characters as their code, line breaks marked and kept.

    >>> visible("<b>\u202e\n")
    '&lt;b&gt;<i>U+202E</i><i>↵</i>\n'
    """
    if unicodedata.category(text[:1] or " ").startswith("M"):
        text = "\u25cc" + text  # a mark at the beginning would be drawn on whatever stands before it
    return "".join(_character(each) for each in text)


def _character(character: str) -> str:
    if character in _SIGNS:
        return f"<i>{_SIGNS[character]}</i>{character if character != chr(13) else ''}"
    if unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Zl", "Zp") and character not in _JOINERS:
        return f"<i>U+{ord(character):04X}</i>"
    return html.escape(character)


def direction(text: str) -> str:
    """Return the direction of the first letter, "ltr" or "rtl", else "number" if there is a digit, else "".

    >>> direction("(שלום"), direction(" 12"), direction("a1"), direction("?!")
    ('rtl', 'number', 'ltr', '')
    """
    number = False
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind == "L" or kind in _RIGHT_TO_LEFT:
            return "ltr" if kind == "L" else "rtl"
        number = number or kind in _NUMBER
    return "number" if number else ""


def in_reading_order(tokens: Iterable[Token], text: str, draw: Callable[[Token], str], base: str) -> str:
    """Draw tokens so that each script is read in its own direction, though every token is isolated from the others.

    Tokens of one direction are put in a run of that direction; a number within a run from right to left is kept whole.
    `draw` gives HTML that is isolated (``unicode-bidi: isolate``); `base` is the direction of the paragraph.
    """
    directed: list[tuple[str, bool, Token]] = []
    current = base
    for token in tokens:
        kind = direction(text[token.start : token.end])
        current = kind if kind in ("ltr", "rtl") else current
        directed.append((current, kind == "number", token))
    parts = []
    for run, group in groupby(directed, key=lambda each: each[0]):
        inside = []
        for number, members in groupby(group, key=lambda each: each[1]):
            drawn = "".join(draw(token) for _, _, token in members)
            inside.append(f'<bdi dir="ltr">{drawn}</bdi>' if number and run == "rtl" else drawn)
        joined = "".join(inside)
        parts.append(joined if run == base else f'<bdi dir="{run}">{joined}</bdi>')
    return "".join(parts)
