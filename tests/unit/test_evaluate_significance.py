"""Intervals and tests: against exact answers, scipy where it is installed, and Morfessor's own samples."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mws_hf.corpus.segmentations import GoldWord
from mws_hf.errors import MwSError
from mws_hf.evaluate.boundaries import macro_scores, summarize, word_table
from mws_hf.evaluate.report import RIVALS
from mws_hf.evaluate.significance import bootstrap_f1, difference, interval, stable_samples, wilcoxon
from mws_hf.tokenizer.spans import pieces_of
from tests.examples import examples


def a_table(seed, quality, words=400):
    """A table of random words; each gold boundary is found with the given probability."""
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


def test_a_real_difference_is_found_and_none_is_not():
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
    letters, whole = (word_table(gold, [cut(entry.word) for entry in gold]) for cut in RIVALS.values())
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


def test_tables_must_speak_of_the_same_words():
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
