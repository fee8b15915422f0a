"""Ray Data, on a real local cluster: the same counts and ids as one machine, also when a worker is killed."""

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
from mws_hf.distributed import ray_data
from mws_hf.encode.bulk import encode_corpus
from mws_hf.errors import MwSError
from mws_hf.pattern import GPT4_PATTERN
from tests.distributed_text import LANGUAGES, ROWS, TEXTS, held_up, kill_who_works
from tests.small_tokenizers import small_fast

ray = pytest.importorskip("ray", reason="needs Ray: pip install 'mws-hf[ray]'")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes."""
    import ray.data

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        ray.init(num_cpus=2, include_dashboard=False, object_store_memory=200 << 20, log_to_driver=False)
        ray.data.DataContext.get_current().enable_progress_bars = False
        ray.data.DataContext.get_current().execution_options.preserve_order = True
        yield ray
        ray.shutdown()


@pytest.fixture(scope="module")
def data(cluster):
    table = pa.table({"number": range(len(ROWS)), "text": ROWS})
    return cluster.data.from_arrow([table.slice(start, 120) for start in range(0, len(ROWS), 120)])


def slow_block(table, folder):
    held_up(folder, table["number"].to_pylist())
    return table


def killing_a_worker(data, folder):
    """The same rows, and a thread that kills the process that has got to a certain one."""
    slow = data.map_batches(partial(slow_block, folder=str(folder)), batch_format="pyarrow", batch_size=None)
    return slow, threading.Thread(target=kill_who_works, args=(folder,))


def test_counts_equal_those_of_one_machine_to_the_byte(data, tmp_path):
    counted = ray_data.count(data, "text", partitions=2)
    expected = count_documents(TEXTS)
    assert counted == expected and counted.fingerprint == expected.fingerprint
    counted.save(tmp_path / "ray.parquet")
    expected.save(tmp_path / "here.parquet")
    assert (tmp_path / "ray.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()


def test_other_patterns_normalizations_and_thresholds(data, tmp_path):
    settings = {"pattern": GPT4_PATTERN, "normalization": "nfd"}
    expected = count_documents(TEXTS, **settings)
    assert ray_data.count(data, "text", **settings, min_count=3, partitions=2) == expected.at_least(3)
    file = str(tmp_path / "rows.parquet")
    pq.write_table(pa.table({"text.ru": ROWS}), file)
    whole = ray_data.count(file, "text.ru", pattern=r"\w+|\W", memory_cap=1, partitions=2)
    assert whole == count_files(file, column="text.ru", pattern=r"\w+|\W")


def test_groups_are_counted_as_on_one_machine(cluster):
    grouped = cluster.data.from_arrow(pa.table({"text": ROWS, "language": LANGUAGES}))
    expected = count_source(pa.table({"text": ROWS, "language": LANGUAGES}), column="text", group_column="language")
    counted = ray_data.count(grouped, "text", group_column="language", min_count=1, partitions=2)
    assert dict(counted) == dict(expected) and list(counted) == ["eng", "ukr"]
    assert dict(ray_data.count(grouped, "text", group_column="language", min_count=3, partitions=2)) == dict(
        expected.at_least(3)
    )


def test_pruning_before_the_sum_loses_no_more_than_is_said(data):
    exact = dict(count_documents(TEXTS).items())
    pruned = dict(ray_data.count(data, "text", partial_min_count=4, partitions=2).items())
    missing = {word: count - pruned.get(word, 0) for word, count in exact.items()}
    blocks = -(-len(ROWS) // 120)
    assert set(pruned) <= set(exact) and 0 < max(missing.values()) <= (4 - 1) * blocks and min(missing.values()) == 0


def test_ids_equal_the_tokenizers(data):
    tokenizer = small_fast()
    tables = list(ray_data.encode(data, tokenizer, "text").iter_batches(batch_size=None, batch_format="pyarrow"))
    rows = pa.concat_tables(tables)
    assert rows.schema.field("input_ids").type == pa.list_(pa.int32())
    assert rows["number"].to_pylist() == list(range(len(ROWS))) and rows["text"].to_pylist() == ROWS
    expected = [None if text is None else tokenizer.encode(text, add_special_tokens=False) for text in ROWS]
    assert rows["input_ids"].to_pylist() == expected


def test_shards_are_a_corpus_for_datasets_and_for_us(data, tmp_path):
    datasets = pytest.importorskip("datasets")
    tokenizer = small_fast()
    corpus = ray_data.write_corpus(data, tokenizer, "text", tmp_path / "ids", shard_size=1024)
    here = encode_corpus(tokenizer, iter(TEXTS), tmp_path / "here")
    loaded = datasets.load_from_disk(str(tmp_path / "ids"))
    assert loaded["input_ids"] == datasets.load_from_disk(str(tmp_path / "here"))["input_ids"]
    assert corpus.n_tokens == here.n_tokens and len(corpus.ids) > 6
    with pytest.raises(MwSError, match="exists already"):
        ray_data.write_corpus(data, tokenizer, "text", tmp_path / "ids")


def test_counts_are_right_when_a_worker_is_killed(data, tmp_path):
    slow, killer = killing_a_worker(data, tmp_path)
    killer.start()
    counted = ray_data.count(slow, "text", partitions=2)
    killer.join()
    assert len(list(tmp_path.glob("attempt-*"))) > 1 and (tmp_path / "killed").exists()
    assert counted == count_documents(TEXTS)


def test_shards_are_right_when_a_worker_is_killed(data, tmp_path):
    seen = tmp_path / "seen"
    seen.mkdir()
    slow, killer = killing_a_worker(data, seen)
    killer.start()
    corpus = ray_data.write_corpus(slow, small_fast(), "text", tmp_path / "ids", shard_size=1024)
    killer.join()
    assert len(list(seen.glob("attempt-*"))) > 1
    here = encode_corpus(small_fast(), iter(TEXTS), tmp_path / "here")
    documents = [[tuple(each[k]) for k in range(len(each))] for each in (corpus, here)]
    assert Counter(documents[0]) == Counter(documents[1])
    assert not list((tmp_path / "ids").glob("part-*"))


def test_mistakes_are_told_in_one_line(data, cluster):
    with pytest.raises(MwSError, match="no column 'texts'; columns here: number, text"):
        ray_data.count(data, "texts")
    with pytest.raises(MwSError, match="column 'number' holds no text"):
        ray_data.encode(data, small_fast(), "number")
    with pytest.raises(MwSError, match="has a column 'number' already"):
        ray_data.encode(data, small_fast(), "text", ids_column="number")
    bad = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xd0\xff"))
    with pytest.raises(MwSError, match="^column 'text', row 1: byte 0 is not utf-8"):
        ray_data.count(cluster.data.from_arrow(pa.table({"text": bad})), "text")
    with pytest.raises(MwSError, match="reading Parquet failed"):
        ray_data.count("/no/such.parquet", "text")


def test_a_missing_ray_is_named():
    code = "import sys; sys.modules['ray'] = None; from mws_hf.distributed import ray_data; ray_data.count('x', 'text')"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert "MwSError: Ray Data is not installed: pip install 'mws-hf[ray]'" in done.stderr.splitlines()[-1]
