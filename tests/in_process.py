"""The command line inside the test's own process: the same entry, output and exit code, in a hundredth of the time."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
from collections.abc import Iterator
from typing import NamedTuple
from unittest import mock

from mws_hf.commands.app import app
from mws_hf.commands.entry import run


class Done(NamedTuple):
    """The exit code and the output that a process would have."""

    returncode: int
    stdout: str
    stderr: str


def mws(*arguments: object, stdin: str | bytes = b"", cwd: str | os.PathLike[str] | None = None) -> Done:
    """Run `mws` with these arguments; warnings go to standard error, as if no logging was set up."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    texts = [io.TextIOWrapper(io.BytesIO(each), encoding="utf-8") for each in (given, b"", b"")]
    told = logging.StreamHandler(texts[2])
    told.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    told.setLevel(logging.WARNING)
    code = 0
    with (
        mock.patch.object(sys, "argv", ["mws", *map(str, arguments)]),
        mock.patch.object(sys, "stdin", texts[0]),
        contextlib.redirect_stdout(texts[1]),
        contextlib.redirect_stderr(texts[2]),
        contextlib.chdir(cwd or os.curdir),
        _added(told),
    ):
        try:
            run(app)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    for text in texts[1:]:
        text.flush()
    return Done(code, *(text.buffer.getvalue().decode() for text in texts[1:]))


@contextlib.contextmanager
def _added(handler: logging.Handler) -> Iterator[None]:
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
