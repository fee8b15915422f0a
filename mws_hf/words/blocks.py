r"""Input as blocks of UTF-8 bytes that can be counted in any order, by any thread; counting itself is elsewhere.

What one document is: a whole text file is one stream, so that line ends belong to pre-tokens as they do when the text
is encoded; a JSON-lines record, a Parquet row, an element of an iterator are documents each.

A text file is cut into blocks only where neither of the two known patterns can have a pre-token across the cut, nor
look across it in a way that changes one, so the counts equal those of one scan over the whole file:

1. between a non-space and a space U+0020. No alternative of the patterns lets a space follow anything but a space, and
   every greedy run or lookahead before the cut ends alike at a space and at the end of the text.
2. between ``\r`` or ``\n`` and a non-space. Only ``[\r\n]*`` and ``\s*[\r\n]`` take line ends; both stop there, and
   ``\s+(?!\S)``, the one lookahead, is tried only on white space that holds no line end.

Unicode normalization may follow the cut, as no normal form joins, reorders or makes anything across a space or a line
end. Under any other pattern a text file is cut after every line feed, and a line is a document.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import regex

from mws_hf.errors import MwSError
from mws_hf.words.counts import arrow_strings, flat_utf8
from mws_hf.words.readers import (
    PathLike,
    check_codec,
    decoding_error,
    file_kind,
    open_binary,
    read_blocks,
    read_jsonl,
    read_parquet_batches,
)
from mws_hf.words.utf8 import is_utf8

BLOCK_BYTES = 1 << 19
_NEAR = 1 << 10
_SPACE = rb"(?:[\t-\r ]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80)"
_CUT = regex.compile(
    rb"(?r)(?:(?<!" + _SPACE + rb")(?<=.)(?= )|(?<=[\r\n])(?!" + _SPACE + rb"))(?=.{4})", regex.DOTALL
)  # (?r) searches from the end; .{4} because a character cut off by the end of the block could be a space


@dataclass(frozen=True)
class Block:
    """Documents to count.

    Attributes:
        data: uint8, the UTF-8 bytes.
        offsets: int64, shape (n_documents + 1,); document d is ``data[offsets[d]:offsets[d + 1]]``.
        name, line, byte: where it came from: file, lines and bytes of the file before it, for error messages.
        checked: whether `data` is known to be valid UTF-8.
    """

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]
    name: str = ""
    line: int = 0
    byte: int = 0
    checked: bool = True

    def check(self) -> None:
        """Raise MwSError, naming file, line and byte, unless the bytes are valid UTF-8."""
        if self.checked or is_utf8(self.data):
            return
        try:
            self.data.tobytes().decode("utf-8")
        except UnicodeDecodeError as error:
            line = self.line + self.data[: error.start].tobytes().count(b"\n") + 1
            raise decoding_error(self.name, line, self.byte + error.start, "utf-8", error.reason) from error


def last_cut(text: bytes, start: int = 0) -> int:
    r"""The last position from `start` on where text may be cut for the two known patterns, or 0; see the module.

    The last four bytes are left alone, since a character may go on in the next block.

    >>> last_cut(b"one two, three"), last_cut(b"one\r\n\r\ntwo."), last_cut(b"  \n  \n    ")
    (8, 7, 0)
    """
    found = _CUT.search(text, start)
    return found.start() if found else 0


def last_line(text: bytes, start: int = 0) -> int:
    """The position after the last line feed, or 0."""
    return text.rfind(b"\n", start) + 1


def text_blocks(
    name: PathLike,
    *,
    lines: bool,
    encoding: str = "utf-8",
    errors: str = "strict",
    advance: Callable[[int], None] | None = None,
    size: int = BLOCK_BYTES,
) -> Iterator[Block]:
    """A text file as blocks, in bounded memory unless the text has no place to cut.

    Args:
        name: a file, .gz or not, or "-".
        lines: True makes each line a document; False the whole file one stream, cut where it is safe.
        encoding: of the file; anything but UTF-8 is converted.
        errors: "strict", "replace" or "ignore".
        advance: called with the number of bytes taken from the file as stored.
        size: bytes of a block before cutting.

    Raises:
        MwSError: the file cannot be read or decoded. Invalid UTF-8 shows later, in `Block.check`.
    """
    check_codec(encoding, errors)
    strict = errors == "strict" and codecs.lookup(encoding).name == "utf-8"
    find = last_line if lines else last_cut
    line = byte = 0
    with open_binary(name, advance) as stream:
        pieces = read_blocks(stream, name, size) if strict else _converted(stream, name, encoding, errors, size)
        for piece in _recut(pieces, find):
            data = np.frombuffer(piece, np.uint8)
            yield Block(data, _bounds(piece, lines), str(name), line, byte, checked=not strict)
            line += int(np.count_nonzero(data == 0x0A))  # bytes.count takes 4 times as long
            byte += len(piece)


def _bounds(piece: bytes, lines: bool) -> npt.NDArray[np.int64]:
    if not lines:
        return np.array([0, len(piece)], np.int64)
    after = np.flatnonzero(np.frombuffer(piece, np.uint8) == 0x0A) + 1
    return np.unique(np.concatenate(([0], after, [len(piece)]))).astype(np.int64)


def _recut(pieces: Iterable[bytes], find: Callable[[bytes, int], int]) -> Iterator[bytes]:
    """The same bytes, cut at the places that `find` allows instead."""
    rest: list[bytes | memoryview] = []
    for piece in pieces:
        cut = _cut_near_end(rest, piece, find)
        if cut > 0:
            yield b"".join([*rest, memoryview(piece)[:cut]])
            rest = [memoryview(piece)[cut:]] if cut < len(piece) else []
        else:
            rest.append(piece)
    if any(rest):
        yield b"".join(rest)


def _cut_near_end(rest: list[bytes | memoryview], piece: bytes, find: Callable[[bytes, int], int]) -> int:
    """The last place to cut in `piece`, which follows `rest`, or 0: nearly always among the last bytes."""
    end = piece[-_NEAR:]
    cut = find(end, 4) if len(piece) > _NEAR else 0
    if cut > 0:
        return len(piece) - len(end) + cut
    tail = bytes(rest[-1][-4:]) if rest else b""
    return max(0, find(tail + piece, len(tail)) - len(tail))


def _converted(stream: BinaryIO, name: PathLike, encoding: str, errors: str, size: int) -> Iterator[bytes]:
    """The stream as UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    line = byte = 0
    for raw in chain(read_blocks(stream, name, size), [b""]):
        try:
            text = decoder.decode(raw, final=not raw)
        except UnicodeDecodeError as error:
            bad = error.start - (
                len(error.object) - len(raw)
            )  # bytes held back from the block before count as negative
            at = line + error.object[: error.start].decode(encoding, "replace").count("\n") + 1
            raise decoding_error(name, at, byte + bad, encoding, error.reason) from error
        line, byte = line + text.count("\n"), byte + len(raw)
        yield text.encode("utf-8", "replace")


def file_blocks(
    name: PathLike,
    *,
    lines: bool,
    field: str | None = None,
    column: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    advance: Callable[[int], None] | None = None,
) -> Iterator[Block]:
    """The documents of one file as blocks; arguments as `text_blocks` and `readers.read_documents`."""
    kind = file_kind(name)
    if kind == "jsonl":
        yield from document_blocks(
            read_jsonl(name, field, encoding=encoding, errors=errors, advance=advance), str(name)
        )
    elif kind == "parquet":
        for strings in read_parquet_batches(name, column, advance=advance):
            yield arrow_block(strings)
    else:
        yield from text_blocks(name, lines=lines, encoding=encoding, errors=errors, advance=advance)


def document_blocks(documents: Iterable[str], name: str = "input", size: int = BLOCK_BYTES) -> Iterator[Block]:
    """Documents, each a str, by blocks of at least `size` characters; `name` says in errors where they are from.

    Raises:
        MwSError: a document holds a lone surrogate, which no UTF-8 text can.
    """
    batch: list[str] = []
    held = first = 0
    for document in documents:
        batch.append(document)
        held += len(document)
        if held >= size:
            yield _encoded(batch, name, first)
            first, held, batch = first + len(batch), 0, []
    if batch:
        yield _encoded(batch, name, first)


def _encoded(batch: list[str], name: str, first: int) -> Block:
    try:
        return arrow_block(arrow_strings(batch))
    except UnicodeEncodeError as error:
        number = first + next(i for i, text in enumerate(batch) if text == error.object)
        raise MwSError(
            f"{name}: document {number} (from 0) holds the lone surrogate {error.object[error.start]!r} "
            f"at character {error.start}, which is not Unicode text; "
            "clean it with text.encode('utf-8', 'replace').decode()"
        ) from error


def arrow_block(strings: pa.LargeStringArray) -> Block:
    """Every element of an Arrow large_string array as a document, without a copy."""
    data, offsets = flat_utf8(strings)
    return Block(data, offsets)
