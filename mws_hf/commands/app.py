"""The table of commands, and the typer application that imports a command's module only when it is called.

A setting that the library refuses is named as it is typed: `vocab_size=5` is ``--vocab-size 5`` there.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import inspect
import os
import re
import signal
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

import mws_hf
from mws_hf.errors import MwSError, SettingError, Terminated, ending

COMMANDS = {
    "train": ("train", "train_command", "Learn a tokenizer without labels and save it."),
    "count": ("count", "count_command", "Count pre-tokens once, or merge counts made before."),
    "segment": ("evaluate", "segment", "Print words cut into morphs."),
    "explain": ("explain", "explain", "Why a word is cut as it is, why a pair was merged."),
    "evaluate": ("evaluate", "evaluate_command", "Score tokenizers against gold and on running text."),
    "compare": ("compare", "compare_command", "Train MwS and its rivals on the same words, score all."),
    "report": ("report", "report", "Show tokenizers side by side as one HTML page."),
    "encode": ("encode", "encode_command", "Encode a corpus to memory-mapped token ids."),
    "export": ("directories", "export", "A tokenizer for llama.cpp, tiktoken or the notebook."),
    "check": ("directories", "check_command", "Where a directory can go, and what is wrong with it."),
    "pretrained": ("directories", "pretrained_command", "List this project's tokenizers, or write one."),
    "extend": ("extend", "extend_command", "Add tokens of a corpus to a pretrained tokenizer."),
    "trim": ("extend", "trim_command", "Drop entries that texts do not use from a pretrained tokenizer."),
    "transplant": ("extend", "transplant_command", "Give a pretrained model another tokenizer."),
    "warmup": ("warmup", "warmup", "Compile all kernels now, so that nothing waits later."),
}
"""Name -> module here, function, line in the list of commands."""

RESUMED = ("compare", "encode")
"""The commands that go on where they stopped."""

LARGE = ("train", "count", "compare", "extend")
"""The commands that hold large arrays."""

_PLAIN_WORDS = (
    (r"Input should (have|be)", r"must \1"),
    (r"greater than or equal to (\S+)", r"\1 or more"),
    (r"less than or equal to (\S+)", r"\1 or less"),
    (r", unable to (parse|interpret) (string|input).*", ""),
    (r"\ba valid integer( range)?", "a whole number"),
    (r"\ba valid (number|float)( range)?", "a number"),
)
"""What typer's validation says of a value -> the same for people, who type numbers and not inputs or strings."""


class PanelCommand(TyperCommand):
    """A command whose help lists options under the headings of `panels`; those that none names come last."""

    panels: Mapping[str, Sequence[str]] = {}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; what is wrong with a value is said in plain words."""
        _take_plain_values(self.get_params(ctx))
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # click's BadParameter or, by version, the one of typer's own copy of click
            if isinstance(getattr(error, "message", None), str):
                for pattern, words in _PLAIN_WORDS:
                    error.message = re.sub(pattern, words, error.message)  # type: ignore[attr-defined]
            raise

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the text: examples, which are indented, each on one line that can be pasted, names in one piece."""
        for paragraph in inspect.cleandoc(self.help or "").split("\n\n"):
            formatter.write_paragraph()
            if paragraph.startswith("    "):
                formatter.write(f"  {paragraph}\n")
                continue
            text = " ".join(paragraph.split())
            wrapped = textwrap.wrap(text, formatter.width - 2, break_long_words=False, break_on_hyphens=False)
            formatter.write("".join(f"  {line}\n" for line in wrapped))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then each panel."""
        records = {param: _without_types(param.get_help_record(ctx)) for param in self.get_params(ctx)}
        arguments = [line for param, line in records.items() if line and param.param_type_name == "argument"]
        left = {str(param.name): line for param, line in records.items() if line and param.param_type_name == "option"}
        panels = [(title, [left.pop(name) for name in names if name in left]) for title, names in self.panels.items()]
        rest = "Other options" if panels else "Options"
        for title, lines in [("Arguments", arguments), *panels, (rest, [*left.values()])]:
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)


def _take_plain_values(params: Sequence[Any]) -> None:
    """Spare plainly right values the check of those versions of typer that load pydantic for it, which takes .15 s."""
    for param in params:
        if hasattr(param, "type_descriptor") and "process_value" not in vars(param):
            param.process_value = functools.partial(_processed, param, param.process_value)


def _processed(param: Any, check: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    kind, info = param.type_descriptor.annotation, param.type_descriptor.parameter_info
    any_path = info.file_okay and info.dir_okay and not (info.exists or info.writable or info.resolve_path)
    if value is None and not param.required:
        value = () if param.multiple or param.nargs == -1 else None
    elif kind == list[str] and isinstance(value, (list, tuple)) and value and all(type(each) is str for each in value):
        value = list(value)
    elif kind is Path and type(value) is str and any_path and (not os.path.exists(value) or os.access(value, os.R_OK)):
        value = Path(value)
    elif value not in get_args(kind) and not (kind in (str, int, float, bool) and type(value) is kind):
        return check(ctx, value)
    return value if param.callback is None else param.callback(ctx, param, value)


def _without_types(record: tuple[str, str] | None) -> tuple[str, str] | None:
    """Return a line of help without ``<list[str]>``, which some versions of typer put after a name."""
    return record and (re.sub(r" <list\[\w+\]>", "", record[0]), record[1])


class LazyGroup(TyperGroup):
    """The commands of the table, each loaded when it is called or asked for its own help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what stands before the command."""
        _take_plain_values(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """List the names of all commands, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Load a command by its name; None for an unknown name."""
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            self.commands[cmd_name] = _load(cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command called; a mistyped name is compared with all commands, which are loaded for it."""
        if args[0] not in COMMANDS:
            for name in COMMANDS:
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])

    def invoke(self, ctx: Any) -> Any:
        """Run a command; Ctrl-C and SIGTERM end it with one line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            said, code = ending(interrupt)
            again = "; the same command goes on from here" if ctx.invoked_subcommand in RESUMED else ""
            sys.stderr.write(f"\n{said}{again}\n")
            sys.exit(code)


def _load(name: str) -> Any:
    place, function, _ = COMMANDS[name]
    module = importlib.import_module(f"mws_hf.commands.{place}")
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name, cls=PanelCommand)(_prepared(getattr(module, function), name in LARGE))
    command: Any = typer.main.get_command(single)
    command.panels = getattr(module, "PANELS", {}).get(name, {})
    for each in command.params:
        if (
            each.param_type_name == "option"
            and each.default is None
            and not (each.required or "[def" in (each.help or ""))
        ):
            each.help = f"{each.help}  [default: none]"
    return command


def _prepared(function: Callable[..., None], large: bool) -> Callable[..., None]:
    """Wrap a command: signals let it clean up, its arrays find memory, its errors name options as they are typed."""

    @functools.wraps(function)
    def begin(*arguments: Any, **options: Any) -> None:
        if signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, signal.SIG_DFL):
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if signal.getsignal(signal.SIGTERM) not in (signal.SIG_IGN, signal.SIG_DFL):
            signal.signal(signal.SIGTERM, _terminate)
        if large:
            _return_freed_memory()
        try:
            function(*arguments, **options)
        except SettingError as error:
            from mws_hf.commands.options import option_of

            raise MwSError(f"{option_of(error.name)} {error.value} {error.said}") from error

    return begin


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # batch systems send it to a group and its leader: end once
    raise Terminated


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


app = typer.Typer(
    name="mws",
    cls=LazyGroup,
    help="Morphemic BPE tokenizers from raw text: train, look inside, measure, encode.",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain text: ten times faster, safe in any encoding, and <TAB> stays as it is written
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mws_hf {mws_hf.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass
