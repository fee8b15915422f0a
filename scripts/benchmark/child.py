"""One measurement in a process of its own: `python -m benchmark.child JOB`; the result is the last line it prints."""

from __future__ import annotations

import json
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmark import checks, encoding, learning, training
from benchmark.job import Job, Skip, Task

MEASURED: dict[str, Task] = {**training.TASKS, **learning.TASKS, **encoding.TASKS}


def peak_mb() -> float:
    """Largest resident memory of this process or of a child of it so far, in MB (10^6 bytes)."""
    unit = 1 if sys.platform == "darwin" else 1024
    own, children = (
        resource.getrusage(who).ru_maxrss * unit for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    try:
        # on Linux ru_maxrss starts at what the parent had when it started this process, VmHWM at 0
        with open("/proc/self/status", encoding="ascii") as status:
            own = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    except OSError:
        pass
    return float(max(own, children) / 1e6)


def cpu_seconds() -> float:
    """Processor time of this process, its threads and its finished children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def measure(job: Job) -> dict[str, Any]:
    """Run the task of a job; times exclude imports and what `prepare` loads, memory includes everything."""
    task = {**MEASURED, **checks.TASKS}[job.task]
    try:
        run = task.prepare(job)
    except Skip as reason:
        return {"skipped": str(reason)}
    before, cpu, began = peak_mb(), cpu_seconds(), time.perf_counter()
    try:
        facts = run()
    except checks.Difference as difference:
        return {"difference": str(difference)}
    timed = {"seconds": time.perf_counter() - began, "cpu_seconds": cpu_seconds() - cpu}
    timed |= {"peak_mb": peak_mb(), "before_mb": before}
    return {**timed, **(again(task, job, facts) if task.ours else {}), **facts}


def again(task: Task, job: Job, facts: dict[str, Any]) -> dict[str, Any]:
    """Seconds of a second run in the same process: without loading compiled kernels and filling tables.

    Raises:
        ValueError: it gives another result than the first.
    """
    started = time.perf_counter()
    output = Path(job.output) / "again"
    output.mkdir()
    run = task.prepare(replace(job, output=str(output)))
    began = time.perf_counter()
    second = run()
    seconds = time.perf_counter() - began
    if second != facts:
        raise ValueError(f"a second run in the same process gave {second} after {facts}")
    return {"again_seconds": seconds, "again_whole": time.perf_counter() - started}


if __name__ == "__main__":
    print("\n" + json.dumps(measure(Job(**json.loads(sys.argv[1]))), ensure_ascii=False))
