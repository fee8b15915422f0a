"""A few labels are never worse than none: Russian forms, labeled with stems and endings of pymorphy3's paradigms."""

from __future__ import annotations

import hashlib
from functools import cache
from os.path import commonprefix

import numpy as np
import pytest
from pymorphy3 import MorphAnalyzer

from mws_hf import MwSTrainer, WordCounts
from mws_hf.corpus.segmentations import GoldWord
from mws_hf.learn.evidence.forms import split_graphemes
from mws_hf.learn.evidence.labels import label_targets, usable_labels
from mws_hf.learn.evidence.posteriors import LONGEST_WORD, Evidence, calibrated_posteriors, mix_views
from mws_hf.learn.group_evidence import find_evidence
from mws_hf.learn.settings import Settings
from mws_hf.scoring import score
from mws_hf.text.pattern import DEFAULT_PATTERN
from mws_hf.tokenizer.opened import segment_words
from tests.paths import DATA

FORMS = (DATA / "russian_forms.txt").read_text(encoding="utf-8").split()
SAMPLES = 3


@cache
def gold() -> list[GoldWord]:
    """Every fifth form with its stem, which is the common beginning of all forms of its paradigm."""
    analyzer = MorphAnalyzer()
    found = []
    for word in FORMS[::5]:
        forms = [form.word for form in analyzer.parse(word)[0].lexeme]
        stem = commonprefix(forms)
        if len(stem) > 2 and word.startswith(stem):
            found.append(GoldWord(word, ((stem, word[len(stem) :]) if word != stem else (word,),)))
    return found


@pytest.mark.slow
def test_no_number_of_labels_is_worse_than_none():
    counts = WordCounts.from_mapping({" " + word: 1 for word in FORMS}, pattern=DEFAULT_PATTERN)
    settings = Settings()
    types = find_evidence(counts).code_points
    graphemes = split_graphemes(types)
    mixture = mix_views(graphemes.corpus, settings, keep=True)
    trainer = MwSTrainer(n_merges=1500, composition=0, show_progress=False)

    def f1(labels: list[GoldWord], rest: list[GoldWord]) -> float:
        used = usable_labels(labels, LONGEST_WORD)
        labeled = label_targets(types, used, graphemes.last) if used else None
        found = np.zeros(len(graphemes.last))
        found[graphemes.last] = calibrated_posteriors(mixture, graphemes.corpus, settings, targets=labeled)[0]
        learned = trainer.learn(counts, evidence=Evidence(types, found, settings))
        return score(rest, segment_words(trainer.backend(learned), [entry.word for entry in rest])).f1

    gains: dict[int, list[float]] = {n: [] for n in (20, 50, 100, 300, 1000)}
    for sample in range(SAMPLES):
        order = sorted(gold(), key=lambda entry: hashlib.blake2b(f"{sample} {entry.word}".encode()).digest())
        rest = order[1000:]
        none = f1([], rest)
        for n, found in gains.items():
            found.append(f1(order[:n], rest) - none)
    mean = {n: float(np.mean(found)) for n, found in gains.items()}
    assert min(mean.values()) > -0.005, mean
    assert mean[1000] > 0.02, mean
