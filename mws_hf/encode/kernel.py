"""Encode UTF-8 text in a loop: split off a pre-token, look it up in a cache, merge it if it is new, and write its ids.

The cache of a thread maps pre-tokens (UTF-8 bytes) to their ids. It has a limited size, and entries are never removed.
Its content changes the speed but never the ids. It is a hash table of `kernels.containers`, and the fourth word of a
slot contains up to three ids, or the position of more ids in a pool. BPE-dropout, which `mws_hf.tokenizer.merging`
defines, has its own loop without a cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mws_hf.encode.bpe_kernels import ID_BITS, SHORT, BpeTables, Failing, merge_dropped, merge_long, merge_short, mix
from mws_hf.kernels import Array, Bits, Bytes, Ints, Longs
from mws_hf.kernels.containers import LONG, WINDOW, empty_slots, ends_at_home, enter, find, look_ahead, rehash
from mws_hf.kernels.jit import njit
from mws_hf.kernels.scanner import find_pretokens
from mws_hf.tokenizer.merging import BYTE_FACTOR, POSITION_FACTOR

MAX_KEY_BYTES = 512
"""Pre-tokens of more bytes are not cached, because they are rare and seldom occur again."""

_U: Any = np.uint64
_I: Any = np.int64
_BYTE, _PLACE = _U(BYTE_FACTOR), _U(POSITION_FACTOR)
_INLINE_IDS = 3
SLOT_BYTES = 40  # of memory per slot, including its share of the pools
_ID_MASK = (1 << ID_BITS) - 1

SLOTS_USED, IDS_USED, BYTES_USED, MISSES, LOOKUPS = range(5)


class PretokenCache(NamedTuple):
    """The arrays of one thread's cache.

    Attributes:
        slots: the hash table, shape (number of slots, 4); the number is a power of two.
        ids: pool for pre-tokens of more than three ids.
        text: pool for keys of more than 23 bytes.
        counters: number of slots, ids and bytes in use, of misses and of lookups (`SLOTS_USED` to `LOOKUPS`).
    """

    slots: Bits
    ids: Ints
    text: Bytes
    counters: Longs


def empty_cache(slots: int = 1 << 18) -> PretokenCache:
    """Make an empty cache with `slots` slots, which is a power of two, and pools of proportional size."""
    return PretokenCache(
        empty_slots(slots), np.empty(slots, np.int32), np.empty(4 * slots, np.uint8), np.zeros(5, np.int64)
    )


@njit
def add(cache: PretokenCache, slot: int, text: Bytes, start: int, size: int, keys: Bits, k: int, ids: Longs) -> None:
    """Store the ids of key k in a free slot; nothing is stored if the table or a pool is full."""
    counters = cache.counters
    at, long = counters[BYTES_USED], keys[k, 2] >= LONG
    if 4 * counters[SLOTS_USED] >= 3 * cache.slots.shape[0] or long and at + size > cache.text.shape[0]:
        return
    value = _pack(cache, ids)
    if value < 0:
        return
    if long:
        for i in range(size):  # a slice assignment would take two seconds longer to compile
            cache.text[at + i] = text[start + i]
        counters[BYTES_USED] += size
    enter(cache.slots, slot, keys, k, at)
    cache.slots[slot, 3] = _U(value)
    counters[SLOTS_USED] += 1


@njit
def _pack(cache: PretokenCache, ids: Longs) -> int:
    """Return the word of a slot for n ids; -1 if the pool is full.

    It is ``ids << 2 | n`` for at most three ids, otherwise ``(position in the pool << 20 | n) << 2``.
    """
    n = _I(len(ids))
    if n <= _INLINE_IDS:
        packed = _I(0)
        for k in range(n):
            packed |= ids[k] << (ID_BITS * k)
        return (packed << 2) | n
    at = cache.counters[IDS_USED]
    if at + n > cache.ids.shape[0]:
        return -1
    for k in range(n):
        cache.ids[at + k] = ids[k]
    cache.counters[IDS_USED] += n
    return ((at << ID_BITS) | n) << 2


@njit(inline="always")
def copy_ids(cache: PretokenCache, slot: int, out: Array, at: int) -> int:
    """Write the ids of a slot to ``out[at:]``; return the position after them.

    `out` must have room for three elements more than the ids, because three are always written.
    """
    value = _I(cache.slots[slot, 3])
    n = value & 3
    value >>= 2
    if n > 0:
        out[at] = value & _ID_MASK
        out[at + 1] = (value >> ID_BITS) & _ID_MASK
        out[at + 2] = value >> (2 * ID_BITS)
        return at + n
    n = value & _ID_MASK
    place = value >> ID_BITS
    for k in range(n):
        out[at + k] = cache.ids[place + k]
    return at + n


def grown(cache: PretokenCache, limit: int) -> PretokenCache:
    """Return the cache, enlarged to four times its size if it is nearly full and stays within `limit` bytes."""
    slots, counters = cache.slots.shape[0], cache.counters
    pools = max(counters[IDS_USED] / cache.ids.shape[0], counters[BYTES_USED] / cache.text.shape[0])
    if max(0.8 * pools, counters[SLOTS_USED] / slots) < 0.6 or 4 * slots * SLOT_BYTES > limit:
        return cache
    larger = empty_cache(4 * slots)
    larger.ids[: counters[IDS_USED]] = cache.ids[: counters[IDS_USED]]
    larger.text[: counters[BYTES_USED]] = cache.text[: counters[BYTES_USED]]
    larger.counters[:] = counters
    rehash(cache.slots, np.flatnonzero(cache.slots[:, 2]), larger.slots)
    return larger


AHEAD = 32
"""The number of pre-tokens that are split off before they are looked up, so that their slots can be prefetched."""

CACHE_LIMIT = 256 << 20
"""The default for the most bytes that the cache of one worker may take."""


@njit
def _sequence_length(text: Bytes, at: int, stop: int) -> int:
    """Return the length of a well-formed UTF-8 sequence of 3 or 4 bytes at byte `at`; 0 if there is none.

    Surrogates and overlong forms are not well-formed.
    """
    lead = text[at]
    size = 3 if 0xE0 <= lead <= 0xEF else 4 if 0xF0 <= lead <= 0xF4 else 0
    if size == 0 or at + size > stop:
        return 0
    for k in range(1, size):
        if text[at + k] & 0xC0 != 0x80:
            return 0
    second = text[at + 1]
    if lead == 0xE0 and second < 0xA0 or lead == 0xED and second > 0x9F:
        return 0
    if lead == 0xF0 and second < 0x90 or lead == 0xF4 and second > 0x8F:
        return 0
    return size


@njit
def symbols(text: Bytes, start: int, stop: int, tables: BpeTables, ids: Longs) -> int:
    """Write the initial ids of one pre-token: those of its characters, or of the bytes of characters without an id.

    Returns the number of ids; -1 if the pre-token is not valid UTF-8.
    """
    n = 0
    at = start
    while at < stop:
        lead = np.int64(text[at])
        if lead < 0x80:
            size, code = 1, lead
        elif 0xC2 <= lead < 0xE0 and at + 1 < stop and text[at + 1] & 0xC0 == 0x80:
            size, code = 2, (lead & 0x1F) << 6 | (text[at + 1] & 0x3F)
        else:
            size = _sequence_length(text, at, stop)
            if size == 0:
                return -1
            code = lead & (0x7F >> size)
            for k in range(1, size):
                code = (code << 6) | (text[at + k] & 0x3F)
        if tables.characters[code] >= 0:
            ids[n] = tables.characters[code]
            n += 1
        else:
            for k in range(size):
                ids[n] = tables.byte_ids[text[at + k]]
                n += 1
        at += size
    return n


@njit
def _merge(text: Bytes, start: int, stop: int, tables: BpeTables, scratch: Longs) -> int:
    """Write the ids of one pre-token to ``scratch[0]``; return their number, or -1 if it is not valid UTF-8."""
    n = symbols(text, start, stop, tables, scratch[0])
    if n < 0:
        return -1
    if n <= SHORT:
        return merge_short(scratch, n, tables.merges)
    return merge_long(scratch[0], n, tables.merges)


@njit(nogil=True, allocates=True)
def encode_documents(
    text: Bytes, ends: Longs, tables: BpeTables, cache: PretokenCache, separator: int, out: Array, out_ends: Longs
) -> int:
    """Encode the documents of one buffer; return -1, or the index of the first document that is not valid UTF-8.

    Args:
        text: the documents one after another, with at least `corpus.blocks.PADDING` bytes after the last one.
        ends: end of each document in `text`.
        tables: the BPE.
        cache: the cache of this thread.
        separator: id that is written after each document; -1 for none.
        out: gets the ids; it must have room for one id per byte, one per document and three more.
        out_ends: gets the end of the ids of each document.
    """
    scratch = np.empty((2, MAX_KEY_BYTES), np.int64)
    starts = np.empty(AHEAD + WINDOW, np.int64)
    keys = np.empty((AHEAD + WINDOW, 4), np.uint64)
    slots, mask = cache.slots, _U(cache.slots.shape[0] - 1)
    at = start = zero = _I(0)  # a literal 0 has a type of its own, for which all functions would be compiled again
    lookups = misses = 0
    for document in range(ends.shape[0]):
        end = ends[document]
        while start < end:
            starts[0] = start
            ahead = find_pretokens(text, start, end, tables.classes, tables.kind, starts, zero, _I(AHEAD))
            if starts[ahead] > end:
                return document
            look_ahead(text, starts, ahead, keys, cache.slots)
            lookups += ahead
            for k in range(ahead):
                slot = keys[k, 3] & mask
                if not ends_at_home(slots, slot, keys, k):
                    slot = find(slots, cache.text, keys, k, text, starts[k])
                if slots[slot, 2] != _U(0):
                    at = copy_ids(cache, slot, out, at)
                    continue
                start, stop, size = starts[k], starts[k + 1], starts[k + 1] - starts[k]
                misses += 1
                work = scratch if size <= MAX_KEY_BYTES else np.empty((2, size), np.int64)
                n = _merge(text, start, stop, tables, work)
                if n < 0:
                    return document
                for i in range(n):
                    out[at + i] = work[0, i]
                at += n
                if size <= MAX_KEY_BYTES:
                    add(cache, slot, text, start, size, keys, k, work[0, :n])
            start = starts[ahead]
        if separator >= 0:
            out[at] = separator
            at += 1
        out_ends[document] = at
    cache.counters[LOOKUPS] += lookups
    cache.counters[MISSES] += misses
    return -1


@njit(nogil=True, allocates=True)
def encode_dropped(
    text: Bytes, ends: Longs, tables: BpeTables, failing: Failing, separator: int, out: Array, out_ends: Longs
) -> int:
    """Encode the documents of one buffer as `encode_documents` does, but with dropout and without a cache."""
    starts = np.empty(AHEAD + WINDOW, np.int64)
    at = start = zero = _I(0)
    for document in range(ends.shape[0]):
        end, begin = ends[document], start
        key = mix(failing.seed)
        for k in range(begin, end):
            key = (key ^ _U(text[k])) * _BYTE
        key = mix(key)
        while start < end:
            starts[0] = start
            ahead = find_pretokens(text, start, end, tables.classes, tables.kind, starts, zero, _I(AHEAD))
            if starts[ahead] > end:
                return document
            for k in range(ahead):
                ids = np.empty(starts[k + 1] - starts[k], np.int64)
                n = symbols(text, starts[k], starts[k + 1], tables, ids)
                if n < 0:
                    return document
                word = mix(key ^ (_U(starts[k] - begin) * _PLACE))
                n = merge_dropped(ids, n, tables.merges, failing, word)
                for j in range(n):
                    out[at + j] = ids[j]
                at += n
            start = starts[ahead]
        if separator >= 0:
            out[at] = separator
            at += 1
        out_ends[document] = at
    return -1


class Worker:
    """The kernel with the cache and the output buffer of one thread; only one thread may use it at a time.

    Args:
        tables: the BPE.
        dtype: the type of the ids.
        cache_limit: the most bytes that the cache may take.
    """

    def __init__(self, tables: BpeTables, dtype: np.dtype, cache_limit: int = CACHE_LIMIT) -> None:
        self.tables = tables
        self.cache = empty_cache()
        self._limit = cache_limit
        self._out = np.empty(0, dtype)

    def encode(self, text: Bytes, ends: Longs, separator: int = -1) -> tuple[Array, Longs, int]:
        """Encode documents; the arguments are those of `encode_documents`.

        Returns:
            The ids of all documents, the end of the ids of each document, and the index of the first document that is
            not valid UTF-8, or -1. If there is such a document, no ids are returned.
        """
        room = (int(ends[-1]) if len(ends) else 0) + len(ends) + 3
        if len(self._out) < room:
            self._out = np.empty(room, self._out.dtype)
        out_ends = np.empty(len(ends), np.int64)
        text = text.view()
        text.flags.writeable = False  # as in counting; otherwise the shared kernels would be compiled twice
        bad = encode_documents(text, ends, self.tables, self.cache, separator, self._out, out_ends)
        self.cache = grown(self.cache, self._limit)
        size = int(out_ends[-1]) if len(ends) and bad < 0 else 0
        return self._out[:size].copy(), out_ends, bad
