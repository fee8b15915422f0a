"""Share items of several iterators among several threads: reading overlaps with work."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")


def share_out(sources: Sequence[Iterator[T]], tasks: Sequence[Callable[[T], None]]) -> None:
    """Give every item of `sources` to one of `tasks`, each task running in a thread of its own.

    Each iterator is advanced by one thread at a time, different ones side by side, so reading overlaps with work.

    Raises:
        BaseException: the first error of an iterator or a task; the other threads stop after their current item.

    >>> seen = []
    >>> share_out([iter([1, 2]), iter([3])], [seen.append, seen.append])
    >>> sorted(seen)
    [1, 2, 3]
    """
    supply = _Supply(sources)
    if len(tasks) == 1:
        supply.feed(tasks[0])
        return
    with ThreadPoolExecutor(len(tasks), thread_name_prefix="mws-count") as pool:
        futures = [pool.submit(supply.feed, task) for task in tasks]
        try:
            for future in futures:
                future.result()
        finally:
            supply.stop()


class _Supply(Generic[T]):
    def __init__(self, sources: Sequence[Iterator[T]]) -> None:
        self._idle = deque(sources)
        self._busy = 0
        self._stopped = False
        self._condition = threading.Condition()

    def stop(self) -> None:
        with self._condition:
            self._stopped = True
            self._condition.notify_all()

    def feed(self, task: Callable[[T], None]) -> None:
        """Take items and give them to `task` until there are none, or until `stop`."""
        try:
            while (item := self._take()) is not None:
                task(item)
        except BaseException:
            self.stop()
            raise

    def _take(self) -> T | None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._idle or self._busy == 0 or self._stopped)
                if self._stopped or not self._idle:
                    return None
                source = self._idle.popleft()
                self._busy += 1
            item = next(source, None)
            with self._condition:
                self._busy -= 1
                if item is not None:
                    self._idle.appendleft(source)
                self._condition.notify_all()
            if item is not None:
                return item
