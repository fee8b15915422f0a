"""A small decoder under the knife, for `surgery.py`: its loss before and after surgery, and by kind of first rows.

The tokenizer of the base (byte-level, of English and German novels and Python code, as public ones are of many texts)
and its model, trained on the English novels alone. Trimmed by English text, the tokenizer has room for Finnish tokens:
a language in Latin script, so that their pieces are known to the model, as the letters of most languages are to public
ones. Each 50th line is held out of everything.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from itertools import accumulate, chain, product
from pathlib import Path
from typing import Any

import torch
from extend_bases import END, byte_level, save
from lm.config import RunConfig
from lm.data import Codec, Collator, pack, shuffled
from lm.scoring import bits_per_byte
from lm.training import pretrain
from surgery_bases import held_out, learnt
from transformers import AutoModelForCausalLM, AutoTokenizer

from mws_hf.corpus.counting import count_documents
from mws_hf.extend.base import open_base
from mws_hf.extend.embeddings import mix_rows, transplant
from mws_hf.extend.extension import extend
from mws_hf.extend.first_rows import READERS, by_company, mixed_rows
from mws_hf.extend.trim import trim

SIZES = {"eng": 12, "deu": 6, "code": 3, "fin": 9}
"""Million characters of each text that tokenizers learn from."""

ENTRIES, KEPT, NEW = 8_000, (4_800, 6_400), 2_000
"""Of the base, of it trimmed (first rows are compared at the first), and new ones."""

CONTEXT_BYTES, BLOCKS = 256, 8
BASES: dict[str, dict[str, Any]] = {
    "1.1 M": {"hidden_size": 96, "layers": 3, "learning_rate": 4e-3, "train_bytes": 5_000_000},
    "5.2 M": {"hidden_size": 256, "layers": 4, "learning_rate": 2e-3, "train_bytes": 8_000_000},
}
"""Bases by their number of weights: shape, peak rate and bytes of English. First rows are compared on the first."""

SMALL = next(iter(BASES))
SEEDS, STEPS, FEWER_BLOCKS, RATE = (0, 1, 2), (0, 200, 1000), 4, 1e-3
"""Of training on Finnish: its orders of documents, the steps it is measured at, blocks a step, learning rate."""

OLD_ROWS = "focus by old rows"
INITS = ("mean", "quiet", "focus", "weighted", OLD_ROWS)
"""The kinds of first rows; the last compares tokens by the mean of their pieces' rows, not by a text."""


def base_tokenizer(data: Path, work: Path) -> Path:
    """Train the base's tokenizer, once."""
    directory = work / "small"
    if not (directory / "tokenizer.json").is_file():
        texts = chain.from_iterable(learnt(data, name, SIZES[name]) for name in ("eng", "deu", "code"))
        save(byte_level(texts, ENTRIES - 3), directory, END)
    return directory


def base_model(data: Path, work: Path, size: str = SMALL) -> Path:
    """Train the base's model of one of the sizes, once; an interrupted run goes on."""
    torch.set_num_threads(1)
    text = work / "small-english.txt"
    if not text.is_file():
        text.write_text("".join(learnt(data, "eng", SIZES["eng"])), encoding="utf-8")
    config = RunConfig(
        tokenizer=str(base_tokenizer(data, work)), text=(str(text),), held_out_bytes=10_000,
        context_bytes=CONTEXT_BYTES, batch_blocks=BLOCKS, heads=4, save_every=100, **BASES[size],
    )  # fmt: skip
    directory = work / ("small-decoder" if size == SMALL else f"decoder-{size.replace(' ', '')}")
    report = pretrain(config, directory)
    print("decoder", {key: value for key, value in report.items() if key != "curve"}, flush=True)
    return directory / "model"


def operated(data: Path, work: Path, kept: int = KEPT[0]) -> dict[str, Path]:
    """Trim the base's tokenizer to so many entries and extend that, once."""
    base, mark = base_tokenizer(data, work), "" if kept == KEPT[0] else f"-{kept}"
    found = {"base": base, "trimmed": work / f"small-trimmed{mark}", "both": work / f"small-both{mark}"}
    if not (found["both"] / "tokenizer.json").is_file():
        smaller = trim(open_base(base), learnt(data, "eng", SIZES["eng"]), keep_size=kept)
        smaller.save(found["trimmed"], base)
        larger = extend(smaller.trimmed_base, count_documents(learnt(data, "fin", SIZES["fin"])), NEW)
        larger.save(found["both"], base, smaller)
    return found


def sample(data: Path, language: str) -> list[str]:
    """Held-out lines of 40,000 characters."""
    lines = [line.strip()[:600] for line in held_out(data, language, SIZES[language], 10**9)]
    lines = shuffled(filter(None, lines), 0)
    ends = accumulate(map(len, lines))
    return [line for line, end in zip(lines, ends, strict=True) if end <= 40_000]


def scores(model: Any, codec: Codec, data: Path) -> dict[str, float]:
    """Bits per byte of held-out text."""
    return {
        name: round(bits_per_byte(model.eval(), codec, sample(data, code), CONTEXT_BYTES, batch_size=16).value, 4)
        for name, code in (("English", "eng"), ("Finnish", "fin"))
    }


def before_and_after(data: Path, work: Path) -> Iterator[dict[str, Any]]:
    """Bits per byte of each base with the tokenizer it was trained with, that trimmed, and that extended."""
    for size in BASES:
        yield from _stages(data, work, size)


def _stages(data: Path, work: Path, size: str) -> Iterator[dict[str, Any]]:
    model, old = (kind.from_pretrained(base_model(data, work, size)) for kind in (AutoModelForCausalLM, AutoTokenizer))
    first: dict[str, float] = {}
    surgery = (("trimmed", "mean"), ("both", "mean"), ("both", "quiet"))
    for kept, stage, init in (
        (KEPT[0], "base", ""),
        *((kept, *each) for kept, each in product(KEPT, surgery)),
    ):
        given = operated(data, work, kept)
        codec = Codec.open(given[stage])
        changed = transplant(model, old, AutoTokenizer.from_pretrained(given[stage]), init)[0] if init else model
        tokens = sum(map(len, codec.encode(sample(data, "eng"))))
        found = {"tokens": tokens, **scores(changed, codec, data)}
        first = first or found
        yield {
            "weights": size,
            "tokenizer": f"trimmed and extended, --init {init}" if stage == "both" else stage,
            "rows": changed.config.vocab_size,
            "English tokens": f"{tokens:,} ({tokens / first['tokens'] - 1:+.2%})",
            "bits per byte, English": f"{found['English']:.3f} ({found['English'] / first['English'] - 1:+.2%})",
            "bits per byte, Finnish": f"{found['Finnish']:.3f}",
        }


def first_rows(data: Path, work: Path) -> Iterator[dict[str, Any]]:
    """Bits per byte with each kind of first rows, before and in training on Finnish; a run that is done is read."""
    base, directory, log = base_model(data, work), operated(data, work)["both"], work / "first_rows.jsonl"
    text = [line.strip() for line in learnt(data, "fin", SIZES["fin"]) if line.strip()]
    codec = Codec.open(directory)
    done = [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.is_file() else []
    yield from done
    known = {(row["init"], row["seed"]) for row in done}
    for seed, init in product(SEEDS, INITS):
        if (init, seed) not in known:
            model = with_rows(base, directory, init, text)
            found = {f"{step:,}": scores(model, codec, data) for step in trained(model, codec, text, seed)}
            row = {"init": init, "seed": seed, "steps": found}
            with log.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")
            yield row


def with_rows(base: Path, directory: Path, init: str, text: list[str]) -> Any:
    """Fit the base's model to the new tokenizer, with one of the kinds of first rows."""
    model, old = (kind.from_pretrained(base) for kind in (AutoModelForCausalLM, AutoTokenizer))
    new = AutoTokenizer.from_pretrained(directory)
    if init != OLD_ROWS:
        return transplant(model, old, new, init, text=text if init in READERS else None)[0]
    changed, _ = transplant(model, old, new, "mean")
    rows, given = changed.get_input_embeddings().weight.detach(), model.get_input_embeddings().weight.detach()
    mixtures, _ = mix_rows(old, new, "mean", None, len(given), None)
    rows.copy_(mixed_rows(given, by_company(mixtures, torch.nn.functional.normalize(rows, dim=1))))
    return changed


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
        batch = [blocks[step * FEWER_BLOCKS + place] for place in range(FEWER_BLOCKS)]
        model(**collate(batch)).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def summary(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over seeds, a row for each kind of first rows, and how they differ from "mean" by the same seeds."""
    rows = []
    plain = {run["seed"]: run["steps"] for run in runs if run["init"] == INITS[0]}
    for init in [init for init in INITS if any(run["init"] == init for run in runs)]:
        same = {run["seed"]: run["steps"] for run in runs if run["init"] == init}
        row: dict[str, Any] = {"first rows": init, "orders": len(same)}
        for language, step in product(("Finnish", "English"), map("{:,}".format, STEPS)):
            gaps = [
                steps[step][language] - plain[seed][step][language] for seed, steps in same.items() if seed in plain
            ]
            spread = "" if step == "0" or len(gaps) < 2 else f" ± {statistics.stdev(gaps):.3f}"
            told = "" if init == INITS[0] or not gaps else f" ({statistics.mean(gaps):+.3f}{spread})"
            row[f"{language}, step {step}"] = (
                f"{statistics.mean(each[step][language] for each in same.values()):.3f}{told}"
            )
        rows.append(row)
    return rows
