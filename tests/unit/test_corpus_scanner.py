"""The scanner cuts as `regex` and as the Rust backend do."""

import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from mws_hf.kernels import scanner
from mws_hf.text import unicode
from mws_hf.text.pattern import DIGIT_PARTS, GPT4_PATTERN, LLAMA3_PATTERN, NAMED_PATTERNS, compiled, split, with_digits
from mws_hf.text.unicode import character_classes
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
    """Without the code points that the Unicode tables of `tokenizers` do not know, or not as those of `regex`."""
    classes = character_classes()
    newer = compiled(r"[\p{L}\p{N}\p{M}]")
    text = text.replace("\u0295", "")  # a small letter to `tokenizers`, a letter without case to `regex`
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

    @pytest.mark.parametrize(
        "text", ["", " ", "\n", "'", "'s", "'ſ", "'LL", "'l", "don't", "п’ять'", "1234", " \n ", "a " * 3]
    )
    def test_short_text(self, pattern, text):
        assert scan(text, pattern) == split(text, pattern)

    def test_time_is_linear_on_runs(self, pattern):
        for character in " \n'я1\u0301":
            text = character * 200_000
            assert "".join(scan(text, pattern)) == text


def test_llama3_splits_as_gpt4_whatever_the_text():
    """All strings of up to five of the kinds of character that either pattern tells apart."""
    for length in range(1, 6):
        for letters in product("l'a1.\n ", repeat=length):
            text = "".join(letters)
            assert split(text, LLAMA3_PATTERN) == split(text, GPT4_PATTERN)


def test_readable_twin_agrees_with_the_kernel():
    rng = random.Random(3)
    for kind in range(9):
        classes = unicode.classes_of(kind)
        for _ in range(200):
            raw = "".join(rng.choices(NASTY, k=12)).encode()
            data = np.frombuffer(raw, np.uint8)
            i = 0
            while i < len(raw):
                end = scanner.next_pretoken(data, i, len(raw), classes, kind)
                assert end == scanner.next_pretoken.py_func(data, i, len(raw), classes, kind)
                i = end


def test_end_of_text_is_respected_inside_a_longer_buffer():
    data = np.frombuffer("слово'и ещё".encode(), np.uint8)
    n = len("слово".encode())
    assert scanner.next_pretoken(data, 0, n, character_classes(), scanner.WORD_KIND) == n


@pytest.mark.slow
@pytest.mark.parametrize(("name", "codes"), [(r"\p{L}", (0,)), (r"\p{N}", (1,)), (r"\p{M}", (2,)), (r"\s", (6, 7, 8))])
def test_class_table_equals_that_of_tokenizers_on_every_code_point(name, codes):
    everything = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    pieces = pre_tokenizers.Split(Regex(f"[^{name}]+"), "removed").pre_tokenize_str(everything)
    expected = {ord(c) for piece, _ in pieces for c in piece}
    assert set(np.flatnonzero(np.isin(character_classes(), codes)).tolist()) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("name", "codes"), [(r"\p{Lu}\p{Lt}", (9,)), (r"\p{Ll}", (10,)), (r"\p{Lm}\p{Lo}", (0,))])
def test_cases_equal_those_of_tokenizers_on_every_code_point(name, codes):
    everything = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    pieces = pre_tokenizers.Split(Regex(f"[^{name}]+"), "removed").pre_tokenize_str(everything)
    expected = {ord(c) for piece, _ in pieces for c in piece}
    assert set(np.flatnonzero(np.isin(character_classes(cased=True), codes)).tolist()) == expected


def test_o200k_takes_the_turns_of_case_that_the_pattern_takes():
    """All strings of up to five of the kinds of character that it tells apart: capital, small, neither, mark, ..."""
    for length in range(1, 6):
        for letters in product("Aaª\u0301's/\n 1" if length < 5 else "Aaª\u0301's ", repeat=length):
            text = "".join(letters)
            assert scan(text, "o200k") == split(text, "o200k")


def test_unknown_pattern():
    assert unicode.scanner_kind(r"\w+|\W") is None


def test_names_stand_for_patterns():
    for name, pattern in NAMED_PATTERNS.items():
        assert unicode.scanner_kind(name) == unicode.scanner_kind(pattern) is not None
        assert split("Don't п'ять camelCase!\n/x", name) == split("Don't п'ять camelCase!\n/x", pattern)


@pytest.mark.parametrize("damage", ["none", "absent", "cut off", "a bit", "another shape"])
def test_class_table_survives_a_damaged_copy_on_disk(damage, tmp_path, monkeypatch):
    monkeypatch.setattr(unicode, "cache_directory", lambda: tmp_path)
    expected = unicode.probe_classes()
    load = unicode.character_classes.__wrapped__
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
    assert np.array_equal(unicode._stored_table(path), expected)
