"""Check that texts are Unicode text, without lone surrogates, which UTF-8 cannot represent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import count, repeat
from typing import Any

from mws_hf.errors import MwSError, quoted

SURROGATE = re.compile(r"[\ud800-\udfff]")


def surrogate_problem(text: str) -> str | None:
    """Return where a str has a lone surrogate and what to do about it; None if it has none."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return (
            f"the lone surrogate {text[error.start]!r} at character {error.start} is not Unicode text; "
            "clean it with text.encode('utf-8', 'replace').decode()"
        )
    return None


def check_unicode(text: str, where: str) -> None:
    """Raise MwSError if a str has a lone surrogate; the message begins with `where`, the name of the text."""
    if problem := surrogate_problem(text):
        raise MwSError(f"{where}: {problem}")


def each_text(given: Any, name: str = "texts") -> Iterator[str]:
    """Iterate over the texts of a list or of another iterable; `name` is what a message calls them.

    Raises:
        MwSError: it is not such a list, or an element is not a str or has a lone surrogate; the message has the
            position of the element, from 0. A str is not a list, because its elements are its characters.

    >>> list(each_text(["one", "two"]))
    ['one', 'two']
    >>> list(each_text(["one", None]))
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: texts: element 1 is NoneType; expected str
    """
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        given = f"the str {quoted(given)}" if isinstance(given, str) else type(given).__name__
        raise MwSError(f"{name}: {given} is not a list of str; give a list of strings, and read files first")
    return map(_checked_text, given, count(), repeat(name))


def _checked_text(text: Any, number: int, name: str) -> str:
    """Return an element of `each_text`, after checking it."""
    if not isinstance(text, str):
        hint = "; decode it first" if isinstance(text, bytes) else ""
        raise MwSError(f"{name}: element {number} is {type(text).__name__}; expected str{hint}")
    check_unicode(text, f"{name}: element {number}")
    return text


def check_texts(inputs: Any) -> None:
    """Raise MwSError if a text, or one in nested lists of texts, has a lone surrogate, which UTF-8 cannot encode."""
    if isinstance(inputs, str):
        if found := SURROGATE.search(inputs):
            check_unicode(inputs, f"text {inputs[max(0, found.start() - 20) : found.end() + 20]!r}")
    elif isinstance(inputs, list | tuple):
        for each in inputs:
            check_texts(each)
