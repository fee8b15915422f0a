"""Try a split pattern on difficult texts, in the regular-expression engine of `tokenizers`.

A pattern such as ``(?:a+)+b`` can match a run of letters in more ways than an engine can try. Oniguruma, the engine of
`tokenizers`, gives up after ten million tries and then stops the whole program, so it is tried in a separate process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import regex

RUN_LENGTH = 64
"""The number of characters in a run."""

MAX_UNITS = 80
"""Maximum number of units whose runs are tried, because a long pattern can contain many."""

TRIAL_SECONDS = 30.0
"""The time limit for all runs in `tokenizers`, including the start of the process. A valid pattern takes 0.1 s."""

ADVICE = (
    "inside a repeated group no part may match what another part or the next repetition of the group matches, so write "
    "[a-z]+(?:-[a-z]+)* instead of (?:[a-z]+-?)+"
)
"""What to change in a pattern that can match a run in too many ways."""

_UNITS = (
    *("a", "я", "1", " ", ".", "\n", "aB", "a ", "ж1", "A", "-", "_", "'", "中", "か", "한", "ก", "क", "ا", "ʰ"),
    *("\u0301", "²", "Ⅷ", "\t", "\r\n", "$", "+", "(", "\u200d", "😀", "\u0085", "1,", "a-", "a'", "क\u094d"),
)
"""The units whose runs are tried for every pattern: characters of all kinds of scripts and categories, and pairs."""

_PARTS = regex.compile(r"\\p\{[^}]*\}|\\p\w|\[(?:\\.|[^\]\\])*\]|[^\W_]+")
_CHARACTERS = "".join(chr(point) for point in range(0x20, 0x10000) if not 0xD800 <= point < 0xE000)

_CHILD = """
import json, sys
from tokenizers import Regex, pre_tokenizers
pattern, texts = json.load(sys.stdin)
try:
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
except Exception as error:
    print(json.dumps(str(error)))
    sys.exit(1)
for number, text in enumerate(texts):
    print(number, flush=True)
    split.pre_tokenize_str(text)
"""


def trial_runs(pattern: str) -> Iterator[tuple[str, str]]:
    r"""Yield the texts that a pattern is tried on, each with the unit that it repeats; other characters follow the run.

    >>> units = dict(trial_runs("ё+"))
    >>> "a" in units, "ё" in units, units["ё"].startswith("ё" * RUN_LENGTH + "\0")
    (True, True, True)
    """
    own = list(dict.fromkeys(pattern))
    letters = [character for character in own if character.isalnum()]
    for unit in list(dict.fromkeys([*_UNITS, *_units_of(pattern), *letters]))[:MAX_UNITS]:
        for after in ("\0", "\0" + "".join(own), "\0" + "".join(own) + "1"):
            yield unit, (unit * RUN_LENGTH)[:RUN_LENGTH] + after


def _units_of(pattern: str) -> Iterator[str]:
    r"""Yield the literal words of a pattern, and a character of each of its classes.

    >>> list(_units_of(r"(?:foo|fo|\p{Georgian}+)[^a-z]"))
    ['foo', 'fo', 'Ⴀ', ' ']
    """
    for part in _PARTS.findall(pattern):
        if part[0] not in "\\[":
            yield part
            continue
        try:
            found = regex.search(part, _CHARACTERS)
        except regex.error:  # only a part of a class
            continue
        if found:
            yield found[0]


def failure_in_tokenizers(pattern: str) -> str | None:
    """Try a pattern in `tokenizers` on all runs, and return what fails and what to change; None if nothing fails.

    The pattern is tried in a child process, because the library prints a panic and can end the process. If there is no
    Python interpreter that could run the child, nothing is tried, and the result is None.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        return None
    runs = [*trial_runs(pattern)]
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", _CHILD],
            input=json.dumps([pattern, [text for _, text in runs]]).encode(),
            capture_output=True,
            timeout=TRIAL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        printed = late.stdout or b""
    except OSError:
        return None
    else:
        printed = done.stdout if done.returncode else b""
    lines = printed.split(b"\n")[:-1]
    if not lines:  # the pattern works, or the child could not import tokenizers
        return None
    last = json.loads(lines[-1])
    if isinstance(last, str):
        return f"tokenizers cannot compile it ({last}); write that part differently"
    return f"tokenizers fails at a run of {runs[last][0]!r}, which the pattern can match in too many ways; {ADVICE}"
