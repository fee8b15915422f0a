r"""The entries of a vocabulary that no merge makes: special tokens, the 256 bytes, the characters of an alphabet.

Characters of a named alphabet, such as "arrows", are in a vocabulary whether its training text has them or not. Small
letters and capitals stand side by side, so that a word in capitals is not spelled in bytes.

A byte-level tokenizer starts from the 256 bytes of UTF-8, each as a printable character. Learning stays in characters;
`byte_level_merges` rewrites the learnt merges in bytes: first the merges that build every character of the alphabet
from its bytes, then the learnt ones. A byte that starts a character never continues one, so merges of characters never
join two of them, and since they rank before all others, text in the alphabet is cut exactly as by the learnt merges.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, KeysView, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any, Literal, get_args

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


def surrogate_problem(text: str) -> str | None:
    """Say where a str holds a lone surrogate, which no UTF-8 text can; None where it holds none."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return (
            f"the lone surrogate {text[error.start]!r} at character {error.start} is not Unicode text; "
            "clean it with text.encode('utf-8', 'replace').decode()"
        )
    return None


def check_unicode(text: str, where: str) -> None:
    """Raise MwSError if a str holds a lone surrogate; `where` names the text."""
    if problem := surrogate_problem(text):
        raise MwSError(f"{where}: {problem}")


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


Alphabet = Literal["bytes", "characters"]
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


BYTE_TOKENS: tuple[str, ...] = tuple(f"<0x{byte:02X}>" for byte in range(256))
"""The 256 tokens a character outside the alphabet falls back to, one for each byte of its UTF-8 form."""

_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
SURROGATE = re.compile(r"[\ud800-\udfff]")

DEFAULT_SPECIAL_TOKENS = ("<|endoftext|>", "<|pad|>")

ROLES = {
    "bos_token": ("<s>", "[BOS]", "<bos>", "<|begin_of_text|>", "<|startoftext|>"),
    "eos_token": ("<|endoftext|>", "</s>", "[EOS]", "<eos>", "<|end_of_text|>"),
    "pad_token": ("<|pad|>", "<pad>", "[PAD]"),
    "unk_token": ("<unk>", "[UNK]", "<|unk|>"),
    "cls_token": ("[CLS]", "<cls>"),
    "sep_token": ("[SEP]", "<sep>"),
    "mask_token": ("[MASK]", "<mask>", "<|mask|>"),
}
"""The roles of transformers, and the customary names of the token of each."""


def byte_of(token: str) -> int | None:
    """Return the byte that a byte token of any tokenizer stands for; None for other tokens."""
    found = _BYTE.fullmatch(token)
    return None if found is None else int(found[1], 16)


def check_special_tokens(tokens: Iterable[str]) -> list[str]:
    """Return the special tokens as a list, each of them checked.

    Raises:
        MwSError: the tokens are one string, a mapping or a set, which has no order; a token is empty or blank, given
            twice, no Unicode text, has the form of a byte token (``<0x41>``), or takes white space or whole words alone
            (flags of an AddedToken, which would be lost).

    >>> check_special_tokens(["<s>", "</s>", "<s>"])
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: special token '<s>' is given twice; list each once
    """
    if isinstance(tokens, str | bytes | Mapping) or not isinstance(tokens, Iterable):
        raise MwSError(f"special_tokens={tokens!r}: give a list of tokens, such as ['<|endoftext|>', '<|pad|>']")
    check_order("special_tokens", tokens)
    result: dict[str, None] = {}
    for given in tokens:
        if isinstance(given, Mapping | list | tuple | bytes) or given is None:
            raise MwSError(f"special token {given!r} is a {type(given).__name__}, not text; give its name alone")
        token = str(given)
        if lost := [flag for flag in ("lstrip", "rstrip", "single_word") if getattr(given, flag, False) is True]:
            raise MwSError(
                f"special token {token!r} has {lost[0]}=True, which training does not keep; give its name alone, and "
                "the AddedToken to add_special_tokens of the tokenizer that comes out"
            )
        if not token.strip():
            what = "the empty string" if not token else f"nothing but white space ({token!r})"
            raise MwSError(f"a special token is {what}; give each a name such as '<|endoftext|>'")
        check_unicode(token, f"special token {token!r}")
        if token in result:
            raise MwSError(f"special token {token!r} is given twice; list each once")
        if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
            raise MwSError(f"special token {token!r} has the name of a byte token; choose another name")
        result[token] = None
    return list(result)


def check_order(name: str, given: object) -> None:
    """Refuse a set where the order decides about ids: that of strings in a set differs from process to process."""
    if isinstance(given, Set) and not isinstance(given, KeysView):
        raise MwSError(f"{name}: a {type(given).__name__} has no order, and the order decides about ids; give a list")


def special_roles(tokens: Iterable[str]) -> dict[str, str]:
    """Map transformers' role names to the first token whose name is customary for that role.

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
    """Return `special_roles`, and the tokens without one as ``additional_special_tokens`` where there are any."""
    roles = special_roles(tokens)
    others = [token for token in tokens if token not in roles.values()]
    return {**roles, "additional_special_tokens": others} if others else {**roles}
