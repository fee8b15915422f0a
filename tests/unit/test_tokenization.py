"""Both classes and the backend of `tokenizers` compared with each other, and the settings that users rely on.

Modules: tokenization_mws.py, tokenization_mws_fast.py, tokenizer/backend.py.
"""

from __future__ import annotations

import copy
import json
import logging
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.decoders import DecodeStream
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from mws_hf.corpus.blocks import block_of
from mws_hf.encode.encoder import BlockEncoder
from mws_hf.errors import MwSError
from mws_hf.text.pattern import GPT4_PATTERN, WORD_PATTERN
from mws_hf.tokenization_mws import MwSTokenizer
from mws_hf.tokenization_mws_fast import MwSTokenizerFast
from mws_hf.tokenizer.backend import (
    BYTE_TOKENS,
    base_vocab,
    build_backend,
    check_merges,
    check_vocab,
    pattern_of,
    tables_of,
    tokenizer_tables,
)
from tests.examples import FULL, examples, some, with_more
from tests.small_bases import BASES, save
from tests.small_tokenizers import ADVERSARIAL, ALPHABET, MERGES, VARIANTS, roles, small_fast, small_slow

FAST = {name: small_fast(**options) for name, options in VARIANTS.items()}
SLOW = {name: small_slow(**options) for name, options in VARIANTS.items()}
BARE = {name: Tokenizer.from_str(fast.backend_tokenizer.to_str()) for name, fast in FAST.items()}

PIECES = [left + right for left, right in MERGES] + ["чит", "п'ять", "<0x41>", "<|user|>", "<|endoftext|>", "\u0306"]
scalars = st.characters(exclude_categories=["Cs"])
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(scalars, max_size=6)), max_size=8).map("".join)


def assert_lossless_and_alike(name: str, text: str) -> None:
    ids = BARE[name].encode(text).ids
    assert FAST[name].encode(text) == ids
    assert SLOW[name].encode(text) == ids
    assert BARE[name].decode(ids, skip_special_tokens=False) == text
    assert FAST[name].decode(ids) == text
    assert SLOW[name].decode(ids) == text


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("text", ADVERSARIAL, ids=range(len(ADVERSARIAL)))
def test_three_ways_agree_on_adversarial_text(name, text):
    assert_lossless_and_alike(name, text)


@pytest.mark.parametrize("name", VARIANTS)
@given(text=texts)
@examples(400)
def test_three_ways_agree_on_random_text(name, text):
    assert_lossless_and_alike(name, text)


@pytest.mark.parametrize("name", VARIANTS)
@given(text=texts)
@examples(200)
def test_text_streamed_id_by_id_is_the_text(name, text):
    """Inference servers decode in this way: a character of several byte tokens appears when it is complete."""
    text += "."  # a stream holds back U+FFFD at its end, which may be an incomplete character
    stream = DecodeStream(skip_special_tokens=False)
    pieces = [stream.step(BARE[name], number) for number in BARE[name].encode(text).ids]
    assert "".join(piece or "" for piece in pieces) == text
    tokens = FAST[name].convert_ids_to_tokens(FAST[name].encode(text))
    assert FAST[name].convert_tokens_to_string(tokens) == text


@pytest.mark.parametrize("name", VARIANTS)
def test_every_scalar_value_survives(name):
    values = [chr(c) for c in some(range(0x110000)) if not 0xD800 <= c < 0xE000]
    assert len(values) == 1_112_064 or not FULL
    size = 512
    for start in range(0, len(values), size):
        block = values[start : start + size]
        alone, sandwiched = "".join(block), "".join(f"a{c}и{c} " for c in block)
        encodings = BARE[name].encode_batch([alone, sandwiched])
        for text, encoding in zip((alone, sandwiched), encodings, strict=True):
            assert BARE[name].decode(encoding.ids, skip_special_tokens=False) == text
        if name in ("word", "bytes"):
            assert SLOW[name].encode(alone) == encodings[0].ids
            assert SLOW[name].decode(encodings[0].ids) == alone


@pytest.mark.parametrize("name", VARIANTS)
@given(ids=st.lists(st.integers(0, min(map(len, FAST.values())) - 1), max_size=30))
@examples(300)
def test_any_ids_decode_alike(name, ids):
    assert SLOW[name].decode(ids) == FAST[name].decode(ids) == BARE[name].decode(ids, skip_special_tokens=False)


@pytest.mark.parametrize("normalization", ["nfc", "nfd", "nfkc", "nfkd"])
@given(text=texts)
@examples(60)
def test_normalization_is_applied_alike(normalization, text):
    fast, slow = NORMALIZED[normalization]
    assert slow.encode(text) == fast.encode(text)


NORMALIZED = {
    form: (small_fast(normalization=form), small_slow(normalization=form)) for form in ("nfc", "nfd", "nfkc", "nfkd")
}


@pytest.mark.parametrize("tokenizer", [FAST["gpt4"], SLOW["gpt4"]], ids=["fast", "slow"])
def test_a_lone_surrogate_is_named_with_its_position_in_every_entry_point(tokenizer):
    for call in (tokenizer, tokenizer.encode, tokenizer.tokenize):
        with pytest.raises(MwSError, match=r"lone surrogate '\\ud83d' at character 2 .*encode\('utf-8', 'replace'\)"):
            call("ab\ud83dб")
    with pytest.raises(MwSError, match="character 1"):
        tokenizer(["fine", "a\udfff"])
    with pytest.raises(MwSError, match="character 1"):
        FAST["gpt4"](["fine"], text_pair=["x\ud800"])
    with pytest.raises(MwSError, match=r"^text '.*in the \\ud83d middle.*character 607"):
        tokenizer("words " * 100 + "in the \ud83d middle" + " of it" * 100)


@pytest.mark.parametrize("method", [FAST["gpt4"].segment, SLOW["gpt4"].segment, FAST["gpt4"].explain])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (b"words", "bytes is not a list of str"),
        ({"word": 1}, "dict is not a list of str"),
        (["word", None], "element 1 is NoneType; expected str"),
        ([["word"]], "element 0 is list"),
        ([b"word"], "element 0 is bytes; expected str; decode it first"),
        ("a\udc80", "element 0: the lone surrogate"),
    ],
)
def test_input_that_is_not_text_is_rejected_with_its_position(method, given, message):
    with pytest.raises(MwSError, match=message):
        method(given)


def test_special_tokens_in_text_and_how_to_switch_them_off():
    for tokenizer in (small_fast(), small_slow()):
        assert tokenizer.tokenize("чит<|user|>") == ["чит", "<|user|>"]
        assert tokenizer.decode(tokenizer.encode("чит<|user|>"), skip_special_tokens=True) == "чит"
        assert "<|user|>" not in tokenizer.tokenize("чит<|user|>", split_special_tokens=True)


def test_offsets_and_word_ids_point_at_characters():
    text = "перечит 漢ать"
    encoded = FAST["word"](text, return_offsets_mapping=True)
    pieces = [text[start:end] for start, end in encoded["offset_mapping"]]
    assert pieces == ["пер", "е", "чит", " ", "漢", "漢", "漢", "ать"]
    assert encoded.word_ids() == [0, 0, 0, 1, 1, 1, 1, 1]
    in_bytes = FAST["bytes"](text, return_offsets_mapping=True)
    assert (in_bytes["offset_mapping"], in_bytes.word_ids()) == (encoded["offset_mapping"], encoded.word_ids())


def test_pickle_and_deepcopy_keep_everything():
    for tokenizer in (small_fast(), small_slow()):
        tokenizer.add_tokens(["<new>"])
        tokenizer.chat_template = "{{ messages[0]['content'] }}"
        for twin in (pickle.loads(pickle.dumps(tokenizer)), copy.deepcopy(tokenizer)):
            assert twin.encode("чит<new> 漢") == tokenizer.encode("чит<new> 漢")
            assert twin.chat_template == tokenizer.chat_template
            assert twin.eos_token_id == tokenizer.eos_token_id


def test_hasher_is_stable_after_use():
    fingerprint = pytest.importorskip("datasets.fingerprint", reason="the datasets extra is not installed")
    for make in (small_fast, small_slow):
        tokenizer = make()
        before = fingerprint.Hasher.hash(tokenizer)
        tokenizer("читать", padding=True)
        assert before == fingerprint.Hasher.hash(make())
        if transformers.__version__ >= "5":  # transformers 4 leaves the padding of a call in the backend
            assert before == fingerprint.Hasher.hash(tokenizer)


@pytest.mark.parametrize("alphabet", ["characters", "bytes"])
@pytest.mark.parametrize("make", [small_fast, small_slow])
def test_saved_directories_load_alike_in_all_classes(tmp_path, make, alphabet):
    tokenizer = make(normalization="nfc", alphabet=alphabet, model_max_length=77, padding_side="left")
    tokenizer.add_tokens(["<new>"])
    tokenizer.add_special_tokens({"mask_token": "<mask>"})
    tokenizer.save_pretrained(tmp_path)
    text = "чита<mask>и\u0306<new> 漢<|user|>"
    ids = tokenizer.encode(text)
    for loader in (AutoTokenizer, MwSTokenizer, MwSTokenizerFast):
        loaded = loader.from_pretrained(tmp_path)
        assert loaded.encode(text) == ids
        assert (loaded.mask_token, loaded.eos_token, loaded.pad_token) == ("<mask>", "<|endoftext|>", "<|pad|>")
        assert (loaded.model_max_length, loaded.padding_side, len(loaded)) == (77, "left", len(tokenizer))
        assert set(loaded.all_special_tokens) == set(tokenizer.all_special_tokens)
    assert Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode(text).ids == ids


@pytest.mark.parametrize("make", [small_fast, small_slow])
@pytest.mark.parametrize(("token", "more"), [("<sep>", 1), ("ab", 0)])
def test_special_tokens_that_are_only_named_are_saved_for_every_reader(make, token, more, tmp_path, caplog):
    tokenizer = make(alphabet="bytes")
    tokenizer.sep_token = token
    with caplog.at_level(logging.WARNING):
        tokenizer.save_pretrained(tmp_path)
    assert f"sep_token '{token}' is a special token only in the saved tokenizer" in caplog.text
    text = f"the abab{token}b"
    expected = Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode(text)
    for kind in (MwSTokenizerFast, MwSTokenizer, AutoTokenizer):
        loaded = kind.from_pretrained(tmp_path)
        assert (loaded.encode(text), loaded.sep_token, len(loaded)) == (expected.ids, token, len(tokenizer) + more)
        assert loaded.sep_token_id in expected.ids


@pytest.mark.parametrize("make", [small_fast, small_slow])
@pytest.mark.parametrize(
    ("role", "value", "words"), [("pad_token_id", 7, "pad_token 'Ą' would"), ("sep_token", "é", "sep_token 'é' would")]
)
def test_a_byte_level_tokenizer_that_could_not_be_loaded_is_not_saved(make, role, value, words, tmp_path):
    tokenizer = make(alphabet="bytes")
    setattr(tokenizer, role, value)
    with pytest.raises(MwSError, match=words):
        tokenizer.save_pretrained(tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("make", [small_fast, small_slow])
def test_padding_with_a_token_that_is_only_named_is_an_error(make):
    tokenizer = make()
    tokenizer.pad_token = "[PAD]"
    for call in (lambda: tokenizer(["a", "b c"], padding=True), lambda: tokenizer.pad({"input_ids": [[1], [1, 2]]})):
        with pytest.raises(MwSError, match=r"'\[PAD\]' is not a token .* add_special_tokens\(\{'pad_token': '\[PAD\]'"):
            call()
    tokenizer.pad_token = "ab"
    assert tokenizer(["a", "a b c"], padding="longest")["input_ids"][0][-1] == tokenizer.convert_tokens_to_ids("ab")


@pytest.mark.parametrize("make", [small_fast, small_slow])
def test_settings_that_are_changed_later_are_saved(make, tmp_path):
    for padding, truncation, split in (("left", "right", True), ("right", "left", False), ("right", "right", True)):
        tokenizer = make()
        tokenizer.padding_side, tokenizer.truncation_side, tokenizer.split_special_tokens = padding, truncation, split
        tokenizer.save_pretrained(tmp_path)
        for kind in (type(tokenizer), AutoTokenizer):
            loaded = kind.from_pretrained(tmp_path)
            assert (loaded.padding_side, loaded.truncation_side) == (padding, truncation)
            assert (len(loaded.encode("<|user|>")) > 1) == split
            assert loaded.encode("the<|user|>") == tokenizer.encode("the<|user|>")


@pytest.mark.parametrize("make", [small_fast, small_slow])
@pytest.mark.parametrize("names", [["input_ids", "token_type_ids", "attention_mask"], ["input_ids"]])
def test_names_of_the_inputs_that_are_changed_later_are_saved(make, names, tmp_path):
    tokenizer = make()
    tokenizer.model_input_names = names
    tokenizer.save_pretrained(tmp_path)
    for kind in (MwSTokenizerFast, MwSTokenizer, AutoTokenizer):
        loaded = kind.from_pretrained(tmp_path)
        assert set(loaded("the", "cat")) == set(tokenizer("the", "cat")) == set(names), kind
    assert make().model_input_names == ["input_ids", "attention_mask"]
    loaded.save_pretrained(tmp_path / "again")
    assert set(AutoTokenizer.from_pretrained(tmp_path / "again")("the", "cat")) == set(names)


def test_empty_constructors_are_lossless():
    for tokenizer in (MwSTokenizerFast(), MwSTokenizer()):
        assert tokenizer.decode(tokenizer.encode("Перечит 漢")) == "Перечит 漢"
        assert len(tokenizer) == 256


def test_inconsistent_tables_are_rejected():
    vocab = base_vocab((), "ab", [("a", "b")])
    for kind in (MwSTokenizer, MwSTokenizerFast):
        with pytest.raises(MwSError, match="merge 1"):
            kind(vocab=vocab, merges=[("a", "b"), ("abc", "a")])


FLAGGED = ["чит<new>чит", " <new> ", "a<new>b <new>", "<new><new>", "<NEW> <new>ать", "é<new>\n<new>", "x чи y", "чичи"]


@pytest.mark.parametrize("normalization", [None, "nfc", "nfkc"])
@pytest.mark.parametrize("special", [False, True])
def test_both_classes_find_added_tokens_alike_except_in_the_documented_cases(normalization, special):
    """The ids differ in exactly the cases that the docstring of the slow class lists."""
    for strip in (False, True):
        for normalized in (False, True):
            flags = {"lstrip": strip, "rstrip": not strip, "normalized": normalized, "special": special}
            both = [make(WORD_PATTERN, normalization) for make in (small_fast, small_slow)]
            for tokenizer in both:
                tokenizer.add_tokens([AddedToken(text, **flags) for text in ("<new>", "чи", "é")], special)
            for text in FLAGGED:
                assert both[0].encode(text) == both[1].encode(text), (text, flags)
    for flags, text in (({"single_word": True}, "<new><new>"), ({"normalized": True}, "ｘｙ")):
        both = [make(WORD_PATTERN, "nfkc") for make in (small_fast, small_slow)]
        for tokenizer in both:
            tokenizer.add_tokens([AddedToken(token, **flags) for token in ("<new>", "xy")])
        assert both[0].encode(text) != both[1].encode(text)
        assert "single_word" in MwSTokenizer.__doc__ and "normalized=True" in MwSTokenizer.__doc__


@pytest.mark.parametrize("alphabet", ["characters", "bytes"])
@pytest.mark.parametrize(
    ("token", "flags"), [("12", {"lstrip": True}), ("b", {"lstrip": True}), (".", {"rstrip": True})]
)
def test_the_slow_class_loads_short_added_tokens_that_take_spaces(tmp_path, alphabet, token, flags):
    fast = small_fast(alphabet=alphabet)
    fast.add_tokens([AddedToken(token, **flags)])
    fast.save_pretrained(tmp_path)
    slow = MwSTokenizer.from_pretrained(tmp_path)
    for text in ("ab. 12\n c", "a b", "чит  12 b\n"):
        assert slow.encode(text) == fast.encode(text)
        assert slow.decode(slow.encode(text)) == fast.decode(fast.encode(text))


@pytest.mark.parametrize("alphabet", ["characters", "bytes"])
def test_split_special_tokens_splits_special_tokens_only_in_both_classes(alphabet):
    both = [make(alphabet=alphabet) for make in (small_fast, small_slow)]
    for tokenizer in both:
        tokenizer.add_tokens(["<new>", AddedToken("чи", lstrip=True), AddedToken("[ad", rstrip=True), "user"])
        tokenizer.add_special_tokens({"mask_token": "[mask]"})
    fast, slow = both
    pieces = ["<new>", "чи", "[ad", "[mask]", "<|user|>", " ", "чит", "x", "<|endoftext|>", "漢"]
    for number in range(1000):
        text = "".join(pieces[int(digit)] for digit in f"{number:03}")
        ids = fast.encode(text, split_special_tokens=True)
        assert slow.encode(text, split_special_tokens=True) == ids, text
        assert slow([text] * 2, split_special_tokens=True)["input_ids"] == [ids] * 2
        assert not {"[mask]", "<|endoftext|>", "<|user|>"} & {*fast.convert_ids_to_tokens(ids)}


@pytest.mark.parametrize("alphabet", ["characters", "bytes"])
def test_both_classes_skip_special_tokens_without_a_role(alphabet, tmp_path):
    """The folders of Llama models have such tokens: no config gives `<|eot_id|>` a role."""
    fast, slow = (make(alphabet=alphabet) for make in (small_fast, small_slow))
    for tokenizer in (fast, slow):
        tokenizer.add_tokens(["<|eot_id|>"], special_tokens=True)
        tokenizer.add_tokens(["<tool>"])
    fast.save_pretrained(tmp_path)
    ids = fast.encode("чит<|eot_id|> the<tool><|endoftext|>")
    for tokenizer in (fast, slow, *(kind.from_pretrained(tmp_path) for kind in (MwSTokenizerFast, MwSTokenizer))):
        assert tokenizer.decode(ids) == "чит<|eot_id|> the<tool><|endoftext|>"
        assert tokenizer.decode(ids, skip_special_tokens=True) == "чит the<tool>"
        assert tokenizer.batch_decode([ids], skip_special_tokens=True) == ["чит the<tool>"]
        assert tokenizer.decode(tokenizer.convert_tokens_to_ids("<|eot_id|>"), skip_special_tokens=True) == ""


BOTH = pytest.mark.parametrize(
    "make", [partial(make, alphabet=kind) for make in (small_fast, small_slow) for kind in ("characters", "bytes")]
)
WORDS = ["Перечитать", "перечит", "the", "漢", "п'ять", "12345", "<|user|>", "!!"]


@BOTH
def test_words_given_one_by_one_are_split_as_in_running_text(make):
    tokenizer = make()
    words = [word for word in WORDS if word != "<|user|>"]
    running = tokenizer(" " + " ".join(words))["input_ids"]
    assert tokenizer(words, is_split_into_words=True)["input_ids"] == running
    assert tokenizer([words, words[:2]], is_split_into_words=True)["input_ids"][0] == running
    assert tokenizer.encode(" ".join(words)) != running  # the space is not kept for later calls


@given(st.lists(st.sampled_from([*WORDS, *"абв", "", " чит", "a b", "\n", "\ufeff"])))
def test_both_classes_split_lists_of_words_alike(words):
    for kind in ("characters", "bytes"):
        fast, slow = small_fast(alphabet=kind), small_slow(alphabet=kind)
        cut = [each(["a", *words], is_split_into_words=True)["input_ids"] for each in (fast, slow)]
        assert cut[0] == cut[1]


@pytest.mark.parametrize(("kind", "first"), [("gemma", " "), ("llama2", ""), ("metaspace", "")])
def test_words_given_to_a_tokenizer_with_word_marks_are_split_as_in_running_text(kind, first, tmp_path):
    """The space becomes a mark, as in a text; if the tokenizer writes the first mark itself, no second one is added."""
    standard = PreTrainedTokenizerFast.from_pretrained(save(BASES[kind](), tmp_path / "plain"))
    words = ["The", "walkers", "walked"]
    running = standard(first + " ".join(words))["input_ids"]
    for options in ({}, {"add_prefix_space": True}):
        fast = MwSTokenizerFast.from_pretrained(tmp_path / "plain", **options)
        assert fast(words, is_split_into_words=True)["input_ids"] == running
        assert fast([words, words], is_split_into_words=True)["input_ids"] == [running] * 2
    spaced = standard(first + "The walkers walked")["input_ids"]
    assert fast("The walkers walked")["input_ids"] == spaced
    fast.save_pretrained(tmp_path / "again")
    assert AutoTokenizer.from_pretrained(tmp_path / "again")("The walkers walked")["input_ids"] == spaced


@pytest.mark.parametrize(("kind", "part"), [("gemma", "decoder"), ("llama2", "pre_tokenizer"), ("metaspace", "pre_")])
def test_the_slow_class_rejects_word_marks(kind, part, tmp_path):
    with pytest.raises(MwSError, match=f"its {part}.* load the tokenizer with MwSTokenizerFast"):
        MwSTokenizer.from_pretrained(save(BASES[kind](), tmp_path / "base"))


def test_both_classes_take_whole_words_that_no_merge_makes(tmp_path):
    """Llama 3 has `ignore_merges`: a word of the vocabulary is one token, whatever the merges would give."""
    spec = json.loads(small_fast(alphabet="bytes").backend_tokenizer.to_str())
    spec["model"]["ignore_merges"] = True
    spec["model"]["vocab"]["xyz"] = max(spec["model"]["vocab"].values()) + 1
    backend = Tokenizer.from_str(json.dumps(spec))
    backend.save(str(tmp_path / "tokenizer.json"))
    fast, slow = (kind.from_pretrained(tmp_path) for kind in (MwSTokenizerFast, MwSTokenizer))
    assert slow.tokenize("xyz чит xyzx") == fast.tokenize("xyz чит xyzx")
    assert fast.tokenize("xyz") == ["xyz"]


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


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A tokenizer of more than 100,000 tokens, whose split pattern transformers checks, and its folder."""
    merges, folder = [("ч", "и"), ("чи", "т")], tmp_path_factory.mktemp("large")
    vocab = base_vocab(["<pad>"], [*map(chr, range(0x20, 0xD800)), *map(chr, range(0x20000, 0x2C000))], merges)
    assert len(vocab) > 100_000
    tokenizer = MwSTokenizerFast(vocab=vocab, merges=merges)
    tokenizer.save_pretrained(folder)
    return tokenizer, folder


@pytest.mark.parametrize("model_type", with_more(["mistral"], "llama", None))
def test_a_large_vocabulary_keeps_its_pattern_beside_a_mistral_model(model_type, large, caplog):
    tokenizer, folder = large
    (folder / "config.json").unlink(missing_ok=True)
    if model_type:
        (folder / "config.json").write_text(json.dumps({"model_type": model_type}), encoding="utf-8")
    text = "читМИР don't п'ять 12345"
    wanted = tokenizer.encode(text)
    assert PreTrainedTokenizerFast.from_pretrained(folder).encode(text) == wanted
    logger = logging.getLogger("transformers")
    logger.addHandler(caplog.handler)
    caplog.clear()
    try:
        for options in ({}, {"fix_mistral_regex": True}, {"fix_mistral_regex": False}):
            assert MwSTokenizerFast.from_pretrained(folder, **options).encode(text) == wanted
    finally:
        logger.removeHandler(caplog.handler)
    assert "regex" not in caplog.text


def test_layout_is_specials_bytes_alphabet_merges():
    vocab = base_vocab(["<s>", "</s>"], "ba", [("a", "b"), ("ab", "b")])
    order = sorted(vocab, key=lambda token: vocab[token])
    assert order == ["<s>", "</s>", *BYTE_TOKENS, "a", "b", "ab", "abb"]
    assert list(vocab.values()) == list(range(len(vocab)))


@pytest.mark.parametrize(
    ("special", "alphabet", "merges", "words"),
    [
        (["<s>", "<s>"], "", [], "twice"),
        ([""], "", [], "empty"),
        (["<0x41>"], "", [], "byte token"),
        (["a"], "a", [], "also an ordinary token"),
        (["ab"], "ab", [("a", "b")], "also an ordinary token"),
        ([], ["ab"], [], "not one character"),
    ],
)
def test_conflicting_names_are_rejected(special, alphabet, merges, words):
    with pytest.raises(MwSError, match=words):
        base_vocab(special, alphabet, merges)


@pytest.mark.parametrize(
    ("merges", "words"),
    [
        ([("a", "b"), ("c", "d"), ("a", "b")], r"merge 2 .* repeats merge 0"),
        ([("a", "b"), ("b", "c"), ("ab", "c"), ("a", "bc")], r"merge 3 .* makes 'abc' like merge 2"),
        ([("ab", "c"), ("a", "b")], r"merge 0 .* made only later, by merge 1"),
        ([("ab", "c"), ("abc", "d")], r"merge 0 .* no merge makes part 'ab'"),
        ([("a", "")], "non-empty"),
        ([("a", "b", "c")], "pair"),
        (["a b"], "pair"),
        ([("a", 1)], "pair"),
        ([("a", "\ud83d")], "surrogate"),
        ([("<", "0"), ("<0", "x"), ("4", "1"), ("<0x", "41"), ("<0x41", ">")], "byte token"),
    ],
)
def test_bad_merges_are_rejected_one_by_one(merges, words):
    with pytest.raises(MwSError, match=words):
        check_merges(merges)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda v: v | {"b": v["a"]}, "share id"),
        (lambda v: v | {"b": len(v) + 5}, "no token has id"),
        (lambda v: v | {"b": -1}, "integers from 0"),
        (lambda v: v | {"b": "7"}, "integers from 0"),
        (lambda v: {t: i for t, i in v.items() if i != len(v) - 1}, "of merge 0"),
        (lambda v: {t: i for i, t in enumerate(t for t in v if t != "<0x7F>")}, "<0x7F> is missing"),
    ],
)
def test_bad_vocabularies_are_rejected(change, words):
    merges = [("a", "a")]
    with pytest.raises(MwSError, match=words):
        check_vocab(change(base_vocab((), "a", merges)), merges)


def test_unknown_normalization_and_bad_patterns_are_rejected():
    with pytest.raises(MwSError, match="nfkd"):
        build_backend(base_vocab(), [], normalization="nfx")
    with pytest.raises(MwSError, match="does not compile"):
        build_backend(base_vocab(), [], pattern="(")
    for pattern in ("(" * 3000, "(?u)(?a)b", "(?R)"):  # nested too deeply, flags that exclude each other, a loop
        with pytest.raises(MwSError, match="does not compile") as found:
            build_backend(base_vocab(), [], pattern=pattern)
        assert len(str(found.value)) < 400
    with pytest.raises(MwSError, match="empty string"):
        build_backend(base_vocab(), [], pattern="a*")
    with pytest.raises(MwSError, match="does not compile in tokenizers"):
        build_backend(base_vocab(), [], pattern=r"(?P<twice>a)(?P=twice)")


def test_tokenizer_json_contains_the_standard_parts_and_returns_the_tables(tmp_path):
    merges = [(" ", "a"), (" a", "b")]
    vocab = base_vocab(["<s>"], " ab", merges)
    path = tmp_path / "tokenizer.json"
    build_backend(vocab, merges, GPT4_PATTERN, "nfc", ["<s>"]).save(str(path))
    spec = json.loads(path.read_text(encoding="utf-8"))
    assert (spec["model"]["type"], spec["model"]["byte_fallback"], spec["normalizer"]) == ("BPE", True, {"type": "NFC"})
    assert spec["pre_tokenizer"]["pattern"] == {"Regex": GPT4_PATTERN}
    loaded = Tokenizer.from_file(str(path))
    assert tables_of(loaded) == (vocab, merges)
    assert pattern_of(loaded) == GPT4_PATTERN
    assert loaded.encode("<s> ab").ids == [0, vocab[" ab"]]


def test_special_tokens_are_found_before_normalization():
    vocab = base_vocab(["<ﬁ>"], "<fi>")
    backend = build_backend(vocab, [], normalization="nfkc", special_tokens=["<ﬁ>"])
    assert backend.encode("<ﬁ>").ids == [vocab["<ﬁ>"]]
    assert vocab["<ﬁ>"] not in backend.encode("<fi>").ids


SHARED_WORDS = ["перечитать", "the", "abab", "<|user|>"]
TEXT = "перечитать the abab <|user|> читывает"
LONG = "the перечитать " * 8
CHAT = "{% for m in messages %}{{ m['content'] }}<|endoftext|>{% endfor %}"


def in_bulk(tokenizer: Any) -> Any:
    """Return the ids of a text by the bulk encoder, for tokenizers that it supports."""
    return (
        BlockEncoder(getattr(tokenizer, "backend_tokenizer", None) or tokenizer.to_backend())
        .encode(block_of([TEXT.encode()] * 3, str))
        .ids.tolist()
    )


def calls(tokenizer: Any, scratch: Path) -> dict[str, Callable[[], Any]]:
    """Return every public way to encode, and ways to decode, look up, copy and save."""
    asked = {"padding": "max_length", "truncation": True, "max_length": 5}
    found: dict[str, Callable[[], Any]] = {
        "plain": lambda: tokenizer(TEXT)["input_ids"],
        "batch": lambda: tokenizer([TEXT, "the"] * 3)["input_ids"],
        "pair": lambda: tokenizer(TEXT, "the", return_token_type_ids=True).data,
        "words": lambda: tokenizer(SHARED_WORDS, is_split_into_words=True)["input_ids"],
        "batch of words": lambda: tokenizer([SHARED_WORDS] * 4, is_split_into_words=True, padding=True)["input_ids"],
        "cut": lambda: tokenizer(TEXT, **asked).data,
        "padded": lambda: tokenizer(["the", TEXT], padding=True, pad_to_multiple_of=8).data,
        "special as text": lambda: tokenizer(TEXT, split_special_tokens=True)["input_ids"],
        "tokens": lambda: tokenizer.tokenize(TEXT),
        "encode": lambda: tokenizer.encode(TEXT, truncation=True, max_length=3),
        "decoded": lambda: tokenizer.decode(tokenizer.encode("перечитать")),
        "chat": lambda: tokenizer.apply_chat_template(
            [{"role": "user", "content": TEXT}], tokenize=True, return_dict=False
        ),
        "segmented": lambda: tokenizer.segment("перечитать abab"),
        "explained": lambda: tokenizer.explain("перечитать"),
        "encoded in bulk": lambda: in_bulk(tokenizer),
        "special tokens": lambda: [tokenizer.num_special_tokens_to_add(pair) for pair in (False, True)],
        "vocabulary": lambda: sorted(tokenizer.get_vocab().items()),
        "copied": lambda: copy.deepcopy(tokenizer)(SHARED_WORDS, is_split_into_words=True)["input_ids"],
        "pickled": lambda: pickle.loads(pickle.dumps(tokenizer))(TEXT)["input_ids"],
    }

    def saved() -> Any:
        folder = scratch / str(threading.get_ident())
        tokenizer.save_pretrained(folder)
        return json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))

    return found | {"saved": saved}


@pytest.mark.parametrize("alphabet", ["characters", "bytes"])
@pytest.mark.parametrize("make", [small_fast, small_slow])
def test_eight_threads_get_the_same_results_as_one(make, alphabet, tmp_path):
    tokenizer = make(alphabet=alphabet, **roles())
    tokenizer.chat_template = CHAT
    jobs = calls(tokenizer, tmp_path)
    alone = {name: job() for name, job in jobs.items()}
    names = [name for _ in range(6) for name in jobs]

    def work(first: int) -> list[str]:
        order = names[first:] + names[:first]
        return [name for name in order if jobs[name]() != alone[name]]

    with ThreadPoolExecutor(8) as pool:
        wrong = [name for found in pool.map(work, range(8)) for name in found]
    assert wrong == []
    assert {name: job() for name, job in jobs.items()} == alone


def test_settings_of_one_call_affect_neither_the_next_call_nor_the_file(tmp_path):
    tokenizer = small_fast(**roles())
    before = tokenizer.backend_tokenizer.to_str()
    tokenizer(["the", TEXT], padding="max_length", truncation="only_first", max_length=4, stride=1)
    tokenizer(["the", TEXT], padding=True, pad_to_multiple_of=8)
    tokenizer(SHARED_WORDS, is_split_into_words=True, split_special_tokens=True)
    assert tokenizer.backend_tokenizer.to_str() == before


CHANGES: dict[str, Callable[[Any], Any]] = {
    "tokens added": lambda own: own.add_tokens(["тать", "the a"]),
    "tokens added to the backend": lambda own: own.backend_tokenizer.add_tokens(["ь t"]),
    "an entry becomes special": lambda own: own.backend_tokenizer.add_special_tokens([AddedToken("чит")]),
    "normalizer": lambda own: setattr(own.backend_tokenizer, "normalizer", normalizers.Lowercase()),
    "pre-tokenizer": lambda own: setattr(own.backend_tokenizer, "pre_tokenizer", pre_tokenizers.Whitespace()),
    "post-processor": lambda own: setattr(
        own.backend_tokenizer, "post_processor", processors.BertProcessing(("<|pad|>", 1), ("<|user|>", 2))
    ),
    "special tokens as text": lambda own: setattr(own.backend_tokenizer, "encode_special_tokens", True),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_copy_kept_for_later_calls_follows_the_tokenizer(name):
    text = "THE aперечитать the abab <|user|>"

    def asked(tokenizer: Any) -> list[Any]:
        return [tokenizer([text, "a"], padding=True).data, tokenizer(text.split(), is_split_into_words=True).data]

    used, fresh = small_fast(**roles()), small_fast(**roles())
    before = asked(used)
    for tokenizer in (used, fresh):
        CHANGES[name](tokenizer)
    assert asked(used) == asked(fresh)
    assert name.startswith("special") or asked(used) != before


POST = {
    "roberta": lambda: processors.RobertaProcessing(("<|pad|>", 1), ("<|endoftext|>", 0)),
    "bert": lambda: processors.BertProcessing(("<|pad|>", 1), ("<|endoftext|>", 0)),
    "types": lambda: processors.TemplateProcessing(
        single="$A:1 <|pad|>:2", pair="<|user|>:3 $A:1 <|pad|>:1 $B:2", special_tokens=[("<|pad|>", 1), ("<|user|>", 2)]
    ),
    "second first": lambda: processors.TemplateProcessing(
        single="$A", pair="$B:1 <|pad|> $A", special_tokens=[("<|pad|>", 1)]
    ),
    "in a sequence": lambda: processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(
                single="<|user|> $A", pair="<|user|> $A <|user|>:1 $B:1", special_tokens=[("<|user|>", 2)]
            ),
        ]
    ),
    "byte level": lambda: processors.ByteLevel(trim_offsets=False),
    "nothing": lambda: None,
}  # fmt: skip
ASKED = [
    {},
    {"add_special_tokens": False},
    {"truncation": "only_first", "max_length": 20},
    {"padding": "max_length", "max_length": 40},
]


@pytest.mark.parametrize("name", POST)
def test_the_slow_class_follows_the_post_processor_of_the_file(name, tmp_path):
    special = ["<|endoftext|>", "<|pad|>", "<|user|>"]
    backend = build_backend(*tokenizer_tables(special, ALPHABET, MERGES, "bytes"), special_tokens=special)
    backend.post_processor = POST[name]()
    fast = MwSTokenizerFast(tokenizer_object=backend, **roles())
    if name == "nothing":
        fast.backend_tokenizer.post_processor = None
    fast.save_pretrained(tmp_path / "first")
    slow = MwSTokenizer.from_pretrained(tmp_path / "first")
    slow.save_pretrained(tmp_path / "second")
    again = MwSTokenizerFast.from_pretrained(tmp_path / "second")
    texts = ["", "перечитать the", *ADVERSARIAL[2:6]]
    for options in ASKED:
        pairs = [(LONG, text) for text in ("the", "читывает abab")]
        for first, second in [(text, None) for text in texts if text or "padding" not in options] + pairs:
            asked = {**options, "return_token_type_ids": True, "return_special_tokens_mask": True}
            expected = dict(fast(first, second, **asked))
            assert dict(slow(first, second, **asked)) == expected, (options, first, second)
            assert dict(again(first, second, **asked)) == expected
    for pair in (False, True):
        assert slow.num_special_tokens_to_add(pair) == fast.num_special_tokens_to_add(pair)


@pytest.mark.parametrize("asked", [{"add_eos_token": True}, {"add_bos_token": True, "bos_token": "<|user|>"}])
def test_a_template_asked_for_at_loading_is_the_same_in_both_classes_and_is_saved(asked, tmp_path):
    small_fast(**roles()).save_pretrained(tmp_path / "first")
    fast, slow = (kind.from_pretrained(tmp_path / "first", **asked) for kind in (MwSTokenizerFast, MwSTokenizer))
    assert slow("the перечитать")["input_ids"] == fast("the перечитать")["input_ids"]
    slow.save_pretrained(tmp_path / "second")
    assert MwSTokenizerFast.from_pretrained(tmp_path / "second")("the")["input_ids"] == fast("the")["input_ids"]


@pytest.mark.parametrize("make", [MwSTokenizer, MwSTokenizerFast])
def test_tables_in_other_containers_are_read_or_rejected(make):
    merges = [("п", "о"), (" ", "по")]
    vocab = base_vocab((), " оп", merges)
    for held in (iter(merges), zip(*zip(*merges, strict=True), strict=True), [list(pair) for pair in merges]):
        assert make(vocab=vocab, merges=held).tokenize(" попо") == [" по", "по"]
    assert make(vocab=vocab, merges=None).tokenize("по") == ["п", "о"]
    for wrong in ("merges.json", {"merges": merges}, 7):
        with pytest.raises(MwSError, match="merges: a .*not a list of pairs"):
            make(vocab=vocab, merges=wrong)
    for wrong in ("vocabulary.json", list(vocab), 7):
        with pytest.raises(MwSError, match="vocabulary: a .*not a dict of token -> id"):
            make(vocab=wrong, merges=merges)


@pytest.mark.parametrize("kind", [MwSTokenizer, MwSTokenizerFast])
@pytest.mark.parametrize("source", ["mws-fi-32k", "of another class"])
def test_loading_prints_no_warning_about_the_class_in_any_version_of_transformers(kind, source, tmp_path, caplog):
    logger = logging.getLogger("transformers")
    if source == "of another class":
        source = tmp_path
        small_fast(**roles()).save_pretrained(source)
        config = json.loads((source / "tokenizer_config.json").read_text(encoding="utf-8"))
        config = json.dumps(config | {"tokenizer_class": "GPT2TokenizerFast"})
        (source / "tokenizer_config.json").write_text(config, encoding="utf-8")
    logger.addHandler(caplog.handler)
    try:
        kind.from_pretrained(source)
        assert "tokenizer class you load" not in caplog.text
        logging.getLogger("transformers.tokenization_utils_base").warning("another warning")
        assert "another warning" in caplog.text
    finally:
        logger.removeHandler(caplog.handler)
