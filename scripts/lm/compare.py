"""Bits per byte of the same small language model over several tokenizers: `python scripts/lab run lm_hun-works`.

There is one experiment of `lab` per preset. Runs, their checkpoints and their tokenizers are saved under --work, so
that an interrupted run can resume. A row contains the nats and the bytes of each held-out work (a novel or a play).

The text is DATA/text/LANGUAGE.*.txt.gz without `NOT_FOR_MODELS`. The file `--with works=FILE`, by default
results/works.json, contains the first line of each work in the text files. The run writes the names of the held-out
works to results/lm_PRESET.works.json.

If glibc returns large buffers to the system after each step, you save a quarter of the time by setting these
environment variables: MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=4000000000 MALLOC_TOP_PAD_=200000000.
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
    """Create the experiment of a preset, with the attributes that a module of `lab.experiments` has."""

    def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
        torch.set_num_threads(1)
        work = place.work / name
        works = Path(place.given.get("works", RESULTS / "works.json"))
        text = texts_of(place.data, preset, work, place.results / f"{name}.works.json", works)
        for cell in cells:
            done = rows_of(name, place.results)
            found = measured(cell, preset, text, work, done)
            if done and done[0]["n_bytes"] != found["n_bytes"]:
                raise MwSError(
                    f"{name_of(cell)}: its held-out works differ from those in {name}.jsonl; use the same text"
                )
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
    """Draw the pictures of several presets: the seeds of each system, and the differences by model size."""
    write_picture(results)
    write_ladder(results)


def measured(cell: Cell, preset: Preset, text: Texts, work: Path, done: list[Row]) -> Row:
    """Train one run, or resume it, and evaluate it; return the figures of its row."""
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
    """Return the name of a run's directory.

    >>> name_of({"system": "mws", "vocabulary": 8000, "learning_rate": 8e-3, "seed": 1, "flop_matched": True})
    'mws-flops-8000-lr0.008-s1'
    """
    system = cell["system"] + "-flops" * cell["flop_matched"]
    return f"{system}-{cell['vocabulary']}-lr{cell['learning_rate']:g}-s{cell['seed']}"


def _counts(text: Texts, work: Path, system: str) -> WordCounts:
    """Count the words of all documents that are not held out, with a marker for uppercase if the system uses it."""
    normalization = CAPITALS_STEP if MWS.get(system, {}).get("capitals") else None
    file = work / ("counts-capitals.parquet" if normalization else "counts.parquet")
    if not file.is_file():
        pool = read_split(RunConfig(tokenizer="", **text.of_run())).pool
        count_documents(pool, normalization=normalization).save(file)
    return WordCounts.load(file)


def run_config(cell: Cell, preset: Preset, text: Texts, tokenizer: Path, done: list[Row]) -> RunConfig:
    """Return the settings of a run.

    A run with equal compute has the FLOPs of its reference run as its budget: the run of the reference system that has
    the same vocabulary size and seed, and the lowest bits per byte among the learning rates.

    Raises:
        MwSError: the reference run has no row yet.
    """
    budget = None
    if cell["flop_matched"]:
        name = DEFAULT if cell["system"] == FINER else preset.references[0]
        same = {"vocabulary": cell["vocabulary"], "seed": cell["seed"], "flop_matched": False}
        base = min(where(done, system=name, **same), key=lambda row: row["evaluation"]["bits_per_byte"], default=None)
        if base is None:
            raise MwSError(
                f"{name_of(cell)}: its budget is that of {name} with seed {cell['seed']}; train that run first"
            )
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
