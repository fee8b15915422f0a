"""Do the paradigm and affix views help full word lists, too? F1, tokens per word and n-gram bits per byte.

By default, only short lists (fewer than 60,000 distinct words) use these two views. Here every list uses both views or
one of them, with a constant share of their full weight. The text, the held-out lines and the development sets are the
same as in `granularity`, and the composition is the default one. Each cell is a single deterministic run, so
differences in F1 below 0.015 are within noise.

The acceptance criterion was fixed before the first run:

* on average over all languages and sizes, n-gram bits are at least 0.10 % lower and F1 is at least 0.005 higher, at
  equal tokens per word;
* no cell is worse by more than 0.05 % in bits or 0.010 in F1;
* training is at most 10 % slower.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import fmean

from lab.cells import Cell, Found, Page, Place, Row
from lab.experiments.granularity import SOURCES, Sample
from lab.tables import groups, tabulated
from mws_hf import MwSTrainer
from mws_hf.learn.evidence import posteriors, reranking
from mws_hf.learn.group_evidence import find_evidence

VIEWS = {
    "default": (None, ()),
    "both, 0.5": (0.5, ()),
    "paradigms, 0.5": (0.5, ("AFFIX_WEIGHT",)),
    "affixes, 0.5": (0.5, ("PARADIGM_WEIGHT",)),
    "both, 0.25": (0.25, ()),
}
"""Each variant's share of the full weight (None: as by default), and the weights that it sets to zero."""
AXES = {"language": list(SOURCES), "view": list(VIEWS), "size": (8000, 16_000, 32_000)}
SHARED = 1


@contextmanager
def view_weights(share: float | None, zero: tuple[str, ...]) -> Iterator[None]:
    """Set the share of the full weight that both views have for lists of any length, and set some weights to zero."""
    kept = posteriors.short_list_weight, {name: getattr(reranking, name) for name in zero}
    if share is not None:
        posteriors.short_list_weight = reranking.short_list_weight = lambda n_types: share  # type: ignore[assignment]
    for name in zero:
        setattr(reranking, name, 0.0)
    try:
        yield
    finally:
        posteriors.short_list_weight = reranking.short_list_weight = kept[0]
        for name, value in kept[1].items():
            setattr(reranking, name, value)


def measure(place: Place, cells: list[Cell]) -> Found:
    """Train and score a tokenizer per cell; all sizes of a variant share their boundary probabilities."""
    sample = Sample.of(place.data, cells[0]["language"])
    for view, here in groups(cells, "view"):
        trainers = {cell["size"]: MwSTrainer(vocab_size=cell["size"], show_progress=False) for cell in here}
        begun = time.process_time()
        with view_weights(*VIEWS[view]):
            evidence = find_evidence(sample.counts, trainers[here[0]["size"]])
        seconds = round(time.process_time() - begun, 1)
        for cell in here:
            trainer, begun = trainers[cell["size"]], time.process_time()
            backend = trainer.backend(trainer.learn(sample.counts, evidence=evidence))
            times = {"evidence_seconds": seconds, "merge_seconds": round(time.process_time() - begun, 1)}
            yield cell, {**sample.figures(backend), **times, "types": len(evidence.types)}


def table(rows: list[Row]) -> Page:
    """Write the differences of each variant from the default, then the figures of each language and size."""
    base = {(row["language"], row["size"]): row for row in rows if row["view"] == "default"}
    pairs = [(row, base[row["language"], row["size"]]) for row in rows if row["view"] != "default"]
    yield (
        "The table has the differences from the default settings, which use neither view for lists of 60,000 or more "
        "distinct words: the mean over all cells, and the worst cell."
    )
    yield tabulated(
        verdict(view, [(row, other) for row, other in pairs if row["view"] == view]) for view in [*VIEWS][1:]
    )
    for size in AXES["size"]:
        yield f"## Vocabulary size {size:,}"
        yield "Each cell has n-gram bits per byte, F1, and tokens per word."
        lines = []
        for language, own in groups([row for row in rows if row["size"] == size], "language"):
            figures = {row["view"]: f"{row['bits']:.4f} {row['f1']:.3f} {row['tokens_per_word']:.3f}" for row in own}
            lines.append({"": language} | {view: figures.get(view, "") for view in VIEWS})
        yield tabulated(lines)


def verdict(view: str, pairs: list[tuple[Row, Row]]) -> dict[str, str]:
    """Return a variant's line of the table; each pair has a row of the variant and the same cell of the default."""
    if not pairs:
        return {"views": view}
    bits = [100 * (row["bits"] / other["bits"] - 1) for row, other in pairs]
    f1 = [row["f1"] - other["f1"] for row, other in pairs]
    length = [100 * (row["tokens_per_word"] / other["tokens_per_word"] - 1) for row, other in pairs]
    times = [sum(each[name] for name in ("evidence_seconds", "merge_seconds")) for pair in pairs for each in pair]
    return {
        "views": view,
        "cells": str(len(pairs)),
        "bits, mean": f"{fmean(bits):+.2f} %",
        "bits, worst": f"{max(bits):+.2f} %",
        "F1, mean": f"{fmean(f1):+.3f}",
        "F1, worst": f"{min(f1):+.3f}",
        "tokens per word": f"{fmean(length):+.2f} %",
        "processor time": f"{100 * (sum(times[::2]) / sum(times[1::2]) - 1):+.0f} %",
    }
