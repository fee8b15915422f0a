"""Where something is wrong: a `Fault` knows the line, `about` adds the file, so that readers need no name for errors.

Code that reads a file raises a `Fault`. Whoever opened the file wraps the reading in ``with about(name)``, which turns
the fault into a `MwSError` that begins with the name. A generator has the ``with`` inside, because the code that
resumes it is outside of any ``with`` of its caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mws_hf.errors import MwSError


class Fault(MwSError):
    """What is wrong with a file or a value, and where inside it.

    Attributes:
        said: what is wrong, with the value, and what to do.
        line: the number of the line, the first being 1, or None.
        inside: the position where it is not a line, such as ``, column 'text', row 3``.

    >>> with about("words.tsv"):
    ...     raise Fault("count 'x' is not a positive integer", line=3)
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: words.tsv:3: count 'x' is not a positive integer
    """

    def __init__(self, said: str, line: int | None = None, inside: str = "") -> None:
        super().__init__(said if line is None else f"line {line}: {said}")
        self.said, self.line, self.inside = said, line, inside

    def at(self, place: object) -> MwSError:
        """Return the error for a user, which begins with the place."""
        return MwSError(f"{place}{'' if self.line is None else f':{self.line}'}{self.inside}: {self.said}")


@contextmanager
def about(place: object) -> Iterator[None]:
    """Name the place, mostly a file, in every `Fault` that is raised inside the ``with``."""
    try:
        yield
    except Fault as fault:
        raise fault.at(place) from fault


@contextmanager
def within(position: str) -> Iterator[None]:
    """Put a position, such as ``, column 'text'``, before the one that a `Fault` inside the ``with`` has."""
    try:
        yield
    except Fault as fault:
        raise Fault(fault.said, fault.line, position + fault.inside) from fault
