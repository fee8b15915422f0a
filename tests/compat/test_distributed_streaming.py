"""Streams of `datasets`, the default on one machine: counted as they iterate, in bounded memory."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mws_hf.corpus.counting import count_documents
from tests.distributed_text import ROWS, TEXTS

datasets = pytest.importorskip("datasets")


def rows(shards):
    for shard in shards:
        for text in ROWS[shard::8]:
            yield {"text": text, "thread": threading.get_ident()}


@pytest.mark.parametrize("workers", [1, 3])
def test_a_stream_is_counted_as_it_iterates(workers):
    """However it is cut, mixed or changed: a stream cannot be divided so that this holds."""
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
    """7 MB of text and 70."""
    found = []
    for size in (1000, 10_000):
        done = subprocess.run([sys.executable, "-c", PEAK, str(size)], capture_output=True, text=True, check=True)
        found.append(list(map(int, done.stdout.split())))
    assert found[1][0] == 10 * found[0][0]
    assert found[1][1] < found[0][1] + 40, found
