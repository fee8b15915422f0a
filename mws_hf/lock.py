"""One writer at a time for a directory; what the writer does there is its own business."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from mws_hf.errors import MwSError


@contextlib.contextmanager
def output_lock(directory: str | os.PathLike[str]) -> Iterator[None]:
    """Hold `directory`, made already or not, against every other run that writes it; never waits.

    The lock is the operating system's (the `filelock` library), so that a killed run holds nothing. Its file lies
    beside the directory, not in it, and is removed at the end; a killed run leaves it behind, empty and harmless. The
    same thread may take the lock again.

    Args:
        directory: what will be written; links to it share the lock.

    Raises:
        MwSError: another run is writing there, or nothing can be written there.

    >>> import tempfile
    >>> home = Path(tempfile.mkdtemp())
    >>> with output_lock(home / "out"), output_lock(home / "out"):
    ...     print(*(path.name for path in home.iterdir()))
    .out.lock
    >>> list(home.iterdir())
    []
    """
    target = Path(directory).resolve()
    if target.is_dir() and not os.access(target.parent, os.W_OK):
        target = target / "directory"  # such as a mounted volume: the lock's file can only lie inside
    file = target.parent / f".{target.name}.lock"
    absent = [parent for parent in target.parents if not parent.exists()]
    lock = FileLock(file, timeout=0, is_singleton=True)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise MwSError(f"{directory}: another run is writing there; wait for it, or name another output") from error
    except OSError as error:
        raise MwSError(f"{directory}: cannot be written ({error.strerror or error}); name another output") from error
    try:
        yield
    finally:
        if lock.lock_counter == 1:
            with contextlib.suppress(OSError):  # while still held, or a third run could lock a file of the same name
                file.unlink()
        lock.release()
        for parent in absent:
            with contextlib.suppress(OSError):  # a run that failed leaves no folders; full ones cannot be removed
                parent.rmdir()
