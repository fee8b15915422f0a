"""Run experiments cell by cell: measure the cells without a row, and save each row at once, so that a run can resume.

An experiment is a module of `lab.experiments`. The first line of its docstring is the title of its page, and the rest
describes the question and the method. The module has

* ``AXES``: the values of each axis, in the order of work. A cell is one combination of values, and these values
  identify its row of figures;
* ``SHARED``: the number of leading axes whose values identify a group. ``measure`` gets the cells of a group in one
  call, because they share some work;
* ``TOGETHER``, optional: if it is true and one cell of a group is due, the whole group is measured again, because its
  cells are compared with each other;
* ``exists(cell)``, optional: whether a combination of values is measured at all;
* ``measure(place, cells)``: yields ``(cell, figures)`` as soon as a cell is measured;
* ``table(rows)``: yields the parts of the page in Markdown.

A module may contain further experiments of the same kind, which `beside` creates and `BESIDE` lists.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from filelock import FileLock

from mws_hf.atomic import write_text
from mws_hf.errors import MwSError

Cell = Row = dict[str, Any]
Found = Iterator[tuple[Cell, Row]]
Page = Iterator[str]
"""The types of what `measure` and `table` yield."""

LAB = Path(__file__).parent
RESULTS = LAB.parent / "results"
BESIDE = {
    "blind_roots": "blind",
    "encoders": "trainers",
    "labels_default": "labels",
    "lexicon_words": "words",
    "new_words": "dropout",
    "surgery": "extend",
    "surgery_decoder": "extend",
    **dict.fromkeys(("lm_deu-works", "lm_eng-phrases", "lm_hun-works", "lm_rus-phrases", "lm_rus-works"), "lm.compare"),
    **dict.fromkeys(("lm_rus-5m", "lm_rus-5m-60mb", "lm_rus-16m-60mb", "lm_hun-5m"), "lm.compare"),
    **dict.fromkeys(("lm_rus-capitals", "lm_hun-capitals"), "lm.compare"),
}
"""Experiments that are defined in the module of another experiment.

In that module, the attribute has the name of the experiment with hyphens replaced by underscores.
"""
GOLDEN = LAB.parent.parent / "tests" / "unit" / "test_golden.py"
"""The test file with the golden hashes, which identify the results of a training."""


@dataclass(frozen=True)
class Place:
    """The folders of a run.

    Attributes:
        data: folder with the shared data, which are only read.
        work: folder for tokenizers, models and caches, which a later run reuses.
        results: folder for rows and tables.
        given: paths that the user passed as ``--with NAME=PATH``, by name.
    """

    data: Path = Path("../shared/data")
    work: Path = Path("out/lab")
    results: Path = RESULTS
    given: Mapping[str, str] = field(default_factory=dict, hash=False)

    def path(self, name: str, about: str) -> Path:
        """Return the path that the user passed as ``--with NAME=PATH``.

        Raises:
            MwSError: the user passed no such path; the message describes it as `about`.
        """
        if name not in self.given:
            raise MwSError(f"this experiment needs {about}; pass it as --with {name}=PATH")
        return Path(self.given[name])


@dataclass(frozen=True)
class Experiment:
    """An experiment: a module of `lab.experiments`, or an object in such a module with the same attributes."""

    name: str
    module: Any = field(hash=False)

    @classmethod
    def of(cls, name: str) -> Experiment:
        """Open an experiment by its name."""
        if name not in names():
            raise MwSError(f"{name}: no such experiment; choose one of {', '.join(names())}")
        home = BESIDE.get(name, name)
        module = importlib.import_module(home if "." in home else f"lab.experiments.{home}")
        return cls(name, getattr(module, name.replace("-", "_")) if name in BESIDE else module)

    @property
    def axes(self) -> Mapping[str, Sequence[Any]]:
        """The values of each axis."""
        return self.module.AXES

    @property
    def title(self) -> str:
        """The first line of the experiment's docstring, without the full stop."""
        return (self.module.__doc__ or "").partition("\n")[0].rstrip(".")

    def key(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the key of a row, which is the tuple of its values on all axes."""
        return tuple(row[name] for name in self.axes)

    def group(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the leading part of a row's key, which is equal for all cells of a group."""
        return self.key(row)[: self.module.SHARED]

    def cells(self, only: Mapping[str, Sequence[str]] | None = None) -> list[Cell]:
        """List all cells, or only the cells that have one of the given values on each axis in `only`."""
        axes = dict(self.axes)
        for name, given in (only or {}).items():
            known = {str(value): value for value in self.axes.get(name, ())}
            values = [one for each in given for one in ([each] if each in known else each.split(","))]
            if unknown := [value for value in values if value not in known]:
                named = "; ".join(f"{axis}: {', '.join(map(str, values))}" for axis, values in self.axes.items())
                raise MwSError(f"{self.name} has no {name}={','.join(unknown)}; its axes are {named}")
            axes[name] = [value for text, value in known.items() if text in values]
        cells = [dict(zip(axes, each, strict=True)) for each in product(*axes.values())]
        exists: Callable[[Cell], bool] = getattr(self.module, "exists", lambda cell: True)
        return [cell for cell in cells if exists(cell)]

    def due(self, rows: Iterable[Row], only: Mapping[str, Sequence[str]] | None = None, *, again: bool) -> list[Cell]:
        """List the cells that have no row, and with `again` also the cells whose row has an older stamp."""
        kept = {self.key(row): row for row in rows}
        cells = self.cells(only)
        due = [cell for cell in cells if self.key(cell) not in kept or again and older(self, kept[self.key(cell)])]
        if getattr(self.module, "TOGETHER", False):
            groups = {self.group(cell) for cell in due}
            return [cell for cell in cells if self.group(cell) in groups]
        return due


def beside(
    measure: Callable[..., Found], table: Callable[..., Page], axes: Mapping[str, Any], shared: int, **more: Any
) -> Any:
    """Create an experiment inside the module of another one; its docstring is the docstring of `measure`."""
    about = inspect.cleandoc(measure.__doc__ or "")
    return SimpleNamespace(__doc__=about, AXES=axes, SHARED=shared, measure=measure, table=table, **more)


def names() -> list[str]:
    """List the names of all experiments."""
    return sorted({*BESIDE, *(file.stem for file in (LAB / "experiments").glob("*.py"))} - {"__init__"})


@cache
def code(experiment: Experiment) -> str:
    """Return the stamp of an experiment's code.

    It is a digest of the experiment's file or, for language models, of all files of `scripts/lm`. The files are read
    only once, so that all rows of a run have the same stamp even if the files change during the run.
    """
    file = Path(inspect.getfile(experiment.module.measure))
    return stamp([file] if file.parent == LAB / "experiments" else sorted(file.parent.glob("*.py")))


@cache
def recipe() -> str:
    """Return the stamp of the training recipe, which is a digest of the golden hashes."""
    hashes = re.findall(r'": "([0-9a-f]{64})"', GOLDEN.read_text(encoding="utf-8"))
    return hashlib.blake2b("".join(hashes).encode(), digest_size=6).hexdigest()


def stamps(experiment: Experiment) -> Row:
    """Return the two stamps of a new row, for the recipe and for the experiment's code."""
    return {"recipe": recipe(), "code": code(experiment)}


def older(experiment: Experiment, row: Row) -> list[str]:
    """List the stamps of a row that are missing or differ from the current ones."""
    return [name for name, now in stamps(experiment).items() if row.get(name) != now]


def stamp(files: Iterable[Path]) -> str:
    """Return a digest of Python files without their docstrings, because these do not affect the measurements."""
    digest = hashlib.blake2b(digest_size=6)
    for file in files:
        digest.update(without_docstrings(file.read_text(encoding="utf-8")).encode())
    return digest.hexdigest()


def without_docstrings(source: str) -> str:
    r"""Remove the lines of every docstring, and blank lines, from source code.

    >>> without_docstrings('def half(x):\n    "A docstring."\n\n    return x / 2\n')
    'def half(x):\n    return x / 2'
    """
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            last = node.end_lineno or node.lineno
            lines[node.lineno - 1 : last] = [""] * (last - node.lineno + 1)
    return "\n".join(line for line in lines if line.strip())


def rows_of(name: str, results: Path = RESULTS) -> list[Row]:
    """Read the saved rows of an experiment."""
    file = results / f"{name}.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def keep(experiment: Experiment, new: Iterable[Row], results: Path = RESULTS) -> None:
    """Save new rows and write the page.

    A new row replaces an old one with the same key. Rows are sorted in the order of the axes.
    """
    places = [{value: n for n, value in enumerate(axis)} for axis in experiment.axes.values()]
    lock = hashlib.blake2b(str(results.resolve()).encode(), digest_size=6).hexdigest()
    with FileLock(Path(tempfile.gettempdir()) / f"lab-{lock}.lock"):  # another run may save rows of other cells
        rows = {experiment.key(row): row for row in [*rows_of(experiment.name, results), *new]}
        order = sorted(rows, key=lambda key: [at.get(value, len(at)) for at, value in zip(places, key, strict=True)])
        kept = [rows[key] for key in order]
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept)
        write_text(results / f"{experiment.name}.jsonl", lines)
        by = f"This page is written by `python scripts/lab run {experiment.name}`."
        parts = [f"# {experiment.title}", *_without_empty_sections(experiment.module.table(kept)), by]
        write_text(results / f"{experiment.name}.md", "\n\n".join(parts) + "\n")


def _without_empty_sections(parts: Iterable[str]) -> list[str]:
    """Leave out empty parts of a page, and each heading without content, because some cells have no row yet.

    >>> _without_empty_sections(["## 8,000", "", "## 16,000", "| a table |"])
    ['## 16,000', '| a table |']
    """
    found: list[str] = []
    for part in filter(None, parts):
        if part.startswith("## ") and "\n" not in part and found and found[-1].startswith("## "):
            found.pop()
        found.append(part)
    return found[:-1] if found and found[-1].startswith("## ") and "\n" not in found[-1] else found


def measure(experiment: Experiment, place: Place, due: Sequence[Cell], until: float = float("inf")) -> Iterator[Row]:
    """Measure cells, save their rows and yield them; no group of cells starts after the time `until`.

    Each row is saved as soon as it is measured, except that the rows of a group with ``TOGETHER`` are saved together.
    """
    measured, together = experiment.module.measure, getattr(experiment.module, "TOGETHER", False)
    for _, group in groupby(due, key=experiment.group):
        if time.monotonic() > until:
            return
        found = ({**cell, **figures, **stamps(experiment)} for cell, figures in measured(place, list(group)))
        for rows in [list(found)] if together else ([row] for row in found):
            keep(experiment, rows, place.results)
            yield from rows
