"""The entry of the `mws` command: Ctrl-C, SIGTERM, SIGHUP and user errors end in one line; output is escaped."""

from __future__ import annotations

import atexit
import errno
import gc
import io
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from types import FrameType

from mws_hf.errors import (
    EXIT_CODES_OF_SIGNALS,
    STOPPING_SIGNALS,
    MwSError,
    Terminated,
    ending,
    library_failure,
    printable,
)


def main() -> None:
    """Run the command line; exit code 0 on success, 2 on misuse, 130 on Ctrl-C, 143 on SIGTERM, 129 on SIGHUP."""
    for number in STOPPING_SIGNALS:
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        if signal.getsignal(number) is usual:  # not if a shell, or nohup, ignores it
            signal.signal(number, _leave)  # while libraries are loaded; `commands.app` sets the usual one
    gc.set_threshold(100_000)  # loading makes no garbage, and looking for it takes a tenth of the first call
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads would spin, and no command multiplies matrices
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")  # no command needs PyTorch
    from mws_hf.commands.app import app  # only now, because loading takes long enough to be interrupted

    try:
        run(app)
    except SystemExit as end:
        _end_at_once(end.code)
        raise
    _end_at_once(None)


def _end_at_once(code: object) -> None:
    """End without freeing all memory piece by piece, which takes a tenth of a second; mypy does so too.

    Returns, so that Python ends in its own way, where threads still run, a profiler or debugger watches, there is a
    message to print or output that cannot be written. After a signal a thread may wait for standard input: Python
    would abort, so nothing is waited for.
    """
    watched = sys.gettrace() is not None or sys.getprofile() is not None
    running = any(not each.daemon for each in threading.enumerate()[1:])
    stopped = code in EXIT_CODES_OF_SIGNALS
    if not stopped and (watched or running or not (code is None or isinstance(code, int))):
        return
    try:
        if not stopped:
            atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
    except (OSError, ValueError):
        return
    os._exit(code if isinstance(code, int) else 0)


class PrintableLines(logging.Formatter):
    """A formatter that writes each record of the log in one `printable` line."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Write the level and the message; a traceback, if there is one, follows by itself."""
        return printable(super().formatMessage(record))


def run(app: Callable[[list[str]], None]) -> None:
    """Run an application on the arguments of the process; a user's error is one line, and exit code 2."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(PrintableLines("%(levelname)s: %(message)s"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a cp1252 console shows \\u0436 rather than a traceback
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")
    try:
        try:
            app(_arguments())
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except MwSError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
    except BrokenPipeError:
        _drop_output()
        sys.exit(141)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise
        _drop_output()
        sys.stderr.write(
            f"error: the result cannot be written: {error.strerror}; free some space and run the command again\n"
        )
        sys.exit(2)
    except BaseException as error:
        if (said := library_failure(error)) is None:
            raise
        sys.stderr.write(f"error: the tokenizers library failed ({said}); `mws check` examines a tokenizer\n")
        sys.exit(2)


def _drop_output() -> None:
    """Discard buffered standard output, because Python would try to write it again at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _arguments() -> list[str]:
    """Return the arguments, with the home folder where a shell left ``--output=~/x`` as it is.

    Empty outputs and arguments that are not text are errors, except names of existing files.
    """
    for before, argument in pairwise(sys.argv):
        if argument == "--output=" or (argument == "" and before in ("-o", "--output")):
            raise MwSError("--output is empty; name a file or folder to write (. is the current folder)")
        in_text = argument.encode(errors="replace").decode()
        if in_text != argument and not any(map(os.path.lexists, (argument, argument.partition("=")[2]))):
            raise MwSError(f"argument {argument!r} is not valid text in this locale; give it in UTF-8")
    home = os.path.expanduser("~")
    return [re.sub("=~(?=/|$)", lambda _: f"={home}", argument) for argument in sys.argv[1:]]


def _leave(number: int, _frame: FrameType | None) -> None:
    """End at once: nothing has begun, and an exception inside another library's import may be swallowed or wrapped."""
    said, code = ending(KeyboardInterrupt() if number == signal.SIGINT else Terminated(number))
    with suppress(OSError):  # the terminal may be closed
        os.write(2, f"\n{said}\n".encode())
    os._exit(code)
