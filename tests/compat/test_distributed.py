"""Spark on a cluster of two workers: counts and ids equal those of one machine, even if a worker is killed."""

import os
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mws_hf.corpus.counting import count_documents, count_files, count_source
from mws_hf.distributed import spark
from mws_hf.encode.bulk import encode_corpus
from mws_hf.errors import MwSError
from mws_hf.text.pattern import GPT4_PATTERN
from tests.distributed_text import LANGUAGES, ROWS, TEXTS, kill_worker, parent, wait_to_be_killed
from tests.paths import ROOT
from tests.processes import python
from tests.small_tokenizers import small_fast

pytestmark = pytest.mark.slow


@dataclass
class Engine:
    """A cluster, and its rows with the columns `number` and `text`."""

    library: ModuleType
    data: Any
    frame: Callable[[pa.Table], Any]
    table: Callable[[Any], pa.Table]
    slow: Callable[[str], Any]
    bad: Any
    parts: int
    victim: Callable[[int], int] = lambda worker: worker

    def count(self, source: Any, column: str = "text", **options: Any) -> Any:
        return self.library.count(source, column, **options)

    @contextmanager
    def killing(self, folder: Path):
        """Yield the same rows while a thread kills the process that has reached a certain row."""
        killer = threading.Thread(target=kill_worker, args=(folder, self.victim))
        killer.start()
        yield self.slow(str(folder))
        killer.join()
        assert len(list(folder.glob("attempt-*"))) > 1 and (folder / "killed").exists()


def slow_batches(batches, folder):
    for batch in batches:
        yield batch
        wait_to_be_killed(folder, batch.column(0).to_pylist())


@contextmanager
def spark_engine():
    """A cluster of two executors, each of them a Java process with one core."""
    pytest.importorskip("pyspark", reason="needs pyspark: pip install 'pyspark[sql]'")
    if shutil.which("java") is None or not Path("/proc/self/stat").exists():
        pytest.skip("needs Java 17, and /proc to find executors by")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local-cluster[2,1,600]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.executor.memory", "600m").config("spark.sql.shuffle.partitions", "3")
    session = builder.config("spark.log.level", "OFF").getOrCreate()
    rows = session.createDataFrame(list(enumerate(ROWS)), "number int, text string")
    df = rows.repartitionByRange(6, "number").sortWithinPartitions("number")
    yield Engine(
        spark,
        df,
        lambda table: session.createDataFrame(list(zip(*table.to_pydict().values(), strict=True)), table.column_names),
        lambda frame: frame.toArrow(),
        lambda folder: df.mapInArrow(partial(slow_batches, folder=folder), df.schema),
        session.sql("select cast(unhex('D0FF') as string) as text"),
        parts=6,
        victim=lambda worker: parent(parent(worker)),  # the parent of a worker is the daemon that forked it
    )
    session.stop()


@pytest.fixture(scope="module")
def engine():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        with spark_engine() as found:
            yield found


def test_counts_equal_those_of_one_machine_to_the_byte(engine, tmp_path):
    counted = engine.count(engine.data)
    expected = count_documents(TEXTS)
    assert counted == expected and counted.fingerprint == expected.fingerprint
    counted.save(tmp_path / "there.parquet")
    expected.save(tmp_path / "here.parquet")
    assert (tmp_path / "there.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()


def test_other_patterns_normalizations_and_thresholds(engine, tmp_path):
    settings = {"pattern": GPT4_PATTERN, "normalization": "nfd"}
    expected = count_documents(TEXTS, **settings)
    assert engine.count(engine.data, **settings, min_count=3) == expected.at_least(3)
    file = str(tmp_path / "rows.parquet")
    pq.write_table(pa.table({"text.ru": ROWS}), file)  # Spark reads a dot in the name of a column as access to a field
    whole = engine.count(file, "text.ru", pattern=r"\w+|\W", memory_cap=1)
    assert whole == count_files(file, column="text.ru", pattern=r"\w+|\W")


def test_groups_are_counted_as_on_one_machine(engine):
    table = pa.table({"text": ROWS, "language": LANGUAGES})
    expected = count_source(table, column="text", group_column="language")
    grouped = engine.frame(table)
    counted = engine.count(grouped, group_column="language", min_count=1)
    assert counted == expected and list(counted.groups) == ["eng", "ukr"]
    assert engine.count(grouped, group_column="language", min_count=3) == expected.at_least(3)


def test_pruning_before_the_sum_loses_no_more_than_documented(engine):
    exact = dict(count_documents(TEXTS).items())
    pruned = dict(engine.count(engine.data, partial_min_count=4).items())
    missing = {word: count - pruned.get(word, 0) for word, count in exact.items()}
    most = (4 - 1) * engine.parts
    assert set(pruned) <= set(exact) and 0 < max(missing.values()) <= most and min(missing.values()) == 0


def test_ids_equal_the_tokenizers(engine):
    tokenizer = small_fast()
    rows = engine.table(engine.library.encode(engine.data, tokenizer, "text"))
    assert rows.schema.field("input_ids").type == pa.list_(pa.int32())
    numbers = rows["number"].to_pylist()
    assert sorted(numbers) == list(range(len(ROWS)))
    for number, text, ids in zip(*(rows[name].to_pylist() for name in ("number", "text", "input_ids")), strict=True):
        assert text == ROWS[number]
        assert ids == (None if text is None else tokenizer.encode(text, add_special_tokens=False))


def test_shards_are_a_corpus_for_datasets_and_for_us(engine, tmp_path):
    datasets = pytest.importorskip("datasets")
    tokenizer = small_fast()
    corpus = engine.library.write_corpus(engine.data, tokenizer, "text", tmp_path / "ids", shard_size=1024)
    here = encode_corpus(tokenizer, iter(ROWS), tmp_path / "here")
    loaded = datasets.load_from_disk(str(tmp_path / "ids"))
    assert loaded["input_ids"] == datasets.load_from_disk(str(tmp_path / "here"))["input_ids"]
    assert corpus.n_tokens == here.n_tokens and len(corpus.ids) > 6
    with pytest.raises(MwSError, match="already exists"):
        engine.library.write_corpus(engine.data, tokenizer, "text", tmp_path / "ids")


def test_counts_are_right_when_a_worker_is_killed(engine, tmp_path):
    with engine.killing(tmp_path) as slow:
        counted = engine.count(slow)
    assert counted == count_documents(TEXTS)


def test_shards_are_right_when_a_worker_is_killed(engine, tmp_path):
    (tmp_path / "seen").mkdir()
    with engine.killing(tmp_path / "seen") as slow:
        corpus = engine.library.write_corpus(slow, small_fast(), "text", tmp_path / "ids", shard_size=1024)
    here = encode_corpus(small_fast(), iter(ROWS), tmp_path / "here")
    documents = [[tuple(each[k]) for k in range(len(each))] for each in (corpus, here)]
    assert Counter(documents[0]) == Counter(documents[1])
    assert not list((tmp_path / "ids").glob("part-*"))  # the file of a process that was killed


def test_mistakes_are_reported_in_one_line(engine):
    with pytest.raises(MwSError, match="no column 'texts'; columns here: number, text"):
        engine.count(engine.data, "texts")
    with pytest.raises(MwSError, match="column 'number' does not contain text"):
        engine.library.encode(engine.data, small_fast(), "number")
    with pytest.raises(MwSError, match="already has a column 'number'"):
        engine.library.encode(engine.data, small_fast(), "text", ids_column="number")
    with pytest.raises(MwSError, match="^column 'text', row 1: byte 0 is not utf-8"):
        engine.count(engine.bad)
    with pytest.raises(MwSError, match="reading Parquet failed"):
        engine.count("/no/such.parquet")


@pytest.mark.parametrize(
    ("absent", "message"),
    [
        ("pyspark", "MwSError: Spark needs pyspark, which is not installed: pip install"),
        ("nothing", "it needs Java 17 or newer, in JAVA_HOME or on the PATH: install one"),
    ],
)
def test_missing_parts_are_named(absent, message):
    code = f"import sys; sys.modules[{absent!r}] = None; from mws_hf.distributed import spark as found; "
    environment = {"PATH": "/nowhere", "PYTHONPATH": str(ROOT)}
    done = python(code + "found.count('rows.parquet', 'text')", env=environment)
    assert message in done.stderr.splitlines()[-1]


def rows(shards):
    for shard in shards:
        for text in ROWS[shard::8]:
            yield {"text": text, "thread": threading.get_ident()}


@pytest.mark.parametrize("workers", [1, 3])
def test_a_stream_is_counted_as_it_iterates(workers):
    """A stream is not divided into its shards, because that would change what `skip`, `take` and `shuffle` select."""
    datasets = pytest.importorskip("datasets")
    stream = datasets.IterableDataset.from_generator(rows, gen_kwargs={"shards": list(range(8))})
    assert count_documents(stream, column="text", workers=workers) == count_documents(TEXTS)
    numbered = stream.map(lambda row, k: {"text": f"{k} {row['text']}"}, with_indices=True)
    mixed = datasets.interleave_datasets([stream, stream.skip(3)], probabilities=[0.7, 0.3], seed=1)
    for cut in (stream.skip(5), stream.take(7), stream.shuffle(1, buffer_size=4).take(9), numbered, mixed):
        expected = count_documents([row["text"] or "" for row in cut])
        assert count_documents(cut, column="text", workers=workers) == expected


PEAK = """
import sys
from pathlib import Path
from datasets import IterableDataset
from mws_hf.corpus.counting import count_documents

def rows(shards):
    for shard in shards:
        for row in range(int(sys.argv[1])):
            yield {"text": f"слово и дело номер {row % 1000} " * 50}

stream = IterableDataset.from_generator(rows, gen_kwargs={"shards": [0, 1, 2, 3]})
total = count_documents(stream, column="text", workers=2).total
status = Path("/proc/self/status").read_text().split()
print(total, int(status[status.index("VmHWM:") + 1]) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")
def test_memory_does_not_grow_with_the_stream():
    """The peak memory is measured for 7 MB and for 70 MB of text."""
    found = []
    for size in (1000, 10_000):
        done = python(PEAK, size, check=True)
        found.append(list(map(int, done.stdout.split())))
    assert found[1][0] == 10 * found[0][0]
    assert found[1][1] < found[0][1] + 40, found
