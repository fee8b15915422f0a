"""Run a command by its name; its module of the same name is imported only then.

The module of a command has `HELP` (its description, with examples), `add_options` (which adds arguments and options to
a parser) and `run` (which gets their values). If the library rejects a setting, the message names the option as a user
types it: `vocab_size=5` becomes ``--vocab-size 5``.
"""

from __future__ import annotations

import ctypes
import importlib
import logging
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType, ModuleType
from typing import TYPE_CHECKING

import mws_hf
from mws_hf.errors import STOPPING_SIGNALS, MwSError, SettingError, Terminated, ending

if TYPE_CHECKING:
    from mws_hf.commands.parser import Parser

COMMANDS = {
    "train": "Train a tokenizer on text and save it.",
    "count": "Count the words of text once, or add up saved counts.",
    "segment": "Print words split into tokens.",
    "explain": "Show why a word is split the way it is, or why a pair was merged.",
    "evaluate": "Score tokenizers on reference segmentations and on running text.",
    "compare": "Train MwS and other tokenizers on the same words and score all of them.",
    "report": "Show tokenizers side by side on one HTML page.",
    "encode": "Encode a corpus to memory-mapped token ids.",
    "export": "Write a tokenizer for llama.cpp, tiktoken or the notebook.",
    "check": "Find out where a tokenizer loads correctly, and what is wrong with it.",
    "pretrained": "List the pretrained tokenizers of this package, or write one to a folder.",
    "extend": "Add tokens for a corpus to a pretrained tokenizer.",
    "trim": "Remove tokens that your texts do not use from a pretrained tokenizer.",
    "transplant": "Give a pretrained model another tokenizer.",
    "warmup": "Compile all kernels now, so that no later command has to wait for this.",
}
"""The name of each command, and its description in the list that `mws --help` prints."""

RESUMED = ("compare", "encode")
"""The commands that continue an interrupted run if you call them again."""

_CALLED_BACK = ("_numba_unpickle", "_raw_object_cache_notify", "_raw_object_cache_getbuffer")
"""Functions that machine code of numba and LLVM calls, in which an exception would be lost or crash Python."""

_LIST = """\
Usage: mws COMMAND ...

  Train, inspect, evaluate and use morphemic BPE tokenizers.

Commands:
{commands}

Options:
  --version    Print the version and exit.
  --help, -h   Print this help and exit; `mws COMMAND --help` describes a command.

Commands use all cores. Set the environment variable MWS_NUM_THREADS to use fewer."""


def app(arguments: Sequence[str]) -> None:
    """Run the command that the first argument names.

    Raises:
        MwSError: there is no such command, or its arguments are wrong.
        SystemExit: the command was interrupted (130 after Ctrl-C, 143 and 129 after other signals), or `mws check`
            found an error (1).
    """
    name = arguments[0] if arguments else "--help"
    if name == "--version":
        print(f"mws_hf {mws_hf.__version__}")
    elif name in ("--help", "-h"):
        print(_LIST.format(commands="\n".join(f"  {command:<12} {line}" for command, line in COMMANDS.items())))
    elif name.startswith("-"):
        raise MwSError(
            f"{name}: write options after a command, as in `mws COMMAND {name}`; `mws --help` lists the commands"
        )
    elif name not in COMMANDS:
        from mws_hf.commands.parser import did_you_mean

        raise MwSError(f"{name}: no such command{did_you_mean(name, COMMANDS)}; `mws --help` lists all")
    else:
        _run(name, arguments[1:])


def _run(name: str, arguments: Sequence[str]) -> None:
    given = parser_of(name).parse_intermixed_args(list(arguments))
    for number in STOPPING_SIGNALS:
        if signal.getsignal(number) not in (signal.SIG_IGN, signal.SIG_DFL):
            signal.signal(number, _raise_for_signal)
    _return_freed_memory()
    try:
        with _only_errors(getattr(given, "quiet", False)):
            _module_of(name).run(given)
    except SettingError as error:
        from mws_hf.commands.options import option_of

        raise MwSError(error.of_option(option_of(error.name))) from error
    except KeyboardInterrupt as interrupt:
        said, code = ending(interrupt)
        again = "; run the same command again to resume" if name in RESUMED else ""
        with suppress(OSError):  # the terminal may be closed
            sys.stderr.write(f"\n{said}{again}\n")
            sys.stderr.flush()
        sys.exit(code)


@contextmanager
def _only_errors(quiet: bool) -> Iterator[None]:
    """Suppress warnings and notes of the package if `quiet`; errors are still printed."""
    logger = logging.getLogger("mws_hf")
    level = logger.level
    if quiet:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def parser_of(name: str) -> Parser:
    """Build the parser of a command, with all its arguments and options."""
    from mws_hf.commands.parser import Parser

    module = _module_of(name)
    parser = Parser(name, module.HELP)
    module.add_options(parser)
    parser.finish()
    return parser


def _module_of(name: str) -> ModuleType:
    return importlib.import_module(f"mws_hf.commands.{name}")


def _raise_for_signal(number: int, frame: FrameType | None) -> None:
    """Raise the exception that ends the program after a signal.

    Inside a function of `_CALLED_BACK` it is postponed until a profiler reports an event outside of these functions.
    """
    if any(caller.f_code.co_name in _CALLED_BACK for caller, _ in traceback.walk_stack(frame)):
        sys.setprofile(lambda later, *_: _raise_for_signal(number, later))
        return
    sys.setprofile(None)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    signal.signal(number, signal.SIG_IGN)  # a shell or batch system may send it twice: to the process and to its group
    raise Terminated(number)


def _return_freed_memory() -> None:
    """Make glibc map arrays of 4 MB and more separately, so that the system gets them back when they are freed.

    Without this, glibc keeps about a third of the memory of a training. Only commands do it, because a library must not
    change the allocator of a user's process.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    for threshold in (-3, -1):  # M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of malloc.h
        mallopt(threshold, 1 << 22)
