"""merge.py and cache.py: the fast merges against their definition, the cache against a dict."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mws_hf.encode.cache import (
    LONGEST_KEY,
    SLOTS_USED,
    add,
    cache_bytes,
    copy_ids,
    empty_cache,
    find,
    grown,
    home_slot,
    look_ahead,
)
from mws_hf.encode.merge import SHORT, merge_long, merge_reference, merge_short
from mws_hf.encode.tables import NO_RANK, find_rank, pair_table
from mws_hf.words.keys import INLINE_KEY

SYMBOLS = 4


@st.composite
def merge_tables(draw):
    """Merges over ids: each product is a new id or, at times, one that exists."""
    pairs = draw(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=14, unique=True))
    products = [draw(st.sampled_from([SYMBOLS + k, draw(st.integers(0, SYMBOLS + k))])) for k in range(len(pairs))]
    return np.array(pairs, np.int64).reshape(-1, 2), np.array(products, np.int32)


@settings(max_examples=150, deadline=None)
@given(merge_tables(), st.lists(st.integers(0, SYMBOLS - 1), min_size=1, max_size=90))
def test_merges_equal_the_definition(table, symbols):
    merges, products = table
    ranks = {tuple(pair): (rank, int(products[rank])) for rank, pair in enumerate(merges.tolist())}
    expected = merge_reference(symbols, ranks)
    pairs = pair_table(merges)
    ids = np.array(symbols, np.int64)
    assert ids[: merge_long(ids, len(symbols), pairs, products)].tolist() == expected
    if len(symbols) <= SHORT:
        scratch = np.zeros((2, SHORT), np.int64)
        scratch[0, : len(symbols)] = symbols
        assert scratch[0, : merge_short(scratch, len(symbols), pairs, products)].tolist() == expected


def test_a_published_example_by_hand():
    # minbpe's "aaabdaaabac": Z=aa, Y=ab, X=ZY gives XdXac
    a, b, c, d, aa, ab, aaab = range(7)
    ranks = {(a, a): (0, aa), (a, b): (1, ab), (aa, ab): (2, aaab)}
    assert merge_reference([a, a, a, b, d, a, a, a, b, a, c], ranks) == [aaab, d, aaab, a, c]


def test_pair_table_finds_every_pair_and_nothing_else():
    chooser = random.Random(5)
    merges = np.array([(chooser.randrange(1 << 20), chooser.randrange(1 << 20)) for _ in range(5000)], np.int64)
    merges[7] = merges[4999]  # listed twice: the last rank counts
    pairs = pair_table(merges)
    known = {tuple(pair): rank for rank, pair in enumerate(merges.tolist())}
    assert all(find_rank(pairs, *pair) == rank for pair, rank in known.items())
    assert all(find_rank(pairs, right, left) == known.get((right, left), NO_RANK) for left, right in known)
    assert find_rank(pair_table(np.empty((0, 2), np.int64)), 1, 2) == NO_RANK


def make_keys(count, seed=0):
    chooser = random.Random(seed)
    lengths = [1, 2, 8, 22, INLINE_KEY, INLINE_KEY + 1, 31, 32, 100, LONGEST_KEY]
    return list({bytes(chooser.choices(b"\x00ab", k=chooser.choice(lengths))) for _ in range(count)})


def keys_of(cache, text, start, size):
    keys = np.empty((1, 4), np.uint64)
    look_ahead(text, np.array([start, start + size]), 1, cache, keys)
    slot = home_slot(cache, keys, 0)
    assert slot in (-1, find(cache, text, start, size, keys[0]))
    return keys[0]


@pytest.mark.parametrize("slots", [16, 1024])
def test_cache_answers_like_a_dict_at_any_offset_and_full(slots):
    keys = make_keys(600)
    cache, known = empty_cache(slots), {}
    scratch = np.arange(1, 41, dtype=np.int64) * 26_213
    for round_ in range(2):
        for number, key in enumerate(keys):
            start = (number + round_) % 8
            text = np.frombuffer(bytearray(b"\xff" * start + key + b"\xfe" * 24), np.uint8)
            packed = keys_of(cache, text, start, len(key))
            slot = find(cache, text, start, len(key), packed)
            n = number % 40 + 1
            if slot >= 0:
                out = np.zeros(64, np.int64)
                size = copy_ids(cache, slot, out, 0)
                assert out[:size].tolist() == known[key]
            else:
                assert key not in known
                before = int(cache.counters[SLOTS_USED])
                add(cache, -1 - slot, text, start, len(key), packed, scratch, n)
                if cache.counters[SLOTS_USED] > before:
                    known[key] = scratch[:n].tolist()
    assert len(known) == cache.counters[SLOTS_USED]
    assert len(known) <= 0.76 * slots


def test_cache_grows_within_its_limit_and_keeps_its_answers():
    keys = [f" слово{number}".encode() for number in range(900)]
    cache = empty_cache(16)
    limit = cache_bytes(4096)
    for number, key in enumerate(keys):
        text = np.frombuffer(bytearray(key + bytes(24)), np.uint8)
        packed = keys_of(cache, text, 0, len(key))
        slot = find(cache, text, 0, len(key), packed)
        add(cache, -1 - slot, text, 0, len(key), packed, np.array([number, 1, 2], np.int64), 3)
        cache = grown(cache, limit)
    assert cache.slots.shape[0] == 4096
    out = np.zeros(8, np.int64)
    for number, key in enumerate(keys):
        text = np.frombuffer(bytearray(key + bytes(24)), np.uint8)
        slot = find(cache, text, 0, len(key), keys_of(cache, text, 0, len(key)))
        assert copy_ids(cache, slot, out, 0) == 3
        assert out[0] == number
