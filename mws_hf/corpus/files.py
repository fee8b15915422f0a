"""Expand names and globs of input files, describe how files are read, and show a progress bar while reading."""

from __future__ import annotations

import codecs
import contextlib
import glob
import io
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from mws_hf.atomic import check_not_broken_link
from mws_hf.corpus.compression import COMPRESSED
from mws_hf.errors import MwSError, nearest

if TYPE_CHECKING:
    from pyarrow import OSFile

PathLike = str | os.PathLike[str]
STDIN = "-"
DEFAULT_COLUMN = "text"
"""The column of tables, or the field of records, that contains the text if no other one is given."""
_NOT_OF_FILES = ("idna", "punycode", "undefined")
"""Codecs of Python that encode host names, or nothing."""


def open_for_arrow(path: PathLike) -> OSFile:
    """Open a file for pyarrow, which by itself cannot open a file whose name is not UTF-8."""
    from pyarrow import OSFile  # here, because text files are read without it

    return OSFile(os.fsencode(path))


@dataclass(frozen=True)
class Reading:
    """The options for reading files: the column that contains the text, the encoding, and how errors are handled.

    Raises:
        MwSError: the encoding or the handling of errors is unknown.

    Attributes:
        column: the field of JSON-lines records, or the column of tables (CSV, Parquet, Arrow) and datasets, that
            contains the text; None for ``text``. If it is given, standard input and files of unknown kinds are read as
            JSON lines.
        encoding: encoding of text, JSON-lines and CSV files: any text codec of Python.
        errors: "strict", "replace" (U+FFFD) or "ignore" for bytes that are not text.
    """

    column: str | None = None
    encoding: str = "utf-8"
    errors: str = "strict"

    def __post_init__(self) -> None:
        try:
            "".encode(self.encoding)
            codecs.getincrementaldecoder(self.encoding)
            known = codecs.lookup(self.encoding).name not in _NOT_OF_FILES
        except (LookupError, UnicodeError, TypeError, ValueError):
            known = False
        if not known:
            examples = "utf-8, utf-16, cp1251, koi8-r, latin-1"
            raise MwSError(f"unknown encoding {self.encoding!r} of text files; choose one such as {examples}")
        if self.errors not in ("strict", "replace", "ignore"):
            raise MwSError(
                f"errors={self.errors!r} is unknown; choose strict, replace or ignore for bytes that are not text"
            )

    @property
    def is_strict_utf8(self) -> bool:
        """Whether the bytes of a valid file are its text, without conversion."""
        return self.errors == "strict" and codecs.lookup(self.encoding).name == "utf-8"


PLAIN = Reading()
"""The default options: strict UTF-8, and the column ``text``."""


def expand_paths(paths: PathLike | Sequence[PathLike]) -> list[str]:
    """Expand names and globs to the names of existing files, sorted within each glob; "-" stands for standard input.

    A folder that `datasets.Dataset.save_to_disk` wrote counts as a file. A glob with ``**`` returns a file only once,
    even if links give it several names.

    Raises:
        MwSError: there is no name, a file does not exist, no file matches a glob, or a name is an ordinary folder.
    """
    given: Any = paths
    is_list = isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping, io.IOBase))
    names = list(given) if is_list else [given]
    for name in names:
        if not isinstance(name, (str, os.PathLike)):
            raise MwSError(f"{type(name).__name__} is not the name of a file; give a path, or a list of paths")
    if not names:
        raise MwSError("there are no input files; give files, globs such as 'corpus/*.txt.gz', or - for standard input")
    return [file for name in names for file in _expand(os.fspath(name))]


def _expand(name: str) -> list[str]:
    """Return the files that one name or glob stands for."""
    if found := _matching(name):
        return found
    if os.path.isfile(os.path.join(name, "tokenizer.json")):
        raise MwSError(
            f"{name}: is a folder with a tokenizer, but text is needed here; check the order of the arguments"
        )
    if os.path.isdir(name):
        raise MwSError(f"{name}: is a folder; give a glob of its files, such as '{_glob_of(name)}'")
    raise MwSError(f"{name}: {'no file matches this glob' if glob.has_magic(name) else why_missing(name)}")


def _glob_of(folder: str) -> str:
    """Return a glob of the files in a folder, or if there are none, of those in its first subfolder with files."""
    named = ((place, [name for name in names if name[0] != "."]) for place, _, names in os.walk(folder))
    place, names = next((found for found in named if found[1]), (folder, []))
    endings = ["".join(Path(name).suffixes[-2 if name.endswith(COMPRESSED) else -1 :]) for name in names] or [".txt"]
    inside = "*" if place == folder else "**/*"
    return os.path.join(glob.escape(folder), inside + Counter(endings).most_common(1)[0][0])


def _matching(name: str) -> list[str]:
    """Return the files that one name or glob stands for; none if it is an ordinary folder, or matches nothing.

    Raises:
        MwSError: a match is a broken link.
    """
    if os.path.isdir(name) and not is_dataset_folder(name):
        return []
    if name == STDIN or os.path.exists(name):  # it may be a named pipe or a device, which can be read once
        return [name]
    matches = sorted(glob.glob(name, recursive=True))
    for match in matches:
        check_not_broken_link(match)
    found = [match for match in matches if os.path.isfile(match)]
    if "**" in name:  # a link to a parent folder would be followed up to forty times
        found = sorted({os.path.realpath(file): file for file in reversed(found)}.values())
    return found


def why_missing(name: PathLike) -> str:
    """Return why a file does not exist, or why it cannot be known; the message has a similar name if there is one.

    Raises:
        MwSError: the name is that of a broken link.
    """
    check_not_broken_link(name)
    folder, base = os.path.split(name)
    near = None
    try:
        near = nearest(base, os.listdir(folder or os.curdir))
        os.stat(name)
    except PermissionError as error:
        return f"cannot be read ({error.strerror})"
    except (OSError, ValueError):
        if folder and not os.path.isdir(folder):
            return f"no such file, because there is no folder {folder}; check the path"
    return f"no such file; did you mean {os.path.join(folder, near)}?" if near else "no such file; check the path"


def is_read_once(name: PathLike) -> bool:
    """Return whether an input can be read only once and in order: standard input, a pipe or a device."""
    return name == STDIN or (os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name))


def check_read_once(names: Iterable[PathLike]) -> None:
    """Raise MwSError if standard input or a pipe is among the inputs twice, even under two names."""
    seen = set[object]()
    for name in filter(is_read_once, names):
        try:
            status = os.stat("/dev/stdin" if name == STDIN else name)
            identity: object = (status.st_dev, status.st_ino)
        except OSError:  # standard input on Windows
            identity = name
        if identity in seen:
            raise MwSError(
                f"{name}: is given twice, but standard input and pipes can be read only once; give it once, or save "
                "the text in a file"
            )
        seen.add(identity)


def names_file(name: PathLike) -> bool:
    """Return whether a name is "-", an existing file or folder, or a glob that matches a file."""
    try:
        return os.path.isdir(name) or bool(_matching(os.fspath(name)))
    except MwSError:  # a broken link
        return False


def is_dataset_folder(name: PathLike) -> bool:
    """Return whether `name` is a folder written by `save_to_disk` of the `datasets` library."""
    return any(os.path.isfile(os.path.join(name, file)) for file in ("state.json", "dataset_dict.json"))


def progress_bar(show: bool, **options: Any) -> Any:
    """Open a progress bar on standard error, with the options of `tqdm`.

    If `show` is false, or standard error is not a terminal, the bar shows nothing and `tqdm` is not imported.

    Returns:
        A context manager; call `update(n)` of the object that it returns.
    """
    if not show or sys.stderr is None or not sys.stderr.isatty():
        return contextlib.nullcontext(SimpleNamespace(update=lambda n: None))
    from tqdm import tqdm

    return tqdm(**options)
