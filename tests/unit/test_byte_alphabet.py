"""Byte-level tokenizers compared with tokenizers of characters that have the same merges, and their training.

Modules: text/symbols.py, tokenizer/explain.py, tokenizer/segmenting.py.
"""

import logging
import re
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers

from mws_hf import MwSTokenizer, MwSTokenizerFast, MwSTrainer
from mws_hf.check import check
from mws_hf.encode.encoder import BlockEncoder
from mws_hf.errors import MwSError
from mws_hf.scoring.running_text import score_text
from mws_hf.surgery.base import open_base, raw_bytes
from mws_hf.text.pattern import NAMED_PATTERNS
from mws_hf.text.symbols import (
    BYTE_CHARACTERS,
    BYTE_OF,
    byte_level_merges,
    bytes_of,
    character_merges,
    readable,
    to_byte_level,
)
from mws_hf.tokenizer.backend import base_vocab, build_backend, is_byte_level, pattern_of, tables_of, tokenizer_tables
from mws_hf.tokenizer.explain import trace
from mws_hf.tokenizer.opened import open_tokenizer, segment_words
from mws_hf.tokenizer.segmenting import boundaries_within
from tests.examples import examples
from tests.small_tokenizers import ADVERSARIAL, small_fast, small_slow

scalars = st.characters(exclude_categories=["Cs"])  # including unassigned code points, noncharacters and private use
ODD = st.sampled_from("aя漢😀👍🏽\u200d\u0301\u0906\u0939\u093f\ufeff\ufffd\u0378\U000e0fff\uffff\U0010ffff '\n€é")
LINES = ["читать читал читала читали писать писал писала писали 漢字 😀 don't stop"] * 3


@given(st.sets(st.one_of(scalars, ODD), max_size=30))
def test_merges_build_every_character_and_never_join_two(alphabet):
    merges = character_merges(alphabet)
    made = [left + right for left, right in merges]
    assert len(set(made)) == len(made)
    for place, (left, right) in enumerate(merges):
        assert bytes_of(left)[0] >= 0xC2  # a byte that starts a character of several bytes
        assert len(right) == 1 and bytes_of(right)[0] & 0xC0 == 0x80  # a byte that continues a character
        assert len(left) == 1 or left in made[:place]
    assert {to_byte_level(c) for c in alphabet if not c.isascii()} <= set(made)


def test_the_table_is_that_of_tokenizers():
    assert set(BYTE_CHARACTERS) == set(pre_tokenizers.ByteLevel.alphabet())
    text = "".join(map(chr, range(0x2000)))
    pieces = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(text)
    assert "".join(piece for piece, _ in pieces) == to_byte_level(text)
    assert bytes(BYTE_OF[c] for c in BYTE_CHARACTERS) == bytes(range(256))


@st.composite
def tables(draw):
    """Draw an alphabet, merges as our learners return them, and texts inside and outside the alphabet."""
    alphabet = draw(st.lists(st.one_of(ODD, scalars), min_size=1, max_size=12, unique=True))
    tokens, merges = list(alphabet), []
    for _ in range(draw(st.integers(0, 15))):
        left, right = draw(st.sampled_from(tokens)), draw(st.sampled_from(tokens))
        if left + right not in tokens:
            merges.append((left, right))
            tokens.append(left + right)
    inside = draw(st.text(st.sampled_from(alphabet), max_size=30))
    around = draw(st.lists(st.one_of(st.sampled_from(tokens), ODD, scalars), max_size=20).map("".join))
    return alphabet, merges, inside, around


@given(tables(), st.sampled_from([r"[\s\S]+", *NAMED_PATTERNS]))
@examples(500)
def test_text_is_split_as_by_the_same_merges_of_characters(case, pattern):
    alphabet, merges, inside, around = case
    characters, in_bytes = (
        build_backend(*tokenizer_tables([], alphabet, merges, kind), pattern) for kind in ("characters", "bytes")
    )
    assert [readable(token) for token in in_bytes.encode(inside).tokens] == characters.encode(inside).tokens
    assert in_bytes.encode(inside).offsets == characters.encode(inside).offsets
    for text in (inside, around, inside + around + inside):
        assert in_bytes.decode(in_bytes.encode(text).ids, skip_special_tokens=False) == text
        cuts = [boundaries_within(each.encode(text).offsets, 0, len(text)) for each in (characters, in_bytes)]
        assert cuts[0] == cuts[1]  # also outside the alphabet, where a character consists of several tokens


@pytest.fixture(scope="module", params=["contextual", "classic"])
def pair(request):
    """The same training in characters and in bytes."""
    options = {"criterion": request.param, "n_merges": 40, "show_progress": False}
    return [MwSTrainer(alphabet=kind, **options).train_from_iterator(LINES) for kind in ("characters", "bytes")]


def test_n_merges_counts_the_merges_of_the_criterion(pair):
    merges = [tables_of(each.backend_tokenizer)[1] for each in pair]
    assert merges[0] and merges[1] == byte_level_merges("".join(LINES), merges[0])


def test_vocab_size_counts_everything():
    for size in (286, 290, 300):
        tokenizer = MwSTrainer(alphabet="bytes", vocab_size=size, show_progress=False).train_from_iterator(LINES)
        assert len(tokenizer) == tokenizer.vocab_size == size


def test_a_vocabulary_too_small_for_the_alphabet_keeps_it_with_a_warning(caplog):
    with caplog.at_level(logging.WARNING):
        tokenizer = MwSTrainer(alphabet="bytes", vocab_size=260, show_progress=False).train_from_iterator(["кот кита"])
    assert "263 tokens, although 260 were asked for, because 2 special tokens, 256 bytes and 5 parts" in caplog.text
    assert [readable(token) for token in tokenizer.tokenize("кот")] == ["к", "о", "т"]


def test_limits_of_alphabet_and_length_mean_the_same_in_bytes():
    options = {"limit_alphabet": 8, "initial_alphabet": "ж漢", "max_token_length": 4, "normalization": "nfc"}
    options |= {"n_merges": 60, "show_progress": False}
    plain, in_bytes = (
        MwSTrainer(alphabet=kind, **options).train_from_iterator(["и\u0306од " * 3, *LINES])
        for kind in ("characters", "bytes")
    )
    assert [readable(t) for t in in_bytes.tokenize("漢ж")] == plain.tokenize("漢ж") == ["漢", "ж"]
    ordinary = set(in_bytes.get_vocab()) - set(in_bytes.all_special_tokens)
    assert max(len(bytes_of(token).decode(errors="replace")) for token in ordinary) == 4
    words = ["читать", "писали", "йод", "и\u0306од", "字😀", "don't"]
    for word in words:
        found = [each(word, return_offsets_mapping=True)["offset_mapping"] for each in (plain, in_bytes)]
        assert boundaries_within(found[0], 0, 9) == boundaries_within(found[1], 0, 9)


def test_settings_contain_the_alphabet():
    assert (MwSTrainer().alphabet, MwSTrainer(criterion="classic").alphabet) == ("bytes", "characters")
    record = MwSTrainer(alphabet="bytes").record
    assert MwSTrainer.from_record(record).alphabet == "bytes"
    with pytest.raises(MwSError, match="choose 'bytes' or 'characters'"):
        MwSTrainer(alphabet="utf-16")


@pytest.mark.parametrize("token", ["<|é|>", "Ġ", "Ð", "naïve"])
def test_added_tokens_that_would_decode_to_something_else_are_rejected(token):
    with pytest.raises(MwSError, match="would decode to"):
        MwSTrainer(alphabet="bytes", special_tokens=["<s>", token])
    for make in (small_fast, small_slow):
        tokenizer = make(alphabet="bytes")
        with pytest.raises(MwSError, match="would decode to"):
            tokenizer.add_tokens([token])
        tokenizer.add_tokens(["<|имя|>", "<a b>"])
        ids = tokenizer.encode("é<|имя|><a b>Ġ")
        assert tokenizer.decode(ids, spaces_between_special_tokens=False) == "é<|имя|><a b>Ġ"
        assert make().add_tokens([token]) == 1  # a tokenizer of characters accepts the token


@pytest.mark.parametrize("criterion", ["contextual", "classic"])
def test_retraining_keeps_the_bytes_and_the_settings(criterion):
    old = small_fast(pattern="llama3", alphabet="bytes", normalization="nfc", model_max_length=99)
    old.chat_template = "{{ messages }}"
    old.add_tokens([AddedToken("<plain>", normalized=False)])
    old.backend_tokenizer.enable_padding(pad_token="<|pad|>", pad_id=old.pad_token_id)
    new = old.train_new_from_iterator(
        LINES, 330, criterion=criterion, new_special_tokens=["<|bot|>"], show_progress=False
    )
    assert is_byte_level(new.backend_tokenizer) and pattern_of(new.backend_tokenizer) == NAMED_PATTERNS["llama3"]
    assert new.convert_ids_to_tokens(range(4, 260)) == list(BYTE_CHARACTERS)
    assert {"<|endoftext|>", "<|pad|>", "<|user|>", "<|bot|>"} == set(new.all_special_tokens)
    assert 290 < len(new) <= 330
    assert (new.chat_template, new.model_max_length) == (old.chat_template, 99)
    assert {"<plain>", "<|bot|>"} <= set(new.get_added_vocab())
    assert new.backend_tokenizer.padding["pad_id"] == new.pad_token_id
    assert new.encode("йод 漢") == new.encode("и\u0306од 漢")
    assert new.decode(new.encode("Он 漢 😀 ж<plain>")) == "Он 漢 😀 ж<plain>"
    with pytest.raises(MwSError, match="cannot be changed, because retraining keeps"):
        old.train_new_from_iterator(LINES, 330, alphabet="characters", show_progress=False)


@pytest.mark.parametrize("text", ADVERSARIAL, ids=range(len(ADVERSARIAL)))
def test_explanations_are_in_text(text):
    if "<|endoftext|>" in text:
        return
    plain, in_bytes = (trace(small_fast(alphabet=kind).backend_tokenizer, text) for kind in ("characters", "bytes"))
    for expected, found in zip(plain, in_bytes, strict=True):
        assert (found.text, found.pieces) == (expected.text, expected.pieces)
        assert [(step.left, step.right) for step in found.steps] == [(step.left, step.right) for step in expected.steps]
    assert "".join(piece for each in in_bytes for piece in each.pieces) == text


@pytest.mark.parametrize("kind", ["characters", "bytes"])
@pytest.mark.parametrize("text", ["<0xD0>", "<0x41>", "a<0xD0><0x9F>漢"])
def test_a_word_spelled_like_byte_tokens_is_explained_by_its_letters(text, kind):
    (found,) = trace(small_fast(r"\S+|\s+", alphabet=kind).backend_tokenizer, text)
    assert found.text == text and found.pieces[-2:] == tuple(text[-2:])
    assert "".join(found.pieces) == text and len(found.pieces) == len(found.tokens) - 2 * ("漢" in text)


def test_words_are_segmented_and_measured_alike_by_every_class():
    words = ["перечитать", "漢字", "a漢b", "п'ять", "😀😀", "и\u0306"]
    expected = segment_words(small_fast(), words)
    for source in (small_slow(), small_fast(alphabet="bytes"), small_slow(alphabet="bytes")):
        assert segment_words(source, words) == expected
    assert score_text(small_slow(), [" ".join(words)]) == score_text(small_fast(), [" ".join(words)])


def test_a_pre_tokenizer_written_in_python_is_allowed():
    class Plain:
        def pre_tokenize(self, text):
            pass

    tokenizer = small_fast()
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(Plain())
    assert tokenizer.add_tokens(["<new>"]) == 1 and not tokenizer.is_byte_level


def test_raw_bytes_of_every_id():
    backend = small_fast(alphabet="bytes").backend_tokenizer
    pieces = raw_bytes(backend)
    backend.encode_special_tokens = True
    for text in ADVERSARIAL:
        assert b"".join(pieces[i] for i in backend.encode(text).ids) == text.encode()


def test_slow_class_reads_any_byte_level_file_of_the_shape(tmp_path):
    """Merges need not build characters first, because the classes also read tokenizers of other trainers."""
    backend = build_backend({c: i for i, c in enumerate(BYTE_CHARACTERS)} | {"ÐÐ": 256}, [("Ð", "Ð")])
    backend.save(str(tmp_path / "tokenizer.json"))
    slow, fast = (kind.from_pretrained(tmp_path) for kind in (MwSTokenizer, MwSTokenizerFast))
    for text in ADVERSARIAL:
        assert slow.encode(text) == fast.encode(text) == open_tokenizer(tmp_path).backend.encode(text).ids
    assert isinstance(fast.backend_tokenizer, Tokenizer) and isinstance(
        fast.backend_tokenizer.decoder, decoders.ByteLevel
    )


@pytest.mark.parametrize(("token", "kept"), [("Ça", False), ("<|ñ|>", False), ("Ωmega", True), ("<|user|>", True)])
def test_added_tokens_that_decode_to_other_text_are_rejected_or_reported(token, kept, tmp_path):
    backend = build_backend(base_vocab(byte_symbols=BYTE_CHARACTERS), [])
    backend.add_tokens([AddedToken(token, special=False)])
    assert (backend.decode(backend.encode(token).ids) == token) == kept  # the result of the library itself
    backend.save(str(tmp_path / "tokenizer.json"))
    assert ("added-token" in [finding.trap for finding in check(tmp_path).findings]) != kept
    for use in (lambda: BlockEncoder(backend), lambda: open_base(tmp_path), lambda: open_base(backend)):
        with nullcontext() if kept else pytest.raises(MwSError, match=f"{re.escape(repr(token))} would decode to"):
            use()
