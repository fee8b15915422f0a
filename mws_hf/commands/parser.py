"""The parser of a command: argparse with headings, defaults in the help, and one-line errors with an example."""

from __future__ import annotations

import argparse
import re
import shutil
import textwrap
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from mws_hf.errors import MwSError, nearest

_KINDS_SHOWN: dict[Any, str] = {int: "NUMBER", float: "NUMBER", Path: "PATH"}


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """A formatter that adds the type and the default of each option, by overriding the same hooks as argparse does."""

    def __init__(self, prog: str, **layout: Any) -> None:
        super().__init__(prog, max_help_position=34, **layout)

    def add_usage(self, usage: str | None, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, "Usage: " if prefix is None else prefix)  # as in `mws --help`

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"  # Python 3.11 and 3.12 would repeat the value

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        if not action.option_strings or action.nargs == 0 or "[default: " in text:
            return text
        default = "none" if action.default in (None, [], ()) else action.default
        return f"{text.removesuffix('.')} [{'required' if action.required else f'default: {default}'}]."

    def _get_default_metavar_for_optional(self, action: argparse.Action) -> str:
        return _KINDS_SHOWN.get(action.type, "TEXT")


class Parser(argparse.ArgumentParser):
    """The parser of one command, to which its module adds arguments and options under the headings of the help.

    Attributes:
        learning: The heading "How it learns".
        input: The heading "Input": how files are read.
        output: The heading "Output": what is replaced and printed.
    """

    def __init__(self, command: str, text: str) -> None:
        """Create the parser of a command from its help text, in which indented paragraphs are examples."""
        super().__init__(
            prog=f"mws {command}",
            description=_wrapped(text.strip()),
            add_help=False,
            allow_abbrev=False,
            formatter_class=_HelpFormatter,
        )
        self._positionals.title, self._optionals.title = "Arguments", "Options"
        self.learning, self.input, self.output = map(self.add_argument_group, ("How it learns", "Input", "Output"))
        self._example = next(iter(re.findall(r"(?m)^    (.*mws .*)", text)), f"mws {command} --help")

    def error(self, message: str) -> NoReturn:
        """Raise MwSError, which names the option as it is typed."""
        kind, _, rest = message.partition(": ")
        if kind == "the following arguments are required":
            raise MwSError(f"{rest.replace('/-o', '')} is missing; for example: {self._example}")
        if kind == "unrecognized arguments":
            first = rest.split()[0]
            first = first.partition("=")[0] if first.startswith("-") else first
            alike = did_you_mean(first, self._option_string_actions)
            if first in ("--model", "--tokenizer") and any(each.dest == "tokenizer" for each in self._actions):
                alike = " (give the tokenizer as the first argument, without an option)"
            raise MwSError(f"{first}: {self.prog} takes no such argument{alike}; `{self.prog} --help` lists all")
        message = message.removeprefix("argument ").replace("invalid int value", "not a whole number")
        raise MwSError(f"{message.replace('invalid float value', 'not a number')}; see `{self.prog} --help`")

    def finish(self) -> None:
        """Add --help after the other options, and write the line of usage."""
        self.add_argument("--help", "-h", action="help", help="Print this help and exit.")
        names = [
            f"[{action.metavar}]" if action.nargs in ("?", "*") else action.metavar
            for action in self._get_positional_actions()
        ]
        self.usage = " ".join(map(str, [self.prog, "[OPTIONS]", *names]))


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return a suggestion of the most similar known word for a message, or ""; dashes of options are ignored.

    >>> did_you_mean("--gld", ["--gold", "--text"])
    " (did you mean '--gold'?)"
    """
    names = {word.removeprefix("--"): word for word in known}
    near = nearest(given.removeprefix("--"), names)
    return f" (did you mean {names[near]!r}?)" if near else ""


def _wrapped(text: str) -> str:
    """Wrap the paragraphs of a help text, except examples (indented), whose lines stay whole for copying."""
    width = shutil.get_terminal_size().columns - 2
    fill = partial(textwrap.fill, width=width, break_long_words=False, break_on_hyphens=False)
    return "\n\n".join(part if part.startswith("    ") else fill(part) for part in text.split("\n\n"))
