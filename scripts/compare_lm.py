"""Train the same small language model over several tokenizers and compare bits per byte; runs are cached and resume.

    python scripts/compare_lm.py --preset rus --data DATA --work out/lm --minutes 30
    python scripts/compare_lm.py --preset rus --data DATA --plan         # what is done and what is due

Each run is a process of its own (`python -m lm`); call the script again to go on where it stopped. What a run
measured is one line of scripts/results/lm_PRESET.runs.jsonl, so that another machine goes on from there as well;
checkpoints of a run that was interrupted stay under --work. In presets named *-works, and gpu, whole works are held out
(`works.py` finds them) and rates are chosen on other works. scripts/results/lm_PRESET.{md,csv,json} are written after
every run, the picture of all presets, lm.png, at the end. Text: DATA/text/LANGUAGE.*.txt.gz, without RuBLiMP's own
sentences and without novels that are there twice (`NOT_FOR_MODELS`).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from compare_lm_picture import write_picture
from compare_lm_plan import DEFAULT, FINER, PRESETS, Preset, Run, plan
from compare_lm_records import Records
from compare_lm_report import write_report
from compare_lm_works import WORKS, Texts, texts_of
from lab.systems import MWS, train_system
from lm.config import RunConfig
from lm.data import read_split

from mws_hf.atomic import write_text
from mws_hf.errors import MwSError

ROOT = Path(__file__).resolve().parent.parent


def train_tokenizer(run: Run, text: Texts, work: Path) -> Path:
    """Train the tokenizer of a run on all documents that are not held out, unless it is there already."""
    directory = work / "tokenizers" / f"{run.system}-{run.vocabulary}"
    if (directory / "about.json").is_file():
        return directory
    started = time.process_time()
    train_system(run.system, _counts(text, work), run.vocabulary, directory)
    seconds = round(time.process_time() - started, 1)
    about = {"options": MWS.get(run.system), "revision": revision(), "cpu_seconds": seconds}
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


def revision() -> str:
    """Commit of the package, with a mark when tracked files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


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
        multi_token=preset.multi_token if run.multi_token else None,
        **(values | text.of_run()),
    )


def execute(run: Run, preset: Preset, text: Texts, work: Path, records: Records, threads: int) -> None:
    """Train and evaluate one run in processes of their own, and record it."""
    directory = work / "runs" / run.name
    tokenizer = train_tokenizer(run, text, work)
    config = run_config(run, preset, text, tokenizer, records)
    config.save(work / "configs" / f"{run.name}.json")
    # glibc gives large buffers back to the system after each step; keeping them saves a quarter of the time
    keep = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "4000000000", "MALLOC_TOP_PAD_": "200000000"}
    limits = dict.fromkeys(("OMP_NUM_THREADS", "RAYON_NUM_THREADS"), str(threads))
    environment = {**os.environ, **keep, **limits, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "scripts")])}
    command = [sys.executable, "-m", "lm"]
    configured = ["pretrain", str(directory), "--config", str(work / "configs" / f"{run.name}.json")]
    subprocess.run([*command, *configured], env=environment, check=True, stdout=subprocess.DEVNULL)
    if not (directory / "evaluation.json").is_file():
        subprocess.run([*command, "evaluate", str(directory)], env=environment, check=True, stdout=subprocess.DEVNULL)
    training, evaluation, about = (
        json.loads(file.read_text(encoding="utf-8"))
        for file in (directory / "training.json", directory / "evaluation.json", tokenizer / "about.json")
    )
    if text.development:
        scored = [
            *command,
            "evaluate",
            str(directory),
            *(part for file in text.development for part in ("--text", file)),
        ]
        found = subprocess.run(scored, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
        evaluation["development"] = json.loads(found)["bits_per_byte"]
    records.add(run, training, evaluation, about)


def due(preset: Preset, records: Records, only: list[str] | None) -> Run | None:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", choices=PRESETS, default="rus")
    parser.add_argument("--data", type=Path, required=True, help="folder with text/LANGUAGE.*.txt.gz")
    parser.add_argument("--work", type=Path, default=Path("out/lm"), help="tokenizers, runs and checkpoints")
    parser.add_argument("--works", type=Path, default=WORKS, help="where each work begins (works.py)")
    parser.add_argument("--results", type=Path, default=ROOT / "scripts" / "results")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no run after that many")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--plan", action="store_true", help="print what is done and what is due, and train nothing")
    parser.add_argument("--only", nargs="*", help="names of runs, as --plan prints them; all of the preset by default")
    parser.add_argument(
        "--set", nargs="*", default=[], metavar="KEY=JSON", help="settings that differ from the preset's"
    )
    options = parser.parse_args()
    started = time.monotonic()
    preset = PRESETS[options.preset]()
    changed = {key: json.loads(value) for key, value in (item.split("=", 1) for item in options.set)}
    preset = dataclasses.replace(preset, settings=preset.settings | changed)
    records = Records.open(options.results / f"lm_{options.preset}.runs.jsonl", preset.settings)
    if options.plan:
        show_plan(preset, records)
        return
    work = options.work / (options.preset if preset.works else preset.language)
    while time.monotonic() - started < 60 * options.minutes and (run := due(preset, records, options.only)):
        text = texts_of(options.data, preset, work, options.results / f"lm_{options.preset}.works.json", options.works)
        execute(run, preset, text, work, records, options.threads)
        print(f"{time.monotonic() - started:7.0f} s  {run.name}", flush=True)
        write_report(options.preset, preset, records, options.results)
    write_report(options.preset, preset, records, options.results)
    write_picture(options.results)


if __name__ == "__main__":
    try:
        main()
    except MwSError as error:
        sys.exit(f"error: {error}")
