"""Check a parsed tokenizer.json for ids and parts with which the library `tokenizers` would crash later."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from mws_hf.errors import MwSError
from mws_hf.text.pattern import check_backtracking
from mws_hf.text.symbols import BYTE_TOKENS
from mws_hf.tokenizer.backend import HIGHEST_ID, check_ids
from mws_hf.tokenizer.spec import PARTS, parts_of

MAX_LENGTH_TOKENS = 1 << 20
"""The largest number of tokens to which texts may be padded or truncated."""


def check_spec(spec: Any) -> dict[str, Any]:
    """Check the ids and parts of a parsed tokenizer.json, and return it.

    Args:
        spec: the parsed JSON, of any type.

    Raises:
        MwSError: an id is not valid, or a part is known to crash the library; the message does not name the file.

    >>> check_spec({"model": {"type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": []}})
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: tokens 'a' and 'b' share id 0; give each token its own
    """
    if not isinstance(spec, dict) or not isinstance(spec.get("model"), dict):
        raise MwSError("not a tokenizer.json: it is not a JSON object with a model")
    _check_vocabulary(spec["model"])
    _check_added(spec.get("added_tokens") or [])
    _check_limits(spec.get("truncation"), spec.get("padding"))
    for place in PARTS:
        for part in parts_of(spec.get(place)):
            _check_part(part, place)
    return spec


def _check_vocabulary(model: Mapping[str, Any]) -> None:
    """Raise MwSError for ids that are not valid, a missing byte token, or a missing unknown token."""
    vocab = model.get("vocab")
    if isinstance(vocab, list):  # of a Unigram: tokens with scores, in the order of ids
        if len(vocab) > HIGHEST_ID:
            raise MwSError(f"it has {len(vocab):,} tokens; at most {HIGHEST_ID + 1:,} can be read")
        return
    if not isinstance(vocab, dict):
        raise MwSError("its model has no vocabulary")
    check_ids(vocab.items())
    absent = [token for token in BYTE_TOKENS if token not in vocab] if model.get("byte_fallback") is True else []
    if 0 < len(absent) < len(BYTE_TOKENS):
        raise MwSError(f"byte token {absent[0]} is missing ({len(absent)} of 256); text would be lost")
    unknown = model.get("unk_token")
    if model.get("type") in ("WordPiece", "WordLevel") and unknown not in vocab:
        raise MwSError(f"its unknown token {unknown!r} is not in the vocabulary; add it")


def _check_added(added: Any) -> None:
    """Raise MwSError for added tokens without a content, or with an id that is not valid."""
    for number, token in enumerate(added if isinstance(added, list) else [None], start=1):
        if not isinstance(token, dict) or not isinstance(token.get("content"), str):
            raise MwSError(f"added token {number} is not an object with a content; save the tokenizer again")
    check_ids([(token["content"], token.get("id")) for token in added])


def _check_limits(truncation: Any, padding: Any) -> None:
    """Raise MwSError for truncation with an impossible stride, and for padding that would take all memory."""
    if isinstance(truncation, dict):
        length, stride = truncation.get("max_length"), truncation.get("stride", 0)
        if not isinstance(length, int) or not isinstance(stride, int) or not 0 <= stride < max(1, length):
            raise MwSError(f"it truncates to {length!r} tokens with a stride of {stride!r}; set truncation to null")
    if isinstance(padding, dict):
        strategy = padding.get("strategy")
        lengths = [strategy.get("Fixed")] if isinstance(strategy, dict) else []
        for length in [*lengths, padding.get("pad_to_multiple_of")]:
            if length is not None and not (isinstance(length, int) and 0 <= length <= MAX_LENGTH_TOKENS):
                raise MwSError(f"it pads to {length!r} tokens; set padding to null")


def _check_part(part: Mapping[str, Any], place: str) -> None:
    """Raise MwSError for a part that crashes the library; `place` is its name in tokenizer.json."""
    kind, pattern = part.get("type"), part.get("pattern")
    pattern = pattern if isinstance(pattern, dict) else {}
    if kind == "Replace" and "" in (pattern.get("String"), pattern.get("Regex")):
        raise MwSError(f"its {place} replaces the empty string; remove that part")
    if isinstance(pattern.get("Regex"), str):
        check_backtracking(pattern["Regex"])
    if kind == "FixedLength" and not (isinstance(part.get("length"), int) and part["length"] > 0):
        raise MwSError(
            f"its {place} splits text into pieces of length {part.get('length')!r}; set the length to 1 or more"
        )
    if kind == "Precompiled" and not _is_charsmap(part.get("precompiled_charsmap")):
        raise MwSError(f"its {place} has a damaged table of characters; save it again")
    if kind == "TemplateProcessing":
        known = part.get("special_tokens") or {}
        pieces = [piece for name in ("single", "pair") for piece in part.get(name) or [] if isinstance(piece, dict)]
        for piece in pieces:
            token = (piece.get("SpecialToken") or {}).get("id")
            if token is not None and token not in known:
                raise MwSError(f"its {place} inserts the token {token!r}, which it does not define; save it again")


def _is_charsmap(text: Any) -> bool:
    """Return whether a table of SentencePiece has the right form: the size of a trie, the trie, and strings."""
    if text is None:
        return True
    try:
        raw = base64.b64decode(text, validate=True)
    except (TypeError, ValueError, binascii.Error):
        return False
    size = int.from_bytes(raw[:4], "little")
    return len(raw) > 4 and size % 4 == 0 and 0 < size <= len(raw) - 4
