"""Labels that affect the merges: tokens that hide labeled boundaries are forbidden, and the tokenizer is trained again.

In the reference training (*labels as today*), labels only change the boundary probabilities. Here a tokenizer is first
trained in this way with 300 labels, and all words of the text are segmented with it. A labeled boundary inside a token
is hidden. Tokens are ranked by the number of hidden boundaries per use in running text. The worst tokens, a fixed share
of the vocabulary, are forbidden, and the merges are learned again, once or twice. There are two ways to count:

* *touched*: only labeled words count;
* *shrunk*: the rate of each token is shrunk towards the boundary probabilities of all words that contain it, so that
  tokens without a labeled word have a rate, too.

Further reference trainings have fewer frequency merges (composition 0.4, 0.3, and 0, which is morphs only). They show
how F1 depends on text length, so that gains can be compared at equal tokens per word. Morphs only was added after the
first rows, because the other three compositions have the same length if all morph merges are found before the
vocabulary is full (Turkish at 32,000).

The text and the development sets are the same as in `granularity`. F1 is measured on words that are not labels. The
acceptance criterion was fixed before the first run: mean F1 is 0.015 higher than in the reference trainings at equal
tokens per word, and n-gram bits are at most 0.1 % higher.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from tokenizers import Tokenizer

from lab.cells import Cell, Found, Page, Place, Row
from lab.data import shuffled
from lab.experiments.granularity import SOURCES, Sample
from lab.systems import labeled_evidence, learnt
from lab.tables import groups, tabulated, where
from mws_hf import WordCounts
from mws_hf.corpus.segmentations import GoldWord
from mws_hf.learn import vocabulary
from mws_hf.learn.evidence.posteriors import Evidence
from mws_hf.surgery.base import raw_bytes

TODAY = "labels as today"


class Method(NamedTuple):
    """How a tokenizer is trained with labels.

    Attributes:
        composition: share of frequency merges.
        share: number of forbidden tokens, as a share of the vocabulary size; 0: a reference training.
        shrunk: whether rates are shrunk towards the boundary probabilities; if not, only labeled words count.
        after: the method whose tokenizer is used to rank tokens.
    """

    composition: float = 0.5
    share: float = 0.0
    shrunk: bool = False
    after: str = TODAY


METHODS = {
    TODAY: Method(),
    "composition 0.4": Method(0.4),
    "composition 0.3": Method(0.3),
    "morphs only": Method(0.0),
    "touched, 0.5 %": Method(share=0.005),
    "touched, 0.5 %, twice": Method(share=0.005, after="touched, 0.5 %"),
    "shrunk, 0.5 %": Method(share=0.005, shrunk=True),
    "shrunk, 2 %": Method(share=0.02, shrunk=True),
}
CURVE = {name for name, method in METHODS.items() if not method.share}
"""The reference trainings, which show how F1 depends on text length."""
AXES = {"sample": range(3), "language": list(SOURCES), "size": (8000, 32_000), "method": list(METHODS)}
SHARED, TOGETHER = 2, True
N_LABELS, PRIOR_USES = 300, 2.0
"""The number of labels, and the weight of the boundary probabilities when rates are shrunk, in labeled uses."""


@contextmanager
def forbidding(strings: frozenset[str]) -> Iterator[None]:
    """Prevent trainings from making one of the strings a token."""
    plan = vocabulary.LearningJob.plan

    def planned(*arguments: Any) -> vocabulary.LearningJob:
        job = plan(*arguments)
        return replace(job, limits=replace(job.limits, forbidden=job.limits.forbidden | strings))

    vocabulary.LearningJob.plan = planned  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        vocabulary.LearningJob.plan = plan  # type: ignore[method-assign]


def spans(backend: Tokenizer, pretokens: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the tokens of all pre-tokens: number of the pre-token, id, start and end in bytes."""
    sizes = [len(piece) for piece in raw_bytes(backend)]
    for number, found in enumerate(backend.encode_batch_fast(pretokens, add_special_tokens=False)):
        at = 0
        for token in found.ids:
            yield number, token, at, at + sizes[token]
            at += sizes[token]


def hidden_in(backend: Tokenizer, pretokens: list[str], chances: list[list[float]]) -> tuple[Any, Any, Any]:
    """Return the id of each token of the pre-tokens, the sum of boundaries inside it, and the number of its pre-token.

    Args:
        backend: tokenizer that segments the pre-tokens.
        pretokens: words with their leading space.
        chances: the probability of a boundary after each byte of each pre-token.
    """
    ids, hidden, numbers = [], [], []
    for number, token, begin, end in spans(backend, pretokens):
        ids.append(token)
        hidden.append(sum(chances[number][begin : end - 1]))
        numbers.append(number)
    return np.array(ids), np.array(hidden), np.array(numbers)


def by_byte(word: str, chances: list[float]) -> list[float]:
    """Convert probabilities after characters to probabilities after bytes, which are 0 inside a character."""
    return [chance if last else 0.0 for c, chance in zip(word, chances, strict=True) for last in last_of(c)]


def last_of(character: str) -> list[bool]:
    """Return for each byte of a character whether it is the last one."""
    return [False] * (len(character.encode()) - 1) + [True]


def of_gold(word: GoldWord) -> list[float]:
    """Return the boundaries of a labeled word after a space: 1 at the boundaries of its first analysis, 0 elsewhere."""
    ends = set(np.cumsum([len(morph) for morph in word.segmentations[0]])[:-1].tolist())
    return [0.0] + [1.0 if at + 1 in ends else 0.0 for at in range(len(word.word))]


def worst_tokens(
    backend: Tokenizer, counts: WordCounts, evidence: Evidence, labels: list[GoldWord], shrunk: bool, n: int
) -> frozenset[str]:
    """Return at most `n` tokens, those that hide the most labeled boundaries per use in running text."""
    words, times = zip(*counts.items(), strict=True)
    chances = split_by_word(list(words), evidence.boundaries(list(words)).tolist())
    ids, hidden, numbers = hidden_in(backend, list(words), chances)
    size = backend.get_vocab_size()
    uses = np.bincount(ids, np.array(times)[numbers], size)
    n_words, expected = np.bincount(ids, minlength=size), np.bincount(ids, hidden, size)
    gold = [by_byte(" " + each.word, of_gold(each)) for each in labels]
    own, wrong, _ = hidden_in(backend, [" " + each.word for each in labels], gold)
    seen, found = np.bincount(own, minlength=size), np.bincount(own, wrong, size)
    harm = found / np.maximum(uses, 1)
    if shrunk:
        rate = (found + PRIOR_USES * expected / np.maximum(n_words, 1)) / (seen + PRIOR_USES)
        harm = rate * n_words / np.maximum(uses, 1)
    pieces = raw_bytes(backend)
    ranked = [token for token in np.argsort(-harm, kind="stable").tolist() if harm[token] > 0]
    texts = (pieces[token].decode(errors="replace") for token in ranked)
    return frozenset([text for text in texts if len(text.strip()) > 1][:n])


def split_by_word(words: list[str], chances: list[float]) -> list[list[float]]:
    """Divide probabilities after characters into one list per word, with one value per byte."""
    found, at = [], 0
    for word in words:
        found.append(by_byte(word, chances[at : at + len(word)]))
        at += len(word)
    return found


def measure(place: Place, cells: list[Cell]) -> Found:
    """Train a tokenizer per method; all methods share the boundary probabilities of the reference training."""
    language, number = cells[0]["language"], cells[0]["sample"]
    sample = Sample.of(place.data, language)
    order = shuffled(sample.gold, number)
    labels, rest = order[:N_LABELS], tuple(order[N_LABELS:])
    scored = replace(sample, gold=rest)
    evidence = labeled_evidence(sample.counts, labels)
    for size, here in groups(cells, "size"):
        made: dict[str, Tokenizer] = {}
        banned: dict[str, frozenset[str]] = {}
        for cell in here:
            method = METHODS[cell["method"]]
            strings = banned.get(method.after, frozenset())
            if method.share:
                n = round(method.share * size)
                strings |= worst_tokens(made[method.after], sample.counts, evidence, labels, method.shrunk, n)
            with forbidding(strings):
                backend = learnt(sample.counts, evidence, vocab_size=size, composition=method.composition)
            made[cell["method"]], banned[cell["method"]] = backend, strings
            yield cell, {**scored.figures(backend), "forbidden": len(strings)}


def table(rows: list[Row]) -> Page:
    """Write the gain of each method over the reference trainings at equal length, then the figures."""
    lines = []
    for method in [name for name, method in METHODS.items() if method.share]:
        gains, bits = [], []
        for _, _, _, here in groups(rows, "sample", "language", "size"):
            own = {row["method"]: row for row in here}
            if method in own and CURVE <= own.keys():
                gains.append(beyond(own[method], own))
                bits.append(100 * (own[method]["bits"] / own[TODAY]["bits"] - 1))
        if gains:
            figures = (f"{fmean(gains):+.3f}", f"{min(gains):+.3f}", f"{fmean(bits):+.2f} %", f"{max(bits):+.2f} %")
            names = ("F1 at equal length, mean", "F1, worst", "bits, mean", "bits, worst")
            lines.append({"method": method, "cells": str(len(gains))} | dict(zip(names, figures, strict=True)))
    yield tabulated(lines)
    for size in AXES["size"]:
        yield f"## Vocabulary size {size:,}"
        yield "Each cell has F1, tokens per word and n-gram bits per byte, as means over the random samples of labels."
        shown = []
        for language, own in groups(where(rows, size=size), "language"):
            shown.append({"language": language})
            for method, same in groups(own, "method"):
                means = [fmean(row[name] for row in same) for name in ("f1", "tokens_per_word", "bits")]
                shown[-1][method] = f"{means[0]:.3f} {means[1]:.3f} {means[2]:.4f}"
        yield tabulated(shown)


def beyond(row: Row, own: dict[str, Row]) -> float:
    """Return the difference of F1 from the reference trainings, interpolated at the same tokens per word."""
    curve = sorted((own[name]["tokens_per_word"], own[name]["f1"]) for name in CURVE)
    lengths, f1 = zip(*curve, strict=True)
    return float(row["f1"] - np.interp(row["tokens_per_word"], lengths, f1))
