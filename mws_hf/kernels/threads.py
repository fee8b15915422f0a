"""The number of threads to use, one answer for counting, learning and encoding; and loops shared out among threads.

Between phases that need much, freed memory is given back to the system at once (`give_back`).
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
    """Find this function of the C library where it is glibc; None elsewhere."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform.startswith("linux") else None


def give_back() -> None:
    """Return freed memory to the system: Arrow's, and the C library's where glibc keeps some.

    glibc keeps freed arrays of up to 32 MB, for each thread. Called where a step has ended whose arrays are gone,
    `malloc_trim` takes about a millisecond and saves a third of the peak.
    """
    if (trim := _malloc_trim()) is not None:
        trim(0)
    pa.default_memory_pool().release_unused()


VARIABLES = ("MWS_NUM_THREADS", "OMP_NUM_THREADS")
"""Environment variables asked in this order; the second is what schedulers and `torchrun` set."""

_LEAST = 1 << 15  # steps of a loop that are worth a thread
PARTS_A_THREAD = 4
"""Parts of a loop for each thread: equal parts are not equal work, for rare words are long, and cores are shared."""

_CGROUPS = Path("/sys/fs/cgroup")
_Result = TypeVar("_Result")


def thread_count(asked: int | None = None) -> int:
    """Return the number of threads to use; no result depends on it, only time and memory.

    It is `asked`, else the first of `VARIABLES` that is set, else the processors this process may use.

    Raises:
        MwSError: the argument or the variable is not a whole number from 1 up.
    """
    if asked is not None:
        if isinstance(asked, bool) or not isinstance(asked, Integral):
            raise MwSError(f"workers={asked!r}: not a whole number; give one from 1 up, or none for all processors")
        if asked < 1:
            raise MwSError(f"workers={asked}: must be at least 1; give none for all processors")
        return int(asked)
    for name in VARIABLES:
        value = os.environ.get(name, "").strip()
        if value:
            first = value.split(",")[0]  # OMP_NUM_THREADS may name one number a level: the outermost comes first
            if not first.isdecimal() or int(first) < 1:
                raise MwSError(f"environment variable {name}={value!r}: give a number from 1 up, or unset it")
            return int(first)
    return available_processors()


def in_parts(work: Callable[[int, int], object], n: int) -> None:
    """Call ``work(begin, end)`` for even parts of ``range(n)`` side by side, or once where there is little to do.

    It is for kernels without the interpreter's lock whose parts write to different places.

    >>> found = [0] * 70_000
    >>> def fill(begin, end):
    ...     found[begin:end] = [1] * (end - begin)
    >>> in_parts(fill, len(found))
    >>> sum(found)
    70000
    """
    edges = part_edges(n, each=PARTS_A_THREAD)
    side_by_side(work, edges, edges[1:])


class ThreadPool(ThreadPoolExecutor):
    """A pool of threads (`thread_count` of them) that tells its size, so that work can be cut into as many parts."""

    def __init__(self, asked: int | None = None) -> None:
        self.size = thread_count(asked)
        super().__init__(self.size)


def side_by_side(work: Callable[..., _Result], *rows: Iterable[Any], most: int | None = None) -> list[_Result]:
    """Call `work` with the first element of each of `rows`, with the second of each, and so on, in threads.

    One call alone, or one thread, needs no pool.
    """
    calls = list(zip(*rows, strict=False))
    threads = min(thread_count(), most or len(calls), len(calls))
    if threads <= 1:
        return [work(*call) for call in calls]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, *zip(*calls, strict=True)))


def part_edges(n: int, most: int | None = None, each: int = 1) -> list[int]:
    """List where the even parts of ``range(n)`` begin, and `n`: `each` parts a thread, fewer where work is little.

    There are `most` parts at the most.

    >>> part_edges(10), part_edges(1 << 20, most=1)
    ([0, 10], [0, 1048576])
    """
    parts = max(1, min(each * thread_count(), n // _LEAST, n if most is None else most))
    return [n * k // parts for k in range(parts + 1)]


def available_processors() -> int:
    """Count the processors this process may use: the machine's, less by its affinity and by its cgroup's quota (up)."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cgroup_quota(_CGROUPS, _read(Path("/proc/self/cgroup")) or "")
    return own if quota is None else max(1, min(own, math.ceil(quota)))


def cgroup_quota(root: Path, memberships: str) -> float | None:
    """Return the processors that the control groups of a process grant it; None: no limit.

    Version 2 is mounted at `root`, and `memberships` is the content of ``/proc/self/cgroup``. Every group from the
    process's own up to the root may limit it.
    """
    paths = [line.removeprefix("0::") for line in memberships.splitlines() if line.startswith("0::")]
    groups = [Path(os.path.normpath("/" + path)) for path in paths]
    levels = {root / str(level).lstrip("/") for group in groups for level in (group, *group.parents)}
    rows = [(_read(folder / "cpu.max") or "").split() for folder in levels]  # "max" is no limit
    limits = [[int(cell) for cell in row] for row in rows if len(row) == 2 and all(map(str.isdecimal, row))]
    return min((quota / period for quota, period in limits if quota > 0 and period > 0), default=None)


def _read(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
