"""The bytes that each id of a tokenizer stands for, the ids that spell given bytes, and the ids of texts.

Bytes are read from the tokenizer's decoder: decoding a single id is not enough, for half a character decodes to a
replacement character and a word mark to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
from tokenizers import Tokenizer

from mws_hf.kernels import Longs
from mws_hf.tokenizer.spec import Spec, without_limits

_BATCH = 1024


class Spelling:
    """A tokenizer as a speller: raw bytes of its ids, ids by bytes, and the ids of any bytes.

    Attributes:
        backend: the tokenizer without truncation and padding.
        pieces: bytes of each id below `rows`, from `raw_bytes`; the others spell nothing.
        by_bytes: the first id of each such string of bytes.
    """

    def __init__(self, original: Tokenizer, rows: int | None = None) -> None:
        self.backend = without_limits(original)
        self.pieces = raw_bytes(self.backend)[:rows]
        # of several ids with the same bytes the first counts, so they are entered last to first
        self.by_bytes = {piece: index for index, piece in reversed(list(enumerate(self.pieces))) if piece}

    def spell(self, piece: bytes) -> list[int]:
        """Return ids that spell bytes, without a word mark the tokenizer adds by itself; empty if there are none.

        >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
        >>> merges = [("a", "b")]
        >>> spelling = Spelling(build_backend(base_vocab([], "abc", merges), merges))
        >>> [spelling.backend.id_to_token(index) for index in spelling.spell("abcж".encode())]
        ['ab', 'c', '<0xD0>', '<0xB6>']
        >>> spelling.spell("ж".encode()[:1]) == [0xD0]
        True
        """
        try:
            text = piece.decode()
        except UnicodeDecodeError:  # part of a character, and maybe more
            return self._singly([bytes([byte]) for byte in piece])
        for attempt in (text, text.removeprefix(" ")):
            ids = self.backend.encode(attempt, add_special_tokens=False).ids
            if max(ids, default=0) >= len(self.pieces):
                continue
            spelled = b"".join(self.pieces[index] for index in ids)
            if spelled == piece:
                return ids
            if spelled == b" " + piece and self.pieces[ids[0]] == b" ":
                return ids[1:]
        return self._singly([character.encode() for character in text])

    def _singly(self, parts: list[bytes]) -> list[int]:
        """Return an id for each part; none at all where a part has no id."""
        ids = [self.by_bytes.get(part, -1) for part in parts]
        return [] if -1 in ids else ids


def raw_bytes(backend: Tokenizer) -> list[bytes]:
    r"""List the bytes that each id, from 0 to the largest, stands for in running text; empty for special tokens, holes.

    `tokenizer.spec.Spec.bytes_of` tells the bytes of one token.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> merges = [("#", "#")]
    >>> backend = build_backend(base_vocab(["<|pad|>"], ["#", "ж"], merges), merges, " ?.", None, ["<|pad|>"])
    >>> pieces = raw_bytes(backend)
    >>> pieces[0], pieces[1 + 0xD0], pieces[-3:]
    (b'', b'\xd0', [b'#', b'\xd0\xb6', b'##'])
    """
    spec = Spec.of(backend)
    special = {token["id"] for token in spec.added if token["special"]}

    def spelled(index: int) -> bytes:
        token = backend.id_to_token(index)
        return b"" if token is None or index in special else spec.bytes_of(token)

    return [spelled(index) for index in range(max(backend.get_vocab().values(), default=-1) + 1)]


def cuts(tokenizer: Tokenizer, texts: Iterable[str]) -> Iterator[Longs]:
    """Yield the ids of each text, without those that a template adds; int64.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> backend = build_backend(base_vocab([], "abc", [("a", "b")]), [("a", "b")])
    >>> [[backend.id_to_token(index) for index in ids] for ids in cuts(backend, ["abc", "cab"])]
    [['ab', 'c'], ['c', 'ab']]
    """
    iterator = iter(texts)
    while batch := list(islice(iterator, _BATCH)):
        for item in tokenizer.encode_batch_fast(batch, add_special_tokens=False):
            yield np.array(item.ids, np.int64)


def count_ids(tokenizer: Tokenizer, texts: Iterable[str], size: int) -> Longs:
    """Count how often each id below `size` occurs in texts; int64 (size,)."""
    uses, parts = np.zeros(size, np.int64), cuts(tokenizer, texts)
    while batch := list(islice(parts, _BATCH)):
        uses += np.bincount(np.concatenate(batch), minlength=size)
    return uses
