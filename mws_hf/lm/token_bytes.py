"""The raw bytes behind every token id, read from the tokenizer's decoder and never from decoded strings.

Decoding a single id is not enough: half a character decodes to a replacement character, a word mark to nothing. Slow
tokenizers are not served.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from mws_hf.evaluate.encoder import is_byte_token


def byte_level_alphabet() -> dict[str, int]:
    """Character -> byte of GPT-2's byte-level alphabet (Radford et al. 2019): printable bytes are themselves.

    >>> alphabet = byte_level_alphabet()
    >>> alphabet["Ġ"], alphabet["a"], len(alphabet)
    (32, 97, 256)
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + index): byte for index, byte in enumerate(others)}


def token_strings(backend: Tokenizer) -> list[str | None]:
    """The string of every id from 0 to the largest, None in holes."""
    vocab = backend.get_vocab(with_added_tokens=True)
    strings: list[str | None] = [None] * (max(vocab.values(), default=-1) + 1)
    for token, index in vocab.items():
        strings[index] = token
    return strings


def raw_bytes(backend: Tokenizer) -> list[bytes]:
    r"""The bytes each id stands for in running text; empty for special tokens and holes.

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
    decoders = _decoders(spec.get("decoder"))
    special = {token["id"] for token in spec["added_tokens"] if token["special"]}
    byte_level = byte_level_alphabet() if "ByteLevel" in decoders else None
    fallback = "ByteFallback" in decoders or bool(spec["model"].get("byte_fallback"))
    pieces = []
    for index, token in enumerate(token_strings(backend)):
        if token is None or index in special:
            pieces.append(b"")
        elif byte_level is not None and all(character in byte_level for character in token):
            pieces.append(bytes(byte_level[character] for character in token))
        elif fallback and is_byte_token(token):
            pieces.append(bytes([int(token[3:5], 16)]))
        else:
            pieces.append(_plain(token, decoders).encode())
    return pieces


def byte_lengths(pieces: list[bytes]) -> npt.NDArray[np.int64]:
    """Length of each id's bytes, int64 (ids,)."""
    return np.fromiter(map(len, pieces), np.int64, len(pieces))


def _decoders(decoder: dict[str, Any] | None) -> dict[str, dict[str, Any]]:
    """The parts of a decoder by type; a sequence is taken apart."""
    if decoder is None:
        return {}
    parts = decoder["decoders"] if decoder["type"] == "Sequence" else [decoder]
    return {part["type"]: part for part in parts}


def _plain(token: str, decoders: dict[str, dict[str, Any]]) -> str:
    if (metaspace := decoders.get("Metaspace")) is not None:
        token = token.replace(metaspace["replacement"], " ")
    if (replace := decoders.get("Replace")) is not None and "String" in replace["pattern"]:
        token = token.replace(replace["pattern"]["String"], replace["content"])
    if (word_piece := decoders.get("WordPiece")) is not None:
        token = token.removeprefix(word_piece["prefix"])
    if (end_of_word := decoders.get("BPEDecoder")) is not None:
        token = token.removesuffix(end_of_word["suffix"])
    return token
