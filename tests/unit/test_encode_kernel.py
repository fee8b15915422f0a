"""Encoding: the kernel and the merging give the same ids as the Rust library on every text.

Modules: encode/bpe_kernels.py, encode/encoder.py, encode/kernel.py, encode/torch_blocks.py, tokenizer/spec.py.
"""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, normalizers, pre_tokenizers

from mws_hf.corpus.blocks import PADDING, block_of
from mws_hf.encode.bpe_kernels import NO_RANK, SHORT, bpe_tables, merge_long, merge_short, merge_table
from mws_hf.encode.encoder import BlockEncoder
from mws_hf.encode.kernel import MAX_KEY_BYTES, SLOT_BYTES, SLOTS_USED, Worker, add, copy_ids, empty_cache, grown
from mws_hf.errors import MwSError
from mws_hf.kernels.containers import INLINE_KEY, ends_at_home, find, find_pair, look_ahead
from mws_hf.text.pattern import split
from mws_hf.tokenizer.backend import alphabet_of, pattern_of, tables_of
from mws_hf.tokenizer.merging import merge, ranked, symbols_of
from mws_hf.tokenizer.spec import Spec
from tests.encode_cases import EOS, SCANNED, TRICKY, byte_level_backends, make_backend, random_merges, rust_ids, texts
from tests.examples import examples


def ids_of(encoder, documents):
    encoded = encoder.encode(block_of([d.encode() for d in documents], "document {}".format))
    return [piece.tolist() for piece in np.split(encoded.ids, encoded.ends[:-1])] if documents else []


@pytest.mark.parametrize("pattern", SCANNED)
def test_tricky_texts_equal_rust(pattern):
    made = [random_merges(seed, 200, shuffled=shuffled) for seed in range(4) for shuffled in (False, True)]
    backends = [make_backend(merges, pattern=pattern) for merges in made]
    for backend in [*backends, *byte_level_backends(pattern)]:
        encoder = BlockEncoder(backend)
        assert encoder.is_fast
        expected = rust_ids(backend, TRICKY)
        assert ids_of(encoder, TRICKY) == expected
        assert ids_of(encoder, TRICKY) == expected  # this time from the cache


BYTE_ENCODERS = [BlockEncoder(backend) for pattern in SCANNED for backend in byte_level_backends(pattern)]
ENCODERS = [BlockEncoder(make_backend(random_merges(9, 300), pattern=pattern)) for pattern in SCANNED] + BYTE_ENCODERS


@examples(600)
@given(st.lists(texts, min_size=1, max_size=6), st.sampled_from(ENCODERS))
def test_random_unicode_equals_rust(documents, encoder):
    assert ids_of(encoder, documents) == rust_ids(encoder.backend, documents)


@examples(60)
@given(st.text(alphabet="абвгд abcdef'’.,1\né漢😀", max_size=40), st.sampled_from(ENCODERS))
def test_the_python_class_gives_the_same_ids(text, encoder):
    vocab, merges = tables_of(encoder.backend)
    words, kind, table = split(text, pattern_of(encoder.backend)), alphabet_of(vocab), ranked(merges)
    tokens = [token for word in words for token in merge(symbols_of(word, vocab, kind), table)]
    assert ids_of(encoder, [text])[0] == [vocab[token] for token in tokens]


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
        with pytest.raises(MwSError, match=r"doc 1: the text: byte \d+ is not utf-8"):
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
    backend.add_tokens([AddedToken("<|xy", normalized=flags.get("normalized", False)), AddedToken("ба")])
    backend.encode_special_tokens = split
    encoder = BlockEncoder(backend, EOS)
    documents = [f"a{EOS}б", "вабв аб а б", "", "<|x <|xy", "гд", f"{EOS}{EOS}", "абв", "абаба <|xyба<|x", f"  {EOS}  "]
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
    only_when_normalized = ["aвабc ａｂ", "ÉБ", "É", "AB", "e\u0301б", f"e{EOS}\u0301б ДДａｂ\u0301{EOS}ÉБ", "ab\u0301"]
    documents = [*TRICKY, "e\u0301 \u00e9 ﬁ АБВ", "дд ДД éб Éб", *only_when_normalized]
    encoder = BlockEncoder(backend)
    assert encoder.is_fast
    assert ids_of(encoder, documents) == rust_ids(backend, documents)


@examples(60)
@given(
    st.lists(st.tuples(st.text("abé\u0301<|", min_size=1, max_size=3), st.booleans()), max_size=5),
    st.lists(st.text("abéAÉe\u0301<| я", max_size=14), min_size=1, max_size=4),
    st.sampled_from([None, normalizers.NFC(), normalizers.NFKD(), normalizers.Lowercase()]),
)
def test_texts_around_any_added_tokens_equal_those_of_tokenizers(added, documents, normalizer):
    backend = make_backend(random_merges(4, 100))
    if normalizer is not None:
        backend.normalizer = normalizer
    backend.add_tokens([AddedToken(text, normalized=normalized) for text, normalized in added])
    assert ids_of(BlockEncoder(backend), documents) == rust_ids(backend, documents)


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


SYMBOLS = 4


@st.composite
def merge_tables(draw):
    """Draw merges of ids; each product is a new id or, sometimes, an existing one."""
    pairs = draw(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=14, unique=True))
    products = [draw(st.sampled_from([SYMBOLS + k, draw(st.integers(0, SYMBOLS + k))])) for k in range(len(pairs))]
    return np.array(pairs, np.int64).reshape(-1, 2), np.array(products, np.int32)


@examples(150)
@given(merge_tables(), st.lists(st.integers(0, SYMBOLS - 1), min_size=1, max_size=90))
def test_merges_equal_the_definition(learned, symbols):
    merges, products = learned
    ranks = {tuple(pair): (rank, int(products[rank])) for rank, pair in enumerate(merges.tolist())}
    expected = merge(symbols, ranks)
    table = merge_table(merges, products)
    ids = np.array(symbols, np.int64)
    assert ids[: merge_long(ids, len(symbols), table)].tolist() == expected
    if len(symbols) <= SHORT:
        scratch = np.zeros((2, SHORT), np.int64)
        scratch[0, : len(symbols)] = symbols
        assert scratch[0, : merge_short(scratch, len(symbols), table)].tolist() == expected


def test_long_words_under_many_merges_equal_the_definition():
    """After each merge, a symbol must still refer to both of its neighbors."""
    chooser = random.Random(9)
    pairs = list(dict.fromkeys((chooser.randrange(4 + k), chooser.randrange(4 + k)) for k in range(400)))
    products = np.arange(4, 4 + len(pairs), dtype=np.int32)
    ranks = {pair: (rank, 4 + rank) for rank, pair in enumerate(pairs)}
    table = merge_table(np.array(pairs, np.int64), products)
    for size in range(2, 200):
        symbols = chooser.choices(range(4), k=size)
        ids = np.array(symbols, np.int64)
        assert ids[: merge_long(ids, size, table)].tolist() == merge(symbols, ranks)


def test_a_published_example_by_hand():
    # minbpe's "aaabdaaabac": Z=aa, Y=ab, X=ZY gives XdXac
    a, b, c, d, aa, ab, aaab = range(7)
    ranks = {(a, a): (0, aa), (a, b): (1, ab), (aa, ab): (2, aaab)}
    assert merge([a, a, a, b, d, a, a, a, b, a, c], ranks) == [aaab, d, aaab, a, c]


def test_pair_table_finds_every_pair_and_nothing_else():
    chooser = random.Random(5)
    merges = np.array([(chooser.randrange(1 << 20), chooser.randrange(1 << 20)) for _ in range(5000)], np.int64)
    merges[7] = merges[4999]  # a pair that is listed twice has its last rank
    pairs, ranks, _ = merge_table(merges, np.zeros(5000, np.int32))
    known = {tuple(pair): rank for rank, pair in enumerate(merges.tolist())}
    assert all(find_pair(pairs, ranks, *pair) == rank for pair, rank in known.items())
    assert all(find_pair(pairs, ranks, right, left) == known.get((right, left), NO_RANK) for left, right in known)
    pairs, ranks, _ = merge_table(np.empty((0, 2), np.int64), np.empty(0, np.int32))
    assert find_pair(pairs, ranks, 1, 2) == NO_RANK


def make_keys(count, seed=0):
    chooser = random.Random(seed)
    lengths = [1, 2, 8, 22, INLINE_KEY, INLINE_KEY + 1, 31, 32, 100, MAX_KEY_BYTES]
    return list({bytes(chooser.choices(b"\x00ab", k=chooser.choice(lengths))) for _ in range(count)})


def look_up(cache, text, start, size):
    """Return the slot of a key, or a free slot, the key itself, and whether the key is in the cache."""
    keys = np.empty((1, 4), np.uint64)
    look_ahead(text, np.array([start, start + size]), 1, keys, cache.slots)
    slot = find(cache.slots, cache.text, keys, 0, text, start)
    home = keys[0, 3] & np.uint64(len(cache.slots) - 1)
    assert slot == home or not ends_at_home(cache.slots, home, keys, 0)
    return slot, keys, cache.slots[slot, 2] != 0


@pytest.mark.parametrize("slots", [16, 1024])
def test_cache_answers_like_a_dict_at_any_offset_and_full(slots):
    keys = make_keys(600)
    cache, known = empty_cache(slots), {}
    scratch = np.arange(1, 41, dtype=np.int64) * 26_213
    for round_ in range(2):
        for number, key in enumerate(keys):
            start = (number + round_) % 8
            text = np.frombuffer(bytearray(b"\xff" * start + key + b"\xfe" * 24), np.uint8)
            slot, packed, there = look_up(cache, text, start, len(key))
            n = number % 40 + 1
            if there:
                out = np.zeros(64, np.int64)
                size = copy_ids(cache, slot, out, 0)
                assert out[:size].tolist() == known[key]
            else:
                assert key not in known
                before = int(cache.counters[SLOTS_USED])
                add(cache, slot, text, start, len(key), packed, 0, scratch[:n])
                if cache.counters[SLOTS_USED] > before:
                    known[key] = scratch[:n].tolist()
    assert len(known) == cache.counters[SLOTS_USED]
    assert len(known) <= 0.76 * slots


def test_cache_grows_within_its_limit_and_keeps_its_answers():
    keys = [f" слово{number}".encode() for number in range(900)]
    cache = empty_cache(16)
    limit = 4096 * SLOT_BYTES
    for number, key in enumerate(keys):
        text = np.frombuffer(bytearray(key + bytes(24)), np.uint8)
        slot, packed, _ = look_up(cache, text, 0, len(key))
        add(cache, slot, text, 0, len(key), packed, 0, np.array([number, 1, 2], np.int64))
        cache = grown(cache, limit)
    assert cache.slots.shape[0] == 4096
    out = np.zeros(8, np.int64)
    for number, key in enumerate(keys):
        text = np.frombuffer(bytearray(key + bytes(24)), np.uint8)
        slot, _, _ = look_up(cache, text, 0, len(key))
        assert copy_ids(cache, slot, out, 0) == 3
        assert out[0] == number


def test_long_keys_with_equal_hashes_are_distinguished():
    def after_a_word(mixed):
        mixed = mixed * 0x9E3779B97F4A7C15 & (1 << 64) - 1
        return mixed ^ mixed >> 32

    first, other, second = 0x6162636465666768, 0x6162636465666769, 0x6161616161616161
    change = after_a_word(24 ^ first) ^ after_a_word(24 ^ other)
    words = [[first, second, 1], [other, second ^ change, 1]]
    keys = [b"".join(word.to_bytes(8, "little") for word in key) for key in words]
    cache = empty_cache(16)
    texts = [np.frombuffer(bytearray(key + bytes(24)), np.uint8) for key in keys]
    slot, packed, _ = look_up(cache, texts[0], 0, 24)
    add(cache, slot, texts[0], 0, 24, packed, 0, np.array([7]))
    _, twin, there = look_up(cache, texts[1], 0, 24)
    assert twin.tolist() == packed.tolist()
    assert not there
