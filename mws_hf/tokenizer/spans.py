"""Lay the tokens of a text on its characters, whatever the tokenizer's family, and find where they cut it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mws_hf.text.special import byte_of

Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Encoded:
    """A text as tokens."""

    ids: list[int]
    tokens: list[str]  # as the vocabulary has them
    spans: list[Span] | None  # whole characters that each token touches; None where tokens cannot be laid on the text


def cuts_within(spans: Iterable[Span], start: int, end: int) -> list[int]:
    """List token boundaries strictly inside the characters start..end, counted from `start`, ascending."""
    return sorted(place - start for place in token_cuts(spans) if start < place < end)


def token_cuts(spans: Iterable[Span]) -> set[int]:
    """Find the positions where a token starts and none runs across: none lies inside a character."""
    starts: set[int] = set()
    crossed: set[int] = set()
    for first, last in spans:
        if first < last:
            starts.add(first)
            if last - first > 1:
                crossed.update(range(first + 1, last))
    return starts - crossed


def pieces_of(word: str, cuts: Sequence[int]) -> tuple[str, ...]:
    """Slice a word at ascending positions."""
    edges = [0, *cuts, len(word)]
    return tuple(word[a:b] for a, b in zip(edges, edges[1:], strict=False))


def token_bytes(token: str, byte_of_character: dict[str, int] | None = None) -> bytes:
    """Return the bytes of a token string in any form: ``<0xD0>``, ``##ing``, ``▁word``, ``word</w>``, byte-level."""
    if (byte := byte_of(token)) is not None:
        return bytes([byte])
    if byte_of_character and all(character in byte_of_character for character in token):
        return bytes(byte_of_character[character] for character in token)
    return token.removeprefix("##").removesuffix("</w>").removesuffix("@@").replace("▁", " ").encode()


def align(text: str, pieces: Sequence[bytes | None]) -> list[Span] | None:
    """Lay token bytes on a text, left to right; None among the pieces is the unknown token and takes the skipped text.

    White space that tokens leave out is passed over, lower-casing is recognised, and of several unknown tokens the last
    takes all. A token that takes nothing spans (0, 0); None is returned when the pieces do not spell the text.
    """
    candidates = [text, text.lower()] if len(text.lower()) == len(text) else [text]
    for candidate in candidates:
        if (byte_spans := _align_bytes(candidate.encode(), pieces)) is not None:
            characters = [index for index, character in enumerate(candidate) for _ in character.encode()]
            return [(characters[s], characters[e - 1] + 1) if e > s else (0, 0) for s, e in byte_spans]
    return None


def _align_bytes(data: bytes, pieces: Sequence[bytes | None]) -> list[Span] | None:
    spans: list[Span] = []
    place, unknown = 0, False
    for piece in pieces:
        if piece is None:
            spans.append((place, place))
            unknown = True
            continue
        if piece.startswith(b" ") and not data.startswith(b" ", place) and not unknown:
            piece = piece.lstrip(b" ")
        start = data.find(piece, place)
        if start < 0 or (not unknown and data[place:start].strip()):
            return None
        if unknown:
            spans[-1] = (place, start)
        unknown, place = False, start + len(piece)
        spans.append((start, place))
    if unknown:
        spans[-1] = (spans[-1][0], len(data))
    elif data[place:].strip():
        return None
    return spans
