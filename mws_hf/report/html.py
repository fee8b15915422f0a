"""Load the HTML templates of the page, and show text in them safely, with invisible characters made visible."""

from __future__ import annotations

import unicodedata
from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

_JOINERS = "\u200c\u200d"
_SIGNS = {"\n": "↵", "\r": "␍", "\t": "⇥"}


def packaged(name: str) -> str:
    """Read a file of this package, even if the package is in a zip file."""
    return files("mws_hf.report").joinpath(name).read_text(encoding="utf-8")


@cache
def templates() -> Environment:
    """Return the environment of the templates, which escapes text and has the filter `visible`."""
    environment = Environment(
        loader=FunctionLoader(packaged),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = visible
    return environment


def visible(text: str) -> Markup:
    """Return text as escaped HTML, with invisible characters as code points; line breaks are marked and kept.

    >>> visible("a<b\u200b")
    Markup('a&lt;b<i>U+200B</i>')
    """
    if unicodedata.category(text[:1] or " ").startswith("M"):
        text = "\u25cc" + text  # a combining mark would be drawn on the character before the text
    return Markup("").join(map(_character, text))


def _character(character: str) -> Markup:
    if character in _SIGNS:
        return Markup("<i>{}</i>{}").format(_SIGNS[character], character.replace("\r", ""))
    if unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Zl", "Zp") and character not in _JOINERS:
        return Markup("<i>U+{:04X}</i>").format(ord(character))
    return escape(character)
