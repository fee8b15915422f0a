"""Lexicons equal pymorphy3's own iteration; lemmas expand as the original's data did."""

import importlib.util

import pymorphy3
import pytest

from mws_hf.corpus import word_list as lexicon
from mws_hf.corpus.word_list import expand_lemmas, good_dataset_text, lemma_counts, lexicon_counts, lexicon_words
from mws_hf.errors import MwSError
from mws_hf.text.pattern import DEFAULT_PATTERN, GPT4_PATTERN, compiled
from tests.examples import thorough


@pytest.fixture(scope="module")
def russian():
    return lexicon_words("ru").to_pylist()


def test_all_russian_forms(russian):
    assert len(russian) > 3_000_000
    assert all(a < b for a, b in zip(russian, russian[1:], strict=False))
    dictionary = pymorphy3.MorphAnalyzer().dictionary
    for prefix in ("чит", "кое", "ё", "1", "абрикос"):
        expected = {record[0] for record in dictionary.iter_known_words(prefix)}
        assert {word for word in russian if word.startswith(prefix)} == expected


def test_ukrainian():
    if importlib.util.find_spec("pymorphy3_dicts_uk") is None:
        pytest.skip("pymorphy3-dicts-uk is not installed")
    words = set(lexicon_words("uk").to_pylist())
    assert {"п'ять", "ґрунт", "читати"} <= words and len(words) > 3_000_000


@thorough
def test_counts_hold_each_pre_token_once(russian):
    counts = lexicon_counts("ru", pattern=GPT4_PATTERN)
    assert set(counts.counts.tolist()) == {1}
    running_text = " " + " ".join(russian)  # a space always starts a pre-token here
    assert counts.words == sorted(set(compiled(GPT4_PATTERN).findall(running_text)))


def test_missing_dictionaries(monkeypatch):
    with pytest.raises(MwSError, match="choose one of ru, uk"):
        lexicon_words("tlh")
    monkeypatch.setitem(lexicon.LEXICONS, "uk", "pymorphy3_dicts_absent")
    with pytest.raises(MwSError, match="pip install pymorphy3-dicts-absent"):
        lexicon_words("uk")


def test_lemmas_expand_to_the_first_lexeme():
    forms = expand_lemmas(["писать", "кот", "писать"])
    analyzer = pymorphy3.MorphAnalyzer()
    assert set(forms) == {f.word.lower() for w in ("писать", "кот") for f in analyzer.parse(w)[0].lexeme}
    assert len(forms) == len(set(forms)) and forms == expand_lemmas(iter(["писать", "кот"]))
    assert good_dataset_text(["кот"]).startswith("кот кота коту ")
    with pytest.raises(MwSError, match="lemma 2 is empty"):
        expand_lemmas(["кот", " "])


def test_lemma_counts_space_all_forms_but_the_first():
    counts = lemma_counts(["кот"], pattern=DEFAULT_PATTERN)
    assert "кот" in counts.words and " кота" in counts.words and set(counts.counts.tolist()) == {1}
    assert sum(not word.startswith(" ") for word in counts.words) == 1
