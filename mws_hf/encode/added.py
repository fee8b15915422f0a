"""Find documents that hold the text of an added token; the Rust code, which alone cuts it out exactly, takes them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mws_hf.corpus.blocks import Block
from mws_hf.kernels.jit import njit
from mws_hf.kernels.windows import find_short

_PREFIX = 3
_FEW = 16
"""So many beginnings are searched for one by one, which takes next to no time where there are none."""


class AddedTexts:
    """The texts of added tokens, sorted, so that a document is read once however many there are.

    >>> from mws_hf.corpus.blocks import block_of
    >>> AddedTexts(["<s>", "<pad>"]).documents(block_of([b"a<s>", b"<sa", b"<<pad>"], str))
    {0, 2}
    """

    def __init__(self, texts: Iterable[str]) -> None:
        literals = sorted({text.encode() for text in texts} - {b""})
        self._bytes = np.frombuffer(b"".join(literals), np.uint8)
        self._starts = np.cumsum([0, *map(len, literals)])
        firsts = np.array([literal[0] for literal in literals], np.int64)
        self._begins = np.searchsorted(firsts, np.arange(257))
        beginnings = {literal[:_PREFIX] for literal in literals}
        self._beginnings = [np.frombuffer(each, np.uint8) for each in sorted(beginnings)]

    def documents(self, block: Block) -> set[int]:
        """List the numbers of the documents of a padded block that hold at least one of the texts."""
        first = self._first_beginning(block)
        if first < 0:
            return set()
        found = np.zeros(len(block), np.uint8)
        _find(block.text, block.offsets, first, self._bytes, self._starts, self._begins, found)
        return set(np.flatnonzero(found).tolist())

    def _first_beginning(self, block: Block) -> int:
        """Find a place before which no text starts; -1 where no text starts at all."""
        if len(self._beginnings) > _FEW:
            return 0
        places = [find_short(block.text, block.size, beginning) for beginning in self._beginnings]
        return min((place for place in places if place >= 0), default=-1)


@njit(inner=True)
def _at_least(texts: np.ndarray, starts: np.ndarray, low: int, high: int, depth: int, byte: int) -> int:
    """Find the first of the sorted texts `low` to `high` whose byte number `depth` is at least `byte`; else `high`."""
    while low < high:
        middle = (low + high) >> 1
        if texts[starts[middle] + depth] < byte:
            low = middle + 1
        else:
            high = middle
    return low


@njit(nogil=True)
def _find(
    block: np.ndarray,
    offsets: np.ndarray,
    first: int,
    texts: np.ndarray,
    starts: np.ndarray,
    begins: np.ndarray,
    found: np.ndarray,
) -> None:
    """Mark in `found` the documents that hold a text, which starts at byte `first` of the block or later.

    At each byte the range of sorted texts that agree with the document so far is narrowed, byte by byte; of texts that
    begin alike the shortest is the first. ``begins[b]`` is the first text that starts with byte b or a higher one.
    """
    for document in range(len(found)):
        stop = offsets[document + 1]
        at = max(offsets[document], first)
        while at < stop and found[document] == 0:
            low, high = begins[block[at]], begins[np.int64(block[at]) + 1]
            depth = 1
            while low < high:
                if starts[low] + depth == starts[low + 1]:
                    found[document] = 1
                    break
                if at + depth >= stop:
                    break
                byte = np.int64(block[at + depth])
                low = _at_least(texts, starts, low, high, depth, byte)
                high = _at_least(texts, starts, low, high, depth, byte + 1)
                depth += 1
            at += 1
