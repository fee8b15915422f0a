"""order.py: the order of Python's `sorted`, whatever the words share and however many there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mws_hf.corpus.order import sort_rows

WORDS = st.lists(
    st.one_of(
        st.binary(min_size=1, max_size=30),
        st.builds(lambda ends, n: b"\x00" * n + ends, st.binary(max_size=2), st.integers(1, 20)),
        st.builds(lambda ends, n: b"\xd0\xbf" * n + ends, st.binary(max_size=9), st.integers(1, 9)),
    ),
    unique=True,
    max_size=150,
)


def in_order(words: list[bytes], counts: list[int]) -> list[tuple[int, bytes]]:
    rows = np.arange(len(words))
    offsets = np.cumsum([0, *map(len, words)])
    sort_rows(np.frombuffer(b"".join(words), np.uint8), offsets, np.array(counts, np.int64), rows)
    assert sorted(rows.tolist()) == list(range(len(words)))
    return [(-counts[k], words[k]) for k in rows.tolist()]


@settings(max_examples=400, deadline=None)
@given(WORDS, st.data())
def test_order_is_that_of_sorted(words, data):
    counts = data.draw(st.lists(st.sampled_from([1, 1, 1, 2, 300, 2**62]), min_size=len(words), max_size=len(words)))
    assert in_order(words, counts) == sorted((-count, word) for count, word in zip(counts, words, strict=True))


@pytest.mark.parametrize("prefix", [b"", b"\x00", b"\xff" * 8, b"abcdefg" * 50])
def test_many_words_alike(prefix):
    words = [prefix + number.to_bytes(2, "little") for number in range(40_000)] + [
        prefix + b"\x00" * k for k in range(3, 99)
    ]
    counts = [1 + k % 3 for k in range(len(words))]
    assert in_order(words, counts) == sorted((-count, word) for count, word in zip(counts, words, strict=True))


def test_only_the_rows_asked_for_and_equal_words_as_they_come():
    rows = np.array([3, 1, 2])
    sort_rows(np.frombuffer(b"zbab", np.uint8), np.arange(5), np.ones(4, np.int64), rows)
    assert rows.tolist() == [2, 3, 1]
