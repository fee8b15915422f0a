"""Boundary probabilities: words, graphemes and all views; compiled kernels equal their reference implementations.

Modules: learn/candidates.py, learn/evidence/affix_view.py, learn/evidence/forms.py, learn/evidence/lexicon.py,
learn/evidence/paradigm_view.py, learn/evidence/posteriors.py, learn/evidence/reranking.py, learn/letter_merges.py,
learn/limits.py, learn/words.py, learn/working_corpus.py, text/letter_case.py.
"""

import itertools
import math
import unicodedata
from collections import Counter
from itertools import groupby, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mws_hf import MwSTrainer, WordCounts
from mws_hf.kernels.threads import ThreadPool
from mws_hf.learn.evidence import affix_view, lexicon, posteriors, reranking
from mws_hf.learn.evidence.affix_view import affix_log_odds, count_parts, fit_affixes, fit_trigrams, spell_stems
from mws_hf.learn.evidence.contexts import trie_view
from mws_hf.learn.evidence.forms import collect_forms, collect_types, find_words, inner_positions, split_graphemes
from mws_hf.learn.evidence.lexicon import build_lattice
from mws_hf.learn.evidence.paradigm_view import (
    LONGEST_ENDING,
    MOST_ENDINGS,
    SHORTEST_STEM,
    find_splits,
    fit_paradigms,
    paradigm_support,
)
from mws_hf.learn.evidence.posteriors import boundary_posteriors, collect_evidence, mix_views
from mws_hf.learn.letter_merges import MarkedLetters, find_marked_letters, grapheme_merges
from mws_hf.learn.limits import MergeLimits
from mws_hf.learn.settings import Settings
from mws_hf.learn.words import CodePoints, SymbolCorpus, distinct, find_among
from mws_hf.text.letter_case import fold
from mws_hf.text.pattern import DEFAULT_PATTERN, split
from tests.agglutinative import make_language
from tests.examples import examples
from tests.reference import evidence as reference
from tests.reference import whole_evidence


@pytest.fixture(scope="module")
def language():
    return make_language()


@pytest.fixture(scope="module")
def corpus(language):
    return SymbolCorpus.from_words(sorted(language))


def test_evidence_is_the_same_for_any_number_of_threads(corpus):
    one, three = (boundary_posteriors(corpus, Settings(), n_threads)[0] for n_threads in (1, 3))
    assert np.array_equal(one, three)


def test_the_share_of_boundaries_is_the_setting(corpus):
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


OTHERS = {
    "COST_FACTORS": (0.2, 1.0), "AVERAGED_COST_FACTORS": (0.2,), "CONTEXT_WEIGHT": 0.5, "EM_STEPS": 1, "AFFIX_STEPS": 1,
    "AFFIX_WEIGHT": 0.5, "SHORT_LIST": 10, "RERANK_FULLY": 10, "RERANK_BELOW": 60,
}  # fmt: skip


@pytest.mark.parametrize(("granularity", "constants"), [(0.3, {}), (0.2, OTHERS)], ids=["defaults", "others"])
def test_evidence_equals_the_reference_implementation_from_end_to_end(granularity, constants, monkeypatch):
    for name, value in constants.items():
        for module in (posteriors, lexicon, affix_view, reranking):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, value)
    settings = Settings(granularity=granularity)
    endings = {a + b for a, b in product(("ev", "kuş", "at", "dere"), ("", "i", "de", "ler"))}
    words = sorted(word for word in endings | {"el", "eli", "atık", "kol", "deli"} if len(word) < 6)
    expected = whole_evidence.boundary_probabilities(words, granularity)
    listed = collect_types([" " + word for word in words], np.ones(len(words), np.int64))
    evidence = collect_evidence(listed, settings)
    found = {word: evidence.word(" " + word) for word in words}
    assert 0.2 < np.mean([x > 0.01 for row in expected.values() for x in row]) < 1
    # the package stores features and posteriors in single precision, so up to three nearly equal positions may swap
    theirs = np.array([x for word in words for x in expected[word]])
    ours = np.array([x for word in words for x in found[word][1:-1]])
    order = np.argsort(theirs, kind="stable")
    values = theirs[order]
    assert np.sort(ours) == pytest.approx(values, abs=2e-4)
    for rank, place in enumerate(order.tolist()):
        assert min(abs(values[max(rank - 2, 0) : rank + 3] - ours[place])) < 2e-4


@pytest.mark.parametrize(
    ("pretoken", "lower"),
    [
        ("дом", "дом"), (" Дом", "дом"), ("(ДОМ", "дом"), ("\tдом", "дом"), ("-то", "то"), ("\u00a0дом", "дом"),
        ("don't", "don't"), (" п’ять", "п’ять"), (" ANKARA'DA", "ankara'da"), (" l'", None), ("a''b", None),
        ("12", None), ("a1", None), ("1a", None), ("...", None), (" ", None), ("\n", None), ("", None), ("((a", None),
        (" नमस्ते", "नमस्ते"), (" शब्दों", "शब्दों"), (" ქართული", "ქართული"), (" Հայերեն", "հայերեն"), (" 한국어", "한국어"),
        (" العَرَبِيَّة", "العَرَبِيَّة"), ("漢字", "漢字"), (" İzmir", "izmir"), (" STRASSE", "strasse"), (" ẞ", "ß"),
            (" Işıltı", "ışıltı"), (" SICAĞı", "sıcağı"), (" Ice", "ice"),
    ],
)  # fmt: skip
def test_words_and_their_types(pretoken, lower):
    forms = collect_forms([pretoken], np.array([3]))
    assert forms.types.strings() == ([] if lower is None else [lower])
    assert forms.type_counts.tolist() == ([] if lower is None else [3])


def test_a_word_of_the_default_pattern_is_a_word_here():
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


ACUTE, DOTS, HOOK = "\u0301", "\u0308", "\u0328"


def torn(tokenizer, text):
    tokens = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).tokens
    return [token for token in tokens if unicodedata.category(token[0])[0] == "M"]


def trained(counts, **options):
    options = {"n_merges": 300, "show_progress": False, **options}
    return MwSTrainer(**options).train_from_counts(WordCounts.from_mapping(counts, pattern=DEFAULT_PATTERN))


def stressed_language():
    """Return made-up words, every third with an accent on its first vowel; some letters with marks occur only once."""
    words = {}
    for i, word in enumerate(sorted(make_language())):
        at = next((k for k, c in enumerate(word) if c in "aeiou"), None)
        words[f" {word}" if i % 3 or at is None else f" {word[: at + 1]}{ACUTE}{word[at + 1 :]}"] = 5
    return words


def test_a_marked_letter_seen_once_is_whole_in_every_place_and_case():
    # too long for evidence, a single letter, in the middle, before another mark
    counts = {**stressed_language(), " y" + DOTS: 1, " " + "ka" * 20 + "w" + ACUTE: 1, " kaz" + HOOK + ACUTE + "a": 1}
    for composition in (0, 0.5):
        tokenizer = trained(counts, composition=composition)
        for letter in ("y" + DOTS, "w" + ACUTE, "z" + HOOK + ACUTE, "z" + HOOK):
            for text in (letter, " " + letter, "ka" + letter + "ta", " ta" + letter, letter + letter, "q" + letter):
                assert torn(tokenizer, text) == [], (composition, text)
                assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_the_other_case_is_whole_if_its_letter_is_known():
    tokenizer = trained({**stressed_language(), " Waka": 1, " kaw" + ACUTE: 1})
    assert torn(tokenizer, " W" + ACUTE + "aka") == []


TEXTS = st.text("akotie " + ACUTE + DOTS + HOOK, max_size=12)


@examples(40)
@given(st.lists(TEXTS, min_size=1, max_size=8), st.integers(0, 5))
def test_no_merge_of_marks_comes_between(texts, more):
    """If the merges are applied in rank order, every letter with marks in the words stays whole in any text."""
    words = CodePoints.of([text for text in texts if text.strip()] or ["a"])
    merges = grapheme_merges(
        find_marked_letters(words, np.ones(len(words), np.int64)), "akotie" + ACUTE + DOTS + HOOK, 999
    )
    assert all(unicodedata.category(left[0])[0] == "L" and len(right) == 1 for left, right in merges)
    products = {left + right for left, right in merges}
    assert len(products) == len(merges)
    for k, (left, _) in enumerate(merges):
        assert len(left) == 1 or left in {a + b for a, b in merges[:k]}
    for word in words.strings():
        for i in range(1, len(word)):
            start = i
            while start > 0 and unicodedata.category(word[start])[0] == "M":
                start -= 1
            if start < i and word[start].isalpha():
                assert word[start : i + 1] in products


def test_the_order_is_total_and_limits_are_respected():
    found = MarkedLetters({"o" + DOTS: 5, "o" + DOTS + ACUTE: 5, "a" + DOTS: 5, "e" + ACUTE: 9, "q" + ACUTE: 7}, {})
    every = [("e", ACUTE), ("a", DOTS), ("o", DOTS), ("o" + DOTS, ACUTE)]
    assert grapheme_merges(found, "aoe" + DOTS + ACUTE, 9) == every
    assert grapheme_merges(found, "aoe" + DOTS + ACUTE, 2) == every[:2]
    assert grapheme_merges(found, "aoe" + DOTS + ACUTE, 9, MergeLimits(max_token_length=2)) == every[:3]
    assert grapheme_merges(found, "aoe" + DOTS + ACUTE, 9, MergeLimits(forbidden=frozenset({"o" + DOTS}))) == every[:2]


def random_words(seed, n=400, letters="abcde", longest=9):
    random = np.random.default_rng(seed)
    return sorted({"".join(random.choice(list(letters), random.integers(1, longest))) for _ in range(n)})


def splits_of(corpus):
    return find_splits(corpus, *(trie_view(corpus, backwards)[0].ids for backwards in (False, True)))


@pytest.mark.parametrize("words", [random_words(1), random_words(2, 900, "ab", 10), ["ab"], ["a", "ab", "abc"]])
def test_paradigms_equal_counting_stems_by_pair_of_endings(words):
    corpus = SymbolCorpus.from_words(words)
    splits = splits_of(corpus)
    found = paradigm_support(fit_paradigms(splits), splits, len(corpus.symbols))
    worth = reference.paradigm_scores(words, SHORTEST_STEM, LONGEST_ENDING, MOST_ENDINGS)
    inner = inner_positions(corpus.starts)
    np.testing.assert_allclose(found[inner], np.log1p([x for row in worth for x in row])[inner], rtol=1e-14)


def test_paradigms_of_one_list_give_probabilities_for_words_that_are_not_in_it():
    """`jump-` has `-s` and `-ed` in the list; other stems with one of these and a third ending support it."""
    listed = [stem + end for stem in ("walk", "talk", "call") for end in ("s", "ed", "ing")] + ["jumps", "jumped"]
    both = SymbolCorpus.from_words([*listed, "jumping"])
    n = sum(map(len, listed))
    splits = splits_of(both)
    rows = splits.stem_end < n
    stem_of = np.repeat(splits.stems, np.diff(splits.bounds))[rows]
    first = np.nonzero(np.diff(stem_of, prepend=-1))[0]
    fitted = fit_paradigms(
        splits._replace(
            stems=stem_of[first], bounds=np.append(first, rows.sum()).astype(np.int32), stem_end=splits.stem_end[rows],
            ending=splits.ending[rows], letter=splits.letter[rows],
        )
    )  # fmt: skip
    found = paradigm_support(fitted, splits, len(both.symbols))[n:]
    assert np.exp(found).round().tolist() == [1, 1, 1, 4, 1, 1, 1]


@pytest.mark.parametrize("most", [80, 3])
def test_letters_of_stems_equal_the_readable_model(most):
    words, stems = random_words(3, 60, "abcde", 8), random_words(4, 30, "abcd", 6)
    corpus = SymbolCorpus.from_words(words)
    number = {letter: k for k, letter in enumerate(corpus.alphabet)}
    points = np.array([number[c] for stem in stems for c in stem], np.int32)
    spelt = CodePoints(points, np.cumsum([0, *map(len, stems)]))
    _, letters, heads, ends = spell_stems(fit_trigrams(corpus, spelt, most), corpus)
    text = "".join(words)
    model = reference.letter_model(stems, {c: text.count(c) for c in corpus.alphabet}, most)
    for w, word in enumerate(words):
        s = int(corpus.starts[w])
        for i in range(len(word)):
            for j in range(i + 2, len(word) + 1):
                found = heads[s + i] * math.prod(letters[s + i : s + j]) * ends[s + j - 1]
                assert found == pytest.approx(model(word[i:j]), rel=1e-9)


def test_the_longest_part_is_the_stem_and_stems_are_listed_once():
    words = ["unkindness", "kinds", "abcd", "kindred"]
    cuts = [["un", "kind", "ness"], ["kind", "s"], ["ab", "cd"], ["kind", "red"]]
    corpus = SymbolCorpus.from_words(words)
    lattice = build_lattice(corpus, 12, 1)
    cut = np.zeros(len(corpus.symbols), bool)
    for w, pieces in enumerate(cuts):
        cut[corpus.starts[w] + np.cumsum([len(piece) for piece in pieces]) - 1] = True
    counts, stems = count_parts(corpus, lattice, cut)
    expected = {}
    for pieces in cuts:
        for piece, kind in zip(pieces, reference.pieces_by_class(pieces), strict=True):
            expected.setdefault(piece, [0, 0, 0])[kind] += 1
    text = "".join(words)
    names = [text[a : a + n] for a, n in zip(lattice.first.tolist(), lattice.lengths.tolist(), strict=True)]
    assert {name: row for name, row in zip(names, counts.tolist(), strict=True) if any(row)} == expected
    assert ["".join(corpus.alphabet[ord(c)] for c in stem) for stem in stems.strings()] == ["kind", "ab"]


def test_affixes_of_one_list_split_words_that_are_not_in_it():
    stems = [a + b + c for a in "kptm" for b in ("al", "is", "or", "un") for c in "kt"]
    listed = [stem + end for stem in stems[:-1] for end in ("", "lla", "ssa", "ista")]
    both = SymbolCorpus.from_words([*listed, stems[-1] + "ssa", stems[-1] + "ista"])
    learned = SymbolCorpus(both.alphabet, both.symbols[: sum(map(len, listed))], both.starts[: len(listed) + 1],
                          both.weights[: len(listed)])  # fmt: skip
    cut = np.zeros(len(learned.symbols), bool)
    cut[learned.starts[:-1] + 3] = True
    lattice = build_lattice(both)
    with ThreadPool(2) as pool:
        model = fit_affixes(learned, lattice, cut, pool)
        found = affix_log_odds(model, both, lattice, pool)[both.starts[len(listed)] :]
    assert [int(np.argmax(found[:7])), int(np.argmax(found[7:]))] == [3, 3]


def rerank_between(monkeypatch, fully, below):
    monkeypatch.setattr(reranking, "RERANK_FULLY", fully)
    monkeypatch.setattr(reranking, "RERANK_BELOW", below)


def test_a_short_list_keeps_the_values_of_the_mixture_in_an_order_that_no_number_of_threads_changes(monkeypatch):
    corpus = SymbolCorpus.from_words(sorted(make_language()))
    ranked = mix_views(corpus, Settings(), 2, keep=True)
    with monkeypatch.context() as patch:
        rerank_between(patch, 1, 2)
        plain = mix_views(corpus, Settings(), 2, keep=True)
    assert plain.views.shape[1] == 4 and ranked.views.shape[1] == 6
    np.testing.assert_array_equal(plain.views, ranked.views[:, :4])
    np.testing.assert_array_equal(np.sort(plain.log_odds), np.sort(ranked.log_odds))
    assert (plain.log_odds != ranked.log_odds).mean() > 0.2
    for threads in (1, 3):
        np.testing.assert_array_equal(mix_views(corpus, Settings(), threads).log_odds, ranked.log_odds)


def test_a_list_that_is_not_short_is_left_as_it_was(monkeypatch):
    corpus = SymbolCorpus.from_words(sorted(make_language()))
    found = []
    for fully, below in ((1, 2), (len(corpus) - 1, len(corpus)), (len(corpus) - 1, len(corpus) + 1)):
        rerank_between(monkeypatch, fully, below)
        found.append(boundary_posteriors(corpus, Settings())[0])
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()


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
