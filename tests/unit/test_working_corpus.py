"""The greedy learner of merges, compared with its reference implementation and with Hugging Face BPE.

Modules: learn/candidates.py, learn/pairs.py, learn/working_corpus.py.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from mws_hf.errors import MwSError
from mws_hf.learn import candidates
from mws_hf.learn.limits import NO_LIMIT, MergeLimits
from mws_hf.learn.pairs import ARENA, PAIRS, Bounds, merge_pair, tidy
from mws_hf.learn.words import SymbolCorpus
from mws_hf.learn.working_corpus import WorkingCorpus
from tests.examples import examples
from tests.reference import engine as reference
from tests.reference.engine import tokens_of

WORDS = st.lists(st.text("abc", min_size=1, max_size=10), min_size=1, max_size=12)


@st.composite
def corpora(draw):
    words = draw(WORDS)
    return SymbolCorpus.from_words(words, draw(st.lists(st.integers(1, 5), min_size=len(words), max_size=len(words))))


@examples(300)
@given(corpora(), st.data())
def test_engine_equals_reference(corpus, data):
    size = len(corpus.symbols)
    values = data.draw(st.none() | st.lists(st.integers(-4, 6), min_size=size, max_size=size).map(np.array))
    options = {
        "min_occurrences": data.draw(st.integers(1, 3)),
        "min_value": data.draw(st.integers(0, 4)),
        "min_frequency": data.draw(st.integers(0, 6)),
        "max_token_length": data.draw(st.sampled_from([None, 2, 3, 5])),
        "forbidden": data.draw(st.frozensets(st.sampled_from(["ab", "aa", "abc", "bca"]))),
    }
    limits, n_merges = MergeLimits(**options), data.draw(st.integers(0, 40))
    expected = reference.learn_by_position_value(corpus, values, n_merges, limits)
    assert WorkingCorpus(corpus).learn(values, n_merges, limits) == expected


def hf_merges(words, weights, n_merges):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    alphabet = len(set("".join(words)))
    trainer = trainers.BpeTrainer(vocab_size=alphabet + n_merges, min_frequency=1, show_progress=False)
    tokenizer.train_from_iterator((" ".join([w] * k) for w, k in zip(words, weights, strict=True)), trainer)
    import json

    return [tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]


@examples(100)
@given(st.lists(st.text("abcd", min_size=1, max_size=12), min_size=1, max_size=20), st.data())
def test_word_weights_give_hugging_face_bpe(words, data):
    words = sorted(set(words))
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(words), max_size=len(words)))
    theirs = hf_merges(words, weights, 15)
    ours = WorkingCorpus(SymbolCorpus.from_words(words, weights)).learn(None, 15).merges
    # the library learns a string twice if two pairs spell it; up to this merge, the lists must agree
    products = [left + right for left, right in theirs]
    unique = next((i for i, product in enumerate(products) if product in products[:i]), len(theirs))
    assert ours[:unique] == theirs[:unique]


@examples(100)
@given(corpora(), st.integers(0, 8), st.integers(0, 8))
def test_stopping_and_continuing_is_learning_in_one_go(corpus, first, second):
    segmentation = WorkingCorpus(corpus)
    parts = [segmentation.learn(None, n) for n in (first, second)]
    whole = WorkingCorpus(corpus).learn(None, first + second)
    assert parts[0].merges + parts[1].merges == whole.merges


@examples(100)
@given(corpora(), st.integers(0, 12))
def test_applying_merges_gives_the_segmentation_that_learning_left(corpus, n_merges):
    learning, replaying = WorkingCorpus(corpus), WorkingCorpus(corpus)
    merges = learning.learn(None, n_merges).merges
    replaying.apply([*merges, ("c", "c")] if ("c", "c") not in merges and "c" in corpus.alphabet else merges)
    if len(replaying.tokens) == len(learning.tokens):
        assert all(tokens_of(learning, w) == tokens_of(replaying, w) for w in range(len(corpus)))
    assert all("".join(tokens_of(replaying, w)) == corpus.word(w) for w in range(len(corpus)))


def test_applying_merges_to_a_long_run_of_letters_takes_time_in_proportion():
    letters = np.random.default_rng(0).choice(list("abcdefgh"), 80_000)
    learning = WorkingCorpus(SymbolCorpus.from_words(["".join(letters[:10_000])]))
    merges = learning.learn(None, 300).merges

    def seconds(n):
        replaying = WorkingCorpus(SymbolCorpus.from_words(["".join(letters[:n])], alphabet="abcdefgh"))
        started = time.process_time()
        replaying.apply(merges)
        return time.process_time() - started, replaying

    assert tokens_of(seconds(10_000)[1], 0) == tokens_of(learning, 0)
    short, long = (min(seconds(n)[0] for _ in range(3)) for n in (10_000, 80_000))
    # the run is eight times as long; if each merge scanned the word, it would take 64 times as long
    assert long < 24 * short


def test_second_phase_with_other_values_starts_from_the_first_ones_tokens():
    segmentation = WorkingCorpus(SymbolCorpus.from_words(["подписать", "написать", "подать"], [1, 1, 5]))
    segmentation.apply([("п", "о"), ("по", "д")])
    learned = segmentation.learn(None, 3)
    assert learned.merges == [("а", "т"), ("ат", "ь"), ("под", "ать")]
    assert tokens_of(segmentation, 2) == ["подать"]
    assert segmentation.tokens[-5:] == ["по", "под", "ат", "ать", "подать"]


def test_merges_with_a_part_that_does_not_occur_can_be_applied():
    segmentation = WorkingCorpus(SymbolCorpus.from_words(["ab", "c"]))
    segmentation.apply([("c", "a"), ("ca", "b"), ("a", "b")])
    assert (segmentation.tokens, tokens_of(segmentation, 0)) == (["a", "b", "c", "ca", "cab", "ab"], ["ab"])


@pytest.mark.parametrize("merges", [[("ab", "c")], [("a", "b"), ("a", "b")]])
def test_merges_out_of_order_or_twice_are_rejected(merges):
    with pytest.raises(MwSError, match="both parts must be"):
        WorkingCorpus(SymbolCorpus.from_words(["abc"])).apply(merges)


def test_byte_tokens_are_never_learned():
    merges = WorkingCorpus(SymbolCorpus.from_words(["<0x41>"] * 3)).learn(None, 20).merges
    assert "<0x41>" not in {left + right for left, right in merges} and len(merges) == 4


def test_values_of_another_corpus_are_rejected():
    with pytest.raises(MwSError, match="3 position values for 2 characters"):
        WorkingCorpus(SymbolCorpus.from_words(["ab"])).learn(np.ones(3, np.int64), 1)


def test_an_empty_corpus_learns_nothing():
    assert WorkingCorpus(SymbolCorpus.from_words([])).learn(None, 5).exhausted


def test_colliding_hashes_change_nothing(monkeypatch):
    corpus = SymbolCorpus.from_words(["abcabd", "abd", "bcd", "cabd"], [3, 1, 2, 2])
    expected = WorkingCorpus(corpus).learn(None, 20)
    for module in ("working_corpus", "candidates"):
        same = f"mws_hf.learn.{module}.hashes_and_powers"
        monkeypatch.setattr(same, lambda strings: np.tile(np.array([0, 1]), (len(strings), 1)))
    assert WorkingCorpus(corpus).learn(None, 20) == expected


def test_arrays_grow_without_changing_the_result(monkeypatch):
    rng = np.random.default_rng(0)
    words = ["".join(map(chr, rng.integers(0x400, 0x480, rng.integers(2, 12)))) for _ in range(3000)]
    corpus = SymbolCorpus.from_words(words, rng.integers(1, 50, len(words)))
    expected = WorkingCorpus(corpus).learn(None, 6000)
    assert len(expected.merges) > 5000
    monkeypatch.setattr(candidates, "SPARE", 2)
    assert WorkingCorpus(corpus).learn(None, 6000) == expected


@pytest.mark.parametrize("long_word", [0, 90_000])
def test_pairs_counted_and_listed_in_parts_are_the_same(monkeypatch, long_word):
    rng = np.random.default_rng(1)
    words = ["".join(map(chr, rng.integers(0x400, 0x420, rng.integers(2, 12)))) for _ in range(20_000)]
    words.insert(5_000, "ab" * (long_word // 2) + "c")
    corpus = SymbolCorpus.from_words(words, rng.integers(1, 50, len(words)))

    def opened(threads):
        monkeypatch.setenv("MWS_NUM_THREADS", str(threads))
        segmentation = WorkingCorpus(corpus)
        limits = Bounds(100, NO_LIMIT, 2)
        return candidates.open_table(segmentation.text, segmentation.cell_values(None), segmentation.tokens, limits)

    alone, parts = opened(1), opened(5)
    n = int(alone.used[PAIRS])
    assert n > 1000 and parts.used.tolist() == alone.used.tolist()
    for name in alone.pairs.dtype.names:
        assert np.array_equal(parts.pairs[name][:n], alone.pairs[name][:n]), name
    assert np.array_equal(parts.arena[: alone.used[ARENA]], alone.arena[: alone.used[ARENA]])
    assert 0 < alone.used[ARENA] < alone.pairs["occurrences"][:n].sum()  # some are too rare to be listed


@examples(100)
@given(corpora(), st.integers(0, 6))
def test_compaction_keeps_the_remaining_occurrences_in_their_order(corpus, n):
    segmentation = WorkingCorpus(corpus)
    limits = Bounds(1, NO_LIMIT, NO_LIMIT)
    table = candidates.open_table(segmentation.text, segmentation.cell_values(None), segmentation.tokens, limits)
    for _ in range(n):
        pair = int(np.argmax(table.pairs["occurrences"][: table.used[PAIRS]])) if table.used[PAIRS] else -1
        if pair < 0 or table.pairs["occurrences"][pair] == 0:
            break
        table = candidates.make_room(table, pair)
        merge_pair(table, pair, limits)

    def occurrences(valid):
        found = []
        for p in range(table.used[PAIRS]):
            listed = table.arena[table.pairs["begin"][p] :][: table.pairs["listed"][p]].tolist()
            size = table.length[table.pairs["left"][p]]
            left, right = table.pairs["left"][p], table.pairs["right"][p]
            stands = [table.tok[i] == left and table.tok[i + size] == right for i in listed]
            found.append([i for i, here in zip(listed, stands, strict=True) if here or not valid])
        return found

    expected = occurrences(valid=True)
    tidy(table)
    assert occurrences(valid=False) == expected
    assert table.used[ARENA] == sum(map(len, expected))
