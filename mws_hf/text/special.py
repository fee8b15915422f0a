"""Tokens that no merge makes: bytes, special tokens, and the role (eos, pad, ...) that a name stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable, KeysView, Mapping, Sequence, Set
from typing import Any

from mws_hf.errors import MwSError

BYTE_TOKENS: tuple[str, ...] = tuple(f"<0x{byte:02X}>" for byte in range(256))
"""The 256 tokens a character outside the alphabet falls back to, one for each byte of its UTF-8 form."""

_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_SURROGATE = re.compile(r"[\ud800-\udfff]")

DEFAULT_SPECIAL_TOKENS = ("<|endoftext|>", "<|pad|>")

_ROLES = {
    "eos_token": ("<|endoftext|>", "</s>", "[EOS]", "<eos>", "<|end_of_text|>"),
    "pad_token": ("<|pad|>", "<pad>", "[PAD]"),
    "bos_token": ("<s>", "[BOS]", "<bos>", "<|begin_of_text|>", "<|startoftext|>"),
    "unk_token": ("<unk>", "[UNK]", "<|unk|>"),
    "cls_token": ("[CLS]", "<cls>"),
    "sep_token": ("[SEP]", "<sep>"),
    "mask_token": ("[MASK]", "<mask>", "<|mask|>"),
}


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
        if _SURROGATE.search(token):
            raise MwSError(f"special token {token!r} holds a lone surrogate, which is not Unicode text; rename it")
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
        for role, names in _ROLES.items():
            if token in names:
                roles.setdefault(role, token)
    return roles


def special_settings(tokens: Sequence[str]) -> dict[str, Any]:
    """Return `special_roles`, and the tokens without one as ``additional_special_tokens`` where there are any."""
    roles = special_roles(tokens)
    others = [token for token in tokens if token not in roles.values()]
    return {**roles, "additional_special_tokens": others} if others else {**roles}
