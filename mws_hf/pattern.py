r"""The split patterns that cut text into pre-tokens; this module neither counts nor encodes them.

A pre-token holds literal characters, and a word inside a sentence carries its leading space: ``" читать"``.
Merges never cross the edge of a pre-token.
"""

from __future__ import annotations

from functools import lru_cache

import regex

from mws_hf.errors import MwSError

GPT4_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
"""GPT-4's pattern, verbatim: the classic default. JavaScript clients replace substrings of it literally."""

WORD_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}[\p{L}\p{M}]*(?:['’]\p{L}[\p{L}\p{M}]*)*"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
"""GPT-4's pattern with words kept whole around combining marks and inner apostrophes: the contextual default.

The three substrings that transformers.js <= 3 replaces literally are kept. Under GPT-4's own pattern a Devanagari vowel
sign starts a new pre-token, Ukrainian ``п'ять`` falls apart and Turkish ``Ankara'da`` becomes ``Ankara|'d|a``.
"""


@lru_cache(maxsize=16)
def compiled(pattern: str) -> regex.Pattern[str]:
    """Compile a split pattern with the `regex` module (possessive quantifiers, Unicode properties).

    Raises:
        MwSError: the pattern does not compile, or can match the empty string.
    """
    try:
        result = regex.compile(pattern)
    except regex.error as error:
        raise MwSError(f"split pattern {pattern!r} does not compile: {error}") from error
    if result.match(""):
        raise MwSError(f"split pattern {pattern!r} matches the empty string; each alternative must consume text")
    return result


def split(text: str, pattern: str = WORD_PATTERN) -> list[str]:
    """Cut `text` into pre-tokens; text that the pattern does not match forms pre-tokens of its own, so nothing is lost.

    >>> split("Don't stop: п'ять слов.", GPT4_PATTERN)
    ['Don', "'t", ' stop', ':', ' п', "'ять", ' слов', '.']
    >>> split("Don't stop: п'ять слов.")
    ["Don't", ' stop', ':', " п'ять", ' слов', '.']
    """
    pieces: list[str] = []
    end = 0
    for match in compiled(pattern).finditer(text):
        if match.start() > end:
            pieces.append(text[end : match.start()])
        pieces.append(match.group())
        end = match.end()
    if end < len(text):
        pieces.append(text[end:])
    return pieces
