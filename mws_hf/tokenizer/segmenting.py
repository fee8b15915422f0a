"""Define `Segmenter`, one interface for every tokenizer and for programs that only segment words."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from tokenizers import Tokenizer

from mws_hf.errors import MwSError, SettingError
from mws_hf.tokenizer.spec import EMPTY_TEMPLATE, Spec, set_part, without_limits

if TYPE_CHECKING:
    from mws_hf.tokenizer.foreign import SegmentFunction

Isolated = Literal["space", "none"]
"""How a word is segmented by itself: as after a space in a sentence, or as at the beginning of a text."""
Span: TypeAlias = tuple[int, int]
"""Start and end of a token, in characters."""
_BATCH_TEXTS = 4096
_WORD_MARKS = ("▁", "Ġ", " ")
_WORD_BEFORE = "a "
"""The text that is put before a word if the tokenizer strips the space at the beginning of a text."""
_WORDS = re.compile(r"(\s*)(\S+)")
_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Encoded:
    """A text as tokens.

    Attributes:
        ids: the ids of the tokens.
        tokens: the tokens as the vocabulary writes them.
        spans: start and end of the characters that each token touches; None if the tokens cannot be aligned with the
            text.
    """

    ids: list[int]
    tokens: list[str]
    spans: list[Span] | None


@dataclass(frozen=True)
class Segmenter:
    """A tokenizer of `tokenizers` or transformers, or a function that segments words.

    Attributes:
        name: its name in messages and tables.
        live: the object of `tokenizers` or transformers, if there is one.
        segment_function: the function that segments words, if there is no tokenizer.
    """

    name: str
    live: Any = None
    segment_function: SegmentFunction | None = None

    @cached_property
    def backend(self) -> Tokenizer:
        """The tokenizer of `tokenizers`, which must not be changed.

        Raises:
            MwSError: it only segments words, or its class has no such tokenizer.
        """
        backend = getattr(self.live, "backend_tokenizer", self.live)
        if isinstance(backend, Tokenizer):
            return backend
        self._check_encodes()
        if hasattr(self.live, "to_backend"):
            return cast("Tokenizer", self.live.to_backend())
        raise MwSError(f"{self.name} has no Rust backend; save it and load the folder with PreTrainedTokenizerFast")

    @cached_property
    def spec(self) -> Spec:
        """The backend as a tokenizer.json."""
        return Spec.of(self.backend)

    @property
    def is_segmenter(self) -> bool:
        """Whether it only segments words and cannot encode text."""
        return self.segment_function is not None

    @property
    def _is_slow(self) -> bool:
        """Whether its class encodes in Python, so that the object itself must encode."""
        return self.live is not None and not isinstance(getattr(self.live, "backend_tokenizer", self.live), Tokenizer)

    def _check_encodes(self) -> None:
        """Raise MwSError if it only segments words."""
        if self.segment_function is not None:
            raise MwSError(
                f"{self.name}: only segments words and has no tokens of running text; give a tokenizer, or score it on "
                "reference segmentations"
            )

    @cached_property
    def _plain(self) -> Tokenizer:
        """The backend without truncation, padding and special tokens; its offsets keep the space before a word."""
        try:
            plain = without_limits(self.backend)
            set_part(plain, "post_processor", EMPTY_TEMPLATE)
        except Exception:  # a component written in Python cannot be copied; use the caller's object as it is
            return self.backend
        return plain

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """Encode texts without special tokens, truncation or padding.

        Raises:
            MwSError: it only segments words.
        """
        self._check_encodes()
        if self._is_slow:
            return [self._encode_slowly(text) for text in texts]
        starts = range(0, len(texts), _BATCH_TEXTS)
        parts = (list(texts[start : start + _BATCH_TEXTS]) for start in starts)
        batches = (self._plain.encode_batch(part, add_special_tokens=False) for part in parts)
        return [Encoded(item.ids, item.tokens, item.offsets) for batch in batches for item in batch]

    def _encode_slowly(self, text: str) -> Encoded:
        """Encode a text with a class that works in Python.

        The spans are found by aligning the token strings with the text. If they do not spell it, because a normalizer
        changed it, `MwSTokenizer` has the spans of its backend, which gives the same ids (without BPE-dropout).
        """
        encoded = _aligned(self.live, text)
        if encoded.spans is None and hasattr(self.live, "to_backend"):
            own = self._plain.encode(text, add_special_tokens=False)
            if own.ids == encoded.ids:
                return Encoded(own.ids, own.tokens, own.offsets)
        return encoded

    def decode(self, batch: list[list[int]]) -> list[str]:
        """Decode lists of ids to one text each; special tokens and spaces are kept."""
        if self._is_slow:
            return [self.live.decode(item, clean_up_tokenization_spaces=False) for item in batch]
        return self.backend.decode_batch(batch, skip_special_tokens=False)

    @property
    def vocabulary_size(self) -> int:
        """The number of tokens, including added tokens."""
        return len(self.live) if self._is_slow else self.backend.get_vocab_size()

    @cached_property
    def unknown_id(self) -> int | None:
        """The id of the unknown token; None if the tokenizer has no such token."""
        if self._is_slow:
            return getattr(self.live, "unk_token_id", None)
        if self.spec.kind == "Unigram":
            return cast("int | None", self.spec.model["unk_id"])
        token = self.spec.model.get("unk_token")
        return self.backend.token_to_id(token) if token else None

    @cached_property
    def parts(self) -> dict[str, tuple[str, str]]:
        """The two tokens that each merge joins, by the token that it makes.

        It is empty for models other than BPE, and for a BPE whose products are not the concatenation of their parts.
        """
        if self._is_slow and not hasattr(self.live, "to_backend"):
            return {}
        if self.spec.kind != "BPE" or self.spec.model.get("continuing_subword_prefix"):
            return {}
        return {left + right: (left, right) for left, right in reversed(self.spec.merges)}

    @cached_property
    def before(self) -> str:
        """The text to put before a word so that it is segmented as in a sentence: "", a space, or a word and a space.

        It is "" if the tokenizer itself puts a word mark before a text (SentencePiece's dummy prefix).
        """
        spaced, bare = (encoded.tokens for encoded in self.encode([" a", "a"]))
        if "".join(bare).startswith(_WORD_MARKS):
            return ""
        return _WORD_BEFORE if spaced == bare else " "

    def words(self, words: Sequence[str], isolated: Isolated = "space") -> list[Encoded]:
        """Encode words as after a space in a sentence ("space") or as at the beginning of a text ("none").

        Tokens that contain no character of the word are left out.

        Args:
            words: the words, without the space before them.
            isolated: "space" or "none".

        Returns:
            The tokens of each word. Spans are counted from the start of the word; a space before it, which belongs to
            its first token, is at position -1.
        """
        lead = self.before if isolated == "space" else ""
        found = self.encode([lead + word for word in words])
        return [_within(each, len(lead)) for each in found] if lead else found

    def segment_words(self, words: Sequence[str], isolated: Isolated = "space") -> list[tuple[str, ...]]:
        """Segment words into pieces that spell them, as after a space in a sentence or as at the beginning of a text.

        A token boundary inside a character does not split it, and a word with which its tokens cannot be aligned stays
        whole, with a warning.

        Args:
            words: the words, without the space before them.
            isolated: "space" or "none"; a segmenter of words gets each word without a space in either case.

        Returns:
            The pieces of each word.

        Raises:
            MwSError: `isolated` is unknown, a file of segmentations lacks a word, or the pieces do not spell the
                word.
        """
        if isolated not in ("space", "none"):
            raise SettingError("isolated", isolated, "is unknown; choose 'space' or 'none'")
        if self.segment_function is not None:
            return [
                _spelled_out(word, pieces) for word, pieces in zip(words, self.segment_function(words), strict=True)
            ]
        encoded = self.words(words, isolated)
        if lost := sum(item.spans is None for item in encoded):
            _logger.warning(
                "%d of %d words are not split, because their tokens have no offsets and do not spell them",
                lost,
                len(words),
            )
        return [
            pieces_of(word, boundaries_within(item.spans or [], 0, len(word)))
            for word, item in zip(words, encoded, strict=True)
        ]

    def segment(self, texts: Sequence[str]) -> list[list[str]]:
        """Segment texts into the pieces of their words; white space before a word belongs to its first piece.

        Args:
            texts: the texts.

        Returns:
            The pieces of each text, which spell it without the white space at its ends.
        """
        gaps = [_WORDS.findall(text.strip()) for text in texts]
        pieces = iter(self.segment_words([word for words in gaps for _, word in words]))
        return [
            [space + piece if i == 0 else piece for space, _ in words for i, piece in enumerate(next(pieces))]
            for words in gaps
        ]


def _aligned(tokenizer: Any, text: str) -> Encoded:
    """Encode a text with a class that works in Python, and align the token strings with the text."""
    from mws_hf.tokenizer import foreign

    byte_of_character: dict[str, int] = getattr(tokenizer, "byte_decoder", None) or {}
    unknown, tokens = getattr(tokenizer, "unk_token", None), tokenizer.tokenize(text)
    pieces = [None if token == unknown else foreign.token_bytes(token, byte_of_character) for token in tokens]
    return Encoded(tokenizer.convert_tokens_to_ids(tokens), tokens, foreign.align(text, pieces))


def _within(encoded: Encoded, lead: int) -> Encoded:
    """Shift spans so that character `lead` is at 0, and leave out the tokens before it."""
    if encoded.spans is None:
        return encoded
    placed: list[tuple[int, str, Span]] = [
        (number, token, (max(-1, start - lead), end - lead))
        for number, token, (start, end) in zip(encoded.ids, encoded.tokens, encoded.spans, strict=True)
        if end > lead
    ]
    return Encoded(
        [number for number, _, _ in placed], [token for _, token, _ in placed], [span for _, _, span in placed]
    )


def boundaries_within(spans: Iterable[Span], start: int, end: int) -> list[int]:
    """Return the token boundaries strictly between two characters, counted from the first one, in ascending order.

    Args:
        spans: start and end of each token, in characters of a text.
        start: the first character of a word in the text.
        end: the end of the word.

    >>> boundaries_within([(0, 4), (4, 7), (7, 9)], 4, 9)
    [3]
    """
    return sorted(place - start for place in token_boundaries(spans) if start < place < end)


def token_boundaries(spans: Iterable[Span]) -> set[int]:
    """Return the positions at which a token starts and which no token spans, so that none is inside a character.

    >>> sorted(token_boundaries([(0, 2), (2, 3), (2, 3), (3, 5)]))
    [0, 2, 3]
    """
    starts: set[int] = set()
    crossed: set[int] = set()
    for first, last in spans:
        if first < last:
            starts.add(first)
            if last - first > 1:
                crossed.update(range(first + 1, last))
    return starts - crossed


def pieces_of(word: str, positions: Sequence[int]) -> tuple[str, ...]:
    """Split a word at ascending positions, and return the pieces.

    >>> pieces_of("walked", [4])
    ('walk', 'ed')
    """
    edges = [0, *positions, len(word)]
    return tuple(word[a:b] for a, b in zip(edges, edges[1:], strict=False))


def _spelled_out(word: str, pieces: Iterable[str]) -> tuple[str, ...]:
    """Return the pieces that are not empty; raise MwSError if they are not strings that spell the word."""
    found = [piece for piece in pieces if piece] if isinstance(pieces, Iterable) else pieces
    if not isinstance(found, list) or not all(isinstance(piece, str) for piece in found) or "".join(found) != word:
        raise MwSError(f"the segmenter split {word!r} into {found}; its pieces must spell the word, without marks")
    return tuple(found)
