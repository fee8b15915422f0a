"""What the runs of a comparison measured, as a file of JSON lines: it is kept, models and checkpoints are not.

The first line holds the settings and the raw bytes of each held-out work, which are equal for all runs; every other
line is one finished run, with its nats for each of them. Lines are only added.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lm.plan import Run
from mws_hf.atomic import write_text
from mws_hf.errors import MwSError
from mws_hf.kernels import Doubles, Longs

BY_DOCUMENT = ("nats", "n_bytes", "represented")


@dataclass(frozen=True)
class Finished:
    """A run that has been trained and evaluated.

    Attributes:
        run: which.
        training: the report of `pretrain`.
        evaluation: that of `evaluate_run`, without values by document.
        tokenizer: options, revision and seconds of the tokenizer.
        nats: float64 (works,), of each held-out work.
    """

    run: Run
    training: dict[str, Any]
    evaluation: dict[str, Any]
    tokenizer: dict[str, Any]
    nats: Doubles

    @property
    def tuning(self) -> float:
        """Bits per byte that peak rates are chosen on: of works kept for that, else of the text reported."""
        return float(self.evaluation.get("development", self.bits))

    @property
    def bits(self) -> float:
        """Bits per byte; not a number where the tokenizer restores nothing."""
        value = self.evaluation["bits_per_byte"]
        return float("nan") if value is None else float(value)


class Records:
    """The finished runs of one preset.

    Attributes:
        path: the file; it need not exist yet.
        settings: those of all its runs.
        n_bytes: int64 (works,), raw bytes of each held-out work.
        runs: finished runs in the order they were added.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path, self.settings = path, dict(settings)
        self.n_bytes: Longs = np.zeros(0, np.int64)
        self.runs: dict[Run, Finished] = {}

    @classmethod
    def open(cls, path: Path, settings: Mapping[str, Any]) -> Records:
        """Read a file, if it is there.

        Raises:
            MwSError: its runs had other settings, or it cannot be read.
        """
        records = cls(path, settings)
        if not path.is_file():
            return records
        try:
            head, *lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
            before, sizes = head["settings"], head["n_bytes"]
        except (ValueError, KeyError) as error:
            raise MwSError(f"{path}: not a file of finished runs ({error}); restore or remove it") from error
        if before != records.settings:
            differing = sorted(key for key in {*before, *settings} if before.get(key) != settings.get(key))
            raise MwSError(
                f"{path}: its runs had another {', '.join(differing)}; give --results another folder, or remove it"
            )
        records.n_bytes = np.array(sizes, np.int64)
        for line in lines:
            records._keep(line)
        return records

    def tuning(self) -> dict[Run, float]:
        """Bits per byte that peak rates are chosen on, of each finished run."""
        return {run: entry.tuning for run, entry in self.runs.items()}

    def add(
        self,
        run: Run,
        training: dict[str, Any],
        evaluation: dict[str, Any],
        tokenizer: dict[str, Any],
        works: Sequence[int],
    ) -> None:
        """Keep a run, in memory and in the file, with totals by work.

        Args:
            run: the run.
            training: the report of `pretrain`.
            evaluation: that of `evaluate_run`.
            tokenizer: what is known of the tokenizer.
            works: number of the work of each held-out document.

        Raises:
            MwSError: the run was measured on other text than the runs before.
        """
        nats, n_bytes = (np.bincount(works, evaluation[name]) for name in ("nats", "n_bytes"))
        points = [[point["step"], point["bytes"], round(point["loss"], 4)] for point in training["curve"]]
        line = {
            "run": asdict(run),
            "training": {**training, "curve": points},
            "evaluation": {key: value for key, value in evaluation.items() if key not in BY_DOCUMENT},
            "tokenizer": tokenizer,
            "nats": [round(value, 1) for value in nats.tolist()],
        }
        n_bytes = n_bytes.astype(np.int64)
        if self.runs and not np.array_equal(n_bytes, self.n_bytes):
            raise MwSError(f"{run.name}: held-out works differ from those of {self.path}; use the same text")
        if not self.runs:
            self.n_bytes = n_bytes
            write_text(self.path, _json({"settings": self.settings, "n_bytes": n_bytes.tolist()}))
        write_text(self.path, self.path.read_text(encoding="utf-8") + _json(line))
        self._keep(line)

    def reference(self, system: str, run: Run) -> Finished | None:
        """The finished run of another system that a run is compared with: equal in seed, size, text and task.

        Where it was trained at several rates, that of the fewest bits per byte.
        """
        like = replace(run, system=system, flop_matched=False, learning_rate=None)
        alike = [entry for entry in self.runs.values() if replace(entry.run, learning_rate=None) == like]
        return min(alike, key=lambda entry: (entry.bits != entry.bits, entry.bits), default=None)

    def _keep(self, line: dict[str, Any]) -> None:
        run = Run(**line["run"])
        parts = (line[name] for name in ("training", "evaluation", "tokenizer"))
        self.runs[run] = Finished(run, *parts, np.array(line["nats"], np.float64))


def _json(line: dict[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n"
