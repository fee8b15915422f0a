"""Check the arguments of a trainer before any work begins."""

from __future__ import annotations

import math
from dataclasses import fields
from numbers import Integral, Real
from typing import Any

from mws_hf.errors import MwSError
from mws_hf.learn.described import FLAG, NUMBER, SETTINGS, Range


def check_settings(settings: Any) -> None:
    """Check each field of a dataclass by the values that its description takes (`described.SETTINGS`).

    Raises:
        MwSError: one of them is out of range; the message names it.
    """
    for each in fields(settings):
        takes, value = SETTINGS[each.name].takes if each.name in SETTINGS else None, getattr(settings, each.name)
        if takes == FLAG:
            check_flag(each.name, value)
        elif isinstance(takes, Range) and not (value is None and each.default is None):
            check_range(each.name, value, takes)


def check_range(name: str, value: Any, takes: Range) -> None:
    """Check that an argument is a number of a range.

    Raises:
        MwSError: the argument is another thing.

    >>> check_range("crossing_penalty", 0, Range(above=True, advice="8 to 20 work"))
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: crossing_penalty=0 must be a number greater than 0; 8 to 20 work
    """
    if takes.whole:
        check_whole(name, value, int(takes.least))
    number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    if takes.least <= number <= takes.most and not (takes.above and number == takes.least):
        return
    bounds = f"from {takes.least} " + ("up" if takes.most >= NUMBER.most else f"to {takes.most}")
    bounds = f"greater than {takes.least}" if takes.above else bounds
    raise MwSError(f"{name}={value!r} must be a number {bounds}" + (f"; {takes.advice}" if takes.advice else ""))


def check_whole(name: str, value: Any, least: int) -> None:
    """Check that an argument is None or a whole number from `least` up.

    Raises:
        MwSError: the argument is another thing.

    >>> check_whole("vocab_size", 1000.5, 0)
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: vocab_size=1000.5 is not a whole number; give one from 0 up
    """
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise MwSError(f"{name}={value!r} is not a whole number; give one from {least} up")
    if value < least:
        raise MwSError(f"{name}={value} is {'negative' if value < 0 else 'too small'}; give a number from {least} up")


def check_flag(name: str, value: Any) -> None:
    """Check that an argument is True or False. The string "False" is refused, which Python would count as true.

    Raises:
        MwSError: the argument is another thing.

    >>> check_flag("types", "False")
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: types='False' is neither True nor False
    """
    if not isinstance(value, bool):
        raise MwSError(f"{name}={value!r} is neither True nor False")


def check_composition(value: Any) -> None:
    """Check that the share of compositions is None, "fill", or a number from 0 to 1.

    Raises:
        MwSError: the share is another thing.
    """
    if value is None or (isinstance(value, str) and value == "fill"):
        return
    if isinstance(value, bool | str) or not isinstance(value, Real):
        raise MwSError(f"composition={value!r}; give a share from 0 to 1, or 'fill'")
    if not 0 <= float(value) <= 1:
        raise MwSError(f"composition={value} is outside 0..1; give the share of merges, or 'fill'")
