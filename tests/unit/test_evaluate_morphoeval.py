"""Macro boundary precision and recall beside `morphoeval` (PyPI), the implementation of Morpho Challenge's authors."""

from __future__ import annotations

import random

import pytest

from mws_hf.corpus.segmentations import GoldWord
from mws_hf.evaluate import score
from tests.agglutinative import make_language

boundary = pytest.importorskip("morphoeval.boundary", reason="pip install morphoeval", exc_type=ImportError)


def test_boundary_precision_and_recall_are_those_of_morphoeval():
    from morphoeval.common import AnalysisSet

    chance = random.Random(1)
    gold, predicted = [GoldWord("a", (("a",),))], [["a"]]
    for word, morphs in make_language().items():
        alternatives = {tuple(morphs), (morphs[0], "".join(morphs[1:])) if len(morphs) > 1 else (word,)}
        gold.append(GoldWord(word, tuple(sorted(alternatives))))
        marked = "".join(letter + "|" * (chance.random() < 0.2) for letter in word[:-1]) + word[-1]
        predicted.append(marked.split("|"))
    sets = AnalysisSet(), AnalysisSet()
    for entry, pieces in zip(gold, predicted, strict=True):
        for morphs in entry.segmentations:
            sets[0].add(entry.word, morphs)
        sets[1].add(entry.word, pieces)
    ours = score(gold, predicted)
    assert (ours.macro_precision, ours.macro_recall) == pytest.approx(boundary.bpr(*sets))
    assert 0.2 < ours.macro_f1 < 0.8
