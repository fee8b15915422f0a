"""Read a file as UTF-8 bytes: open it, decompress it, decode it from any encoding, and reject files that are not text.

`open_binary` opens a file or standard input, decompresses it, and adds the name of the file to every error that occurs
while it is open. `utf8_pieces`, `text_stream` and `stored_lines` read text: strict UTF-8 is read unchanged, and other
encodings are converted to UTF-8. Line ends are kept, because they are part of the text that will be encoded. A byte
order mark at the start is left out. A NUL is an error, because it occurs only in binary files, and in UTF-16 that is
read with another encoding. With ``errors`` "replace" or "ignore" it is treated like any other invalid byte.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import logging
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from mws_hf.corpus.compression import COMPRESSED, packing_of, unpacked
from mws_hf.corpus.files import PLAIN, STDIN, PathLike, Reading, why_missing
from mws_hf.corpus.place import Fault, about
from mws_hf.errors import MwSError, first_line, pointer_problem

Advance = Callable[[int], None]
"""A function that is called with the number of bytes that were taken from a file as stored, for a progress bar."""

HEAD_BYTES = 1 << 16
"""The number of bytes at the start of a file that are examined before it is read."""
_PIECE_BYTES = 1 << 20
_EXAMINED_CHARACTERS = 20_000
_ERRORS = "--errors replace or --errors ignore"
BAD_BYTES = f"give {_ERRORS}, if the command has this option (errors= in Python)"
"""The part of a message that says what to do about bytes that are not text."""
_WIDE_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_NOT_TEXT = {
    b"PK\x03\x04": "a zip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a rar archive",
    b"%PDF-": "a PDF",
    b"\x04\x22\x4d\x18": "compressed by lz4",
    b"\x1f\x9d": "compressed by compress",
    b"LZIP\x01": "compressed by lzip",
    b"\x5d\0\0": "compressed by lzma, the predecessor of xz",
    b"PAR1\x15": "a Parquet table and not text; if it is a corpus, give it as a file whose name ends in .parquet",
    b"ARROW1\0\0": "an Arrow table and not text; if it is a corpus, give it as a file whose name ends in .arrow",
}
_logger = logging.getLogger(__name__)


class _Stored(io.RawIOBase):
    """A file whose first bytes can be examined before it is read from its start; it reports how many bytes are read."""

    def __init__(self, raw: Any, advance: Advance | None) -> None:
        self._raw, self._advance = raw, advance
        self.head = self._rest = b""
        while len(self.head) < HEAD_BYTES and (more := raw.read(HEAD_BYTES - len(self.head))):
            self.head += more
        self._rest = self.head

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._rest:
            taken = min(len(buffer), len(self._rest))
            buffer[:taken], self._rest = self._rest[:taken], self._rest[taken:]
        else:
            taken = self._raw.readinto(buffer) or 0
        if self._advance is not None:
            self._advance(taken)
        return taken


@contextlib.contextmanager
def open_binary(name: PathLike, advance: Advance | None = None) -> Iterator[io.BufferedReader]:
    """Open a file or standard input ("-") as bytes; if its first bytes are those of a compressed file, decompress it.

    A `Fault` inside the ``with``, and any failure to read the file, become a MwSError that begins with the name.

    Args:
        name: the file, or "-" for standard input.
        advance: called with the number of bytes that were taken from the file as stored.

    Raises:
        MwSError: the file cannot be read, is damaged, or is not a text or a compressed text.
    """
    with about(name), _readable(), contextlib.ExitStack() as stack:
        if name == STDIN and sys.stdin is None:
            raise MwSError("standard input is closed; give a file, or pipe text into the command")
        stored = stack.enter_context(_stored(name, advance))
        packing = _packing_of_text(stored.head)
        stream: Any = io.BufferedReader(stored, 1 << 18)
        if packing is not None:
            content = _Stored(stack.enter_context(unpacked(stream, packing)), None)
            if _packing_of_text(content.head) is not None:
                raise Fault("is compressed twice; unpack it once")
            stream = io.BufferedReader(content, 1 << 18)
        elif stored.head and name != STDIN and Path(name).suffix.lower() in COMPRESSED:
            raise Fault("is not compressed, although its suffix says so; rename it without that suffix")
        yield stream


def stored_head(name: PathLike) -> bytes:
    """Read the first `HEAD_BYTES` bytes of a file as stored, without decompressing it.

    Raises:
        MwSError: the file cannot be read, or is only a pointer of Git LFS or git-annex.
    """
    with about(name), _stored(name, None) as stored:
        if problem := pointer_problem(stored.head):
            raise Fault(problem)
        return stored.head


@contextlib.contextmanager
def _stored(name: PathLike, advance: Advance | None) -> Iterator[_Stored]:
    """Open a file or standard input as stored; raises `Fault` if it cannot be read."""
    with contextlib.ExitStack() as stack:
        try:
            raw = sys.stdin.buffer if name == STDIN else stack.enter_context(io.FileIO(name, "rb"))
            stored = _Stored(raw, advance)
        except FileNotFoundError as error:
            raise Fault(why_missing(name)) from error
        except OSError as error:
            raise Fault(f"cannot be read ({error.strerror})") from error
        except ValueError as error:  # a NUL, or a character that cannot be encoded
            raise Fault(f"no file can have this name ({first_line(error)})") from error
        yield stored


def _packing_of_text(head: bytes) -> str | None:
    """Return the compression format of a file that should contain text; None if it is not compressed.

    Raises:
        Fault: its first bytes are those of a file that is not text, or of a pointer of Git LFS or git-annex.
    """
    if problem := pointer_problem(head):
        raise Fault(problem)
    other = next((what for mark, what in _NOT_TEXT.items() if head.startswith(mark)), None)
    if other is None and head[257:262] == b"ustar":
        other = "a tar archive"
    if other is not None:
        raise Fault(f"is {other}{'' if ';' in other else '; unpack or convert it, and give text files'}")
    return packing_of(head)


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    """Convert the errors of libraries that read a damaged or unreadable file to a `Fault`."""
    try:
        yield
    except Exception as error:
        unpacking = type(error).__name__ == "LZMAError" or type(error).__module__ == "pyarrow.lib"  # seldom imported
        if not unpacking and not isinstance(error, (EOFError, OSError, zlib.error)):
            raise
        if "too much memory" in str(error):
            raise Fault("was compressed by zstd --long; unpack it first, with: zstd -d --long=31") from error
        raise Fault(f"cannot be read to its end ({first_line(error)}); it may be damaged or truncated") from error


def read_blocks(stream: io.BufferedReader, size: int) -> Iterator[bytes]:
    """Read a stream in blocks of at most `size` bytes."""
    return iter(lambda: stream.read(size), b"")


def fill(stream: Any, buffer: bytearray, start: int, stop: int) -> int:
    """Read into ``buffer[start:stop]`` until it is full or the file ends; return the index after the last byte."""
    with memoryview(buffer) as view:
        while start < stop and (size := stream.readinto(view[start:stop])):
            start += size
    return start


def not_text(data: bytes, at: int, byte: int, line: int | None, encoding: str, reason: str) -> Fault:
    """Return the fault for bytes that are not valid in an encoding; it proposes encodings that fit them.

    Args:
        data: text around the invalid bytes.
        at: index of the first invalid byte in `data`.
        byte: its position in the file, counted from 0, for the message.
        line: its line, counted from 1, for the message; None if there are no lines.
        encoding: the encoding that the text was read with.
        reason: what is invalid, from the codec.
    """
    from mws_hf.corpus.encodings import candidates, is_mostly_utf8  # here, because few need it

    problem = f"byte {byte} is not {encoding} ({reason})"
    near = data[max(0, at - HEAD_BYTES) : at + HEAD_BYTES]
    if encoding == "utf-8" and is_mostly_utf8(near):
        return Fault(f"{problem}; the text around it is UTF-8, so repair these bytes, or {BAD_BYTES}", line)
    found = candidates(data, at)
    if not found:
        advice = f"leave out what is not text, or {_with_encoding('NAME')}"
        return Fault(f"{problem}, and the text fits none of the usual encodings; {advice}", line)
    spelled = ", ".join(f"{word!r} in {' or '.join(names[:3])}" for names, word in found)
    named = found[0].names[0]
    return Fault(
        f"{problem}; the bytes spell {spelled}: {_with_encoding(named)}; otherwise convert the file to UTF-8 "
        f"(iconv -f {named} -t utf-8)",
        line,
    )


def nul_fault(data: bytes, line: int, byte: int) -> Fault:
    """Return the fault for a NUL in a text.

    Args:
        data: the text around the NUL. It begins at a byte of the file that is a multiple of four, so that UTF-16 and
            UTF-32 can be recognized.
        line: the line of the NUL, counted from 1.
        byte: its position in the file, counted from 0.
    """
    from mws_hf.corpus.encodings import wide_encoding

    wide = wide_encoding(data)
    hint = _with_encoding(wide) if wide else f"leave out what is not text, or {BAD_BYTES}"
    return Fault(f"byte {byte} is NUL, which is not text; {hint}", line)


def _with_encoding(name: str) -> str:
    """Return the part of a message that proposes an encoding, or to replace or ignore the bytes."""
    options = "if the command has these options (encoding= and errors= in Python)"
    return f"give --encoding {name}, or {_ERRORS}, {options}"


def first_bytes(stream: io.BufferedReader) -> tuple[bytes, int]:
    """Return the first bytes of UTF-8 text without a byte order mark, and the length of that mark (0 or 3)."""
    head = next(read_blocks(stream, len(codecs.BOM_UTF8)), b"")
    return (b"", len(head)) if head == codecs.BOM_UTF8 else (head, 0)


def check_mark(stream: io.BufferedReader, how: Reading) -> None:
    """Raise `Fault` if a text has a byte order mark of a different encoding, or lacks one that its encoding needs."""
    head, encoding = stream.peek(4)[:4], codecs.lookup(how.encoding).name
    found = next((name for mark, name in _WIDE_MARKS.items() if head.startswith(mark)), None)
    if found is not None and not encoding.startswith(found):
        raise Fault(
            f"begins with the byte order mark of {found.upper()}; give --encoding {found}, if the command has "
            f"this option (encoding= in Python); otherwise convert the file to UTF-8 (iconv -f {found} -t utf-8)",
            1,
        )
    if head and encoding in ("utf-16", "utf-32") and found != encoding:
        raise Fault(
            f"has no byte order mark, so the order of the bytes is unknown; give --encoding {encoding}-le or "
            f"{encoding}-be (encoding= in Python), or leave --encoding out if the text is UTF-8",
            1,
        )


def _converted(stream: io.BufferedReader, how: Reading, size: int) -> Iterator[bytes]:
    """Convert text to valid UTF-8, in pieces of whole characters; `size` bytes of the file are read for each.

    Raises:
        Fault: the text is not in its encoding, or contains a NUL, and errors are strict.
    """
    encoding = how.encoding
    decoder = codecs.getincrementaldecoder(encoding)(how.errors)
    line = byte = written = 0
    started = False
    for raw in chain(read_blocks(stream, size), [b""]):
        try:
            text = decoder.decode(raw, final=not raw)
        except UnicodeDecodeError as error:
            data, at = bytes(error.object), error.start
            bad = byte + at - (len(data) - len(raw))  # bytes held back from the block before are negative
            number = line + data[:at].decode(encoding, "replace").count("\n") + 1
            raise not_text(data, at, bad, number, encoding, error.reason) from error
        except UnicodeError as error:  # some codecs give no position
            raise not_text(raw, 0, byte, line + 1, encoding, first_line(error)) from error
        lines = text.count("\n")
        if text and not started:
            started, marked = True, text[:1] == "\ufeff"
            text, written = text[marked:], len(codecs.BOM_UTF8) * marked
        piece = _without_nul(text, how, line, written).encode("utf-8", "replace")
        line, byte, written = line + lines, byte + len(raw), written + len(piece)
        yield piece


def _without_nul(text: str, how: Reading, line: int, byte: int) -> str:
    """Replace or remove each NUL of a text, or raise `Fault`, as `how.errors` demands.

    Args:
        text: a part of the text of a file.
        how: the options for reading.
        line: the number of lines before this part.
        byte: the number of bytes before this part.
    """
    at = text.find("\0")
    if at < 0:
        return text
    if how.errors == "strict":
        data = text[:HEAD_BYTES].encode(how.encoding, "replace")
        raise nul_fault(data, line + text.count("\n", 0, at) + 1, byte + len(text[:at].encode()))
    return text.replace("\0", "\ufffd" if how.errors == "replace" else "")


def utf8_pieces(stream: io.BufferedReader, how: Reading, size: int = _PIECE_BYTES) -> Iterator[bytes]:
    """Read text as UTF-8 in pieces of about `size` bytes.

    Strict UTF-8 is searched for NUL, but its validity is not checked.

    Raises:
        Fault: there is a NUL, the text is not in its encoding (other than UTF-8), or the byte order mark is wrong.
    """
    check_mark(stream, how)
    if not how.is_strict_utf8:
        yield from _converted(stream, how, size)
        return
    head, byte = first_bytes(stream)
    line = 0
    for piece in chain([head] if head else [], read_blocks(stream, size)):
        if (at := piece.find(b"\0")) >= 0:
            data = piece[-byte % 4 :] if len(piece) > HEAD_BYTES else piece + stream.peek()
            raise nul_fault(data, line + piece.count(b"\n", 0, at) + 1, byte + at)
        line, byte = line + piece.count(b"\n"), byte + len(piece)
        yield piece


class _Pieces(io.RawIOBase):
    """A binary file whose content is an iterator of bytes."""

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


def text_stream(stream: io.BufferedReader, how: Reading) -> io.BufferedReader:
    """Open a text as a file of UTF-8 bytes, which `utf8_pieces` reads."""
    return io.BufferedReader(_Pieces(utf8_pieces(stream, how)), HEAD_BYTES)


def stored_lines(name: PathLike, how: Reading = PLAIN, advance: Advance | None = None) -> Iterator[str]:
    r"""Read the lines of a text file, each with its line end (``\n``, ``\r\n`` or ``\r``) as stored.

    A carriage return by itself ends a line only in files for which `ends_by_return` is true.

    Raises:
        MwSError: the file cannot be read, or is not text in its encoding.
    """
    rest, by_return = list[str](), None
    with open_binary(name, advance) as stream:
        check_mark(stream, how)
        for piece in _converted(stream, how, _PIECE_BYTES):
            text = piece.decode()
            if by_return is None and text:
                by_return = ends_by_return(text.encode())
            if end := max(text.rfind("\n"), text.rfind("\r", 0, -1) if by_return else -1) + 1:
                yield from io.StringIO("".join([*rest, text[:end]]), newline="" if by_return else "\n")
                rest = []
            rest.append(text[end:])
    yield from io.StringIO("".join(rest), newline="" if by_return else "\n")


def decoded_lines(lines: Iterable[bytes]) -> Iterator[str]:
    """Decode lines of UTF-8 that arrive one by one, such as lines that are typed at a terminal.

    A byte order mark at the start, which some shells write, is left out.

    Raises:
        Fault: a line is not UTF-8.
    """
    for number, line in enumerate(lines, start=1):
        try:
            yield line.decode("utf-8").removeprefix("\ufeff" if number == 1 else "")
        except UnicodeDecodeError as error:
            raise not_text(line, error.start, error.start, number, "utf-8", error.reason) from error


def ends_by_return(start: bytes) -> bool:
    """Return whether lines end with carriage returns only: the first 64 KiB contain some, and no line feed.

    Args:
        start: the first bytes of a text.
    """
    head = start[:HEAD_BYTES]
    return b"\r" in head and b"\n" not in head


def examine(name: PathLike, how: Reading) -> bytes:
    """Examine the start of a text file before it is read, and return its first bytes.

    A warning is logged if many words mix scripts, because the encoding is then probably wrong.

    Raises:
        MwSError: the first bytes are not those of a text.
    """
    with open_binary(name) as stream:
        check_mark(stream, how)
        head = next(read_blocks(stream, HEAD_BYTES), b"")
    if codecs.lookup(how.encoding).name == "utf-8":
        return head
    from mws_hf.corpus.encodings import garbled_word

    text = codecs.getincrementaldecoder(how.encoding)("ignore").decode(head)
    if word := garbled_word(text[:_EXAMINED_CHARACTERS]):
        _logger.warning(
            "%s: many words that are read as %s mix scripts or cases, such as %r; the file may have another encoding",
            name, how.encoding, word,
        )  # fmt: skip
    return head
