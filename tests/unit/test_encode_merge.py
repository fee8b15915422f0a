"""merge.py and cache.py: the fast merges against their definition, the cache against a dict."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mws_hf.encode.kernel import (
    LONGEST_KEY,
    SLOT_BYTES,
    SLOTS_USED,
    add,
    copy_ids,
    empty_cache,
    grown,
)
from mws_hf.encode.merge import NO_RANK, SHORT, merge_long, merge_short, merge_table
from mws_hf.kernels.tables import INLINE_KEY, ends_at_home, find, find_pair, look_ahead
from mws_hf.tokenizer.merging import merge
from tests.examples import examples

SYMBOLS = 4


@st.composite
def merge_tables(draw):
    """Merges over ids: each product is a new id or, at times, one that exists."""
    pairs = draw(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=14, unique=True))
    products = [draw(st.sampled_from([SYMBOLS + k, draw(st.integers(0, SYMBOLS + k))])) for k in range(len(pairs))]
    return np.array(pairs, np.int64).reshape(-1, 2), np.array(products, np.int32)


@examples(150)
@given(merge_tables(), st.lists(st.integers(0, SYMBOLS - 1), min_size=1, max_size=90))
def test_merges_equal_the_definition(learnt, symbols):
    merges, products = learnt
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
    """Where merges stand in rows behind each other, each symbol must know both of its neighbours."""
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
    merges[7] = merges[4999]  # listed twice: the last rank counts
    pairs, ranks, _ = merge_table(merges, np.zeros(5000, np.int32))
    known = {tuple(pair): rank for rank, pair in enumerate(merges.tolist())}
    assert all(find_pair(pairs, ranks, *pair) == rank for pair, rank in known.items())
    assert all(find_pair(pairs, ranks, right, left) == known.get((right, left), NO_RANK) for left, right in known)
    pairs, ranks, _ = merge_table(np.empty((0, 2), np.int64), np.empty(0, np.int32))
    assert find_pair(pairs, ranks, 1, 2) == NO_RANK


def make_keys(count, seed=0):
    chooser = random.Random(seed)
    lengths = [1, 2, 8, 22, INLINE_KEY, INLINE_KEY + 1, 31, 32, 100, LONGEST_KEY]
    return list({bytes(chooser.choices(b"\x00ab", k=chooser.choice(lengths))) for _ in range(count)})


def look_up(cache, text, start, size):
    """The slot of a key, or a free one; the key itself; and whether the key is in the cache."""
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


def test_long_keys_of_the_same_hash_are_told_apart():
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
