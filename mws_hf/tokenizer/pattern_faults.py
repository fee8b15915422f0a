"""Find faults in the split patterns of a tokenizer.json of any make, here or in other programs; change nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import regex

from mws_hf.tokenizer.client_facts import runs_in_one
from mws_hf.tokenizer.spec import parts_of

_LIKE_A_REGEX = regex.compile(r"\\[psSdDwW]|\[\^|\(\?|\]\+")


def splitters(state: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    """List the Split parts of a pre-tokenizer's entry in tokenizer.json, however deep in sequences.

    >>> parts = {"type": "Sequence", "pretokenizers": [{"type": "Split", "behavior": "Isolated"}, {"type": "Digits"}]}
    >>> [part["behavior"] for part in splitters(parts)]
    ['Isolated']
    """
    return (part for part in parts_of(state) if part.get("type") == "Split")


def saved_as_string(state: Mapping[str, Any] | None) -> str | None:
    r"""Return the first split pattern that is a regular expression saved as plain text, so that it matches nothing.

    >>> split = {"type": "Split", "behavior": "Isolated"}
    >>> saved_as_string(split | {"pattern": {"String": r"\p{N}{1,3}| ?[^\s]+"}})
    '\\p{N}{1,3}| ?[^\\s]+'
    >>> saved_as_string(split | {"pattern": {"String": " "}}) is None
    True
    """
    texts = (part.get("pattern", {}).get("String") for part in splitters(state))
    return next((text for text in texts if text and _LIKE_A_REGEX.search(text)), None)


def not_in_one(state: Mapping[str, Any] | None) -> str | None:
    """Return the first split pattern that `tokenizers` 1.0 has no engine for."""
    for part in splitters(state):
        pattern = part.get("pattern", {}).get("Regex")
        if pattern is not None and not (
            runs_in_one(pattern) and part.get("behavior") == "Isolated" and not part.get("invert")
        ):
            return str(pattern)
    return None
