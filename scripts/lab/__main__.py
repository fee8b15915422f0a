"""List, plan and run experiments, or write their tables and pictures again from the saved rows.

    python scripts/lab list
    python scripts/lab plan labels --only language=tur,fin
    python scripts/lab run labels --data ../shared/data --minutes 60
    python scripts/lab run labels --keep
    python scripts/lab table all
    python scripts/lab draw quality

`run` writes its rows to out/lab/results, or to the folder that --results names. With --keep it writes to
scripts/results, whose rows the pages quote. A run that was stopped, even by a kill, resumes where it stopped. `list`
shows how many rows were measured with an older recipe (other golden hashes) or an older version of the experiment.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from lab.cells import RESULTS, Experiment, Place, keep, measure, names, older, rows_of  # noqa: E402
from mws_hf.errors import MwSError  # noqa: E402


def main() -> None:
    """Parse the command line and run the command."""
    parser = argparse.ArgumentParser(
        prog="python scripts/lab", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=("list", "plan", "run", "table", "draw"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments, or all")
    parser.add_argument("--data", type=Path, default=Place.data, help="folder with the subfolders text, gold, words")
    parser.add_argument("--work", type=Path, default=Place.work, help="folder for tokenizers, models and caches")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--results", type=Path, help="folder with rows and tables")
    where.add_argument("--keep", action="store_true", help="read and write the rows in scripts/results")
    parser.add_argument("--with", nargs="+", default=[], metavar="NAME=PATH", help="paths that an experiment needs")
    parser.add_argument("--only", nargs="+", default=[], metavar="AXIS=VALUE,...", help="only cells with these values")
    parser.add_argument("--again", action="store_true", help="also measure cells whose row is older")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no further cell after this time")
    asked = parser.parse_args()
    if asked.do != "list" and not asked.names:
        parser.error(f"{asked.do} needs the name of an experiment, or all; `list` shows the names")
    if incomplete := [each for each in getattr(asked, "with") if "=" not in each]:
        parser.error(f"--with {incomplete[0]}: a name is missing; write NAME=PATH")
    until = time.monotonic() + 60 * asked.minutes
    tracked = asked.keep or asked.do not in ("plan", "run")
    results = asked.results or (RESULTS if tracked else Path("out/lab/results"))
    place = Place(asked.data, asked.work, results, dict(each.split("=", 1) for each in getattr(asked, "with")))
    only: dict[str, list[str]] = {}
    for name, _, values in (each.partition("=") for each in asked.only):
        only.setdefault(name, []).append(values)
    for name in names() if asked.do == "list" or asked.names == ["all"] else asked.names:
        experiment = Experiment.of(name)
        rows = rows_of(name, place.results)
        due = [] if asked.do in ("table", "draw") else experiment.due(rows, only, again=asked.again)
        if asked.do == "list":
            stamps = [stamp for row in rows for stamp in older(experiment, row)]
            of = f"{stamps.count('recipe')} with an older recipe, {stamps.count('code')} with older experiment code"
            print(f"{name}: {len(rows)} rows ({of}), {len(due)} cells due. {experiment.title}.")
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
