"""Boundary evidence: finds the morphs of a made-up language, does not depend on threads, survives tiny inputs."""

from itertools import product

import numpy as np
import pytest

from mws_hf.errors import MwSError
from mws_hf.learn.contextual import collect_evidence
from mws_hf.learn.evidence import affixes, ensemble, lexicon, short_lists
from mws_hf.learn.evidence.ensemble import boundary_posteriors
from mws_hf.learn.evidence.forms import collect_types
from mws_hf.learn.settings import Settings
from mws_hf.learn.words import SymbolCorpus
from tests.agglutinative import make_language
from tests.twins import whole_evidence


@pytest.fixture(scope="module")
def language():
    return make_language()


@pytest.fixture(scope="module")
def corpus(language):
    return SymbolCorpus.from_words(sorted(language))


def test_evidence_finds_the_boundaries_of_an_agglutinative_language(language, corpus):
    j = boundary_posteriors(corpus, Settings(granularity=0.2))[0]
    true = np.concatenate([[k in np.cumsum([len(m) for m in language[w]])[:-1] for k in range(1, len(w) + 1)]
                           for w in sorted(language)])  # fmt: skip
    found = j > 0.5
    f1 = 2 * (found & true).sum() / (found.sum() + true.sum())
    assert f1 > 0.7


def test_evidence_is_the_same_for_any_number_of_threads(corpus):
    one, three = (boundary_posteriors(corpus, Settings(), n_threads)[0] for n_threads in (1, 3))
    assert np.array_equal(one, three)


def test_the_share_of_cuts_is_the_setting(corpus):
    inner = len(corpus.symbols) - len(corpus)
    for rate in (0.1, 0.3):
        j = boundary_posteriors(corpus, Settings(granularity=rate))[0]
        assert (j > 0.5).sum() / inner == pytest.approx(rate, abs=0.01)
    assert j.min() >= 0
    assert j.max() <= 1


@pytest.mark.parametrize(
    "words", [["ab"], ["a"], [], ["ab", "cd"], ["aaaaaaaa"], ["a" * n for n in range(2, 30)], ["ab", "a", "b"]]
)
def test_tiny_inputs(words):
    corpus = SymbolCorpus.from_words(words)
    j = boundary_posteriors(corpus, Settings())[0]
    assert j.shape == corpus.symbols.shape
    assert np.isfinite(j).all()
    assert (j[corpus.starts[1:] - 1] == 0).all()


@pytest.mark.parametrize(("argument", "value"), [("granularity", 0.0), ("granularity", 1.0), ("max_types", 0)])
def test_settings_out_of_range_say_which(argument, value):
    with pytest.raises(MwSError, match=argument):
        Settings(**{argument: value})


OTHERS = {
    "PRICE_RAMP": (0.2, 1.0), "PRICE_ENDS": (0.2,), "CONTEXT_WEIGHT": 0.5, "EM_STEPS": 1, "AFFIX_STEPS": 1,
    "AFFIX_WEIGHT": 0.5, "SHORT_LIST": 10, "RERANK_FULLY": 10, "RERANK_BELOW": 60,
}  # fmt: skip


@pytest.mark.parametrize(("granularity", "constants"), [(0.3, {}), (0.2, OTHERS)], ids=["defaults", "others"])
def test_evidence_equals_the_readable_twin_from_end_to_end(granularity, constants, monkeypatch):
    for name, value in constants.items():
        for module in (affixes, ensemble, lexicon, short_lists):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, value)
    settings = Settings(granularity=granularity)
    endings = {a + b for a, b in product(("ev", "kuş", "at", "dere"), ("", "i", "de", "ler"))}
    words = sorted(word for word in endings | {"el", "eli", "atık", "kol", "deli"} if len(word) < 7)
    expected = whole_evidence.boundary_probabilities(words, granularity)
    listed = collect_types([" " + word for word in words], np.ones(len(words), np.int64))
    evidence = collect_evidence(listed, settings)
    found = {word: evidence.word(" " + word) for word in words}
    assert 0.2 < np.mean([x > 0.01 for row in expected.values() for x in row]) < 1
    # the package keeps features and posteriors in single precision, so places all but equal (three at most) may swap
    theirs = np.array([x for word in words for x in expected[word]])
    ours = np.array([x for word in words for x in found[word][1:-1]])
    order = np.argsort(theirs, kind="stable")
    values = theirs[order]
    assert np.sort(ours) == pytest.approx(values, abs=2e-4)
    for rank, place in enumerate(order.tolist()):
        assert min(abs(values[max(rank - 2, 0) : rank + 3] - ours[place])) < 2e-4
