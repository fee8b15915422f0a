"""Short word lists: do weights learned from the labels of other languages give better boundary probabilities?

Without labels, the views of a short list are combined with fixed weights (*own*). Here a logistic regression on the
same features is fitted to labeled words of the other languages, with word lists of the same length, and its log-odds
replace the fixed combination (*pooled*). If the language itself has labels, the prior of the fit to them is the fixed
combination (*own*) or the pooled log-odds (*pooled*).

A word list contains the words of random lines from the first 12 MB of the text, with as many lines as give the wanted
number of distinct words. The Latin list contains all 8,000 words of its reference segmentations. The vocabulary size is
8,000, and F1 is measured on reference words outside the pool of labels. The acceptance criterion was fixed before the
first run: with 10,000 words, no labels and morphs only, mean F1 is at least 0.010 higher than with fixed weights in
four of the six languages with text.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import fmean

import numpy as np

from lab.cells import Cell, Found, Page, Place, Row
from lab.data import GOLD, gold_of, head, order_of, read, shuffled
from lab.experiments.granularity import BYTES, SOURCES
from lab.experiments.quality import corpus_of
from lab.systems import calibrated, judged, learnt
from lab.tables import groups, tabulated, where
from mws_hf import MwSTrainer, WordCounts
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.segmentations import GoldWord, read_gold
from mws_hf.kernels import Doubles
from mws_hf.kernels.arithmetic import moments
from mws_hf.learn.evidence.context_view import (
    N_FLAGS,
    PER_VIEW,
    fit_logistic,
    penalized_likelihood,
    sample_rows,
    standardize,
)
from mws_hf.learn.evidence.forms import Graphemes, collect_forms, inner_positions, split_graphemes
from mws_hf.learn.evidence.labels import add_labeled, label_targets, usable_labels
from mws_hf.learn.evidence.posteriors import LONGEST_WORD, Ensemble, Evidence, mix_views
from mws_hf.learn.words import CodePoints

LANGUAGES = [*GOLD, "lat"]
AXES = {
    "sample": range(3),
    "words": (5000, 10_000, 20_000),
    "language": LANGUAGES,
    "weights": ("own", "pooled"),
    "labels": (0, 20, 100),
    "composition": (0.0, 0.5),
}
SHARED = 2
POOL, VOCAB_SIZE, RIDGES, FREE = 300, 8000, (1000.0, 100.0, 10.0), 10.0
"""Labeled words per language, vocabulary size, strengths of the ridge penalty, and a scale that weakens the penalty.

The columns of the mixture and of the intercept are multiplied by that scale.
"""


def exists(cell: Cell) -> bool:
    """Return whether a cell is measured; the Latin list always has 8,000 words and is measured once."""
    return cell["language"] != "lat" or cell["words"] == 10_000


@dataclass(frozen=True)
class ShortList:
    """A short word list of a language, with the features of every position inside a word.

    Attributes:
        counts: the words and how often each occurs.
        types: the distinct lowercase words of the list, followed by the words of the pool.
        graphemes: their graphemes.
        mixture: the views of the list, combined with fixed weights.
        rows: float64, shape (n_positions, n_features): context features, their squares, flags, views, mixture.
        pool: words that may be labels.
        scored: the other words of the reference segmentations.
    """

    counts: WordCounts
    types: CodePoints
    graphemes: Graphemes
    mixture: Ensemble
    rows: Doubles
    pool: list[GoldWord]
    scored: list[GoldWord]

    @classmethod
    def of(cls, data: Path, language: str, n_words: int, sample: int) -> ShortList:
        """Draw a word list at random and compute its views."""
        gold = read_gold(data / "gold" / "lat.sigmorphon2022.tsv").words if language == "lat" else None
        order = shuffled(gold or gold_of(data, language), sample)
        counts = corpus_of(data, "lat")[0] if gold else drawn(data, language, n_words, sample)
        types = add_labeled(listed(counts), usable_labels(order[:POOL], LONGEST_WORD))
        graphemes = split_graphemes(types)
        settings = MwSTrainer(show_progress=False)
        mixture = mix_views(graphemes.corpus, settings, keep=True)
        return cls(counts, types, graphemes, mixture, features(graphemes, mixture), order[:POOL], order[POOL:])

    def targets(self, n: int) -> Doubles | None:
        """Return the share of boundaries at each position of the first `n` words of the pool, and NaN elsewhere."""
        labels = usable_labels(self.pool[:n], LONGEST_WORD)
        return label_targets(self.types, labels, self.graphemes.last) if labels else None

    def labeled(self) -> tuple[Doubles, Doubles]:
        """Return the features and the share of boundaries at all positions of the pool's words."""
        targets = self.targets(POOL)
        own = targets[inner_positions(self.graphemes.corpus.starts)]
        known = ~np.isnan(own)
        return self.rows[known], own[known]

    def evidence(self, log_odds: Doubles, n_labels: int) -> Evidence:
        """Fit log-odds of boundaries to the first `n_labels` words of the pool, and calibrate them."""
        mixture, settings = replace(self.mixture, log_odds=log_odds), MwSTrainer(show_progress=False)
        return calibrated(self.types, self.graphemes, mixture, settings, self.targets(n_labels))


def listed(counts: WordCounts) -> CodePoints:
    """List the distinct lowercase words."""
    return collect_forms(CodePoints.of_counts(counts), counts.counts).types


def drawn(data: Path, language: str, n_words: int, sample: int) -> WordCounts:
    """Count the words of the fewest random lines that have `n_words` distinct words."""
    lines = sorted(head(read(data, SOURCES[language]), BYTES), key=lambda line: order_of(f"{sample} {line}"))
    n_lines = bisect_left(range(len(lines)), n_words, key=lambda n: len(listed(count_documents(lines[:n]))))
    return count_documents(lines[:n_lines])


def features(graphemes: Graphemes, mixture: Ensemble) -> Doubles:
    """Compute the features of each position as for the fit to labels, standardized within the list."""
    starts = graphemes.corpus.starts
    at = np.nonzero(inner_positions(starts))[0]
    n = PER_VIEW * len(mixture.contexts.views)
    rows = np.empty((len(at), 2 * n + N_FLAGS))
    sample_rows(mixture.contexts, starts, at, rows)
    standardize(rows, n)
    np.square(rows[:, :n], out=rows[:, n : 2 * n])
    single = np.concatenate([mixture.views, mixture.log_odds[:, None]], axis=1)
    mean, scale = moments(single)
    single = (single - mean) / (scale + 1e-6)
    return np.concatenate([rows, single[:, :-1], FREE * single[:, -1:], np.full((len(at), 1), FREE)], axis=1)


def pooled(donors: list[tuple[Doubles, Doubles]]) -> Doubles:
    """Fit weights to the labeled positions of other languages; cross-validation over languages chooses the ridge."""

    def fit(parts: list[tuple[Doubles, Doubles]], ridge: float) -> Doubles:
        return fit_logistic(np.concatenate([rows for rows, _ in parts]), np.concatenate([y for _, y in parts]), ridge)

    def left_out(ridge: float) -> float:
        total = 0.0
        for number, (rows, shares) in enumerate(donors):
            weights = fit(donors[:number] + donors[number + 1 :], ridge)
            total += penalized_likelihood(rows, shares, 0.0, weights, np.empty(len(weights))) / len(shares)
        return total

    return fit(donors, max(RIDGES, key=left_out))


def measure(place: Place, cells: list[Cell]) -> Found:
    """Train and score a tokenizer per cell; the word lists are made once per sample and length."""
    sample, n_words = cells[0]["sample"], cells[0]["words"]
    of = cache(lambda language: ShortList.of(place.data, language, n_words, sample))
    labeled_in = cache(lambda language: of(language).labeled())
    for language, weights, own in groups(cells, "language", "weights"):
        words = of(language)
        log_odds = words.mixture.log_odds
        if weights == "pooled":
            log_odds = words.rows @ pooled([labeled_in(other) for other in GOLD if other != language])
        for n_labels, here in groups(own, "labels"):
            evidence = words.evidence(log_odds, n_labels)
            for cell in here:
                backend = learnt(words.counts, evidence, vocab_size=VOCAB_SIZE, composition=cell["composition"])
                scores = {name: round(value, 5) for name, value in judged(backend, words.scored).items()}
                sizes = {"distinct": len(words.types), "scored": len(words.scored), "size": backend.get_vocab_size()}
                yield cell, {**scores, **sizes}


def table(rows: list[Row]) -> Page:
    """Write F1 with fixed weights and the gain of the pooled ones, by length of the list, labels and composition."""
    yield "Cells: mean F1 today, and the mean gain of the pooled weights, over the samples that have both."
    for composition, n_words, here in groups(sorted(rows, key=lambda row: row["composition"]), "composition", "words"):
        lines = []
        for language in LANGUAGES:
            lines.append({"language": language})
            for n, own in groups(where(here, language=language), "labels"):
                f1 = {(row["sample"], row["weights"]): row["f1"] for row in own}
                both = [s for s, weights in f1 if weights == "pooled" and (s, "own") in f1]
                if both:
                    gain = fmean(f1[s, "pooled"] - f1[s, "own"] for s in both)
                    lines[-1][f"{n} labels"] = f"{fmean(f1[s, 'own'] for s in both):.3f} {gain:+.3f} ({len(both)})"
        yield f"## {n_words:,} distinct words, composition {composition:g}"
        yield tabulated([line for line in lines if len(line) > 1])
