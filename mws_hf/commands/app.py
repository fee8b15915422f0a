"""The table of commands, and how a command is read: its module is imported only when it is called.

The parameters of a command's function are its arguments and options; their defaults say which (`commands.options`).
A setting that the library refuses is named as it is typed: `vocab_size=5` is ``--vocab-size 5`` there.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import inspect
import logging
import re
import shutil
import signal
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType, NoneType, UnionType
from typing import Any, Literal, NoReturn, Union, get_args, get_origin

import mws_hf
from mws_hf.errors import STOPPING_SIGNALS, MwSError, SettingError, Terminated, ending, nearest

COMMANDS = {
    "train": ("train", "train_command", "Learn a tokenizer without labels and save it."),
    "count": ("corpora", "count_command", "Count pre-tokens once, or merge counts made before."),
    "segment": ("scores", "segment", "Print words cut into morphs."),
    "explain": ("explain", "explain", "Why a word is cut as it is, why a pair was merged."),
    "evaluate": ("scores", "evaluate_command", "Score tokenizers against gold and on running text."),
    "compare": ("scores", "compare_command", "Train MwS and its rivals on the same words, score all."),
    "report": ("scores", "report", "Show tokenizers side by side as one HTML page."),
    "encode": ("corpora", "encode_command", "Encode a corpus to memory-mapped token ids."),
    "export": ("directories", "export", "A tokenizer for llama.cpp, tiktoken or the notebook."),
    "check": ("directories", "check_command", "Where a directory can go, and what is wrong with it."),
    "pretrained": ("directories", "pretrained_command", "List this project's tokenizers, or write one."),
    "extend": ("surgery", "extend_command", "Add tokens of a corpus to a pretrained tokenizer."),
    "trim": ("surgery", "trim_command", "Drop entries that texts do not use from a pretrained tokenizer."),
    "transplant": ("surgery", "transplant_command", "Give a pretrained model another tokenizer."),
    "warmup": ("warmup", "warmup", "Compile all kernels now, so that nothing waits later."),
}
"""Name -> module here, function, line in the list of commands."""

_CALLED_BACK = ("_numba_unpickle", "_raw_object_cache_notify", "_raw_object_cache_getbuffer")
"""What numba's and LLVM's machine code calls; an exception there is lost, or crashes Python."""

RESUMED = ("compare", "encode")
"""The commands that go on where they stopped."""

_ABOUT = "Morphemic BPE tokenizers from raw text: train, look inside, measure, encode."
_SHOWN = {int: "INTEGER", float: "NUMBER", Path: "PATH"}


def app(arguments: Sequence[str]) -> None:
    """Run the command that stands first in `arguments`."""
    name = arguments[0] if arguments else "--help"
    if name == "--version":
        print(f"mws_hf {mws_hf.__version__}")
    elif name in ("--help", "-h"):
        lines = [f"  {command:<12}{line}" for command, (_, _, line) in COMMANDS.items()]
        more = (
            "Options:\n  --version   Print the version and exit.\n  --help      Print this, or with COMMAND its help.\n"
            "\nAll cores are used, or as many as MWS_NUM_THREADS says."
        )
        print(f"Usage: mws COMMAND ...\n\n  {_ABOUT}\n", "Commands:", *lines, f"\n{more}", sep="\n")
    elif name not in COMMANDS:
        raise MwSError(f"{name}: no such command{_meant(name, COMMANDS)}; `mws --help` lists all")
    else:
        _run(name, arguments[1:])


def _run(name: str, arguments: Sequence[str]) -> None:
    given = vars(parser_of(name).parse_intermixed_args(list(arguments)))
    if given.get("quiet"):  # the note on compiling kernels stays away too
        logging.getLogger("mws_hf.kernels.jit.notices").setLevel(logging.ERROR)
    for number in STOPPING_SIGNALS:
        if signal.getsignal(number) not in (signal.SIG_IGN, signal.SIG_DFL):
            signal.signal(number, _end)
    _return_freed_memory()
    from mws_hf.commands.options import made, option_of

    try:
        made(_function(name), **given)
    except SettingError as error:
        raise MwSError(f"{option_of(error.name)} {error.value} {error.said}") from error
    except KeyboardInterrupt as interrupt:
        said, code = ending(interrupt)
        again = "; the same command goes on from here" if name in RESUMED else ""
        with suppress(OSError):  # the terminal may be closed
            sys.stderr.write(f"\n{said}{again}\n")
            sys.stderr.flush()
        sys.exit(code)


def _function(name: str) -> Callable[..., None]:
    place, function, _ = COMMANDS[name]
    found: Callable[..., None] = getattr(importlib.import_module(f"mws_hf.commands.{place}"), function)
    return found


def _options(target: Callable[..., Any], title: str = "Options") -> Iterator[tuple[str, inspect.Parameter]]:
    """Yield the parameters that are arguments and options, of groups too, each under its heading in the help."""
    from mws_hf.commands.options import Option

    for each in inspect.signature(target, eval_str=True).parameters.values():
        if isinstance(each.default, Option):
            yield each.default.title or title, each
        else:
            yield from _options(each.annotation, getattr(each.annotation, "TITLE", title))


def _meant(given: str, known: Iterable[str]) -> str:
    """Name what may have been meant, for the middle of a message; the dashes of options make no likeness."""
    names = {each.removeprefix("--"): each for each in known}
    near = nearest(given.removeprefix("--"), names)
    return f" (did you mean {names[near]!r}?)" if near else ""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are those of a user: one line, with the option as it is typed and an example."""

    example = ""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong."""
        kind, _, rest = message.partition(": ")
        if kind == "the following arguments are required":
            raise MwSError(f"{rest.replace('/-o', '')} is missing; for example: {self.example}")
        if kind == "unrecognized arguments":
            first = rest.split()[0]
            first = first.partition("=")[0] if first.startswith("-") else first
            alike = _meant(first, self._option_string_actions)
            raise MwSError(f"{first}: {self.prog} takes no such argument{alike}; `{self.prog} --help` lists all")
        said = message.removeprefix("argument ").replace("invalid int value", "not a whole number")
        raise MwSError(f"{said.replace('invalid float value', 'not a number')}; see `{self.prog} --help`")


def parser_of(name: str) -> argparse.ArgumentParser:
    """Make the parser of a command."""
    from mws_hf.commands.options import TITLES

    function = _function(name)
    text = inspect.cleandoc(function.__doc__ or "")
    parser = _Parser(
        prog=f"mws {name}", description=_wrapped(text), add_help=False, allow_abbrev=False,
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, max_help_position=34),
    )  # fmt: skip
    parser.example = next(iter(re.findall(r"(?m)^    (.*mws .*)", text)), f"mws {name} --help")
    groups = {title: parser.add_argument_group(title) for title in TITLES}
    for title, parameter in _options(function):
        names, declared = _declared(parameter)
        groups[title].add_argument(*names, **declared)
    groups["Options"].add_argument("--help", action="help", help="Print this and exit.")
    words = [
        f"[{each.metavar}]" if each.nargs in ("?", "*") else each.metavar for each in parser._get_positional_actions()
    ]
    parser.usage = " ".join(map(str, [f"mws {name}", "[OPTIONS]", *words]))
    return parser


def _declared(parameter: inspect.Parameter) -> tuple[list[str], dict[str, Any]]:
    """Return what `add_argument` takes for a parameter: its names, and the rest by keyword."""
    from mws_hf.commands.options import Argument, option_of

    kind, option = parameter.annotation, parameter.default
    required = option.default is ...
    if get_origin(kind) in (Union, UnionType):
        (kind,) = [each for each in get_args(kind) if each is not NoneType]
    many = get_origin(kind) in (list, Sequence)
    kind = get_args(kind)[0] if many else kind
    found: dict[str, Any] = {"help": option.help.replace("%", "%%")}
    if get_origin(kind) is Literal:
        found["choices"] = get_args(kind)
    elif kind is not bool:
        found["type"] = option.read or kind
    if isinstance(option, Argument):
        shown = option.metavar or parameter.name.upper() + "..." * many
        nargs = ("+" if required else "*") if many else (None if required else "?")
        given = {} if required else {"default": option.default}  # argparse asks for an argument without a default
        return [parameter.name], found | given | {"nargs": nargs, "metavar": shown}
    names = option.names.split() or [option_of(parameter.name)]
    found["dest"] = parameter.name
    if kind is bool:
        return names, found | {"action": "store_true"}
    default = None if required else option.default
    if "[default" not in option.help:
        standing = "none" if default in (None, ()) else default
        found["help"] += "  [must be given]" if required else f"  [default: {standing}]"
    shown = option.metavar or "|".join(found.get("choices", ())) or _SHOWN.get(kind, "TEXT")
    found |= {"required": required, "default": default, "metavar": shown}
    if get_origin(kind) is tuple:
        return names, found | {"type": str, "nargs": 2, "metavar": tuple(option.metavar.split())}
    return names, found | ({"action": "append", "default": []} if many else {})


def _wrapped(text: str) -> str:
    """Wrap the text of a help; examples, which are indented, stay each on one line that can be pasted."""
    width = shutil.get_terminal_size().columns - 2
    fill = partial(textwrap.fill, width=width, break_long_words=False, break_on_hyphens=False)
    return "\n\n".join(part if part.startswith("    ") else fill(part) for part in text.split("\n\n"))


def _end(number: int, frame: FrameType | None) -> None:
    """End by an exception; within `_CALLED_BACK` at the next event that a profiler sees elsewhere."""
    if any(each.f_code.co_name in _CALLED_BACK for each, _ in traceback.walk_stack(frame)):
        sys.setprofile(lambda place, *_: _end(number, place))
        return
    sys.setprofile(None)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    signal.signal(number, signal.SIG_IGN)  # batch systems and shells send it to a group and its leader: end once
    raise Terminated(number)


def _return_freed_memory() -> None:
    """Have glibc map arrays of 4 MB and more one by one, so that the system has them back as soon as they are freed.

    Left alone, it keeps a third of what training takes. A command may do this, library code never to a user's process.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    for threshold in (-3, -1):  # M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of malloc.h
        mallopt(threshold, 1 << 22)
