"""Word counts: canonical order, merging, files, word lists."""

import gzip
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.counts_file import is_counts_file
from mws_hf.corpus.word_list import read_word_list
from mws_hf.errors import MwSError
from mws_hf.text.pattern import DEFAULT_PATTERN, GPT4_PATTERN
from tests.examples import examples

mappings = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20), st.integers(1, 2**40), max_size=30
)


def counts_of(mapping, pattern=DEFAULT_PATTERN, normalization=None):
    return WordCounts.from_mapping(mapping, pattern=pattern, normalization=normalization)


@given(mappings)
@examples(100)
def test_order_is_count_descending_then_code_point(mapping):
    counts = counts_of(mapping)
    assert list(counts.items()) == sorted(mapping.items(), key=lambda item: (-item[1], item[0]))
    assert counts.total == sum(mapping.values()) and len(counts) == len(mapping)


@given(mappings, mappings, mappings)
@examples(50)
def test_merge_is_associative_and_commutative_and_adds(a, b, c):
    a, b, c = map(counts_of, (a, b, c))
    left, right = a.merge(b).merge(c), c.merge(b, a)
    assert left == right == a.merge(b.merge(c))
    assert dict(left.items()) == {
        w: sum(dict(x.items()).get(w, 0) for x in (a, b, c)) for x in (a, b, c) for w in x.words
    }


@given(mappings)
@examples(30)
def test_flat_views(mapping):
    counts = counts_of(mapping)
    points, starts = counts.code_points()
    data, offsets = counts.utf8()
    for w, word in enumerate(counts.words):
        assert "".join(map(chr, points[starts[w] : starts[w + 1]])) == word
        assert data[offsets[w] : offsets[w + 1]].tobytes().decode() == word


def test_types_and_threshold():
    counts = counts_of({"b": 3, "a": 1, "c": 2})
    assert counts.as_types().words == ["b", "c", "a"] and counts.as_types().counts.tolist() == [1, 1, 1]
    assert counts.at_least(2).words == ["b", "c"] and len(counts.at_least(9)) == 0
    points, starts = counts.at_least(2).code_points()
    assert points.tolist() == [98, 99] and starts.tolist() == [0, 1, 2]


def test_counts_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        counts_of({"a": 1}).counts[0] = 5


def test_refuses_to_merge_what_was_counted_differently():
    with pytest.raises(MwSError, match="normalization nfc"):
        counts_of({"a": 1}).merge(counts_of({"a": 1}, normalization="nfc"))
    with pytest.raises(MwSError, match="different settings"):
        counts_of({"a": 1}).merge(counts_of({"a": 1}, pattern=GPT4_PATTERN))


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"a": 0}, "positive"),
        ({"a": -1}, "positive"),
        ({"": 1}, "non-empty"),
        ({"a": 1.5}, "integer"),
        ({"a": 2**63}, "64 bits"),
        ({"a": 2**200}, "64 bits"),
        ({"\ud800": 1}, "lone surrogates"),
        ({3: 1}, "must be str"),
        ({"a": 2**62, "b": 2**62}, "64 bits"),
    ],
)
def test_bad_counts(mapping, message):
    with pytest.raises(MwSError, match=message):
        counts_of(mapping)


def test_merging_never_wraps():
    big = counts_of({"a": 2**62})
    with pytest.raises(MwSError, match="more than 64 bits"):
        big.merge(big)


def test_bad_normalization():
    with pytest.raises(MwSError, match="choose one of nfc, nfd, nfkc, nfkd"):
        counts_of({"a": 1}, normalization="nfx")


@given(mappings)
@examples(20)
def test_file_round_trip(tmp_path_factory, mapping):
    path = tmp_path_factory.mktemp("counts") / "words.parquet"
    counts = counts_of(mapping, normalization="nfc")
    counts.save(path)
    loaded = WordCounts.load(path)
    assert loaded == counts and loaded.pattern == DEFAULT_PATTERN and loaded.normalization == "nfc"
    assert is_counts_file(path)


def test_order_of_types_survives_the_file(tmp_path):
    counts = counts_of({"b": 3, "a": 1}).as_types()
    counts.save(tmp_path / "x")
    assert WordCounts.load(tmp_path / "x").words == ["b", "a"]


def test_damaged_and_foreign_files(tmp_path):
    path = tmp_path / "words.parquet"
    rng = np.random.default_rng(0)
    counts_of({str(k): int(k % 7) + 1 for k in rng.integers(0, 10**9, 5000)}).save(path)
    whole = path.read_bytes()
    for cut in (0, 3, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(MwSError, match="not a readable Parquet file"):
            WordCounts.load(path)
        assert not is_counts_file(path)
    path.write_bytes(whole[:2000] + b"\x55" * 50 + whole[2050:])
    with pytest.raises(MwSError, match="words.parquet"):
        WordCounts.load(path)
    with pytest.raises(MwSError, match="no such file"):
        WordCounts.load(tmp_path / "absent")
    pq.write_table(pa.table({"text": ["a"]}), path)
    with pytest.raises(MwSError, match="not of word counts .columns: text"):
        WordCounts.load(path)
    assert not is_counts_file(path)


def test_altered_files(tmp_path):
    path = tmp_path / "words.parquet"
    counts_of({"a": 2}).save(path)
    table = pq.read_table(path)
    for key, value, message in [
        (b"total", b"3", "do not match its own metadata"),
        (b"pattern", b"x", "do not match its own metadata"),
        (b"mws_hf.word_counts", b"99", "format 99"),
    ]:
        pq.write_table(table.replace_schema_metadata({**table.schema.metadata, key: value}), path)
        with pytest.raises(MwSError, match=message):
            WordCounts.load(path)


class TestWordList:
    def test_forms_stand_inside_sentences(self, tmp_path):
        path = tmp_path / "list.tsv.gz"
        path.write_bytes(gzip.compress("кот\t5\nкое-кто\t2\n дом\t1\nкот\t1\nодин\n\n".encode()))
        expected = {" кот": 6, " кое": 2, "-кто": 2, " дом": 1, " один": 1}
        assert dict(read_word_list(path).items()) == expected
        bare = read_word_list(path, leading_space=False)
        assert dict(bare.items())["кот"] == 6

    @pytest.mark.parametrize("line", ["кот\tx", "кот\t0", "кот\t-3", "кот\t", "кот\t1\t2", "кот\t1.5"])
    def test_bad_count_names_the_line(self, tmp_path, line):
        path = tmp_path / "list.tsv"
        path.write_text(f"дом\t1\r\n{line}\n", encoding="utf-8", newline="")
        with pytest.raises(MwSError, match="list.tsv:2: count .* positive integer"):
            read_word_list(path)

    def test_encoding(self, tmp_path):
        path = tmp_path / "list.tsv"
        path.write_bytes("кот\t2\n".encode("cp1251"))
        assert read_word_list(path, encoding="cp1251").words == [" кот"]
        with pytest.raises(MwSError, match="list.tsv:1: byte 0 is not utf-8"):
            read_word_list(path)


@pytest.mark.parametrize("largest", [1, 2, 3000, 2**40])
def test_canonical_order_of_many_words(largest):
    choose = random.Random(5)
    words = {"".join(choose.choices("ab\0яё😀", k=choose.randint(1, 12))) for _ in range(60_000)}
    mapping = {word: max(1, int(largest * choose.random() ** 9)) for word in words}
    expected = sorted(mapping.items(), key=lambda item: (-item[1], item[0]))
    assert list(WordCounts.from_mapping(mapping, pattern="...").items()) == expected
