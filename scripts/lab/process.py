"""Whole processes, timed: from the start of a program to its end."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any


def timed(command: Sequence[str]) -> dict[str, Any]:
    """Wall and processor seconds and peak resident MB of a process; of one that fails, the end of its complaint.

    >>> sorted(timed([sys.executable, "-c", ""]))
    ['cpu_seconds', 'peak_mb', 'seconds']
    >>> timed([sys.executable, "-c", "raise SystemExit('no such file')"])
    {'failed': 'no such file'}
    """
    with tempfile.TemporaryFile() as complaints:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=complaints)
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
