"""Which pre-tokens are words, which forms share a type, and that marks stay with their letters, in many scripts."""

import itertools
import unicodedata
from collections import Counter

import numpy as np
import pytest

from mws_hf.learn.evidence.forms import collect_forms, find_words, fold, split_graphemes
from mws_hf.text.pattern import split


@pytest.mark.parametrize(
    ("pretoken", "lower"),
    [
        ("дом", "дом"), (" Дом", "дом"), ("(ДОМ", "дом"), ("\tдом", "дом"), ("-то", "то"), ("\u00a0дом", "дом"),
        ("don't", "don't"), (" п’ять", "п’ять"), (" ANKARA'DA", "ankara'da"), (" l'", None), ("a''b", None),
        ("12", None), ("a1", None), ("1a", None), ("...", None), (" ", None), ("\n", None), ("", None), ("((a", None),
        (" नमस्ते", "नमस्ते"), (" शब्दों", "शब्दों"), (" ქართული", "ქართული"), (" Հայերեն", "հայերեն"), (" 한국어", "한국어"),
        (" العَرَبِيَّة", "العَرَبِيَّة"), ("漢字", "漢字"), (" İzmir", "İzmir"), (" STRASSE", "strasse"), (" ẞ", "ß"),
    ],
)  # fmt: skip
def test_words_and_their_types(pretoken, lower):
    forms = collect_forms([pretoken], np.array([3]))
    assert forms.types.strings() == ([] if lower is None else [lower])
    assert forms.type_counts.tolist() == ([] if lower is None else [3])


def test_what_the_default_pattern_calls_a_word_is_one_here():
    text = "Він сказав: «п'ять слів»—और नमस्ते, 3rd o'clock… e\u0301tude (naïve) rock'n'roll x_y don’t 漢字かな한국어"
    pretokens = split(text)
    words = find_words(pretokens).is_word
    assert words.tolist() == [any(c.isalpha() for c in pretoken) for pretoken in pretokens]
    assert sum(words) > 10


def test_forms_keep_case_and_space_and_lose_other_leading_characters():
    pretokens = [" дом", " Дом", "дом", "(дом", "«Дом", " дома", "5"]
    forms = collect_forms(pretokens, np.array([10, 4, 2, 1, 1, 20, 99]))
    assert dict(zip(forms.words.strings(), forms.counts.tolist(), strict=True)) == {
        " дом": 10, " Дом": 4, "дом": 3, "Дом": 1, " дома": 20,
    }  # fmt: skip
    assert forms.types.strings() == ["дома", "дом"]
    assert forms.type_counts.tolist() == [20, 18]
    assert [forms.types.strings()[i] for i in forms.type_of] == [fold(form.strip()) for form in forms.words.strings()]


def test_the_order_of_cores_does_not_depend_on_that_of_the_input():
    pretokens, counts = [" b", " a", " c", " B", " ä"], np.array([1, 2, 2, 1, 5])
    found = {
        tuple(collect_forms([pretokens[i] for i in o], counts[o]).types.strings())
        for o in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0])
    }
    assert len(found) == 1
    assert sorted(found.pop()[1:]) == ["a", "b", "c"]


def test_the_first_of_a_list_without_counts_are_an_even_sample():
    pretokens = [" " + "".join(letters) for letters in itertools.product("abcdefgh", repeat=4)]
    types = collect_forms(pretokens, np.ones(len(pretokens), np.int64)).types.strings()[:1024]
    for place in range(4):
        counts = Counter(each[place] for each in types)
        assert len(counts) == 8
        # 128 expected, standard deviation 9
        assert min(counts.values()) > 90
        assert max(counts.values()) < 166


@pytest.mark.parametrize("text", ["नमस्ते", "Việt", "ёж", "ё́ж", "한국어", "हिन्दी", "שָׁלוֹם", "ไก่"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_graphemes_start_at_letters_and_spell_the_word(text, form):
    text = unicodedata.normalize(form, text)
    graphemes = split_graphemes([text, text[:1]])
    assert graphemes.corpus.word(0) == text
    assert graphemes.last.sum() == len(graphemes.corpus.symbols)
    for symbol in graphemes.corpus.alphabet:
        assert [unicodedata.category(c)[0] == "M" for c in symbol] == [False] + [True] * (len(symbol) - 1)
    assert len(set(graphemes.corpus.alphabet)) == len(graphemes.corpus.alphabet)


def test_nothing_to_find():
    forms = collect_forms([], np.zeros(0, np.int64))
    assert (forms.words.strings(), forms.types.strings()) == ([], [])
    assert len(split_graphemes([]).corpus) == 0
