"""Mutation tests: insert faults into a copy of the package, one at a time, and check that a test fails for each.

    python scripts/checks/mutants.py             # every row of mutants.tsv; writes scripts/results/mutants.{json,md}
    python scripts/checks/mutants.py 3 17        # only these rows; the results of the other rows are kept

A row of mutants.tsv has five columns:

* a file of the package;
* a piece of its text, which must occur exactly once;
* the text that replaces it, which is the fault;
* the test files to run;
* a part of the names of the tests that are most likely to fail, which run first.

For each fault, the script runs the test files (without slow tests) and the doctests of the faulty file, until a test
fails. At the end it runs all these failed tests without any fault, where they must pass. Only the kernels that contain
a fault, and the kernels that call them, are compiled again.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
LIST, RESULTS = ROOT / "scripts" / "checks" / "mutants.tsv", ROOT / "scripts" / "results" / "mutants.json"
COPIED = ("mws_hf", "tests", "scripts", "docs", "README.md", "pyproject.toml")
SURVIVED, ENDLESS = "SURVIVED", "endless"
NO_TESTS = 5
"""pytest's exit code if no test was selected."""


class Mutant(NamedTuple):
    """A row of mutants.tsv.

    Attributes:
        file: path of the faulty file in the package.
        before: text in the file, which occurs exactly once.
        after: text that replaces it.
        tests: names of the test files, without ``test_`` and ``.py``, separated by spaces.
        first: part of the names of the tests that run first.
    """

    file: str
    before: str
    after: str
    tests: str
    first: str


def read_mutants(list_file: Path = LIST) -> list[Mutant]:
    """Read the rows of mutants.tsv."""
    with list_file.open(encoding="utf-8", newline="") as stream:
        rows = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(rows)
        return [Mutant(*row) for row in rows]


def mutated(text: str, mutant: Mutant) -> str:
    """Insert a fault into source code.

    Raises:
        ValueError: the text to replace does not occur exactly once.

    >>> mutated("a < b", Mutant("x.py", "<", "<=", "", ""))
    'a <= b'
    """
    if text.count(mutant.before) != 1:
        raise ValueError(f"{mutant.file}: {mutant.before!r} occurs {text.count(mutant.before)} times, not once")
    return text.replace(mutant.before, mutant.after)


def copied(home: Path) -> None:
    """Copy the files that tests need.

    In the copy, compiled kernels are cached by their own code and the code of the kernels that they call. A change of
    another file therefore does not compile them again.
    """
    for name in COPIED:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, home / name)
    jit = home / "mws_hf" / "kernels" / "jit.py"
    fault = Mutant(jit.name, "digest.update(source)", "pass", "", "")
    jit.write_text(mutated(jit.read_text(encoding="utf-8"), fault), encoding="utf-8")


def pytest_run(home: Path, arguments: list[str], limit: float | None) -> tuple[int | None, list[str]]:
    """Run pytest in the copy; return its exit code (None if it ran into the limit in seconds) and the failed tests."""
    own = {"PYTHONPATH": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    environment = {"NUMBA_CACHE_DIR": str(home / "kernels"), **os.environ, **own}
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", "-m", "not slow", *arguments]
    process = subprocess.Popen(
        command, cwd=home, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        lines = process.communicate(timeout=limit)[0].decode("utf-8", errors="replace").splitlines()
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, []
    failed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return process.returncode, [line.split(" - ")[0].split(" ", 1)[1].strip() for line in failed]


def run(home: Path, mutant: Mutant, limit: float) -> dict[str, object]:
    """Run the tests for one fault, and return a row of the results."""
    place, began = home / "mws_hf" / mutant.file, time.monotonic()
    whole = place.read_text(encoding="utf-8")
    try:
        place.write_text(mutated(whole, mutant), encoding="utf-8")
        tests = [str(next(home.glob(f"tests/*/test_{name}.py")).relative_to(home)) for name in mutant.tests.split()]
        code, failed = pytest_run(home, ["-x", "-k", mutant.first, *tests], limit) if mutant.first else (0, [])
        if code in (0, NO_TESTS):
            code, failed = pytest_run(home, ["-x", f"mws_hf/{mutant.file}", *tests], limit)
    finally:
        place.write_text(whole, encoding="utf-8")
    by = ENDLESS if code is None else SURVIVED if code == 0 else failed[0] if failed else f"pytest ended with {code}"
    return {**mutant._asdict(), "by": by, "seconds": round(time.monotonic() - began)}


def table(rows: list[dict[str, object]], listed: int) -> str:
    """Write the results as a page; `listed` is the number of rows in mutants.tsv, some of which may not have run."""

    def code(text: object) -> str:
        return "`" + str(text).replace("|", "\\|") + "`"

    caught = sum(row["by"] != SURVIVED for row in rows)
    lines = [
        "# Faults that were inserted into the code, and the tests that detect them",
        "",
        f"The tests detect {caught} of {len(rows)} inserted faults. `scripts/checks/mutants.tsv` lists "
        f"{listed - len(rows)} more, which were not run (`python scripts/checks/mutants.py`).",
        "",
        "| | file | fault | first test that fails |",
        "|---|---|---|---|",
    ]
    for number, row in enumerate(rows, start=1):
        fault = f"{code(row['before'])} → {code(row['after']) if row['after'] else 'nothing'}"
        by = str(row["by"]) if row["by"] in (SURVIVED, ENDLESS) else code(str(row["by"]).removeprefix("tests/"))
        lines.append(f"| {number} | {row['file']} | {fault} | {by} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the requested faults and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", type=int, help="numbers of rows, beginning with 1; default: all")
    parser.add_argument("--limit", type=float, default=900, help="maximum seconds for the tests of one fault")
    asked = parser.parse_args()
    mutants = read_mutants()
    for mutant in mutants:  # before any work
        mutated((ROOT / "mws_hf" / mutant.file).read_text(encoding="utf-8"), mutant)
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else []
    known = {(row["file"], row["before"], row["after"]): row for row in kept}
    wanted = asked.rows or range(1, len(mutants) + 1)
    with tempfile.TemporaryDirectory(prefix="mws-mutants-") as folder:
        home = Path(folder)
        copied(home)
        for number in wanted:
            mutant = mutants[number - 1]
            known[mutant[:3]] = row = run(home, mutant, asked.limit)
            print(f"{number:3} {row['file']}  {row['by']}  {row['seconds']} s", flush=True)
            rows = [known[each[:3]] for each in mutants if each[:3] in known]
            RESULTS.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            RESULTS.with_suffix(".md").write_text(table(rows, len(mutants)), encoding="utf-8")
        caught_by = {str(known[mutants[number - 1][:3]]["by"]) for number in wanted}
        caught_by = {by for by in caught_by if "::" in by}
        if caught_by and (failed := pytest_run(home, sorted(caught_by), None)[1]):
            raise SystemExit(f"these tests also fail without any fault: {', '.join(failed)}")


if __name__ == "__main__":
    main()
