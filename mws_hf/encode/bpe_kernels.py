"""Read a BPE from its tokenizer.json into arrays, and merge the symbols of one pre-token.

The pair with the lowest rank is merged first, and of equal pairs the leftmost. Tokenizers that `is_served` excludes are
encoded by the Rust library instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import add
from typing import Any, NamedTuple

import numpy as np

from mws_hf.kernels import Bytes, Ints, Longs, Mask
from mws_hf.kernels.containers import find_pair, leading_zeros, new_table, pair_key, pop, push, put, trailing_zeros
from mws_hf.kernels.jit import njit
from mws_hf.kernels.scanner import OTHER
from mws_hf.text.scanner_classes import classes_of, scanner_kind
from mws_hf.text.symbols import BYTE_CHARACTERS, BYTE_TOKENS, built_first, to_byte_level
from mws_hf.tokenizer.merging import DRAW_BITS, MIX_FACTOR_1, MIX_FACTOR_2, POSITION_FACTOR, STEP_FACTOR, Dropout
from mws_hf.tokenizer.spec import Spec

_I: Any = np.int64
_U: Any = np.uint64
_ONE = _U(1)
_STEP, _PLACE, _FIRST, _SECOND = (_U(number) for number in (STEP_FACTOR, POSITION_FACTOR, MIX_FACTOR_1, MIX_FACTOR_2))
_SHIFT = _U(64 - DRAW_BITS)

SHORT = 48
"""The most symbols of a pre-token that is merged by scanning for the lowest rank; for more, a heap is faster."""

ID_BITS = 20
"""The number of bits of an id; tokenizers with larger ids are encoded by the Rust library."""

NO_RANK = (1 << 31) - 1
"""The rank of a pair that is not a merge; it is larger than all others."""

_NEVER = NO_RANK << 6
_CODE_POINTS = 0x110000
_DECODABLE = 0x200000


class Merges(NamedTuple):
    """The merges of a BPE, as a hash table of `kernels.containers` from pairs of ids to ranks.

    Attributes:
        pairs: keys of the table.
        ranks: values of the table; `NO_RANK` in free slots.
        products: id of the token that the merge of each rank makes.
    """

    pairs: Longs
    ranks: Ints
    products: Ints


class BpeTables(NamedTuple):
    """A byte-level BPE, or a BPE of characters with byte fallback, as arrays.

    Attributes:
        characters: id of each code point; -1 if it has none, so that it starts as its bytes.
        byte_ids: id of each byte.
        merges: the merges.
        classes: the scanner's class of each code point, with 0x200000 elements, because four bytes that are not valid
            UTF-8 can give such an index.
        kind: the scanner's kind of the split pattern.
    """

    characters: Ints
    byte_ids: Ints
    merges: Merges
    classes: Bytes
    kind: int


@njit
def _fill_ranks(merges: Longs, pairs: Longs, ranks: Ints) -> None:
    for rank in range(merges.shape[0]):
        put(pairs, ranks, pair_key(merges[rank, 0], merges[rank, 1]), rank)


def merge_table(merges: Longs, products: Ints) -> Merges:
    """Build the table of merges; a repeated pair gets its last rank.

    Args:
        merges: pairs of ids in rank order, int64, shape (n, 2).
        products: id of the token that each merge makes.
    """
    pairs, ranks = new_table(len(merges), NO_RANK)
    _fill_ranks(np.ascontiguousarray(merges, np.int64), pairs, ranks)
    return Merges(pairs, ranks, products)


def _ids(vocab: Mapping[str, int], tokens: Iterable[str]) -> Longs:
    """Return the ids of tokens, int64."""
    return np.fromiter(map(vocab.__getitem__, tokens), np.int64)


def _characters(vocab: Mapping[str, int], merges: Sequence[tuple[str, str]], in_bytes: bool) -> Ints:
    """Return the id of each code point; -1 if it starts as its bytes."""
    ids = np.full(_CODE_POINTS, -1, np.int32)
    if in_bytes:
        known = ((character, vocab[to_byte_level(character)]) for character in built_first(merges)[0])
    else:
        known = ((token, index) for token, index in vocab.items() if len(token) == 1)
    for character, index in known:
        ids[ord(character)] = index
    return ids


def is_served(spec: Spec) -> bool:
    """Return whether `bpe_tables` can read a tokenizer.json; all others are encoded by the Rust library.

    It can read a tokenizer.json that has

    * a BPE without dropout, affixes or `ignore_merges`,
    * an isolating Split by a pattern that the scanner has,
    * all 256 byte tokens, as a byte-level BPE or as a BPE with byte fallback.

    The caller handles normalizers and added tokens.
    """
    pattern, in_bytes = spec.split
    if pattern is None or scanner_kind(pattern) is None or not spec.plain:
        return False
    vocab: dict[str, int] = spec.model["vocab"]
    has_bytes = all(token in vocab for token in (BYTE_CHARACTERS if in_bytes else BYTE_TOKENS))
    return bool((in_bytes or spec.model.get("byte_fallback")) and has_bytes and not max(vocab.values()) >> ID_BITS)


def bpe_tables(spec: Spec) -> BpeTables | None:
    """Read the tables of a tokenizer.json; None if `is_served` excludes it."""
    (pattern, in_bytes), merges = spec.split, spec.merges
    kind = scanner_kind(pattern) if pattern is not None else None
    if kind is None or not is_served(spec):
        return None
    vocab: dict[str, int] = spec.model["vocab"]
    byte_ids = np.array([vocab[token] for token in (BYTE_CHARACTERS if in_bytes else BYTE_TOKENS)], np.int32)
    left, right = (list(side) for side in zip(*merges, strict=True)) if merges else ([], [])
    products = _ids(vocab, map(add, left, right)).astype(np.int32)
    table = merge_table(np.column_stack([_ids(vocab, left), _ids(vocab, right)]), products)
    classes = np.full(_DECODABLE, OTHER, np.uint8)
    classes[:_CODE_POINTS] = classes_of(kind)
    classes.flags.writeable = False  # as in `classes_of`; otherwise kernels would be compiled twice
    return BpeTables(_characters(vocab, merges, in_bytes), byte_ids, table, classes, kind)


@njit
def merge_short(scratch: Longs, size: int, merges: Merges) -> int:
    """Merge the symbols ``scratch[0, :size]`` in place; return how many are left. ``scratch[1]`` is working memory.

    There may be 1 to `SHORT` symbols. The time is quadratic, but for words no other method was faster: the kernel keeps
    ``rank << 6 | position`` of all pairs and searches for the minimum before each merge. Symbols keep their positions,
    and a bit set marks those that are left, so that nothing is moved and few branches are mispredicted.
    """
    ids, waiting = scratch[0], scratch[1]
    pairs, ranks, products = merges.pairs, merges.ranks, merges.products
    for k in range(size - 1):
        waiting[k] = find_pair(pairs, ranks, ids[k], ids[k + 1]) << 6 | k
    alive = (_ONE << _U(size)) - _ONE
    while True:
        best = _I(_NEVER)
        for k in range(size - 1):
            best = min(best, waiting[k])
        if best >= _NEVER:
            break
        at = best & 63
        ids[at] = products[best >> 6]
        after = alive >> _U(at) >> _ONE
        right = at + 1 + trailing_zeros(after)
        waiting[at] = waiting[right] = _NEVER
        alive &= ~(_ONE << _U(right))
        after &= after - _ONE
        if after != 0:
            waiting[at] = find_pair(pairs, ranks, ids[at], ids[at + 1 + trailing_zeros(after)]) << 6 | at
        before = alive & ((_ONE << _U(at)) - _ONE)
        if before != 0:
            left = 63 - leading_zeros(before)
            waiting[left] = find_pair(pairs, ranks, ids[left], ids[at]) << 6 | left
    kept = _I(0)
    while alive != 0:
        ids[kept] = ids[trailing_zeros(alive)]
        alive &= alive - _ONE
        kept += 1
    return kept


class Linked(NamedTuple):
    """The symbols of one pre-token during merging, as a doubly linked list.

    Attributes:
        ids: id at each position; -1 if the symbol there was merged into the one before.
        following: position of the next symbol; the number of positions for the last symbol.
        previous: position of the symbol before; -1 for the first symbol.
    """

    ids: Longs
    following: Longs
    previous: Longs


@njit(allocates=True)
def linked_symbols(ids: Longs, size: int) -> Linked:
    """Link the symbols ``ids[:size]``, so that they can be merged in place."""
    return Linked(ids, np.arange(1, size + 1), np.arange(-1, size - 1))


@njit(inner=True)
def offer_all(heap: Longs, merges: Merges, symbols: Linked) -> int:
    """Add all adjacent pairs that are merges to an empty heap of (rank, position); return its size."""
    waiting = _I(0)
    for k in range(symbols.following.shape[0] - 1):
        waiting = _offer(heap, waiting, merges, symbols.ids[k], symbols.ids[k + 1], k)
    return waiting


@njit(inner=True)
def still_there(symbols: Linked, merges: Merges, rank: int, at: int) -> bool:
    """Return whether the pair at a position still has the rank of its heap entry, so that it can be merged."""
    ids, right = symbols.ids, symbols.following[at]
    if ids[at] < 0 or right >= symbols.following.shape[0]:
        return False
    return find_pair(merges.pairs, merges.ranks, ids[at], ids[right]) == rank


@njit(inner=True)
def join(heap: Longs, waiting: int, merges: Merges, symbols: Linked, rank: int, at: int) -> int:
    """Merge the symbol at a position with the next one, and add the new pairs to the heap; return its size."""
    ids, following, previous = symbols.ids, symbols.following, symbols.previous
    right = following[at]
    ids[at] = merges.products[rank]
    ids[right] = -1
    after = following[right]
    following[at] = after
    if after < following.shape[0]:
        previous[after] = at
        waiting = _offer(heap, waiting, merges, ids[at], ids[after], at)
    if previous[at] >= 0:
        waiting = _offer(heap, waiting, merges, ids[previous[at]], ids[at], previous[at])
    return waiting


@njit(inner=True)
def left_over(symbols: Linked) -> int:
    """Move the remaining symbols to the beginning of the array; return how many there are."""
    ids = symbols.ids
    kept = _I(0)
    for k in range(symbols.following.shape[0]):
        ids[kept] = ids[k]
        kept += ids[k] >= 0
    return kept


@njit(inner=True)
def _offer(heap: Longs, size: int, merges: Merges, left: int, right: int, at: int) -> int:
    """Add a pair to a heap of (rank, position) if the pair is a merge; return the size of the heap."""
    rank = find_pair(merges.pairs, merges.ranks, left, right)
    return size if rank == NO_RANK else push(heap, size, rank, at)


@njit(allocates=True)
def merge_long(ids: Longs, size: int, merges: Merges) -> int:
    """Merge ``ids[:size]`` in place in O(n log n), with a heap of (rank, position); return how many ids are left.

    A heap entry is skipped if its pair has changed since.
    """
    symbols = linked_symbols(ids, size)
    heap = np.empty((3 * size, 2), np.int64)
    waiting = offer_all(heap, merges, symbols)
    while waiting > 0:
        rank, at = heap[0, 0], heap[0, 1]
        waiting = pop(heap, waiting)
        if still_there(symbols, merges, rank, at):
            waiting = join(heap, waiting, merges, symbols, rank, at)
    return left_over(symbols)


class Failing(NamedTuple):
    """The settings of a `Dropout` as numbers.

    Attributes:
        ranks: whether the merge of each rank may be left out.
        threshold: a pair is left out if its random number is below the threshold.
        seed: the seed.
    """

    ranks: Mask
    threshold: np.uint64
    seed: np.uint64

    @classmethod
    def of(cls, how: Dropout, may_fail: list[bool]) -> Failing:
        """Convert a `Dropout` and the result of its `may_fail` for each merge."""
        return cls(np.array(may_fail, np.bool_), np.uint64(how.threshold), np.uint64(how.seed))


@njit
def mix(number: int) -> int:
    """Mix the bits of a number, as the last step of SplitMix64 does."""
    number = (number ^ (number >> _U(30))) * _FIRST
    number = (number ^ (number >> _U(27))) * _SECOND
    return _U(number ^ (number >> _U(31)))


@njit
def _fails(key: int, step: int, place: int, threshold: int) -> bool:
    """Return whether the pair at a position is left out at a step."""
    return mix(key + _U(step) * _STEP + _U(place) * _PLACE) >> _SHIFT < threshold


@njit(allocates=True)
def merge_dropped(ids: Longs, size: int, merges: Merges, failing: Failing, key: int) -> int:
    """Merge ``ids[:size]`` in place with dropout; return how many ids are left.

    The heap of (rank, position) is the same as in `merge_long`. A pair that is left out at a step is set aside until
    the next merge is done.
    """
    linked = linked_symbols(ids, size)
    heap = np.empty((3 * size, 2), np.int64)
    aside = np.empty((3 * size, 2), np.int64)
    waiting = offer_all(heap, merges, linked)
    left_out = step = _I(0)
    while waiting > 0:
        rank, at = heap[0, 0], heap[0, 1]
        waiting = pop(heap, waiting)
        if not still_there(linked, merges, rank, at):
            continue
        if failing.ranks[rank] and _fails(key, step, at, failing.threshold):
            aside[left_out, 0], aside[left_out, 1] = rank, at
            left_out += 1
            continue
        step += 1
        for k in range(left_out):
            waiting = push(heap, waiting, aside[k, 0], aside[k, 1])
        left_out = _I(0)
        waiting = join(heap, waiting, merges, linked, rank, at)
    return left_over(linked)
