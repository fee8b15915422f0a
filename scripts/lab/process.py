"""Whole processes, timed: from the start of a program to its end."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

from lab.cells import Row
from lab.tables import groups
from mws_hf.text.markdown import markdown_table


def timed(command: Sequence[str], environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Wall and processor seconds and peak resident MB of a process; of one that fails, the end of its complaint.

    >>> sorted(timed([sys.executable, "-c", ""]))
    ['cpu_seconds', 'peak_mb', 'seconds']
    >>> timed([sys.executable, "-c", "raise SystemExit('no such file')"])
    {'failed': 'no such file'}
    """
    with tempfile.TemporaryFile() as complaints:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=complaints, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            complaints.seek(0)
            told = complaints.read().decode("utf-8", errors="replace").strip().splitlines()
            return {"failed": (told or ["no reason given"])[-1][:90]}
    unit = 1 if sys.platform == "darwin" else 1024
    cpu = round(used.ru_utime + used.ru_stime, 2)
    return {"seconds": round(seconds, 2), "cpu_seconds": cpu, "peak_mb": round(used.ru_maxrss * unit / 1e6)}


def race(rows: Sequence[Row], header: Sequence[str]) -> str:
    """Markdown: a row a program, the median seconds of its rounds, and how that compares with the first one's."""
    lines, first = [], 0.0
    for (program,), here in groups(rows, "program").items():
        seconds = [row["seconds"] for row in here if "seconds" in row]
        if not seconds:
            lines.append([str(program), here[0]["failed"], ""])
            continue
        middle = statistics.median(seconds)
        first = first or middle
        lines.append([str(program), f"{middle:.1f}", f"{middle / first:.2f}"])
    rounds = max(row["round"] for row in rows) + 1
    return f"Medians of {rounds} rounds, whole processes.\n\n{markdown_table(list(header), lines)}"
