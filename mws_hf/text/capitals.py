r"""Write a marker instead of uppercase letters before a text is split, and undo it in decoded text.

A word that consists of one uppercase letter and lowercase letters becomes a marker and the word in lowercase, so that
``Дом`` and ``дом`` share their tokens. The marker stands before the space of the word, where split patterns take it for
punctuation: the end of one sentence and the beginning of the next, such as ``.`` and the marker, can become one token.
Words in uppercase and words in mixed case stay as they are.

A rule of `tokenizers` cannot change the case of the letter that it finds, so a tokenizer.json has one rule per letter
in each direction. Only letters that are frequent in the training text have rules; all others are not changed. A marker
that is already in the text gets an `ESCAPE` after it, so that decoding returns every text exactly. The decoder leaves
out a marker without a letter after it. Therefore, if the output of a model is decoded while it is generated, text that
was already shown never changes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import regex

from mws_hf.errors import MwSError

CAPITALS = "capitals"
"""The name of this step in a normalization, such as "capitals" or "nfc+capitals"."""
MARKER, ESCAPE = "\x0e", "\x0f"
"""The control characters Shift Out, which is the marker, and Shift In, which follows a Shift Out of the text itself."""
LEAST_SHARE = 1e-5
"""Letters with a smaller share of the characters of the training text have no rule, because each rule takes time."""

_BEFORE, _BEHIND = r"(?<![\p{L}\p{M}\p{N}])", r"(?=[\p{Ll}\p{M}]*(?![\p{L}\p{M}\p{N}]))"


def with_capitals(form: str | None) -> str:
    """Return the name of the normalization that converts text to a Unicode form, if any, and then writes the marker.

    >>> with_capitals(None), with_capitals("nfc")
    ('capitals', 'nfc+capitals')
    """
    return CAPITALS if form is None else f"{form}+{CAPITALS}"


def steps_of(normalization: str | None) -> tuple[str | None, bool]:
    """Return the Unicode form of a normalization, and whether it writes the marker afterwards.

    >>> steps_of("nfc+capitals"), steps_of("capitals"), steps_of("nfc"), steps_of(None)
    (('nfc', True), (None, True), ('nfc', False), (None, False))
    """
    form, _, last = (normalization or "").rpartition("+")
    return (form or None, True) if last == CAPITALS else (normalization or None, False)


def lowercase_of(letter: str) -> str:
    r"""Return the lowercase letter of an uppercase letter; "" if its uppercase letter is not the given one.

    The result is also "" for uppercase letters that do not begin capitalized words: those of Georgian, and digraphs
    such as Ǆ.

    >>> [lowercase_of(letter) for letter in "AЖaİẞǅǄ\u1c90"]
    ['a', 'ж', '', '', '', '', '', '']
    """
    small = letter.lower()
    return small if len(small) == 1 and small != letter and small.upper() == small.title() == letter else ""


def check_letters(letters: str | None) -> None:
    """Raise MwSError for a letter that cannot have a marker."""
    for letter in letters or "":
        if not lowercase_of(letter):
            raise MwSError(
                f"capitals: {letter!r} is not an uppercase letter that can be restored from its lowercase letter; give "
                "the letters that get a marker, such as 'ABC' (capitals='marker' is a setting of a training)"
            )


def write_marker(text: str, letters: str | None = None) -> str:
    r"""Write the marker as the rules of a tokenizer.json do, but in a sixth of the time.

    Args:
        text: the text.
        letters: the uppercase letters that have rules; None for all.

    >>> write_marker("А в Омске, НИИ (Иван)"), write_marker("А в Омске", "А")
    ('\x0eа в\x0e омске, НИИ (\x0eиван)', '\x0eа в Омске')
    """
    escaped = text.replace(MARKER, MARKER + ESCAPE)
    return str(_capitalized(letters).sub(_marked, escaped)).replace(" " + MARKER, MARKER + " ")


def is_common(text: str) -> bool:
    """Return whether all characters are in blocks in which `regex` and `tokenizers` have the same letters.

    >>> is_common("Дом, «House» – İ"), is_common("Დ")
    (True, False)
    """
    return _UNCOMMON.search(text) is None


_UNCOMMON = re.compile("[\u0295]|[^\x00-\u052f\u1e00-\u1fff\u2000-\u206f\u20a0-\u20bf\u2100-\u218b]")


@lru_cache(maxsize=16)
def _capitalized(letters: str | None) -> regex.Pattern[str]:
    """Compile the pattern that finds capitalized words that begin with one of the letters; None stands for all."""
    return regex.compile(_BEFORE + (r"\p{Lu}" if letters is None else f"[{letters}]") + _BEHIND)


def _marked(match: regex.Match[str]) -> str:
    """Return the marker and the lowercase letter for a letter that `_capitalized` found."""
    letter = match.group()
    small = _lowercase(letter)
    return MARKER + small if small else letter


_lowercase = lru_cache(maxsize=4096)(lowercase_of)


def frequent_letters(shares: dict[str, float]) -> str:
    """Return the uppercase letters that get rules, sorted by code point.

    Args:
        shares: the share of each character in the training text, after `write_marker` has changed it.

    >>> frequent_letters({"д": 0.6, "о": 0.4, "z": 1e-7, "ß": 0.1, "ⅰ": 0.1, "и": 0.0})
    'ДО'
    """
    frequent = [character for character, share in shares.items() if share >= LEAST_SHARE and _is_small(character)]
    return "".join(sorted(small.upper() for small in frequent if lowercase_of(small.upper()) == small))


def _is_small(character: str) -> bool:
    """Return whether a character is a lowercase letter."""
    return unicodedata.category(character) == "Ll"  # there are also numerals, such as U+2170, and circled letters


def marking_rules(letters: Iterable[str]) -> list[dict[str, Any]]:
    """Return the rules that write the marker for these letters, as parts of a normalizer in tokenizer.json."""
    rules = [_ESCAPING]
    rules += [_rule({"Regex": _BEFORE + letter + _BEHIND}, MARKER + lowercase_of(letter)) for letter in letters]
    return [*rules, _rule({"String": " " + MARKER}, MARKER + " ")]


def restoring_rules(letters: Iterable[str]) -> list[dict[str, Any]]:
    """Return the rules that undo `marking_rules`, as parts of a decoder that has joined the tokens to one text."""
    rules = [_rule({"String": MARKER + " "}, " " + MARKER)]
    rules += [_rule({"String": MARKER + lowercase_of(letter)}, letter) for letter in letters]
    return [*rules, _rule({"Regex": f"{MARKER}(?!{ESCAPE})"}, ""), _rule({"String": MARKER + ESCAPE}, MARKER)]


def restore_capitals(text: str, letters: str) -> str:
    r"""Undo the marker in decoded text, as `restoring_rules` do.

    >>> restore_capitals("\x0eа в\x0e омске, \x0eиван.\x0e", "АИО")
    'А в Омске, Иван.'
    """
    text = text.replace(MARKER + " ", " " + MARKER)
    for letter in letters:
        text = text.replace(MARKER + lowercase_of(letter), letter)
    return regex.sub(f"{MARKER}(?!{ESCAPE})", "", text).replace(MARKER + ESCAPE, MARKER)


def marked_letters(parts: Iterable[Mapping[str, Any]]) -> str:
    """Return the letters of `marking_rules` at the end of a normalizer's parts; "" if they are not there.

    >>> marked_letters([{"type": "NFC"}, *marking_rules("ДО")]), marked_letters([{"type": "NFC"}])
    ('ДО', '')
    """
    given = list(parts)
    rules = given[given.index(_ESCAPING) :] if _ESCAPING in given else []
    patterns = [str(rule["pattern"].get("Regex")) for rule in rules[1:-1] if rule.get("type") == "Replace"]
    letters = "".join(pattern[len(_BEFORE) : -len(_BEHIND)] for pattern in patterns)
    return letters if rules == marking_rules(letters) else ""


def with_space_first(parts: Iterable[Mapping[str, Any]], wanted: bool) -> list[Mapping[str, Any]]:
    """Return the parts of a normalizer, with or without those that put a space before a text.

    The normalizer does this instead of a pre-tokenizer, because a pre-tokenizer would put the space after the marker of
    the first word, and after the normalizer has replaced spaces.

    Args:
        parts: the parts of the normalizer.
        wanted: whether the result puts a space before a text.
    """
    given = [part for part in parts if part not in _SPACE_FIRST]
    at = given.index(_ESCAPING) if _ESCAPING in given else 0
    return [*given[:at], *(_SPACE_FIRST if wanted else []), *given[at:]]


def _rule(pattern: dict[str, str], content: str) -> dict[str, Any]:
    """Return a rule of tokenizer.json that replaces what a pattern matches."""
    return {"type": "Replace", "pattern": pattern, "content": content}


_ESCAPING = _rule({"String": MARKER}, MARKER + ESCAPE)
_SPACE_FIRST = [{"type": "Prepend", "prepend": " "}, _rule({"Regex": r"(?<![\s\S]) (?= )"}, "")]
