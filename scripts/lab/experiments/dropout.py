"""What BPE-dropout does for a small language model of Russian, by the merges that may fail.

A model of 532,000 weights (`lm.plan.SMALL_MODEL`) reads 1 MB of whole works four times, cut by the default tokenizer of
8,000 entries. With dropout each pass is cut anew; held-out works are cut without it. Three seeds each. Bits per byte of
the lines of those works, 400 kB, and of the same lines with typing errors: in one word of ten, two neighbouring letters
change places. Differences from training without dropout are of the same seed; in brackets their t interval.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator
from typing import Any

import torch
from lm.config import RunConfig
from lm.data import documents_of, read_split
from lm.evaluation import load_model
from lm.plan import PRESETS, SMALL_MODEL
from lm.scoring import bits_per_byte
from lm.texts import texts_of
from lm.training import pretrain

from lab.cells import Cell, Place, Row
from lab.systems import trained
from lab.tables import about, groups, half
from mws_hf.corpus.counting import count_documents
from mws_hf.text.markdown import markdown_table

SHARE = 0.1
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

AXES = {"seed": range(3), "way": list(WAYS)}
SHARED = 0
TOLD = ("bits per byte", "with typing errors")


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


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Train a model in each way, and read the held-out lines with it."""
    torch.set_num_threads(1)
    work = place.work / "dropout"
    text = texts_of(place.data, PRESETS["rus-works"](), work, work / "works.json")
    counts = count_documents(read_split(RunConfig(tokenizer="", **text.of_run())).pool)
    tokenizer = str(trained("mws", counts, ENTRIES, work).resolve())
    lines = list(dict.fromkeys(documents_of(text.held_out)))
    plain, draw = lines[:: max(1, sum(map(len, lines)) // HELD_OUT)], random.Random(0)
    texts = dict(zip(TOLD, (plain, [mistyped(line, draw) for line in plain]), strict=True))
    for cell in cells:
        directory = work / "runs" / f"{cell['way'].replace(' ', '-')}-s{cell['seed']}"
        config = RunConfig(tokenizer=tokenizer, seed=cell["seed"], **SETTINGS, **text.of_run(), **WAYS[cell["way"]])
        length = pretrain(config, directory)["bytes_per_token"]
        model, codec = load_model(directory)
        found = {name: bits_per_byte(model, codec, each, config.context_bytes).value for name, each in texts.items()}
        yield cell, {"bytes per token": length, **found}


def table(rows: list[Row]) -> str:
    """Means over seeds, a row a way."""
    plain = {row["seed"]: row for row in rows if row["way"] == "no dropout"}
    lines = []
    for (way,), own in groups(rows, "way").items():
        line = [str(way), str(len(own)), f"{statistics.mean(row['bytes per token'] for row in own):.2f}"]
        for name in TOLD:
            gaps = [100 * (row[name] / plain[row["seed"]][name] - 1) for row in own if row["seed"] in plain]
            told = f"{statistics.mean(row[name] for row in own):.4f}"
            line.append(told if way == "no dropout" or not gaps else f"{told} ({interval(gaps)})")
        lines.append(line)
    header = ["merges that fail", "seeds", "bytes per token in training", *TOLD]
    return f"{about(__doc__)}\n\n{markdown_table(header, lines)}"


def interval(gaps: list[float]) -> str:
    """The mean of some differences in per cent, and its t interval of 95 %.

    >>> interval([1.0, 2.0, 3.0])
    '+2.00 %, -0.48 to +4.48'
    """
    mean = statistics.mean(gaps)
    if len(gaps) < 2:
        return f"{mean:+.2f} %"
    return f"{mean:+.2f} %, {mean - half(gaps):+.2f} to {mean + half(gaps):+.2f}"
