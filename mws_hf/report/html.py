"""Write text safely as HTML: the templates of the page, and a filter that shows invisible characters."""

from __future__ import annotations

import unicodedata
from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

_JOINERS = "\u200c\u200d"
_SIGNS = {"\n": "↵", "\r": "␍", "\t": "⇥"}


def packaged(name: str) -> str:
    """Read a file in the folder of this module, which may be in a zip file."""
    return files("mws_hf.report").joinpath(name).read_text(encoding="utf-8")


@cache
def templates() -> Environment:
    """Return the templates of the package, which escape text and have the filter `visible`."""
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
    """Write text as escaped HTML, with invisible characters as their code, and line breaks marked and kept."""
    if unicodedata.category(text[:1] or " ").startswith("M"):
        text = "\u25cc" + text  # a mark at the beginning would be drawn on whatever stands before it
    return Markup("").join(map(_character, text))


def _character(character: str) -> Markup:
    if character in _SIGNS:
        return Markup("<i>{}</i>{}").format(_SIGNS[character], character.replace("\r", ""))
    if unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Zl", "Zp") and character not in _JOINERS:
        return Markup("<i>U+{:04X}</i>").format(ord(character))
    return escape(character)
