"""Counting and encoding on one machine and on Spark, and merging a thousand partial counts under memory caps.

Every engine uses two cores. Clusters are started and kernels are loaded before the measurement, which includes reading
Parquet files and collecting the result. Each measurement is a process of its own, and CPU seconds are those of all
processes of an engine. Because other jobs may run on the machine at the same time (`load`), ratios are more reliable
than seconds. A test of worker failures is in tests/compat/test_distributed.py.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lab.cells import Cell, Found, Page, Place, Row
from lab.data import mixed
from lab.systems import trained
from lab.tables import about, groups, tabulated, where
from lab.timing import Clock, peak_mb, run_module
from mws_hf import EncodedCorpus
from mws_hf.commands.options import parse_bytes
from mws_hf.corpus.counting import count_documents, count_files, merge_files
from mws_hf.corpus.counts import WordCounts
from mws_hf.encode.bulk import encode_corpus
from mws_hf.errors import MwSError

ENGINES, CAPS = ("local", "spark"), ("64M", "256M", "2G", "none, in memory")
AXES = {"task": ("count", "encode", "merge"), "how": (*ENGINES, *CAPS), "repeat": range(3)}
SHARED = 0
TOGETHER = True
CORES, FILES, PARTIALS, ENTRIES = 2, 8, 1000, 32_000
ROW_GROUP = 2000  # rows per unit in which Spark divides a file
SPARK = {
    "spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.driver.memory": "3g",
    "spark.sql.files.maxPartitionBytes": 16 << 20, "spark.sql.shuffle.partitions": 4,
}  # fmt: skip


def exists(cell: Cell) -> bool:
    """Return whether a cell is measured: engines count and encode, and merging runs once per memory cap."""
    if cell["task"] == "merge":
        return cell["how"] in CAPS and not cell["repeat"]
    return cell["how"] in ENGINES


def measure(place: Place, cells: list[Cell]) -> Found:
    with tempfile.TemporaryDirectory(prefix="lab-distributed-") as folder:
        work = Path(folder)
        rows = documents(mixed(place.data, "rus.*.txt.gz", place.work / "distributed"))
        mb = sum(len(each.encode()) for each in rows) / 1e6
        (work / "text").mkdir()
        for number, part in enumerate(parts(rows, FILES)):
            pq.write_table(pa.table({"text": part}), work / "text" / f"{number}.parquet", row_group_size=ROW_GROUP)
        trained("mws", count_documents(rows), ENTRIES, work)
        if where(cells, task="merge"):
            for number, part in enumerate(parts(rows, PARTIALS)):
                count_documents(part, workers=1).save(work / "partials" / f"{number:05d}.parquet")
        for cell in sorted(cells, key=lambda each: each["repeat"]):
            load = round(os.getloadavg()[0], 2)
            found = run_module(__name__, str(work), cell["task"], cell["how"], PYSPARK_PYTHON=sys.executable)
            if "failed" in found:
                raise MwSError(f"the task {cell['task']} with {cell['how']} failed: {found['failed']}")
            yield cell, {"mb": mb, "load": load, **found}


def documents(text: Path) -> list[str]:
    """Join the lines of a text into documents of about 2,000 characters."""
    rows = [""]
    with text.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            if len(rows[-1]) > 2000:
                rows.append("")
            rows[-1] += line
    return rows


def parts(rows: list[str], number: int) -> list[list[str]]:
    """Divide rows into parts of equal length."""
    return [rows[n * len(rows) // number : (n + 1) * len(rows) // number] for n in range(number)]


def engine(how: str, work: Path) -> tuple[Any, Any, Callable[..., WordCounts], Callable[..., EncodedCorpus]]:
    """Start an engine; return the text as it reads it, a sample of it, and its functions to count and to encode.

    Processing the sample first makes each worker load its libraries and kernels.
    """
    tokenizer = str(work / f"mws-{ENTRIES}")
    if how == "local":
        how_to = {"column": "text", "workers": CORES}
        files = str(work / "text" / "*.parquet"), str(work / "text" / "0.parquet")
        return *files, partial(count_files, **how_to), partial(encode_corpus, tokenizer, **how_to)
    from pyspark.sql import SparkSession

    from mws_hf.distributed import spark

    session = SparkSession.builder.master(f"local[{CORES}]").config(map=SPARK).getOrCreate()
    rows = session.read.parquet(str(work / "text"))

    def encode(of: Any, to: Path) -> EncodedCorpus:
        return spark.write_corpus(of, tokenizer, "text", to)

    return rows, rows.limit(200).repartition(CORES), partial(spark.count, column="text"), encode


def run(work: Path, task: str, how: str) -> Row:
    """Measure one task with one engine or memory cap."""
    clock, out = Clock(), work / f"out-{os.getpid()}"
    if task == "merge":
        files, merged = sorted((work / "partials").glob("*.parquet")), work / "merged.parquet"
        with clock:
            if how == CAPS[-1]:
                first, *others = map(WordCounts.load, files)
                first.merge(*others).save(merged)
            else:
                merge_files(files, merged, memory_cap=parse_bytes(how))
        return clock.figures | {"peak_mb": peak_mb(), "digest": digest(merged), "files": len(files)}
    source, sample, count, encode = engine(how, work)
    if task == "count":
        count(sample)
        with clock:
            counts = count(source)
        counts.save(out / "counts.parquet")
        made = {"digest": digest(out / "counts.parquet"), "types": len(counts), "tokens": counts.total}
        return clock.figures | made
    encode(sample, out / "sample")
    with clock:
        ids = encode(source, out / "ids")
    hashes = (hashlib.sha256(np.asarray(each, np.int64).tobytes()).digest()[:16] for each in ids)
    total = sum(
        map(int.from_bytes, hashes)
    )  # does not depend on the order of documents, because engines order partitions differently
    return clock.figures | {"digest": f"{total:x}", "tokens": ids.n_tokens}


def digest(path: Path) -> str:
    """Return a digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def table(rows: list[Row]) -> Page:
    yield about(__doc__)
    if counted := where(rows, task="count"):
        ids = "".join(f", {row['tokens']:,} token ids" for row in where(rows, task="encode")[:1])
        found = f"{counted[0]['types']:,} distinct pre-tokens, {counted[0]['tokens']:,} in all{ids}"
        yield f"The text of {counted[0]['mb']:.0f} MB has {found}."
    lines = []
    for task, how, own in groups((row for row in rows if row["task"] != "merge"), "task", "how"):
        here = where(rows, task=task)
        local = [row["seconds"] for row in where(here, how="local")]
        ratio = median(row["seconds"] / base for row, base in zip(own, local, strict=False))
        cpu = [row["cpu_seconds"] for row in own if row.get("cpu_seconds")]
        line = {"work": task, "engine": how, "seconds": f"{median(row['seconds'] for row in own):.2f}"}
        line |= {"times local": f"{ratio:.1f}", "CPU seconds": f"{median(cpu):.1f}" if cpu else "not known"}
        line |= {"MB per CPU second": f"{own[0]['mb'] / median(cpu):.1f}" if cpu else "not known"}
        lines.append({**line, "same result": same(here)})
    yield tabulated(lines)
    if merges := where(rows, task="merge"):
        yield f"## Merging {merges[0]['files']:,} partial counts"
        figures = ((row["how"], f"{row['peak_mb']:.0f}", f"{row['seconds']:.1f}", same(merges)) for row in merges)
        header = ("memory cap", "peak (MB)", "seconds", "same file")
        yield tabulated(dict(zip(header, each, strict=True)) for each in figures)


def same(rows: list[Row]) -> str:
    """Return whether all rows have the same digest, in words."""
    return "yes" if len({row["digest"] for row in rows}) == 1 else "NO"


if __name__ == "__main__":
    given = sys.argv[1:]
    Path(given[3]).write_text(json.dumps(run(Path(given[0]), given[1], given[2])), encoding="utf-8")
