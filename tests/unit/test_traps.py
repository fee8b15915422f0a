"""What once went wrong silently: words given one by one, prefix spaces, baked truncation, copies by stock classes."""

import json
import logging
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from mws_hf.tokenization_mws_fast import MwSTokenizerFast
from mws_hf.tokenizer.backend import base_vocab
from tests.small_tokenizers import ADVERSARIAL, small_fast, small_slow

BOTH = pytest.mark.parametrize(
    "make", [partial(make, alphabet=kind) for make in (small_fast, small_slow) for kind in ("characters", "bytes")]
)
WORDS = ["Перечитать", "перечит", "the", "漢", "п'ять", "12345", "<|user|>", "!!"]


@BOTH
def test_words_given_one_by_one_are_cut_as_in_running_text(make):
    tokenizer = make()
    words = [word for word in WORDS if word != "<|user|>"]
    running = tokenizer(" " + " ".join(words))["input_ids"]
    assert tokenizer(words, is_split_into_words=True)["input_ids"] == running
    assert tokenizer([words, words[:2]], is_split_into_words=True)["input_ids"][0] == running
    assert tokenizer.encode(" ".join(words)) != running  # and the space was not kept for later calls


@given(st.lists(st.sampled_from([*WORDS, *"абв", "", " чит", "a b", "\n", "\ufeff"])))
def test_both_classes_cut_lists_of_words_alike(words):
    for kind in ("characters", "bytes"):
        fast, slow = small_fast(alphabet=kind), small_slow(alphabet=kind)
        cut = [each(["a", *words], is_split_into_words=True)["input_ids"] for each in (fast, slow)]
        assert cut[0] == cut[1]


def test_word_ids_and_offsets_are_those_of_the_words_given():
    encoded = small_fast()(WORDS, is_split_into_words=True, return_offsets_mapping=True)
    found = {}
    for token, (word, (start, end)) in enumerate(zip(encoded.word_ids(), encoded["offset_mapping"], strict=True)):
        found.setdefault(word, []).append((start, end, encoded["input_ids"][token]))
    assert sorted(found) == list(range(len(WORDS)))
    for word, places in found.items():
        assert places[-1][1] == len(WORDS[word])
        assert all(start <= end <= len(WORDS[word]) for start, end, _ in places)
    pair = small_fast()(WORDS, WORDS[:2], is_split_into_words=True)
    assert pair.word_ids() == [*encoded.word_ids(), *[each for each in encoded.word_ids() if each < 2]]


@BOTH
def test_add_prefix_space_does_what_it_says_and_is_saved_for_every_reader(make, tmp_path):
    plain, spaced = make(), make(add_prefix_space=True)
    for tokenizer in (plain, spaced):
        tokenizer.add_tokens(["<new>"])
    text = "чит the<|user|>чит <new>the"
    wanted = plain.encode(" чит the<|user|> чит <new> the")
    assert spaced.encode(text) == wanted != plain.encode(text)
    assert spaced.decode(spaced.encode("чит")) == " чит" and spaced.decode(spaced.encode(" чит")) == " чит"
    spaced.save_pretrained(tmp_path)
    stock = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    for reader in (stock, AutoTokenizer.from_pretrained(tmp_path), type(spaced).from_pretrained(tmp_path)):
        assert reader.encode(text) == wanted
    words = stock(["чит", "the"], is_split_into_words=True)["input_ids"]
    assert words == plain(["чит", "the"], is_split_into_words=True)["input_ids"]
    again = type(spaced).from_pretrained(tmp_path, add_prefix_space=False)
    assert again.encode(text) == plain.encode(text)
    again.save_pretrained(tmp_path / "again")
    assert AutoTokenizer.from_pretrained(tmp_path / "again").encode(text) == plain.encode(text)


def test_a_tokenizer_with_prefix_space_can_be_retrained():
    new = small_fast(add_prefix_space=True).train_new_from_iterator(["чит чита читать"] * 5, 300, show_progress=False)
    assert new.decode(new.encode("чит")) == " чит"


@pytest.mark.parametrize("model_type", ["mistral", "llama", None])
def test_a_large_vocabulary_keeps_its_pattern_beside_a_mistral_model(model_type, tmp_path, caplog):
    merges = [("ч", "и"), ("чи", "т")]
    vocab = base_vocab(["<pad>"], [*map(chr, range(0x20, 0xD800)), *map(chr, range(0x20000, 0x2C000))], merges)
    assert len(vocab) > 100_000
    tokenizer = MwSTokenizerFast(vocab=vocab, merges=merges)
    tokenizer.save_pretrained(tmp_path)
    if model_type:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}), encoding="utf-8")
    text = "читМИР don't п'ять 12345"
    wanted = tokenizer.encode(text)
    assert PreTrainedTokenizerFast.from_pretrained(tmp_path).encode(text) == wanted
    logger = logging.getLogger("transformers")
    logger.addHandler(caplog.handler)
    caplog.clear()
    try:
        for options in ({}, {"fix_mistral_regex": True}, {"fix_mistral_regex": False}):
            assert MwSTokenizerFast.from_pretrained(tmp_path, **options).encode(text) == wanted
    finally:
        logger.removeHandler(caplog.handler)
    assert "regex" not in caplog.text


@pytest.mark.parametrize(
    "options", [{"truncation": True, "max_length": 4}, {"padding": "max_length", "max_length": 40}]
)
def test_truncation_and_padding_of_a_past_call_are_not_saved(options, tmp_path):
    tokenizer = small_fast()
    wanted = tokenizer.encode(ADVERSARIAL[2])
    called = tokenizer(ADVERSARIAL[2], **options)["input_ids"]
    assert called != wanted
    tokenizer.save_pretrained(tmp_path)
    assert Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode(ADVERSARIAL[2]).ids == wanted
    assert tokenizer(ADVERSARIAL[2], **options)["input_ids"] == called
    small_fast().save_pretrained(tmp_path / "fresh")
    fresh, saved = (folder / "tokenizer.json" for folder in (tmp_path / "fresh", tmp_path))
    assert saved.read_bytes() == fresh.read_bytes()
