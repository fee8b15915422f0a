r"""Alphabets: characters with a name, such as "arrows", and the 256 bytes, each as a printable character.

Characters of a named alphabet are in a vocabulary whether its training text has them or not. Small letters and capitals
stand side by side, so that a word in capitals is not spelled in bytes.

A byte-level tokenizer starts from the 256 bytes of UTF-8. Learning stays in characters; `byte_level_merges` rewrites
the learnt merges in bytes: first the merges that build every character of the alphabet from its bytes, then the learnt
ones. A byte that starts a character never continues one, so merges of characters never join two of them, and since
they rank before all others, text in the alphabet is cut exactly as by the learnt merges.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, get_args

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


Alphabet = Literal["characters", "bytes"]
DEFAULT_ALPHABET: Alphabet = "bytes"
"""What the symbols below the merges are, unless a training says so; the classic criterion keeps characters.

Bytes, because cuts and length are the same to .003 and programs that know byte-level BPE alone then read the file
rightly or refuse it. Of characters, llama.cpp's converter, onnxruntime-extensions, tokie and tiktoken read it wrongly
and say nothing; of bytes only tokie does, where it does not know the pattern (scripts/results/clients.md).
"""


def _byte_table() -> tuple[str, ...]:
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return tuple(chr(byte if byte in printable else 256 + others.index(byte)) for byte in range(256))


BYTE_CHARACTERS = _byte_table()
"""The character that stands for each byte: printable Latin-1 for itself, the others from U+0100 on, in order."""

BYTE_OF = {character: byte for byte, character in enumerate(BYTE_CHARACTERS)}
"""The byte that each of `BYTE_CHARACTERS` stands for."""


def check_alphabet_kind(name: object) -> Alphabet:
    """Return `name` if it is a kind of alphabet; raises MwSError if not."""
    kinds: tuple[Alphabet, ...] = get_args(Alphabet)
    for known in kinds:
        if name == known:
            return known
    raise MwSError(f"alphabet={name!r} is unknown; choose {' or '.join(map(repr, kinds))}")


def to_byte_level(text: str) -> str:
    """Write a text with a character for each of its bytes."""
    return "".join([BYTE_CHARACTERS[byte] for byte in text.encode()])


def bytes_of(token: str) -> bytes:
    r"""Return the bytes that a token of a byte-level tokenizer decodes to.

    A token with a character that stands for no byte, such as an added token with a space, stands for itself, as in
    `tokenizers`.

    >>> bytes_of("ĠÐ¾").decode(), bytes_of("<|конец|>").decode(), bytes_of("é")
    (' о', '<|конец|>', b'\xe9')
    """
    try:
        return bytes([BYTE_OF[character] for character in token])
    except KeyError:
        return token.encode()


@lru_cache(maxsize=1 << 16)  # what traces a word asks for the same tokens after every merge
def readable(token: str) -> str:
    """Spell a token of a byte-level tokenizer in text; bytes that are no whole character are written one by one.

    >>> readable("ĠÐ¾Ð½"), readable("æ¼"), readable("<|pad|>")
    (' он', '<0xE6><0xBC>', '<|pad|>')
    """
    text = bytes_of(token).decode("utf-8", "surrogateescape")
    return "".join(f"<0x{ord(c) - 0xDC00:02X}>" if "\udc80" <= c <= "\udcff" else c for c in text)


def character_merges(alphabet: Iterable[str]) -> list[tuple[str, str]]:
    """List the merges that build characters from their bytes, in the byte alphabet.

    Characters come in the order of their code points, each as the chain of its bytes from left to right; a beginning
    that several share is made once. ASCII characters are bytes and need none.

    >>> character_merges("aя€")
    [('Ñ', 'ı'), ('â', 'Ĥ'), ('âĤ', '¬')]
    >>> [len(character_merges(characters)) for characters in ("я", "яю", "हि", "😀😁")]
    [1, 2, 3, 4]
    """
    merges: dict[tuple[str, str], None] = {}
    for character in sorted(set(alphabet)):
        symbols = to_byte_level(character)
        merges |= {(symbols[:end], symbols[end]): None for end in range(1, len(symbols))}
    return list(merges)


def built_first(merges: Sequence[tuple[str, str]]) -> tuple[list[str], int]:
    r"""Find the characters that the first merges of a byte-level BPE build from their bytes, and the number of these.

    Text can then start as these characters: merges that append bytes to the beginning of one join no two. ASCII needs
    no merge and is always among them.

    >>> characters, number = built_first([("Ñ", "ı"), ("a", "b"), ("Ð", "½")])
    >>> characters[-3:], number
    (['~', '\x7f', 'я'], 1)
    """
    whole = [chr(code) for code in range(128)]
    if len(set(merges)) < len(merges):
        return whole, 0  # the last rank of a pair counts
    made = set(BYTE_CHARACTERS)
    for number, (left, right) in enumerate(merges):
        begun, added = bytes_of(left), bytes_of(right)
        appends = left in made and begun[0] >= 0xC2 and len(added) == 1 and added[0] & 0xC0 == 0x80
        if not appends or right not in BYTE_OF:
            return whole, number
        made.add(left + right)
        with contextlib.suppress(UnicodeDecodeError):
            whole.append((begun + added).decode())
    return whole, len(merges)


def byte_level_merges(alphabet: Iterable[str], merges: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Write merges of characters in the byte alphabet, in rank order, after the merges that build the characters."""
    return character_merges(alphabet) + [(to_byte_level(left), to_byte_level(right)) for left, right in merges]


def check_added_tokens(tokens: Sequence[str]) -> None:
    """Check that tokens taken whole from text come out of a byte-level decoder as they went in.

    Raises:
        MwSError: a token would decode to another string: all its characters stand for bytes, but some for other bytes
            than their own.

    >>> check_added_tokens(["<|endoftext|>", "<|конец|>", "<a b>"])
    >>> check_added_tokens(["<|é|>"])
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: added token '<|é|>' would decode to '<|<0xE9>|>' in a byte-level tokenizer; keep to ASCII
    """
    for token in tokens:
        if bytes_of(token) != token.encode():
            found = readable(token)
            raise MwSError(f"added token {token!r} would decode to {found!r} in a byte-level tokenizer; keep to ASCII")
