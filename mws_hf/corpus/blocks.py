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

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import regex

from mws_hf.corpus.counts import flat_utf8
from mws_hf.corpus.documents import document_batches
from mws_hf.corpus.files import PathLike, file_kind, open_binary, read_blocks
from mws_hf.corpus.inputs import read_strings
from mws_hf.corpus.readers import bad_byte, converted, first_bytes, is_strict_utf8
from mws_hf.kernels.utf8 import is_utf8

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
            raise bad_byte(self.name, line, self.byte + error.start, "utf-8", error.reason) from error


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
        name: a file, compressed or not, or "-".
        lines: True makes each line a document; False the whole file one stream, cut where it is safe.
        encoding: of the file; anything but UTF-8 is converted.
        errors: "strict", "replace" or "ignore".
        advance: called with the number of bytes taken from the file as stored.
        size: bytes of a block before cutting.

    Raises:
        MwSError: the file cannot be read or decoded. Invalid UTF-8 shows later, in `Block.check`.
    """
    strict = is_strict_utf8(encoding, errors)
    find = last_line if lines else last_cut
    line = byte = 0
    with open_binary(name, advance) as stream:
        if strict:
            head, byte = first_bytes(stream, name)
            pieces = chain([head], read_blocks(stream, name, size)) if head else read_blocks(stream, name, size)
        else:
            pieces = converted(stream, name, encoding, errors, size)
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


def file_blocks(
    name: str,
    *,
    lines: bool,
    field: str | None = None,
    column: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    advance: Callable[[int], None] | None = None,
) -> Iterator[Block]:
    """The documents of one file as blocks; arguments as `text_blocks` and `inputs.read_strings`."""
    if file_kind(name) == "text":
        yield from text_blocks(name, lines=lines, encoding=encoding, errors=errors, advance=advance)
        return
    batches = read_strings(name, field=field, column=column, encoding=encoding, errors=errors, advance=advance)
    yield from map(arrow_block, batches)


def document_blocks(documents: Iterable[str], name: str = "iterator") -> Iterator[Block]:
    """Documents, each a str, by blocks; `name` says in errors where they are from.

    Raises:
        MwSError: a document holds a lone surrogate, which no UTF-8 text can.
    """
    yield from map(arrow_block, document_batches(documents, name, BLOCK_BYTES))


def arrow_block(strings: pa.LargeStringArray) -> Block:
    """Every element of an Arrow large_string array, valid UTF-8, as a document, without a copy."""
    data, offsets = flat_utf8(strings)
    return Block(data, offsets)
