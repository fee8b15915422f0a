"""Guess the encoding of bytes that are not UTF-8, and detect text that was decoded with the wrong encoding.

Bytes fit an encoding if nearly all letters that they encode belong to one language, if uppercase letters rarely follow
lowercase ones, and if the letters that are frequent in the language are frequent.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

_SAMPLE = 1 << 14
_MAX_PROPOSALS = 3
_MIN_LETTER_SHARE = 0.95  # share of the characters beyond ASCII that must be letters of one language
_MIN_SCORE_SHARE = 0.8  # share of the best encoding's score below which an encoding is not proposed
_MIN_FREQUENT_SHARE, _MIN_LETTERS = 0.25, 8
"""Minimum share of the letters that must be frequent in the language; texts with few letters are not checked.

Korean bytes, for example, are Thai letters in another encoding, but rare ones.
"""
_MIN_ODD_WORD_SHARE = 0.1  # share of words with mixed scripts above which the encoding was probably wrong
_MIN_ODD_WORDS = 3
_RUSSIAN, _GREEK = "абвгдеёжзийклмнопрстуфхцчшщъыьэюя", "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ"
_HEBREW, _ARABIC = "".join(map(chr, range(0x5D0, 0x5EB))), "".join(map(chr, range(0x621, 0x653))) + "پچژگکی"
_THAI = "".join(map(chr, [*range(0xE01, 0xE3B), *range(0xE40, 0xE5A)]))
_WESTERN = "àâæçéèêëîïôœùûüÿ|äöüß|áéíñóúü|áâãàçéêíóôõúü|àèéìîòù|åäöé|åæøéò|éëïóöü|àçèéíïòóúü|äõöüšž"
_LANGUAGES = (
    (("cp1252",), _WESTERN, ""),
    (("cp1250", "iso8859-2"), "áéíóöőúüű|áčďéěíňóřšťúůýž|áäčďéíĺľňóôŕšťúýž|ąćęłńóśźż|čćđšž|ăâîşţ", ""),
    (("cp1254", "iso8859-9"), "çğıi̇öşüâîû", ""),
    (("cp1252",), "áéíóúýþæðö", "áéíóúýþæö"),  # Icelandic, which Turkish in cp1254 resembles
    (("cp1257",), "ąčęėįšųūž|āčēģīķļņšūž|äõöüšž", ""),
    (("cp1251", "koi8-r", "cp866", "iso8859-5"), _RUSSIAN, "оеаинтсрвл"),
    (("cp1251", "koi8-u", "iso8859-5"), "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя", "оаинтвреіл"),
    (("cp1251", "iso8859-5"), "абвгдеёжзійклмнопрстуўфхцчшыьэюя|абвгдђежзијклљмнњопрстћуфхцчџш", "аоеинтсрјі"),
    (("cp1253", "iso8859-7"), _GREEK, "αοιετσνηρκ"),
    (("cp1255", "iso8859-8"), _HEBREW, "יוהלארתבמש"),
    (("cp1256", "iso8859-6"), _ARABIC, "الينمروتبد"),
    (("cp874",), _THAI, "านรอกเงมยล"),
)
"""Encodings, the letters beyond ASCII of the languages that are written in them (separated by ``|``), and the frequent
letters of languages whose letters are all beyond ASCII."""
_NEUTRAL = frozenset("«»„“”‘’‚‹›–—…·•°§№€£©®™±×÷¿¡\xa0\xad´¨`²³½¼¹ªº")
_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "HEBREW", "ARABIC", "GEORGIAN", "THAI")
_WORD = re.compile(r"[^\W\d_]+")


class Candidate(NamedTuple):
    """Encodings that decode some bytes to the same plausible text.

    Attributes:
        names: the names of the encodings.
        word: a word of the text, as an example.
    """

    names: list[str]
    word: str


def candidates(data: bytes, at: int) -> list[Candidate]:
    r"""List the encodings that fit the bytes around position `at`, the best first; the list is empty if none fits.

    >>> candidates("Az őrült kutyája elszökött.".encode("iso8859-2"), 3)
    [Candidate(names=['cp1250', 'iso8859-2'], word='elszökött')]
    >>> candidates("кот и пёс".encode("koi8-r"), 0)
    [Candidate(names=['koi8-r'], word='кот')]
    """
    start = data.rfind(b"\n", max(0, at - _SAMPLE), at) + 1 or max(0, at - _SAMPLE)
    sample = data[start : at + _SAMPLE]
    if len(data) > at + _SAMPLE:
        sample = sample[: max(sample.rfind(b"\n"), sample.rfind(b" ")) + 1 or len(sample)]
    scored = sorted(_single_byte(sample), key=lambda found: -found[0])
    if not scored:
        scored = [(1.0, name, text) for name, text in _multi_byte(sample)][:1]
    texts: dict[str, list[str]] = {}
    for score, name, text in scored:
        if score >= _MIN_SCORE_SHARE * scored[0][0] and name not in texts.setdefault(text, []):
            texts[text].append(name)
    words = zip(*map(_words_beyond_ascii, texts), strict=False)  # the same word as each encoding spells it
    best = max(words, key=lambda spelled: (len({*spelled}), len(spelled[0])), default=[text[:20] for text in texts])
    return [Candidate(names, word[:20]) for names, word in zip(texts.values(), best, strict=True)][:_MAX_PROPOSALS]


def is_mostly_utf8(data: bytes) -> bool:
    r"""Return whether most characters beyond ASCII are valid UTF-8, so that the others are damaged.

    >>> is_mostly_utf8("не".encode() + b"\xff"), is_mostly_utf8(b"caf\xe9")
    (True, False)
    """
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    return sum(not character.isascii() for character in text) - bad > bad


def wide_encoding(data: bytes) -> str | None:
    r"""Return the encoding with two or four bytes per character that fits data from its start, or None.

    >>> wide_encoding("кот и кит".encode("utf-16-le")), wide_encoding(b"a\0\xff\xd8\0")
    ('utf-16-le', None)
    """
    found = []
    for name in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        text = data[: min(len(data) // 4 * 4, _SAMPLE)].decode(name, "replace")
        usual = sum(each.isascii() and (each.isprintable() or each.isspace()) for each in text)
        letters = sum(each.isalpha() for each in text)
        if not {"\0", "\ufffd"} & {*text} and usual > 1 and usual + letters > len(text) / 2:
            found.append((usual, name))
    return max(found)[1] if found else None


def garbled_word(text: str) -> str | None:
    """Return a word that mixes scripts or cases, as in text that was decoded with the wrong encoding; None if rare.

    At least a tenth of the words with letters beyond ASCII, and at least three words, must be like that.

    >>> garbled_word("Az őrült kutyája elszökött, ő meg fölment.".encode("cp1250").decode("cp1251"))
    'хrьlt'
    """
    words = _words_beyond_ascii(text)
    odd = [word for word in words if len(_scripts(word)) > 1 or _case_is_odd(word)]
    return odd[0] if len(odd) >= max(_MIN_ODD_WORDS, _MIN_ODD_WORD_SHARE * len(words)) else None


def _scripts(word: str) -> set[str]:
    """Return the scripts of a word that are among `_SCRIPTS`."""
    names = {unicodedata.name(letter, "").partition(" ")[0] for letter in word}
    return names & {*_SCRIPTS}


def _case_is_odd(word: str) -> bool:
    """Return whether a word begins in lowercase and continues in uppercase, as if KOI8 was decoded as cp1251."""
    return len(word) > 2 and word[0].islower() and word[1:].isupper()


def _single_byte(sample: bytes) -> Iterator[tuple[float, str, str]]:
    """Yield the score, the name and the text of each encoding of one byte per character that fits."""
    for encodings, alphabets, frequent in _LANGUAGES:
        for name in encodings:
            try:
                text = sample.decode(name)
            except UnicodeDecodeError:
                continue
            beyond = [each for each in text.lower() if not each.isascii() and each not in _NEUTRAL]
            score = max(sum(each in alphabet for each in beyond) for alphabet in alphabets.split("|"))
            if score < _MIN_LETTER_SHARE * len(beyond):
                continue
            words = _words_beyond_ascii(text)
            if 5 * sum(any(map(_rises, word, word[1:])) for word in words) > len(words):
                continue
            common = sum(each in frequent for each in beyond) if frequent else len(beyond)
            if frequent and len(beyond) > _MIN_LETTERS and common < _MIN_FREQUENT_SHARE * len(beyond):
                continue
            capitals = sum(each.isupper() and not each.isascii() for each in text)  # lowercase in another encoding?
            yield (common * (1 - capitals / len(beyond) / 2) / len(beyond) if beyond else 0.0), name, text


def _rises(first: str, second: str) -> bool:
    """Return whether an uppercase letter follows a lowercase one."""
    return first.islower() and second.isupper()


def _multi_byte(sample: bytes) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each encoding of Chinese, Japanese and Korean that fits."""
    for name, script, least in (
        ("shift_jis", r"[\u3040-\u30ff]", 0.2),
        ("euc_jp", r"[\u3040-\u30ff]", 0.2),
        ("euc_kr", r"[\uac00-\ud7a3]", 0.8),
        ("gb18030", r"[\u4e00-\u9fff]", 0.6),
        ("big5", r"[\u4e00-\u9fff]", 0.6),
    ):
        try:
            text = sample.decode(name)
        except UnicodeDecodeError:
            continue
        beyond = [each for each in text if not each.isascii()]
        rare = 0
        if name in ("gb18030", "big5"):  # which give a meaning to nearly all bytes: frequent characters come first
            first, last = (0xB0, 0xD7) if name == "gb18030" else (0xA4, 0xC6)
            rare = sum(not first <= each.encode(name)[0] <= last for each in beyond if each.isalpha())
        if len(re.findall(script, text)) >= least * len(beyond) and 5 * rare <= len(beyond):
            yield name, text


def _words_beyond_ascii(text: str) -> list[str]:
    """Return the words of a text that contain a letter beyond ASCII."""
    return [word for word in _WORD.findall(text) if not word.isascii()]
