"""Define errors that a user can correct, and help to write messages, import optional libraries and end commands."""

from __future__ import annotations

import importlib
import importlib.util
import re
import signal
from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral
from typing import Any

STOPPING_SIGNALS = {
    number: word
    for name, word in (("SIGINT", "interrupted"), ("SIGTERM", "terminated"), ("SIGHUP", "terminal closed"))
    if (number := getattr(signal, name, None)) is not None  # Windows has no SIGHUP
}
"""The signals that stop a command, with the word that it prints; the exit code is 128 plus the signal's number."""

EXIT_CODES_OF_SIGNALS = frozenset(128 + number for number in STOPPING_SIGNALS)
"""The exit codes of a command that a signal stopped."""


class Terminated(KeyboardInterrupt):
    """An exception that is raised when a signal other than that of Ctrl-C stops a command.

    `kill`, `docker stop`, systemd and batch systems send SIGTERM; a terminal or connection that is closed sends SIGHUP.
    Code that catches KeyboardInterrupt handles these signals as it handles Ctrl-C.

    Attributes:
        number: the number of the signal.
    """

    def __init__(self, number: int = signal.SIGTERM) -> None:
        self.number = number
        super().__init__()


def ending(interrupt: KeyboardInterrupt) -> tuple[str, int]:
    """Return the word that a command prints when a signal stops it, and its exit code.

    >>> ending(KeyboardInterrupt()), ending(Terminated())
    (('interrupted', 130), ('terminated', 143))
    """
    number = interrupt.number if isinstance(interrupt, Terminated) else signal.SIGINT
    return STOPPING_SIGNALS[number], 128 + number


_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(value: object, keep: str = "") -> str:
    r"""Return a value as text that is safe to print: control characters become ``\uXXXX``.

    Everything that comes from a file or a user (names, tokens, words, templates) goes through this function before it
    is printed. Otherwise a file could move the cursor, delete lines, or write lines that look like messages of this
    package. Control characters, line separators, controls of the writing direction, and lone surrogates are escaped.
    The escapes are those of JSON, so that a string in JSON still stands for the same text.

    Args:
        value: the value, which is converted by `str`.
        keep: characters that are not escaped, such as the line breaks of a table.

    >>> printable("a\x1b[1Ab\nc"), printable("жé\u200c"), printable("one\ntwo", keep="\n")
    ('a\\u001b[1Ab\\u000ac', 'жé\u200c', 'one\ntwo')
    """
    return _UNPRINTABLE.sub(lambda found: found[0] if found[0] in keep else f"\\u{ord(found[0]):04x}", str(value))


MAX_MESSAGE_CHARACTERS = 2000
"""The longest message that is printed, because a message may quote a line of a wrong file."""


def shortened(message: str) -> str:
    """Leave out the middle of a message of more than `MAX_MESSAGE_CHARACTERS`; the end says what to do.

    >>> shortened("short"), len(shortened(10_000 * "x"))
    ('short', 2000)
    """
    if len(message) <= MAX_MESSAGE_CHARACTERS:
        return message
    end = MAX_MESSAGE_CHARACTERS // 2
    return f"{message[: MAX_MESSAGE_CHARACTERS - end - 3]} … {message[-end:]}"


def is_installed(library: str) -> bool:
    """Return whether an optional library is installed, without importing it."""
    return importlib.util.find_spec(library) is not None


def needed(library: str, use: str = "", install: str = "") -> Any:
    """Import an optional library and return it.

    Args:
        library: the name by which it is imported.
        use: the subject of the message, which names what needs the library, such as "The picture".
        install: its name for pip, if that differs.

    Raises:
        MwSError: the library is not installed, or it is installed but cannot be imported. The message contains the pip
            command.

    >>> needed("no_such_library", "The picture")
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: The picture needs no_such_library, which is not installed: pip install no_such_library
    """
    try:
        return importlib.import_module(library)
    except ImportError as error:
        subject, name = f"{use} needs {library}, which" if use else library, install or library
        if is_installed(library):
            raise MwSError(
                f"{subject} is installed but cannot be imported ({first_line(error)}); install it again: "
                f"pip install --force-reinstall {name}"
            ) from error
        raise MwSError(f"{subject} is not installed: pip install {name}") from error


def quoted(value: object, most: int = 60) -> str:
    """Return a value as Python writes it, shortened to about `most` characters, for the middle of a message.

    >>> quoted("a short text"), quoted("a text that goes on and on", 12), quoted([1, 2, 3], 6)
    ("'a short text'", "'a text that…'", '[1, 2…')
    """
    if isinstance(value, str):
        return repr(value if len(value) <= most else f"{value[:most].rstrip()}…")
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


class MwSError(ValueError):
    """An error that the user can correct: the message says what is wrong, where (file:line), and what to do.

    The command line prints the message and exits with code 2, without a traceback. `printable` escapes control
    characters that the message quotes from a file, and `shortened` leaves out the middle of a very long message.

    >>> raise MwSError("words.tsv:3: count 'x' is not an integer; write word<TAB>count")
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: words.tsv:3: count 'x' is not an integer; write word<TAB>count
    """

    def __str__(self) -> str:
        return shortened(printable(super().__str__()))


class SettingError(MwSError):
    """An error for a value that a setting does not accept; the command line writes the setting as an option.

    Attributes:
        name: the name of the setting.
        value: the given value.
        problem: what is wrong with the value, and what to do; the message continues with it after the value.

    >>> raise SettingError("vocab_size", 1.5, "is not a whole number")
    Traceback (most recent call last):
        ...
    mws_hf.errors.SettingError: vocab_size=1.5 is not a whole number
    """

    def __init__(self, name: str, value: object, problem: str) -> None:
        self.name, self.value, self.problem = name, value, problem
        shown = "" if _holds_objects(value) else f"={quoted(value, 200 if isinstance(value, str) else 60)}"
        super().__init__(f"{name}{shown} {problem}")

    def of_option(self, option: str) -> str:
        """Return the message for a setting that was given as an option of a command."""
        if _holds_objects(self.value):
            return f"{option} {self.problem}"
        return f"{option} {self.value if isinstance(self.value, str) else quoted(self.value)} {self.problem}"


def _holds_objects(value: object) -> bool:
    """Return whether a value contains objects of this package, such as labeled words, which no user typed."""
    return isinstance(value, (list, tuple)) and any(type(item).__module__.startswith("mws_hf.") for item in value)


def check_count(name: str, value: object, least: int = 1) -> None:
    """Raise SettingError unless the value of a setting is a whole number of at least `least`.

    >>> check_count("block_size", 64)
    >>> check_count("block_size", "64")
    Traceback (most recent call last):
        ...
    mws_hf.errors.SettingError: block_size='64' must be a whole number of at least 1
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise SettingError(name, value, f"must be a whole number of at least {least}")


class MissingTokenizerError(MwSError, OSError):
    """An error for a path or name without a tokenizer; it is also an OSError, because transformers raises one."""


def library_failure(error: BaseException) -> str | None:
    """Return the message of an error with which a Rust library itself failed (a panic, or a bare Exception).

    The result is None for all other errors.

    >>> library_failure(Exception("no such token")), library_failure(ValueError("x")), library_failure(SystemExit())
    ('no such token', None, None)
    """
    return first_line(error) if type(error) is Exception or type(error).__name__ == "PanicException" else None


def first_line(error: BaseException) -> str:
    """Return the first line of another library's error, or its type if it has no text."""
    lines = (line.strip() for line in str(error).splitlines())
    return next((line for line in lines if line), type(error).__name__)


def brief(error: Exception) -> str:
    """Return the type and the `first_line` of another library's error."""
    return f"{type(error).__name__}: {first_line(error)}"


_POINTER = re.compile(
    rb"version https?://[^\s]{1,80}\r?\n(?:ext-[^\n]*\n)*oid sha256:[0-9a-f]{64}\s|/annex/objects/\S+\s*\Z"
)


def pointer_problem(head: bytes) -> str | None:
    r"""Return a message if a file is only a pointer of Git LFS or git-annex, or None; its first 1024 bytes suffice.

    >>> pointer_problem(b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\n")
    'a Git LFS pointer, not the file itself; fetch it with: git lfs pull'
    """
    if not _POINTER.match(head.removeprefix(b"\xef\xbb\xbf")):
        return None
    kind, command = ("git-annex", "git annex get") if b"/annex/" in head[:20] else ("Git LFS", "git lfs pull")
    return f"a {kind} pointer, not the file itself; fetch it with: {command}"


def nearest(given: str, known: Iterable[str]) -> str | None:
    """Find the known name that the user probably meant: one that contains the given name or is spelled similarly.

    >>> nearest("trian", ["train", "trim"]), nearest("vocab", ["n_merges", "vocab_size"]), nearest("serve", ["train"])
    ('train', 'vocab_size', None)
    """
    names = list(known)
    alike = [name for name in names if given and given in name] or get_close_matches(given, names, 1)
    return alike[0] if alike else None
