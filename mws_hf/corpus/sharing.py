"""Share the items of several iterators among threads, so that reading overlaps with work."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


def share_out(sources: Iterable[Iterator[T]], tasks: Sequence[Callable[[T], None]]) -> None:
    """Pass every item of every iterator in `sources` to one of the `tasks`, each of which runs in its own thread.

    An iterator is advanced by one thread at a time, but different iterators are advanced at the same time, so that
    reading overlaps with work. A new iterator is taken from `sources` only if none is waiting, and it is dropped after
    its last item. Therefore memory depends on the number of open iterators and not on the number of all iterators. The
    first error stops all threads and is raised here. A single task runs in the calling thread.
    """
    supply = _Supply(sources)
    if len(tasks) == 1:
        supply.feed(tasks[0])
        tasks = []
    threads = [threading.Thread(target=supply.feed, args=[task], daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException as error:  # after Ctrl-C, do not wait long for a thread that is blocked on a pipe
        supply.stop(error)
        for thread in threads:
            thread.join(1)
    if supply.error is not None:
        raise supply.error


class _Supply(Generic[T]):
    """The items of several iterators, which threads take until none is left or an error occurs.

    Attributes:
        error: the first error that occurred; None if there was none.
    """

    def __init__(self, sources: Iterable[Iterator[T]]) -> None:
        self._unopened, self._idle = iter(sources), deque[Iterator[T]]()
        self._busy, self._change = 0, threading.Condition()
        self.error: BaseException | None = None

    def stop(self, error: BaseException) -> None:
        """Let all threads end after their current item."""
        with self._change:
            self.error = self.error or error
            self._change.notify_all()

    def feed(self, task: Callable[[T], None]) -> None:
        """Pass items to a task until none is left; an error stops all threads."""
        try:
            while (source := self._next_source()) is not None:
                item = next(source, None)
                with self._change:
                    self._busy -= 1
                    if item is not None:
                        self._idle.appendleft(source)
                    self._change.notify_all()
                if item is not None:
                    task(item)
        except BaseException as error:
            self.stop(error)

    def _next_source(self) -> Iterator[T] | None:
        """Return an iterator that no other thread is advancing, when there is one; None if nothing is left."""
        with self._change:
            while self.error is None:
                source = self._idle.popleft() if self._idle else next(self._unopened, None)
                if source is not None:
                    self._busy += 1
                    return source
                if self._busy == 0:
                    return None
                self._change.wait()
            return None
