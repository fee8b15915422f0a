"""Word counts: canonical order, merging, files and their faults, word lists, mappings.

Modules: corpus/counts.py, corpus/counts_file.py.
"""

import gzip
import json
import random
import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mws_hf import MwSTrainer
from mws_hf.compare import baselines
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.counts_file import fingerprint, is_counts_file
from mws_hf.corpus.word_list import count_mapping, read_word_list
from mws_hf.errors import MwSError
from mws_hf.surgery.extension import extend
from mws_hf.text.pattern import DEFAULT_PATTERN, GPT4_PATTERN, WORD_PATTERN
from tests.examples import examples
from tests.in_process import mws
from tests.processes import one_line
from tests.small_bases import gpt2_like, russian

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


def test_counts_made_with_different_settings_are_not_merged():
    with pytest.raises(MwSError, match="normalization nfc"):
        counts_of({"a": 1}).merge(counts_of({"a": 1}, normalization="nfc"))
    with pytest.raises(MwSError, match="different settings.*pattern words and .* pattern gpt4 and"):
        counts_of({"a": 1}, pattern=WORD_PATTERN).merge(counts_of({"a": 1}, pattern=GPT4_PATTERN))


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"a": 0}, "below 1"),
        ({"a": -1}, "below 1"),
        ({"": 1}, "a word is empty"),
        ({"a": 1.5}, "integer"),
        ({"a": 2**63}, "below 2.63"),
        ({"a": 2**200}, "below 2.63"),
        ({"\ud800": 1}, "lone surrogates"),
        ({3: 1}, "must be str"),
        ({"a": 2**62, "b": 2**62}, "more than a 64-bit integer"),
    ],
)
def test_bad_counts(mapping, message):
    with pytest.raises(MwSError, match=message):
        counts_of(mapping)


def test_merging_never_wraps():
    big = counts_of({"a": 2**62})
    with pytest.raises(MwSError, match="more than a 64-bit integer"):
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
    path.write_bytes(b"PAR1")
    with pytest.raises(MwSError, match="words.parquet: is not a readable Parquet file"):
        WordCounts.load(path)
    assert not is_counts_file(path)
    with pytest.raises(MwSError, match="no such file"):
        WordCounts.load(tmp_path / "absent")
    pq.write_table(pa.table({"text": ["a"]}), path)
    with pytest.raises(MwSError, match="does not contain word counts .columns: text"):
        WordCounts.load(path)
    assert not is_counts_file(path)


PATTERN = "[a-z]+| "
BOMB = "(a|a)*b|."


def not_utf8(words):
    return pa.array(words, pa.large_binary()).view(pa.large_string())


def metadata(total, pattern=PATTERN, groups=None):
    names = [] if groups is None else sorted(groups) if isinstance(groups, dict) else []
    found = {
        "mws_hf.word_counts": "1" if groups is None else "2",
        "pattern": pattern,
        "normalization": "",
        "total": str(total),
        "fingerprint": fingerprint(pattern, None, names),
    }
    return found | ({} if groups is None else {"groups": groups if isinstance(groups, str) else json.dumps(groups)})


def counts_file(path, words=("ab", "cd"), counts=(3, 2), group=None, settings=None, **changes):
    columns = {"word": words if isinstance(words, pa.Array) else pa.array(words, pa.large_string())}
    columns["count"] = counts if isinstance(counts, pa.Array) else pa.array(counts, pa.int64())
    if group is not None:
        columns["group"] = group
    table = pa.table(columns)
    pq.write_table(table.replace_schema_metadata(settings or metadata(5, **changes)), path)
    return path


COUNTS = {
    "integer words": ({"words": pa.array([1, 2])}, "column 'word' contains int64"),
    "binary words": ({"words": pa.array([b"a", b"\xff"])}, "column 'word' contains binary"),
    "null words": ({"words": ["ab", None]}, "row 2: its word is missing or empty"),
    "empty words": ({"words": ["", "cd"]}, "row 1: its word is missing or empty"),
    "words of lists": ({"words": pa.array([["a"], ["b"]])}, "column 'word' contains list"),
    "null counts": ({"counts": [3, None]}, "row 2: its count is missing or below 1"),
    "negative counts": ({"counts": [6, -1]}, "row 2: its count is missing or below 1"),
    "counts of zero": ({"counts": [5, 0]}, "row 2: its count is missing or below 1"),
    "counts of text": ({"counts": pa.array(["3", "2"])}, "column 'count' contains string"),
    "counts with a point": ({"counts": pa.array([3.0, 2.0])}, "column 'count' contains double"),
    "unsigned counts": ({"counts": pa.array([2**63, 2], pa.uint64())}, "not a readable Parquet file"),
    "counts that wrap": ({"counts": [2**62, 2**62], "settings": metadata(2**63)}, "more than a 64-bit integer"),
    "another total": ({"settings": metadata(6)}, "do not match"),
    "another pattern": ({"settings": metadata(5) | {"pattern": "x"}}, "do not match"),
    "bytes that are not UTF-8": ({"words": not_utf8([b"ab", b"\xff"])}, "some words are not UTF-8"),
    "no total": ({"settings": {"mws_hf.word_counts": "1"}}, "metadata cannot be read"),
    "a total of letters": ({"settings": metadata(5) | {"total": "x"}}, "metadata cannot be read"),
    "a total of 6,000 digits": ({"settings": metadata(5) | {"total": "9" * 6000}}, "metadata cannot be read"),
    "metadata of bytes": ({"settings": {b"mws_hf.word_counts": b"1", b"pattern": b"\xff", b"total": b"5"}}, "metadata"),
    "another version": ({"settings": metadata(5) | {"mws_hf.word_counts": "9"}}, "of format 9"),
    "deep groups": ({"group": pa.array(["a", "a"]), "groups": "[" * 100_000}, "metadata cannot be read"),
    "groups in a list": ({"group": pa.array(["a", "a"]), "groups": '["a"]'}, "metadata cannot be read"),
    "groups of text": ({"group": pa.array(["a", "a"]), "groups": '{"a": "5"}'}, "metadata cannot be read"),
    "integer groups": ({"group": pa.array([1, 1]), "groups": {"a": 5}}, "column 'group' contains int64"),
    "null groups": ({"group": pa.array(["a", None]), "groups": {"a": 5}}, "groups do not match"),
    "other groups": ({"group": pa.array(["a", "b"]), "groups": {"a": 5}}, "groups do not match"),
    "a word twice": ({"words": ["ab", "ab"]}, "row 2: 'ab' is also in row 1"),
    "a bomb of a pattern": ({"pattern": BOMB}, "in too many ways"),
    "a pattern that is none": ({"pattern": "("}, "does not compile"),
    "a pattern of nothing": ({"pattern": "x*"}, "matches the empty string"),
    "a normalization that is none": ({"settings": metadata(5) | {"normalization": "x"}}, "do not match"),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_rejected(name, tmp_path):
    changes, message = COUNTS[name]
    file = counts_file(tmp_path / "c.parquet", **changes)
    assert is_counts_file(file)
    for command in ("train", "count"):
        if command == "count" and name == "a word twice":
            continue  # the command adds them up
        done = mws(command, file, "--output", tmp_path / "out")
        assert one_line(done) and "c.parquet" in done.stderr and message in done.stderr
    assert not (tmp_path / "out").exists()
    with pytest.raises(MwSError, match=re.escape(message)):
        MwSTrainer(n_merges=2, show_progress=False).train_from_counts(file)


def test_truncated_and_altered_counts_are_rejected_wherever_they_end(tmp_path):
    whole = counts_file(tmp_path / "c.parquet").read_bytes()
    random = np.random.default_rng(0)
    for k in range(60):
        size = int(random.integers(0, len(whole)))
        damaged = bytearray(whole[:size] if k % 2 else whole)
        if not k % 2:
            damaged[size] ^= 1 << int(random.integers(0, 8))
        (tmp_path / "c.parquet").write_bytes(damaged)
        try:
            read = WordCounts.load(tmp_path / "c.parquet")
        except MwSError as error:
            assert "\n" not in str(error) and "c.parquet" in str(error)
        else:
            assert read.total == 5  # the altered metadata are not used


def test_a_word_in_two_rows_is_repaired_by_count(tmp_path):
    path = counts_file(tmp_path / "c.parquet", ["ab", "cd", "ab"], [5, 4, 3], settings=metadata(12))
    with pytest.raises(MwSError, match=r"c.parquet: row 3: 'ab' is also in row 1; .*mws count"):
        WordCounts.load(path)
    assert mws("count", path, "-o", tmp_path / "d.parquet").returncode == 0
    assert dict(WordCounts.load(tmp_path / "d.parquet").items()) == {"ab": 8, "cd": 4}


def test_rows_out_of_order_train_as_rows_in_order(tmp_path):
    mixed = WordCounts.load(counts_file(tmp_path / "c.parquet", ["b", "a", "c"], [1, 1, 7], settings=metadata(9)))
    assert list(mixed.items()) == [("c", 7), ("a", 1), ("b", 1)]


def test_counts_of_every_kind_train(tmp_path):
    words = {"читать": 5, "читала": 2, "кое-кто": 1}
    (tmp_path / "list.tsv").write_text("".join(f"{w}\t{c}\n" for w, c in words.items()), encoding="utf-8")
    counts = read_word_list(tmp_path / "list.tsv")
    counts.save(tmp_path / "c.parquet")
    trainer = MwSTrainer(n_merges=5, show_progress=False)
    expected = trainer.train_from_counts(counts).backend_tokenizer.to_str()
    for source in words, Counter(words), tmp_path / "c.parquet", str(tmp_path / "c.parquet"):
        assert trainer.train_from_counts(source).backend_tokenizer.to_str() == expected
    for bad, message in [
        ({"a": 0}, "the count 0 of 'a'"),
        ({"a": 1.5}, "1.5"),
        ({3: 1}, "3 is int, not a word"),
        ({"\ud800": 1}, "lone surrogate"),
        (["a"], "list is not counts"),
    ]:
        with pytest.raises(MwSError, match=message):
            trainer.train_from_counts(bad)
    with pytest.raises(MwSError, match="contains saved word counts, not text.*train_from_counts"):
        trainer.train(tmp_path / "c.parquet")


class TestWordList:
    def test_forms_are_split_as_inside_sentences(self, tmp_path):
        path = tmp_path / "list.tsv.gz"
        path.write_bytes(gzip.compress("кот\t5\nкое-кто\t2\n дом\t1\nкот\t1\nодин\n\n".encode()))
        expected = {" кот": 6, " кое": 2, "-кто": 2, " дом": 1, " один": 1}
        assert dict(read_word_list(path).items()) == expected

    def test_words_without_counts_stay_words(self, tmp_path):
        path = tmp_path / "words.txt"
        path.write_text("кот\nкое-кто\n42\n", encoding="utf-8")
        assert dict(read_word_list(path).items()) == {" кот": 1, " кое": 1, "-кто": 1, " ": 1, "42": 1}

    @pytest.mark.parametrize("line", ["кот 3", "      3 кот", "кот   12"])
    def test_spaces_for_tabs_are_rejected_by_line(self, tmp_path, line):
        path = tmp_path / "list.tsv"
        path.write_text(f"дом\t1\n{line}\n", encoding="utf-8")
        with pytest.raises(MwSError, match="list.tsv:2: .*word<TAB>count"):
            read_word_list(path)

    @pytest.mark.parametrize("line", ["кот\tx", "кот\t0", "кот\t-3", "кот\t", "кот\t1\t2", "кот\t1.5"])
    def test_bad_count_names_the_line(self, tmp_path, line):
        path = tmp_path / "list.tsv"
        path.write_text(f"дом\t1\r\n{line}\n", encoding="utf-8", newline="")
        with pytest.raises(MwSError, match="list.tsv:2: count .* positive integer"):
            read_word_list(path)


@pytest.mark.parametrize("largest", [1, 2, 3000, 2**40])
def test_canonical_order_of_many_words(largest):
    choose = random.Random(5)
    words = {"".join(choose.choices("ab\0яё😀", k=choose.randint(1, 12))) for _ in range(60_000)}
    mapping = {word: max(1, int(largest * choose.random() ** 9)) for word in words}
    expected = sorted(mapping.items(), key=lambda item: (-item[1], item[0]))
    assert list(WordCounts.from_mapping(mapping, pattern="...").items()) == expected


# A mapping of counts has the same meaning everywhere

WORDS = {"читать": 50, "читала": 20, "писать": 30, "писала": 10, "кое-кто": 4}


def trained_on(counts):
    return MwSTrainer(n_merges=12, show_progress=False).train_from_counts(counts).backend_tokenizer.to_str()


def test_a_mapping_is_read_alike_by_training_extending_and_baselines():
    counts = count_mapping(WORDS)
    assert trained_on(WORDS) == trained_on(counts) == trained_on({" " + word: count for word, count in WORDS.items()})
    words = {word: 20 for line in russian() for word in line.split()}
    one, two = (extend(gpt2_like(), each, 12).learned.merges for each in (words, count_mapping(words)))
    assert one == two and one
    for name in ("bpe-character", "wordpiece-likelihood"):
        first, second = (baselines.train(name, each, 290).source.segment_words(["читать"]) for each in (WORDS, counts))
        assert first == second
    trainer = MwSTrainer(n_merges=12, show_progress=False)
    assert trainer.learn(WORDS).merges == trainer.learn(counts).merges


def test_the_items_of_counts_train_as_they_do_or_are_rejected():
    text = count_documents([" читать и писать; читала, писала"] * 9)
    with pytest.raises(MwSError, match="begins with a space.*train_from_counts.*WordCounts.from_mapping"):
        trained_on(dict(text.items()))
    with pytest.raises(MwSError, match="begins with a space.*WordCounts.from_mapping"):
        extend(gpt2_like(), dict(text.items()), 5)
    with pytest.raises(MwSError, match="begins with a space"):
        baselines.train("bpe-character", dict(text.items()), 290)
    assert trained_on(WordCounts.from_mapping(dict(text.items()), pattern=text.pattern)) == trained_on(text)
    spaced = count_documents([" читать писать читала писала"] * 9)
    assert all(word.startswith(" ") for word in spaced.words) and trained_on(dict(spaced.items())) == trained_on(spaced)


def test_an_empty_word_is_rejected():
    with pytest.raises(MwSError, match="the empty string is not a word"):
        trained_on({"": 3, "кот": 2})
