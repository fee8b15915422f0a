"""Bytes are UTF-8 exactly when Python's strict decoder says so, and its code points are theirs."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mws_hf.kernels.scanner import is_utf8, write_code_points
from tests.examples import examples

# the ends of every range that the definition of UTF-8 names
EDGES = bytes.fromhex("00 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 ff")


def decodes(raw):
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def verdict(raw):
    return bool(is_utf8(np.frombuffer(raw, np.uint8)))


@pytest.mark.parametrize("length", range(4))
def test_all_short_sequences_of_edges(length):
    for raw in map(bytes, itertools.product(EDGES, repeat=length)):
        assert verdict(raw) == decodes(raw), raw


@given(st.lists(st.sampled_from(EDGES), min_size=4, max_size=8).map(bytes), st.integers(0, 40))
@examples(2000)
def test_longer_ones_at_any_place(raw, before):
    assert verdict(b"a" * before + raw) == decodes(raw)


@given(st.text(max_size=80), st.data())
@examples(500)
def test_text_and_text_cut_or_damaged(text, data):
    raw = text.encode()
    assert verdict(raw)
    cut = data.draw(st.integers(0, len(raw)))
    assert verdict(raw[:cut]) == decodes(raw[:cut])
    if raw:
        at, byte = data.draw(st.integers(0, len(raw) - 1)), data.draw(st.integers(0, 255))
        damaged = raw[:at] + bytes([byte]) + raw[at + 1 :]
        assert verdict(damaged) == decodes(damaged)


def test_every_code_point():
    assert verdict("".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)])).encode())


@given(st.text(max_size=80), st.sampled_from(["", "\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"]))
@examples(500)
def test_code_points(text, edges):
    text += edges
    points = np.zeros(len(text), np.uint32)
    data = np.frombuffer(bytearray(b"a" + text.encode()), np.uint8)
    write_code_points(data, 1, len(data), points)
    assert points.tolist() == [ord(character) for character in text]
