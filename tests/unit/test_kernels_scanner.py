"""The compiled scanner splits as regular expressions do and reads UTF-8 as Python does; windows cover a text once.

Modules: kernels/arithmetic.py, kernels/containers.py, kernels/scanner.py, text/markdown.py, text/pattern.py,
text/scanner_classes.py.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from mws_hf.corpus.blocks import PADDING
from mws_hf.corpus.counting import count_documents
from mws_hf.kernels import scanner
from mws_hf.kernels.containers import (
    WINDOW,
    enlarged,
    find_pair,
    leading_zeros,
    load_word,
    new_table,
    pair_key,
    pop,
    push,
    put,
    range_mask,
    store_word,
    trailing_zeros,
)
from mws_hf.kernels.jit import njit
from mws_hf.kernels.scanner import LETTER, find_short, is_utf8, next_pretoken, plain_boundaries, write_code_points
from mws_hf.text import scanner_classes
from mws_hf.text.pattern import DIGIT_PARTS, GPT4_PATTERN, LLAMA3_PATTERN, NAMED_PATTERNS, compiled, split, with_digits
from mws_hf.text.scanner_classes import character_classes, scanner_kind
from tests.encode_cases import ALPHABET, SCANNED
from tests.encode_cases import PATTERNS as ENCODED_PATTERNS
from tests.examples import examples, some
from tests.scanner import scan

PATTERNS = {f"{name}-{digits}": with_digits(name, digits) for name in NAMED_PATTERNS for digits in DIGIT_PARTS}
RUST = {p: pre_tokenizers.Split(Regex(p), "isolated") for p in PATTERNS.values()}
NASTY = (
    " \r\n\t\v\f\x1c\x00\u00a0\u0085\u1680\u2003\u2028\u2029\u202f\u205f\u3000\ufeff\u200b\u200d\u00ad"
    "'’ʼ`sStTmMdDlLvVrReEſK\u0130ßﬁ019٣½Ⅷ²"
    "Яяёпґі\u0306\u0301a\u0300\u20dd漢字ป็ानीי\u05b0😀👍🏽🇷🇺𝐀𐐨\U0010ffff\ue000!?.-_—«»„$+<|>"
)
nasty_text = st.text(st.sampled_from(NASTY), max_size=24)


def known(text):
    """Remove code points that the tables of `tokenizers` lack, or classify differently from those of `regex`."""
    classes = character_classes()
    newer = compiled(r"[\p{L}\p{N}\p{M}]")
    text = text.replace("\u0295", "")  # `tokenizers` has it as a lowercase letter, `regex` as a letter without case
    return "".join(c for c in text if not (newer.match(c) and classes[ord(c)] >= scanner.OTHER))


def rust(text, pattern):
    return [piece for piece, _ in RUST[pattern].pre_tokenize_str(text)]


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
class TestCuts:
    @given(nasty_text)
    @examples(1500)
    def test_adversarial_text(self, pattern, text):
        assert scan(text, pattern) == split(text, pattern) == rust(text, pattern)

    @given(st.text(max_size=40))
    @examples(500)
    def test_any_text(self, pattern, text):
        assert scan(text, pattern) == rust(text, pattern)
        assert scan(known(text), pattern) == split(known(text), pattern)

    def test_long_random_text(self, pattern):
        choose = random.Random(7)
        text = "".join(choose.choices(NASTY + "абвгд " * 20, k=60_000))
        assert scan(text, pattern) == split(text, pattern) == rust(text, pattern)

    def test_every_code_point_beside_letters_spaces_and_itself(self, pattern):
        points = some([*range(0xD800), *range(0xE000, 0x30000), *range(0xE0000, 0xE0200)])
        for first in range(0, len(points), 20_000):
            text = "".join(f"a{c}{c}b {c}1\n{c} '{c}" for c in map(chr, points[first : first + 20_000]))
            assert scan(text, pattern) == rust(text, pattern)

    def test_time_is_linear_on_runs(self, pattern):
        for character in " \n'я1\u0301":
            text = character * 200_000
            assert "".join(scan(text, pattern)) == text


def test_llama3_splits_as_gpt4_whatever_the_text():
    """The texts are all strings of up to five characters of the kinds that one of the patterns distinguishes."""
    for length in range(1, 6):
        for letters in product("l'a1.\n ", repeat=length):
            text = "".join(letters)
            assert split(text, LLAMA3_PATTERN) == split(text, GPT4_PATTERN)


def test_end_of_text_is_respected_inside_a_longer_buffer():
    data = np.frombuffer("слово'и ещё".encode(), np.uint8)
    n = len("слово".encode())
    assert scanner.next_pretoken(data, 0, n, character_classes(), scanner.WORD_KIND) == n


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "codes", "cased"),
    [
        *[(r"\p{L}", (0,), False), (r"\p{N}", (1,), False), (r"\p{M}", (2,), False), (r"\s", (6, 7, 8), False)],
        *[(r"\p{Lu}\p{Lt}", (9,), True), (r"\p{Ll}", (10,), True), (r"\p{Lm}\p{Lo}", (0,), True)],
    ],
)
def test_class_table_equals_that_of_tokenizers_on_every_code_point(name, codes, cased):
    points = some([*range(0xD800), *range(0xE000, 0x110000)])
    pieces = pre_tokenizers.Split(Regex(f"[^{name}]+"), "removed").pre_tokenize_str("".join(map(chr, points)))
    expected = {ord(c) for piece, _ in pieces for c in piece}
    found = set(np.flatnonzero(np.isin(character_classes(cased=cased), codes)).tolist())
    assert found.intersection(points) == expected


def test_o200k_takes_the_turns_of_case_that_the_pattern_takes():
    """The texts are all strings of up to five characters of the kinds that it distinguishes, such as uppercase."""
    for length in range(1, 6):
        for letters in product("Aaª\u0301's/\n 1" if length < 5 else "Aaª\u0301's ", repeat=length):
            text = "".join(letters)
            assert scan(text, "o200k") == split(text, "o200k")


def test_unknown_pattern():
    assert scanner_classes.scanner_kind(r"\w+|\W") is None


def test_names_stand_for_patterns():
    for name, pattern in NAMED_PATTERNS.items():
        assert scanner_classes.scanner_kind(name) == scanner_classes.scanner_kind(pattern) is not None
        assert split("Don't п'ять camelCase!\n/x", name) == split("Don't п'ять camelCase!\n/x", pattern)


@pytest.mark.parametrize("damage", ["none", "absent", "cut off", "a bit", "another shape"])
def test_class_table_survives_a_damaged_copy_on_disk(damage, tmp_path, monkeypatch):
    monkeypatch.setattr(scanner_classes, "cache_directory", lambda: tmp_path)
    expected = scanner_classes.probe_classes()
    load = scanner_classes.character_classes.__wrapped__
    assert np.array_equal(load(), expected)
    (path,) = tmp_path.iterdir()
    raw = bytearray(path.read_bytes())
    if damage == "absent":
        path.unlink()
    elif damage == "cut off":
        path.write_bytes(raw[: len(raw) // 2])
    elif damage == "a bit":
        raw[len(raw) // 2] ^= 16
        path.write_bytes(raw)
    elif damage == "another shape":
        with path.open("wb") as stream:
            np.savez_compressed(stream, classes=expected[:100])
    assert np.array_equal(load(), expected)
    assert np.array_equal(scanner_classes._stored_table(path), expected)


# the ends of every range in the definition of UTF-8
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


NUMBERS = st.integers(0, 2**31 - 1) | st.integers(0, 3)


@examples(60)
@given(st.dictionaries(st.tuples(NUMBERS, NUMBERS), NUMBERS, max_size=40), st.lists(st.tuples(NUMBERS, NUMBERS)))
def test_the_table_is_a_dict_and_stays_one_when_enlarged(known, others):
    keys, values = new_table(len(known))
    for pair, value in known.items():
        put(keys, values, pair_key(*pair), value)
    for table in ((keys, values), enlarged(keys, values, 4 * len(keys))):
        for pair in [*known, *others]:
            assert find_pair(*table, *pair) == known.get(pair, -1)


@examples(60)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-(2**62), 2**62)) | st.none(), max_size=60))
def test_the_heap_returns_its_entries_in_order(steps):
    heap, size, expected = np.empty((60, 2), np.int64), 0, []
    for entry in steps:
        if entry is not None:
            size = push(heap, size, *entry)
            heapq.heappush(expected, entry)
        elif expected:
            assert tuple(heap[0].tolist()) == heapq.heappop(expected)
            size = pop(heap, size)
        assert size == len(expected)


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
    """Return the pre-tokens of ``raw[:end]`` by windows, and by the scanner where windows cannot decide."""
    text = np.frombuffer(raw + bytes(PADDING), np.uint8)
    places = [0]
    while places[-1] < end:
        start, found = places[-1], int(boundaries(text, places[-1], end))
        ends = [start + k for k in range(WINDOW) if found >> k & 1]
        places += ends or [next_pretoken(text, start, end, character_classes(), kind)]
    return [raw[a:b].decode() for a, b in zip(places, places[1:], strict=False)]


@pytest.mark.parametrize("pattern", ENCODED_PATTERNS)
@examples(600)
@given(text=PLAIN, behind=st.binary(max_size=70))
def test_windows_split_as_the_patterns_do(pattern, text, behind):
    raw = text.encode()
    assert cut(raw + behind, len(raw), scanner_kind(pattern)) == split(text, pattern)


@pytest.mark.parametrize("pattern", SCANNED)
@examples(400)
@given(st.lists(PLAIN, max_size=6))
def test_adjacent_documents_are_counted_separately(pattern, documents):
    expected = Counter(piece for text in documents for piece in split(text, pattern))
    assert dict(count_documents(documents, pattern=pattern, workers=1).items()) == expected


@examples(200)
@given(st.binary(max_size=100), st.integers(0, 100))
def test_no_boundary_is_reported_after_the_end_of_the_document(raw, end):
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
    ends = np.cumsum([len(piece.encode()) for piece in split(text, ENCODED_PATTERNS[0])]).tolist()
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
