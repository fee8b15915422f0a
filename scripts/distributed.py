"""Counts and encodes one text on this machine and on Spark, kills a worker, merges a thousand partial counts.

python scripts/distributed.py '../shared/data/text/rus.*.txt.gz' [--output scripts/results/distributed.json]

Each run is a process of its own, the engines taking turns; two cores each. Writes a page beside the JSON file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq
from lab.process import machine

from mws_hf.atomic import write_text
from mws_hf.corpus.inputs import read_documents

SCRIPTS = Path(__file__).resolve().parent
ENGINES = ("local", "spark")
ROWS = 2000  # of a row group: what Spark divides a file by


def prepare(text: str, folder: Path) -> float:
    """Write the lines of the text, joined by thousands of characters to documents, as Parquet; returns MB of text."""
    folder.mkdir()
    rows, row, size, total = list[str](), list[str](), 0, 0
    for line in read_documents(text):
        row.append(line)
        size += len(line)
        if size > 2000:
            rows.append("".join(row))
            total += len(rows[-1].encode())
            row, size = [], 0
    rows += ["".join(row)] if row else []
    files = 8
    for number in range(files):
        part = rows[number * len(rows) // files : (number + 1) * len(rows) // files]
        pq.write_table(pa.table({"text": part}), folder / f"{number}.parquet", row_group_size=ROWS)
    return total / 1e6


def child(task: str, folder: Path, **more: object) -> dict:
    """Run `scripts/distributed_task.py`, whose last line is its result."""
    command = [sys.executable, str(SCRIPTS / "distributed_task.py"), task, str(folder), json.dumps(more)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    environment["PYTHONPATH"] = os.pathsep.join([str(SCRIPTS), str(SCRIPTS.parent)])
    began = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", timeout=900)
    if done.returncode:
        raise SystemExit(done.stderr[-4000:])
    result = json.loads(done.stdout.strip().splitlines()[-1])
    return {**result, "process_seconds": round(time.perf_counter() - began, 2), "load": os.getloadavg()[0]}


def merged(folder: Path, files: int) -> dict:
    """Merge so many partial counts under several memory caps, and all in memory."""
    merge = child("partials", folder, files=files)
    merge["runs"] = [child("merge", folder, cap=cap) for cap in ("64M", "256M", "2G")]
    merge["runs"].append(child("in-memory", folder))
    for result in merge["runs"]:
        result["same"] = "yes" if result["digest"] == merge["runs"][-1]["digest"] else "NO"
    return merge


def page(results: dict) -> str:
    """The results as Markdown."""
    mb, repeats = results["mb"], results["repeats"]
    lines = [
        "# Counting and encoding on one machine and on Spark", "",
        "Written by `scripts/distributed.py`. Two cores each; clusters started and kernels loaded before the clock,",
        f"the reading of Parquet and the result included; medians of {repeats} run(s), the engines taking turns. Other",
        "jobs ran on the machine meanwhile (`load` in the JSON file): the ratios say more than the seconds.", "",
        f"{mb:.0f} MB of text, {results['types']:,} distinct pre-tokens, {results['tokens']:,} in all, "
        f"{results['ids']:,} token ids.", "",
        "| work | engine | seconds | times local | CPU seconds | MB per CPU second | same result |",
        "|---|---|---:|---:|---:|---:|---|",
    ]  # fmt: skip
    for task in ("count", "encode"):
        times = {e: [r["seconds"] for r in results["runs"] if r["task"] == f"{task}-{e}"] for e in ENGINES}
        for engine, seconds in times.items():
            ratio = median(a / b for a, b in zip(seconds, times["local"], strict=True))
            same = "yes" if results["same"][f"{task}-{engine}"] else "NO"
            cpu = median(r["cpu_seconds"] for r in results["runs"] if r["task"] == f"{task}-{engine}")
            cells = f"{median(seconds):.2f} | {ratio:.1f} | {cpu:.1f} | {mb / cpu:.1f}"
            lines.append(f"| {task} | {engine} | {cells} | {same} |")
    lines += ["", "CPU seconds are those of all processes of an engine."]
    merge = results["merge"]
    lines += ["", f"## Merging {merge['files']:,} partial counts", "",
        f"{merge['files']:,} files, {merge['rows']:,} rows, {merge['megabytes']:.0f} MB as stored; "
        f"{merge['types']:,} distinct words.", "",
        "| memory cap | peak (MB) | seconds | same file |", "|---:|---:|---:|---|",
    ]  # fmt: skip
    lines += [f"| {r['cap']} | {r['peak_mb']:.0f} | {r['seconds']:.1f} | {r['same']} |" for r in merge["runs"]]
    lines += ["", "## A killed worker", "", "```", *results["kill"], "```", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text")
    parser.add_argument("--output", type=Path, default=SCRIPTS / "results" / "distributed.json")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--files", type=int, default=1000, help="partial counts to merge")
    parser.add_argument("--engines-only", action="store_true", help="keep the rest of what was measured before")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mws-distributed-") as work:
        folder = Path(work)
        mb = prepare(arguments.text, folder / "text")
        child("train", folder)
        runs = []
        for repeat in range(arguments.repeats):
            for engine in ENGINES[repeat % 2 :] + ENGINES[: repeat % 2]:
                for result in child(engine, folder)["runs"]:
                    runs.append(result | {"repeat": repeat})
                    print(result, file=sys.stderr)
        first = {task: next(r for r in runs if r["task"] == f"{task}-local") for task in ("count", "encode")}
        same = {
            r["task"]: all(
                x["digest"] == first[r["task"].split("-")[0]]["digest"] for x in runs if x["task"] == r["task"]
            )
            for r in runs
        }
        if arguments.engines_only:
            old = json.loads(arguments.output.read_text(encoding="utf-8"))
            kill, merge = old["kill"], old["merge"]
        else:
            kill = child("kill", folder)["log"]
            merge = merged(folder, arguments.files)
        sizes = {"types": first["count"]["types"], "tokens": first["count"]["tokens"], "ids": first["encode"]["ids"]}
        results = {"machine": machine(), "mb": mb, "repeats": arguments.repeats, **sizes, "runs": runs, "same": same}
        results |= {"kill": kill, "merge": merge}
    write_text(arguments.output, json.dumps(results, ensure_ascii=False, indent=1) + "\n")
    write_text(arguments.output.with_suffix(".md"), page(results))


if __name__ == "__main__":
    main()
