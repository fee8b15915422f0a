"""Memory that was freed, given back to the system at once; it frees nothing itself."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
MAPPED = 1 << 20
"""Bytes from which an array is mapped on its own while learning."""


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL | None:
    """The C library where it is glibc; None elsewhere."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        libc = ctypes.CDLL(None)
        return libc if libc.malloc_trim and libc.mallopt else None
    except (OSError, AttributeError):
        return None


@contextmanager
def mapped_arrays() -> Iterator[None]:
    """While inside, arrays are mapped one by one, so that the system has them back as soon as they are freed.

    Left alone, glibc soon keeps freed arrays of up to 32 MB, for each thread: a third of what learning took. That
    limit, where its own adaptation ends, is set afterwards. Other C libraries are left alone.

    >>> with mapped_arrays():
    ...     len(bytearray(1 << 21))
    2097152
    """
    libc = _libc()
    if libc is not None:
        libc.mallopt(M_MMAP_THRESHOLD, MAPPED)
    try:
        yield
    finally:
        if libc is not None:
            libc.mallopt(M_MMAP_THRESHOLD, 32 << 20)
            libc.mallopt(M_TRIM_THRESHOLD, 64 << 20)


def give_back() -> None:
    """Return freed memory to the system, where the C library is known to keep it.

    >>> give_back()
    """
    libc = _libc()
    if libc is not None:
        libc.malloc_trim(0)
