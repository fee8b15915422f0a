"""Train the same small language model over several tokenizers and compare bits per byte; runs are kept and resume.

Each run is a process of its own (`python -m lm pretrain`); call the command again to go on where it stopped. What a run
measured is one line of scripts/results/lm_PRESET.runs.jsonl, so that another machine goes on from there as well;
checkpoints of a run that was interrupted stay under --work. Whole works are held out (results/works.json tells where
each begins) and rates are chosen on other works. scripts/results/lm_PRESET.{md,json} are written after every run, the
picture of all presets, lm.png, at the end. Text: DATA/text/LANGUAGE.*.txt.gz, without RuBLiMP's own sentences and
without novels that are there twice (`NOT_FOR_MODELS`).
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from lab import systems
from lab.cells import package, stamp

from lm.config import RunConfig
from lm.data import read_split
from lm.picture import write_picture
from lm.plan import DEFAULT, FINER, PRESETS, Preset, Run, plan
from lm.records import Records
from lm.report import write_report
from lm.texts import Texts, numbers_of_works, texts_of
from mws_hf.atomic import write_text
from mws_hf.errors import MwSError

ROOT = Path(__file__).resolve().parent.parent.parent
KEEP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "4000000000", "MALLOC_TOP_PAD_": "200000000"}
"""Glibc gives large buffers back to the system after each step; keeping them saves a quarter of the time."""


def compare(
    name: str,
    data: Path,
    work: Path,
    works: Path,
    results: Path,
    *,
    minutes: float,
    threads: int,
    only: list[str],
    changed: dict[str, Any],
    show: bool,
) -> None:
    """Do what is due of a preset, or print it; the options are those of the command (`__main__.py`)."""
    started = time.monotonic()
    preset = PRESETS[name]()
    preset = dataclasses.replace(preset, settings=preset.settings | changed)
    records = Records.open(results / f"lm_{name}.runs.jsonl", preset.settings)
    if show:
        show_plan(preset, records)
        return
    place = work / name
    listed = results / f"lm_{name}.works.json"
    while time.monotonic() - started < 60 * minutes and (run := due(preset, records, only)):
        text = texts_of(data, preset, place, listed, works)
        measured = execute(run, preset, text, place, records, threads)
        records.add(run, *measured, numbers_of_works(listed))
        print(f"{time.monotonic() - started:7.0f} s  {run.name}", flush=True)
        write_report(name, preset, records, results)
    write_report(name, preset, records, results)
    write_picture(results)


def train_tokenizer(run: Run, text: Texts, work: Path) -> Path:
    """Train the tokenizer of a run on all documents that are not held out, unless it is there already."""
    directory = work / "tokenizers" / f"{run.system}-{run.vocabulary}"
    if (directory / "about.json").is_file():
        return directory
    started = time.process_time()
    systems.train_system(run.system, _counts(text, work), run.vocabulary, directory)
    seconds = round(time.process_time() - started, 1)
    about = {
        "options": systems.MWS.get(run.system),
        "revision": stamp([*package(), Path(systems.__file__)]),
        "cpu_seconds": seconds,
    }
    write_text(directory / "about.json", json.dumps(about) + "\n")
    return directory


def _counts(text: Texts, work: Path) -> Any:
    """Word counts of the documents that are not held out, cached."""
    from mws_hf.corpus.counting import count_documents
    from mws_hf.corpus.counts import WordCounts

    file = work / "counts.parquet"
    if not file.is_file():
        count_documents(read_split(RunConfig(tokenizer="", **text.of_run())).pool).save(file)
    return WordCounts.load(file)


def run_config(run: Run, preset: Preset, text: Texts, tokenizer: Path, records: Records) -> RunConfig:
    """The config of a run.

    Raises:
        MwSError: one that is matched by operations comes before the reference run of its seed.
    """
    budget = None
    if run.flop_matched:
        name = DEFAULT if run.system == FINER else preset.references[0]
        base = records.reference(name, run)
        if base is None:
            raise MwSError(f"{run.name}: its budget is that of {name} with seed {run.seed}; train that first")
        budget = base.training["flops"]
    given = {"learning_rate": run.learning_rate, "train_bytes": run.train_bytes}
    values = preset.settings | {key: value for key, value in given.items() if value is not None}
    return RunConfig(
        tokenizer=str(tokenizer.resolve()),
        seed=run.seed,
        embedding_rows=preset.vocabulary if run.vocabulary < preset.vocabulary else run.vocabulary,
        flop_budget=budget,
        **(values | text.of_run()),
    )


def execute(
    run: Run, preset: Preset, text: Texts, work: Path, records: Records, threads: int
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Train and evaluate one run in processes of their own; return its training, evaluation and tokenizer."""
    directory, config = work / "runs" / run.name, work / "configs" / f"{run.name}.json"
    tokenizer = train_tokenizer(run, text, work)
    run_config(run, preset, text, tokenizer, records).save(config)
    limits = dict.fromkeys(("OMP_NUM_THREADS", "RAYON_NUM_THREADS"), str(threads))
    environment = {**os.environ, **KEEP, **limits, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "scripts")])}

    def lm(*arguments: str | Path) -> str:
        command = [sys.executable, "-m", "lm", *map(str, arguments)]
        return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout

    lm("pretrain", directory, "--config", config)
    if not (directory / "evaluation.json").is_file():
        lm("evaluate", directory)
    files = (directory / "training.json", directory / "evaluation.json", tokenizer / "about.json")
    training, evaluation, about = (json.loads(file.read_text(encoding="utf-8")) for file in files)
    found = lm("evaluate", directory, "--text", *text.development)
    evaluation["development"] = json.loads(found)["bits_per_byte"]
    return training, evaluation, about


def due(preset: Preset, records: Records, only: list[str]) -> Run | None:
    """The first run of the plan that is not finished and waits for nothing."""
    done = records.tuning()
    wanted = [run for run in plan(preset, done) if run.learning_rate and run not in done]
    return next((run for run in wanted if not only or run.name in only), None)


def show_plan(preset: Preset, records: Records) -> None:
    """One line a run: whether it is done, due, or waits for a learning rate."""
    done = records.tuning()
    for run in plan(preset, done):
        state = f"{done[run]:.4f}" if run in done else "due" if run.learning_rate else "waits"
        print(f"{state:8} {run.name}")
