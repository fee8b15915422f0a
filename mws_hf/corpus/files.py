"""Names of input files, the kind of each, the way to read it, its bytes with any compression undone, and their bar."""

from __future__ import annotations

import codecs
import contextlib
import glob
import gzip
import importlib
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mws_hf.errors import MwSError, first_line, refuse_pointer

PathLike = str | os.PathLike[str]
STDIN = "-"
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
DEFAULT_COLUMN = "text"
"""Where the text of records and tables is unless a name is given."""

TEXT = (".txt", ".text", ".md", ".rst")
"""Names that say a file is plain text; any other is taken for it unless a column is named."""

KINDS = {
    ".jsonl": "jsonl",
    ".jsonlines": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
_UNPACK = "an archive is not read; unpack it and name the files in it"
_REFUSED = {
    ".json": "JSON in one piece is not read; write one record a line, for example with: jq -c '.[]' x.json > x.jsonl",
    **dict.fromkeys((".tar", ".tgz", ".zip", ".7z", ".rar"), _UNPACK),
    **dict.fromkeys((".pdf", ".doc", ".docx", ".odt", ".epub", ".xls", ".xlsx"), "not text; convert it to .txt first"),
}


@dataclass(frozen=True)
class Reading:
    """The way in which files are read.

    Attributes:
        column: name of the text: a field of JSON-lines records, a column of tables (CSV, Parquet, Arrow) and datasets.
            None: ``text``. With a name, standard input and files of unknown kinds are JSON lines.
        encoding: of text, JSON-lines and CSV files, any codec of Python.
        errors: "strict", "replace" (U+FFFD) or "ignore" for bytes that are not text.
    """

    column: str | None = None
    encoding: str = "utf-8"
    errors: str = "strict"

    def __post_init__(self) -> None:
        try:
            "".encode(self.encoding)
            codecs.getincrementaldecoder(self.encoding)
        except LookupError as error:
            examples = "utf-8, utf-16, cp1251, koi8-r, latin-1"
            raise MwSError(f"unknown encoding {self.encoding!r}; examples: {examples}") from error
        if self.errors not in ("strict", "replace", "ignore"):
            raise MwSError(f"unknown way to treat bad bytes {self.errors!r}; choose strict, replace or ignore")

    @property
    def is_strict_utf8(self) -> bool:
        """Whether the bytes of a valid file are its text, without conversion."""
        return self.errors == "strict" and codecs.lookup(self.encoding).name == "utf-8"

    def kind(self, name: PathLike) -> str:
        """Name the kind of a file by `file_kind`; JSON lines where its name leaves it open and a column is named."""
        is_known = name != STDIN and _ending(name)[0] in (*TEXT, *KINDS, *_REFUSED) or is_dataset_folder(name)
        return file_kind(name) if is_known or self.column is None else "jsonl"


PLAIN = Reading()


def _ending(name: PathLike) -> tuple[str, str]:
    """Return the suffix of a name before one that says how it is compressed, and the latter; each "" where absent."""
    *_, before, last = ["", "", *(suffix.lower() for suffix in Path(name).suffixes)]
    return (before, last) if last in COMPRESSED else (last, "")


def expand_paths(paths: PathLike | Sequence[PathLike]) -> list[str]:
    """Turn names and globs into file names, sorted within each glob; "-" stands for standard input.

    A folder that `datasets.Dataset.save_to_disk` wrote counts as a file. A file that links give several names is taken
    once by a glob with ``**``.
    """
    names = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not names:
        raise MwSError("no input files given; name files, globs such as 'corpus/*.txt.gz', or - for standard input")
    return [file for name in names for file in _expand(os.fspath(name))]


def _expand(name: str) -> list[str]:
    if name == STDIN or os.path.isfile(name) or is_dataset_folder(name):
        return [name]
    if os.path.isdir(name):
        raise MwSError(f"{name}: a folder; give a glob of its files, such as '{os.path.join(name, '*.txt')}'")
    if os.path.exists(name):  # a named pipe or a device: readable, once
        return [name]
    found = sorted(f for f in glob.glob(name, recursive=True) if os.path.isfile(f))
    if "**" in name:  # which follows a link to a folder above it forty times
        found = sorted({os.path.realpath(file): file for file in reversed(found)}.values())
    if not found:
        what = "no file matches this glob" if glob.has_magic(name) else "no such file"
        raise MwSError(f"{name}: {what}")
    return found


def names_file(name: PathLike) -> bool:
    """Return whether `expand_paths` takes a name."""
    try:
        _expand(os.fspath(name))
    except MwSError:
        return os.path.isdir(name)
    return True


def is_dataset_folder(name: PathLike) -> bool:
    """Return whether `name` is a folder written by `save_to_disk` of the `datasets` library."""
    return any(os.path.isfile(os.path.join(name, file)) for file in ("state.json", "dataset_dict.json"))


def file_kind(name: PathLike) -> str:
    """Name the kind of a file: "text", "jsonl", "csv", "parquet" or "arrow" by its name, or "dataset" for a folder.

    The folder is one that `save_to_disk` wrote.
    """
    if is_dataset_folder(name):
        return "dataset"
    last, compressed = _ending(name)
    if last in _REFUSED:
        raise MwSError(f"{name}: {_REFUSED[last]}")
    kind = KINDS.get(last, "text")
    if compressed and kind in ("parquet", "arrow"):
        raise MwSError(f"{name}: {last} files are not read through {Path(name).suffix}; unpack it first")
    return kind


PACKED = {
    b"\x1f\x8b": "gzip",
    **{b"BZh%d%s" % (level, mark): "bz2" for level in range(1, 10) for mark in (b"1AY&SY", b"\x17rE8P\x90")},
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    **{bytes([0x50 + number]) + b"\x2a\x4d\x18": "zstd" for number in range(16)},  # frames to be skipped come first
}
"""The first bytes of compressed files, which are unpacked whatever their names, and the library for each."""

_OTHER = {
    b"PK\x03\x04": "a zip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a rar archive",
    b"%PDF-": "a PDF",
    b"\x04\x22\x4d\x18": "compressed by lz4",
    b"\x1f\x9d": "compressed by compress",
    b"LZIP\x01": "compressed by lzip",
    b"PAR1\x15": "a Parquet table; end its name in .parquet",
    b"ARROW1\0\0": "an Arrow table; end its name in .arrow",
}
_HEAD = 1 << 16


class _Stored(io.RawIOBase):
    """A file as stored, from its start although its first bytes have been looked at; it reports the bytes taken."""

    def __init__(self, raw: Any, advance: Callable[[int], None] | None) -> None:
        self._raw, self._advance = raw, advance
        self.head = self._rest = b""
        while len(self.head) < _HEAD and (more := raw.read(_HEAD - len(self.head))):
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
def open_binary(name: PathLike, advance: Callable[[int], None] | None = None) -> Iterator[io.BufferedReader]:
    """Open a file or standard input ("-") for reading bytes, unpacked where its first bytes say that it is compressed.

    `advance` is called with the number of bytes taken from the file as stored (compressed ones of a .gz).
    """
    with contextlib.ExitStack() as stack, _readable(name):
        if name == STDIN and sys.stdin is None:
            raise MwSError("standard input is closed; name a file, or send text to it")
        try:
            raw = sys.stdin.buffer if name == STDIN else stack.enter_context(io.FileIO(name, "rb"))
            stored = _Stored(raw, advance)
        except OSError as error:
            raise MwSError(f"{name}: cannot be read ({error.strerror})") from error
        kind = _check_head(stored.head, name)
        stream: Any = io.BufferedReader(stored, 1 << 18)
        if kind is not None:
            unpacked = _Stored(stack.enter_context(_unpacked(stream, name, kind)), None)
            if _check_head(unpacked.head, name) is not None:
                raise MwSError(f"{name}: compressed twice; unpack it once")
            stream = io.BufferedReader(unpacked, 1 << 18)
        elif stored.head and name != STDIN and Path(name).suffix.lower() in COMPRESSED:
            raise MwSError(f"{name}: cannot be unpacked, since it is not compressed; end its name in another way")
        yield stream


def _check_head(head: bytes, name: PathLike) -> str | None:
    """Return how a file that begins so is compressed; raises MwSError where it begins as no text does."""
    refuse_pointer(head, name)
    kind = next((kind for mark, kind in PACKED.items() if head.startswith(mark)), None)
    if KINDS.get(_ending(name)[0]) in ("parquet", "arrow"):
        if kind is not None:
            raise MwSError(f"{name}: a table compressed as a whole by {kind}; unpack it first")
        return None
    other = next((what for mark, what in _OTHER.items() if head.startswith(mark)), None)
    if other is None and head[257:262] == b"ustar":
        other = "a tar archive"
    if other is not None:
        raise MwSError(f"{name}: {other}{'' if ';' in other else '; unpack or convert it, and name files of text'}")
    return kind


def _unpacked(raw: Any, name: PathLike, kind: str) -> Any:
    if kind == "gzip":
        return gzip.GzipFile(fileobj=raw)
    if kind == "zstd":
        import pyarrow as pa  # here, because few need it

        if not pa.Codec.is_available("zstd"):
            raise MwSError(f"{name}: the installed pyarrow was built without zstd; unpack it first, with: zstd -d")
        return pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")
    module, opener = {"bz2": ("bz2", "BZ2File"), "xz": ("lzma", "LZMAFile")}[kind]
    try:  # Python can be built without either
        return getattr(importlib.import_module(module), opener)(raw)
    except ImportError as error:
        raise MwSError(f"{name}: this Python was built without {module}; unpack the file first") from error


def read_blocks(stream: io.BufferedReader, name: PathLike, size: int) -> Iterator[bytes]:
    """Read `stream` in blocks of at most `size` bytes; a broken compressed file gives a MwSError naming it."""
    with _readable(name):
        while block := stream.read(size):
            yield block


def fill(stream: Any, name: PathLike, buffer: bytearray, start: int, stop: int) -> int:
    """Read into ``buffer[start:stop]`` until it is full or the file ends; return the place after the bytes read."""
    with _readable(name), memoryview(buffer) as view:
        while start < stop and (size := stream.readinto(view[start:stop])):
            start += size
    return start


@contextlib.contextmanager
def _readable(name: PathLike) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        unpacking = type(error).__name__ == "LZMAError" or type(error).__module__ == "pyarrow.lib"  # seldom imported
        if not unpacking and not isinstance(error, (EOFError, OSError, zlib.error)):
            raise
        if "too much memory" in str(error):
            raise MwSError(f"{name}: packed by zstd --long; unpack it first, with: zstd -d --long=31") from error
        raise MwSError(f"{name}: cannot be read to its end ({first_line(error)}); is it damaged or cut off?") from error


def progress_bar(show: bool, **options: Any) -> Any:
    """Open a bar on standard error with the options of `tqdm`; off a terminal one that shows nothing, without tqdm."""
    if not show or sys.stderr is None or not sys.stderr.isatty():
        return contextlib.nullcontext(SimpleNamespace(update=lambda n: None))
    from tqdm import tqdm

    return tqdm(**options)
