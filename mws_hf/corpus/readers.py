"""Read text files, JSON lines, .csv and .tsv: bytes to UTF-8 blocks, lines, documents and rows.

Line ends stay in the text exactly as they are, because they are part of what will be encoded. A byte order mark at the
start of a file is no text and is left out. A NUL is no text either: it stands in binary files and in UTF-16 read as
another encoding. It is refused, or with ``errors`` "replace" and "ignore" treated as a byte that is not text.

In .csv a field that begins with a quotation mark ends at the next mark that is not doubled (RFC 4180); elsewhere a mark
is text. In .tsv marks are read so only if that fits the whole file: every quoted field ends before a tab or a line end,
every row has as many fields as the first, and no field goes over lines that would be rows by themselves. Else every
mark is text and every line is a row; names in the first line may be quoted in either case.

A field that is never closed, text after a closing mark, and a row with another number of fields are errors with file
and line. Fields that go over several lines are reported, as a pair of stray marks makes one.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from mws_hf.corpus.files import DEFAULT_COLUMN, PLAIN, PathLike, Reading, open_binary, read_blocks
from mws_hf.errors import MwSError
from mws_hf.text.symbols import check_unicode

_LONGEST_FIELD = 16 << 20  # characters of a field of .csv, after which a mark that is never closed is noticed
_PIECE = 1 << 20
_HEAD = 1 << 16
_logger = logging.getLogger(__name__)


def decoding_error(where: str, encoding: str, reason: str) -> MwSError:
    """Make the error for bytes that are not text; `where` names file and place."""
    return MwSError(
        f"{where} is not {encoding} ({reason}); convert it to UTF-8 (iconv -f cp1251 -t utf-8) or, where a corpus "
        "is read, name the encoding (--encoding cp1251) or what to do with bad bytes (--errors replace or ignore)"
    )


def nul_error(name: PathLike, line: int, byte: int) -> MwSError:
    """Make the error for a NUL in a text, with its 1-based line and its offset in the text as UTF-8."""
    return MwSError(
        f"{name}:{line}: byte {byte} is NUL, which no text holds; for UTF-16 without its mark name the encoding "
        "(--encoding utf-16-le or utf-16-be), leave a binary file out, or say what to do with such bytes (--errors "
        "replace or ignore)"
    )


def _without_nul(text: str, how: Reading, name: PathLike, line: int, byte: int) -> str:
    """Treat each NUL of a text as `how.errors` says; `line` and `byte` are those before the text."""
    at = text.find("\0")
    if at < 0:
        return text
    if how.errors == "strict":
        raise nul_error(name, line + text.count("\n", 0, at) + 1, byte + len(text[:at].encode()))
    return text.replace("\0", "\ufffd" if how.errors == "replace" else "")


def first_bytes(stream: io.BufferedReader, name: PathLike) -> tuple[bytes, int]:
    """Return the first bytes of UTF-8 text without a byte order mark, and the bytes that mark took (0 or 3)."""
    head = next(read_blocks(stream, name, len(codecs.BOM_UTF8)), b"")
    return (b"", len(head)) if head == codecs.BOM_UTF8 else (head, 0)


def converted(stream: io.BufferedReader, name: PathLike, how: Reading, size: int) -> Iterator[bytes]:
    """Convert the text of `stream` to valid UTF-8, in pieces of whole characters made of `size` bytes each."""
    encoding = how.encoding
    decoder = codecs.getincrementaldecoder(encoding)(how.errors)
    line = byte = written = 0
    started = False
    for raw in chain(read_blocks(stream, name, size), [b""]):
        try:
            text = decoder.decode(raw, final=not raw)
        except UnicodeDecodeError as error:
            bad = error.start - (len(error.object) - len(raw))  # bytes held back from the block before are negative
            at = line + error.object[: error.start].decode(encoding, "replace").count("\n") + 1
            raise decoding_error(f"{name}:{at}: byte {byte + bad}", encoding, error.reason) from error
        lines = text.count("\n")
        if text and not started:
            started, byte_order_mark = True, text[:1] == "\ufeff"
            text, written = text[byte_order_mark:], len(codecs.BOM_UTF8) * byte_order_mark
        piece = _without_nul(text, how, name, line, written).encode("utf-8", "replace")
        line, byte, written = line + lines, byte + len(raw), written + len(piece)
        yield piece


def utf8_pieces(stream: io.BufferedReader, name: PathLike, how: Reading, size: int) -> Iterator[bytes]:
    """Read `stream` as UTF-8 in pieces; of strict UTF-8 only NUL is looked for, not whether it is valid."""
    if not how.is_strict_utf8:
        yield from converted(stream, name, how, size)
        return
    head, byte = first_bytes(stream, name)
    line = 0
    for piece in chain([head] if head else [], read_blocks(stream, name, size)):
        if (at := piece.find(b"\0")) >= 0:
            raise nul_error(name, line + piece.count(b"\n", 0, at) + 1, byte + at)
        line, byte = line + piece.count(b"\n"), byte + len(piece)
        yield piece


class _Pieces(io.RawIOBase):
    """An iterator of bytes as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def text_stream(stream: io.BufferedReader, name: PathLike, how: Reading) -> io.BufferedReader:
    """Open a text as a file of UTF-8 bytes; `utf8_pieces` reads them."""
    return io.BufferedReader(_Pieces(utf8_pieces(stream, name, how, _PIECE)), _HEAD)


def stored_lines(name: PathLike, how: Reading = PLAIN, advance: Callable[[int], None] | None = None) -> Iterator[str]:
    r"""Read lines of a text file, each with its line end (``\n``, ``\r\n``) as it stands; see `ends_by_return`.

    `advance` is called with the number of bytes taken from the file as stored.
    """
    rest, by_return = list[str](), None
    with open_binary(name, advance) as stream:
        for piece in converted(stream, name, how, _PIECE):
            text = piece.decode()
            if by_return is None and text:
                by_return = ends_by_return(text.encode())
            if cut := max(text.rfind("\n"), text.rfind("\r", 0, -1) if by_return else -1) + 1:
                yield from io.StringIO("".join([*rest, text[:cut]]), newline="" if by_return else "\n")
                rest = []
            rest.append(text[cut:])
    yield from io.StringIO("".join(rest), newline="" if by_return else "\n")


def ends_by_return(start: bytes) -> bool:
    """Return whether carriage returns end the lines of a file: its first 64 KiB hold some, and no line feed."""
    head = start[:_HEAD]
    return b"\r" in head and b"\n" not in head


def read_jsonl(name: PathLike, how: Reading, advance: Callable[[int], None] | None = None) -> Iterator[str]:
    """Read the string under `how.column` of each line of JSON lines; blank lines are passed over.

    A null value is an empty text, so that documents keep the order and number of records.
    """
    field = how.column or DEFAULT_COLUMN
    for number, line in enumerate(stored_lines(name, how, advance), start=1):
        if not line.strip():
            continue
        record = _record(line, f"{name}:{number}")
        if field not in record:
            raise no_place(f"{name}:{number}", "field", how.column, record, "--column")
        text = record[field]
        if text is None:
            text = ""
        where = f"{name}:{number}: field {field!r}"
        if not isinstance(text, str):
            raise MwSError(f"{where} holds {type(text).__name__}, not text")
        if "\\u" in line:  # the one way into JSON for what UTF-8 cannot hold
            check_unicode(text, where)
        yield text


def _record(line: str, where: str) -> dict[str, object]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise MwSError(f"{where}: not JSON ({error.msg} at column {error.colno})") from error
    except RecursionError as error:
        raise MwSError(f"{where}: JSON nested too deeply to be read; leave the record out") from error
    except ValueError as error:  # a number of more digits than Python reads
        raise MwSError(f"{where}: JSON that cannot be read ({error})") from error
    if not isinstance(record, dict):
        raise MwSError(f"{where}: a JSON {type(record).__name__}, not an object with a text field")
    return record


def no_place(where: str, kind: str, name: str | None, names: Iterable[object], option: str) -> MwSError:
    """Make the error for text that is not under a "column" or "field" of that name, or of `DEFAULT_COLUMN`."""
    wanted = f"which {kind} holds the text?" if name is None else f"no {kind} {name!r};"
    here = ", ".join(map(str, names)) or "none"
    return MwSError(f"{where}: {wanted} {kind}s here: {here} (choose with {option})")


def read_header(name: PathLike, how: Reading) -> list[str]:
    """Read the names of the columns; none where the file is empty."""
    return next(_parsed(stored_lines(name, how), name, csv.QUOTE_MINIMAL), ([], 0))[0]


def read_rows(name: PathLike, how: Reading, advance: Callable[[int], None] | None = None) -> Iterator[list[str]]:
    """Read the rows, the header first; lines without any character are passed over."""
    quoting = csv.QUOTE_MINIMAL if not _is_tsv(name) or _quotes_fit(name, how) else csv.QUOTE_NONE
    over, first, last = 0, (0, 0), -1
    for row, line in _parsed(stored_lines(name, how, advance), name, quoting):
        if line - last > 1 and last >= 0 and any("\n" in field for field in row):
            first = first if over else (last + 1, line)
            over += 1
        last = line
        yield row
    if over:
        _logger.warning(
            "%s: rows that go over several lines: %d, the first in lines %d to %d; if rows are missing, a quotation "
            "mark stands open there",
            name, over, *first,
        )  # fmt: skip


def _parsed(lines: Iterator[str], name: PathLike, quoting: int) -> Iterator[tuple[list[str], int]]:
    """Yield rows, each with the number of its last line."""
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
    reader = csv.reader(lines, delimiter="\t" if _is_tsv(name) else ",", quoting=quoting, strict=True)  # type: ignore[arg-type]
    width = 0
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise MwSError(f"{name}:{line}: {_fault(str(error), reader.line_num)}") from error
        if row is None:
            return
        if row:
            width = width or len(row)
            if len(row) != width:
                raise MwSError(f"{name}:{line}: not a readable CSV row: {len(row)} fields, but the header has {width}")
            yield row, reader.line_num


def _fault(error: str, line: int) -> str:
    if "unexpected end" in error or "field larger" in error:
        return "a quotation mark opens a field here and none closes it; double a mark that is text, and quote its field"
    if "expected after" in error:
        return (
            f"text follows the quotation mark that closes a field in line {line}; double a mark that is text, and "
            "quote its field"
        )
    return error


def _quotes_fit(name: PathLike, how: Reading) -> bool:
    """Return whether quotation marks can be read as quoting in the whole of a .tsv file."""
    if not os.path.isfile(name):  # a pipe is read but once
        return False
    try:
        rows = _parsed(stored_lines(name, how), name, csv.QUOTE_MINIMAL)
        return not any(_holds_rows(row) for row, _ in rows)
    except MwSError:
        return False


def _holds_rows(row: list[str]) -> bool:
    """Return whether every line of a row over several lines has as many tabs as a row of its own would have."""
    lines = "\t".join(row).removesuffix("\n").split("\n") if len(row) > 1 else []
    return len(lines) > 1 and all(line.count("\t") == len(row) - 1 for line in lines)


def _is_tsv(name: PathLike) -> bool:
    return ".tsv" in os.path.basename(name).lower()
