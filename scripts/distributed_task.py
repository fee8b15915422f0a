"""One measurement of `scripts/distributed.py` in a process of its own; the result is the last line it prints."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mws_hf.commands.options import parse_bytes
from mws_hf.corpus.counting import count_documents, count_files
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.merging import merge_files

CORES = 2


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def ids_digest(rows: Any) -> str:
    """Of all documents in any order: the order of partitions is the engine's own."""
    total = 0
    for row in rows:
        total += int.from_bytes(hashlib.sha256(np.asarray(row, np.int64).tobytes()).digest()[:16])
    return f"{total:x}"


@contextmanager
def spark_session(master: str = f"local[{CORES}]") -> Iterator[Any]:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
    builder = builder.config("spark.driver.memory", "3g").config("spark.executor.memory", "1g")
    builder = builder.config("spark.sql.files.maxPartitionBytes", 16 << 20).config("spark.sql.shuffle.partitions", "4")
    session = builder.getOrCreate()
    yield session
    session.stop()


def cpu_seconds() -> float:
    """Processor time of this process and of all that it started, and they, as far as they live or were waited for."""
    rows = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        rows[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    family, size = {os.getpid()}, 0
    while len(family) > size:
        size = len(family)
        family |= {process for process, (parent, _) in rows.items() if parent in family}
    return sum(rows[process][1] for process in family if process in rows) / os.sysconf("SC_CLK_TCK")


def _between(start: tuple[float, float], end: tuple[float, float]) -> dict[str, float]:
    return {"seconds": end[0] - start[0], "cpu_seconds": end[1] - start[1]}


def measured(engine: str, work: Path, count: Any, encode: Any, sample: Any) -> dict:
    """Count and encode, after a small job that loads what every worker needs."""
    from mws_hf.encode.corpus import EncodedCorpus

    out = work / f"out-{engine}-{os.getpid()}"
    count(sample)
    encode(sample, out / "sample")
    began = time.perf_counter(), cpu_seconds()
    counts: WordCounts = count(None)
    middle = time.perf_counter(), cpu_seconds()
    corpus: EncodedCorpus = encode(None, out / "ids")
    end = time.perf_counter(), cpu_seconds()
    counts.save(out / "counts.parquet")
    found = {"task": f"count-{engine}", **_between(began, middle), "digest": digest(out / "counts.parquet")}
    found |= {"types": len(counts), "tokens": counts.total, "load": os.getloadavg()[0]}
    rows = (corpus[k] for k in range(len(corpus)))
    encoded = {"task": f"encode-{engine}", **_between(middle, end), "digest": ids_digest(rows), "ids": corpus.n_tokens}
    return {"runs": [found, encoded]}


def local(work: Path) -> dict:
    from mws_hf.encode.bulk import encode_corpus

    files = str(work / "text" / "*.parquet")
    return measured(
        "local",
        work,
        lambda sample: count_files(sample or files, column="text", workers=CORES),
        lambda sample, out: encode_corpus(str(work / "tokenizer"), sample or files, out, column="text", workers=CORES),
        str(work / "text" / "0.parquet"),
    )


def on_spark(work: Path) -> dict:
    from mws_hf.distributed import spark

    with spark_session() as session:
        df = session.read.parquet(str(work / "text"))

        def rows(sample: Any) -> Any:
            return df.limit(200).repartition(CORES) if sample else df

        return measured(
            "spark",
            work,
            lambda sample: spark.count(rows(sample), "text"),
            lambda sample, out: spark.write_corpus(rows(sample), str(work / "tokenizer"), "text", out),
            True,
        )


def train(work: Path) -> dict:
    from mws_hf.trainer import MwSTrainer

    counts = count_files(str(work / "text" / "*.parquet"), column="text")
    MwSTrainer(vocab_size=32_000, show_progress=False).train_from_counts(counts).save_pretrained(work / "tokenizer")
    return {}


def waiting(table: Any, folder: str) -> Any:
    """A table as it is; the process that gets one in the middle of the text waits to be killed, once."""
    if not Path(folder, "killed").exists() and Path(folder, "begun").exists():
        Path(folder, f"victim-{os.getppid()}").touch()
        until = time.monotonic() + 60
        while not Path(folder, "killed").exists() and time.monotonic() < until:
            time.sleep(0.02)
    Path(folder, "begun").touch()
    return table


def waiting_batches(batches: Iterator[pa.RecordBatch], folder: str) -> Iterator[pa.RecordBatch]:
    yield from (waiting(batch, folder) for batch in batches)


def kill(work: Path) -> dict:
    """Count on Spark while the executor that works in the middle of the text is killed."""
    folder = work / "kill"
    folder.mkdir()
    log: list[str] = []
    began = time.perf_counter()

    def note(text: str) -> None:
        log.append(f"spark {time.perf_counter() - began:6.1f} s  {text}")

    def killer() -> None:
        while not (victims := sorted(folder.glob("victim-*"))):
            time.sleep(0.02)
        process = int(victims[0].name.split("-")[1])
        # the worker's parent is the daemon that forked it, whose parent is the executor
        process = int(Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])
        line = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        title = next((word for word in line.split() if "ExecutorBackend" in word), line)[:100]
        os.kill(process, signal.SIGKILL)
        note(f"kill -9 {process} ({title})")
        (folder / "killed").touch()

    thread = threading.Thread(target=killer, daemon=True)
    files = str(work / "text")
    expected = count_files(f"{files}/*.parquet", column="text")
    from mws_hf.distributed import spark

    with spark_session("local-cluster[2,1,1024]") as session:
        df = session.read.parquet(files)
        thread.start()
        note("counting begins on two executors")
        counts = spark.count(df.mapInArrow(partial(waiting_batches, folder=str(folder)), df.schema), "text")
    thread.join(timeout=60)
    note(f"counted {counts.total:,} pre-tokens, {len(counts):,} distinct")
    note(f"the table equals that of one machine: {counts == expected}")
    return {"log": log}


def partials(work: Path, files: int) -> dict:
    """Cut the text into so many equal parts and count each into a file."""
    rows = [text for name in sorted((work / "text").glob("*")) for text in pq.read_table(name)["text"].to_pylist()]
    folder, total = work / "partials", 0
    for number in range(files):
        counts = count_documents(rows[number * len(rows) // files : (number + 1) * len(rows) // files], workers=1)
        counts.save(folder / f"{number:05d}.parquet")
        total += len(counts)
    return {
        "files": files,
        "rows": total,
        "types": len(count_files(str(work / "text" / "*.parquet"), column="text")),
        "megabytes": sum(path.stat().st_size for path in folder.iterdir()) / 1e6,
    }


def merge(work: Path, cap: str | None) -> dict:
    """Merge them; without a cap all in memory, as `WordCounts.merge` does."""
    files, out = sorted((work / "partials").glob("*.parquet")), work / f"merged-{cap}.parquet"
    began = time.perf_counter()
    if cap is None:
        first, *others = map(WordCounts.load, files)
        first.merge(*others).save(out)
    else:
        merge_files(files, out, memory_cap=parse_bytes(cap, "cap"))
    seconds = time.perf_counter() - began
    status = Path("/proc/self/status").read_text(encoding="ascii").split()
    peak = int(status[status.index("VmHWM:") + 1]) * 1024 / 1e6
    return {"cap": cap or "none, in memory", "seconds": seconds, "peak_mb": peak, "digest": digest(out)}


def main() -> None:
    task, work, more = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    tasks = {
        "local": local, "spark": on_spark, "train": train, "partials": partials, "merge": merge,
        "in-memory": partial(merge, cap=None), "kill": kill,
    }  # fmt: skip
    print(json.dumps(tasks[task](work, **more)))


if __name__ == "__main__":
    main()
