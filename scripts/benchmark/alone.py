"""A task with nothing around it, as a user's script would do it: `python -m benchmark.alone JOB`."""

from __future__ import annotations

import json
import sys

from benchmark.job import Job, Task


def _task(name: str) -> Task:
    """The task; only the module that holds it is loaded."""
    if name.startswith("encode/"):
        from benchmark.encoding import TASKS
    else:
        from benchmark.training import TASKS
    return TASKS[name]


if __name__ == "__main__":
    wanted = Job(**json.loads(sys.argv[1]))
    _task(wanted.task).prepare(wanted)()
