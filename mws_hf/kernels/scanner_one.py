r"""Classes of characters in `tokenizers` 1.0, asked of its split patterns: it has no regular expressions to ask with.

A tokenizer that knows no token gives one unknown token for each pre-token, so that their number tells where its own
patterns cut: Llama 3's keeps letters behind a letter, digits behind a digit and symbols behind a symbol; GPT-4o's keeps
a small letter or a mark behind a small letter, and a letter without case before a capital.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from mws_hf.errors import MwSError
from mws_hf.text.pattern import LLAMA3_PATTERN, O200K_PATTERN
from mws_hf.tokenizer.stock_one import engine_of


def known_classes(name: str, text: str) -> str:
    r"""Find the characters of `text` that 1.0 counts among the class of a name such as ``\p{L}``.

    Raises:
        MwSError: the class is not known here.
    """
    if name not in _TESTS:
        raise MwSError(f"character class {name!r} is not known; use one of {', '.join(_TESTS)}")
    return "".join(character for character, yes in zip(text, _TESTS[name](text), strict=True) if yes)


@cache
def _counter(pattern: str) -> Any:
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    parts = ("truncation", "padding", "normalizer", "post_processor", "decoder")
    model = {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}
    spec: dict[str, Any] = {
        "version": "1.0",
        **dict.fromkeys(parts),
        "added_tokens": [],
        "pre_tokenizer": split,
        "model": model,
    }
    return engine_of(json.dumps(spec))


def _whole(pattern: str, text: str, before: str, behind: str = "") -> list[bool]:
    """Tell whether each character stays with its neighbours under a pattern."""
    found = _counter(pattern).encode_batch([before + character + behind for character in text])
    return [len(each) == 1 for each in found]


def _letters(text: str) -> list[bool]:
    return _whole(LLAMA3_PATTERN, text, "a")


def _numbers(text: str) -> list[bool]:
    return _whole(LLAMA3_PATTERN, text, "1")


def _small(text: str) -> list[bool]:
    """Find small letters, letters without case, marks."""
    return _whole(O200K_PATTERN, text, "a")


def _marks(text: str) -> list[bool]:
    return [small and not letter for small, letter in zip(_small(text), _letters(text), strict=True)]


def _capitals(text: str) -> list[bool]:
    return [letter and not small for small, letter in zip(_small(text), _letters(text), strict=True)]


def _lower(text: str) -> list[bool]:
    """Find small letters alone: a letter without case stays before a capital and a small letter."""
    ahead = _whole(O200K_PATTERN, text, "", "Ab")
    every = zip(_small(text), _letters(text), ahead, strict=True)
    return [small and letter and not caseless for small, letter, caseless in every]


def _spaces(text: str) -> list[bool]:
    """Find characters that a symbol neither takes along nor stands before; it takes line ends along."""
    kept = _whole(LLAMA3_PATTERN, text, "!")
    return [
        character in "\r\n" or not (whole or number)
        for character, whole, number in zip(text, kept, _numbers(text), strict=True)
    ]


_TESTS = {
    r"\p{L}": _letters, r"\p{N}": _numbers, r"\p{M}": _marks, r"\s": _spaces,
    r"\p{Lu}\p{Lt}": _capitals, r"\p{Ll}": _lower,
}  # fmt: skip
