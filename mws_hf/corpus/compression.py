"""Recognize and decompress compressed files."""

from __future__ import annotations

import gzip
import importlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mws_hf.corpus.place import Fault

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
"""The suffixes of compressed files."""
_READ_BYTES = 1 << 16  # bytes of a compressed file that are read at once
_PACKED = {
    b"\x1f\x8b": "gzip",
    **{b"BZh%d%s" % (level, mark): "bz2" for level in range(1, 10) for mark in (b"1AY&SY", b"\x17rE8P\x90")},
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    **{bytes([0x50 + number]) + b"\x2a\x4d\x18": "zstd" for number in range(16)},  # frames to be skipped come first
}
"""The compression format of files, by their first bytes; such files are decompressed whatever their names are."""


def suffixes_of(name: str | os.PathLike[str]) -> tuple[str, str]:
    """Return the suffix of a name without that of the compression, and that of the compression; "" if there is none.

    >>> suffixes_of("corpus.TSV.gz"), suffixes_of("corpus.tsv"), suffixes_of("-")
    (('.tsv', '.gz'), ('.tsv', ''), ('', ''))
    """
    *_, before, last = ["", "", *(suffix.lower() for suffix in Path(name).suffixes)]
    return (before, last) if last in COMPRESSED else (last, "")


def packing_of(head: bytes) -> str | None:
    """Return the compression format of a file that begins with these bytes; None if it is not compressed."""
    return next((packing for mark, packing in _PACKED.items() if head.startswith(mark)), None)


def unpacked(raw: Any, packing: str) -> Any:
    """Open a compressed file as a binary file of its unpacked content.

    Args:
        raw: the compressed file, open for reading bytes.
        packing: its format, as `packing_of` returns it.

    Raises:
        Fault: the library that unpacks this format is missing.
    """
    if packing == "gzip":
        return gzip.GzipFile(fileobj=raw)
    if packing == "zstd":
        import pyarrow as pa  # here, because few need it

        if not pa.Codec.is_available("zstd"):
            raise Fault("the installed pyarrow was built without zstd; unpack it first, with: zstd -d")
        return pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")
    module, opener = {"bz2": ("bz2", "BZ2Decompressor"), "xz": ("lzma", "LZMADecompressor")}[packing]
    try:  # Python can be built without either
        return _Streams(raw, getattr(importlib.import_module(module), opener))
    except ImportError as error:
        raise Fault(f"this Python was built without {module}; unpack the file first") from error


class _Streams(io.RawIOBase):
    """The text of a bz2 or xz file: compressed streams, one after another, with zeros between and after them.

    `bz2.BZ2File` and `lzma.LZMAFile` raise no error if a later stream is damaged or follows zeros: they leave it out.
    """

    def __init__(self, raw: Any, opener: Callable[[], Any]) -> None:
        self._raw, self._opener, self._stream, self._packed = raw, opener, opener(), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            if self._stream.eof:
                self._packed = self._stream.unused_data.lstrip(b"\0")
                while not self._packed and (more := self._raw.read(_READ_BYTES)):
                    self._packed = more.lstrip(b"\0")
                if not self._packed:
                    return 0
                self._stream = self._opener()
            elif self._stream.needs_input and not self._packed:
                self._packed = self._raw.read(_READ_BYTES)
                if not self._packed:
                    raise EOFError("the compressed data has no end")
            text = self._stream.decompress(self._packed, len(buffer))
            self._packed = b""
            if text:
                buffer[: len(text)] = text
                return len(text)
