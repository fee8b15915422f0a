"""Find the added tokens of a tokenizer in documents, and split documents at them as `tokenizers` does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from tokenizers import Tokenizer

from mws_hf.corpus.blocks import Block, token_pattern
from mws_hf.kernels import Bytes, Longs
from mws_hf.kernels.jit import njit
from mws_hf.kernels.scanner import find_short

BEGINNING_BYTES = 3
"""The number of bytes at the beginning of a token that are searched for first."""
MAX_BEGINNINGS = 16
"""The most beginnings of tokens that are searched for one by one, which takes almost no time if none occurs."""


class AddedTexts:
    """The texts of added tokens in sorted order, so that documents are searched for all of them in one pass.

    Args:
        texts: UTF-8 of each token; an empty one is ignored.
    """

    def __init__(self, texts: Iterable[bytes]) -> None:
        literals = sorted({*texts} - {b""})
        self._bytes = np.frombuffer(b"".join(literals), np.uint8)
        self._starts = np.cumsum([0, *map(len, literals)])
        firsts = np.array([literal[0] for literal in literals], np.int64)
        self._begins = np.searchsorted(firsts, np.arange(257))
        beginnings = {literal[:BEGINNING_BYTES] for literal in literals}
        self._beginnings = [np.frombuffer(each, np.uint8) for each in sorted(beginnings)]

    def documents(self, block: Block) -> set[int]:
        """Return the numbers of the documents of a padded block that contain at least one of the texts."""
        first = self._first_beginning(block)
        if first < 0:
            return set()
        found = np.zeros(len(block), np.uint8)
        _mark_documents(block.text, block.offsets, first, self._bytes, self._starts, self._begins, found)
        return set(np.flatnonzero(found).tolist())

    def _first_beginning(self, block: Block) -> int:
        """Return a position before which no text starts; -1 if no text starts at all."""
        if len(self._beginnings) > MAX_BEGINNINGS:
            return 0
        positions = [find_short(block.text, block.size, beginning) for beginning in self._beginnings]
        return min((at for at in positions if at >= 0), default=-1)


class AddedTokens:
    """The added tokens of a tokenizer, at which a text is split before any other step.

    As in `tokenizers`, tokens that are not `normalized` are found in the original text, and the others in the
    normalized text between them. If several tokens begin at the same position, the longest one is found.

    Attributes:
        in_raw: the texts that are found in the original text.
        in_normalized: the texts that are found in normalized text.
        take_space: whether the library must find the tokens, because some include the white space next to them or match
            only whole words (`lstrip`, `rstrip`, `single_word`), or because two have the same normalized text.
    """

    def __init__(self, backend: Tokenizer) -> None:
        added = backend.get_added_tokens_decoder()
        self._backend, self._ids = backend, set(added)
        self._normalize = backend.normalizer.normalize_str if backend.normalizer is not None else str
        self._raw: dict[bytes, int | None] = {}
        self._normalized: dict[bytes, int | None] = {}
        for index, token in added.items():
            is_text = backend.encode_special_tokens and token.special
            content = self._normalize(token.content) if token.normalized else token.content
            (self._normalized if token.normalized else self._raw)[content.encode()] = None if is_text else index
        alike = len(self._raw) + len(self._normalized) < len(added)
        flags = any(token.lstrip or token.rstrip or token.single_word for token in added.values())
        self.take_space = flags or alike or b"" in self._normalized
        self.in_raw, self.in_normalized = AddedTexts(self._raw), AddedTexts(self._normalized)

    def split(self, text: str) -> list[str | int]:
        """Return the normalized text between added tokens, and the ids of these tokens, in the order of the text."""
        parts = self._by_the_library(text) if self.take_space else self._by_their_texts(text)
        return [part for part in parts if part != ""]

    def _by_their_texts(self, text: str) -> Iterator[str | int]:
        """Split a text at the texts of the tokens."""
        for part in _split(text, self._raw):
            yield from [part] if isinstance(part, int) else _split(self._normalize(part), self._normalized)

    def _by_the_library(self, text: str) -> Iterator[str | int]:
        """Split a text at the tokens that `tokenizers` finds in it."""
        encoding, at = self._backend.encode(text, add_special_tokens=False), 0
        for index, (begin, end) in zip(encoding.ids, encoding.offsets, strict=True):
            if index in self._ids:
                yield self._normalize(text[at:begin])
                yield index
                at = end
        yield self._normalize(text[at:])


def _split(text: str, tokens: dict[bytes, int | None]) -> Iterator[str | int]:
    """Yield the text between tokens, and the ids of the tokens; tokens without an id remain text."""
    octets, at = text.encode(), 0
    for found in token_pattern(tuple(tokens)).finditer(octets) if tokens else ():
        if (index := tokens[found[0]]) is not None:
            yield octets[at : found.start()].decode()
            yield index
            at = found.end()
    yield octets[at:].decode()


@njit(inner=True)
def _at_least(texts: Bytes, starts: Longs, low: int, high: int, depth: int, byte: int) -> int:
    """Return the first of the sorted texts `low` to `high` whose byte at `depth` is at least `byte`, or `high`."""
    while low < high:
        middle = (low + high) >> 1
        if texts[starts[middle] + depth] < byte:
            low = middle + 1
        else:
            high = middle
    return low


@njit(nogil=True)
def _mark_documents(
    block: Bytes, offsets: Longs, first: int, texts: Bytes, starts: Longs, begins: Longs, found: Bytes
) -> None:
    """Mark in `found` the documents that contain one of the texts, of which none starts before byte `first`.

    At each position of a document, the kernel narrows the range of sorted texts that match the document there, byte by
    byte. The shortest of these texts is the first one of the range. ``begins[b]`` is the first text that starts with
    byte b or a higher one.
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
