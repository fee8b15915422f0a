"""Bits per byte of the same small language model over several tokenizers: `python scripts/lab run lm_hun-works`.

An experiment of `lab` a preset. Runs, their checkpoints and tokenizers stay under --work, so that one that is stopped
goes on; a row holds the nats and raw bytes of each held-out work. `--with works=FILE` tells where each work begins in
the text files, else results/works.json does; results/lm_PRESET.works.json names those held out. Text:
DATA/text/LANGUAGE.*.txt.gz without `NOT_FOR_MODELS`. Where glibc gives large buffers back after each step,
MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=4000000000 MALLOC_TOP_PAD_=200000000 before the command save a quarter of the
time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from lab.cells import RESULTS, Cell, Place, Row, rows_of
from lab.systems import MWS, trained
from lab.tables import where

from lm.config import RunConfig
from lm.data import documents_of, read_split
from lm.evaluation import evaluate_run
from lm.ladder import write_ladder
from lm.plan import DEFAULT, FINER, PRESETS, Preset
from lm.report import table, write_picture
from lm.texts import Texts, texts_of
from lm.training import pretrain
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.counts import WordCounts
from mws_hf.errors import MwSError
from mws_hf.text.capitals import CAPITALS as CAPITALS_STEP

BY_DOCUMENT = ("nats", "n_bytes", "represented")


def comparison(name: str, preset: Preset) -> Any:
    """The experiment of a preset, with the names of a module of `lab.experiments`."""

    def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
        torch.set_num_threads(1)
        work = place.work / name
        works = Path(place.given.get("works", RESULTS / "works.json"))
        text = texts_of(place.data, preset, work, place.results / f"{name}.works.json", works)
        for cell in cells:
            done = rows_of(name, place.results)
            found = measured(cell, preset, text, work, done)
            if done and done[0]["n_bytes"] != found["n_bytes"]:
                raise MwSError(f"{name_of(cell)}: held-out works differ from those of {name}.jsonl; use the same text")
            yield cell, found

    return SimpleNamespace(
        __doc__=f"Language models over tokenizers, preset {name.removeprefix('lm_')}",
        AXES={axis: list(dict.fromkeys(cell[axis] for cell in preset.runs)) for axis in preset.runs[0]},
        SHARED=len(preset.runs[0]),
        exists=preset.runs.__contains__,
        measure=measure,
        table=lambda rows: table(preset, rows),
        draw=draw,
    )


def draw(rows: list[Row], results: Path) -> None:
    """Write the pictures that several presets share: the seeds of each system, and the gain by size of the model."""
    write_picture(results)
    write_ladder(results)


def measured(cell: Cell, preset: Preset, text: Texts, work: Path, done: list[Row]) -> Row:
    """Train and evaluate one run, or go on with it; the figures of its row."""
    directory = work / "runs" / name_of(cell)
    counts = _counts(text, work, cell["system"])
    tokenizer = trained(cell["system"], counts, cell["vocabulary"], work / "tokenizers")
    training = pretrain(run_config(cell, preset, text, tokenizer, done), directory)
    training["curve"] = [[point["step"], point["bytes"], round(point["loss"], 4)] for point in training["curve"]]
    evaluation = evaluate_run(directory)
    development = evaluate_run(directory, documents_of(text.development))["bits_per_byte"]
    nats, n_bytes = (np.bincount(text.works, evaluation[key]) for key in ("nats", "n_bytes"))
    return {
        "training": training,
        "evaluation": {key: value for key, value in evaluation.items() if key not in BY_DOCUMENT}
        | {"development": development},
        "nats": [round(value, 1) for value in nats.tolist()],
        "n_bytes": n_bytes.astype(np.int64).tolist(),
    }


def name_of(cell: Cell) -> str:
    """Directory of a run.

    >>> name_of({"system": "mws", "vocabulary": 8000, "learning_rate": 8e-3, "seed": 1, "flop_matched": True})
    'mws-flops-8000-lr0.008-s1'
    """
    system = cell["system"] + "-flops" * cell["flop_matched"]
    return f"{system}-{cell['vocabulary']}-lr{cell['learning_rate']:g}-s{cell['seed']}"


def _counts(text: Texts, work: Path, system: str) -> WordCounts:
    """Count the words of the documents that are not held out, with a marker for capitals if the system has one."""
    normalization = CAPITALS_STEP if MWS.get(system, {}).get("capitals") else None
    file = work / ("counts-capitals.parquet" if normalization else "counts.parquet")
    if not file.is_file():
        pool = read_split(RunConfig(tokenizer="", **text.of_run())).pool
        count_documents(pool, normalization=normalization).save(file)
    return WordCounts.load(file)


def run_config(cell: Cell, preset: Preset, text: Texts, tokenizer: Path, done: list[Row]) -> RunConfig:
    """The config of a run; the budget of one that is matched by operations is that of its reference, at its best rate.

    Raises:
        MwSError: the reference has no row yet.
    """
    budget = None
    if cell["flop_matched"]:
        name = DEFAULT if cell["system"] == FINER else preset.references[0]
        same = {"vocabulary": cell["vocabulary"], "seed": cell["seed"], "flop_matched": False}
        base = min(where(done, system=name, **same), key=lambda row: row["evaluation"]["bits_per_byte"], default=None)
        if base is None:
            raise MwSError(f"{name_of(cell)}: its budget is that of {name} with seed {cell['seed']}; train that first")
        budget = base["training"]["flops"]
    return RunConfig(
        tokenizer=str(tokenizer.resolve()),
        seed=cell["seed"],
        learning_rate=cell["learning_rate"],
        embedding_rows=max(preset.vocabulary, cell["vocabulary"]),
        flop_budget=budget,
        **(preset.settings | text.of_run()),
    )


globals().update(
    (f"lm_{name}".replace("-", "_"), comparison(f"lm_{name}", preset)) for name, preset in PRESETS.items()
)  # the lab finds an experiment by its name, with underscores for hyphens
