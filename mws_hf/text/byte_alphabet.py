r"""The byte alphabet: each byte as a printable character (GPT-2's table), and merges of characters written in it.

A byte-level tokenizer starts from the 256 bytes of UTF-8. Learning stays in characters; this module rewrites the learnt
merges in bytes: first the merges that build every character of the alphabet from its bytes, then the learnt ones. A
byte that starts a character never continues one, so the merges of characters never join two of them, and since they
rank before all others, text in the alphabet is cut exactly as by the learnt merges. Nothing is learnt or built here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

from mws_hf.errors import MwSError

Alphabet = Literal["characters", "bytes"]
ALPHABETS: tuple[Alphabet, ...] = ("characters", "bytes")

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
    """Return `name`, a kind of alphabet, if it is one of `ALPHABETS`; raise MwSError if not."""
    for known in ALPHABETS:
        if name == known:
            return known
    raise MwSError(f"alphabet={name!r} is unknown; choose {' or '.join(map(repr, ALPHABETS))}")


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
