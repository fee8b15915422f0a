"""First rows of new tokens: a small decoder after surgery, and after 200 and 1,000 steps of training on Finnish.

The model of 1.1 million weights, its tokenizer trimmed to 4,800 entries and extended by 2,000 Finnish tokens, trained
on (1 kB a step) in three orders of the text. In brackets the difference from "mean" in the same order, with its
standard deviation over orders. Other kinds were tried and are no choice any more: "focus" compared tokens by a text,
"focus by old rows" by the rows of their pieces, "weighted" mixed pieces by their use.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from itertools import product
from typing import Any

import torch
from lm.data import Codec, Collator, pack, shuffled
from transformers import AutoModelForCausalLM, AutoTokenizer

from lab.cells import Cell, Place, Row
from lab.decoder import CONTEXT_BYTES, SIZES, base_model, operated, scores
from lab.stand_ins import learnt
from lab.tables import about, groups
from mws_hf.extend.embeddings import transplant
from mws_hf.text.markdown import markdown_table

AXES = {"seed": range(3), "init": ("mean", "quiet")}
SHARED = 0
STEPS, BLOCKS, RATE = (0, 200, 1000), 4, 1e-3
"""Steps it is measured at, blocks a step, learning rate."""


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Bits per byte with each kind of first rows, before and in training on Finnish."""
    base, directory = base_model(place, "1.1 M"), operated(place, 4800)["both"]
    text = [line.strip() for line in learnt(place.data, "fin", SIZES["fin"]) if line.strip()]
    codec = Codec.open(directory)
    for cell in cells:
        model, old = (kind.from_pretrained(base) for kind in (AutoModelForCausalLM, AutoTokenizer))
        changed = transplant(model, old, AutoTokenizer.from_pretrained(directory), cell["init"])[0]
        steps = trained(changed, codec, text, cell["seed"])
        yield cell, {"steps": {f"{step:,}": scores(changed, codec, place) for step in steps}}


def trained(model: Any, codec: Codec, text: list[str], seed: int) -> Iterator[int]:
    """Train a model on text in the order of a seed, at a constant rate; stops at each of `STEPS` to be measured."""
    documents = shuffled(text, seed)
    blocks = pack(codec, documents[: len(documents) // 3], CONTEXT_BYTES)
    optimizer = torch.optim.AdamW(model.parameters(), RATE, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    collate = Collator(codec.padding)
    for step in range(STEPS[-1] + 1):
        if step in STEPS:
            yield step
            model.train()
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / 20)
        batch = [blocks[step * BLOCKS + place] for place in range(BLOCKS)]
        model(**collate(batch)).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def table(rows: list[Row]) -> str:
    """Means over seeds, a row for each kind of first rows, and how they differ from "mean" by the same seeds."""
    runs = {init: {row["seed"]: row["steps"] for row in here} for (init,), here in groups(rows, "init").items()}
    columns = list(product(("Finnish", "English"), map("{:,}".format, STEPS)))
    lines = []
    for init, own in runs.items():
        line = [str(init), str(len(own))]
        for language, step in columns:
            plain = runs.get("mean", {})
            gaps = [own[seed][step][language] - plain[seed][step][language] for seed in own if seed in plain]
            spread = "" if step == "0" or len(gaps) < 2 else f" ± {statistics.stdev(gaps):.3f}"
            told = "" if init == "mean" or not gaps else f" ({statistics.mean(gaps):+.3f}{spread})"
            line.append(f"{statistics.mean(each[step][language] for each in own.values()):.3f}{told}")
        lines.append(line)
    header = ["first rows", "orders", *(f"{name}, step {step}" for name, step in columns)]
    return f"{about(__doc__)}\n\n{markdown_table(header, lines)}"
