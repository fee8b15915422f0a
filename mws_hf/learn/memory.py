"""Memory that was freed, given back to the system at once; it frees nothing itself."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import pyarrow as pa

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
MAPPED = 1 << 22
"""Bytes from which an array is mapped on its own while training, and freed memory behind the others is let go."""


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

    What was freed before is given back. Left alone, glibc soon keeps freed arrays of up to 32 MB, and up to 64 MB of
    smaller ones, for each thread: a third of what learning took. These limits, where its own adaptation ends, are set
    afterwards. Other C libraries are left alone.

    >>> with mapped_arrays():
    ...     len(bytearray(1 << 23))
    8388608
    """
    libc = _libc()
    if libc is not None:
        libc.mallopt(M_MMAP_THRESHOLD, MAPPED)
        libc.mallopt(M_TRIM_THRESHOLD, MAPPED)
    give_back()
    try:
        yield
    finally:
        if libc is not None:
            libc.mallopt(M_MMAP_THRESHOLD, 32 << 20)
            libc.mallopt(M_TRIM_THRESHOLD, 64 << 20)


def give_back() -> None:
    """Return freed memory to the system: Arrow's, and the C library's where it is known to keep some.

    >>> give_back()
    """
    libc = _libc()
    if libc is not None:
        libc.malloc_trim(0)
    pa.default_memory_pool().release_unused()
