"""Raise errors that say where something is wrong: a `Fault` contains the line, and `about` adds the name of the file.

Code that reads the content of a file raises a `Fault` and does not need the name of the file. Code that opens the file
reads it inside ``with about(name)``, which converts the fault to a `MwSError` that begins with the name. A generator
must contain the ``with`` itself, because it is not resumed inside a ``with`` of its caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mws_hf.errors import MwSError


class Fault(MwSError):
    """An error in the content of a file or a value, with its position but without the name of the file.

    Attributes:
        problem: what is wrong, with the value, and what to do; the message without the position.
        line: the number of the line, from 1, or None.
        inside: the position if it is not a line, such as ``, column 'text', row 3``.

    >>> with about("words.tsv"):
    ...     raise Fault("count 'x' is not a positive integer", line=3)
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: words.tsv:3: count 'x' is not a positive integer
    """

    def __init__(self, problem: str, line: int | None = None, inside: str = "") -> None:
        super().__init__(problem if line is None else f"line {line}: {problem}")
        self.problem, self.line, self.inside = problem, line, inside

    def at(self, place: object) -> MwSError:
        """Return the error that a user sees, which begins with `place`, such as the name of the file."""
        return MwSError(f"{place}{'' if self.line is None else f':{self.line}'}{self.inside}: {self.problem}")


@contextmanager
def about(place: object) -> Iterator[None]:
    """Add a place, usually the name of a file, to every `Fault` that is raised inside the ``with``."""
    try:
        yield
    except Fault as fault:
        raise fault.at(place) from fault


@contextmanager
def within(position: str) -> Iterator[None]:
    """Put a position, such as ``, column 'text'``, before that of every `Fault` raised inside the ``with``."""
    try:
        yield
    except Fault as fault:
        raise Fault(fault.problem, fault.line, position + fault.inside) from fault
