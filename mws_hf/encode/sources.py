"""Documents of files and iterators as blocks of raw UTF-8 bytes; texts never become Python strings on the way.

The cut into blocks depends on the source alone, so that an interrupted run finds the same blocks again.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from mws_hf.encode.kernel import PADDING
from mws_hf.errors import MwSError
from mws_hf.jit import njit
from mws_hf.words.instructions import WINDOW, range_mask, trailing_zeros
from mws_hf.words.readers import (
    expand_paths,
    file_kind,
    iterate_documents,
    open_binary,
    read_blocks,
    read_jsonl,
    read_parquet_batches,
)

BLOCK_BYTES = 4 << 20
Advance = Callable[[int], None]
_U: Any = np.uint64
_PRIME = np.uint64(0x9E3779B97F4A7C15)


class Block(NamedTuple):
    """Whole documents, one after another.

    Attributes:
        buffer: their bytes, and at least `PADDING` bytes more.
        ends: int64, where each document ends; the first starts at 0.
        where: names the document of an index for error messages, such as ``corpus.txt:17``.
    """

    buffer: bytearray
    ends: np.ndarray
    where: Callable[[int], str]

    @property
    def size(self) -> int:
        """Bytes of text."""
        return int(self.ends[-1]) if len(self.ends) else 0

    @property
    def text(self) -> np.ndarray:
        """The buffer as uint8, without a copy."""
        return np.frombuffer(self.buffer, np.uint8)

    def document(self, index: int) -> str:
        """One document as str.

        Raises:
            MwSError: it is not UTF-8.
        """
        start = int(self.ends[index - 1]) if index else 0
        try:
            return self.buffer[start : int(self.ends[index])].decode("utf-8")
        except UnicodeDecodeError as error:
            raise not_utf8(self.where(index)) from error


def not_utf8(where: str) -> MwSError:
    """The error for a document that is not UTF-8."""
    return MwSError(f"{where}: not valid UTF-8; convert the text first, for example with: iconv -f cp1251 -t utf-8")


@njit(nogil=True)
def _line_ends(text: np.ndarray, size: int, ends: np.ndarray) -> int:
    """Fill `ends` with the places behind each line feed of ``text[:size]``; returns how many there are."""
    found = 0
    for start in range(0, size, WINDOW):
        feeds = range_mask(text, start, 0x0A, 1)
        if start + WINDOW > size:
            feeds &= (_U(1) << _U(size - start)) - _U(1)
        while feeds != 0:
            if found < ends.shape[0]:
                ends[found] = start + trailing_zeros(feeds) + 1
            found += 1
            feeds &= feeds - _U(1)
    return found


@njit(nogil=True)
def _fold(words: np.ndarray, size: int, ends: np.ndarray, seed: int) -> int:
    folded = np.uint64(seed)
    for at in range(0, size - 7, 8):
        folded = (folded ^ words[at >> 3]) * _PRIME
        folded ^= folded >> np.uint64(32)
    if size & 7:
        rest = words[size >> 3] & ((np.uint64(1) << np.uint64(8 * (size & 7))) - np.uint64(1))
        folded = (folded ^ rest) * _PRIME
    for k in range(ends.shape[0]):
        folded = (folded ^ np.uint64(ends[k])) * _PRIME
        folded ^= folded >> np.uint64(32)
    return _U(folded)


def _words(buffer: bytearray) -> np.ndarray:
    return np.frombuffer(buffer, np.uint64, len(buffer) >> 3)


def checksum(block: Block, seed: int = 0) -> int:
    """A 64-bit checksum of the documents and their ends, continued from `seed`; finds accidents, not forgeries."""
    return int(_fold(_words(block.buffer), block.size, block.ends, np.uint64(seed)))


def line_ends(buffer: bytearray, size: int) -> np.ndarray:
    r"""Where the lines of ``buffer[:size]`` end, each with its ``\n``; text behind the last one is a line too.

    >>> line_ends(bytearray(b"ab\n\nc" + bytes(PADDING)), 5).tolist()
    [3, 4, 5]
    """
    ends = np.empty(size // 40 + 16, np.int64)
    text = np.frombuffer(buffer, np.uint8)
    found = _line_ends(text, size, ends)
    if found > len(ends):
        ends = np.empty(found, np.int64)
        _line_ends(text, size, ends)
    ends = ends[:found]
    return ends if size == 0 or (found and ends[-1] == size) else np.append(ends, size)


def _fill(stream: BinaryIO, name: str, buffer: bytearray, start: int, stop: int) -> int:
    """Read into ``buffer[start:stop]`` until it is full or the file ends; returns the place behind what was read."""
    if isinstance(stream, io.BufferedReader):
        with memoryview(buffer) as view:
            while start < stop and (size := stream.readinto(view[start:stop])):
                start += size
        return start
    while start < stop and (piece := next(read_blocks(stream, name, stop - start), b"")):
        buffer[start : start + len(piece)] = piece
        start += len(piece)
    return start


def _line_blocks(name: str, block_bytes: int, advance: Advance | None) -> Iterator[Block]:
    first, rest = 1, bytearray()
    with open_binary(name, advance) as stream:
        while True:
            room = max(block_bytes, 2 * len(rest))
            buffer = bytearray(room + PADDING)
            buffer[: len(rest)] = rest
            size = _fill(stream, name, buffer, len(rest), room)
            last = size < room
            cut = size if last else buffer.rfind(b"\n", 0, size) + 1
            rest = buffer[cut:size]
            if cut:
                ends = line_ends(buffer, cut)
                yield Block(buffer, ends, partial(_line_name, name, first))
                first += len(ends)
            if last:
                return


def _line_name(name: str, first: int, index: int) -> str:
    return f"{name}:{first + index}"


def _document_name(source: str, first: int, index: int) -> str:
    return f"{source}, document {first + index}"


def _packed(documents: Iterable[bytes], source: str, block_bytes: int) -> Iterator[Block]:
    """Blocks of documents that come one by one."""
    first, size, waiting = 1, 0, list[bytes]()
    for document in documents:
        waiting.append(document)
        size += len(document)
        if size >= block_bytes:
            yield joined(waiting, partial(_document_name, source, first))
            first, size, waiting = first + len(waiting), 0, []
    if waiting:
        yield joined(waiting, partial(_document_name, source, first))


def joined(documents: list[bytes], where: Callable[[int], str]) -> Block:
    """One block of the given documents."""
    ends = np.cumsum(np.fromiter(map(len, documents), np.int64, len(documents)))
    return Block(bytearray(b"".join([*documents, bytes(PADDING)])), ends, where)


def _encoded(documents: Iterable[str], source: str) -> Iterator[bytes]:
    for number, document in enumerate(documents, start=1):
        try:
            yield document.encode("utf-8")
        except UnicodeEncodeError as error:
            message = f"{source}, document {number}: a lone surrogate at character {error.start}, which is not text"
            raise MwSError(f"{message}; re-decode the source with errors='replace'") from error


def _whole_files(names: Iterable[str], advance: Advance | None) -> Iterator[bytes]:
    for name in names:
        with open_binary(name, advance) as stream:
            yield b"".join(read_blocks(stream, name, BLOCK_BYTES))


def _parquet_blocks(name: str, column: str | None, advance: Advance | None) -> Iterator[Block]:
    first = 1
    for rows in read_parquet_batches(name, column, advance=advance):
        if len(rows) == 0:
            continue
        ends = np.frombuffer(rows.buffers()[1], np.int64)[rows.offset : rows.offset + len(rows) + 1]
        data = rows.buffers()[2]
        text = b"" if data is None else memoryview(data)[int(ends[0]) : int(ends[-1])]
        where = partial(_document_name, name, first)
        yield Block(bytearray(b"".join([text, bytes(PADDING)])), ends[1:] - ends[0], where)
        first += len(rows)


def is_files(source: Any) -> bool:
    """Whether a source names files: a path, or a list or tuple of paths. Any other iterable holds documents."""
    return isinstance(source, (str, os.PathLike, list, tuple))


def source_size(source: Any) -> int | None:
    """Bytes of the files of `source` as stored, compressed ones included; None where one has no size."""
    if not is_files(source):
        return None
    names = expand_paths(source)
    return sum(map(os.path.getsize, names)) if all(map(os.path.isfile, names)) else None


def read_source(
    source: Any,
    *,
    document: str = "line",
    field: str | None = None,
    column: str | None = None,
    block_bytes: int = BLOCK_BYTES,
    advance: Advance | None = None,
) -> Iterator[Block]:
    """Blocks of the documents of `source`, in order.

    Args:
        source: a path, glob or "-", a list or tuple of them; or an iterable of strings, or a `datasets` dataset.
        document: in text files, a document is a "line" (with its line end: the documents joined are the file) or a
            "file".
        field: the field of JSON-lines records that holds the text.
        column: the text column of Parquet files and datasets.
        block_bytes: bytes of text a block has at least, where the source is not at its end.
        advance: told the bytes taken from files as stored, or the bytes of text of documents that come one by one.

    Raises:
        MwSError: a source that is missing, unreadable or not text, an unknown `document`.
    """
    if document not in ("line", "file"):
        raise MwSError(f"document={document!r}: in a text file a document is a 'line' or a 'file'")
    if not is_files(source):
        for block in _packed(_encoded(iterate_documents(source, column), "iterator"), "iterator", block_bytes):
            yield block
            if advance is not None:
                advance(block.size)
        return
    names = expand_paths(source)
    kinds = {file_kind(name) for name in names}
    if document == "file" and kinds == {"text"}:
        yield from _named_files(names, block_bytes, advance)
        return
    for name in names:
        kind = file_kind(name)
        if document == "file":
            raise MwSError(f"{name}: document='file' is for text files; each record of a {kind} file is a document")
        if kind == "text":
            yield from _line_blocks(name, block_bytes, advance)
        elif kind == "jsonl":
            yield from _packed(_encoded(read_jsonl(name, field, advance=advance), name), name, block_bytes)
        else:
            yield from _parquet_blocks(name, column, advance)


def _named_files(names: list[str], block_bytes: int, advance: Advance | None) -> Iterator[Block]:
    first = 0
    for block in _packed(_whole_files(names, advance), "file", block_bytes):
        yield block._replace(where=partial(_file_name, names, first))
        first += len(block.ends)


def _file_name(names: list[str], first: int, index: int) -> str:
    return names[first + index]
