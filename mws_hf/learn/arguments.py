"""Check the arguments of a trainer before any work begins."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from mws_hf.errors import MwSError


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


def check_number(name: str, value: Any) -> None:
    """Check that an argument is a finite number from 0 up.

    Raises:
        MwSError: the argument is another thing.
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < math.inf:
        raise MwSError(f"{name}={value!r} must be a number from 0 up")


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
