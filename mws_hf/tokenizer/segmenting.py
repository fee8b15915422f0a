"""Segment: texts become tokens, and words become pieces, by one tokenizer or by a segmenter of words."""

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
    from mws_hf.tokenizer.foreign import Cutting

Isolated = Literal["space", "none"]
Span: TypeAlias = tuple[int, int]
_BATCH_TEXTS = 4096
_WORD_MARKS = ("▁", "Ġ", " ")
_WORD_BEFORE = "a "
"""The text before a word where a tokenizer strips the space at the beginning of a text."""
_WORDS = re.compile(r"(\s*)(\S+)")
_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Encoded:
    """A text as tokens."""

    ids: list[int]
    tokens: list[str]  # as the vocabulary has them
    spans: list[Span] | None  # whole characters that each token touches; None where tokens cannot be laid on the text


@dataclass(frozen=True)
class Segmenter:
    """Whatever segments texts or words: a tokenizer of `tokenizers` or transformers, or a function of words.

    Attributes:
        name: as messages and tables call it.
        live: the object of `tokenizers` or transformers, if there is one.
        cutting: the function of words, where there is no tokenizer.
    """

    name: str
    live: Any = None
    cutting: Cutting | None = None

    @cached_property
    def backend(self) -> Tokenizer:
        """The tokenizer of `tokenizers`, not to be changed; MwSError where there is none."""
        backend = getattr(self.live, "backend_tokenizer", self.live)
        if isinstance(backend, Tokenizer):
            return backend
        self._check_encodes()
        if hasattr(self.live, "to_backend"):
            return cast("Tokenizer", self.live.to_backend())
        raise MwSError(f"{self.name} has no Rust backend; save it and load the directory with PreTrainedTokenizerFast")

    @cached_property
    def spec(self) -> Spec:
        """The backend as a tokenizer.json."""
        return Spec.of(self.backend)

    @property
    def is_segmenter(self) -> bool:
        """Whether it cuts words alone."""
        return self.cutting is not None

    @property
    def _is_slow(self) -> bool:
        """Whether it is of a class that works in Python, and is asked itself."""
        return self.live is not None and not isinstance(getattr(self.live, "backend_tokenizer", self.live), Tokenizer)

    def _check_encodes(self) -> None:
        if self.cutting is not None:
            raise MwSError(
                f"{self.name}: cuts words alone and has no tokens of running text; give a tokenizer, or score it on "
                "gold"
            )

    @cached_property
    def _plain(self) -> Tokenizer:
        """The backend without limits and special tokens, whose offsets keep the space before a word."""
        try:
            plain = without_limits(self.backend)
            set_part(plain, "post_processor", EMPTY_TEMPLATE)
        except Exception:  # a component written in Python cannot be copied; use the caller's object as it is
            return self.backend
        return plain

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """Cut texts into tokens, without special tokens, truncation or padding; MwSError of a segmenter."""
        self._check_encodes()
        if self._is_slow:
            return [_encode_slowly(self.live, text) for text in texts]
        starts = range(0, len(texts), _BATCH_TEXTS)
        parts = (list(texts[start : start + _BATCH_TEXTS]) for start in starts)
        batches = (self._plain.encode_batch(part, add_special_tokens=False) for part in parts)
        return [Encoded(item.ids, item.tokens, item.offsets) for batch in batches for item in batch]

    def decode(self, batch: list[list[int]]) -> list[str]:
        """Return the texts of lists of ids, special tokens and spaces as they are."""
        if self._is_slow:
            return [self.live.decode(item, clean_up_tokenization_spaces=False) for item in batch]
        return self.backend.decode_batch(batch, skip_special_tokens=False)

    @property
    def vocabulary_size(self) -> int:
        """The number of entries, added tokens included."""
        return len(self.live) if self._is_slow else self.backend.get_vocab_size()

    @cached_property
    def unknown_id(self) -> int | None:
        """The id of the token for what is not in the vocabulary."""
        if self._is_slow:
            return getattr(self.live, "unk_token_id", None)
        if self.spec.kind == "Unigram":
            return cast("int | None", self.spec.model["unk_id"])
        token = self.spec.model.get("unk_token")
        return self.backend.token_to_id(token) if token else None

    @cached_property
    def parts(self) -> dict[str, tuple[str, str]]:
        """The two tokens that each token's merge joins; empty where products are not their parts in a row."""
        if self._is_slow and not hasattr(self.live, "to_backend"):
            return {}
        if self.spec.kind != "BPE" or self.spec.model.get("continuing_subword_prefix"):
            return {}
        return {left + right: (left, right) for left, right in reversed(self.spec.merges)}

    @cached_property
    def before(self) -> str:
        """What is put before a word so that it is cut as inside a sentence: nothing, a space, or a word and a space.

        Nothing where the tokenizer itself puts a word mark before a text (SentencePiece's dummy prefix).
        """
        spaced, bare = (encoded.tokens for encoded in self.encode([" a", "a"]))
        if "".join(bare).startswith(_WORD_MARKS):
            return ""
        return _WORD_BEFORE if spaced == bare else " "

    def words(self, words: Sequence[str], isolated: Isolated = "space") -> list[Encoded]:
        """Return the tokens of words as each stands inside a sentence, or bare ("none"); spans are counted in the word.

        A space that belongs to the first token of a word is at place -1; tokens that hold nothing of the word are left
        out.
        """
        lead = self.before if isolated == "space" else ""
        found = self.encode([lead + word for word in words])
        return [_within(each, len(lead)) for each in found] if lead else found

    def cut(self, words: Sequence[str], isolated: Isolated = "space") -> list[tuple[str, ...]]:
        """Cut each word as it is cut inside a sentence ("space"), or bare ("none"); the pieces spell the word.

        A segmenter always sees the bare word. A cut inside a character is no cut, and a word whose tokens cannot be
        laid on it stays whole, with a warning.

        Raises:
            MwSError: unknown `isolated`, a word that a file of segmentations lacks, or pieces that do not spell the
                word.
        """
        if isolated not in ("space", "none"):
            raise SettingError("isolated", isolated, "is unknown; choose 'space' or 'none'")
        if self.cutting is not None:
            return [_spelled_out(word, pieces) for word, pieces in zip(words, self.cutting(words), strict=True)]
        encoded = self.words(words, isolated)
        if lost := sum(item.spans is None for item in encoded):
            _logger.warning("%d of %d words stay whole: no offsets, and the tokens do not spell them", lost, len(words))
        return [
            pieces_of(word, cuts_within(item.spans or [], 0, len(word)))
            for word, item in zip(words, encoded, strict=True)
        ]

    def segment(self, texts: Sequence[str]) -> list[list[str]]:
        """Segment texts into the pieces of their words; white space before a word belongs to its first piece.

        The pieces of a text spell it without the white space at its ends.
        """
        gaps = [_WORDS.findall(text.strip()) for text in texts]
        pieces = iter(self.cut([word for words in gaps for _, word in words]))
        return [
            [space + piece if i == 0 else piece for space, _ in words for i, piece in enumerate(next(pieces))]
            for words in gaps
        ]


def _encode_slowly(tokenizer: Any, text: str) -> Encoded:
    """Encode a text by a class that works in Python; the token strings are laid on the text."""
    from mws_hf.tokenizer import foreign

    byte_of_character: dict[str, int] = getattr(tokenizer, "byte_decoder", None) or {}
    unknown, tokens = getattr(tokenizer, "unk_token", None), tokenizer.tokenize(text)
    pieces = [None if token == unknown else foreign.token_bytes(token, byte_of_character) for token in tokens]
    return Encoded(tokenizer.convert_tokens_to_ids(tokens), tokens, foreign.align(text, pieces))


def _within(encoded: Encoded, lead: int) -> Encoded:
    """Count the spans of a text from so many characters on, and leave out the tokens before."""
    if encoded.spans is None:
        return encoded
    placed: list[tuple[int, str, Span]] = [
        (number, token, (max(-1, start - lead), end - lead))
        for number, token, (start, end) in zip(encoded.ids, encoded.tokens, encoded.spans, strict=True)
        if end > lead
    ]
    return Encoded([each[0] for each in placed], [each[1] for each in placed], [each[2] for each in placed])


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
