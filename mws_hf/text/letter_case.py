"""Convert letter case as the training does, so that the uppercase and lowercase forms of a word count as one word."""

from __future__ import annotations

import re
import unicodedata

DOTTED, DOTLESS = "İ", "ı"
"""Two letters of Turkish and related languages: the uppercase of i, and the lowercase of I."""
_GREEK, _GEORGIAN = re.compile("[\u0370-\u03ff]"), re.compile("[\u10d0-\u10ff]")


def fold(word: str) -> str:
    """Convert a word to lowercase, character by character; characters whose lowercase is longer stay as they are.

    İ becomes i. In a word with ı or İ, which only Turkish and related languages use, I becomes ı.

    >>> fold("ЁЛКА"), fold("İstanbul"), fold("Işık"), fold("In")
    ('ёлка', 'istanbul', 'ışık', 'in')
    """
    is_turkic = DOTTED in word or DOTLESS in word
    return "".join(map(lowercase, word.replace("I", DOTLESS) if is_turkic else word))


def caseless(word: str) -> str:
    r"""Return a form that is the same for all words that differ only in letter case or Unicode form (NFC, NFD).

    Use it only for comparisons, because it makes ı and i equal: the uppercase of both may be written I.

    >>> caseless("İLK") == caseless("ilk"), caseless("IŞIK") == caseless("ışık"), caseless("ΛΟΓΟΣ") == caseless("λογος")
    (True, True, True)
    >>> caseless("e\u0301") == caseless("É")
    True
    """
    return fold(unicodedata.normalize("NFC", word)).casefold().replace(DOTLESS, "i")


def uppercase(word: str) -> str:
    """Convert a word to uppercase as people write it: Greek loses its accents, and Georgian stays as it is.

    >>> uppercase("λόγος"), uppercase("ευρωπαϊκή"), uppercase("სახლი"), uppercase("élan")
    ('ΛΟΓΟΣ', 'ΕΥΡΩΠΑΪΚΗ', 'სახლი', 'ÉLAN')
    """
    if _GEORGIAN.search(word):
        return word
    upper = word.upper()
    if not _GREEK.search(upper):
        return upper
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", upper).replace("\u0301", ""))


def lowercase(character: str) -> str:
    """Return the lowercase of a character, or the character itself if its lowercase is longer."""
    low = "i" if character == DOTTED else character.lower()
    return low if len(low) == 1 else character
