"""What BPE-dropout does for a small language model of Russian, by the merges that may fail.

    python scripts/dropout.py --data ../shared/data --work out/dropout [--minutes 60]

A model of 532,000 weights (`lm.plan.SMALL_MODEL`) reads 1 MB of whole works four times, cut by the default
tokenizer of 8,000 entries. With dropout each pass is cut anew; held-out works are cut without it. Three seeds each.
Bits per byte of the lines of those works, 400 kB, and of the same lines with typing errors: in one word of ten, two
neighbouring letters change places. Differences from training without dropout are of the same seed; in brackets their
t interval. Runs that are finished are kept under WORK; writes scripts/results/dropout.json and dropout.md.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from itertools import product
from pathlib import Path
from typing import Any

import torch
from lab.systems import train_system
from lab.tables import student_quantile
from lm.config import RunConfig
from lm.data import documents_of, read_split
from lm.evaluation import load_model
from lm.plan import PRESETS, SMALL_MODEL
from lm.scoring import bits_per_byte
from lm.texts import texts_of
from lm.training import pretrain

from mws_hf.corpus.counting import count_documents
from mws_hf.text.markdown import markdown_table

RESULTS = Path(__file__).parent / "results"
SHARE, SEEDS = 0.1, (0, 1, 2)
WAYS = {
    "no dropout": {},
    "all merges": {"dropout": SHARE, "drop": "all"},
    "within morphs": {"dropout": SHARE, "drop": "morph"},
    "across morphs": {"dropout": SHARE, "drop": "composition"},
}
SETTINGS: dict[str, Any] = SMALL_MODEL | {
    "precision": "fp32", "train_bytes": 1_000_000, "passes": 4, "learning_rate": 8e-3,
}  # fmt: skip
ENTRIES, HELD_OUT = 8_000, 400_000
"""Of the tokenizer; characters of held-out works that are scored."""


def mistyped(line: str, draw: random.Random) -> str:
    """Let two neighbouring letters change places in one word of ten with four letters or more.

    >>> mistyped("one two three four five six seven eight", random.Random(2))
    'one two three four fvie six seven eight'
    """
    words = line.split(" ")
    for place, word in enumerate(words):
        if len(word) >= 4 and draw.random() < 0.1:
            at = draw.randrange(1, len(word) - 2)
            words[place] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return " ".join(words)


def scored(files: tuple[str, ...]) -> dict[str, list[str]]:
    """Read the held-out lines that models are scored on, and make the mistyped ones."""
    lines = list(dict.fromkeys(documents_of(files)))
    plain = lines[:: max(1, sum(map(len, lines)) // HELD_OUT)]
    draw = random.Random(0)
    return {"bits per byte": plain, "with typing errors": [mistyped(line, draw) for line in plain]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with text/rus.*.txt.gz")
    parser.add_argument("--work", type=Path, default=Path("out/dropout"), help="tokenizer, runs and checkpoints")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no run after that many")
    options = parser.parse_args()
    started = time.monotonic()
    torch.set_num_threads(1)
    text = texts_of(options.data, PRESETS["rus-works"](), options.work, options.work / "works.json")
    tokenizer = options.work / "tokenizer"
    if not (tokenizer / "tokenizer.json").is_file():
        pool = read_split(RunConfig(tokenizer="", **text.of_run())).pool
        train_system("mws", count_documents(pool), ENTRIES, tokenizer)
    texts = scored(text.held_out)
    runs: list[dict[str, Any]] = []
    for seed, (way, dropped) in product(SEEDS, WAYS.items()):
        directory = options.work / "runs" / f"{way.replace(' ', '-')}-s{seed}"
        if not (directory / "training.json").is_file() and time.monotonic() - started > 60 * options.minutes:
            continue
        config = RunConfig(tokenizer=str(tokenizer.resolve()), seed=seed, **SETTINGS, **text.of_run(), **dropped)
        report = pretrain(config, directory)
        model, codec = load_model(directory)
        found = {name: bits_per_byte(model, codec, lines, config.context_bytes).value for name, lines in texts.items()}
        runs.append({"way": way, "seed": seed, "bytes per token": report["bytes_per_token"], **found})
        print(f"{time.monotonic() - started:6.0f} s", runs[-1], flush=True)
        (RESULTS / "dropout.json").write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
        write(runs)


def write(runs: list[dict[str, Any]]) -> None:
    """Show the runs as a table of means."""
    by_way = {way: {run["seed"]: run for run in runs if run["way"] == way} for way in WAYS}
    plain = by_way[next(iter(WAYS))]
    rows = []
    for way, own in by_way.items():
        if not own:
            continue
        row = [way, str(len(own)), f"{statistics.mean(run['bytes per token'] for run in own.values()):.2f}"]
        for name in ("bits per byte", "with typing errors"):
            gaps = [100 * (run[name] / plain[seed][name] - 1) for seed, run in own.items() if seed in plain]
            told = f"{statistics.mean(run[name] for run in own.values()):.4f}"
            row.append(told if own is plain or not gaps else f"{told} ({interval(gaps)})")
        rows.append(row)
    header = ["merges that fail", "seeds", "bytes per token in training", "bits per byte", "with typing errors"]
    text = f"# BPE-dropout in training\n\n{(__doc__ or '').strip()}\n\n{markdown_table(header, rows)}\n"
    (RESULTS / "dropout.md").write_text(text, encoding="utf-8")


def interval(gaps: list[float]) -> str:
    """Tell the mean of some differences in per cent, and its t interval of 95 %.

    >>> interval([1.0, 2.0, 3.0])
    '+2.00 %, -0.48 to +4.48'
    """
    mean = statistics.mean(gaps)
    if len(gaps) < 2:
        return f"{mean:+.2f} %"
    half = student_quantile(0.975, len(gaps) - 1) * statistics.stdev(gaps) / len(gaps) ** 0.5
    return f"{mean:+.2f} %, {mean - half:+.2f} to {mean + half:+.2f}"


if __name__ == "__main__":
    main()
