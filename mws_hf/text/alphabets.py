"""Characters with a name, such as "arrows", that a tokenizer should know whether its training text has them or not.

Small letters and capitals stand side by side, so that a word in capitals is not spelled in bytes. Nothing is learnt
here, and no file is opened.
"""

from __future__ import annotations

from collections.abc import Iterable

from mws_hf.errors import MwSError

_LATIN = "abcdefghijklmnopqrstuvwxyz"
_CYRILLIC = "абвгдежзийклмнопрстуфхцчшщъыьэюя"

_LETTERS = {
    "czech": _LATIN + "áčďéěíňóřšťúůýž",
    "english": _LATIN,
    "finnish": _LATIN + "åäöšž",
    "german": _LATIN + "äöüßẞ",
    "hungarian": _LATIN + "áéíóöőúüű",
    "russian": _CYRILLIC + "ё",
    "turkish": _LATIN + "çğıöşüâîûİ",
    "ukrainian": "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя’ʼ",
}

NAMED_ALPHABETS: dict[str, str] = {
    "ascii": "".join(map(chr, range(0x20, 0x7F))),
    "latin-1": "".join(chr(c) for c in range(0xA1, 0x100) if c != 0xAD),
    "punctuation": "".join(c for c in map(chr, range(0x21, 0x7F)) if not c.isalnum())
    + "\u00a0¡§¶·¿«»‹›‐‑‒–—―‘’‚“”„†‡•…‰′″№",
    "currency": "$¢£¥€₩₪₫₴₸₹₺₼₽₾₿",
    "arrows": "←↑→↓↔⇐⇒⇔",
    **{name: "".join(sorted({*letters, *letters.upper()})) for name, letters in _LETTERS.items()},
}
"""Each name, and the characters it stands for."""

EVERYDAY = ("ascii", "latin-1", "punctuation", "currency", "arrows")
"""What texts in any language of Europe have, beside its letters."""


def check_unicode(text: str, where: str) -> None:
    """Raise MwSError if a str holds a lone surrogate, which no UTF-8 text can."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise MwSError(
            f"{where}: the lone surrogate {text[error.start]!r} at character {error.start} is not Unicode text; "
            "clean it with text.encode('utf-8', 'replace').decode()"
        ) from error


def characters_of(given: Iterable[str]) -> list[str]:
    """List the characters that single characters and names of alphabets stand for, ascending by code point.

    A string is the characters it holds, so names come in a list. A string that is itself a name is refused.

    Raises:
        MwSError: something is neither one character nor a name, or half of a surrogate pair.

    >>> "".join(characters_of(["arrows", "b", "a"])), characters_of("ba")
    ('ab←↑→↓↔⇐⇒⇔', ['a', 'b'])
    >>> characters_of("arrows")
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: initial_alphabet: 'arrows' is the name of an alphabet; give it in a list, ['arrows']
    """
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise MwSError(f"initial_alphabet: {type(given).__name__} is no text; give single characters")
    if isinstance(given, str) and given in NAMED_ALPHABETS:
        raise MwSError(f"initial_alphabet: {given!r} is the name of an alphabet; give it in a list, [{given!r}]")
    found: set[str] = set()
    for each in given:
        if not isinstance(each, str) or (len(each) != 1 and each not in NAMED_ALPHABETS):
            raise MwSError(
                f"initial_alphabet: {each!r} is not one character; give single characters, or names of alphabets: "
                f"{', '.join(NAMED_ALPHABETS)}"
            )
        check_unicode(each, "initial_alphabet")
        found.update(NAMED_ALPHABETS.get(each, each))
    return sorted(found)
