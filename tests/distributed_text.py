"""A text for all engines, and rows that wait until a worker was killed."""

import os
import signal
import time
from pathlib import Path

from tests.small_corpus import running_text
from tests.small_tokenizers import ADVERSARIAL

ROWS = [*(f"{line} {number}" for number in range(60) for line in running_text()), *ADVERSARIAL, None, None]
TEXTS = [text for text in ROWS if text is not None]
LANGUAGES = ["ukr" if number % 3 else "eng" for number in range(len(ROWS))]
SLOW_ROW = 300
"""The row at which `wait_to_be_killed` waits."""


def wait_to_be_killed(folder, rows):
    """If `SLOW_ROW` is among the rows, wait until `kill_worker` has killed the process that processes them."""
    if SLOW_ROW not in rows:
        return
    Path(folder, f"attempt-{os.getpid()}-{time.monotonic_ns()}").touch()
    until = time.monotonic() + 60
    while not Path(folder, "killed").exists() and time.monotonic() < until:
        time.sleep(0.02)


def kill_worker(folder, victim=lambda worker: worker):
    """Kill the process in `wait_to_be_killed` once, with SIGKILL; `victim` may name another process instead."""
    until = time.monotonic() + 60
    while not (attempts := sorted(Path(folder).glob("attempt-*"))):
        if time.monotonic() > until:
            return
        time.sleep(0.02)
    os.kill(victim(int(attempts[0].name.split("-")[1])), signal.SIGKILL)
    Path(folder, "killed").touch()


def parent(process):
    """Return the id of the parent of a process."""
    return int(Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])
