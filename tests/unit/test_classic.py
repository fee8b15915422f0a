"""The original MwS score: published answers, the fast learner compared with plain Python, and the formula by hand.

Modules: learn/classic.py, learn/classic_coefficient.py, learn/classic_explained.py.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mws_hf.errors import MwSError
from mws_hf.learn.classic import learn_classic
from mws_hf.learn.classic_coefficient import Counts, coefficient, terms_of
from mws_hf.learn.classic_explained import explain_merges, explain_pair
from mws_hf.learn.limits import MergeLimits
from mws_hf.learn.settings import Settings
from mws_hf.learn.words import SymbolCorpus
from mws_hf.learn.working_corpus import WorkingCorpus
from tests.examples import examples
from tests.reference.classic import learn_classic_reference
from tests.reference.engine import tokens_of

SCORES = st.builds(
    lambda base, share, longest, delta, threshold: Settings(
        criterion="classic",
        len_norm_factor=base * share,
        log_base=base,
        max_merge_len=longest,
        max_len_delta=delta,
        stop_threshold=threshold,
    ),
    st.sampled_from([2.0, 2.0, 1.3, math.e, 10.0]),
    st.sampled_from([1.0, 1.0, 0.5, 0.0]),
    st.integers(2, 9),
    st.sampled_from([2.0, 2.0, 1.0, 1.7, 2.6, 8.0]),
    st.sampled_from([None, None, 0.0, 1.5]),
)


@st.composite
def corpora(draw, alphabet=" абв"):
    words = draw(st.lists(st.text(alphabet, min_size=1, max_size=12), min_size=1, max_size=25))
    weights = st.lists(st.integers(1, draw(st.sampled_from([1, 9, 10**6]))), min_size=len(words), max_size=len(words))
    return SymbolCorpus.from_words(words, draw(weights))


@examples(300)
@given(corpora(), st.just(Settings(criterion="classic")) | SCORES, st.data())
def test_engine_equals_reference(corpus, score, data):
    options = {
        "forbidden": data.draw(st.frozensets(st.sampled_from(["аб", "аа", " а", "бва"]))),
        "max_token_length": data.draw(st.sampled_from([None, 2, 3, 5])),
        "min_frequency": data.draw(st.integers(1, 3)),
    }
    limits, n_merges = MergeLimits(**options), data.draw(st.integers(0, 40))
    assert learn_classic(corpus, n_merges, score, limits) == learn_classic_reference(corpus, n_merges, score, limits)


@examples(30)
@given(corpora(" абвгдежзикй"), st.just(Settings(criterion="classic")) | SCORES)
def test_engine_equals_reference_to_the_end(corpus, score):
    assert learn_classic(corpus, 10**9, score) == learn_classic_reference(corpus, 10**9, score)


def test_longer_products_become_possible_as_tokens_grow():
    # a product of 3 characters needs a mean token length of (3 - 1.75) ** 2 = 1.5625, which only merges reach
    score = Settings(criterion="classic", max_len_delta=1.75)
    corpus = SymbolCorpus.from_words(["абвгд", "абвге", "жзвгд", "жзвге", "абклд", "жзкле"])
    learned = learn_classic(corpus, 9, score)
    assert learned == learn_classic_reference(corpus, 9, score)
    lengths = [len(left + right) for left, right in learned.merges]
    assert lengths[:4] == [2, 2, 2, 2] and 3 in lengths


def test_engine_equals_reference_on_a_zipfian_corpus():
    rng = np.random.default_rng(5)
    syllables = ["".join(chr(0x430 + i) for i in rng.integers(0, 30, rng.integers(1, 4))) for _ in range(40)]
    words = {" " + "".join(syllables[min(i, 39)] for i in rng.zipf(1.4, rng.integers(1, 5)) - 1) for _ in range(400)}
    corpus = SymbolCorpus.from_words(sorted(words))
    assert learn_classic(corpus, 150) == learn_classic_reference(corpus, 150)


@examples(50)
@given(corpora(), st.integers(0, 6), st.integers(0, 6))
def test_stopping_and_continuing_is_learning_in_one_go(corpus, first, second):
    segmentation = WorkingCorpus(corpus)
    parts = [learn_classic(segmentation, n) for n in (first, second)]
    assert parts[0].merges + parts[1].merges == learn_classic(corpus, first + second).merges


def test_compositions_are_learned_on_the_segmentation_after_the_morph_merges():
    corpus = SymbolCorpus.from_words([" читать", " читал", " писать"])
    segmentation = WorkingCorpus(corpus)
    morphs = learn_classic(segmentation, 10**9)
    assert morphs.exhausted
    compositions = segmentation.learn(None, 10**9)
    assert [tokens_of(segmentation, i) for i in range(3)] == [[corpus.word(i)] for i in range(3)]
    products = [left + right for left, right in morphs.merges + compositions.merges]
    assert len(set(products)) == len(products)


def test_arrays_grow_without_changing_the_result(monkeypatch):
    rng = np.random.default_rng(0)
    letters = (rng.zipf(1.3, (5000, 3)) % 20000) + 0x4E00
    corpus = SymbolCorpus.from_words(["".join(map(chr, word)) for word in letters.tolist()])
    expected = learn_classic(corpus, 5000)
    assert len(expected.merges) == 5000
    monkeypatch.setattr("mws_hf.learn.candidates.SPARE", 2)
    assert learn_classic(corpus, 5000) == expected


@pytest.mark.parametrize("words", [[], ["а"], ["а", "б"]])
def test_nothing_to_merge(words):
    learned = learn_classic(SymbolCorpus.from_words(words), 5)
    assert learned.merges == [] and learned.exhausted


def test_terms_by_hand():
    # u_l = u_r = b = 1, N = 4 tokens and B = 2 pairs: p_l = 1/4, p_r = 4 ** -0.75, p_b = 1/2
    found = terms_of(Counts(1, 1, 1, 1, 1, n_tokens=4, n_pairs=2, n_characters=4), 2.0, 2.0)
    p_r = 4**-0.75
    t_score = 1 - p_r
    assert found.pmi == pytest.approx(1 + 1.5)
    assert found.t_score == pytest.approx(t_score)
    assert found.association == pytest.approx((2.5 + math.log2(1 + t_score)) / 2)
    assert found.penalty == pytest.approx(math.sqrt(2))
    assert found.length == pytest.approx(-1.5)
    assert found.gain == pytest.approx(1.5 * p_r + 0.5 - 0.5)
    assert found.total == pytest.approx(found.association + found.length + found.gain)


def test_lengths_decide_which_pairs_are_candidates():
    short = Counts(9, 9, 9, 1, 2, n_tokens=100, n_pairs=80, n_characters=100)
    assert coefficient(short) > 0
    # 4 exceeds the square root of the mean length, 1, by more than 2
    assert coefficient(short._replace(left_size=2)) == 0
    assert coefficient(short._replace(left_size=2, n_characters=400)) > 0
    assert coefficient(short, Settings(criterion="classic", max_merge_len=2)) == 0


@examples(50)
@given(corpora(), st.integers(1, 15))
def test_each_merge_is_explained_by_the_coefficient_for_which_it_was_chosen(corpus, n_merges):
    learned = learn_classic(corpus, n_merges)
    rows = explain_merges(corpus, n_merges)
    assert [row["coefficient"] for row in rows] == learned.scores
    assert [(row["left"], row["right"]) for row in rows] == learned.merges


def test_explaining_a_pair_of_products_learns_them_first():
    corpus = SymbolCorpus.from_words([" читать", " читал", " читка", " писать"] * 3)
    merges = learn_classic(corpus, 20).merges
    rank = next(rank for rank in range(1, 20) if "".join(merges[rank - 1]) in merges[rank])
    assert explain_pair(corpus, *merges[rank]) == explain_merges(corpus, rank + 1)[rank]


def test_a_pair_of_equal_neighbors_is_counted_only_between_tokens():
    corpus = SymbolCorpus.from_words(["абабаб", "абаб", "аб"], [1, 2, 4])
    assert explain_merges(corpus, 1)[0]["left"] == "а"
    found = explain_pair(corpus, "аб", "аб")
    assert (found["u_l"], found["u_r"], found["b"]) == (11, 11, 4)


def test_a_pair_that_never_meets_has_no_terms():
    found = explain_pair(SymbolCorpus.from_words(["аб", "вг"]), "а", "г")
    assert (found["pmi"], found["coefficient"], found["b"]) == (None, 0.0, 0)


@pytest.mark.parametrize("part", ["щи", "x"])
def test_explaining_an_unknown_part_is_rejected(part):
    with pytest.raises(MwSError, match=f"'{part}' is neither a letter of the training words nor a token that a merge"):
        explain_pair(SymbolCorpus.from_words(["аб", "вг"]), "а", part)
