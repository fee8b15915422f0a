"""Progress bars on standard error, where that is a terminal; elsewhere tqdm (25 ms) is not even imported."""

from __future__ import annotations

import sys
from typing import Any


class NoBar:
    """A bar that shows nothing."""

    def __enter__(self) -> NoBar:
        return self

    def __exit__(self, *_error: object) -> None: ...

    def update(self, n: float = 1) -> None:
        """Take note of nothing."""


def progress_bar(show: bool, **options: Any) -> Any:
    """Open a bar with the options of `tqdm`, a context manager with `update`; one that shows nothing off a terminal.

    >>> with progress_bar(False, total=2) as bar:
    ...     bar.update(2)
    """
    if not show or sys.stderr is None or not sys.stderr.isatty():
        return NoBar()
    from tqdm import tqdm

    return tqdm(**options)
