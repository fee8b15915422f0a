"""Train the systems that the experiments compare: MwS, its ablations, and baselines.

An ablation is MwS without one of its parts. The learner, the text, the vocabulary size and the limits are the same.

* ``shuffled probabilities``: the boundary probabilities are shuffled between words of equal length. Each word gets the
  probabilities of another word, so that their distribution over positions stays the same, but they carry no information
  about the word's own morphs.
* ``no probabilities``: all boundary probabilities are zero, so the first half of the merges is learned from distinct
  words by frequency.
* ``no penalty``: frequency merges are not penalized for boundaries inside a token.
* ``morphs by counts``: the first half of the merges weights word forms by their counts in text, instead of counting
  each form once.
* ``finer``: the boundary probability exceeds one half at a share of 0.14 of the positions, instead of 0.095.

``morph-bpe-byte`` is MorphBPE as its authors describe it (Asgari et al. 2025): BPE by frequency that merges nothing
across the boundaries of Morfessor. Because the authors' code was not available, this is our own implementation. It
works on bytes, like the BPE that it is compared with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from mws_hf import MwSTrainer, WordCounts
from mws_hf.compare import baselines
from mws_hf.compare.feed import Task
from mws_hf.compare.morfessor_baseline import build_frequent, count_segments
from mws_hf.corpus.groups import UNNAMED
from mws_hf.corpus.segmentations import GoldWord
from mws_hf.scoring import segment_words
from mws_hf.scoring.boundaries import WordTable, summarize, word_table
from mws_hf.tokenizer.segmenting import Isolated

if TYPE_CHECKING:
    from mws_hf.learn.evidence.posteriors import Evidence
    from mws_hf.learn.settings import Settings

MWS: dict[str, dict[str, Any]] = {
    "mws": {},
    "mws-morphs": {"composition": 0},
    "mws-price0": {"hidden_boundary_price": 0.0},
    "mws-counts": {"types": False},
    "mws-shuffled": {},
    "mws-no-evidence": {},
    "mws-finer": {"granularity": 0.14},
    "mws-capitals": {"capitals": "marker"},
}
"""The arguments of `MwSTrainer` for MwS and each of its ablations, by name.

The names of all other systems are defined in `mws_hf.compare.baselines`.
"""

UNIGRAM = "sentencepiece-unigram-identity"
"""The strongest lossless baseline: SentencePiece Unigram with identity normalization and byte fallback."""

RIVAL = {"bpe": "bpe-character"}
"""System names in saved results, mapped to the names in `compare.baselines` where they differ."""

MORPH_BPE = "morph-bpe-byte"
"""BPE over bytes that merges only inside the segments of Morfessor (`count_segments`).

Encoding does not use Morfessor.
"""

MORPHS: dict[str, Any] = {"composition": 0}
"""The arguments of `MwSTrainer` for morphs only."""

SEED = 20261123

NAMES = {"bpe-byte": "byte-level BPE", UNIGRAM: "SentencePiece Unigram"}
"""The baselines that tables show, and the names that the tables use for them."""


def trained(name: str, counts: WordCounts, size: int, folder: Path) -> Path:
    """Return the folder of a system's tokenizer, after training the tokenizer if the folder does not exist.

    `name` is a key of `MWS`, `RIVAL` or `mws_hf.compare.baselines.BASELINE_SYSTEMS`, or `MORPH_BPE`. Morfessor learns
    from each distinct word once.
    """
    directory = folder / f"{name}-{size}"
    if directory.is_dir():  # the folder is written atomically
        return directory
    if name in MWS:
        trainer = MwSTrainer(vocab_size=size, show_progress=False, pattern=counts.pattern, **MWS[name])
        evidence = evidence_of(counts, trainer)
        if name == "mws-shuffled":
            evidence = shuffled(evidence)
        if name == "mws-no-evidence":
            evidence = replace(evidence, probabilities=evidence.probabilities * 0)
        trainer.trained(counts, evidence=evidence).save(directory)
    elif name == MORPH_BPE:
        baselines.train("bpe-byte", count_segments(counts, build_frequent(Task(counts, size)).segment), size, directory)
    else:
        baselines.train(RIVAL.get(name, name), counts.as_types() if name == "morfessor" else counts, size, directory)
    return directory


def labelled(
    counts: WordCounts,
    pool: list[GoldWord],
    numbers: Sequence[int],
    sizes: Sequence[int],
    options: Mapping[str, Any],
) -> Iterator[tuple[int, int, Any]]:
    """Train with several numbers of labels; yield the number of labels, the vocabulary size and the tokenizer.

    All words of the pool are in the word list of every training, so that tokenizers differ only in their labels.

    Args:
        counts: word counts of running text.
        pool: words with reference segmentations; the labels are its first words.
        numbers: the numbers of labels.
        sizes: the vocabulary sizes.
        options: arguments of `MwSTrainer` for all trainings. If they contain no granularity, the labels estimate it.
    """
    settings = MwSTrainer(show_progress=False, **options)
    for n, evidence in evidence_by_labels(counts, pool, numbers, settings):
        for size in sizes:
            trainer = MwSTrainer(vocab_size=size, show_progress=False, labels=pool[:n], **options)
            shares = {UNNAMED: np.ones(len(evidence.code_points))} if n else {}
            acting = replace(evidence, settings=trainer, label_shares=shares)  # the labels act on tokens, too
            yield n, size, trainer.backend(trainer.learn(counts, evidence=acting))


def labeled_evidence(counts: WordCounts, labels: list[GoldWord]) -> Evidence:
    """Return the boundary probabilities of a training with labels and default settings, without token rates.

    The result contains no label shares (`Evidence.label_shares`), so a training that uses it learns the merges only
    once.
    """
    return next(evidence_by_labels(counts, labels, [len(labels)], MwSTrainer(show_progress=False)))[1]


def evidence_by_labels(
    counts: WordCounts, pool: list[GoldWord], numbers: Sequence[int], settings: Settings
) -> Iterator[tuple[int, Evidence]]:
    """Compute the boundary probabilities for several numbers of labels; yield each number and its result.

    The views are computed only once. The results contain no label shares, so a training does not adjust them by token
    rates.
    """
    from mws_hf.learn.evidence.forms import collect_forms, count_graphemes, split_graphemes
    from mws_hf.learn.evidence.labels import add_labeled, label_targets, usable_labels
    from mws_hf.learn.evidence.posteriors import LONGEST_WORD, mix_views
    from mws_hf.learn.words import CodePoints

    listed = collect_forms(CodePoints.of_counts(counts), counts.counts).types
    lengths = count_graphemes(listed)
    chosen = np.nonzero((lengths > 1) & (lengths <= LONGEST_WORD))[0][: settings.max_types]
    types = add_labeled(listed.take(chosen), usable_labels(pool, LONGEST_WORD))
    graphemes = split_graphemes(types)
    mixture = mix_views(graphemes.corpus, settings, keep=True)
    for n in numbers:
        labels = usable_labels(pool[:n], LONGEST_WORD)
        targets = label_targets(types, labels, graphemes.last) if labels else None
        yield n, calibrated(types, graphemes, mixture, settings, targets)


def calibrated(types: Any, graphemes: Any, mixture: Any, settings: Settings, targets: Any = None) -> Evidence:
    """Calibrate mixed views, as `collect_evidence` does; if `targets` are given, the views are first fitted to them."""
    from mws_hf.learn.evidence.posteriors import Evidence, calibrated_posteriors

    found = np.zeros(len(graphemes.last))
    found[graphemes.last] = calibrated_posteriors(mixture, graphemes.corpus, settings, targets=targets)[0]
    return Evidence(types, found, settings)


def learnt(counts: WordCounts, evidence: Evidence | None = None, **options: Any) -> Any:
    """Train MwS in memory with the given arguments of `MwSTrainer`, and return the tokenizer.

    If `evidence` is None, the boundary probabilities are computed from the counts and cached for the next call.
    """
    trainer = MwSTrainer(pattern=counts.pattern, show_progress=False, **options)
    found = evidence_of(counts, trainer) if evidence is None else evidence
    return trainer.backend(trainer.learn(counts, evidence=found))


def cut_words(source: Any, gold: Sequence[GoldWord], isolated: Isolated = "space") -> WordTable:
    """Segment the words of reference segmentations, and count the correct split points of each word.

    `source` is a tokenizer or its folder. Words are segmented as after a space, or alone if `isolated` is "none".
    """
    return word_table(gold, segment_words(source, [each.word for each in gold], isolated=isolated))


def judged(source: Any, gold: Sequence[GoldWord], isolated: Isolated = "space") -> dict[str, float]:
    """Compute the boundary scores of a tokenizer, which is given as such or by its folder."""
    found = summarize(cut_words(source, gold, isolated))
    return {name: getattr(found, name) for name in ("f1", "precision", "recall", "exact")}


def tokens(tokenizer: Tokenizer, lines: list[str]) -> int:
    """Count the tokens of all lines together."""
    return sum(len(item.ids) for item in tokenizer.encode_batch_fast(lines, add_special_tokens=False))


_last: list[tuple[WordCounts, Settings, Evidence]] = []


def evidence_of(counts: WordCounts, settings: Settings) -> Evidence:
    """Compute the boundary probabilities of a word list; the last result is cached, because ablations share it."""
    from mws_hf.learn.group_evidence import find_evidence

    if not _last or _last[0][0] is not counts or _last[0][1].of_evidence != settings.of_evidence:
        _last[:] = [(counts, settings, find_evidence(counts, settings))]
    return _last[0][2]


def shuffled(evidence: Evidence) -> Evidence:
    """Shuffle the boundary probabilities between distinct words of equal length.

    >>> from mws_hf.learn.evidence.posteriors import Evidence
    >>> from mws_hf.learn.words import CodePoints
    >>> before = Evidence(CodePoints.of(["ab", "cd", "e"]), np.array([0.25, 0, 0.75, 0, 0]))
    >>> sorted(shuffled(before).probabilities.tolist()), len(shuffled(before).types)
    ([0.0, 0.0, 0.0, 0.25, 0.75], 3)
    """
    generator = np.random.Generator(np.random.PCG64(SEED))
    lengths = np.diff(evidence.starts)
    dealt: npt.NDArray[np.float64] = evidence.probabilities.copy()
    for length in np.unique(lengths):
        begins = evidence.starts[:-1][lengths == length]
        places = begins[:, None] + np.arange(length)
        dealt[places] = evidence.probabilities[places[generator.permutation(len(begins))]]
    return replace(evidence, probabilities=dealt)
