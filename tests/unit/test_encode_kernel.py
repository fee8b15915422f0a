"""kernel.py and encoder.py: ids against the Rust backend and against the plain-Python twin."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, normalizers, pre_tokenizers

from mws_hf.corpus.blocks import PADDING, block_of
from mws_hf.encode.encoder import BlockEncoder
from mws_hf.encode.kernel import Worker
from mws_hf.encode.merge import bpe_tables
from mws_hf.errors import MwSError
from mws_hf.tokenizer import merging
from mws_hf.tokenizer.backend import pattern_of
from mws_hf.tokenizer.opened import open_tokenizer
from mws_hf.tokenizer.spec import Spec
from tests.encode_cases import (
    EOS,
    SCANNED,
    TRICKY,
    byte_level_backends,
    make_backend,
    random_merges,
    rust_ids,
    save_directory,
    texts,
)
from tests.examples import examples


def ids_of(encoder, documents):
    encoded = encoder.encode(block_of([d.encode() for d in documents], "document {}".format))
    return [piece.tolist() for piece in np.split(encoded.ids, encoded.ends[:-1])] if documents else []


@pytest.mark.parametrize("pattern", SCANNED)
@pytest.mark.parametrize("shuffled", [False, True])
def test_tricky_texts_equal_rust(pattern, shuffled):
    for seed in range(4):
        backend = make_backend(random_merges(seed, 200, shuffled=shuffled), pattern=pattern)
        encoder = BlockEncoder(backend)
        assert encoder.is_fast
        expected = rust_ids(backend, TRICKY)
        assert ids_of(encoder, TRICKY) == expected
        assert ids_of(encoder, TRICKY) == expected  # now from the cache


BYTE_ENCODERS = [BlockEncoder(backend) for pattern in SCANNED for backend in byte_level_backends(pattern)]
ENCODERS = [BlockEncoder(make_backend(random_merges(9, 300), pattern=pattern)) for pattern in SCANNED] + BYTE_ENCODERS


@pytest.mark.parametrize("encoder", BYTE_ENCODERS, ids=range(len(BYTE_ENCODERS)))
def test_byte_level_tokenizers_equal_rust(encoder):
    assert encoder.is_fast
    assert ids_of(encoder, TRICKY) == rust_ids(encoder.backend, TRICKY)


@examples(600)
@given(st.lists(texts, min_size=1, max_size=6), st.sampled_from(ENCODERS))
def test_random_unicode_equals_rust(documents, encoder):
    assert ids_of(encoder, documents) == rust_ids(encoder.backend, documents)


@examples(60)
@given(st.text(alphabet="абвгд abcdef'’.,1\né漢😀", max_size=40), st.sampled_from(ENCODERS))
def test_python_twin(text, encoder):
    spec = json.loads(encoder.backend.to_str())
    model, pattern = spec["model"], pattern_of(encoder.backend)
    vocab = model["vocab"]
    merges = {(vocab[a], vocab[b]): (rank, vocab[a + b]) for rank, (a, b) in enumerate(model["merges"])}
    assert ids_of(encoder, [text])[0] == merging.encode(text, vocab, merges, pattern)


@pytest.mark.parametrize("backend", [make_backend(random_merges(3, 200)), BYTE_ENCODERS[0].backend], ids=["", "bytes"])
def test_every_code_point_equals_rust(backend):
    points = [*range(0xD800), *range(0xE000, 0x110000)]
    documents = ["а".join(map(chr, points[k : k + 4000])) for k in range(0, len(points), 4000)]
    assert ids_of(BlockEncoder(backend), documents[::3]) == rust_ids(backend, documents[::3])


def test_vocabulary_beyond_16_bits_and_holes():
    backend = make_backend([("а", "б"), ("аб", "в")])
    spec = json.loads(backend.to_str())
    spec["model"]["vocab"] = {token: 70_000 + index * 3 for token, index in spec["model"]["vocab"].items()}
    spec["added_tokens"] = []
    encoder = BlockEncoder(Tokenizer.from_str(json.dumps(spec)))
    assert encoder.is_fast
    assert encoder.dtype == np.uint32
    assert ids_of(encoder, TRICKY) == rust_ids(encoder.backend, TRICKY)


def test_a_full_cache_is_still_exact():
    backend = make_backend(random_merges(1, 100))
    encoder = BlockEncoder(backend, cache_limit=0)
    documents = [f"абв{k:x} где{k * k} {chr(0x430 + k % 30) * (k % 70)}" for k in range(3000)]
    expected = rust_ids(backend, documents * 3)
    worker = Worker(encoder.tables, encoder.dtype, cache_limit=0)
    worker.cache = type(worker.cache)(np.zeros((16, 4), np.uint64), *worker.cache[1:])
    block = block_of([d.encode() for d in documents * 3], str)
    ids, ends, bad = worker.encode(block.text, block.offsets[1:])
    assert bad == -1
    assert [piece.tolist() for piece in np.split(ids, ends[:-1])] == expected


def test_a_megabyte_without_a_boundary_is_not_quadratic():
    backend = make_backend(random_merges(2, 200))
    text = "абвгд" * 100_000
    assert ids_of(BlockEncoder(backend), [text]) == rust_ids(backend, [text])


BAD = [b"\xff", b"ab\xd0", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xd0 a",
       b"\xe2\x82", b"\xf0\x9f\x98", b"a\x80", b"\xf0\x80\x80\x80", "аб".encode()[:-1], b"\xff" * 600]  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_bytes_that_are_not_utf8_are_named(bad):
    encoder = BlockEncoder(make_backend(random_merges(1)))
    for before in (b"", "абв ".encode()):
        with pytest.raises(MwSError, match="doc 1: the text is not utf-8"):
            encoder.encode(block_of([b"ab", before + bad, b"\x80\x80 cd"], "doc {}".format))


@examples(100)
@given(st.binary(max_size=40))
def test_validation_agrees_with_python(data):
    encoder = ENCODERS[0]
    worker = Worker(encoder.tables, encoder.dtype)
    text = np.frombuffer(bytearray(data + bytes(PADDING + 8)), np.uint8)
    try:
        data.decode("utf-8")
        valid = True
    except UnicodeDecodeError:
        valid = False
    assert (worker.encode(text, np.array([len(data)], np.int64))[2] == -1) == valid


@pytest.mark.parametrize("flags", [{}, {"single_word": True}, {"lstrip": True, "rstrip": True}, {"normalized": True}])
@pytest.mark.parametrize("split", [False, True])
def test_added_tokens_in_the_text(flags, split):
    backend = make_backend(random_merges(4, 100))
    backend.add_tokens([AddedToken("аб", **flags), AddedToken("<|x", **flags)])
    backend.encode_special_tokens = split
    encoder = BlockEncoder(backend, EOS)
    documents = [f"a{EOS}б", "вабв аб а б", "", "<|x <|xy", "гд", f"{EOS}{EOS}", "абв"]
    expected = [ids + [backend.token_to_id(EOS)] for ids in rust_ids(backend, documents)]
    assert ids_of(encoder, documents) == expected


@pytest.mark.parametrize(
    "normalizer", [normalizers.NFC(), normalizers.NFKC(), normalizers.NFKD(), normalizers.Lowercase()]
)
def test_normalizers(normalizer):
    backend = make_backend(random_merges(4, 100))
    backend.normalizer = normalizer
    backend.add_tokens([AddedToken("Éб", normalized=True), AddedToken("ДД", normalized=False)])
    backend.add_tokens([AddedToken("ab", normalized=True)])
    only_when_normalized = ["aвабc ａｂ", "ÉБ", "É", "AB", "e\u0301б"]
    documents = [*TRICKY, "e\u0301 \u00e9 ﬁ АБВ", "дд ДД éб Éб", *only_when_normalized]
    encoder = BlockEncoder(backend)
    assert encoder.is_fast
    assert ids_of(encoder, documents) == rust_ids(backend, documents)


def other_backends():
    yield make_backend(random_merges(1), pattern=r"\s+|\S+")
    yield make_backend(random_merges(1), byte_fallback=False)
    yield make_backend(random_merges(1), ignore_merges=True)
    byte_level = make_backend([])
    byte_level.pre_tokenizer = pre_tokenizers.ByteLevel()
    yield byte_level
    spaced = next(byte_level_backends(SCANNED[0]))
    split = spaced.pre_tokenizer[0]
    spaced.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(True, use_regex=False)])
    yield spaced


@pytest.mark.parametrize("number", range(5))
def test_anything_else_goes_through_rust(number):
    backend = list(other_backends())[number]
    backend.enable_truncation(3)
    backend.enable_padding(length=9)
    encoder = BlockEncoder(backend)
    assert not encoder.is_fast
    assert bpe_tables(Spec.of(backend)) is None
    documents = [*TRICKY, f"a{EOS}б"]
    backend.no_padding()
    backend.no_truncation()
    assert ids_of(encoder, documents) == rust_ids(backend, documents)


def test_loading_a_backend(tmp_path):
    backend = make_backend(random_merges(1))
    directory = save_directory(backend, tmp_path / "tok")
    loaded = open_tokenizer(directory)
    assert (loaded.backend.to_str(), loaded.eos_token) == (backend.to_str(), EOS)
    assert open_tokenizer(backend).backend is backend and open_tokenizer(backend).eos_token is None
    with pytest.raises(MwSError, match="is no tokenizer"):
        open_tokenizer(3)
    (directory / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(MwSError, match=r"tokenizer\.json: not a tokenizer"):
        open_tokenizer(directory)
    with pytest.raises(MwSError, match="not in the vocabulary"):
        BlockEncoder(backend, "<nope>")
