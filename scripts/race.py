"""Programs side by side: each in processes of its own, in turn, round after round; a Markdown table of the medians."""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mws_hf.atomic import write_text
from mws_hf.text.markdown import markdown_table


def seconds(command: list[str]) -> float | str:
    """How long a process took, or the last line of what it complained of."""
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    taken = time.perf_counter() - began
    return taken if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no reason given"])[-1][:90]


def in_turn(commands: Mapping[str, list[str]], rounds: int) -> dict[str, list[float | str]]:
    """Run each command once a round; return what `seconds` tells of each."""
    found: dict[str, list[float | str]] = {}
    for _ in range(rounds):
        for name, command in commands.items():
            found.setdefault(name, []).append(seconds(command))
            print(name, found[name][-1], flush=True)
    return found


def keep(results: Path, title: str, entry: str, cell: dict[str, Any], columns: tuple[str, str, str]) -> None:
    """Add an entry, ``{"rounds": ..., "seconds": ...}``, to a file of results and write its tables beside it."""
    kept = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {}
    kept[entry] = cell
    write_text(results, json.dumps(kept, indent=1) + "\n")
    sections = [section(name, each, results.stem, columns) for name, each in kept.items()]
    write_text(results.with_suffix(".md"), f"# {title}\n\n" + "\n".join(sections))


def section(name: str, cell: dict[str, Any], script: str, columns: tuple[str, str, str]) -> str:
    """Markdown of one entry: a row a program, the median of its rounds and how that compares with the first one's."""
    middle = {
        each: statistics.median(times)
        for each, taken in cell["seconds"].items()
        if (times := [one for one in taken if isinstance(one, float)])
    }
    first = middle[next(iter(cell["seconds"]))]
    rows = [
        [each, f"{middle[each]:.1f}", f"{middle[each] / first:.2f}"] if each in middle else [each, str(taken[0]), ""]
        for each, taken in cell["seconds"].items()
    ]
    notes = "".join(f" {note}" for note in cell.get("notes", ()))
    table = markdown_table(list(columns), rows)
    return f"## {name}\n\nMedians of {cell['rounds']} rounds, by `scripts/{script}.py`.{notes}\n\n{table}\n"
