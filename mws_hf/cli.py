"""The `mws` command's entry: Ctrl-C, user errors and unprintable results end in one line; commands live elsewhere."""

from __future__ import annotations

import logging
import os
import signal
import sys
from types import FrameType

from mws_hf.errors import MwSError

INTERRUPTED = 130


def main() -> None:
    """Run the command line; exit code 0 on success, 2 on misuse, 130 on Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where a shell had it ignored
        signal.signal(signal.SIGINT, _leave)  # while libraries are loaded; `commands.app` sets the usual one back
    from mws_hf.commands.app import app  # only now, for loading takes long enough to be interrupted

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s", stream=sys.stderr)
    if "--help" in sys.argv or len(sys.argv) == 1:
        _show_whatever_the_encoding()
    try:
        app(prog_name="mws")
    except MwSError as error:
        _fail(str(error))
    except UnicodeEncodeError as error:
        if error.encoding.lower().replace("-", "") == "utf8":
            raise
        what = error.object[error.start]
        _fail(f"standard output is {error.encoding}, which has no {what!a}; set PYTHONIOENCODING=utf-8")
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)


def _leave(_signal: int, _frame: FrameType | None) -> None:
    """End at once: nothing has begun, and an exception inside another library's import may be swallowed or wrapped."""
    os.write(2, b"\ninterrupted\n")
    os._exit(INTERRUPTED)


def _show_whatever_the_encoding() -> None:
    """Help is worth reading even where its Cyrillic examples are not in the terminal's encoding."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _fail(message: str) -> None:
    sys.stderr.write(f"error: {message}\n")
    sys.exit(2)
