"""Words as code points against Python strings and dictionaries."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mws_hf.learn.evidence import reference
from mws_hf.learn.spelled import Spelled, distinct, find_among, symbol_corpus
from mws_hf.learn.symbols import SymbolCorpus

WORDS = st.lists(st.text("abя\U0001f600\ud800 ", max_size=4), max_size=30)


@settings(deadline=None)
@given(WORDS)
def test_strings_come_back(words):
    assert Spelled.of(words).strings() == words
    assert Spelled.of(words).take(np.arange(len(words))[::-1]).strings() == words[::-1]


def test_words_are_numbered_by_content_beyond_the_first_table_size():
    random = np.random.default_rng(5)
    words = ["".join(random.choice(list("abcdefgh"), random.integers(1, 6))) for _ in range(20_000)]
    words += ["ab", "", "ab", "b"]
    found = distinct(Spelled.of(words))
    numbers = {}
    assert found.ids.tolist() == [numbers.setdefault(word, len(numbers)) for word in words]
    assert [words[i] for i in found.first] == list(numbers)
    assert found.hashes.tolist() == [reference.mixed_hash(word) for word in numbers]


@settings(deadline=None)
@given(WORDS, WORDS)
def test_words_are_found_among_others(words, others):
    known = list(dict.fromkeys(others))
    found = find_among(Spelled.of(words), Spelled.of(known))
    assert found.tolist() == [known.index(word) if word in known else -1 for word in words]


@settings(deadline=None)
@given(st.lists(st.text("abcя", max_size=5), max_size=20), st.text("abcdя"), st.data())
def test_symbols_are_those_of_strings(words, alphabet, data):
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(words), max_size=len(words)))
    found = symbol_corpus(Spelled.of(words), np.array(weights, np.int64), alphabet)
    expected = SymbolCorpus.from_words(words, weights, alphabet)
    assert found.alphabet == expected.alphabet
    for name in ("symbols", "starts", "weights"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()
        assert getattr(found, name).dtype == getattr(expected, name).dtype
