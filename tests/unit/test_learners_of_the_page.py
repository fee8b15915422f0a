"""The two learners in plain Python of docs/how-it-works.md give the merges of the package, in the same order."""

from __future__ import annotations

import re

import pytest

from mws_hf.corpus.counts import WordCounts
from mws_hf.learn.settings import Settings
from mws_hf.learn.vocabulary import learn
from tests.paths import ROOT

ENGLISH = (
    "walk talk jump open paint play look work clean count start turn land plant test wait call help".split(),
    ["", "s", "ed", "ing", "er", "ers"],
)
FINNISH = (
    "talo auto katu kala sana kirja koira valo loma luku".split(),
    ["", "ssa", "sta", "lla", "ksi", "ni", "ssani", "n"],
)


@pytest.fixture(scope="module")
def page():
    """What the block of the page defines."""
    text = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(block.splitlines()) <= 120
    names: dict = {}
    exec(block, names)  # noqa: S102
    return names


@pytest.fixture(params=[ENGLISH, FINNISH], ids=["English", "Finnish"])
def words(request):
    stems, endings = request.param
    return [" " + stem + ending for stem in stems for ending in endings]


def counted(words):
    return WordCounts.from_mapping(dict.fromkeys(words, 1), pattern="o200k")


def test_the_classic_learner_of_the_page_finds_the_package_s_merges(page, words):
    learnt = learn(counted(words), Settings(criterion="classic", n_merges=60, special_tokens=[]))
    assert len(learnt.merges) >= 40
    assert page["classic"](words, 60) == learnt.merges


def test_the_morph_learner_of_the_page_finds_the_package_s_merges(page, words):
    learnt = learn(counted(words), Settings(n_merges=160, special_tokens=[], composition=0.0))
    assert len(learnt.merges) > 40
    chances = {word: learnt.evidence.word(word) for word in words}
    assert page["morphs"](chances, 160) == learnt.merges
