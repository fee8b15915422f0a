"""BPE rivals: the published end-of-word answer, the library's merges from counts, marks set where words end."""

import json
from collections import Counter

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from mws_hf.compare.bpe import (
    _END,
    _WORD,
    PairLearner,
    build_byte_bpe,
    build_character_bpe,
    frequency,
    learn_end_of_word,
)
from mws_hf.compare.feed import Task, repeated, train_on_counts
from mws_hf.compare.rivals import train
from mws_hf.corpus.counts import WordCounts
from mws_hf.learn.engine.segmentation import Segmentation
from mws_hf.learn.words import SymbolCorpus
from mws_hf.text.pattern import DEFAULT_PATTERN, split
from mws_hf.tokenizer.backend import tables_of
from tests.examples import examples
from tests.small_corpus import running_text, small_counts

PUBLISHED = {"low": 5, "lower": 2, "newest": 6, "widest": 3}  # Sennrich et al. 2016


def test_published_end_of_word_merges():
    assert learn_end_of_word(PUBLISHED, 10)[:5] == [
        ("e", "s"), ("es", "t"), ("est", "</w>"), ("l", "o"), ("lo", "w")
    ]  # fmt: skip


def test_published_initial_counts():
    words = [[*word, "</w>"] for word in PUBLISHED]
    counts = PairLearner(words, PUBLISHED.values(), frequency, str.__add__).token_counts()
    assert counts == {
        "l": 7, "o": 7, "w": 16, "</w>": 16, "e": 17, "r": 2, "n": 6, "s": 9, "t": 9, "i": 3, "d": 3
    }  # fmt: skip


def test_end_of_word_tokenizer_replays_its_merges():
    counts = WordCounts.from_mapping({f" {w}": c for w, c in PUBLISHED.items()}, pattern=DEFAULT_PATTERN)
    baseline = train("bpe-end-of-word", counts, 10_000, special_tokens=())
    tokenizer = baseline.source.encode
    (encoded,) = tokenizer(["lowest newest low"])
    assert encoded.tokens == ["low", "est</w>", "newest</w>", "low</w>"]
    assert baseline.segment("lowest") == ["low", "est"]


@examples(300)
@given(st.text("ab'’1 ,.й\u0306\n", max_size=12))
def test_marks_stand_after_every_word(text):
    marked = normalizers.Replace(Regex(_END), "|").normalize_str(text)
    assert marked == regex.sub(_WORD.pattern, lambda match: match.group() + "|", text)


def test_low_line_normalizes_first():
    baseline = train("bpe-low-line", small_counts(), 600)
    (encoded,) = baseline.source.encode(["Walks,   TALKS!!  walks"])
    joined = "".join(encoded.tokens)
    assert joined == "walks▁talks▁walks▁"


def test_counted_words_reach_the_library_exactly():
    words = {" a": 70_000, "bc": 3, "x" * 30_000: 2}
    tokenizer = Tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(vocab_size=0, show_progress=False)
    train_on_counts(tokenizer, trainer, words)
    assert json.loads(trainer.__getstate__())["BpeTrainer"]["words"] == words
    assert Counter("".join(repeated(words, "|")).split("|")[:-1]) == words


@pytest.mark.parametrize("types", [True, False])
def test_character_bpe_is_the_frequency_engine(types):
    counts = small_counts().as_types() if types else small_counts()
    _, merges = tables_of(build_character_bpe(Task(counts, 420)))
    learnt = Segmentation(SymbolCorpus.from_words(counts.words, counts.counts)).learn(None, len(merges))
    assert len(merges) > 50
    assert merges == learnt.merges


@pytest.mark.parametrize("byte_level", [True, False])
def test_training_on_counts_is_training_on_text(byte_level):
    lines = running_text()
    counts = WordCounts.from_mapping(Counter(p for line in lines for p in split(line)), pattern=DEFAULT_PATTERN)
    reference = Tokenizer(models.BPE())
    cut = pre_tokenizers.Split(Regex(DEFAULT_PATTERN), behavior="isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    reference.pre_tokenizer = pre_tokenizers.Sequence([cut, to_bytes]) if byte_level else cut
    alphabet = pre_tokenizers.ByteLevel.alphabet() if byte_level else []
    reference.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    )
    build = build_byte_bpe if byte_level else build_character_bpe
    ours = build(Task(counts, 300 if byte_level else 300 + 256))
    assert tables_of(ours)[1] == tables_of(reference)[1]
