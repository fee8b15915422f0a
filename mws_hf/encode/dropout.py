"""BPE-dropout in machine code, over the UTF-8 bytes of many documents; `mws_hf.tokenizer.merging` defines it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mws_hf.encode.kernel import AHEAD, symbols
from mws_hf.encode.merge import BpeTables, Merges, join, left_over, linked_symbols, offer_all, still_there
from mws_hf.kernels.heap import pop, push
from mws_hf.kernels.instructions import WINDOW
from mws_hf.kernels.jit import njit
from mws_hf.kernels.windows import cut
from mws_hf.tokenizer.merging import BYTE, DRAW_BITS, FIRST, PLACE, SECOND, STEP, Dropout

_I: Any = np.int64
_U: Any = np.uint64
_STEP, _PLACE, _BYTE, _FIRST, _SECOND = (_U(number) for number in (STEP, PLACE, BYTE, FIRST, SECOND))
_SHIFT = _U(64 - DRAW_BITS)


class Failing(NamedTuple):
    """The settings of a `Dropout` as numbers.

    Attributes:
        ranks: bool[n_merges], whether the merge of each rank may be left out.
        threshold: uint64, draws below it leave a pair out.
        seed: uint64.
    """

    ranks: np.ndarray
    threshold: np.uint64
    seed: np.uint64

    @classmethod
    def of(cls, how: Dropout, may_fail: list[bool]) -> Failing:
        """Take the merges that `Dropout.may_fail` allows to fail."""
        return cls(np.array(may_fail, np.bool_), np.uint64(how.threshold), np.uint64(how.seed))


@njit
def _mixed(number: int) -> int:
    number = (number ^ (number >> _U(30))) * _FIRST
    number = (number ^ (number >> _U(27))) * _SECOND
    return _U(number ^ (number >> _U(31)))


@njit
def _fails(key: int, step: int, place: int, threshold: int) -> bool:
    return _mixed(key + _U(step) * _STEP + _U(place) * _PLACE) >> _SHIFT < threshold


@njit(allocates=True)
def merge_dropped(ids: np.ndarray, size: int, merges: Merges, failing: Failing, key: int) -> int:
    """Merge ``ids[:size]`` in place, leaving pairs out at random; return the number of ids that stay.

    A heap of (rank, place), as without dropout; entries left out at a step wait aside until the next merge is done.
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


@njit(nogil=True, allocates=True)
def encode_dropped(
    text: np.ndarray,
    ends: np.ndarray,
    tables: BpeTables,
    failing: Failing,
    separator: int,
    out: np.ndarray,
    out_ends: np.ndarray,
) -> int:
    """Encode the documents of one buffer with dropout; `kernel.encode_documents` describes arguments and result.

    No pre-token is looked up in a cache, for each is cut anew.
    """
    starts = np.empty(AHEAD + WINDOW, np.int64)
    at = start = zero = _I(0)
    for document in range(ends.shape[0]):
        end, begin = ends[document], start
        key = _mixed(failing.seed)
        for k in range(begin, end):
            key = (key ^ _U(text[k])) * _BYTE
        key = _mixed(key)
        while start < end:
            starts[0] = start
            ahead = cut(text, start, end, tables.classes, tables.kind, starts, zero, _I(AHEAD))
            if starts[ahead] > end:
                return document
            for k in range(ahead):
                ids = np.empty(starts[k + 1] - starts[k], np.int64)
                n = symbols(text, starts[k], starts[k + 1], tables, ids)
                if n < 0:
                    return document
                word = _mixed(key ^ (_U(starts[k] - begin) * _PLACE))
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
