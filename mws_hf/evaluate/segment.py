"""Cut words as a tokenizer does, by character spans, whatever its family; nothing is scored here."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from mws_hf.errors import MwSError, SettingError
from mws_hf.evaluate.encoder import Encoder, Span
from mws_hf.evaluate.formats import Segmentations, open_source

Isolated = Literal["space", "none"]
_logger = logging.getLogger(__name__)


def segment_words(source: Any, words: Sequence[str], *, isolated: Isolated = "space") -> list[tuple[str, ...]]:
    """Cut each word the way a tokenizer or segmenter (what `open_source` opens) does; the pieces spell the word.

    `isolated`: "space" gives a tokenizer the word as it stands inside a sentence, after a space (unless it adds the
    space itself); "none" gives the bare word, which a segmenter always sees. A cut inside a character is no cut, and a
    word whose tokens cannot be laid on it stays whole, with a warning.

    Raises:
        MwSError: unknown `isolated`, a word that a file of segmentations lacks, or pieces that do not spell the word.
    """
    if isolated not in ("space", "none"):
        raise SettingError("isolated", isolated, "is unknown; choose 'space' or 'none'")
    encoder = open_source(source)
    if not isinstance(encoder, Encoder):
        if isinstance(encoder, Segmentations):
            encoder.check(words)
        return [_spelled_out(word, encoder(word)) for word in words]
    prefix = " " if isolated == "space" and not encoder.adds_space else ""
    encoded = encoder.encode([prefix + word for word in words])
    if lost := sum(item.spans is None for item in encoded):
        _logger.warning("%d of %d words stay whole: no offsets, and the tokens do not spell them", lost, len(words))
    return [
        pieces_of(word, cuts_within(item.spans or [], len(prefix), len(prefix) + len(word)))
        for word, item in zip(words, encoded, strict=True)
    ]


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


def _spelled_out(word: str, pieces: Iterable[str]) -> tuple[str, ...]:
    cut = tuple(piece for piece in pieces if piece)
    if "".join(cut) != word:
        raise MwSError(f"the segmenter turned {word!r} into {list(cut)}; its pieces must spell the word, without marks")
    return cut
