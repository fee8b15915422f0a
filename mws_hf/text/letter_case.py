"""Fold letter case as the training does, so that all cased forms of a word are one word."""

from __future__ import annotations

DOTTED, DOTLESS = "İ", "ı"
"""The two letters of Turkish and Azerbaijani that other Latin alphabets lack: uppercase i, and lowercase I."""


def fold(word: str) -> str:
    """Convert a word to lowercase, character by character; characters whose lowercase is longer stay as they are.

    İ becomes i. In a word with ı or İ, which no other language writes, I becomes ı.

    >>> fold("ЁЛКА"), fold("İstanbul"), fold("Işık"), fold("In")
    ('ёлка', 'istanbul', 'ışık', 'in')
    """
    is_turkic = DOTTED in word or DOTLESS in word
    return "".join(map(lowercase, word.replace("I", DOTLESS) if is_turkic else word))


def lowercase(character: str) -> str:
    """Return the lowercase of a character, or the character where its lowercase is longer."""
    low = "i" if character == DOTTED else character.lower()
    return low if len(low) == 1 else character
