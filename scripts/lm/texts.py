"""The text of a comparison: the files that models are trained on, and the whole works that are held out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from lab.data import NOT_FOR_MODELS

from lm.plan import Preset
from mws_hf.atomic import write_text
from mws_hf.errors import MwSError
from mws_hf.scoring.running_text import read_lines

MIN_WORKS = 12
"""A held-out work contributes its first lines, up to this fraction (1 in `MIN_WORKS`) of the held-out text.

The rest of the work is not used.
"""


class Work(NamedTuple):
    """A novel or play: its name and its lines."""

    name: str
    lines: list[str]


@dataclass(frozen=True)
class Texts:
    """The files of a comparison, with one document per line.

    Attributes:
        training: files that models and tokenizers learn from.
        held_out: files with lines of whole works, which are scored.
        development: files with lines of other whole works, on which peak learning rates are compared.
        works: for each held-out line, the number of its work.
    """

    training: tuple[str, ...]
    held_out: tuple[str, ...]
    development: tuple[str, ...]
    works: list[int]

    def of_run(self) -> dict[str, Any]:
        """Return the arguments of `RunConfig` for this text."""
        return {"text": self.training, "held_out": self.held_out}


def texts_of(data: Path, preset: Preset, work: Path, results: Path, known_works: Path) -> Texts:
    """Return the text of a preset, after writing its parts to files under `work` if they do not exist yet.

    The names of the held-out works are written to the file `results`. `known_works` is a JSON file with the first line
    and the name of each work in the text files; text files that it does not list are not used.

    Raises:
        MwSError: there is no text in this language, or `known_works` lists none of its files.
    """
    files = sorted((data / "text").glob(f"{preset.language}.*.txt.gz"))
    kept = [file for file in files if file.name not in NOT_FOR_MODELS]
    if not kept:
        raise MwSError(
            f"{data / 'text'} has no file {preset.language}.*.txt.gz; pass the folder that contains text/ as --data"
        )
    size = preset.settings["held_out_bytes"]
    known = json.loads(known_works.read_text(encoding="utf-8"))
    if missing := [file.name for file in kept if file.name.removesuffix(".txt.gz") not in known]:
        kept = [file for file in kept if file.name not in missing]
    if not kept:
        raise MwSError(
            f"{known_works} lists no works of {', '.join(missing)}; pass a file that does as --with works=FILE"
        )
    rest = [each for file in kept for each in works_of(file, known[file.name.removesuffix(".txt.gz")])]
    parts = {}
    for name, share in (("held_out", size), ("development", size // 2)):
        parts[name], rest = held_out_works(rest, share)
    parts["training"] = rest
    found = {}
    for name, works in parts.items():
        found[name] = work / "text" / f"{name}.txt"
        if not found[name].is_file():
            write_text(found[name], "".join(f"{line}\n" for each in works for line in each.lines))
    named = {name: [[each.name, len(each.lines)] for each in parts[name]] for name in ("held_out", "development")}
    write_text(results, json.dumps(named, ensure_ascii=False, indent=1) + "\n")
    numbers = [number for number, each in enumerate(parts["held_out"]) for _ in each.lines]
    return Texts(**{name: (str(file.resolve()),) for name, file in found.items()}, works=numbers)


def works_of(file: Path, begins: list[tuple[int, str]]) -> Iterator[Work]:
    """Yield the works of a text file; volumes whose names differ only in a number at the end are one work.

    Args:
        file: text file with the lines of one work after another.
        begins: the number of each work's first line, ascending, and its name.
    """
    lines = list(read_lines(str(file)))
    ends = [number for number, _ in begins[1:]] + [len(lines)]
    found: dict[str, list[str]] = {}
    for (begin, name), end in zip(begins, ends, strict=True):
        found.setdefault(name.rstrip("0123456789") if not name[:2].isupper() else name, []).extend(lines[begin:end])
    for name, own in found.items():
        yield Work(name, own)


def held_out_works(works: list[Work], size: int) -> tuple[list[Work], list[Work]]:
    """Choose the works to hold out, in the order of a digest of their names; return them and the other works.

    Args:
        works: the works to choose from.
        size: minimum number of UTF-8 bytes to hold out; each distinct line counts once.

    >>> works = [Work(name, [f"{name} {line}" for line in range(9)]) for name in "abc"]
    >>> kept, rest = held_out_works(works, 30)
    >>> [work.name for work in kept], len(rest)
    (['c', 'b', 'a'], 0)
    """
    ordered = sorted(works, key=lambda each: hashlib.sha256(each.name.encode()).digest())
    kept: list[Work] = []
    seen: set[str] = set()
    total = 0
    while ordered and total < size:
        name, lines = ordered.pop(0)
        own, taken = [], 0
        for line in dict.fromkeys(lines):
            if taken * MIN_WORKS >= size:
                break
            if line not in seen:
                own.append(line)
                taken += len(line.encode())
        seen.update(own)
        kept.append(Work(name, own))
        total += taken
    return kept, ordered
