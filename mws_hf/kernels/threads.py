"""Choose the number of threads for counting, learning and encoding, and divide loops among threads.

`give_back` returns freed memory to the operating system between phases that need much memory.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from mws_hf.errors import MwSError


@lru_cache(maxsize=1)
def _malloc_trim() -> Callable[[int], int] | None:
    """Return `malloc_trim` of the C library; None if the library is not glibc."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform.startswith("linux") else None


def give_back() -> None:
    """Return freed memory of Arrow and of the C library to the operating system.

    glibc keeps freed arrays of up to 32 MB for each thread. `malloc_trim`, called at the end of a step whose arrays are
    no longer needed, takes about a millisecond and reduces the peak by a third.
    """
    if (trim := _malloc_trim()) is not None:
        trim(0)
    pa.default_memory_pool().release_unused()


VARIABLES = ("MWS_NUM_THREADS", "OMP_NUM_THREADS")
"""The environment variables for the number of threads; the first one that is set is used. Schedulers set the second."""

_MIN_STEPS_PER_THREAD = 1 << 15  # for fewer steps of a loop, starting a thread takes longer than it saves
PARTS_PER_THREAD = 4
"""The number of parts of a loop per thread; there are several, because parts of equal length take different times.

For example, rare words are longer than frequent ones, and other processes may use the same cores.
"""

_CGROUPS = Path("/sys/fs/cgroup")
_Result = TypeVar("_Result")


def thread_count(asked: int | None = None) -> int:
    """Return the number of threads to use, which changes time and memory but never results.

    The number is `asked` if that is given, otherwise the value of the first of `VARIABLES` that is set, otherwise the
    number of processors that this process may use.

    Raises:
        MwSError: the argument or the variable is not a whole number of at least 1.
    """
    if asked is not None:
        if isinstance(asked, bool) or not isinstance(asked, Integral):
            raise MwSError(
                f"workers={asked!r} is not a whole number; give at least 1, or leave it out to use all processors"
            )
        if asked < 1:
            raise MwSError(f"workers={asked} must be at least 1; leave it out to use all processors")
        return int(asked)
    for name in VARIABLES:
        value = os.environ.get(name, "").strip()
        if value:
            first = value.split(",")[0]  # OMP_NUM_THREADS may have one number per nesting level, the outermost first
            if not first.isdecimal() or int(first) < 1:
                raise MwSError(
                    f"environment variable {name}={value!r} is not a whole number of at least 1; correct or unset it"
                )
            return int(first)
    return available_processors()


def in_parts(work: Callable[[int, int], object], n: int) -> None:
    """Call ``work(begin, end)`` in threads for equal parts of ``range(n)``, or once if `n` is small.

    `work` should be a kernel that releases the global interpreter lock, and its parts must write to separate memory.

    >>> found = [0] * 70_000
    >>> def fill(begin, end):
    ...     found[begin:end] = [1] * (end - begin)
    >>> in_parts(fill, len(found))
    >>> sum(found)
    70000
    """
    edges = part_edges(n, parts_per_thread=PARTS_PER_THREAD)
    side_by_side(work, edges, edges[1:])


class ThreadPool(ThreadPoolExecutor):
    """A pool of `thread_count` threads; its `size` is their number, so that work can be divided into as many parts.

    Args:
        asked: number of threads, as `thread_count` takes it.
    """

    def __init__(self, asked: int | None = None) -> None:
        self.size = thread_count(asked)
        super().__init__(self.size)


def side_by_side(work: Callable[..., _Result], *rows: Iterable[Any], most: int | None = None) -> list[_Result]:
    """Return ``[*map(work, *rows)]``, computed in threads.

    Args:
        work: the function to call.
        *rows: its arguments; the first call gets the first element of each, the second call the second, and so on.
        most: maximum number of threads, if it is less than `thread_count`.

    >>> side_by_side(pow, [2, 3], [3, 2])
    [8, 9]
    """
    calls = list(zip(*rows, strict=False))
    threads = min(thread_count(), most or len(calls), len(calls))
    if threads <= 1:
        return [work(*call) for call in calls]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, *zip(*calls, strict=True)))


def part_edges(n: int, most: int | None = None, parts_per_thread: int = 1) -> list[int]:
    """List the beginnings of equal parts of ``range(n)``, and `n` itself.

    Args:
        n: number of steps.
        most: maximum number of parts.
        parts_per_thread: number of parts per thread; there are fewer if `n` is small.

    >>> part_edges(10), part_edges(1 << 20, most=1)
    ([0, 10], [0, 1048576])
    """
    parts = max(1, min(parts_per_thread * thread_count(), n // _MIN_STEPS_PER_THREAD, n if most is None else most))
    return [n * k // parts for k in range(parts + 1)]


def available_processors() -> int:
    """Return the number of processors that this process may use.

    Its CPU affinity and the quota of its control group, rounded up, limit the number.
    """
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _process_quota()
    return processors if quota is None else max(1, min(processors, math.ceil(quota)))


@lru_cache(maxsize=1)
def _process_quota() -> float | None:
    """Return the quota of this process, which is read only once because many small steps need it."""
    return cgroup_quota(_CGROUPS, _read(Path("/proc/self/cgroup")) or "")


def cgroup_quota(root: Path, memberships: str) -> float | None:
    """Return the number of processors that control groups (version 2) allow a process; None if they set no limit.

    Each group, from that of the process up to the root, may set a limit; the lowest limit applies.

    Args:
        root: the folder where the file system of control groups is mounted.
        memberships: the content of ``/proc/self/cgroup``.
    """
    paths = [line.removeprefix("0::") for line in memberships.splitlines() if line.startswith("0::")]
    groups = [Path(os.path.normpath("/" + path)) for path in paths]
    levels = {root / str(level).lstrip("/") for group in groups for level in (group, *group.parents)}
    rows = [(_read(folder / "cpu.max") or "").split() for folder in levels]  # "max" means no limit
    limits = [[int(cell) for cell in row] for row in rows if len(row) == 2 and all(map(str.isdecimal, row))]
    return min((quota / period for quota, period in limits if quota > 0 and period > 0), default=None)


def _read(file: Path) -> str | None:
    """Return the text of a file; None if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
