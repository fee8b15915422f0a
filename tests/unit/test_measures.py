"""Scores of boundaries and texts: worked examples, published results, and a random segmenter.

Modules: scoring/boundaries.py, scoring/consistency.py, scoring/evaluation.py, scoring/significance.py.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace
from functools import cache
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mws_hf.corpus.segmentations import Gold, GoldWord
from mws_hf.errors import MwSError
from mws_hf.scoring.boundaries import best_alternative, macro_scores, score, summarize, word_table
from mws_hf.scoring.consistency import consistency, edit_distance, emma2
from mws_hf.scoring.evaluation import BASELINES
from mws_hf.scoring.significance import bootstrap_f1, difference, interval, stable_samples, wilcoxon
from mws_hf.tokenizer.segmenting import pieces_of
from tests.agglutinative import make_language
from tests.examples import examples

# The reference segmentations of the unit tests of github.com/svirpioj/morphoeval; the expected values are from there.
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


def test_no_words_have_no_scores():
    with pytest.raises(MwSError, match="no gold words"):
        score([], [])


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
    """Compute the assigned share of `rows` from its definition, one morph after another."""
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
    # These are the four examples in MorphScore's README, for its tokenizer 2; samráð+s is excluded there.
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
    # In the macro average, precision and recall may use different alternatives, as in Morfessor's evaluation.
    both = GoldWord("abcd", (("a", "bcd"), ("ab", "c", "d")))
    scores = score([both], [("a", "b", "c", "d")])
    assert (scores.macro_precision, scores.macro_recall) == (2 / 3, 1)


def test_words_of_one_letter_do_not_raise_the_average():
    gold = as_gold({"ab": "a b", "я": "я"})
    assert score(gold, [("ab",), ("я",)]).macro_recall == 0


def test_wrong_input_is_rejected():
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


pieces = st.lists(st.sampled_from(["a", "b", "ab", "ba", "bb"]), min_size=1, max_size=4)


def distance(first: tuple[str, ...], second: tuple[str, ...]) -> int:
    @cache
    def at(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return i + j
        change = at(i - 1, j - 1) + (first[i - 1] != second[j - 1])
        return min(at(i - 1, j) + 1, at(i, j - 1) + 1, change)

    return at(len(first), len(second))


long = st.lists(st.sampled_from(["a", "b", "ab"]), max_size=90)  # longer than a machine word


@given(pieces | long, pieces | long)
def test_edit_distance_is_the_recurrence(first: list[str], second: list[str]):
    assert edit_distance(first, second) == distance(tuple(first), tuple(second)) == edit_distance(second, first)


@given(st.lists(st.tuples(pieces, st.integers(0, 2**8)), min_size=2, max_size=6))
def test_consistency_is_a_count_over_all_pairs(rows: list[tuple[list[str], int]]):
    gold = [GoldWord("".join(morphs), (tuple(morphs),)) for morphs, _ in rows]
    cut = []
    for entry, (_, bits) in zip(gold, rows, strict=True):
        marked = "".join(c + ("|" if bits >> i & 1 else "") for i, c in enumerate(entry.word[:-1])) + entry.word[-1]
        cut.append(marked.split("|"))
    pairs = list(permutations(range(len(rows)), 2))
    tokens = {(i, j) for i, j in pairs if set(cut[i]) & set(cut[j])}
    morphs = {(i, j) for i, j in pairs if set(rows[i][0]) & set(rows[j][0])}
    found = consistency(gold, cut)
    assert found.precision == pytest.approx(len(tokens & morphs) / len(tokens) if tokens else 1)
    assert found.recall == pytest.approx(len(tokens & morphs) / len(morphs) if morphs else 1)
    assert found.edit_distance == pytest.approx(
        sum(distance(tuple(m), tuple(c)) for (m, _), c in zip(rows, cut, strict=True)) / len(rows)
    )


def test_pairs_of_many_words_are_a_sample_that_the_order_of_the_file_does_not_change():
    chance = random.Random(3)
    stems = [f"{a}{b}" for a in "bcdfgklmn" for b in "aeiou"]
    rows = [(stem, chance.choice(stems), end) for stem in stems for end in ("s", "ing", "ed", "er")]
    gold = [GoldWord("".join(row) + str(k), ((*row, str(k)),)) for k, row in enumerate(rows)]
    cut = [(entry.word[:2], entry.word[2:5], entry.word[5:]) for entry in gold]
    whole = consistency(gold, cut)
    assert whole.compared_words == len(gold) == 180
    found = consistency(gold, cut, 90)
    assert found.compared_words == 90 and found.f1 == pytest.approx(whole.f1, abs=0.1)
    assert found.edit_distance == whole.edit_distance
    mixed = chance.sample(range(180), 180)
    again = consistency([gold[k] for k in mixed], [cut[k] for k in mixed], 90)
    assert (again.precision, again.recall) == (found.precision, found.recall)


def test_averages_over_words_do_not_depend_on_the_order_of_addition():
    chance = random.Random(4)
    rows = [(chance.random(), chance.random()) for _ in range(5000)]
    gold = [GoldWord("abcdefgh", (("abc", "de", "fgh"),))] * len(rows)
    table = word_table(gold, [["abcdefgh"]] * len(rows))
    table = replace(table, precision=np.array([p for p, _ in rows]), recall=np.array([r for _, r in rows]))
    order = np.array(chance.sample(range(len(rows)), len(rows)))
    assert macro_scores(table, np.arange(len(rows))) == macro_scores(table, order)
    assert macro_scores(table, order)[0] == math.fsum(p for p, _ in rows) / len(rows)


def test_gold_scores_perfectly_against_itself():
    gold = [GoldWord("cats", (("cat", "s"),)), GoldWord("dogs", (("dogs",), ("dog", "s")))]
    found = consistency(gold, [("cat", "s"), ("dog", "s")])
    assert (found.f1, found.edit_distance) == (1.0, 0.0)


def test_boundary_precision_and_recall_are_those_of_morphoeval():
    boundary = pytest.importorskip("morphoeval.boundary", reason="pip install morphoeval", exc_type=ImportError)
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


def a_table(seed, quality, words=400):
    """Return a table of random words, in which each gold boundary is found with the given probability."""
    draw = random.Random(0)
    noise = random.Random(seed)
    gold, predicted = [], []
    for number in range(words):
        morphs = tuple("ab" * draw.randint(1, 2) for _ in range(draw.randint(1, 4)))
        gold.append(GoldWord(f"{number:04d}" + "".join(morphs), ((f"{number:04d}", *morphs),)))
        pieces = [f"{number:04d}"]
        for morph in morphs:
            if noise.random() < quality:
                pieces.append(morph)
            else:
                pieces[-1] += morph
        predicted.append(tuple(pieces))
    return word_table(gold, predicted)


def compare(first, second, resamples=100):
    return difference(first, second, *bootstrap_f1([first, second], resamples))


def test_bootstrap_is_deterministic_and_brackets_the_score():
    table = a_table(1, 0.6)
    rows = bootstrap_f1([table, table], resamples=200)
    assert (rows[0] == rows[1]).all()
    assert (rows == bootstrap_f1([table, table], resamples=200)).all()
    low, high = interval(rows[0])
    assert low < summarize(table).f1 < high
    assert high - low < 0.1


def test_bootstrap_agrees_with_a_plain_loop():
    table = a_table(2, 0.5, words=50)
    generator = np.random.Generator(np.random.PCG64(7))
    for value in bootstrap_f1([table], resamples=5, seed=7)[0]:
        drawn = (generator.random(50) * 50).astype(int)
        hits, predicted, gold = (counts[drawn].sum() for counts in (table.hits, table.predicted, table.gold))
        assert value == pytest.approx(2 * hits / (predicted + gold))


def test_a_real_difference_is_found_and_an_absent_one_is_not():
    better, worse, same = a_table(1, 0.8), a_table(2, 0.5), a_table(3, 0.8)
    found = compare(better, worse, resamples=300)
    assert 0 < found.low < found.f1 < found.high
    assert found.wilcoxon == 2 / 2**10 and found.samples_won == found.samples == 10
    turned = compare(worse, better, resamples=300)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))
    assert turned.wilcoxon == found.wilcoxon
    nothing = compare(better, same, resamples=300)
    assert nothing.low < 0 < nothing.high
    itself = compare(better, better, resamples=50)
    assert (itself.f1, itself.low, itself.high, itself.wilcoxon) == (0, 0, 0, 1)


def test_degenerate_tables_do_not_divide_by_zero():
    gold = [GoldWord(word, ((word,),)) for word in ("ab", "c")]
    letters, whole = (word_table(gold, [cut(entry.word) for entry in gold]) for cut in BASELINES.values())
    result = compare(whole, letters, resamples=20)
    assert 0 <= result.low <= result.high <= 1


def test_stable_samples_are_those_of_morfessor():
    words = [f"w{number}" for number in range(50, 0, -1)]
    samples = stable_samples(words, samples=3, size=20)
    for seed, sample in enumerate(samples):
        assert [words[index] for index in sample] == random.Random(seed).sample(sorted(words), 20)
    assert [len(sample) for sample in stable_samples(words)] == [25] * 10


def test_sample_scores_are_those_of_morfessors_evaluation():
    evaluation = pytest.importorskip("morfessor.evaluation", reason="an oracle where the baselines extra is installed")
    draw = random.Random(5)

    def cut(word):
        return pieces_of(word, [place for place in range(1, len(word)) if draw.random() < 0.4])

    words = sorted({"".join(draw.choices("abc", k=draw.randint(2, 7))) for _ in range(300)})
    gold = [GoldWord(word, tuple({cut(word), cut(word)})) for word in words]
    predicted = [cut(word) for word in words]
    table = word_table(gold, predicted)
    oracle = evaluation.MorfessorEvaluation({entry.word: entry.segmentations for entry in gold})
    setting = evaluation.EvaluationConfig(4, 60)
    result = oracle.evaluate_segmentation([(1, pieces) for pieces in predicted], setting)
    for number, sample in enumerate(stable_samples(words, 4, 60)):
        precision, recall = macro_scores(table, sample)
        assert precision == pytest.approx(result.precision[number])
        assert recall == pytest.approx(result.recall[number])


def test_tables_must_have_the_same_words():
    with pytest.raises(MwSError, match="same gold words"):
        compare(a_table(1, 0.5, 20), a_table(1, 0.5, 21))


def test_wilcoxon_by_hand():
    # Ranks of 1, -2, 3 are 1, 2, 3; the negative sum is 2; subsets with sum <= 2: {}, {1}, {2} of 8.
    assert wilcoxon([1, -2, 3]) == 2 * 3 / 8
    # Pratt: the zero takes rank 1, so 0, 1, -2, 3 has ranks 2, 3, 4; sums <= 3: {}, {2}, {3} of 8.
    assert wilcoxon([0, 1, -2, 3]) == 2 * 3 / 8
    assert wilcoxon([1, -1]) == 1


@examples(50)
@given(st.lists(st.integers(-1000, 1000).filter(bool), min_size=2, max_size=14, unique_by=abs))
def test_wilcoxon_equals_scipy(values):
    stats = pytest.importorskip("scipy.stats", reason="scipy is no dependency; it serves as an oracle where installed")
    assert wilcoxon(values) == pytest.approx(stats.wilcoxon(values, method="exact").pvalue)


@pytest.mark.parametrize("split", [r"(?<=[aeiou])", r"(?=b)"])
def test_empty_strings_among_tokens_are_not_counted(split):
    gold = [GoldWord("banana", (("ba", "nana"),)), GoldWord("bano", (("ba", "no"),))]
    with_empty = [re.split(split, entry.word) for entry in gold]
    assert any("" in pieces for pieces in with_empty)
    assert score(gold, with_empty) == score(gold, [[piece for piece in pieces if piece] for pieces in with_empty])


def test_a_gold_in_place_of_its_words_and_a_missing_segmentation_are_errors():
    gold = Gold("toy", "words", (GoldWord("unlocks", (("un", "lock", "s"),)),), problems=(), lines=1, partial=False)
    with pytest.raises(MwSError, match=r"a Gold; give its words: score\(gold.words"):
        score(gold, [["un", "locks"]])
    with pytest.raises(MwSError, match="0 segmentations cannot be compared with 1 gold word; give one"):
        score(gold.words, [])
