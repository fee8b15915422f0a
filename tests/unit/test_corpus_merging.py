"""Saved counts, many files of them, added up in bounded memory into one: as in memory, to the byte."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from mws_hf.corpus import counts_file, merging
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.groups import GroupedCounts
from mws_hf.corpus.merging import merge_files
from mws_hf.errors import MwSError
from mws_hf.text.pattern import DEFAULT_PATTERN, GPT4_PATTERN
from tests.examples import examples, thorough
from tests.in_process import mws
from tests.processes import one_line

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
MAPPINGS = st.dictionaries(WORDS, st.integers(1, 4), max_size=30)


def counts_of(mapping, **options):
    return WordCounts.from_mapping(mapping, **{"pattern": DEFAULT_PATTERN, **options})


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    """Tables are spilled when they would grow, files and runs read by 100 rows, row groups written by 700."""
    monkeypatch.setattr(merging, "SMALLEST_TABLE", 300_000)
    monkeypatch.setattr(merging, "_ROWS", 100)
    monkeypatch.setattr(merging, "_RUN_ROWS", 10)
    for module in (merging, counts_file):
        monkeypatch.setattr(module, "ROW_GROUP", 700)


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
        assert (merged.types, merged.tokens) == (len(expected), expected.total)


def zipfian(seed, words=9000):
    draws = np.random.default_rng(seed).zipf(1.2, words) % 20_000
    numbers, times = np.unique(draws, return_counts=True)
    return counts_of({f" слово{number}": int(count) for number, count in zip(numbers, times, strict=True)})


@pytest.mark.parametrize("min_count", [1, 4])
def test_what_is_spilled_and_read_back_in_pieces_is_whole(tmp_path, min_count):
    parts = [zipfian(seed) for seed in range(6)]
    merge_files(saved(tmp_path, parts), tmp_path / "merged.parquet", memory_cap=1, min_count=min_count)
    parts[0].merge(*parts[1:]).at_least(min_count).save(tmp_path / "expected.parquet")
    assert (tmp_path / "merged.parquet").read_bytes() == (tmp_path / "expected.parquet").read_bytes()


@pytest.mark.parametrize("min_count", [1, 4])
def test_groups_are_added_up_each_on_its_own_and_pruned_together(tmp_path, min_count):
    parts = [
        GroupedCounts({name: zipfian(10 * seed + ord(name[0])) for name in ("fin", "rus")[seed % 2 :] + ("eng",)})
        for seed in range(4)
    ]
    merged = merge_files(saved(tmp_path, parts), tmp_path / "merged.parquet", memory_cap=1, min_count=min_count)
    expected = parts[0].merge(*parts[1:]).at_least(min_count)
    expected.save(tmp_path / "expected.parquet")
    assert (tmp_path / "merged.parquet").read_bytes() == (tmp_path / "expected.parquet").read_bytes()
    assert merged.types == len(expected.union)
    assert merged.groups == {name: (len(part), part.total) for name, part in expected.items()}


def test_what_does_not_fit_together_is_refused(tmp_path):
    one = counts_of({"a": 1})
    others = [counts_of({"a": 1}, pattern=GPT4_PATTERN), GroupedCounts({"eng": one})]
    for other, message in zip(others, ("count again with one setting", "only one of them names groups"), strict=True):
        with pytest.raises(MwSError, match=message):
            merge_files(saved(tmp_path, [one, other]), tmp_path / "merged.parquet")
    huge = counts_of({"a": 2**62})
    with pytest.raises(MwSError, match="more than 64 bits"):
        merge_files(saved(tmp_path, [huge, huge]), tmp_path / "merged.parquet")
    (tmp_path / "0.parquet").write_bytes((tmp_path / "1.parquet").read_bytes()[:-9])
    with pytest.raises(MwSError, match="0.parquet: not a readable Parquet file"):
        merge_files([tmp_path / "0.parquet", tmp_path / "1.parquet"], tmp_path / "merged.parquet")
    assert not (tmp_path / "merged.parquet").exists()


def test_counts_that_were_altered_are_refused(tmp_path):
    with counts_file.counts_writer(
        tmp_path / "0.parquet",
        pa.schema([("word", pa.large_string()), ("count", pa.int64())]).with_metadata(
            counts_file.settings_of({"": 7}, DEFAULT_PATTERN, None)
        ),
    ) as writer:
        writer.write_table(pa.table({"word": pa.array(["a"], pa.large_string()), "count": [6]}).cast(writer.schema))
    with pytest.raises(MwSError, match="do not match its own metadata"):
        merge_files([tmp_path / "0.parquet"], tmp_path / "merged.parquet")


@pytest.mark.parametrize("count", [0, -1])
def test_a_count_below_one_is_refused_where_files_are_merged_and_loaded(tmp_path, count):
    """Though the total is as the file says."""
    path = tmp_path / "0.parquet"
    schema = pa.schema([("word", pa.large_string()), ("count", pa.int64())])
    with counts_file.counts_writer(
        path, schema.with_metadata(counts_file.settings_of({"": 7 + count}, DEFAULT_PATTERN, None))
    ) as writer:
        table = pa.table({"word": pa.array(["a", "b"], pa.large_string()), "count": [7, count]})
        writer.write_table(table.cast(writer.schema))
    with pytest.raises(MwSError, match="count"):
        merge_files([path], tmp_path / "merged.parquet")
    assert not (tmp_path / "merged.parquet").exists()
    with pytest.raises(MwSError, match="count"):
        WordCounts.load(path)


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
from mws_hf.corpus.merging import merge_files
from tests.examples import examples, thorough
files = sorted(Path(sys.argv[1]).glob("*.parquet"))[: int(sys.argv[2])]
merge_files(files, sys.argv[3], memory_cap=32 << 20)
status = Path("/proc/self/status").read_text().split()
peak, libraries = (int(status[status.index(name) + 1]) // 1024 for name in ("VmHWM:", "RssFile:"))
print(peak - libraries)  # how much of a library's file is mapped is the kernel's affair: 100 MB more or less
"""


@thorough
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")
def test_memory_grows_neither_with_files_nor_with_words(tmp_path):
    """Words are distinct in every file: the result of 60 is three times that of 20, and 100 MB larger."""
    parts, size = tmp_path / "parts", 60_000
    for number in range(60):
        words = pa.array([f" слово{number:02}{word:06}" for word in range(size)], pa.large_string())
        WordCounts.from_arrays(words, np.ones(size, np.int64), pattern=DEFAULT_PATTERN).save(
            parts / f"{number:02}.parquet"
        )
    peaks = []
    for files in (20, 60):
        command = [sys.executable, "-c", PEAK, parts, files, tmp_path / "out.parquet"]
        peaks.append(int(subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout))
    assert WordCounts.load(tmp_path / "out.parquet").total == 60 * size
    assert peaks[1] < peaks[0] + 60, peaks  # some 20: what is read ahead of each run; the words would take hundreds
