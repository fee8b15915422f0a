"""Find the order in which the post-processor of a tokenizer puts special tokens and texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tokenizers import Tokenizer

from mws_hf.errors import MwSError
from mws_hf.tokenizer.spec import without_limits


class Piece(NamedTuple):
    """A part of an encoded text: one special token, or all tokens of a text.

    Attributes:
        special: the id of the special token; None for the tokens of a text.
        text: 0 for the first text and 1 for the second text; 0 for a special token.
        type_id: the type id of its tokens.
    """

    special: int | None
    text: int
    type_id: int


class TokenTemplate(NamedTuple):
    """The order of special tokens and texts, as a post-processor puts them.

    Attributes:
        single: the pieces of one text.
        pair: the pieces of a pair of texts.
    """

    single: tuple[Piece, ...]
    pair: tuple[Piece, ...]

    @property
    def bare(self) -> TokenTemplate:
        """The same order without special tokens, as with ``add_special_tokens=False``."""
        single, pair = (tuple(piece for piece in pieces if piece.special is None) for pieces in self)
        return TokenTemplate(single, pair)

    def applied(self, texts: Sequence[Sequence[int]]) -> list[tuple[int, int, int]]:
        """Put special tokens around the ids of one or two texts.

        Args:
            texts: the ids of one text, or of each text of a pair.

        Returns:
            For each token its id, 1 if it is special or else 0, and its type id.

        >>> TokenTemplate((Piece(2, 0, 0), Piece(None, 0, 1)), ()).applied([[7, 8]])
        [(2, 1, 0), (7, 0, 1), (8, 0, 1)]
        """
        found: list[tuple[int, int, int]] = []
        for special, text, type_id in self.single if len(texts) == 1 else self.pair:
            found += [(number, 0, type_id) for number in texts[text]] if special is None else [(special, 1, type_id)]
        return found


def template_of(backend: Tokenizer) -> TokenTemplate:
    """Find where the post-processor of a tokenizer puts special tokens, by encoding a text and a pair with it.

    Raises:
        MwSError: the post-processor also does something else, such as repeating a text.

    >>> from tokenizers import models, processors
    >>> backend = Tokenizer(models.BPE(vocab={"a": 0, "</s>": 1}, merges=[]))
    >>> backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    >>> template_of(backend).single
    (Piece(special=None, text=0, type_id=0), Piece(special=1, text=0, type_id=0))
    """
    plain = without_limits(backend)
    found = []
    for texts in (("a",), ("a", "bb b")):
        encoded = plain.encode(*texts)
        pieces: list[Piece] = []
        tokens = list(zip(encoded.ids, encoded.special_tokens_mask, encoded.type_ids, strict=True))
        for (number, special, type_id), text in zip(tokens, encoded.sequence_ids, strict=True):
            piece = Piece(number, 0, type_id) if special else Piece(None, text or 0, type_id)
            if special or pieces[-1:] != [piece]:
                pieces.append(piece)
        found.append(tuple(pieces))
        ids = [plain.encode(text, add_special_tokens=False).ids for text in texts]
        if TokenTemplate(found[0], found[-1]).applied(ids) != tokens:
            raise MwSError(
                f"the post-processor ({type(plain.post_processor).__name__}) does more than put special tokens around "
                "texts, which MwSTokenizer cannot do; load the tokenizer with MwSTokenizerFast"
            )
    return TokenTemplate(found[0], found[1])
