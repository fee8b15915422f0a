"""The parts of a `tokenizers` tokenizer at work, read and changed, and where it puts special tokens.

A tokenizer is built as a tokenizer.json (`spec.py`) and opened once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import tokenizers
from tokenizers import Tokenizer

from mws_hf.errors import MwSError

PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")


def entry_of(tokenizer: Tokenizer, place: str) -> dict[str, Any] | None:
    """Return the entry in tokenizer.json of one of a tokenizer's `PARTS`, without the rest of the file."""
    part = getattr(tokenizer, place)
    return None if part is None else json.loads(part.__getstate__())


def set_part(tokenizer: Tokenizer, place: str, entry: Mapping[str, Any] | None) -> None:
    """Give a tokenizer at work the part that an entry of tokenizer.json describes.

    >>> tokenizer = Tokenizer.from_str('{"model": {"type": "BPE", "vocab": {}, "merges": []}}')
    >>> set_part(tokenizer, "normalizer", {"type": "NFC"})
    >>> entry_of(tokenizer, "normalizer")
    {'type': 'NFC'}
    """
    part = None
    if entry is not None:
        part = getattr(tokenizers, "processors" if place == "post_processor" else f"{place}s").Sequence([])
        part.__setstate__(json.dumps(entry).encode())
    setattr(tokenizer, place, part)


def without_limits(tokenizer: Tokenizer) -> Tokenizer:
    """Copy a tokenizer without truncation and padding; settings of the copy can change while others use the first one.

    The copy shares the model, so it costs microseconds and no memory.

    >>> tokenizer = Tokenizer.from_str('{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}')
    >>> copy = without_limits(tokenizer)
    >>> copy.enable_truncation(2)
    >>> len(copy.encode("aaa")), len(tokenizer.encode("aaa")), copy.get_vocab() == tokenizer.get_vocab()
    (2, 3, True)
    """
    copy = Tokenizer(tokenizer.model)
    share_parts(copy, tokenizer)
    copy.add_tokens([token for _, token in sorted(tokenizer.get_added_tokens_decoder().items())])
    return copy


def share_parts(copy: Tokenizer, tokenizer: Tokenizer, parts: Iterable[str] = PARTS) -> None:
    """Give a copy the parts of a tokenizer, and whether special tokens in text are text."""
    for part in parts:
        if getattr(tokenizer, part) is not None:  # old versions refuse None
            setattr(copy, part, getattr(tokenizer, part))
    copy.encode_special_tokens = tokenizer.encode_special_tokens


_PROBES = (("a", "bb b"), ("cc c c", "d"), ("", "e"), ("f", ""), ("", ""))


class Piece(NamedTuple):
    """A part of an encoded text: a special token, or all tokens of the first (0) or second (1) text."""

    special: int | None
    text: int
    type_id: int


class Places(NamedTuple):
    """The pieces of one text, and those of a pair of texts."""

    single: tuple[Piece, ...]
    pair: tuple[Piece, ...]

    @property
    def bare(self) -> Places:
        """The same without special tokens, as ``add_special_tokens=False`` gives it."""
        single, pair = (tuple(piece for piece in pieces if piece.special is None) for pieces in self)
        return Places(single, pair)

    def of(self, texts: Sequence[Sequence[int]]) -> list[tuple[int, int, int]]:
        """Lay out the ids of one text or two: (id, 1 for a special token, type id) of each token.

        >>> Places((Piece(2, 0, 0), Piece(None, 0, 1)), ()).of([[7, 8]])
        [(2, 1, 0), (7, 0, 1), (8, 0, 1)]
        """
        found: list[tuple[int, int, int]] = []
        for special, text, type_id in self.single if len(texts) == 1 else self.pair:
            found += [(number, 0, type_id) for number in texts[text]] if special is None else [(special, 1, type_id)]
        return found


def special_places(backend: Tokenizer) -> Places:
    """Find where the post-processor of a tokenizer puts special tokens: it is asked, so every kind is understood.

    MwSError where the places depend on the texts in another way than by their lengths.

    >>> from tokenizers import models, processors
    >>> backend = Tokenizer(models.BPE(vocab={"a": 0, "</s>": 1}, merges=[]))
    >>> backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    >>> special_places(backend).single
    (Piece(special=None, text=0, type_id=0), Piece(special=1, text=0, type_id=0))
    """
    asked = without_limits(backend)
    places = Places(_pieces_of(asked, "a"), _pieces_of(asked, "a", "bb b"))
    for first, second in _PROBES:
        for texts in ((first,), (first, second)):
            encoded = asked.encode_batch([texts if len(texts) > 1 else texts[0]])[0]
            plain = [asked.encode(text, add_special_tokens=False).ids for text in texts]
            expected = list(zip(encoded.ids, encoded.special_tokens_mask, encoded.type_ids, strict=True))
            if places.of(plain) != expected:
                raise MwSError(
                    f"the post-processor ({type(asked.post_processor).__name__}) does not put the same special tokens "
                    "around every text, which MwSTokenizer cannot follow; load it with MwSTokenizerFast"
                )
    return places


def _pieces_of(backend: Tokenizer, *texts: str) -> tuple[Piece, ...]:
    """Ask for the pieces of some texts, none of them empty."""
    encoded = backend.encode_batch([texts if len(texts) > 1 else texts[0]])[0]
    found: list[Piece] = []
    for number, text, type_id, special in zip(
        encoded.ids, encoded.sequence_ids, encoded.type_ids, encoded.special_tokens_mask, strict=True
    ):
        piece = Piece(number, 0, type_id) if special else Piece(None, text or 0, type_id)
        if special or not found or found[-1] != piece:
            found.append(piece)
    return tuple(found)
