r"""Define the tokens that are not the result of a merge: special tokens, the 256 bytes and characters of an alphabet.

Characters of a named alphabet, such as "arrows", are in the vocabulary even if the training text does not contain them.
The alphabet of a language has both cases of each letter, so that a word in uppercase is not spelled in bytes.

A byte-level tokenizer starts from the 256 bytes of UTF-8, each written as a printable character. Merges are learned on
characters, and `byte_level_merges` rewrites them in bytes: first come the merges that build every character of the
alphabet from its bytes, then the learned ones. Text in the alphabet is split exactly as by the learned merges for two
reasons: the merges that build characters rank before all others, and they never join two characters, because a byte
that starts a character never continues one.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, KeysView, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any, Literal, get_args

from mws_hf.errors import MwSError, quoted
from mws_hf.text.valid_text import check_unicode

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
"""The characters of each alphabet, by its name."""

EVERYDAY = ("ascii", "latin-1", "punctuation", "currency", "arrows")
"""The alphabets that texts in any European language use, besides the alphabet of the language."""


MAX_REQUIRED_CHARACTERS = 1000
"""Maximum length in characters of a string that must become a token; the time to find its merges grows faster."""


def check_required(text: str) -> None:
    """Raise MwSError if a string that must become a token is empty or longer than `MAX_REQUIRED_CHARACTERS`."""
    if not text:
        raise MwSError("the empty string cannot become a token; leave it out")
    if len(text) > MAX_REQUIRED_CHARACTERS:
        raise MwSError(
            f"{quoted(text)} cannot become a token: it has {len(text):,} characters, and a required token may have at "
            f"most {MAX_REQUIRED_CHARACTERS:,}; give its parts"
        )


def characters_of(given: Iterable[str]) -> list[str]:
    """List the characters of an alphabet that is given as characters and names of alphabets, sorted by code point.

    A string stands for its characters, so names must be given in a list. A string that is itself a name is an error.

    Args:
        given: single characters, and names of `NAMED_ALPHABETS`.

    Raises:
        MwSError: an element is neither one character nor a name, or is a lone surrogate.

    >>> "".join(characters_of(["arrows", "b", "a"])), characters_of("ba")
    ('ab←↑→↓↔⇐⇒⇔', ['a', 'b'])
    >>> characters_of("arrows")
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: initial_alphabet: 'arrows' is the name of an alphabet; give it in a list, ['arrows']
    """
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise MwSError(f"initial_alphabet: {type(given).__name__} is not text; give single characters")
    if isinstance(given, str) and given in NAMED_ALPHABETS:
        raise MwSError(f"initial_alphabet: {given!r} is the name of an alphabet; give it in a list, [{given!r}]")
    found: set[str] = set()
    for each in given:
        if not isinstance(each, str) or (len(each) != 1 and each not in NAMED_ALPHABETS):
            raise MwSError(
                f"initial_alphabet: {each!r} is neither a character nor a named alphabet; give characters or names: "
                f"{', '.join(NAMED_ALPHABETS)}"
            )
        check_unicode(each, "initial_alphabet")
        found.update(NAMED_ALPHABETS.get(each, each))
    return sorted(found)


Alphabet = Literal["bytes", "characters"]
DEFAULT_ALPHABET: Alphabet = "bytes"
"""The kind of symbols that the first merges join, if a training does not set it; the classic criterion has characters.

The default is bytes, because segmentation and length are the same to .003, and because programs that know only
byte-level BPE then read the file correctly or reject it. With characters, llama.cpp's converter,
onnxruntime-extensions, tokie and tiktoken misread the file silently; with bytes only tokie does, if it does not know
the pattern (scripts/results/clients.md).
"""


def _byte_table() -> tuple[str, ...]:
    """Return the character that stands for each byte, as in GPT-2."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return tuple(chr(byte if byte in printable else 256 + others.index(byte)) for byte in range(256))


BYTE_CHARACTERS = _byte_table()
"""The character that stands for each byte, as in GPT-2.

A byte that is a printable character of Latin-1 stands for itself; the other bytes have the characters from U+0100 on.
"""

BYTE_OF = {character: byte for byte, character in enumerate(BYTE_CHARACTERS)}
"""The byte that each of `BYTE_CHARACTERS` stands for."""


def check_alphabet_kind(name: object) -> Alphabet:
    """Return `name` if it is "bytes" or "characters"; otherwise raise MwSError."""
    kinds: tuple[Alphabet, ...] = get_args(Alphabet)
    for known in kinds:
        if name == known:
            return known
    raise MwSError(f"alphabet={name!r} is unknown; choose {' or '.join(map(repr, kinds))}")


def to_byte_level(text: str) -> str:
    """Return a text in the byte alphabet, with one of `BYTE_CHARACTERS` for each byte of its UTF-8 form.

    >>> to_byte_level(" о")
    'ĠÐ¾'
    """
    return "".join([BYTE_CHARACTERS[byte] for byte in text.encode()])


def bytes_of(token: str) -> bytes:
    r"""Return the bytes that a token of a byte-level tokenizer decodes to.

    If a token has a character that does not stand for a byte, such as a space in an added token, the result is the
    token's own UTF-8 form, as in `tokenizers`.

    >>> bytes_of("ĠÐ¾").decode(), bytes_of("<|конец|>").decode(), bytes_of("é")
    (' о', '<|конец|>', b'\xe9')
    """
    try:
        return bytes([BYTE_OF[character] for character in token])
    except KeyError:
        return token.encode()


@lru_cache(maxsize=1 << 16)  # tracing the merges of a word needs the same tokens after each merge
def readable(token: str) -> str:
    """Return a token of a byte-level tokenizer as readable text; bytes of incomplete characters become ``<0xE6>`` etc.

    >>> readable("ĠÐ¾Ð½"), readable("æ¼"), readable("<|pad|>")
    (' он', '<0xE6><0xBC>', '<|pad|>')
    """
    text = bytes_of(token).decode("utf-8", "surrogateescape")
    return "".join(f"<0x{ord(c) - 0xDC00:02X}>" if "\udc80" <= c <= "\udcff" else c for c in text)


def character_merges(alphabet: Iterable[str]) -> list[tuple[str, str]]:
    """List the merges that build characters from their bytes, written in the byte alphabet.

    Characters come in the order of their code points, and the bytes of each are joined from left to right. A prefix
    that several characters share is made once. ASCII characters are single bytes and need no merge.

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
    r"""Find the characters that the first merges of a byte-level BPE build from their bytes.

    An encoder can start from these characters instead of bytes, because these merges only append a byte to the
    beginning of a character and never join two characters. ASCII needs no merge and is always included.

    Args:
        merges: the merges in the order of their ranks, in the byte alphabet.

    Returns:
        The characters, and the number of merges that build them.

    >>> characters, number = built_first([("Ñ", "ı"), ("a", "b"), ("Ð", "½")])
    >>> characters[-3:], number
    (['~', '\x7f', 'я'], 1)
    """
    whole = [chr(code) for code in range(128)]
    if len(set(merges)) < len(merges):
        return whole, 0  # because a repeated pair has its last rank
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
    """List the merges that build the characters of an alphabet, then the given merges, all in the byte alphabet."""
    return character_merges(alphabet) + [(to_byte_level(left), to_byte_level(right)) for left, right in merges]


def check_added_tokens(tokens: Sequence[str], name: str = "added token") -> None:
    """Check that a byte-level decoder returns added tokens unchanged.

    Args:
        tokens: the tokens.
        name: the name of such a token in the error.

    Raises:
        MwSError: a token would decode to a different string, because all its characters stand for bytes, and some of
            them for bytes other than their own.

    >>> check_added_tokens(["<|endoftext|>", "<|конец|>", "<a b>"])
    >>> check_added_tokens(["<|é|>"])
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: added token '<|é|>' would decode to '<|<0xE9>|>' in a byte-level tokenizer; use ASCII only
    """
    for token in tokens:
        if bytes_of(token) != token.encode():
            found = readable(token)
            raise MwSError(f"{name} {token!r} would decode to {found!r} in a byte-level tokenizer; use ASCII only")


BYTE_TOKENS: tuple[str, ...] = tuple(f"<0x{byte:02X}>" for byte in range(256))
"""The 256 byte tokens; a character outside of the alphabet is encoded as one of them per byte of its UTF-8 form."""

_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")

DEFAULT_SPECIAL_TOKENS = ("<|endoftext|>", "<|pad|>")
"""The special tokens of a training that sets none."""

ROLES = {
    "bos_token": ("<s>", "[BOS]", "<bos>", "<|begin_of_text|>", "<|startoftext|>"),
    "eos_token": ("<|endoftext|>", "</s>", "[EOS]", "<eos>", "<|end_of_text|>"),
    "pad_token": ("<|pad|>", "<pad>", "[PAD]"),
    "unk_token": ("<unk>", "[UNK]", "<|unk|>"),
    "cls_token": ("[CLS]", "<cls>"),
    "sep_token": ("[SEP]", "<sep>"),
    "mask_token": ("[MASK]", "<mask>", "<|mask|>"),
}
"""The usual names of the token of each special role in transformers."""


def byte_of(token: str) -> int | None:
    """Return the byte that a byte token such as ``<0x41>`` stands for; None for other tokens.

    >>> byte_of("<0x41>"), byte_of("A")
    (65, None)
    """
    found = _BYTE.fullmatch(token)
    return None if found is None else int(found[1], 16)


def check_special_tokens(tokens: Iterable[str]) -> list[str]:
    """Check special tokens and return them as a list.

    Raises:
        MwSError: the tokens are one string, a mapping or a set, which has no order; or a token

            * is empty, blank, given twice, or not Unicode text,
            * has the form of a byte token (``<0x41>``),
            * is an AddedToken with `lstrip`, `rstrip` or `single_word`, because these flags would be lost.

    >>> check_special_tokens(["<s>", "</s>", "<s>"])
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: special token '<s>' is given twice; list each token once
    """
    if isinstance(tokens, str | bytes | Mapping) or not isinstance(tokens, Iterable):
        raise MwSError(f"special_tokens={tokens!r} is not a list; give one, such as ['<|endoftext|>', '<|pad|>']")
    check_order("special_tokens", tokens)
    result: dict[str, None] = {}
    for given in tokens:
        if not isinstance(given, str) and not isinstance(getattr(given, "content", None), str):  # an AddedToken
            raise MwSError(f"special token {given!r} is a {type(given).__name__}, not text; give its name as a string")
        token = str(given)
        if lost := [flag for flag in ("lstrip", "rstrip", "single_word") if getattr(given, flag, False) is True]:
            raise MwSError(
                f"special token {token!r} has {lost[0]}=True, which training does not keep; give its name as a string, "
                "and pass the AddedToken to add_special_tokens of the trained tokenizer"
            )
        if not token.strip():
            what = "is the empty string" if not token else f"has only white space ({token!r})"
            raise MwSError(f"a special token {what}; give each a name such as '<|endoftext|>'")
        check_unicode(token, f"special token {token!r}")
        if token in result:
            raise MwSError(f"special token {token!r} is given twice; list each token once")
        if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
            raise MwSError(f"special token {token!r} has the name of a byte token; choose another name")
        result[token] = None
    return list(result)


def check_order(name: str, given: object) -> None:
    """Raise MwSError if tokens are given as a set, because their order decides their ids.

    The order of strings in a set differs between processes.

    Args:
        name: the name of the argument, for the message.
        given: the tokens.
    """
    if isinstance(given, Set) and not isinstance(given, KeysView):
        raise MwSError(f"{name}: a {type(given).__name__} has no order, but the order decides the ids; give a list")


def special_roles(tokens: Iterable[str]) -> dict[str, str]:
    """Return the token of each role in transformers, which is the first one that has a usual name for the role.

    >>> special_roles(["<|endoftext|>", "[PAD]", "<|user|>"])
    {'eos_token': '<|endoftext|>', 'pad_token': '[PAD]'}
    """
    roles: dict[str, str] = {}
    for token in tokens:
        for role, names in ROLES.items():
            if token in names:
                roles.setdefault(role, token)
    return roles


def special_settings(tokens: Sequence[str]) -> dict[str, Any]:
    """Return `special_roles`, and the tokens without a role, if there are any, as ``additional_special_tokens``."""
    roles = special_roles(tokens)
    others = [token for token in tokens if token not in roles.values()]
    return {**roles, "additional_special_tokens": others} if others else {**roles}
