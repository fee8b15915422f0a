"""How many labels are needed to improve the merges, and is a penalty per token better than forbidding tokens?

`label_merges` uses 300 labels and forbids the tokens that hide the most labeled boundaries. Here there are 100, 300 and
1,000 labels, and a third method, *priced*, which forbids no token:

* the boundary probabilities inside each token are adjusted to the boundaries that it hides in labeled words, as
  `mws_hf.learn.token_rates` describes;
* the merges are learned again from these probabilities. A token that hides more boundaries than predicted therefore
  gets a larger penalty, and a token that hides fewer gets a smaller one. Trainings with labels now do this.

The text, the development sets, the acceptance criterion (for 300 labels) and the reference trainings are the same as in
`label_merges`. The labels are taken from a pool of 1,000 words, or of half of a smaller development set. F1 is measured
on the words outside the pool.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import numpy as np
from tokenizers import Tokenizer

from lab.cells import Cell, Found, Page, Place, Row
from lab.data import shuffled
from lab.experiments.granularity import SOURCES, Sample
from lab.experiments.label_merges import CURVE, METHODS, TODAY, beyond, forbidding, worst_tokens
from lab.systems import labeled_evidence, learnt
from lab.tables import groups, tabulated, where
from mws_hf.corpus.groups import UNNAMED
from mws_hf.corpus.segmentations import GoldWord
from mws_hf.learn.evidence.posteriors import Evidence
from mws_hf.learn.token_rates import adjust_to_labels

PRICED = "priced"
TRIED = ("touched, 0.5 %", "shrunk, 2 %", PRICED)
AXES = {
    "sample": range(3),
    "language": list(SOURCES),
    "labels": (100, 300, 1000),
    "size": (8000, 32_000),
    "method": (*sorted(CURVE), *TRIED),
}
SHARED, TOGETHER = 3, True
POOL = 1000
"""The number of words that may be labels."""


def exists(cell: Cell) -> bool:
    """Return whether the development set of a language is large enough for this number of labels."""
    return cell["labels"] < POOL or cell["language"] in ("rus", "hun", "ces")


def priced(backend: Tokenizer, evidence: Evidence, labels: list[GoldWord]) -> Evidence:
    """Adjust the boundary probabilities to the labels, by the tokens of the reference training (`token_rates`)."""
    settings = replace(evidence.settings, labels=tuple(labels))
    shares = {UNNAMED: np.ones(len(evidence.code_points))}
    adjusted = adjust_to_labels(replace(evidence, settings=settings, label_shares=shares), backend)
    return replace(evidence, probabilities=adjusted.probabilities)


def measure(place: Place, cells: list[Cell]) -> Found:
    """Train a tokenizer per method; methods with equal labels share the boundary probabilities of the reference."""
    language, number, n = (cells[0][name] for name in ("language", "sample", "labels"))
    sample = Sample.of(place.data, language)
    order = shuffled(sample.gold, number)
    scored = replace(sample, gold=tuple(order[min(POOL, len(order) // 2) :]))
    labels = order[:n]
    evidence = labeled_evidence(sample.counts, labels)
    for size, here in groups(cells, "size"):
        made: dict[str, Tokenizer] = {}
        for cell in sorted(here, key=lambda cell: cell["method"] != TODAY):
            method, learned_from, banned = METHODS.get(cell["method"]), evidence, frozenset[str]()
            if method is None:
                learned_from = priced(made[TODAY], evidence, labels)
            elif method.share:
                most = round(method.share * size)
                banned = worst_tokens(made[TODAY], sample.counts, evidence, labels, method.shrunk, most)
            with forbidding(banned):
                composition = 0.5 if method is None else method.composition
                made[cell["method"]] = learnt(sample.counts, learned_from, vocab_size=size, composition=composition)
            yield cell, {**scored.figures(made[cell["method"]]), "forbidden": len(banned)}


def table(rows: list[Row]) -> Page:
    """Write the gain of each method over the reference trainings, by number of labels, and then the figures."""
    lines = []
    for n in AXES["labels"]:
        for method in TRIED:
            gains, bits, tokens = [], [], []
            for _, _, _, here in groups(where(rows, labels=n), "sample", "language", "size"):
                own = {row["method"]: row for row in here}
                if method in own and CURVE <= own.keys():
                    gains.append(beyond(own[method], own))
                    bits.append(100 * (own[method]["bits"] / own[TODAY]["bits"] - 1))
                    tokens.append(100 * (own[method]["tokens_per_word"] / own[TODAY]["tokens_per_word"] - 1))
            if gains:
                figures = (
                    f"{fmean(gains):+.3f}",
                    f"{min(gains):+.3f}",
                    f"{fmean(bits):+.2f} %",
                    f"{max(bits):+.2f} %",
                    f"{fmean(tokens):+.1f} %",
                )
                names = ("F1 at equal length, mean", "F1, worst", "bits, mean", "bits, worst", "tokens, mean")
                start = {"labels": f"{n:,}", "method": method, "cells": str(len(gains))}
                lines.append(start | dict(zip(names, figures, strict=True)))
    yield tabulated(lines)
    for n in AXES["labels"]:
        for size in AXES["size"]:
            yield f"## {n:,} labels, vocabulary size {size:,}"
            yield "Cells: F1, tokens per word, n-gram bits per byte; means over draws."
            shown = []
            for language, own in groups(where(rows, size=size, labels=n), "language"):
                shown.append({"language": language})
                for method, same in groups(own, "method"):
                    means = [fmean(row[name] for row in same) for name in ("f1", "tokens_per_word", "bits")]
                    shown[-1][method] = f"{means[0]:.3f} {means[1]:.3f} {means[2]:.4f}"
            yield tabulated(shown)
