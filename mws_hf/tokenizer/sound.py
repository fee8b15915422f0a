"""Check what a tokenizer.json must hold before a tokenizer is made of it; no file is opened here.

The `tokenizers` library reads files that bring it down later, by a panic, by endless padding, or by ids that take all
memory. Such files are refused in one place, whoever reads them.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from mws_hf.errors import MwSError
from mws_hf.text.pattern import check_backtracking
from mws_hf.text.special import BYTE_TOKENS
from mws_hf.tokenizer.spec import parts_of

HIGHEST_ID = (1 << 22) - 1
"""Tables by id are made up to the highest one in use; the largest vocabularies known have a quarter of a million."""

LONGEST = 1 << 20
"""Tokens to which texts may be padded or cut."""

_PLACES = ("normalizer", "pre_tokenizer", "post_processor", "decoder")


def check_spec(spec: Any) -> dict[str, Any]:
    """Return a parsed tokenizer.json in which ids are ids and no part is known to bring the library down.

    Raises:
        MwSError: the first thing that is wrong; the file is not named.

    >>> check_spec({"model": {"type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": []}})
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: tokens 'a' and 'b' share id 0; give each token its own
    """
    if not isinstance(spec, dict) or not isinstance(spec.get("model"), dict):
        raise MwSError("not a tokenizer.json: it holds no JSON object with a model")
    _check_vocabulary(spec["model"])
    _check_added(spec.get("added_tokens") or [])
    _check_limits(spec.get("truncation"), spec.get("padding"))
    for place in _PLACES:
        for part in parts_of(spec.get(place)):
            _check_part(part, place)
    return spec


def _check_vocabulary(model: Mapping[str, Any]) -> None:
    vocab = model.get("vocab")
    if isinstance(vocab, list):  # of a Unigram: pieces with scores, whose ids are their places
        if len(vocab) > HIGHEST_ID:
            raise MwSError(f"{len(vocab):,} tokens; at most {HIGHEST_ID + 1:,} are read")
        return
    if not isinstance(vocab, dict):
        raise MwSError("its model has no vocabulary")
    for token, number in vocab.items():
        _check_id(token, number)
    if len(set(vocab.values())) < len(vocab):
        owner: dict[int, str] = {}
        for token, number in vocab.items():
            if (first := owner.setdefault(number, token)) != token:
                raise MwSError(f"tokens {first!r} and {token!r} share id {number}; give each token its own")
    absent = [token for token in BYTE_TOKENS if token not in vocab] if model.get("byte_fallback") is True else []
    if 0 < len(absent) < len(BYTE_TOKENS):
        raise MwSError(f"byte token {absent[0]} is missing ({len(absent)} of 256); text would be lost")
    unknown = model.get("unk_token")
    if model.get("type") in ("WordPiece", "WordLevel") and unknown not in vocab:
        raise MwSError(f"its unknown token {unknown!r} is not in the vocabulary; add it")


def _check_id(token: Any, number: Any) -> None:
    if type(number) is not int or not 0 <= number <= HIGHEST_ID:
        shown = repr(number)
        shown = shown if len(shown) < 24 else f"{shown[:20]}... of {len(shown)} characters"
        raise MwSError(f"token {token!r} has id {shown}; ids are whole numbers from 0 to {HIGHEST_ID}")


def _check_added(added: Any) -> None:
    owner: dict[int, Any] = {}
    for token in added if isinstance(added, list) else [None]:
        if not isinstance(token, dict) or not isinstance(token.get("content"), str):
            raise MwSError("an added token is none; each has a content and an id")
        content, number = token["content"], token.get("id")
        _check_id(content, number)
        if (first := owner.setdefault(number, content)) != content:  # type: ignore[arg-type]
            raise MwSError(f"added tokens {first!r} and {content!r} share id {number}; give each token its own")


def _check_limits(truncation: Any, padding: Any) -> None:
    if isinstance(truncation, dict):
        length, stride = truncation.get("max_length"), truncation.get("stride", 0)
        if not isinstance(length, int) or not isinstance(stride, int) or not 0 <= stride < max(1, length):
            raise MwSError(f"truncation to {length!r} tokens with a stride of {stride!r}; set truncation to null")
    if isinstance(padding, dict):
        strategy = padding.get("strategy")
        lengths = [strategy.get("Fixed")] if isinstance(strategy, dict) else []
        for length in [*lengths, padding.get("pad_to_multiple_of")]:
            if length is not None and not (isinstance(length, int) and 0 <= length <= LONGEST):
                raise MwSError(f"padding to {length!r} tokens; set padding to null")


def _check_part(part: Mapping[str, Any], place: str) -> None:
    kind, pattern = part.get("type"), part.get("pattern")
    pattern = pattern if isinstance(pattern, dict) else {}
    if kind == "Replace" and "" in (pattern.get("String"), pattern.get("Regex")):
        raise MwSError(f"its {place} replaces the empty string; take that part out")
    if isinstance(pattern.get("Regex"), str):
        check_backtracking(pattern["Regex"], "oniguruma")
    if kind == "FixedLength" and not (isinstance(part.get("length"), int) and part["length"] > 0):
        raise MwSError(f"its {place} cuts pieces of length {part.get('length')!r}; give one from 1 up")
    if kind == "Precompiled" and not _is_charsmap(part.get("precompiled_charsmap")):
        raise MwSError(f"its {place} holds a damaged table of characters; save it again")
    if kind == "TemplateProcessing":
        known = part.get("special_tokens") or {}
        pieces = [piece for name in ("single", "pair") for piece in part.get(name) or [] if isinstance(piece, dict)]
        for piece in pieces:
            token = (piece.get("SpecialToken") or {}).get("id")
            if token is not None and token not in known:
                raise MwSError(f"its {place} puts in {token!r}, which it does not define")


def _is_charsmap(text: Any) -> bool:
    """Tell whether a table of SentencePiece is sound: its trie's size, the trie, and the strings behind it."""
    if text is None:
        return True
    try:
        raw = base64.b64decode(text, validate=True)
    except (TypeError, ValueError, binascii.Error):
        return False
    size = int.from_bytes(raw[:4], "little")
    return len(raw) > 4 and size % 4 == 0 and 0 < size <= len(raw) - 4
