"""The text of a comparison: which files models are trained on, and which whole works are held out."""

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

MOST = 12
"""A work gives at most one part in so many of the text held out, its first lines; the rest of it is left out."""


class Work(NamedTuple):
    """A novel or play: its name and its lines."""

    name: str
    lines: list[str]


@dataclass(frozen=True)
class Texts:
    """Files of a comparison, a document a line.

    Attributes:
        training: models and tokenizers learn from it.
        held_out: from whole works, scored.
        development: from other whole works; other peak rates are tried on it.
        works: the number of the work of each held-out line.
    """

    training: tuple[str, ...]
    held_out: tuple[str, ...]
    development: tuple[str, ...]
    works: list[int]

    def of_run(self) -> dict[str, Any]:
        """Arguments of `RunConfig`."""
        return {"text": self.training, "held_out": self.held_out}


def texts_of(data: Path, preset: Preset, work: Path, results: Path, known_works: Path) -> Texts:
    """The text that a preset asks for; that of whole works is written under `work` first, their names to `results`.

    Raises:
        MwSError: there is no text, or a file whose works are not known.
    """
    files = sorted((data / "text").glob(f"{preset.language}.*.txt.gz"))
    kept = [file for file in files if file.name not in NOT_FOR_MODELS]
    if not kept:
        raise MwSError(f"{data / 'text'}: no {preset.language}.*.txt.gz; give the folder that holds text/ with --data")
    size = preset.settings["held_out_bytes"]
    known = json.loads(known_works.read_text(encoding="utf-8"))
    if missing := [file.name for file in kept if file.name.removesuffix(".txt.gz") not in known]:
        kept = [file for file in kept if file.name not in missing]
    if not kept:
        raise MwSError(f"{known_works}: knows no works of {', '.join(missing)}; name a file that does with --works")
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
    """The works of a text file; volumes of one work, whose names differ in the number at the end, are one.

    Args:
        file: lines, one work after another.
        begins: number of the first line of each work, ascending, and its name.
    """
    lines = list(read_lines(str(file)))
    ends = [number for number, _ in begins[1:]] + [len(lines)]
    found: dict[str, list[str]] = {}
    for (begin, name), end in zip(begins, ends, strict=True):
        found.setdefault(name.rstrip("0123456789") if not name[:2].isupper() else name, []).extend(lines[begin:end])
    for name, own in found.items():
        yield Work(name, own)


def held_out_works(works: list[Work], size: int) -> tuple[list[Work], list[Work]]:
    """Works to hold out, in the order of a digest of their names, and the others.

    Args:
        works: all that are left.
        size: UTF-8 bytes to hold out at least, each distinct line once.

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
            if taken * MOST >= size:
                break
            if line not in seen:
                own.append(line)
                taken += len(line.encode())
        seen.update(own)
        kept.append(Work(name, own))
        total += taken
    return kept, ordered
