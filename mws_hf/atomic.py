"""Atomic file writing: an interrupted run leaves the old file or none. It does not lock against other writers."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mws_hf.errors import MwSError


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it replaces `path` in one step, on any error it is removed.

    Args:
        path: the file to write; its folder is made if absent.

    Raises:
        MwSError: `path` is a folder, or its folder cannot be made or written.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "numbers.txt"
    >>> with atomic_path(target) as temporary:
    ...     _ = temporary.write_text("1 2 3", encoding="utf-8")
    >>> target.read_text(encoding="utf-8"), [p.name for p in target.parent.iterdir()]
    ('1 2 3', ['numbers.txt'])
    """
    target = Path(path)
    if target.is_dir():
        raise MwSError(f"{target}: is a folder; name a file to write")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    except OSError as error:
        raise MwSError(f"{target}: cannot be written ({error.strerror}); choose a folder you may write to") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def check_output(path: str | os.PathLike[str], *, folder: bool) -> None:
    """Check, before any work, that a file or a folder can be written; nothing is made.

    Raises:
        MwSError: it is of the other kind, stands below a file, or the place where it goes cannot be written.

    >>> check_output(__file__, folder=True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: ...atomic.py: is a file; name a directory to write
    """
    target = Path(path)
    try:
        if folder and target.is_file():
            raise MwSError(f"{target}: is a file; name a directory to write")
        if not folder and target.is_dir():
            raise MwSError(f"{target}: is a folder; name a file to write")
        place = target if folder else target.absolute().parent
        while not place.exists():
            place = place.absolute().parent
        with tempfile.TemporaryFile(dir=place):  # the only sure test, and it has no name where the system allows that
            pass
    except OSError as error:
        raise MwSError(f"{target}: cannot be written ({error.strerror}); choose a folder you may write to") from error


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `path` as UTF-8, atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
