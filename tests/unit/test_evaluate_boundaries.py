"""Scores: by hand, against the published answers of Virpioja's morphoeval tests, and by their properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mws_hf.corpus.segmentations import GoldWord
from mws_hf.errors import MwSError
from mws_hf.evaluate.boundaries import best_alternative, emma2, score, word_table
from mws_hf.tokenizer.spans import pieces_of

# The reference of the unit tests of github.com/svirpioj/morphoeval, whose expected values are quoted below.
REFERENCE = {
    "koira": "koira",
    "koiran": "koira n",
    "koiralle": "koira lle",
    "koirakin": "koira kin",
    "kissa": "kissa",
    "kissalle": "kissa lle",
    "hiiri": "hiiri",
}
EXAMPLE = REFERENCE | {"koirakin": "koira ki n", "kissa": "ki ssa"}
EXAMPLE_2 = REFERENCE | {"kissassa": "kissa ssa"}, EXAMPLE | {"kissassa": "ki ssa ssa"}
EXAMPLE_3 = REFERENCE | {"koiran": "koiran", "koirakin": "koirakin", "kissa": "ki ssa"}
WHOLE = {word: word for word in REFERENCE}
LETTERS = {word: " ".join(word) for word in REFERENCE}


def as_gold(mapping):
    return [GoldWord(word, (tuple(morphs.split()),)) for word, morphs in mapping.items()]


def as_pieces(mapping):
    return [tuple(morphs.split()) for morphs in mapping.values()]


@pytest.mark.parametrize(
    ("gold", "predicted", "precision", "recall"),
    [
        (REFERENCE, REFERENCE, 1, 1),
        (REFERENCE, WHOLE, 1, 0.42857142),
        (REFERENCE, LETTERS, 0.08979591, 1),
        (REFERENCE, EXAMPLE, 0.78571428, 1),
        (*EXAMPLE_2, 0.75, 1),
        (REFERENCE, EXAMPLE_3, 0.85714285, 0.71428571),
    ],
)
def test_macro_scores_are_the_published_bpr(gold, predicted, precision, recall):
    scores = score(as_gold(gold), as_pieces(predicted))
    assert scores.macro_precision == pytest.approx(precision, abs=1e-7)
    assert scores.macro_recall == pytest.approx(recall, abs=1e-7)


@pytest.mark.parametrize(
    ("gold", "predicted", "precision", "recall"),
    [
        (REFERENCE, REFERENCE, 1, 1),
        (REFERENCE, WHOLE, 1, (3 + 3 * 0.5) / 7),
        (REFERENCE, dict.fromkeys(REFERENCE, "x"), 4 / 7, 1),
        (REFERENCE, EXAMPLE, 0.92857142857, 0.85714285714),
        (*EXAMPLE_2, 0.91666666667, 0.9375),
    ],
)
def test_emma2_is_the_published_one(gold, predicted, precision, recall):
    result = emma2(as_gold(gold), as_pieces(predicted))
    assert result.precision == pytest.approx(precision)
    assert result.recall == pytest.approx(recall)


def spelled_out(rows, others):
    """The share of `rows` assigned to the pieces of `others`: the definition, one morph after another."""
    pieces = sorted({piece for other in others for piece in other})

    def assigned(morph):
        together = {p: sum(min(r.count(morph), o.count(p)) for r, o in zip(rows, others, strict=True)) for p in pieces}
        return min(pieces, key=lambda p: (-together[p], sum(o.count(p) for o in others), p))

    closest = {morph: assigned(morph) for row in rows for morph in row}
    shares = [
        sum(min(row.count(morph), other.count(closest[morph])) for morph in set(row)) / len(row)
        for row, other in zip(rows, others, strict=True)
    ]
    return sum(shares) / len(shares)


@given(st.lists(st.tuples(*[st.lists(st.sampled_from("abcd"), min_size=1, max_size=5)] * 2), min_size=1, max_size=5))
def test_emma2_is_its_definition(rows):
    gold, predicted = [morphs for morphs, _ in rows], [pieces for _, pieces in rows]
    result = emma2([GoldWord("".join(morphs), (tuple(morphs),)) for morphs in gold], predicted)
    assert result.precision == pytest.approx(spelled_out(predicted, gold))
    assert result.recall == pytest.approx(spelled_out(gold, predicted))


def test_emma2_sees_a_stem_cut_differently_in_each_form():
    gold = as_gold({"читаю": "чита ю", "читал": "чита л", "бегаю": "бега ю", "бегал": "бега л"})
    steady = [("чита", "ю"), ("чита", "л"), ("бега", "ю"), ("бега", "л")]
    shaky = [("чи", "таю"), ("чит", "ал"), ("бе", "гаю"), ("бег", "ал")]
    assert emma2(gold, steady).f1 == 1
    assert emma2(gold, shaky).recall < 0.9


def test_micro_scores_by_hand():
    # книг|а against кни|га: 1 miss, 1 spurious; пере|чит|а|ть against пере|чита|ть: 2 hits, 1 miss; дом exact.
    gold = as_gold({"книга": "книг а", "перечитать": "пере чит а ть", "дом": "дом"})
    scores = score(gold, [("кни", "га"), ("пере", "чита", "ть"), ("дом",)])
    assert (scores.precision, scores.recall) == (2 / 3, 2 / 4)
    assert scores.f1 == pytest.approx(4 / 7)
    assert scores.macro_precision == pytest.approx((0 + 1 + 1) / 3)
    assert scores.macro_recall == pytest.approx((0 + 2 / 3 + 1) / 3)
    assert scores.morph_precision == pytest.approx(3 / 6)  # пере, ть, дом of six pieces
    assert scores.morph_recall == pytest.approx(3 / 7)
    assert scores.exact == pytest.approx(1 / 3)
    assert (scores.single_words, scores.single_recall, scores.morphscore) == (1, 0, 0)
    assert (scores.over_segmented, scores.under_segmented) == (0, pytest.approx(1 / 3))
    assert (scores.spurious_per_word, scores.missed_per_word) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert (scores.tokens_per_word, scores.morphs_per_word) == (2, pytest.approx(7 / 3))


def test_morphscore_leaves_whole_words_out_as_its_readme_does():
    # The four rows of MorphScore's README: tokenizer 2 on aldi+z, suučesnik+a, samráð+s (excluded), Αδριανή+ς.
    gold = as_gold({"aldiz": "aldi z", "suučesnika": "suučesnik a", "samráðs": "samráð s", "Αδριανής": "Αδριανή ς"})
    scores = score(gold, [("aldi", "z"), ("su", "u", "če", "s", "nika"), ("samráðs",), ("Α", "δρ", "ιανή", "ς")])
    assert (scores.morphscore, scores.morphscore_words) == (2 / 3, 3)
    assert (scores.single_recall, scores.single_words) == (2 / 4, 4)


def test_alternatives_count_the_best_one():
    entry = GoldWord("adoptioilta", (("adoptio", "i", "lta"), ("adoptio", "ilta")))
    assert best_alternative(entry, ("adoptio", "ilta")) == ("adoptio", "ilta")
    assert score([entry], [("adoptio", "ilta")]).f1 == 1
    assert score([entry], [("adoptio", "ilta")]).exact == 1
    assert score([entry], [("adoptio", "i", "lta")]).exact == 1
    # Precision and recall may each take their own alternative in the macro average, as in Morfessor's evaluation.
    both = GoldWord("abcd", (("a", "bcd"), ("ab", "c", "d")))
    scores = score([both], [("a", "b", "c", "d")])
    assert (scores.macro_precision, scores.macro_recall) == (2 / 3, 1)


def test_ends_of_the_scale():
    gold = as_gold(REFERENCE)
    every = score(gold, [tuple(entry.word) for entry in gold])
    assert every.recall == 1 and every.under_segmented == 0
    assert every.f1 == pytest.approx(2 * 4 / (4 + sum(len(word) - 1 for word in REFERENCE)))
    none = score(gold, [(entry.word,) for entry in gold])
    assert (none.precision, none.recall, none.f1, none.exact) == (1, 0, 0, 3 / 7)
    assert none.morphscore_words == 0


def test_words_of_one_letter_do_not_lift_the_average():
    gold = as_gold({"ab": "a b", "я": "я"})
    assert score(gold, [("ab",), ("я",)]).macro_recall == 0


def test_wrong_input_is_refused():
    gold = as_gold({"ab": "a b"})
    with pytest.raises(MwSError, match="do not spell"):
        score(gold, [("a", "c")])
    with pytest.raises(MwSError, match="give one for each"):
        score(gold, [])


words = st.text("abc", min_size=1, max_size=8)


@st.composite
def two_segmentations(draw):
    pairs = []
    for word in draw(st.lists(words, min_size=1, max_size=10, unique=True)):
        places = st.sets(st.integers(1, len(word) - 1)) if len(word) > 1 else st.just(set())
        pairs.append(tuple(pieces_of(word, sorted(draw(places))) for _ in range(2)))
    return pairs


@given(two_segmentations())
def test_properties(pairs):
    first, second = zip(*pairs, strict=True)

    def entries(cuts):
        return [GoldWord("".join(cut), (cut,)) for cut in cuts]

    perfect = score(entries(first), first)
    assert (perfect.f1, perfect.macro_f1, perfect.morph_f1, perfect.exact) == (1, 1, 1, 1)
    one, other = score(entries(first), second), score(entries(second), first)
    assert one.f1 == other.f1 and one.morph_f1 == other.morph_f1 and one.exact == other.exact
    if one.tokens_per_word > 1 and one.morphs_per_word > 1:
        assert (one.precision, one.recall) == (other.recall, other.precision)
    assert (one.macro_precision, one.macro_recall) == (other.macro_recall, other.macro_precision)
    assert emma2(entries(first), first).f1 == 1
    forward, backward = emma2(entries(first), second), emma2(entries(second), first)
    assert (forward.precision, forward.recall) == (backward.recall, backward.precision)
    table = word_table(entries(first), second)
    assert (table.hits <= table.predicted).all() and (table.hits <= table.gold).all()
