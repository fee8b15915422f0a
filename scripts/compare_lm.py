"""Train the same small language model over several tokenizers and compare bits per byte; runs are cached and resume.

    python scripts/compare_lm.py --preset cpu --text corpus/*.txt.gz --work out/lm --minutes 30

Each run is a process of its own (`python -m mws_hf.lm`); call the script again to go on where it stopped. What is
finished is written to scripts/results/lm_PRESET.{md,csv,json,png} after every run; `--minutes 0` writes that alone.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compare_lm_report import write_report

from mws_hf.atomic import write_text
from mws_hf.errors import MwSError
from mws_hf.lm.config import MultiToken, RunConfig
from mws_hf.lm.data import read_documents, split_documents

ROOT = Path(__file__).resolve().parent.parent
REFERENCES = ("bpe", "unigram")
"""What all others are compared with; the first also sets the budget of FLOP-matched runs."""

MWS: dict[str, dict[str, Any]] = {
    "mws": {},
    "mws-morphs": {"composition": 0},
    "mws-c25": {"composition": 0.25},
    "mws-c75": {"composition": 0.75},
    "mws-burial0": {"burial_cost": 0.0},
    "mws-burial03": {"burial_cost": 0.3},
    "mws-c75-burial0": {"composition": 0.75, "burial_cost": 0.0},
    "mws-classic": {"criterion": "classic"},
}
"""MwS systems by name: arguments of `MwSTrainer`. All other names are those of `mws_hf.baselines`."""


@dataclass(frozen=True)
class Run:
    """One model to train: a tokenizer, a seed, and what else differs from the plain byte-matched run."""

    system: str
    seed: int
    vocabulary: int
    multi_token: bool = False
    flop_matched: bool = False

    @property
    def name(self) -> str:
        """Directory of the run."""
        marks = ("-mtp" if self.multi_token else "") + ("-flops" if self.flop_matched else "")
        return f"{self.system}{marks}-{self.vocabulary}-s{self.seed}"


@dataclass(frozen=True)
class Preset:
    """Sizes of the comparison, and its runs in order of priority."""

    settings: dict[str, Any]
    runs: list[Run] = field(default_factory=list)
    multi_token: MultiToken = field(default_factory=MultiToken)


def cpu_preset() -> Preset:
    """A model that one core trains in minutes."""
    main = [Run(system, seed, 8000) for seed in (0, 1, 2) for system in ("bpe", "unigram", "mws", "mws-morphs")]
    curve = ("mws-burial03", "mws-burial0", "mws-c25", "mws-c75", "mws-c75-burial0", "mws-classic")
    pair = [Run("bpe", 0, 8000, multi_token=True), Run("mws", 0, 8000, multi_token=True)]
    matched = [Run("mws-morphs", 0, 8000, flop_matched=True)]
    others = [Run(system, 0, 8000) for system in ("bpe-byte", "sentencepiece-unigram", "wordpiece", "characters")]
    settings = {
        "train_bytes": 4_000_000,
        "held_out_bytes": 600_000,
        "context_bytes": 640,
        "hidden_size": 160,
        "layers": 4,
        "heads": 4,
        "batch_blocks": 8,
        "learning_rate": 2e-3,
        "precision": "bf16",
        "save_every": 100,
    }
    runs = [*main, *(Run(system, 0, 8000) for system in curve[:2]), *pair]
    runs += [*(Run(system, 0, 8000) for system in curve[2:]), *matched, *others]
    return Preset(settings, runs, MultiToken(horizon=3))


def gpu_preset() -> Preset:
    """About 60M parameters on all of the text, in minutes a run on one large GPU."""
    systems = [*MWS, "bpe", "unigram", "wordpiece", "characters", "bpe-byte", "sentencepiece-unigram"]
    runs = [Run(system, seed, size) for size in (8000, 16000) for seed in (0, 1, 2) for system in systems]
    runs += [Run(system, seed, 8000, multi_token=True) for seed in (0, 1, 2) for system in ("mws", "bpe")]
    runs += [Run("mws-morphs", seed, 8000, flop_matched=True) for seed in (0, 1, 2)]
    settings = {
        "train_bytes": None,
        "held_out_bytes": 2_000_000,
        "context_bytes": 2048,
        "hidden_size": 640,
        "layers": 12,
        "heads": 10,
        "batch_blocks": 64,
        "learning_rate": 1e-3,
        "precision": "bf16",
        "save_every": 500,
    }
    return Preset(settings, runs, MultiToken(horizon=4))


PRESETS = {"cpu": cpu_preset, "gpu": gpu_preset}


def train_tokenizer(run: Run, preset: Preset, text: list[str], work: Path) -> Path:
    """Train the tokenizer of a run on all documents that are not held out, unless it is there already."""
    directory = work / "tokenizers" / f"{run.system}-{run.vocabulary}"
    if (directory / "about.json").is_file():
        return directory
    counts = _counts(preset, text, work)
    started = time.process_time()
    options = MWS.get(run.system)
    if options is None:
        from mws_hf.baselines import train

        train(run.system, counts, run.vocabulary, directory)
    else:
        from mws_hf.trainer import MwSTrainer

        trainer = MwSTrainer(vocab_size=run.vocabulary, pattern=counts.pattern, **options)
        trainer.train_from_counts(counts).save_pretrained(directory)
    about = {"options": options, "revision": revision(), "cpu_seconds": round(time.process_time() - started, 1)}
    write_text(directory / "about.json", json.dumps(about) + "\n")
    return directory


def _counts(preset: Preset, text: list[str], work: Path) -> Any:
    """Word counts of the documents that are not held out, cached."""
    from mws_hf.corpus.counting import count_documents
    from mws_hf.corpus.counts import WordCounts

    file = work / "counts.parquet"
    if not file.is_file():
        split = split_documents(read_documents(text), None, preset.settings["held_out_bytes"])
        count_documents(split.pool).save(file)
    return WordCounts.load(file)


def revision() -> str:
    """Commit of the package, with a mark when tracked files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def run_config(run: Run, preset: Preset, text: list[str], tokenizer: Path, work: Path) -> RunConfig:
    """The config of a run; one that is matched by operations needs the reference run of its seed to be finished."""
    budget = None
    if run.flop_matched:
        report = work / "runs" / Run(REFERENCES[0], run.seed, run.vocabulary).name / "training.json"
        if not report.is_file():
            raise MwSError(f"{run.name}: needs {report}; train the reference first")
        budget = json.loads(report.read_text(encoding="utf-8"))["flops"]
    return RunConfig(
        tokenizer=str(tokenizer),
        text=tuple(text),
        seed=run.seed,
        embedding_rows=run.vocabulary,
        flop_budget=budget,
        multi_token=preset.multi_token if run.multi_token else None,
        **preset.settings,
    )


def execute(run: Run, preset: Preset, text: list[str], work: Path, threads: int) -> None:
    """Train and evaluate one run in processes of their own; what is finished is not repeated."""
    directory = work / "runs" / run.name
    if (directory / "evaluation.json").is_file():
        return
    config = run_config(run, preset, text, train_tokenizer(run, preset, text, work), work)
    config.save(work / "configs" / f"{run.name}.json")
    # glibc gives large buffers back to the system after each step; keeping them saves a quarter of the time
    keep = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "4000000000", "MALLOC_TOP_PAD_": "200000000"}
    environment = {**os.environ, **keep, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "mws_hf.lm"]
    configured = ["pretrain", str(directory), "--config", str(work / "configs" / f"{run.name}.json")]
    subprocess.run([*command, *configured], env=environment, check=True, stdout=subprocess.DEVNULL)
    scored = ["evaluate", str(directory), "--russian", "--prompt", "Он вышел из дома", "--prompt", "В старом саду"]
    subprocess.run([*command, *scored], env=environment, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", choices=PRESETS, default="cpu")
    parser.add_argument("--text", nargs="+", required=True, help="UTF-8 files, a document a line, .gz allowed")
    parser.add_argument("--work", type=Path, default=Path("out/lm"), help="tokenizers, runs and checkpoints")
    parser.add_argument("--results", type=Path, default=ROOT / "scripts" / "results")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no run after that many")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="names of runs, e.g. bpe-8000-s0; all of the preset by default")
    parser.add_argument(
        "--set", nargs="*", default=[], metavar="KEY=JSON", help="settings that differ from the preset's"
    )
    options = parser.parse_args()
    started = time.monotonic()
    preset = PRESETS[options.preset]()
    changed = {key: json.loads(value) for key, value in (item.split("=", 1) for item in options.set)}
    preset = dataclasses.replace(preset, settings=preset.settings | changed)
    for run in preset.runs:
        if options.only and run.name not in options.only:
            continue
        if time.monotonic() - started >= 60 * options.minutes:
            break
        execute(run, preset, options.text, options.work, options.threads)
        print(f"{time.monotonic() - started:7.0f} s  {run.name}", flush=True)
        write_report(options.preset, preset, options.work, options.results, REFERENCES)
    write_report(options.preset, preset, options.work, options.results, REFERENCES)


if __name__ == "__main__":
    main()
