r"""Read documents as blocks of UTF-8 bytes (`Block`), which any thread can count or encode in any order.

A document is a JSON-lines record, a row of a table, or an element of an iterator. In a text file it is a line (with its
line end), the whole file, or the stream, as the caller chooses. A stream is the whole file, too, but it is read in
blocks. It is divided only at positions that no pre-token of the scanner's patterns can cross, and where no pre-token
depends on the text after the position. Such a position is called a division point. Therefore the counts of a
stream are the same as those of one scan of the whole file. There are two kinds of division points:

1. between a non-space and a space U+0020. In no alternative of the patterns does a space follow anything except a
   space, and every greedy run or lookahead before the point ends in the same way at a space and at the end of the text.
2. between ``\r`` or ``\n`` and a non-space that is not a slash, even after normalization. Only ``[\r\n]*``,
   ``[\r\n/]*`` and ``\s*[\r\n]`` match line ends, and they stop there. ``\s+(?!\S)``, the only lookahead, is tried only
   on white space without line ends.

A marker for capitals (`text.capitals`) moves before the space of its word. If the text gets such markers, the first
kind of division is made only if the space is followed by an ASCII character that is not an uppercase letter. If special
tokens contain spaces, only the second kind of division is made, so that no such token is divided.

Unicode normalization may come after the division, because no normal form joins, reorders or creates characters across a
space or a line end. The ends of blocks depend only on the source, so that a resumed run gets the same blocks.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mws_hf.corpus.arrow_arrays import flat_utf8
from mws_hf.corpus.files import PLAIN, PathLike, Reading, is_read_once
from mws_hf.corpus.octets import (
    Advance,
    check_mark,
    ends_by_return,
    fill,
    first_bytes,
    not_text,
    nul_fault,
    open_binary,
    read_blocks,
    text_stream,
    utf8_pieces,
)
from mws_hf.corpus.place import Fault
from mws_hf.errors import MwSError
from mws_hf.kernels.containers import WINDOW
from mws_hf.kernels.scanner import is_utf8

_logger = logging.getLogger(__name__)

Columns: TypeAlias = tuple[Any, npt.NDArray[np.int64]]
"""Distinct words, as an Arrow array of large strings, and the number of times that each occurs (int64)."""
BLOCK_BYTES = 1 << 19
"""The usual size of a block in bytes."""
PADDING = WINDOW + 8
"""The number of bytes that kernels may read after the text of a padded block, because they read several at a time."""
MAX_UNDIVIDED_BYTES = 10_000_000
"""Maximum number of bytes in a row without a division point; they could all be a single pre-token."""
MAX_BYTES_WITHOUT_KERNELS = 1 << 19
"""Bytes of text up to which loading the kernels would take longer than encoding without them."""
_NEAR_BYTES = 1 << 10  # bytes at the end of a block in which a division point is searched first
_PIECE_BYTES = 4 << 20  # bytes that are read at once from a file that is one document
_FIRST_BYTES = 1 << 16  # bytes that are read before a buffer for a whole block is made
_RETURNS = bytes.maketrans(b"\r", b"\n")
_RECORD = re.compile(rb'\s*\{\s*"[^"\n]*"\s*:')
_SPACE = rb"(?:[\t-\r ]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80)"
_BEFORE_SPACE = rb"(?<!" + _SPACE + rb")(?<=.)(?= )"
_AFTER_LINE = rb"(?<=[\r\n])(?!/|\xef\xbc\x8f|" + _SPACE + rb")"
STREAM, MARKED_STREAM = (
    rb"(?rs)(?:" + _BEFORE_SPACE + rest + rb"|" + _AFTER_LINE + rb")(?=.{4})"
    for rest in (b"", rb"(?=.[\x00-\x0d\x0f-\x40\x5b-\x7f])")
)  # (?r) searches from the end; .{4} because a character cut off by the end of the block could be a space
"""Where a stream can be divided, as regular expressions: any stream, and one that gets markers for capitals."""
LINE_STREAM = rb"(?rs)" + _AFTER_LINE + rb"(?=.{4})"
"""Where a stream can be divided if special tokens contain spaces, at which they would be divided, too."""


@dataclass(frozen=True)
class Block:
    """One or more documents, stored one after another in a buffer.

    Raises:
        MwSError: more than `MAX_UNDIVIDED_BYTES` bytes of a document cannot be divided.

    Attributes:
        buffer: the documents in UTF-8, bytes-like. In blocks of a text file and of `padded`, `PADDING` more bytes
            follow.
        offsets: int64, shape (n_documents + 1,); document d is ``data[offsets[d]:offsets[d + 1]]``.
        where: returns the name of document `index` for error messages, such as ``corpus.txt:17``.
        start: the file, and the numbers of its lines and bytes before this block, if it can contain bytes that are not
            UTF-8.
    """

    buffer: Any
    offsets: npt.NDArray[np.int64]
    where: Callable[[int], str]
    start: tuple[str, int, int] | None = None

    def __post_init__(self) -> None:
        if self.size <= MAX_UNDIVIDED_BYTES:
            return
        for index in np.flatnonzero(np.diff(self.offsets) > MAX_UNDIVIDED_BYTES).tolist():
            at, end = self.offsets[index : index + 2].tolist()
            while end - at > MAX_UNDIVIDED_BYTES:
                point = _text_division_point(
                    self.text[at : at + MAX_UNDIVIDED_BYTES].tobytes(), MAX_UNDIVIDED_BYTES, STREAM
                )
                if not point:
                    raise self._undivided_error(index, at)
                at += point

    def _undivided_error(self, index: int, at: int) -> MwSError:
        """Return the error for a document that cannot be divided from byte `at` of the buffer on."""
        name, byte = self.where(index), at - int(self.offsets[index])
        if self.start is not None:
            name, byte = self.start[0], self.start[2] + at
        return MwSError(
            f"{name}: byte {byte}: {MAX_UNDIVIDED_BYTES / 1e6:.0f} MB follow without a space or a line end; "
            "if this is text, break it into lines"
        )

    @cached_property
    def text(self) -> npt.NDArray[np.uint8]:
        """The whole buffer as uint8, read-only, without a copy."""
        text = np.frombuffer(self.buffer, np.uint8) if len(self.buffer) else np.zeros(0, np.uint8)
        text.flags.writeable = False  # always, because kernels are compiled separately for writeable arrays
        return text

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """Return the part of `text` up to the end of the last document."""
        return self.text[: self.offsets[-1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def size(self) -> int:
        """The number of bytes of the documents."""
        return int(self.offsets[-1] - self.offsets[0])

    def document(self, index: int) -> str:
        """Return one document as str.

        Raises:
            MwSError: the document is not UTF-8; the message contains its name.
        """
        start, end = self.offsets[index : index + 2]
        data = self.text[start:end].tobytes()
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            fault = not_text(data, error.start, error.start, None, "utf-8", error.reason)
            raise Fault(fault.problem, inside=": the text").at(self.where(index)) from error

    def documents(self) -> Iterator[str]:
        """Yield the documents as str."""
        return map(self.document, range(len(self)))

    def check(self) -> None:
        """Raise MwSError, naming file, line and byte, unless the bytes are valid UTF-8."""
        if self.start is None or is_utf8(self.data):
            return
        name, lines, before = self.start
        data = self.data.tobytes()
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            at, line = error.start, lines + _count_lines(self.data[: error.start]) + 1
            raise not_text(data, at, before + at, line, "utf-8", error.reason).at(name) from error


GroupBlock = tuple[str, Block]
"""The name of a group (`groups.UNNAMED` if there are no groups), and a block of its text."""


def _count_lines(data: npt.NDArray[np.uint8]) -> int:
    """Count the line feeds in a text; `bytes.count` takes four times as long."""
    return int(np.count_nonzero(data == 0x0A))


def last_division_point(text: bytes, start: int = 0, division: bytes = STREAM) -> int:
    """Find the last position at which a text can be divided (the module describes them); return 0 if there is none.

    The position is never among the last four bytes, because a character may continue in the next block.

    Args:
        text: the text in UTF-8.
        start: the first position that is considered.
        division: `STREAM`, `MARKED_STREAM` or `LINE_STREAM`.
    """
    import regex  # here, because encoding does not need it

    found = regex.search(division, text, pos=start)
    return found.start() if found else 0


def _text_division_point(buffer: bytes | bytearray, size: int, division: bytes | None) -> int:
    """Find the last position at which ``buffer[:size]`` can be divided; return 0 if there is none.

    If `division` is None, it is the end of the last line, otherwise the position that `last_division_point` finds. The
    last bytes are searched first, because the position is nearly always there.
    """
    if division is None:
        return buffer.rfind(b"\n", 0, size) + 1
    near = max(0, size - _NEAR_BYTES)
    point = last_division_point(bytes(buffer[near:size]), 4 if near else 0, division)
    if point or not near:
        return near + point
    if all(buffer.find(mark, 0, size) < 0 for mark in b" \r\n"):
        return 0
    return last_division_point(bytes(buffer[:size]), 0, division)


def line_offsets(buffer: bytearray, size: int) -> npt.NDArray[np.int64]:
    r"""Find where the lines of ``buffer[:size]`` start, each with its ``\n``, and where the last one ends."""
    ends = np.flatnonzero(np.frombuffer(buffer, np.uint8, size) == 0x0A) + 1
    unended = [size] if size and ends[-1:].tolist() != [size] else []
    return np.concatenate([[0], ends, unended]).astype(np.int64)


def text_blocks(
    name: PathLike,
    *,
    division: bytes | None,
    how: Reading = PLAIN,
    advance: Advance | None = None,
    size: int = BLOCK_BYTES,
) -> Iterator[Block]:
    """Read a text file as padded blocks, in bounded memory; lines are not converted to str.

    Invalid UTF-8 is not detected here, but by `Block.check` or while encoding.

    Args:
        name: the file, compressed or not, or "-" for standard input.
        division: the positions at which a file that is one stream can be divided: `STREAM`, `MARKED_STREAM` or
            `LINE_STREAM`. None if each line is a document.
        how: the encoding of the file.
        advance: called with the number of bytes taken from the file as stored.
        size: maximum number of bytes in a block, unless a document is longer.

    Raises:
        MwSError: the file cannot be read, contains a NUL or bytes that are not in its encoding (except invalid UTF-8),
            or has too long a part that cannot be divided.
    """
    strict, lines = how.is_strict_utf8, division is None
    line = byte = seen = 0
    rest, last = b"", False
    with open_binary(name, advance) as stream:
        if strict:
            check_mark(stream, how)
            rest, byte = first_bytes(stream)
        else:
            stream = text_stream(stream, how)
        by_return = lines and ends_by_return(rest + stream.peek())
        if is_read_once(name):
            _warn_of_stream(name, rest + stream.peek())
        while not last:
            room = max(size, 2 * len(rest))
            buffer, stop = _filled(stream, rest, room)
            last = stop < room
            if strict and (at := buffer.find(0, seen, stop)) >= 0:
                raise nul_fault(bytes(buffer[-byte % 4 : stop]), line + buffer.count(b"\n", 0, at) + 1, byte + at)
            marks = buffer.translate(_RETURNS) if by_return else buffer
            point = stop if last else _text_division_point(marks, room, division)
            rest = bytes(memoryview(buffer)[point:stop])
            seen = len(rest)
            end = point or stop  # if the text cannot be divided here, more is read, or `Block` raises an error
            offsets = line_offsets(marks, end) if lines else np.array([0, end], np.int64)
            start = (str(name), line, byte) if strict else None
            block = Block(buffer, offsets, partial(_line_name, name, line), start)
            if point:
                yield block
                line += len(block) if lines else _count_lines(block.data)
                byte += point


def _warn_of_stream(name: PathLike, start: bytes) -> None:
    """Warn if standard input or a pipe, which nobody examined before, is empty or seems to be JSON lines."""
    if not start:
        _logger.warning("%s: is empty", name)
    elif _RECORD.match(start):
        _logger.warning(
            "%s: begins with a JSON record, but is read as text; for JSON lines give --column NAME (in Python: "
            "column=NAME)",
            name,
        )


def _filled(stream: Any, rest: bytes, room: int) -> tuple[bytearray, int]:
    """Fill a buffer with `rest` and the next bytes of the stream, at most `room` in all.

    At the end of a file the buffer is only as large as the text, because for small files clearing a whole block would
    take longer than counting it.

    Returns:
        The buffer, in which `PADDING` bytes follow the text, and the number of bytes of the text.
    """
    first = next(read_blocks(stream, min(room - len(rest), _FIRST_BYTES)), b"")
    begin = len(rest) + len(first)
    if len(first) < _FIRST_BYTES and begin < room:
        return bytearray(b"".join([rest, first, bytes(PADDING)])), begin
    buffer = bytearray(room + PADDING)
    buffer[:begin] = rest + first
    return buffer, fill(stream, buffer, begin, room)


def _line_name(name: PathLike, before: int, index: int) -> str:
    """Return the name of a line, such as ``corpus.txt:17``; `before` lines come before the block."""
    return f"{name}:{before + index + 1}"


def _document_name(source: str, before: int, index: int) -> str:
    """Return the name of a document of a source without lines; `before` documents come before the block."""
    return f"{source}, document {before + index + 1}"


def whole_files(
    names: Sequence[str], size: int, advance: Advance | None = None, how: Reading = PLAIN
) -> Iterator[Block]:
    """Read text files as padded blocks of at least `size` bytes; each file is one document."""
    first, waiting = 0, list[bytes]()
    for name in names:
        with open_binary(name, advance) as stream:
            waiting.append(b"".join(utf8_pieces(stream, how, _PIECE_BYTES)))
        if sum(map(len, waiting)) >= size:
            yield block_of(waiting, names[first:].__getitem__)
            first, waiting = first + len(waiting), []
    if waiting:
        yield block_of(waiting, names[first:].__getitem__)


def block_of(documents: Sequence[bytes], where: Callable[[int], str]) -> Block:
    """Join documents into one padded block; `where` names a document in error messages, by its index."""
    offsets = np.zeros(len(documents) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, documents), np.int64, len(documents)), out=offsets[1:])
    return Block(bytearray(b"".join([*documents, bytes(PADDING)])), offsets, where)


def without_tokens(block: Block, tokens: Sequence[bytes]) -> Block:
    """Remove special tokens from the documents of a block; the text before and after one are separate documents."""
    text = block.data[block.offsets[0] :].tobytes()
    if not tokens or _shared(tokens) not in text:
        return block
    mark = token_pattern(tuple(tokens))
    if not mark.search(text):
        return block
    ends = (block.offsets - block.offsets[0]).tolist()
    parts = [part for start, end in pairwise(ends) for part in mark.split(text[start:end])]
    return block_of(parts, lambda _: block.where(0))


def _shared(tokens: Sequence[bytes]) -> bytes:
    """Return the longest common beginning of tokens."""
    return os.path.commonprefix(tokens) or b""


@lru_cache(maxsize=4)
def token_pattern(tokens: tuple[bytes, ...]) -> re.Pattern[bytes]:
    """Compile a regular expression that finds the longest of several tokens at a position.

    Tokens with the same beginning share a branch, so that a search for many tokens is fast, too.
    """

    def longest(tokens: list[bytes]) -> bytes:
        shared = _shared(tokens)
        rest = [token[len(shared) :] for token in tokens]
        branches = b"|".join(longest(list(each)) for _, each in groupby(filter(None, rest), key=itemgetter(0)))
        return re.escape(shared) + (b"(?:%s)%s" % (branches, b"?" * (b"" in rest)) if branches else b"")

    return re.compile(longest(sorted(set(tokens))))


def arrow_blocks(batches: Iterable[pa.LargeStringArray], source: str) -> Iterator[Block]:
    """Yield a block for each batch of documents that is not empty; `source` names their origin in errors."""
    first = 0
    for rows in batches:
        if len(rows):
            yield arrow_block(rows, partial(_document_name, source, first))
            first += len(rows)


def arrow_block(strings: pa.LargeStringArray, where: Callable[[int], str] = str) -> Block:
    """Return a block whose documents are the elements of an Arrow array of valid UTF-8; nothing is copied."""
    return Block(strings.buffers()[2] or b"", flat_utf8(strings)[1], where)


def padded(block: Block) -> Block:
    """Return a block, or a copy of it, whose text starts at byte 0 and is followed by `PADDING` bytes."""
    if isinstance(block.buffer, bytearray):
        return block
    first = block.offsets[0]
    text = block.data[first:].tobytes()
    return Block(bytearray(b"".join([text, bytes(PADDING)])), block.offsets - first, block.where, block.start)
