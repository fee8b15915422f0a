"""Words as code points against Python strings and dictionaries."""

from itertools import groupby

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mws_hf.learn.words import CodePoints, SymbolCorpus, distinct, find_among
from tests.examples import examples
from tests.twins import evidence as reference

WORDS = st.lists(st.text("abя\U0001f600\ud800 ", max_size=4), max_size=30)


@examples(100)
@given(WORDS)
def test_strings_come_back(words):
    assert CodePoints.of(words).strings() == words
    assert CodePoints.of(words).take(np.arange(len(words))[::-1]).strings() == words[::-1]


def test_words_are_numbered_by_content_beyond_the_first_table_size():
    random = np.random.default_rng(5)
    words = ["".join(random.choice(list("abcdefgh"), random.integers(1, 6))) for _ in range(20_000)]
    words += ["ab", "", "ab", "b"]
    found = distinct(CodePoints.of(words))
    numbers = {}
    assert found.ids.tolist() == [numbers.setdefault(word, len(numbers)) for word in words]
    assert [words[i] for i in found.first] == list(numbers)
    assert found.hashes.tolist() == [reference.mixed_hash(word) for word in numbers]


@examples(100)
@given(WORDS, WORDS)
def test_words_are_found_among_others(words, others):
    known = list(dict.fromkeys(others))
    found = find_among(CodePoints.of(words), CodePoints.of(known))
    assert found.tolist() == [known.index(word) if word in known else -1 for word in words]


@examples(100)
@given(st.lists(st.text("abcя", max_size=5), max_size=20), st.text("abcdя"), st.data())
def test_symbols_are_those_of_strings(words, alphabet, data):
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(words), max_size=len(words)))
    found = SymbolCorpus.from_words(words, weights, alphabet)
    runs = [
        ("".join(run), weight)
        for word, weight in zip(words, weights, strict=True)
        for known, run in groupby(word, alphabet.__contains__)
        if known
    ]
    assert found.alphabet == tuple(sorted(set(alphabet)))
    assert [(found.word(i), found.weights[i]) for i in range(len(found))] == runs
    assert (found.symbols.dtype, found.starts.dtype, found.weights.dtype) == (np.int32, np.int64, np.int64)
    assert SymbolCorpus.from_words(CodePoints.of(words), weights).alphabet == tuple(sorted(set("".join(words))))
