"""Streams of `datasets`, the default on one machine: their shards are read side by side, in bounded memory."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mws_hf.corpus.counting import count_documents, stream_shards
from tests.distributed_text import ROWS, TEXTS

datasets = pytest.importorskip("datasets")


def rows(shards):
    for shard in shards:
        for text in ROWS[shard::8]:
            yield {"text": text, "thread": threading.get_ident()}


@pytest.mark.parametrize("workers", [1, 3])
def test_a_stream_in_shards_is_counted_whole(workers):
    stream = datasets.IterableDataset.from_generator(rows, gen_kwargs={"shards": list(range(8))})
    parts = stream_shards(stream, workers)
    assert len(parts) == workers and stream.num_shards == 8
    assert sorted(row["text"] or "" for part in parts for row in part) == sorted(text or "" for text in ROWS)
    assert count_documents(stream, column="text", workers=workers) == count_documents(TEXTS)


def test_a_dataset_on_disk_is_one_stream():
    table = datasets.Dataset.from_dict({"text": ROWS})
    assert len(stream_shards(table, 4)) == 1
    assert count_documents(table, column="text", workers=4) == count_documents(TEXTS)


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
    """7 MB of text and 70."""
    found = []
    for size in (1000, 10_000):
        done = subprocess.run([sys.executable, "-c", PEAK, str(size)], capture_output=True, text=True, check=True)
        found.append(list(map(int, done.stdout.split())))
    assert found[1][0] == 10 * found[0][0]
    assert found[1][1] < found[0][1] + 40, found
