"""Check names and weights of groups of words, such as languages.

Without named groups, all words are in the only group `UNNAMED`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from numbers import Real
from typing import Any

from mws_hf.errors import MwSError, quoted

UNNAMED = ""
"""The name of the only group if the user named no groups."""

MAX_GROUPS = 256
"""Maximum number of groups that can be counted and learned together; more are probably not groups but other values."""
_NAME = re.compile(r"\w[\w.+-]{0,63}")
_MIN_WEIGHT, _MAX_WEIGHT = 1e-3, 1e3


def check_group_name(name: Any) -> str:
    """Return the name of a group; raises MwSError if the name is not allowed."""
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise MwSError(
        f"{name!r} cannot name a group of words; use at most 64 letters, digits and . + - _, beginning with "
        "a letter or a digit, such as 'fin'"
    )


def check_all_or_none(names: Collection[str]) -> None:
    """Raise MwSError if some words belong to a named group and others to none."""
    if UNNAMED in names and len(names) > 1:
        raise MwSError(
            f"some words belong to a group ({', '.join(sorted(filter(None, names)))}) and some to none; give a group "
            "for every source (group=FILE), or for none"
        )


def check_weights(weights: Mapping[Any, Any] | None) -> dict[str, float]:
    """Return the weights of groups as floats, sorted by name.

    Raises:
        MwSError: `weights` is not a mapping, a name is not allowed, or a weight is not a number from 0.001 to 1000.

    >>> check_weights({"fin": 2})
    {'fin': 2.0}
    """
    checked = {}
    if weights is not None and not isinstance(weights, Mapping):
        raise MwSError(f"weights={quoted(weights)} is not a dict; give one from group to weight, such as {{'fin': 2}}")
    for name, weight in (weights or {}).items():
        check_group_name(name)
        number = isinstance(weight, Real) and not isinstance(weight, bool) and math.isfinite(weight)
        if not number or not _MIN_WEIGHT <= weight <= _MAX_WEIGHT:
            raise MwSError(
                f"the weight of group {name!r} is {weight!r}; give a number from {_MIN_WEIGHT} to {_MAX_WEIGHT:g}"
            )
        checked[name] = float(weight)
    return {name: checked[name] for name in sorted(checked)}


def group_shares(groups: Mapping[str, Any], weights: Mapping[str, float]) -> dict[str, float]:
    """Compute the share of each group in the whole, in proportion to its weight.

    Args:
        groups: a mapping whose keys are the names of the groups.
        weights: the weight of each group; a group that is missing has the weight 1.

    Returns:
        The share of each group; the shares add up to 1.

    Raises:
        MwSError: a weight names a group that does not exist, or is not a number from 0.001 to 1000.

    >>> group_shares({"en": ..., "ru": ...}, {"ru": 3})
    {'en': 0.25, 'ru': 0.75}
    """
    if unknown := sorted(set(weights) - set(groups)):
        here = ", ".join(name for name in groups if name) or "the text has none"
        raise MwSError(
            f"there is a weight for group {', '.join(map(repr, unknown))}, but no such group (groups: {here})"
        )
    weights = check_weights(weights)
    whole = math.fsum(weights.get(name, 1.0) for name in groups)
    return {name: weights.get(name, 1.0) / whole for name in groups}
