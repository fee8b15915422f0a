"""GPT-2's byte alphabet."""

from __future__ import annotations

_PRINTABLE = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
BYTE_CHARACTERS = tuple(chr(byte if byte in _PRINTABLE else 256 + _OTHERS.index(byte)) for byte in range(256))
BYTE_OF = {character: byte for byte, character in enumerate(BYTE_CHARACTERS)}
