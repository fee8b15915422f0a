"""Documents of files and iterators as blocks of raw UTF-8 bytes; lines of text never become Python strings on the way.

The cut into blocks depends on the source alone, so that an interrupted run finds the same blocks again.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from mws_hf.corpus.counts import flat_utf8
from mws_hf.corpus.documents import document_batches, iterate_documents
from mws_hf.corpus.files import file_kind, open_binary
from mws_hf.corpus.inputs import check_files, input_files, read_strings
from mws_hf.corpus.readers import decoding_error, first_bytes, is_strict_utf8, text_stream, utf8_pieces
from mws_hf.encode.kernel import PADDING
from mws_hf.errors import MwSError
from mws_hf.kernels.instructions import WINDOW, range_mask, trailing_zeros
from mws_hf.kernels.jit import njit

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
    return decoding_error(f"{where}: the text", "utf-8", "invalid bytes")


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


def _fill(stream: io.BufferedReader, buffer: bytearray, start: int, stop: int) -> int:
    """Read into ``buffer[start:stop]`` until it is full or the file ends; returns the place behind what was read."""
    with memoryview(buffer) as view:
        while start < stop and (size := stream.readinto(view[start:stop])):
            start += size
    return start


def _line_blocks(name: str, block_bytes: int, encoding: str, errors: str, advance: Advance | None) -> Iterator[Block]:
    first = 1
    with open_binary(name, advance) as stream:
        if isinstance(stream, io.BufferedReader) and is_strict_utf8(encoding, errors):
            source, rest = stream, bytearray(first_bytes(stream, name)[0])  # without a copy on the way
        else:
            source, rest = text_stream(stream, name, encoding, errors), bytearray()
        while True:
            room = max(block_bytes, 2 * len(rest))
            buffer = bytearray(room + PADDING)
            buffer[: len(rest)] = rest
            size = _fill(source, buffer, len(rest), room)
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


def joined(documents: list[bytes], where: Callable[[int], str]) -> Block:
    """One block of the given documents."""
    ends = np.cumsum(np.fromiter(map(len, documents), np.int64, len(documents)))
    return Block(bytearray(b"".join([*documents, bytes(PADDING)])), ends, where)


def _arrow_blocks(batches: Iterable[pa.LargeStringArray], source: str) -> Iterator[Block]:
    """Blocks of documents that come as Arrow strings, a block a batch."""
    first = 1
    for rows in batches:
        if len(rows) == 0:
            continue
        data, bounds = flat_utf8(rows)
        text = data[bounds[0] : bounds[-1]].data
        where = partial(_document_name, source, first)
        yield Block(bytearray(b"".join([text, bytes(PADDING)])), bounds[1:] - bounds[0], where)
        first += len(rows)


def _whole_files(
    names: list[str], block_bytes: int, encoding: str, errors: str, advance: Advance | None
) -> Iterator[Block]:
    first, waiting = 0, list[bytes]()
    for name in names:
        with open_binary(name, advance) as stream:
            waiting.append(b"".join(utf8_pieces(stream, name, encoding, errors, BLOCK_BYTES)))
        if sum(map(len, waiting)) >= block_bytes:
            yield joined(waiting, partial(_file_name, names, first))
            first, waiting = first + len(waiting), []
    if waiting:
        yield joined(waiting, partial(_file_name, names, first))


def _file_name(names: list[str], first: int, index: int) -> str:
    return names[first + index]


def files_of(source: Any) -> list[str] | None:
    """The files that `source` names, or None where it holds the texts themselves."""
    return input_files(source, "encode_corpus(tokenizer, iter(texts), ...)")


def source_size(source: Any) -> int | None:
    """Bytes of the files of `source` as stored, compressed ones included; None where one has no size."""
    names = files_of(source)
    if names is None:
        return None
    return sum(map(os.path.getsize, names)) if all(map(os.path.isfile, names)) else None


def read_source(
    source: Any,
    *,
    document: str = "line",
    field: str | None = None,
    column: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    block_bytes: int = BLOCK_BYTES,
    advance: Advance | None = None,
) -> Iterator[Block]:
    """Blocks of the documents of `source`, in order.

    What can be known of the source before it is read is found out by the call, not by the first block.

    Args:
        source: files or documents, told apart as `corpus.inputs.input_files` says.
        document: in text files, a document is a "line" (with its line end: the documents joined are the file, less a
            byte order mark) or a "file".
        field: the field of JSON-lines records that holds the text.
        column: the text column of tables and datasets.
        encoding: of text, JSON-lines and CSV files.
        errors: "strict", "replace" or "ignore" for bytes that are not text.
        block_bytes: bytes of text a block has at least, where the source is not at its end.
        advance: told the bytes taken from files as stored, or the bytes of text of documents that come one by one.

    Raises:
        MwSError: a source that is missing, unreadable or not text, an unknown `document`.
    """
    if document not in ("line", "file"):
        raise MwSError(f"document={document!r}: in a text file a document is a 'line' or a 'file'")
    names = files_of(source)
    if names is None:
        batches = document_batches(iterate_documents(source, column), "iterator", block_bytes)
        return _told(_arrow_blocks(batches, "iterator"), advance)
    check_files(names, field=field, column=column, encoding=encoding, errors=errors)
    if document == "file":
        for name in names:
            if (kind := file_kind(name)) != "text":
                raise MwSError(f"{name}: document='file' is for text files; each record of a {kind} file is a document")
        return _whole_files(names, block_bytes, encoding, errors, advance)
    return chain.from_iterable(
        _blocks_of(name, field, column, encoding, errors, block_bytes, advance) for name in names
    )


def _blocks_of(
    name: str,
    field: str | None,
    column: str | None,
    encoding: str,
    errors: str,
    block_bytes: int,
    advance: Advance | None,
) -> Iterator[Block]:
    kind = file_kind(name)
    if kind == "text":
        return _line_blocks(name, block_bytes, encoding, errors, advance)
    strings = read_strings(
        name, field=field, column=column, encoding=encoding, errors=errors, advance=advance, size=block_bytes
    )
    blocks = _arrow_blocks(strings, name)
    return _told(blocks, advance) if kind == "dataset" else blocks  # whose files are not read here


def _told(blocks: Iterator[Block], advance: Advance | None) -> Iterator[Block]:
    for block in blocks:
        yield block
        if advance is not None:
            advance(block.size)
