"""One view of any tokenizer: texts in, ids and character spans out. Code that comes with a tokenizer is never run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, cast

from mws_hf.errors import MwSError
from mws_hf.text.byte_alphabet import BYTE_OF
from mws_hf.text.special import byte_of
from mws_hf.tokenizer.backend import is_byte_level
from mws_hf.tokenizer.file import open_tokenizer
from mws_hf.tokenizer.spec import Spec
from mws_hf.tokenizer.stock import Tokenizer, without_limits

Span: TypeAlias = tuple[int, int]
_BATCH = 4096


@dataclass(frozen=True)
class Encoded:
    """A text as tokens."""

    ids: list[int]
    tokens: list[str]  # as the vocabulary has them
    spans: list[Span] | None  # whole characters that each token touches; None where tokens cannot be laid on the text


@dataclass(frozen=True)
class Encoder:
    """A tokenizer as one function."""

    encode: Callable[[Sequence[str]], list[Encoded]]  # without special tokens, truncation or padding
    vocabulary_size: int  # added tokens included
    unknown_id: int | None
    adds_space: bool  # whether the tokenizer itself puts a word mark before a text (SentencePiece's dummy prefix)
    decode: Callable[[list[list[int]]], list[str]] | None = None  # special tokens and spaces as they are
    pieces: Sequence[str] = ()  # token strings by id, for a tokenizer that is none of `tokenizers`
    parts: Callable[[], dict[str, tuple[str, str]]] | None = None  # the two tokens that each token's merge joins


def load_encoder(source: Any) -> Encoder:
    """Open a directory, a Hub name, a ``tokenizer.json`` or an object of `tokenizers` or transformers.

    A directory is opened as `AutoTokenizer` does; one without tokenizer_config.json, or with code of its own (which is
    never run), is its tokenizer.json alone.
    """
    if isinstance(source, Encoder):
        return source
    opened = isinstance(source, str | os.PathLike)
    if opened:
        source = open_tokenizer(source, by_class=True)
    if isinstance(source, Tokenizer):
        return _from_backend(source, opened)
    if getattr(source, "is_fast", False) and isinstance(getattr(source, "backend_tokenizer", None), Tokenizer):
        return _from_backend(source.backend_tokenizer, opened)
    if hasattr(source, "tokenize") and hasattr(source, "convert_tokens_to_ids"):
        return _from_slow(source)
    raise MwSError(f"a {type(source).__name__} is no tokenizer; give a directory, a tokenizer.json or an object")


def _from_backend(original: Tokenizer, opened: bool = False) -> Encoder:
    """Make an encoder of a tokenizer, or of a copy of it unless it was `opened` here and nobody else holds it."""
    try:
        backend = original if opened and not (original.padding or original.truncation) else without_limits(original)
    except Exception:  # a component written in Python cannot be copied; use the caller's object as it is
        backend = original

    def encode(texts: Sequence[str]) -> list[Encoded]:
        encoded: list[Encoded] = []
        for start in range(0, len(texts), _BATCH):
            batch = backend.encode_batch(list(texts[start : start + _BATCH]), add_special_tokens=False)
            for text, item in zip(texts[start : start + _BATCH], batch, strict=True):
                if (spans := getattr(item, "offsets", None)) is None:  # `tokenizers` 1.0 tells none
                    spans = align(text, [token_bytes(each, bytes_) for each in item.tokens])
                encoded.append(Encoded(item.ids, item.tokens, spans))
        return encoded

    bytes_ = BYTE_OF if is_byte_level(backend) else None

    prefixed = getattr(backend.model, "continuing_subword_prefix", None)  # then a product is not its parts in a row
    merged = type(backend.model).__name__ == "BPE" and not prefixed
    parts = (lambda: _parts(Spec.of(backend).merges)) if merged else None
    size, adds_space = backend.get_vocab_size(), _backend_adds_space(backend)
    decode = partial(backend.decode_batch, skip_special_tokens=False)
    return Encoder(encode, size, _unknown_id(backend), adds_space, decode, parts=parts)


def _parts(merges: Iterable[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    return {left + right: (left, right) for left, right in reversed(list(merges))}


def _unknown_id(backend: Tokenizer) -> int | None:
    if type(backend.model).__name__ == "Unigram":  # its binding shows no attribute; the model's own JSON does
        return cast("int | None", Spec.of(backend).model["unk_id"])
    unknown = getattr(backend.model, "unk_token", None)
    return backend.token_to_id(unknown) if unknown else None


def _backend_adds_space(backend: Tokenizer) -> bool:
    """Return whether "a" comes out of normalizer and pre-tokenizer with a word mark in front."""
    normalizer, splitter = backend.normalizer, backend.pre_tokenizer
    text = "a" if normalizer is None else normalizer.normalize_str("a")  # one of several is false in old versions
    pieces = [(text, (0, 1))] if splitter is None else splitter.pre_tokenize_str(text)
    return bool(pieces) and pieces[0][0][:1] in ("▁", "Ġ", " ")


def _from_slow(tokenizer: Any) -> Encoder:
    byte_of_character: dict[str, int] = getattr(tokenizer, "byte_decoder", None) or {}
    unknown = getattr(tokenizer, "unk_token", None)

    def encode(texts: Sequence[str]) -> list[Encoded]:
        encoded: list[Encoded] = []
        for text in texts:
            tokens = tokenizer.tokenize(text)
            pieces = [None if token == unknown else token_bytes(token, byte_of_character) for token in tokens]
            encoded.append(Encoded(tokenizer.convert_tokens_to_ids(tokens), tokens, align(text, pieces)))
        return encoded

    def decode(ids: list[list[int]]) -> list[str]:
        return [tokenizer.decode(item, clean_up_tokenization_spaces=False) for item in ids]

    adds_space = "".join(tokenizer.tokenize("a"))[:1] in ("▁", "Ġ", " ")
    parts = (lambda: _parts(tokenizer.bpe_ranks)) if hasattr(tokenizer, "bpe_ranks") else None
    return Encoder(encode, len(tokenizer), getattr(tokenizer, "unk_token_id", None), adds_space, decode, parts=parts)


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
