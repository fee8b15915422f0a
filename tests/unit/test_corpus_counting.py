"""Counts of text equal those of `split` on the whole text, however it is stored, divided, distributed or moved to disk.

Modules: corpus/base_kind.py, corpus/counting.py, corpus/octets.py, corpus/place.py, corpus/rows.py,
corpus/sharing.py, corpus/splitter.py, corpus/token_table.py.
"""

import contextlib
import gzip
import io
import json
import random
import tempfile
import unicodedata
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from mws_hf import MwSTrainer
from mws_hf.corpus import blocks, counting, counts_file
from mws_hf.corpus.arrow_arrays import flat_utf8
from mws_hf.corpus.counting import count_documents, count_files, count_source, merge_files
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.files import Reading
from mws_hf.corpus.sharing import share_out
from mws_hf.corpus.token_table import Shards, TokenTable, hash_words, merge_tables
from mws_hf.errors import MwSError
from mws_hf.text.pattern import DEFAULT_PATTERN, GPT4_PATTERN, NAMED_PATTERNS, WORD_PATTERN, split
from tests.examples import FULL, examples, thorough, with_more
from tests.in_process import mws
from tests.peak_memory import peak_of
from tests.processes import one_line, python

OTHER_PATTERN = r"\w+| ?\W"
SPACES = "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"
ALPHABET = SPACES + "  \n\n\r'’´ёяДa1½!./／漢字\u0301\u0306😀\ufeff"
texts = st.text(st.sampled_from(ALPHABET), max_size=40)


def counted(pieces):
    return dict(Counter(pieces))


def random_text(seed, size):
    choose = random.Random(seed)
    words = ["".join(choose.choices("абвгдеёжз'’", k=choose.randint(1, 9))) for _ in range(8000)]
    gaps = [" "] * 20 + list(ALPHABET) + ["\r\n", "\n\n  ", ". ", ", "]
    return "".join(choose.choice(words) + choose.choice(gaps) for _ in range(size))


def reference_hash(word):
    """Compute the hash of `kernels.containers` with Python's integers."""
    a, b, c, d = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93
    blocks64 = [int.from_bytes(word[k : k + 8], "little") for k in range(0, len(word) - 7, 8)]
    if len(word) < 24:
        whole = int.from_bytes(word, "little") | len(word) << 184
        key = [whole >> shift & (1 << 64) - 1 for shift in (0, 64, 128)]
    else:
        mixed = len(word)
        for block in blocks64:
            mixed = (mixed ^ block) * a & (1 << 64) - 1
            mixed ^= mixed >> 32
        last = int.from_bytes(word[-8:], "little")
        key = [(mixed ^ last) * b & (1 << 64) - 1, 0, 0xFF << 56 | len(word)]
    mixed = sum(x * y for x, y in zip(key, (a, b, c), strict=True)) & (1 << 64) - 1
    mixed = (mixed ^ mixed >> 32) * d & (1 << 64) - 1
    return mixed ^ mixed >> 29


class TestCuts:
    @given(texts)
    @examples(2000)
    @pytest.mark.parametrize("pattern", NAMED_PATTERNS)
    def test_no_pre_token_crosses_a_division_point(self, pattern, text):
        raw = (text + "....").encode()  # the last four bytes are never divided
        cut = blocks.last_division_point(raw)
        left, right = raw[:cut].decode(), raw[cut:].decode()
        assert split(left, pattern) + split(right, pattern) == split(left + right, pattern)
        for form in ("NFC", "NFD", "NFKC", "NFKD"):
            parts = [unicodedata.normalize(form, part) for part in (left, right)]
            assert "".join(parts) == unicodedata.normalize(form, left + right)
            assert [p for part in parts for p in split(part, pattern)] == split("".join(parts), pattern)

    def test_every_byte_position_of_a_character_is_safe(self):
        raw = "слово\u2028 слово\n\u3000слово 😀 слово".encode()
        for end in range(len(raw)):
            cut = blocks.last_division_point(raw[:end])
            raw[:cut].decode()
            assert split(raw[:cut].decode()) + split(raw[cut:].decode()) == split(raw.decode())

    def test_no_other_character_normalizes_to_a_final_space_or_a_line_end(self):
        for point in [*range(0xD800), *range(0xE000, 0x110000)]:
            character = chr(point)
            if character not in SPACES and not character.isspace():
                for form in ("NFKC", "NFKD"):
                    changed = unicodedata.normalize(form, character)
                    assert not changed[-1].isspace() and "\n" not in changed and "\r" not in changed

    @pytest.mark.parametrize("size", [1, 3, 7, 64, 1000])
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-8-sig"])
    def test_blocks_join_to_the_file(self, tmp_path, size, encoding):
        text = random_text(size, 300)
        (tmp_path / "x").write_bytes(text.encode(encoding))
        for division in blocks.STREAM, None:
            how = Reading(encoding=encoding)
            parts = list(blocks.text_blocks(tmp_path / "x", division=division, how=how, size=size))
            assert b"".join(part.data.tobytes() for part in parts).decode() == text
        assert len(parts) > 1 and all(part.data.tobytes().endswith(b"\n") for part in parts[:-1])

    def test_text_that_cannot_be_divided_is_one_block(self, tmp_path):
        (tmp_path / "x").write_bytes(b"  \n" * 5000)
        assert len(list(blocks.text_blocks(tmp_path / "x", division=blocks.STREAM, size=64))) == 1


@pytest.mark.parametrize("pattern", [GPT4_PATTERN, WORD_PATTERN], ids=["gpt4", "word"])
class TestFiles:
    @pytest.mark.parametrize("size", [7 if FULL else 61, 999, 5000])
    def test_counts_of_blocks_add_up_to_those_of_the_file(self, tmp_path, pattern, size):
        text = random_text(4, 3000)
        (tmp_path / "a.txt").write_bytes(text.encode())
        stream = blocks.text_blocks(tmp_path / "a.txt", division=blocks.STREAM, size=size)
        counts = [count_documents([block.document(0)], pattern=pattern, workers=1) for block in stream]
        assert len(counts) > 5 and counts[0].merge(*counts[1:]) == count_documents([text], pattern=pattern)

    @pytest.mark.parametrize(("workers", "memory_cap"), [(1, 1), (2, 1), (3, 1), (2, 1 << 21), (2, 1 << 30)])
    def test_any_number_of_workers_and_any_cap(self, tmp_path, pattern, workers, memory_cap):
        whole = [random_text(1, 60_000), random_text(2, 9000)]
        (tmp_path / "a.txt").write_bytes(whole[0].encode())
        (tmp_path / "b.txt.gz").write_bytes(gzip.compress(whole[1].encode()))
        counts = count_files(str(tmp_path / "*.txt*"), pattern=pattern, workers=workers, memory_cap=memory_cap)
        assert dict(counts.items()) == counted(p for text in whole for p in split(text, pattern))
        assert counts == count_files(str(tmp_path / "*.txt*"), pattern=pattern, workers=1)

    @pytest.mark.parametrize("normalization", [None, "nfc", "nfd", "nfkc", "nfkd"])
    def test_normalization_before_splitting(self, tmp_path, pattern, normalization):
        text = random_text(3, 60_000)
        (tmp_path / "a.txt").write_bytes(text.encode())
        counts = count_files(tmp_path / "a.txt", pattern=pattern, normalization=normalization)
        normal = unicodedata.normalize(normalization.upper(), text) if normalization else text
        assert dict(counts.items()) == counted(split(normal, pattern))
        assert counts == count_documents([text], pattern=pattern, normalization=normalization)


def test_unknown_patterns_count_line_by_line(tmp_path):
    text = random_text(5, 60_000)
    (tmp_path / "a.txt").write_bytes(text.encode())
    lines = io.StringIO(text, newline="\n")
    expected = counted(p for line in lines for p in split(line, OTHER_PATTERN))
    for cap in 1, 1 << 30:
        counts = count_files(tmp_path / "a.txt", pattern=OTHER_PATTERN, workers=2, memory_cap=cap)
        assert dict(counts.items()) == expected and counts.pattern == OTHER_PATTERN


def test_nothing_to_count(tmp_path):
    (tmp_path / "x.txt").write_bytes(b"")
    assert len(count_files(tmp_path / "x.txt")) == 0 and len(count_documents([])) == 0


def test_spilling_leaves_no_files(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    words = [" " + "".join(letters) for letters in product("абвгдежзик", repeat=5)]
    documents = ["".join(words[start : start + 3000]) for start in range(0, len(words), 1000)]
    small = count_documents(documents, memory_cap=1 << 20, workers=2)
    assert small == count_documents(documents) and len(small) == 100_000
    assert list(tmp_path.iterdir()) == []


SPECIAL = ["[SEP]", "<|user|>", "<|user|>x", "Ω"]
MARKED = "кот[SEP]пёс <|user|> кот<|user|>xкотΩ [SEP"
CUT = ["кот", "пёс ", " кот", "кот", " [SEP"]


@pytest.mark.parametrize("pattern", [None, GPT4_PATTERN, r"\w+|\W+"])
@pytest.mark.parametrize("normalization", [None, "nfd"])
def test_special_tokens_in_texts_are_removed(pattern, normalization, tmp_path):
    options = {"normalization": normalization} | ({"pattern": pattern} if pattern else {})
    expected = count_documents(CUT, **options, special_tokens=[])
    path = tmp_path / "a.txt"
    path.write_text(MARKED, encoding="utf-8")
    assert count_documents([MARKED], **options, special_tokens=SPECIAL) == expected
    assert count_files(path, **options, special_tokens=SPECIAL) == expected
    assert count_source({"ru": [MARKED]}, **options, special_tokens=SPECIAL).groups["ru"] == expected
    rows = [{"text": MARKED, "lang": "ru"}]
    assert count_source(rows, group_column="lang", **options, special_tokens=SPECIAL).groups["ru"] == expected


def test_special_tokens_with_spaces_are_not_divided_between_blocks(tmp_path):
    for lengths in (3, 5, 8):
        text = "".join(f"<| end of {n % lengths} |>{'x' * (n % 7)}" + "\n" * (n % 3 == 0) for n in range(60_000))
        special = [f"<| end of {n} |>" for n in range(lengths)]
        (tmp_path / "a.txt").write_text(text, encoding="utf-8")
        found = dict(count_files(tmp_path / "a.txt", special_tokens=special).items())
        assert found == dict(count_documents([text], special_tokens=special).items()) and "<|" not in "".join(found)


@pytest.mark.parametrize("special", ["[SEP]", "<turn>", "<|endoftext|>"])
def test_no_part_of_a_special_token_is_learned(special, tmp_path):
    clean = ["он читал книгу, она читала газету", "они читали и писали"] * 30
    marked = [special.join(text.split(" ", 2)) for text in clean]
    cut = [part for text in clean for part in text.split(" ", 2)]
    trainer = MwSTrainer(n_merges=20, special_tokens=[special], show_progress=False)
    expected = trainer.train(iter(cut)).backend_tokenizer.to_str()
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in marked))
    for source in (iter(marked), path):
        assert trainer.train(source).backend_tokenizer.to_str() == expected
    done = mws("train", path, "--n-merges", 20, "--special-token", special, "-o", tmp_path / "out", "--quiet")
    assert done.returncode == 0
    vocab = json.loads((tmp_path / "out" / "tokenizer.json").read_text())["model"]["vocab"]
    assert vocab == json.loads(expected)["model"]["vocab"]
    again = trainer.train(iter(cut)).train_new_from_iterator(iter(marked), 330, show_progress=False)
    assert again.get_vocab() == trainer.train(iter(cut)).train_new_from_iterator(iter(cut), 330).get_vocab()


def merged(contents: list[dict[bytes, int]]) -> dict[bytes, int]:
    """Return the result of `merge_tables` for tables that are filled with these words."""
    tables = [TokenTable() for _ in contents]
    for table, words in zip(tables, contents, strict=True):
        offsets = np.cumsum([0, *map(len, words)])
        table.count_words(np.frombuffer(b"".join(words), np.uint8), offsets, np.array(list(words.values()), np.int64))
    strings, counts = merge_tables(tables)
    return dict(zip(strings.cast(pa.large_binary()).to_pylist(), counts.tolist(), strict=True))


class TestTable:
    @given(st.lists(st.tuples(st.binary(min_size=1, max_size=40), st.integers(1, 9)), max_size=200))
    @examples(100)
    def test_is_a_dictionary_of_bytes(self, pairs):
        table, expected = TokenTable(), Counter()
        for word, amount in pairs:
            expected[word] += amount
        data = np.frombuffer(b"".join(w for w, _ in pairs), np.uint8)
        offsets = np.cumsum([0, *(len(w) for w, _ in pairs)])
        table.count_words(data, offsets, np.array([a for _, a in pairs], np.int64))
        strings, counts = table.entries()
        assert dict(zip(strings.cast(pa.large_binary()).to_pylist(), counts.tolist(), strict=True)) == expected

    @given(st.lists(st.dictionaries(st.binary(min_size=1, max_size=40), st.integers(1, 9)), min_size=1, max_size=5))
    @examples(100)
    def test_merging_adds_up(self, contents):
        assert merged(contents) == dict(sum(map(Counter, contents), Counter()))

    def test_merging_tables_that_must_grow(self):
        contents = [{b"%d" % (k * (n + 1)) * (1 + k % 9): k + 1 for k in range(20_000)} for n in range(3)]
        assert merged(contents) == dict(sum(map(Counter, contents), Counter()))

    def test_merging_loses_nothing_to_spilling(self):
        spilled = []
        tables = [TokenTable(1 << 19, spilled.append) for _ in range(2)]
        for n, table in enumerate(tables):
            words = b"".join(b"%07d" % (2 * k + n) for k in range(2500))
            table.count_words(np.frombuffer(words, np.uint8), np.arange(0, len(words) + 1, 7), np.ones(2500, np.int64))
        strings, _ = merge_tables(tables)
        assert (len(set(strings.to_pylist())), spilled) == (5000, [])

    @pytest.mark.parametrize("cap", [1 << 19, 1 << 22, 1 << 26])
    def test_memory_reserved_beforehand_stays_below_the_cap(self, cap):
        assert TokenTable(cap, lambda table: None, text_bytes=1 << 40).nbytes <= cap

    @given(st.binary(min_size=1, max_size=60), st.binary(max_size=20))
    @examples(200)
    def test_the_hash_is_the_same_on_every_machine_and_does_not_depend_on_neighboring_bytes(self, word, after):
        found = hash_words(np.frombuffer(b"xyz" + word + after, np.uint8), np.array([3, 3 + len(word)]))
        assert found.tolist() == [reference_hash(word)]

    def test_very_long_words(self):
        text = "я" * 3_000_000 + " " + "a" * 100_000
        assert dict(count_documents([text, text]).items()) == {"я" * 3_000_000: 2, " " + "a" * 100_000: 2}


def test_shards_merge_equal_words(tmp_path):
    with Shards() as shards:
        for shift in range(4):
            table = TokenTable()
            words = pa.array([f"w{k}" for k in range(shift * 100, shift * 100 + 300)], pa.large_string())
            table.count_words(*flat_utf8(words), np.full(300, 1 + shift, np.int64))
            shards.add(table)
        strings, counts = shards.merged(step_bytes=500)
    got = dict(zip(strings.to_pylist(), counts.tolist(), strict=True))
    assert len(strings) == 600
    assert got == {f"w{k}": sum(1 + s for s in range(4) if s * 100 <= k < s * 100 + 300) for k in range(600)}


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_an_error_in_one_thread_ends_the_work(workers):
    def fail(item):
        if item == 50:
            raise MwSError("fifty")

    with pytest.raises(MwSError, match="fifty"):
        share_out([iter(range(10**9)), iter(range(5))], [fail] * workers)


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
MAPPINGS = st.dictionaries(WORDS, st.integers(1, 4), max_size=30)


def counts_of(mapping, **options):
    return WordCounts.from_mapping(mapping, **{"pattern": DEFAULT_PATTERN, **options})


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    """Spill tables that would grow, read files in batches of 100 rows, and write row groups of 700 rows."""
    monkeypatch.setattr(counting, "SMALLEST_TABLE", 300_000)
    monkeypatch.setattr(counting, "_ROWS", 100)
    monkeypatch.setattr(counts_file, "ROW_GROUP", 700)


def saved(folder, parts):
    paths = [Path(folder) / f"{number}.parquet" for number in range(len(parts))]
    for part, path in zip(parts, paths, strict=True):
        part.save(path)
    return paths


@given(st.lists(MAPPINGS, min_size=1, max_size=5), st.integers(1, 6))
@examples(20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_file_is_the_one_of_merging_in_memory(mappings, min_count):
    parts = [counts_of(mapping) for mapping in mappings]
    with tempfile.TemporaryDirectory() as folder:
        merged = merge_files(saved(folder, parts), Path(folder, "merged.parquet"), memory_cap=1, min_count=min_count)
        expected = parts[0].merge(*parts[1:]).at_least(min_count)
        expected.save(Path(folder, "expected.parquet"))
        assert Path(folder, "merged.parquet").read_bytes() == Path(folder, "expected.parquet").read_bytes()
        assert merged == expected


def zipfian(seed, words=9000):
    draws = np.random.default_rng(seed).zipf(1.2, words) % 20_000
    numbers, times = np.unique(draws, return_counts=True)
    return counts_of({f" слово{number}": int(count) for number, count in zip(numbers, times, strict=True)})


ZIPFIAN = {
    "whole": lambda: [zipfian(seed) for seed in range(6)],
    "groups": lambda: [
        WordCounts.from_groups(
            {name: zipfian(10 * seed + ord(name[0])) for name in ("fin", "rus")[seed % 2 :] + ("eng",)}
        )
        for seed in range(4)
    ],
}


@pytest.mark.parametrize("min_count", [1, 4])
@pytest.mark.parametrize("made", ZIPFIAN)
def test_counts_on_disk_are_read_back_completely_and_groups_are_pruned_together(tmp_path, made, min_count):
    parts = ZIPFIAN[made]()
    merged = merge_files(saved(tmp_path, parts), tmp_path / "merged.parquet", memory_cap=1, min_count=min_count)
    expected = parts[0].merge(*parts[1:]).at_least(min_count)
    expected.save(tmp_path / "expected.parquet")
    assert (tmp_path / "merged.parquet").read_bytes() == (tmp_path / "expected.parquet").read_bytes()
    assert merged == expected


def test_counts_that_cannot_be_merged_are_rejected(tmp_path):
    one = counts_of({"a": 1})
    others = [counts_of({"a": 1}, pattern=GPT4_PATTERN), WordCounts.from_groups({"eng": one})]
    for other, message in zip(
        others, ("count again with the same settings", "only one of them has groups"), strict=True
    ):
        with pytest.raises(MwSError, match=message):
            merge_files(saved(tmp_path, [one, other]), tmp_path / "merged.parquet")
    huge = counts_of({"a": 2**62})
    with pytest.raises(MwSError, match="more than a 64-bit integer"):
        merge_files(saved(tmp_path, [huge, huge]), tmp_path / "merged.parquet")
    (tmp_path / "0.parquet").write_bytes((tmp_path / "1.parquet").read_bytes()[:-9])
    with pytest.raises(MwSError, match="0.parquet: is not a readable Parquet file"):
        merge_files([tmp_path / "0.parquet", tmp_path / "1.parquet"], tmp_path / "merged.parquet")
    assert not (tmp_path / "merged.parquet").exists()


def test_the_command_merges_and_prunes(tmp_path):
    parts = [zipfian(seed) for seed in range(3)]
    out = tmp_path / "merged.parquet"
    done = mws("count", *saved(tmp_path, parts), "--min-count", 3, "--json", "--output", out)
    expected = parts[0].merge(*parts[1:]).at_least(3)
    assert json.loads(done.stdout) == {"file": str(out), "types": len(expected), "tokens": expected.total}
    assert WordCounts.load(out) == expected
    text = tmp_path / "text.txt"
    text.write_text("раз два два три три три", encoding="utf-8")
    mws("count", text, "--min-count", 2, "--force", "--output", out)
    assert WordCounts.load(out).words == [" три", " два"]
    other = counts_of({"a": 1}, pattern=GPT4_PATTERN)
    assert one_line(mws("count", *saved(tmp_path, [parts[0], other]), "--force", "--output", out))


PEAK = """
import sys
from pathlib import Path
from mws_hf.corpus.counting import merge_files
files = sorted(Path(sys.argv[1]).glob("*.parquet"))[: int(sys.argv[2])]
merge_files(files, sys.argv[3], memory_cap=32 << 20, min_count=2)
status = Path("/proc/self/status").read_text().split()
peak, libraries = (int(status[status.index(name) + 1]) // 1024 for name in ("VmHWM:", "RssFile:"))
print(peak - libraries)  # how much of a library's file is mapped is the kernel's affair: 100 MB more or less
"""


@thorough
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")
def test_memory_does_not_grow_with_the_number_of_files(tmp_path):
    """Each file has different words, nearly all of them too rare to be kept; 60 files have 100 MB more than 20."""
    parts, size = tmp_path / "parts", 60_000
    for number in range(60):
        words = pa.array([f" слово{number:02}{word:06}" for word in range(size)] + [" и"], pa.large_string())
        WordCounts.from_arrays(words, np.ones(size + 1, np.int64), pattern=DEFAULT_PATTERN).save(
            parts / f"{number:02}.parquet"
        )
    peaks = []
    for files in (20, 60):
        peaks.append(int(python(PEAK, parts, files, tmp_path / "out.parquet", check=True).stdout))
    assert WordCounts.load(tmp_path / "out.parquet").words == [" и"]
    assert peaks[1] < peaks[0] + 60, peaks  # in MB; all words would take hundreds


@pytest.mark.parametrize("pattern", ["gpt4", r"\w+|\W"], ids=["scanner", "regex"])
@pytest.mark.parametrize("ending", with_more([".txt.gz"], ".md", ".csv"))
def test_memory_depends_on_open_files_and_not_on_the_number_of_files(tmp_path, ending, pattern):
    content = b"text\nsome words\n"
    for k in range(300):
        (tmp_path / f"{k:03}{ending}").write_bytes(gzip.compress(content) if ending.endswith(".gz") else content)

    def count(files):
        groups = {name: [str(tmp_path / f"{k:03}{ending}") for k in range(k, files, 3)] for k, name in enumerate("abc")}
        found = count_source(groups, pattern=pattern, workers=2)
        assert found.union.total == files * count_source(str(tmp_path / f"000{ending}"), pattern=pattern).union.total

    count(3)
    few, many = (peak_of(lambda files=files: count(files)) for files in (3, 300))
    assert many < few + (16 << 20)  # one block per file would be 150 MB; two threads may have some blocks open


@pytest.mark.parametrize("paths", [None, b"a.txt", 5, {"a": "a.txt"}, ["a.txt", None], [b"a.txt"]])
def test_a_value_that_is_not_the_name_of_a_file_is_named(paths, tmp_path):
    (tmp_path / "a.txt").write_text("words", encoding="utf-8")
    with contextlib.chdir(tmp_path), pytest.raises(MwSError, match=r"^\w+ is not the name of a file; give a path"):
        count_files(paths)
