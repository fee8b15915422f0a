"""Both classes and the bare `tokenizers` backend against one another, and the settings users rely on."""

import copy
import json
import pickle

import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import DecodeStream
from transformers import AutoTokenizer

from mws_hf.errors import MwSError
from mws_hf.text.pattern import WORD_PATTERN
from mws_hf.tokenization_mws import MwSTokenizer
from mws_hf.tokenization_mws_fast import MwSTokenizerFast
from mws_hf.tokenizer.backend import base_vocab
from tests.examples import FULL, examples, some
from tests.small_tokenizers import ADVERSARIAL, MERGES, VARIANTS, small_fast, small_slow

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
    """As inference servers do it: a character of several byte tokens comes out when it is complete."""
    text += "."  # a stream holds back U+FFFD at its end, which could be half a character
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


def test_an_invalid_byte_run_gives_one_replacement_character_a_byte():
    for tokenizer in (FAST["word"], SLOW["word"]):
        ids = tokenizer.convert_tokens_to_ids(["<0xE6>", "<0xBC>", "а", "<0xD0>", "<0x9F>"])
        assert tokenizer.decode(ids) == "\ufffd\ufffdаП"


def test_half_a_character_of_a_byte_level_tokenizer_gives_one_replacement_character():
    for tokenizer in (FAST["bytes"], SLOW["bytes"]):
        ids = tokenizer.convert_tokens_to_ids([*"æ¼", "Ð°", *"ÐŁ"])
        assert tokenizer.decode(ids) == "\ufffdаП"


@pytest.mark.parametrize("normalization", ["nfc", "nfd", "nfkc", "nfkd"])
@given(text=texts)
@examples(60)
def test_normalization_is_applied_alike(normalization, text):
    fast, slow = NORMALIZED[normalization]
    assert slow.encode(text) == fast.encode(text)


NORMALIZED = {
    form: (small_fast(normalization=form), small_slow(normalization=form)) for form in ("nfc", "nfd", "nfkc", "nfkd")
}


@pytest.mark.parametrize("tokenizer", [FAST["word"], SLOW["word"]], ids=["fast", "slow"])
@pytest.mark.parametrize("text", ["a\ud83dб", ["fine", "a\udfff"], "\udc00"])
def test_a_lone_surrogate_is_named_with_its_position(tokenizer, text):
    with pytest.raises(MwSError, match=r"lone surrogate U\+D\w\w\w at position \d.*errors='replace'"):
        tokenizer(text)


def test_a_lone_surrogate_is_named_in_every_entry_point():
    for call in (FAST["gpt4"].encode, FAST["gpt4"].tokenize, SLOW["gpt4"].encode, SLOW["gpt4"].tokenize):
        with pytest.raises(MwSError, match="position 2"):
            call("ab\ud800")
    with pytest.raises(MwSError, match="position 1"):
        FAST["gpt4"](["fine"], text_pair=["x\ud800"])


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


def test_padding_and_truncation():
    for tokenizer in (small_fast(), small_slow()):
        batch = tokenizer(["чит ать", "чит"], padding=True, truncation=True, max_length=3)
        assert [len(ids) for ids in batch["input_ids"]] == [3, 3]
        assert batch["attention_mask"] == [[1, 1, 1], [1, 0, 0]]
        assert batch["input_ids"][1][-1] == tokenizer.pad_token_id


def test_pickle_and_deepcopy_keep_everything():
    for tokenizer in (small_fast(), small_slow()):
        tokenizer.add_tokens(["<new>"])
        tokenizer.chat_template = "{{ messages[0]['content'] }}"
        for twin in (pickle.loads(pickle.dumps(tokenizer)), copy.deepcopy(tokenizer)):
            assert twin.encode("чит<new> 漢") == tokenizer.encode("чит<new> 漢")
            assert twin.chat_template == tokenizer.chat_template
            assert twin.eos_token_id == tokenizer.eos_token_id


@pytest.mark.slow
def test_datasets_map_in_two_processes(tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets", reason="the datasets extra is not installed")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    data = datasets.Dataset.from_dict({"text": ["читать", "перечить 漢", "😀"] * 4})
    for tokenizer in (small_fast(), small_slow()):
        one = data.map(lambda row, t=tokenizer: t(row["text"]))
        two = data.map(lambda rows, t=tokenizer: t(rows["text"]), batched=True, num_proc=2)
        assert one["input_ids"][:] == two["input_ids"][:] == [tokenizer.encode(text) for text in data["text"]]


def test_hasher_is_stable_after_use():
    fingerprint = pytest.importorskip("datasets.fingerprint", reason="the datasets extra is not installed")
    for make in (small_fast, small_slow):
        tokenizer = make()
        before = fingerprint.Hasher.hash(tokenizer)
        tokenizer("читать", padding=True)
        assert before == fingerprint.Hasher.hash(make())
        if transformers.__version__ >= "5":  # 4 leaves the padding it was asked for in the backend
            assert before == fingerprint.Hasher.hash(tokenizer)


@pytest.mark.parametrize("embedded", [False, True])
def test_chat_template_survives_saving(tmp_path, embedded):
    tokenizer = small_fast()
    tokenizer.chat_template = "{% for m in messages %}<|user|>{{ m['content'] }}{% endfor %}<|endoftext|>"
    tokenizer.save_pretrained(tmp_path, save_jinja_files=not embedded)
    in_config = "chat_template" in json.loads((tmp_path / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert (tmp_path / "chat_template.jinja").exists() is not in_config
    assert in_config or not embedded  # transformers 4.51 embeds it always
    for loaded in (AutoTokenizer.from_pretrained(tmp_path), MwSTokenizerFast.from_pretrained(tmp_path)):
        ids = loaded.apply_chat_template([{"role": "user", "content": "чит"}], return_dict=False)
        assert loaded.convert_ids_to_tokens(ids) == ["<|user|>", "чит", "<|endoftext|>"]


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


def test_post_processor_padding_and_truncation_in_the_file_survive(tmp_path):
    from tokenizers.processors import TemplateProcessing

    tokenizer = small_fast()
    eos = tokenizer.eos_token
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"$A {eos}", special_tokens=[(eos, tokenizer.eos_token_id)]
    )
    tokenizer.save_pretrained(tmp_path)
    loaded = MwSTokenizerFast.from_pretrained(tmp_path)
    assert loaded.convert_ids_to_tokens(loaded.encode("чит")) == ["чит", eos]


def test_empty_constructors_are_lossless():
    for tokenizer in (MwSTokenizerFast(), MwSTokenizer()):
        assert tokenizer.decode(tokenizer.encode("Перечит 漢")) == "Перечит 漢"
        assert len(tokenizer) == 256


@pytest.mark.parametrize("alphabet", ["characters", "bytes"])
def test_the_tables_may_be_files(tmp_path, alphabet):
    slow = small_slow(alphabet=alphabet)
    slow.save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    loaded = MwSTokenizer.from_pretrained(tmp_path)
    fast = MwSTokenizerFast(vocab=str(tmp_path / "vocabulary.json"), merges=str(tmp_path / "merges.json"))
    for tokenizer in (loaded, fast):
        assert tokenizer.encode("перечитать 漢") == slow.encode("перечитать 漢")
        assert tokenizer.decode(tokenizer.encode("перечитать 漢")) == "перечитать 漢"


def test_inconsistent_tables_are_refused():
    vocab = base_vocab((), "ab", [("a", "b")])
    for kind in (MwSTokenizer, MwSTokenizerFast):
        with pytest.raises(MwSError, match="merge 1"):
            kind(vocab=vocab, merges=[("a", "b"), ("abc", "a")])
        with pytest.raises(MwSError, match="no list of merges"):
            kind(vocab=vocab, merges=7)


@pytest.mark.slow
def test_retraining_learns_mws_and_keeps_settings():
    pytest.importorskip("mws_hf.learn.classic.learner")
    old = small_fast(normalization="nfc", model_max_length=99)
    old.chat_template = "{{ messages }}"
    old.add_tokens([AddedToken("<plain>", normalized=False)])
    old.backend_tokenizer.enable_padding(pad_token="<|pad|>", pad_id=old.pad_token_id)
    words = "читать читаю читал читала читали перечитать перечитаю пила пилы пилой пилить и\u0306од"
    options = {"criterion": "classic", "show_progress": False}
    new = old.train_new_from_iterator([[words], [words]], 330, new_special_tokens=["<|bot|>"], **options)
    assert isinstance(new, MwSTokenizerFast)
    assert new.get_vocab()["<|endoftext|>"] == 0
    assert new.convert_ids_to_tokens(range(4, 260)) == [f"<0x{b:02X}>" for b in range(256)]
    assert (new.chat_template, new.model_max_length) == (old.chat_template, 99)
    assert {"<plain>", "<|bot|>"} <= set(new.get_added_vocab())
    assert new.backend_tokenizer.padding["pad_id"] == new.pad_token_id
    assert new.encode("йод 漢") == new.encode("и\u0306од 漢")
    assert new.decode(new.encode("Он 漢 😀 ж<plain>")) == "Он 漢 😀 ж<plain>"
    assert any(len(token) > 2 and token.isalpha() for token in new.get_vocab())


def test_retraining_with_too_small_a_vocabulary_keeps_the_alphabet():
    pytest.importorskip("mws_hf.learn.classic.learner")
    new = small_fast().train_new_from_iterator(["кот"], 259, criterion="classic", show_progress=False)
    assert new.tokenize("кот") == ["к", "о", "т"]


FLAGGED = ["чит<new>чит", " <new> ", "a<new>b <new>", "<new><new>", "<NEW> <new>ать", "é<new>\n<new>", "x чи y", "чичи"]


@pytest.mark.parametrize("normalization", [None, "nfc", "nfkc"])
@pytest.mark.parametrize("special", [False, True])
def test_both_classes_find_added_tokens_alike_but_for_two_kinds(normalization, special):
    """Those that the docstring of the slow class excepts are found otherwise: it claims no less and no more."""
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
