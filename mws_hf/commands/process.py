"""What a command does to its own process, which no library code may do to a user's."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # malloc.h
_MAPPED = 1 << 22  # bytes


def return_freed_memory() -> None:
    """Have glibc map arrays of 4 MB and more one by one, so that the system has them back as soon as they are freed.

    Left alone, glibc keeps freed arrays of up to 32 MB, and 64 MB of smaller ones, for each thread: a third of what
    training takes. Other C libraries are left alone.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(_MMAP_THRESHOLD, _MAPPED)
    mallopt(_TRIM_THRESHOLD, _MAPPED)
