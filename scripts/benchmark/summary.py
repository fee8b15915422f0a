"""From single measurements to medians, ratios, growth and contradictions; nothing is formatted here."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

Record = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """A line of the table of targets.

    Attributes:
        work: what is compared.
        ours: our task.
        rival: theirs.
        at_least: the ratio rival / ours that must be reached.
        aim: the ratio hoped for, if any.
        measure: the field compared: "process_seconds" (start of Python to its end), "seconds" (libraries imported) or
            "peak_mb".
    """

    work: str
    ours: str
    rival: str
    at_least: float
    aim: float | None
    measure: str = "process_seconds"


CLASSIC, CONTEXTUAL, BPE = "train/mws-classic", "train/mws-contextual", "train/tokenizers-bpe"
TARGETS = {
    "language": (
        Target("training, classic + compositions", CLASSIC, BPE, 4.5, 8),
        Target("training, classic + compositions", CLASSIC, "train/sentencepiece-bpe", 1.5, 4),
        Target("training, contextual", CONTEXTUAL, BPE, 1.5, 3),
        Target("training, contextual", CONTEXTUAL, "train/tokenizers-unigram", 4, 15),
        Target("bulk encoding, file to disk", "encode/mws-disk", "encode/encode_batch", 10, 25),
        Target("counting alone", "count/mws", "count/tokenizers", 10, 30, "seconds"),
        Target("learning from saved counts, classic", "learn/mws-classic", "learn/full-rescan", 100, None, "seconds"),
        Target("bulk encoding, in memory", "encode/mws-memory", "encode/encode_batch", 15, 50, "seconds"),
        Target("peak memory, training classic", CLASSIC, BPE, 1, 2, "peak_mb"),
        Target("peak memory, training contextual", CONTEXTUAL, BPE, 1, 2, "peak_mb"),
    ),
    "mixture": (
        Target("training, contextual", CONTEXTUAL, BPE, 3, 6),
        Target("bulk encoding, file to disk", "encode/mws-disk", "encode/encode_batch", 12, 25),
        Target("peak memory, training contextual", CONTEXTUAL, BPE, 1, 2, "peak_mb"),
    ),
}
"""The project's floors and aims for text of one language and for several languages together."""

GROWING = ("train/mws-classic", "train/mws-contextual", "count/mws", "encode/mws-disk", "encode/mws-memory")


def of(records: Iterable[Record], task: str, size: float | None = None, cache: str = "warm") -> list[Record]:
    """The finished measurements of a task at one size (None: at all), by repeat."""
    found = [
        r for r in records if r["task"] == task and size in (None, r["size"]) and r["cache"] == cache and "seconds" in r
    ]
    return sorted(found, key=lambda r: (r["size"], r["repeat"]))


def middle(records: Iterable[Record], measure: str) -> float | None:
    """The median of a field; None without measurements."""
    values = [record[measure] for record in records]
    return median(values) if values else None


@dataclass(frozen=True)
class Ratio:
    """How many times better ours is.

    Attributes:
        ours: median of ours.
        rival: median of theirs.
        low: least ratio within one repeat; `ours` and `rival` ran minutes apart there.
        high: greatest one.
    """

    ours: float
    rival: float
    low: float
    high: float

    @property
    def value(self) -> float:
        """Ratio of the medians."""
        return self.rival / self.ours


def ratio(records: list[Record], target: Target, size: float, measure: str | None = None) -> Ratio | None:
    """Rival / ours at one size, or None where one of them was not measured."""
    measure = measure or target.measure
    ours, theirs = (of(records, task, size) for task in (target.ours, target.rival))
    if not ours or not theirs:
        return None
    by_repeat = {record["repeat"]: record[measure] for record in theirs}
    paired = [by_repeat[r["repeat"]] / r[measure] for r in ours if r["repeat"] in by_repeat]
    medians = median(r[measure] for r in ours), median(r[measure] for r in theirs)
    paired = paired or [medians[1] / medians[0]]
    return Ratio(*medians, min(paired), max(paired))


def verdict(target: Target, value: float) -> str:
    """Whether a target is met.

    >>> classic = TARGETS["language"][0]
    >>> verdict(classic, 5.0), verdict(classic, 9.0), verdict(classic, 2.0)
    ('at least', 'aim', 'no')
    """
    if target.aim is not None and value >= target.aim:
        return "aim"
    return "at least" if value >= target.at_least else "no"


def growth(records: list[Record], task: str) -> float | None:
    """Exponent of time in the size of the text between the smallest and the largest size; None with one size only.

    Where a task ran twice in a process, the second time counts: constant costs of the first would flatter the exponent.

    >>> fixed = {"task": "t", "repeat": 0, "cache": "warm"}
    >>> rows = [{**fixed, "size": s, "mb": 10.0 * s, "seconds": 2.0 * s} for s in (1, 9)]
    >>> growth(rows, "t")
    1.0
    """
    found = of(records, task)
    if not found or found[0]["size"] == found[-1]["size"]:
        return None
    small, large = (of(records, task, found[end]["size"]) for end in (0, -1))
    measure = "again_seconds" if "again_seconds" in large[0] else "seconds"
    times = median(r[measure] for r in large) / median(r[measure] for r in small)
    return round(math.log(times) / math.log(large[0]["mb"] / small[0]["mb"]), 3)


def contradictions(records: list[Record]) -> list[str]:
    """Outputs that must be equal and are not: ours between runs, merges against the rescan, numbers of tokens."""
    found = []
    if len({r["code"] for r in records if "code" in r}) > 1:
        found.append("the package's sources changed between measurements: run all of them again")
    for task, size in sorted({(r["task"], r["size"]) for r in records}):
        digests = {r["digest"] for r in records if (r["task"], r["size"]) == (task, size) and "digest" in r}
        if len(digests) > 1:
            found.append(f"{task} at {size}x: outputs differ between runs: {sorted(digests)}")
    firsts = {str(r["first"]) for r in records if "first" in r}
    if len(firsts) > 1:
        found.append(f"learn: the first merges differ from the full rescan's: {sorted(firsts)}")
    for size in sorted({r["size"] for r in records}):
        tokens = {r["task"]: r["tokens"] for r in records if r["size"] == size and "tokens" in r}
        if len(set(tokens.values())) > 1:
            found.append(f"encode at {size}x: numbers of tokens differ: {tokens}")
    return found
