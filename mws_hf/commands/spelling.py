"""Messages in the command line's words: `vocab_size=5` of the library is ``--vocab-size 5`` there."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_args, get_type_hints

_RENAMED = {
    "special_tokens": "--special-token",
    "weights": "--weight",
    "alphabet": "--byte-level or --characters",
    "types": "--running-text",
    "memory_cap": "--memory-cap",
}
"""Arguments of the library whose options have another name, and what these are called."""

_VALUE = r"""=(?:'([^']*)'|"([^"]*)"|([\w.+-]*[\w+-]))?"""


def option_names(function: Callable[..., Any]) -> dict[str, str]:
    """Return the option of each argument of a command that has one, such as ``{"vocab_size": "--vocab-size"}``."""
    hints = get_type_hints(function, include_extras=True)
    found = {}
    for name in inspect.signature(function).parameters:
        for info in get_args(hints.get(name)):
            declared = getattr(info, "param_decls", None)
            if type(info).__name__ == "OptionInfo":
                long = [each for each in declared or () if each.startswith("--")]
                found[name] = long[0].partition("/")[0] if long else "--" + name.replace("_", "-")
    return found


def respelled(message: str, names: Mapping[str, str]) -> str:
    """Write arguments in a message as options; other words stay.

    >>> names = {"vocab_size": "--vocab-size", "n_merges": "--n-merges", "criterion": "--criterion"}
    >>> respelled("vocab_size=1.5 is not a whole number", names)
    '--vocab-size 1.5 is not a whole number'
    >>> respelled("vocab_size and n_merges both given, with criterion='classic'", names)
    '--vocab-size and --n-merges both given, with --criterion classic'
    """
    for name, option in {**_RENAMED, **names}.items():
        alone = f"(?<![\\w./=-]){re.escape(name)}"
        message = re.sub(alone + _VALUE, partial(_with_value, option), message)
        if "_" in name:
            message = re.sub(alone + r"(?![\w./])", option, message)
    return message


def _with_value(option: str, found: re.Match[str]) -> str:
    value = next((each for each in found.groups() if each is not None), "")
    return f"{option} {value}".rstrip()


def in_plain_words(message: str) -> str:
    """Write what typer's validation says of a value so that it speaks of numbers, not of inputs and strings.

    >>> in_plain_words("Input should be greater than or equal to 1")
    'must be 1 or more'
    >>> in_plain_words("Input should be a valid integer, unable to parse string as an integer")
    'must be a whole number'
    >>> in_plain_words("'x' is not a valid integer range.")
    "'x' is not a whole number."
    """
    for pattern, words in _PLAIN:
        message = re.sub(pattern, words, message)
    return message


_PLAIN = (
    (r"Input should (have|be)", r"must \1"),
    (r"greater than or equal to (\S+)", r"\1 or more"),
    (r"less than or equal to (\S+)", r"\1 or less"),
    (r", unable to (parse|interpret) (string|input).*", ""),
    (r"\ba valid integer( range)?", "a whole number"),
    (r"\ba valid (number|float)( range)?", "a number"),
)
