"""The `mws` command's entry: Ctrl-C and user errors end in one line, what cannot be printed is escaped."""

from __future__ import annotations

import gc
import io
import logging
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

from mws_hf.errors import INTERRUPTED, MwSError


def main() -> None:
    """Run the command line; exit code 0 on success, 2 on misuse, 130 on Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where a shell had it ignored
        signal.signal(signal.SIGINT, _leave)  # while libraries are loaded; `commands.app` sets the usual one back
    gc.set_threshold(100_000)  # a tenth of the first use would go into looking for garbage that loading does not make
    from mws_hf.commands.app import app  # only now, for loading takes long enough to be interrupted

    run(app, "mws")


def run(app: Callable[..., None], name: str) -> None:
    """Run an application of that name; a user's error is one line, and exit code 2."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s", stream=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a cp1252 console shows \\u0436 rather than a traceback
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name=name)
    except MwSError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)


def _leave(_signal: int, _frame: FrameType | None) -> None:
    """End at once: nothing has begun, and an exception inside another library's import may be swallowed or wrapped."""
    os.write(2, b"\ninterrupted\n")
    os._exit(INTERRUPTED)
