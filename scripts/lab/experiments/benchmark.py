"""Time and memory of training, counting and encoding, compared with `tokenizers` and SentencePiece.

Every measurement is a process of its own. The columns of the first table are:

* *ratio* compares whole processes, from the start of Python to its end, because this is how long a user waits: the
  commands `mws train` and `mws encode`, and a script that does the same with the other library. In rows marked °, it
  compares only the work. In rows of memory, it compares the peak of the measuring process;
* *imported* compares only the work, after libraries are imported. Our kernels are compiled before, and loading them
  from the cache on disk is included;
* *again* is our work done a second time in the same process;
* *cold* is our whole process with an empty kernel cache, so it includes compilation;
* *required* and *desired* are the targets for the ratio, and *reached* is the target that was met.

A ratio is the quotient of two medians. In brackets are the lowest and the highest ratio within one repeat. The order of
tasks is reversed in every second repeat. All programs split text by the same pattern, except that contextual MwS has
its own pattern and SentencePiece splits at white space, here without normalization. `count/tokenizers` is
WordLevelTrainer with vocab_size=0, which is the fastest way to count with that library. `encode_batch` gets its lines
from memory (its whole process includes reading them), and its ids are not copied out of the Rust objects.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from lab.cells import Cell, Found, Page, Place, Row
from lab.data import cut, mixed
from lab.systems import trained
from lab.tables import about, groups, tabulated, where
from lab.timing import TASKS, Job, machine, ours, outcome
from mws_hf.atomic import atomic_path
from mws_hf.corpus.counting import count_files


class Text(NamedTuple):
    """A text and what is measured on it.

    Attributes:
        sources: glob of its files in the data folder.
        megabytes: size of its beginning that is used.
        redrawn: size to which it is extended by drawing words again, in MB; 0: it is not extended.
        entries: vocabulary size.
        tasks: names of the tasks.
        repeats: number of repeats of each task.
        goals: required and desired ratio of some kinds of work, instead of the ratios in `TARGETS`.
    """

    sources: str
    megabytes: float
    redrawn: float
    entries: int
    tasks: tuple[str, ...]
    repeats: int
    goals: dict[str, tuple[float, float]] = {}  # noqa: RUF012


_TRAIN = ("train/mws-contextual", "train/tokenizers-bpe")
TEXTS = {
    "Russian": Text("rus.*.txt.gz", 90, 0, 32_000, tuple(TASKS), 3),
    "eight languages": Text(
        *("*.txt.gz", 250, 0, 64_000, (*_TRAIN, "encode/mws-disk", "encode/encode_batch"), 1),
        {"training, default settings": (3, 6), "bulk encoding, file to disk": (12, 25)},
    ),
    "Russian, words drawn anew": Text("rus.*.txt.gz", 1000, 1000, 32_000, _TRAIN, 1),
}
AXES = {"text": list(TEXTS), "task": list(TASKS), "cache": ("warm", "cold"), "repeat": range(3)}
SHARED = 1


class Target(NamedTuple):
    """A line of the table of targets.

    Attributes:
        work: description of the work.
        ours: our task.
        rival: the task of the other library.
        at_least: the required ratio.
        aim: the desired ratio.
        figure: the figure of which the ratio is computed.
    """

    work: str
    ours: str
    rival: str
    at_least: float
    aim: float
    figure: str = "process_seconds"


TARGETS = (
    Target("training, original score + frequency merges", "train/mws-classic", "train/tokenizers-bpe", 4.5, 8),
    Target("training, original score + frequency merges", "train/mws-classic", "train/sentencepiece-bpe", 1.5, 4),
    Target("training, default settings", "train/mws-contextual", "train/tokenizers-bpe", 1.5, 3),
    Target("bulk encoding, file to disk", "encode/mws-disk", "encode/encode_batch", 10, 25),
    Target("counting only°", "count/mws", "count/tokenizers", 10, 30, "seconds"),
    Target("bulk encoding, in memory°", "encode/mws-memory", "encode/encode_batch", 15, 50, "seconds"),
    Target("peak memory, training, original score", "train/mws-classic", "train/tokenizers-bpe", 1, 2, "peak_mb"),
    Target("peak memory, training, default settings", "train/mws-contextual", "train/tokenizers-bpe", 1, 2, "peak_mb"),
)


def exists(cell: Cell) -> bool:
    """Return whether a cell is measured: larger texts have fewer tasks and repeats, and only our tasks run cold."""
    text = TEXTS[cell["text"]]
    repeats = text.repeats if cell["cache"] == "warm" else int(ours(cell["task"]))
    return cell["task"] in text.tasks and cell["repeat"] < repeats


def measure(place: Place, cells: list[Cell]) -> Found:
    """Run all tasks in turn, in reverse order in odd repeats; the tokenizer for encoding is trained first."""
    asked = TEXTS[cells[0]["text"]]
    work = place.work / "benchmark"
    text = mixed(place.data, asked.sources, work)
    text = redrawn(text, asked.redrawn) if asked.redrawn else cut(text, asked.megabytes)
    tokenizer = trained("mws", count_files(str(text)), asked.entries, work / text.stem)
    jobs = {task: Job(task, str(text.resolve()), str(tokenizer.resolve()), asked.entries) for task in TASKS}

    def turn(cell: Cell) -> tuple[bool, int, int]:
        number = list(TASKS).index(cell["task"])
        return cell["cache"] == "cold", cell["repeat"], -number if cell["repeat"] % 2 else number

    for task in dict.fromkeys(cell["task"] for cell in cells if ours(cell["task"])):
        outcome(jobs[task])  # compiles our kernels
    for cell in sorted(cells, key=turn):
        figures = outcome(jobs[cell["task"]], cold=cell["cache"] == "cold")
        yield cell, {"mb": round(text.stat().st_size / 1e6, 4), "machine": machine(), **figures}


def redrawn(text: Path, megabytes: float) -> Path:
    """Extend a text to `megabytes` with words that are drawn at random by their frequency, and return the new file.

    One drawn word in forty is a new word, made of the beginning of one word and the end of another. The number of
    distinct words therefore grows with the text, as in a real corpus. Repeating the text would add no distinct words.
    """
    target = text.with_name(f"{text.stem}-redrawn-{megabytes:g}.txt")
    if target.exists():
        return target
    raw = text.read_bytes()
    words = np.array(raw.decode("utf-8", "ignore").split(), dtype=object)
    rng = np.random.default_rng(0)
    with atomic_path(target) as temporary, temporary.open("wb") as stream:
        stream.write(raw)
        while stream.tell() < megabytes * 1e6:
            drawn = words[rng.integers(0, len(words), 200_000)]  # a random position gives a word by its frequency
            new = rng.random(len(drawn)) < 1 / 40
            others = words[rng.integers(0, len(words), int(new.sum()))]
            drawn[new] = [a[: (len(a) + 1) // 2] + b[len(b) // 2 :] for a, b in zip(drawn[new], others, strict=True)]
            drawn[15::16] += "\n"
            stream.write(" ".join(drawn).replace("\n ", "\n").encode() + b"\n")
    return target


def table(rows: list[Row]) -> Page:
    """Write the machine and the method; then the ratios and the medians of each text."""
    yield from sorted({f"Measured on {row['machine']}." for row in rows})
    yield about(__doc__)
    for text, here in groups(rows, "text"):
        loads = [row["load_before"] for row in here]
        yield f"## {text}: {here[0]['mb']:.1f} MB, vocabulary size {TEXTS[text].entries:,}"
        yield f"The load of the machine before each measurement was {min(loads):.1f} to {max(loads):.1f}."
        yield tabulated(filter(None, (reached(target, here) for target in TARGETS)))
        yield (
            "The next table has medians per task: *s*, *CPU s* and *again s* are seconds of the work, *cold s* is the "
            "same with an empty kernel cache, and *process s* is the whole process."
        )
        yield tabulated(medians(task, own) for task, own in sorted(groups(here, "task")))


def _of(rows: list[Row], task: str, figure: str, cache: str = "warm") -> list[float]:
    return [row[figure] for row in where(rows, task=task, cache=cache) if figure in row]


def reached(target: Target, rows: list[Row]) -> dict[str, str]:
    """Return the line of a target with the ratio that was reached, or nothing if a side was not measured."""
    mine, theirs = (_of(rows, task, target.figure) for task in (target.ours, target.rival))
    if not mine or not theirs:
        return {}
    value = median(theirs) / median(mine)
    paired = [their / own for own, their in zip(mine, theirs, strict=False)]
    unit = "MB" if target.figure == "peak_mb" else "s"
    line = {"work": target.work, "compared with": target.rival.split("/")[1]}
    line |= {"MwS": f"{short(median(mine))} {unit}", "other": f"{short(median(theirs))} {unit}"}
    line |= {"ratio": f"**{value:.3g}x** ({min(paired):.3g}–{max(paired):.3g})"}
    for name, (own, figure, cache) in BESIDE.items():
        both = _of(rows, target.rival, figure), _of(rows, target.ours, own, cache)
        line[name] = f"{median(both[0]) / median(both[1]):.3g}x" if unit == "s" and all(both) else "–"
    least, aim = TEXTS[rows[0]["text"]].goals.get(target.work, (target.at_least, target.aim))
    done = "desired" if value >= aim else "required" if value >= least else "none"
    return line | {"required": f"{least:g}x", "desired": f"{aim:g}x", "reached": done}


BESIDE = {
    "imported": ("seconds", "seconds", "warm"),
    "again": ("again_seconds", "seconds", "warm"),
    "cold": ("process_seconds", "process_seconds", "cold"),
}
"""Additional ratios: our figure, the figure of the other library, and the state of our kernel cache."""


def medians(task: str, own: list[Row]) -> dict[str, str]:
    """Return the line of a task with the medians of its figures."""
    seconds = _of(own, task, "seconds")
    if not seconds:
        return {"task": task, "s": own[0].get("failed", "")}
    found = {"CPU s": "cpu_seconds", "process s": "process_seconds", "peak MB": "peak_mb", "again s": "again_seconds"}
    every = {title: _of(own, task, figure) for title, figure in found.items()}
    every["cold s"] = _of(own, task, "seconds", "cold")
    middle = {title: short(median(values)) if values else "–" for title, values in every.items()}
    line = {"task": task, "s": short(median(seconds)), "range": f"{short(min(seconds))}–{short(max(seconds))}"}
    line |= {"MB/s": f"{own[0]['mb'] / median(seconds):.1f}", **middle, "peak MB": f"{median(every['peak MB']):.0f}"}
    entries = f"{own[0]['entries']:,}" if "entries" in own[0] else "–"
    return line | {"vocabulary size": entries, "repeats": str(len(seconds))}


def short(value: float) -> str:
    """Format a number with at least three significant digits and without an exponent.

    >>> short(0.01234), short(12.345), short(123456.7)
    ('0.0123', '12.3', '123,457')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
