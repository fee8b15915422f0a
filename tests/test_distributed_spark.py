"""Spark, on a real cluster of two executors: counts and ids of one machine, also when an executor is killed."""

import os
import subprocess
import sys
import threading
from collections import Counter
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mws_hf.corpus.counting import count_documents, count_files
from mws_hf.corpus.group_counting import count_source
from mws_hf.distributed import spark
from mws_hf.encode.bulk import encode_corpus
from mws_hf.errors import MwSError
from mws_hf.pattern import GPT4_PATTERN
from tests.distributed_text import LANGUAGES, ROWS, TEXTS, held_up, kill_who_works, parent
from tests.small_tokenizers import small_fast

pytest.importorskip("pyspark", reason="needs pyspark: pip install 'mws-hf[spark]'")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(spark.java() is None, reason="needs Java 17"),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds executors by /proc"),
]


@pytest.fixture(scope="module")
def session():
    """Two executors, each a Java process with one core."""
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        builder = SparkSession.builder.master("local-cluster[2,1,600]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.executor.memory", "600m").config("spark.sql.shuffle.partitions", "3")
        found = builder.config("spark.log.level", "OFF").getOrCreate()
        yield found
        found.stop()


@pytest.fixture(scope="module")
def df(session):
    rows = session.createDataFrame(list(enumerate(ROWS)), "number int, text string")
    return rows.repartitionByRange(6, "number").sortWithinPartitions("number")


def slow_batches(batches, folder):
    for batch in batches:
        yield batch
        held_up(folder, batch.column(0).to_pylist())


def killing_an_executor(df, folder):
    """The same rows, and a thread that kills the Java process whose Python worker has got to a certain row."""
    slow = df.mapInArrow(partial(slow_batches, folder=str(folder)), df.schema)
    executor = lambda worker: parent(parent(worker))  # above the worker is the daemon that forked it  # noqa: E731
    return slow, threading.Thread(target=kill_who_works, args=(folder, executor))


def test_counts_equal_those_of_one_machine_to_the_byte(df, tmp_path):
    counted = spark.count(df, "text")
    expected = count_documents(TEXTS)
    assert counted == expected and counted.fingerprint == expected.fingerprint
    counted.save(tmp_path / "spark.parquet")
    expected.save(tmp_path / "here.parquet")
    assert (tmp_path / "spark.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()


def test_other_patterns_normalizations_and_thresholds(df, session, tmp_path):
    settings = {"pattern": GPT4_PATTERN, "normalization": "nfd"}
    expected = count_documents(TEXTS, **settings)
    assert spark.count(df, "text", **settings, min_count=3) == expected.at_least(3)
    file = str(tmp_path / "rows.parquet")
    pq.write_table(pa.table({"text.ru": ROWS}), file)  # a dot in a column's name means a field to Spark
    whole = spark.count(file, "text.ru", pattern=r"\w+|\W", memory_cap=1)
    assert whole == count_files(file, column="text.ru", pattern=r"\w+|\W")


def test_groups_are_counted_as_on_one_machine(session):
    grouped = session.createDataFrame(list(zip(ROWS, LANGUAGES, strict=True)), "text string, language string")
    expected = count_source(pa.table({"text": ROWS, "language": LANGUAGES}), column="text", group_column="language")
    counted = spark.count(grouped, "text", group_column="language", min_count=1)
    assert dict(counted) == dict(expected) and list(counted) == ["eng", "ukr"]
    assert dict(spark.count(grouped, "text", group_column="language", min_count=3)) == dict(expected.at_least(3))


def test_pruning_before_the_sum_loses_no_more_than_is_said(df):
    exact = dict(count_documents(TEXTS).items())
    pruned = dict(spark.count(df, "text", partial_min_count=4).items())
    missing = {word: count - pruned.get(word, 0) for word, count in exact.items()}
    assert set(pruned) <= set(exact) and 0 < max(missing.values()) <= (4 - 1) * 6 and min(missing.values()) == 0


def test_ids_equal_the_tokenizers(df):
    tokenizer = small_fast()
    rows = spark.encode(df, tokenizer, "text").toArrow()
    assert rows.schema.field("input_ids").type == pa.list_(pa.int32())
    assert sorted(rows["number"].to_pylist()) == list(range(len(ROWS)))
    for number, text, ids in zip(*(rows[name].to_pylist() for name in ("number", "text", "input_ids")), strict=True):
        assert text == ROWS[number]
        assert ids == (None if text is None else tokenizer.encode(text, add_special_tokens=False))


def test_shards_are_a_corpus_for_datasets_and_for_us(df, tmp_path):
    datasets = pytest.importorskip("datasets")
    tokenizer = small_fast()
    corpus = spark.write_corpus(df, tokenizer, "text", tmp_path / "ids", shard_size=4096)
    here = encode_corpus(tokenizer, iter(TEXTS), tmp_path / "here")
    loaded = datasets.load_from_disk(str(tmp_path / "ids"))
    assert loaded["input_ids"] == datasets.load_from_disk(str(tmp_path / "here"))["input_ids"]
    assert corpus.n_tokens == here.n_tokens and len(corpus.ids) > 6
    with pytest.raises(MwSError, match="exists already"):
        spark.write_corpus(df, tokenizer, "text", tmp_path / "ids")


def test_counts_are_right_when_an_executor_is_killed(df, tmp_path):
    slow, killer = killing_an_executor(df, tmp_path)
    killer.start()
    counted = spark.count(slow, "text")
    killer.join()
    assert len(list(tmp_path.glob("attempt-*"))) > 1 and (tmp_path / "killed").exists()
    assert counted == count_documents(TEXTS)


def test_shards_are_right_when_an_executor_is_killed(df, tmp_path):
    seen = tmp_path / "seen"
    seen.mkdir()
    slow, killer = killing_an_executor(df, seen)
    killer.start()
    corpus = spark.write_corpus(slow, small_fast(), "text", tmp_path / "ids", shard_size=1024)
    killer.join()
    assert len(list(seen.glob("attempt-*"))) > 1
    here = encode_corpus(small_fast(), iter(TEXTS), tmp_path / "here")
    documents = [[tuple(each[k]) for k in range(len(each))] for each in (corpus, here)]
    assert Counter(documents[0]) == Counter(documents[1])
    assert not list((tmp_path / "ids").glob("part-*"))  # what the dead left


def test_mistakes_are_told_in_one_line(df, session):
    with pytest.raises(MwSError, match="no column 'texts'; columns here: number, text"):
        spark.count(df, "texts")
    with pytest.raises(MwSError, match="column 'number' holds no text"):
        spark.encode(df, small_fast(), "number")
    with pytest.raises(MwSError, match="has a column 'number' already"):
        spark.encode(df, small_fast(), "text", ids_column="number")
    with pytest.raises(MwSError, match="^column 'text', row 1: byte 0 is not utf-8"):
        spark.count(session.sql("select cast(unhex('D0FF') as string) as text"), "text")
    with pytest.raises(MwSError, match="reading Parquet failed"):
        spark.count("/no/such.parquet", "text")


COUNTING = "from mws_hf.distributed import spark; spark.count('rows.parquet', 'text')"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (f"import sys; sys.modules['pyspark'] = None; {COUNTING}", "MwSError: Spark needs pyspark"),
        (COUNTING, "MwSError: Spark needs Java 17 or newer"),
    ],
)
def test_missing_parts_are_named(code, message):
    environment = {"PATH": "/nowhere", "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert message in done.stderr.splitlines()[-1]
