"""The entry point of `mws`: signals and errors of users end it with one line, and control characters are escaped."""

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
    shortened,
)


def main() -> None:
    """Run the command line and exit.

    The exit code is 0 on success, 1 if `mws check` finds an error, 2 if the input is wrong or the output cannot be
    written, 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP, and 141 if the reader of the output stops reading.
    """
    for number in STOPPING_SIGNALS:
        default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        if signal.getsignal(number) is default:  # a shell or nohup may have set it to be ignored
            signal.signal(number, _exit_on_signal)  # until libraries are loaded; then `commands.app` sets another one
    gc.set_threshold(100_000)  # imports leave no garbage, and searching for it takes a tenth of the time of a command
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads would spin, and no command multiplies matrices
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")  # no command needs PyTorch
    from mws_hf.commands.app import app  # not at the top, because a user may press Ctrl-C while it is imported

    try:
        run(app)
    except SystemExit as end:
        _exit_quickly(end.code)
        raise
    _exit_quickly(None)


def _exit_quickly(code: object) -> None:
    """Exit without freeing all objects, which would take a tenth of a second; mypy does the same.

    The function returns, so that Python exits as usual, if other threads run, a profiler or a debugger is active, the
    exit code is a message to print, or output cannot be written. After a signal it exits in any case, because a thread
    that waits for standard input would make Python abort.
    """
    watched = sys.gettrace() is not None or sys.getprofile() is not None
    running = any(not thread.daemon for thread in threading.enumerate()[1:])
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
    """A formatter that writes each log record as one `printable` line, `shortened` if it is very long."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the level and the message; a traceback is added by `format`."""
        return shortened(printable(super().formatMessage(record)))


def run(app: Callable[[list[str]], None]) -> None:
    """Run an application on the arguments of the process.

    An error that the user can correct is printed in one line, and the exit code is 2.
    """
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(PrintableLines("%(levelname)s: %(message)s"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a cp1252 console shows \\u0436 and not a traceback
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
        if (message := _failure_of_system(error)) is None:
            raise
        _drop_output()
        sys.stderr.write(f"error: {message}\n")
        sys.exit(2)
    except BaseException as error:
        if (message := library_failure(error)) is None:
            raise
        sys.stderr.write(f"error: the tokenizers library failed ({message}); `mws check` examines a tokenizer\n")
        sys.exit(2)


def _failure_of_system(error: OSError) -> str | None:
    """Return a message for an error that the user can correct: a full disk, or a file without permission."""
    if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
        return f"the result cannot be written: {error.strerror}; free some space and run the command again"
    if isinstance(error, PermissionError) and error.filename is not None:
        name = printable(os.fsdecode(error.filename))
        return f"{name}: cannot be read or written ({error.strerror}); change its permissions, or those of its folder"
    return None


def _drop_output() -> None:
    """Discard buffered standard output, because Python would try to write it again at exit."""
    if sys.stdout is None:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _arguments() -> list[str]:
    """Return the arguments, and expand ~ in ``--output=~/x``, which shells leave as it is.

    Raises:
        MwSError: an argument is empty and is not a word, or it is not valid text and does not name a file.
    """
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    n_options = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    for number, (before, argument) in enumerate(pairwise(sys.argv), 1):
        option = argument.removesuffix("=") if number < n_options and re.fullmatch("--[a-z-]+=", argument) else before
        if option in ("-o", "--output") and argument in ("", "--output="):
            raise MwSError("--output is empty; give a file or folder to write (. is the current folder)")
        if option != before or (argument == "" and not _is_word(command, before)):
            name = option if option.startswith("-") else "an argument"
            raise MwSError(f"{name} is empty; give a value (perhaps a variable of the shell is not set)")
        in_text = argument.encode(errors="replace").decode()
        if in_text != argument and not any(map(os.path.lexists, (argument, argument.partition("=")[2]))):
            raise MwSError(f"argument {argument!r} is not valid text in this locale; give it in UTF-8")
    home = os.path.expanduser("~")
    return [re.sub("=~(?=/|$)", lambda _: f"={home}", argument) for argument in sys.argv[1:]]


def _is_word(command: str, before: str) -> bool:
    """Return whether the argument after `before` is a word to segment or to explain, which may be empty."""
    return command in ("segment", "explain") and before != command and not before.startswith("--")


def _exit_on_signal(number: int, _frame: FrameType | None) -> None:
    """Exit at once while libraries are imported, because an import may swallow or wrap an exception."""
    message, code = ending(KeyboardInterrupt() if number == signal.SIGINT else Terminated(number))
    with suppress(OSError):  # the terminal may be closed
        os.write(2, f"\n{message}\n".encode())
    os._exit(code)
