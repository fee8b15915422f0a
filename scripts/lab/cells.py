"""Experiments, their cells and their rows: what is due is measured, each row is kept as it comes, a run goes on.

An experiment is a module of `lab.experiments`. Its docstring says what it asks; the first line is the title of its
page. It has

* ``AXES``: the values of each part of a cell's key, in the order of work; a row is found by its key;
* ``SHARED``: how many of the first axes are equal in the cells that ``measure`` gets at once (what they share is made
  once); all of a group are measured again where one is due if ``TOGETHER`` is set: they are compared with one another;
* ``exists(cell)``, if not all combinations do;
* ``measure(place, cells)``, which yields ``(cell, figures)``, as each is known;
* ``table(rows)``, which yields the parts of its page, in Markdown.

What is of one kind stands in one module: the second experiment of a module is what `beside` makes there (`BESIDE`).
"""

from __future__ import annotations

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
"""What `measure` yields, and what `table` does."""

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
}
"""Experiments that stand in the module of another, each under its name; a hyphen is an underscore there."""
GOLDEN = LAB.parent.parent / "tests" / "unit" / "test_golden.py"
"""The test with the golden hashes, which say what a training learns."""


@dataclass(frozen=True)
class Place:
    """Where an experiment reads, where it may leave what it makes, and where rows and tables are kept."""

    data: Path = Path("../shared/data")
    work: Path = Path("out/lab")
    results: Path = RESULTS
    given: Mapping[str, str] = field(default_factory=dict, hash=False)

    def path(self, name: str, about: str) -> Path:
        """What the user gave by ``--with NAME=PATH``."""
        if name not in self.given:
            raise MwSError(f"this experiment needs {about}: give --with {name}=PATH")
        return Path(self.given[name])


@dataclass(frozen=True)
class Experiment:
    """A module of `lab.experiments`, or an object of one with the names that a module would have."""

    name: str
    module: Any = field(hash=False)

    @classmethod
    def of(cls, name: str) -> Experiment:
        """Open an experiment by its name."""
        if name not in names():
            raise MwSError(f"{name}: no such experiment; there are {', '.join(names())}")
        home = BESIDE.get(name, name)
        module = importlib.import_module(home if "." in home else f"lab.experiments.{home}")
        return cls(name, getattr(module, name.replace("-", "_")) if name in BESIDE else module)

    @property
    def axes(self) -> Mapping[str, Sequence[Any]]:
        """The values of each part of a key."""
        return self.module.AXES

    @property
    def title(self) -> str:
        """The first line of its docstring."""
        return (self.module.__doc__ or "").partition("\n")[0].rstrip(".")

    def key(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """What a row is a measurement of."""
        return tuple(row[name] for name in self.axes)

    def group(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """The part of the key that cells measured at once have in common."""
        return self.key(row)[: self.module.SHARED]

    def cells(self, only: Mapping[str, Sequence[str]] | None = None) -> list[Cell]:
        """All cells, or those with the values named."""
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
        """List the cells without a row, and with `again` those whose row has an older stamp."""
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
    """An experiment in the module of another, with a module's names; what it asks is the docstring of `measure`."""
    about = inspect.cleandoc(measure.__doc__ or "")
    return SimpleNamespace(__doc__=about, AXES=axes, SHARED=shared, measure=measure, table=table, **more)


def names() -> list[str]:
    """All experiments."""
    return sorted({*BESIDE, *(file.stem for file in (LAB / "experiments").glob("*.py"))} - {"__init__"})


@cache
def code(experiment: Experiment) -> str:
    """Return the stamp of an experiment: a digest of its file, or of all files of `scripts/lm` for language models.

    The files are read when it is asked for first, so that a run that goes on while they change has one stamp.
    """
    file = Path(inspect.getfile(experiment.module.measure))
    return stamp([file] if file.parent == LAB / "experiments" else sorted(file.parent.glob("*.py")))


@cache
def recipe() -> str:
    """Return the stamp of what a training learns: a digest of the golden hashes."""
    hashes = re.findall(r'": "([0-9a-f]{64})"', GOLDEN.read_text(encoding="utf-8"))
    return hashlib.blake2b("".join(hashes).encode(), digest_size=6).hexdigest()


def stamps(experiment: Experiment) -> Row:
    """Return both stamps that a new row gets."""
    return {"recipe": recipe(), "code": code(experiment)}


def older(experiment: Experiment, row: Row) -> list[str]:
    """List the stamps of a row that are missing or differ from those of today."""
    return [name for name, now in stamps(experiment).items() if row.get(name) != now]


def stamp(files: Iterable[Path]) -> str:
    """Return a digest of files."""
    digest = hashlib.blake2b(digest_size=6)
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def rows_of(name: str, results: Path = RESULTS) -> list[Row]:
    """The rows kept of an experiment."""
    file = results / f"{name}.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def keep(experiment: Experiment, new: Iterable[Row], results: Path = RESULTS) -> None:
    """Add rows, each in place of an old one of its key, and write all in the order of the axes, with their page."""
    places = [{value: n for n, value in enumerate(axis)} for axis in experiment.axes.values()]
    lock = hashlib.blake2b(str(results.resolve()).encode(), digest_size=6).hexdigest()
    with FileLock(Path(tempfile.gettempdir()) / f"lab-{lock}.lock"):  # another run may keep rows of other cells
        rows = {experiment.key(row): row for row in [*rows_of(experiment.name, results), *new]}
        order = sorted(rows, key=lambda key: [at.get(value, len(at)) for at, value in zip(places, key, strict=True)])
        kept = [rows[key] for key in order]
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept)
        write_text(results / f"{experiment.name}.jsonl", lines)
        by = f"By `scripts/lab run {experiment.name}`."
        parts = filter(None, [f"# {experiment.title}", *experiment.module.table(kept), by])
        write_text(results / f"{experiment.name}.md", "\n\n".join(parts) + "\n")


def measure(experiment: Experiment, place: Place, due: Sequence[Cell], until: float = float("inf")) -> Iterator[Row]:
    """Measure cells; each row is kept as it comes, of cells that are compared all; no group begins after `until`."""
    measured, together = experiment.module.measure, getattr(experiment.module, "TOGETHER", False)
    for _, group in groupby(due, key=experiment.group):
        if time.monotonic() > until:
            return
        found = ({**cell, **figures, **stamps(experiment)} for cell, figures in measured(place, list(group)))
        for rows in [list(found)] if together else ([row] for row in found):
            keep(experiment, rows, place.results)
            yield from rows
