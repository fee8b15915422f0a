"""Whether another reader of a tokenizer gives the ids and texts that `tokenizers` gives; the reader is the caller's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from tokenizers import Tokenizer

from mws_hf.errors import MwSError


class Comparison(NamedTuple):
    """What differs.

    Attributes:
        texts: how many were compared.
        ids: the texts that the reader cuts otherwise.
        decoded: those whose ids it does not decode to the text that `tokenizers` makes of them.
    """

    texts: int
    ids: list[str]
    decoded: list[str]


def compare(
    backend: Tokenizer,
    texts: Iterable[str],
    encode: Callable[[str], Sequence[int]],
    decode: Callable[[list[int]], str] | None = None,
) -> Comparison:
    """Compare a reader with `tokenizers`, text by text; special tokens in a text count as such, none are added.

    >>> from mws_hf.backend import base_vocab, build_backend
    >>> backend = build_backend(base_vocab((), "ab"), [])
    >>> compare(backend, ["ab", "ba"], lambda text: [256, 257])
    Comparison(texts=2, ids=['ba'], decoded=[])
    """
    wrong_ids, wrong_text, number = [], [], 0
    for text in texts:
        number += 1
        ids = backend.encode(text, add_special_tokens=False).ids
        if list(encode(text)) != ids:
            wrong_ids.append(text)
        if decode is not None and decode(ids) != backend.decode(ids, skip_special_tokens=False):
            wrong_text.append(text)
    return Comparison(number, wrong_ids, wrong_text)


def refuse_differences(found: Comparison, what: str, remedy: str) -> None:
    """Stop an export that would not be exact.

    Raises:
        MwSError: something differs; the first text is shown.
    """
    if found.ids or found.decoded:
        kind, first = ("ids", found.ids[0]) if found.ids else ("decoded text", found.decoded[0])
        number = len(found.ids or found.decoded)
        shown = repr(first if len(first) < 60 else first[:57] + "...")
        raise MwSError(
            f"{what} would give other {kind} on {number:,} of {found.texts:,} texts, {shown} for one; {remedy}"
        )
