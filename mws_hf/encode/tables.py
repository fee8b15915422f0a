"""Read a `tokenizer.json` into the arrays the encoding kernels use; says which tokenizers those kernels can serve.

It encodes nothing, and never guesses: whatever is not exactly the known shape is left to the Rust backend.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import add
from typing import Any, NamedTuple

import numpy as np

from mws_hf.jit import njit
from mws_hf.words.scanner import OTHER, character_classes, scanner_kind

ID_BITS = 20
RANK_BITS = 23
NO_RANK = (1 << RANK_BITS) - 1
"""Rank of a pair that is no merge: larger than any other. Vocabularies of 2^20 entries and more are not served."""

_MULTIPLIER = 0x9E3779B97F4A7C15 - (1 << 64)
_CODE_POINTS = 0x110000
_DECODABLE = 0x200000


class BpeTables(NamedTuple):
    """A character-level BPE with byte fallback, as arrays.

    Attributes:
        characters: int32[0x110000], id of each code point, -1 where the vocabulary has none.
        byte_ids: int32[256], ids of ``<0x00>``..``<0xFF>``.
        pairs: int64[slots], open addressing: ``(left << 20 | right) << 23 | rank``; a free slot holds -1.
        products: int32[n_merges], the id that the merge of each rank makes.
        classes: uint8[0x200000], character classes of the scanner; longer than Unicode, so that four bytes which are
            not UTF-8 still index it: the kernel finds out afterwards.
        kind: which split pattern the scanner follows.
    """

    characters: np.ndarray
    byte_ids: np.ndarray
    pairs: np.ndarray
    products: np.ndarray
    classes: np.ndarray
    kind: int


@njit(inline="always")
def _slot_of(key: int, slots: int) -> int:
    mixed = key * _MULTIPLIER
    return (mixed ^ (mixed >> 29)) & (slots - 1)


@njit
def find_rank(pairs: np.ndarray, left: int, right: int) -> int:
    """Rank of the merge of `left` and `right`, or `NO_RANK`; a free slot answers by itself, without a branch."""
    key = (left << ID_BITS) | right
    slot = _slot_of(key, pairs.shape[0])
    found = pairs[slot]
    while found >> RANK_BITS != key and found != -1:
        slot = (slot + 1) & (pairs.shape[0] - 1)
        found = pairs[slot]
    return found & NO_RANK


@njit
def _fill_pairs(merges: np.ndarray, pairs: np.ndarray) -> None:
    for rank in range(merges.shape[0]):
        key = (merges[rank, 0] << ID_BITS) | merges[rank, 1]
        slot = _slot_of(key, pairs.shape[0])
        while pairs[slot] != -1 and pairs[slot] >> RANK_BITS != key:
            slot = (slot + 1) & (pairs.shape[0] - 1)
        pairs[slot] = (key << RANK_BITS) | rank


def pair_table(merges: np.ndarray) -> np.ndarray:
    """Hash table of merges given as int64[n, 2] rows (left id, right id) in rank order, at most half full.

    A pair listed twice keeps its last rank, as in `tokenizers`. Eight bytes a slot, because the table is read at random
    and must stay in the second-level cache.
    """
    pairs = np.full(1 << max(4, (2 * len(merges)).bit_length()), -1, np.int64)
    _fill_pairs(np.ascontiguousarray(merges, np.int64), pairs)
    return pairs


def _pattern_of(pre_tokenizer: Mapping[str, Any] | None) -> str | None:
    """The split pattern, if the pre-tokenizer is exactly one isolating regular expression."""
    if not pre_tokenizer or pre_tokenizer.get("type") != "Split":
        return None
    if pre_tokenizer.get("behavior") != "Isolated" or pre_tokenizer.get("invert"):
        return None
    return pre_tokenizer.get("pattern", {}).get("Regex")


def _is_plain_bpe(model: Mapping[str, Any]) -> bool:
    affixes = model.get("continuing_subword_prefix") or model.get("end_of_word_suffix")
    odd = model.get("dropout") or model.get("ignore_merges") or affixes
    return model.get("type") == "BPE" and bool(model.get("byte_fallback")) and not odd


def _ids(vocab: Mapping[str, int], tokens: Iterable[str]) -> np.ndarray:
    return np.fromiter(map(vocab.__getitem__, tokens), np.int64)


def bpe_tables(spec: Mapping[str, Any]) -> BpeTables | None:
    """Tables of a parsed tokenizer.json, or None when only the Rust code can be trusted with it.

    Served: BPE without dropout, affixes or `ignore_merges`, with byte fallback and all 256 byte tokens, after an
    isolating Split on `GPT4_PATTERN` or `WORD_PATTERN`. Normalizers and added tokens are the caller's business.
    """
    model, pattern = spec["model"], _pattern_of(spec["pre_tokenizer"])
    kind = scanner_kind(pattern) if pattern is not None else None
    if kind is None or not _is_plain_bpe(model):
        return None
    vocab: dict[str, int] = model["vocab"]
    byte_ids = np.array([vocab.get(f"<0x{byte:02X}>", -1) for byte in range(256)], np.int32)
    if byte_ids.min() < 0:
        return None
    characters = np.full(_CODE_POINTS, -1, np.int32)
    for token, index in vocab.items():
        if len(token) == 1:
            characters[ord(token)] = index
    merges = model["merges"]
    if merges and isinstance(merges[0], str):  # as older versions of tokenizers write them
        merges = [merge.split(" ") for merge in merges]
    if max(vocab.values()) >> ID_BITS or len(merges) >= NO_RANK:
        return None
    left, right = (list(side) for side in zip(*merges, strict=True)) if merges else ([], [])
    pairs = pair_table(np.column_stack([_ids(vocab, left), _ids(vocab, right)]))
    products = _ids(vocab, map(add, left, right)).astype(np.int32)
    classes = np.full(_DECODABLE, OTHER, np.uint8)
    classes[:_CODE_POINTS] = character_classes()
    return BpeTables(characters, byte_ids, pairs, products, classes, kind)
