"""windows.py: what it cuts, and what is counted by it, must be what the patterns cut, with anything behind a text."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from mws_hf.corpus.blocks import PADDING
from mws_hf.corpus.counting import count_documents
from mws_hf.kernels.instructions import WINDOW, leading_zeros, load_word, range_mask, store_word, trailing_zeros
from mws_hf.kernels.jit import njit
from mws_hf.kernels.scanner import LETTER, next_pretoken
from mws_hf.kernels.windows import find_short, plain_boundaries
from mws_hf.text.pattern import split
from mws_hf.text.unicode import character_classes, scanner_kind
from tests.encode_cases import ALPHABET, PATTERNS, SCANNED
from tests.examples import FULL, examples

PLAIN = st.text(
    alphabet=st.one_of(
        st.sampled_from("аеёьяЖqZéčőžşіў ,.-(%\x00\x7f"),
        st.sampled_from("    ,.-"),
        st.sampled_from("\n\n\r«»—–…“”‘’‧‐‒\u2028\u200b\u202f§©"),
        st.sampled_from(ALPHABET + "×÷ß1\t\r\u00a0\u2028«—"),
    ),
    max_size=200,
)


@njit
def boundaries(text, at, end):
    return plain_boundaries(text, at, end)


@njit
def instructions(text, at, first, count):
    mask = range_mask(text, at, first, count)
    return mask, trailing_zeros(mask), leading_zeros(mask), load_word(text, at)


@njit
def stored(text, at, word):
    store_word(text, at, np.uint64(word))


def cut(raw: bytes, end: int, kind: int) -> list[str]:
    """Pre-tokens of ``raw[:end]`` by windows, and by the scanner where they tell nothing."""
    text = np.frombuffer(raw + bytes(PADDING), np.uint8)
    places = [0]
    while places[-1] < end:
        start, found = places[-1], int(boundaries(text, places[-1], end))
        ends = [start + k for k in range(WINDOW) if found >> k & 1]
        places += ends or [next_pretoken(text, start, end, character_classes(), kind)]
    return [raw[a:b].decode() for a, b in zip(places, places[1:], strict=False)]


@pytest.mark.parametrize("pattern", PATTERNS)
@examples(600)
@given(text=PLAIN, behind=st.binary(max_size=70))
def test_windows_cut_as_the_patterns_do(pattern, text, behind):
    raw = text.encode()
    assert cut(raw + behind, len(raw), scanner_kind(pattern)) == split(text, pattern)


@pytest.mark.parametrize("pattern", SCANNED)
@examples(400)
@given(st.lists(PLAIN, max_size=6))
def test_documents_that_lie_end_to_end_are_counted_each_on_its_own(pattern, documents):
    expected = Counter(piece for text in documents for piece in split(text, pattern))
    assert dict(count_documents(documents, pattern=pattern, workers=1).items()) == expected


@pytest.mark.parametrize("pattern", SCANNED)
@pytest.mark.parametrize("seed", range(4 if FULL else 1))
def test_every_code_point_between_plain_words(pattern, seed):
    """More than a batch, with windows that begin and end anywhere; against the backend's own splitter."""
    choose = random.Random(seed)
    points = [chr(c) for c in (*range(0xD800), *range(0xE000, 0x110000))]
    choose.shuffle(points)
    between = ["слово", " и", ", ", "Wort'", " ", ".", "1", "\n"]
    text = "".join(choose.choice(between) + point for point in points[seed::4])
    rust = pre_tokenizers.Split(Regex(pattern), "isolated")
    expected = Counter(piece for piece, _ in rust.pre_tokenize_str(text))
    assert dict(count_documents([text], pattern=pattern).items()) == expected


@examples(200)
@given(st.binary(max_size=100), st.integers(0, 100))
def test_nothing_is_told_from_the_end_of_the_document_on(raw, end):
    end = min(end, len(raw))
    if end:
        found = int(boundaries(np.frombuffer(raw + bytes(PADDING), np.uint8), 0, end))
        assert found >> end == 0
        assert found & 1 == 0


@pytest.mark.parametrize(
    "text", ["Что же, (мой) друг - ..ё ждёт.. .", "žluťoučký kůň, Süße - être .", "it is (so) .. far . "]
)
def test_plain_text_needs_no_scanner(text):
    raw = text.encode()
    found = int(boundaries(np.frombuffer(raw + bytes(PADDING), np.uint8), 0, len(raw)))
    ends = np.cumsum([len(piece.encode()) for piece in split(text, PATTERNS[0])]).tolist()
    assert [k for k in range(WINDOW) if found >> k & 1] == ends[:-1]


def test_leads_make_letters_with_every_continuation():
    classes = character_classes()
    for lead in [*range(0xC4, 0xCB), 0xD0, 0xD1, 0xD3]:
        first = (lead & 0x1F) << 6
        assert (classes[first : first + 64] == LETTER).all()
    assert np.flatnonzero(classes[0xC0:0x100] != LETTER).tolist() == [0x17, 0x37]  # × and ÷


@examples(200)
@given(st.binary(min_size=80, max_size=80), st.integers(0, 16), st.integers(0, 255), st.integers(1, 255))
def test_instructions_by_definition(raw, at, first, count):
    mask, behind, ahead, word = map(int, instructions(np.frombuffer(raw, np.uint8), at, first, count))
    assert mask == sum(1 << k for k in range(WINDOW) if (raw[at + k] - first) % 256 < count)
    assert (behind, ahead) == ((mask & -mask).bit_length() - 1 if mask else 64, 64 - mask.bit_length())
    assert word == int.from_bytes(raw[at : at + 8], "little")
    copy = np.zeros(80, np.uint8)
    stored(copy, at, np.uint64(word))
    assert copy.tobytes() == bytes(at) + raw[at : at + 8] + bytes(72 - at)


@examples(300)
@given(st.text("<|e", max_size=150), st.text("<|e", min_size=1, max_size=3), st.text("<|e", max_size=70))
def test_find_short_is_find(text, wanted, behind):
    data = np.frombuffer((text + behind).encode() + bytes(PADDING), np.uint8)
    assert find_short(data, len(text), np.frombuffer(wanted.encode(), np.uint8)) == text.find(wanted)
