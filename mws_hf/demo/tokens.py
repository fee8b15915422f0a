"""A tokenizer opened for a page, and a text as its tokens: characters, ids and merge ranks. It draws nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tokenizers import Tokenizer

from mws_hf.evaluate.encoder import Encoded, Encoder, load_encoder
from mws_hf.text.byte_alphabet import BYTE_OF, bytes_of
from mws_hf.text.special import byte_of
from mws_hf.tokenizer.file import load_backend, open_tokenizer
from mws_hf.tokenizer.hub import named_sources
from mws_hf.tokenizer.spec import EMPTY_TEMPLATE, Spec
from mws_hf.tokenizer.stock import set_part, without_limits
from mws_hf.tokenizer.training_record import kinds_by_rank, kinds_of


@dataclass(frozen=True)
class Token:
    """A token of a text: id, place, and rank of the merge that made it, if one did.

    `shown` are its characters, or, where it holds parts of characters (`in_bytes`), its bytes in hexadecimal.
    """

    number: int
    start: int
    end: int
    shown: str
    in_bytes: bool
    rank: int | None


@dataclass(frozen=True)
class Opened:
    """A tokenizer and its name on the page; `kinds` are those of the last merges, from `training_record.kinds_of`.

    `foreign` encodes in place of the backend, which then holds the vocabulary alone.
    """

    name: str
    backend: Tokenizer
    kinds: Sequence[tuple[str, int]] = ()
    foreign: Encoder | None = None

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder of texts to ids and spans."""
        return self.foreign or load_encoder(self.backend)

    @cached_property
    def _spec(self) -> Spec:
        return Spec.of(self.backend)

    @cached_property
    def ranks(self) -> dict[str, int]:
        """Token string -> rank of the first merge that makes it; empty for a model without merges."""
        ranks: dict[str, int] = {}
        for rank, (left, right) in enumerate(self._spec.merges):
            ranks.setdefault(left + right, rank)
        return ranks

    @cached_property
    def merge_kinds(self) -> list[str]:
        """The kind of each merge by rank, such as "morph"; "" where it is not known."""
        return kinds_by_rank(self.kinds, len(self._spec.merges))

    def readable(self, token: str) -> str:
        """Spell a string of the vocabulary in text; bytes that are no text are written in hexadecimal."""
        if (byte := byte_of(token)) is not None:
            return f"{byte:02X}"
        if not self._spec.byte_level or not all(character in BYTE_OF for character in token):
            return token.replace("▁", " ")
        data = bytes_of(token)
        try:
            return data.decode()
        except UnicodeDecodeError:
            return in_hexadecimal(data)


def open_for_page(source: str | os.PathLike[str], name: str | None = None) -> Opened:
    """Open a directory with a tokenizer.json, such a file, or a Hub name; by default it is named by its last part."""
    backend, _ = load_backend(open_tokenizer(source, by_class=True))
    kinds = kinds_of(Path(source), backend) if Path(source).is_dir() else []
    plain = without_limits(backend)
    # offsets that a byte-level post-processor trims would take the spaces off their tokens
    set_part(plain, "post_processor", EMPTY_TEMPLATE)
    return Opened(name or Path(source).resolve().name, plain, kinds)


def open_all(sources: Sequence[str]) -> list[Opened]:
    """Open several tokenizers, each a place or NAME=place; raises MwSError where two share a name."""
    return [open_for_page(place, name) for name, place in named_sources(sources).items()]


def tokens_of(opened: Opened, text: str, encoded: Encoded | None = None, limit: int | None = None) -> list[Token]:
    """Cut a text into tokens, all or so many; `encoded` is the result of `opened.encoder`, if it is known.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> opened = Opened("toy", build_backend(base_vocab((), "он", [("о", "н")]), [("о", "н")]))
    >>> [(token.shown, token.start, token.end, token.in_bytes, token.rank) for token in tokens_of(opened, "онЯ")]
    [('он', 0, 2, False, 0), ('D0', 2, 3, True, None), ('AF', 2, 3, True, None)]
    """
    encoded = encoded or opened.encoder.encode([text])[0]
    spans = encoded.spans or [(0, 0)] * len(encoded.ids)
    wanted = len(spans) if limit is None else min(limit, len(spans))
    result: list[Token] = []
    while len(result) < wanted:
        first = len(result)
        last, end = first + 1, spans[first][1]
        while last < len(spans) and spans[last][0] < end and spans[last][1] > spans[last][0]:
            end = max(end, spans[last][1])
            last += 1
        strings = encoded.tokens[first:last]
        shown = _shares(strings, text[spans[first][0] : end]) if last - first > 1 else []
        for at in range(first, last):
            start, stop = spans[at]
            alone = text[start:stop] if last - first == 1 else ""
            characters = shown[at - first] if shown else alone or opened.readable(encoded.tokens[at])
            rank = opened.ranks.get(encoded.tokens[at])
            result.append(Token(encoded.ids[at], start, stop, characters, bool(shown), rank))
    return result[:wanted]


def _shares(strings: Sequence[str], characters: str) -> list[str]:
    """Divide the bytes of some characters among the tokens that share them; empty where these do not add up."""
    sizes = [len(string) if byte_of(string) is None else 1 for string in strings]
    data = characters.encode()
    if sum(sizes) != len(data):
        return []
    places = [sum(sizes[:at]) for at in range(len(sizes))]
    return [in_hexadecimal(data[place : place + size]) for place, size in zip(places, sizes, strict=True)]


def in_hexadecimal(data: bytes) -> str:
    """Write bytes as people write them, with spaces that do not break."""
    return data.hex(" ").upper().replace(" ", "\u202f")
