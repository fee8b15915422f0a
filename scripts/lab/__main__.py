"""Measure what is missing of an experiment, say what that is, or write its table or its pictures anew.

    python scripts/lab list
    python scripts/lab plan labels --only language=tur,fin
    python scripts/lab run labels --data ../shared/data --minutes 60
    python scripts/lab table all
    python scripts/lab draw quality

A run that is stopped, by a kill too, goes on where it stopped. `scripts/README.md` says how to add an experiment.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from lab.cells import Experiment, Place, keep, measure, names, rows_of  # noqa: E402
from mws_hf.errors import MwSError  # noqa: E402


def main() -> None:
    """Parse, and do it."""
    parser = argparse.ArgumentParser(
        prog="python scripts/lab", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=("list", "plan", "run", "table", "draw"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments, or all")
    parser.add_argument("--data", type=Path, default=Place.data, help="folder with text, gold, words")
    parser.add_argument("--work", type=Path, default=Place.work, help="folder for tokenizers, models, caches")
    parser.add_argument("--results", type=Path, default=Place.results, help="folder of rows and tables")
    parser.add_argument("--with", nargs="+", default=[], metavar="NAME=PATH", help="what else an experiment asks for")
    parser.add_argument("--only", nargs="+", default=[], metavar="AXIS=VALUE,...", help="cells with these values")
    parser.add_argument("--again", action="store_true", help="also cells that other code measured")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing after so many")
    asked = parser.parse_args()
    until = time.monotonic() + 60 * asked.minutes
    place = Place(asked.data, asked.work, asked.results, dict(each.split("=", 1) for each in getattr(asked, "with")))
    only: dict[str, list[str]] = {}
    for name, _, values in (each.partition("=") for each in asked.only):
        only.setdefault(name, []).append(values)
    for name in names() if asked.do == "list" or asked.names == ["all"] else asked.names:
        experiment = Experiment.of(name)
        rows = rows_of(name, place.results)
        due = [] if asked.do in ("table", "draw") else experiment.due(rows, only, again=asked.again)
        if asked.do == "list":
            print(f"{name}: {len(rows)} rows, {len(due)} cells due. {experiment.title}.")
        elif asked.do == "plan":
            print(*due, f"{name}: {len(due)} cells are due", sep="\n")
        elif asked.do == "table" and rows:
            keep(experiment, [], place.results)
        elif asked.do == "draw" and hasattr(experiment.module, "draw"):
            experiment.module.draw(rows, place.results)
        for row in measure(experiment, place, due, until) if asked.do == "run" else ():
            print(row, flush=True)


if __name__ == "__main__":
    try:
        main()
    except (MwSError, ModuleNotFoundError) as error:
        sys.exit(f"error: {error}")
