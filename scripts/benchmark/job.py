"""What one process of the benchmark is told to do, and what a task is; light, so that importing it costs nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

Run = Callable[[], dict[str, Any]]


class Skip(Exception):
    """A task that cannot be measured here; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One measurement.

    Attributes:
        task: its name in the table of tasks.
        text: path of the text.
        output: an empty folder for what it writes.
        shared: folder of what the set-up made: counts and the tokenizer for encoding.
        vocab_size: entries of the vocabularies.
        learn_types: word types to learn merges from, where learning alone is measured.
        learn_merges: merges to learn there.
        small_types: word types of the small list (Morfessor).
    """

    task: str
    text: str
    output: str
    shared: str
    vocab_size: int = 32_000
    learn_types: int = 400_000
    learn_merges: int = 32_000
    small_types: int = 30_000

    def to_json(self) -> str:
        """The job as a command-line argument."""
        return json.dumps(asdict(self))


def script(job: Job) -> list[str]:
    """The command that carries out the task of a job with nothing around it."""
    return [sys.executable, "-m", "benchmark.alone", job.to_json()]


@dataclass(frozen=True)
class Task:
    """One thing that is measured.

    Attributes:
        prepare: imports libraries and loads what is not measured; returns the function whose run is measured, which
            gives further facts to record. Raises `Skip` where it cannot be measured.
        alone: the command that a user would start for it, to time the whole process; None: that of the measurement.
        ours: whether it is mws_hf's: run once cold, and its output must not differ between runs.
        every_size: measured at every size of the text; otherwise only at the largest.
    """

    prepare: Callable[[Job], Run]
    alone: Callable[[Job], list[str]] | None = None
    ours: bool = False
    every_size: bool = True
