"""The bytes that each id of a tokenizer stands for, and the ids by which a tokenizer spells given bytes.

The bytes are read from the tokenizer's decoder: decoding a single id is not enough, for half a character decodes to a
replacement character and a word mark to nothing.
"""

from __future__ import annotations

import json
from typing import Any

from mws_hf.backend import without_limits
from mws_hf.byte_alphabet import BYTE_OF
from mws_hf.special import byte_of
from mws_hf.stock import Tokenizer


class Spelling:
    """A tokenizer as a speller: raw bytes of its ids, ids by bytes, and the ids of any bytes.

    Attributes:
        backend: the tokenizer without truncation and padding.
        pieces: bytes of each id, see `raw_bytes`.
        by_bytes: the first id of each of these.
    """

    def __init__(self, original: Tokenizer) -> None:
        self.backend = without_limits(original)
        self.pieces = raw_bytes(self.backend)
        # of several ids with the same bytes the first counts, so they are entered last to first
        self.by_bytes = {piece: index for index, piece in reversed(list(enumerate(self.pieces))) if piece}

    def spell(self, piece: bytes) -> list[int]:
        """Return ids that spell bytes, without a word mark the tokenizer adds by itself; empty if there are none.

        >>> from mws_hf.backend import base_vocab, build_backend
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
            spelled = b"".join(self.pieces[index] for index in ids)
            if spelled == piece:
                return ids
            if spelled == b" " + piece and self.pieces[ids[0]] == b" ":
                return ids[1:]
        return self._singly([character.encode() for character in text])

    def _singly(self, parts: list[bytes]) -> list[int]:
        """An id for each part; none at all where one has none."""
        ids = [self.by_bytes.get(part, -1) for part in parts]
        return [] if -1 in ids else ids


def raw_bytes(backend: Tokenizer) -> list[bytes]:
    r"""The bytes each id, from 0 to the largest, stands for in running text; empty for special tokens and holes.

    Word marks become the space they stand for; pieces that continue a word lose their ``##``. A tokenizer whose
    decoder puts spaces between words (WordPiece) has no token for them, so its bytes do not add up to the text.

    >>> from mws_hf.backend import base_vocab, build_backend
    >>> merges = [("#", "#")]
    >>> backend = build_backend(base_vocab(["<|pad|>"], ["#", "ж"], merges), merges, " ?.", None, ["<|pad|>"])
    >>> pieces = raw_bytes(backend)
    >>> pieces[0], pieces[1 + 0xD0], pieces[-3:]
    (b'', b'\xd0', [b'#', b'\xd0\xb6', b'##'])
    """
    spec = json.loads(backend.to_str())
    decoder = spec.get("decoder") or {"type": None}
    decoders = {part["type"]: part for part in decoder.get("decoders", [decoder])}
    special = {token["id"] for token in spec["added_tokens"] if token["special"]}
    byte_level = BYTE_OF if "ByteLevel" in decoders else {}
    fallback = "ByteFallback" in decoders or bool(spec["model"].get("byte_fallback"))

    def spelled(index: int) -> bytes:
        token = backend.id_to_token(index)
        if token is None or index in special:
            return b""
        if byte_level and all(character in byte_level for character in token):
            return bytes(byte_level[character] for character in token)
        if fallback and (byte := byte_of(token)) is not None:
            return bytes([byte])
        return _without_marks(token, decoders).encode()

    return [spelled(index) for index in range(max(backend.get_vocab().values(), default=-1) + 1)]


def _without_marks(token: str, decoders: dict[str, dict[str, Any]]) -> str:
    if (metaspace := decoders.get("Metaspace")) is not None:
        token = token.replace(metaspace["replacement"], " ")
    if (replace := decoders.get("Replace")) is not None and "String" in replace["pattern"]:
        token = token.replace(replace["pattern"]["String"], replace["content"])
    if (word_piece := decoders.get("WordPiece")) is not None:
        token = token.removeprefix(word_piece["prefix"])
    if (end_of_word := decoders.get("BPEDecoder")) is not None:
        token = token.removesuffix(end_of_word["suffix"])
    return token
