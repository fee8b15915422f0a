"""Start measurements as processes and keep their results in a file; what they measure lies in the tasks."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmark.job import Job
from mws_hf.atomic import write_text
from mws_hf.errors import MwSError

SCRIPTS = Path(__file__).resolve().parent.parent
_PACKAGES = "tokenizers transformers sentencepiece morfessor tiktoken regex numba numpy pyarrow".split()


def run_job(job: Job, timeout: float, *, alone: list[str] | None = None, cold: bool = False) -> dict[str, Any]:
    """One measurement in a fresh process; its folder `job.output` is made before and removed after.

    Args:
        job: what to do.
        timeout: seconds after which the process is killed.
        alone: the command that a user would start for the same, timed as a whole in a process of its own.
        cold: give it an empty folder of compiled numba kernels, thrown away afterwards.

    Returns:
        What the process measured, with `process_seconds` from start to end, of `alone` if that is given, and the load
        of the machine before; or {"error": why}.
    """
    load = round(os.getloadavg()[0], 2)
    command = [sys.executable, "-m", "benchmark.child", job.to_json()]
    output, whole = _finished(command, job.output, timeout, cold)
    if isinstance(output, dict):
        return {**output, "load_before": load}
    result: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    whole -= result.pop("again_whole", 0.0)
    if alone is not None and "seconds" in result:
        output, whole = _finished(alone, job.output, timeout, cold)
        result |= output if isinstance(output, dict) else {}
    return {**result, "process_seconds": whole, "load_before": load}


def _finished(command: list[str], output: str, timeout: float, cold: bool) -> tuple[str | dict[str, Any], float]:
    """What a command prints, or {"error": why}, and its seconds; it has an empty folder `output` while it runs."""
    shutil.rmtree(output, ignore_errors=True)
    Path(output).mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="mws-benchmark-") as empty:
        environment = _environment(empty if cold else None)
        began = time.perf_counter()
        printed = _printed(command, timeout, environment)
        whole = time.perf_counter() - began
    shutil.rmtree(output)
    return printed, whole


def _environment(cache: str | None) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(SCRIPTS), str(SCRIPTS.parent)]),
        "HF_HUB_OFFLINE": "1",
        "PYTHONDONTWRITEBYTECODE": "",  # as an installed package has its bytecode, the checkout may keep its own
        "TOKENIZERS_PARALLELISM": "true",
        **({"NUMBA_CACHE_DIR": cache} if cache else {}),
    }


def _printed(command: list[str], timeout: float, environment: dict[str, str]) -> str | dict[str, Any]:
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"error": f"stopped after {timeout:g} s", "timed_out": True}
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode != 0:
        lines = errors.decode(errors="replace").strip().splitlines()
        return {"error": f"exit code {process.returncode}: {lines[-1] if lines else 'no message'}"}
    return output.decode()


def machine() -> dict[str, Any]:
    """What the numbers depend on: processor, memory, versions, commit."""
    return {
        "processor": _first_line("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in _PACKAGES},
        "commit": commit(),
    }


def commit() -> str:
    """The commit of the project, with "+" when its code has changes since; "unknown" outside a repository."""
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        return head + ("+" if _git("status", "--porcelain", "--untracked-files=no", "mws_hf", "scripts") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def code() -> str:
    """A checksum of the package's sources: when it changes, numba compiles again, and times mean something else."""
    files = sorted((SCRIPTS.parent / "mws_hf").rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def _git(*arguments: str) -> str:
    result = subprocess.run(["git", *arguments], cwd=SCRIPTS.parent, capture_output=True, check=True)
    return result.stdout.decode().strip()


def _first_line(path: str, key: str) -> str:
    try:
        with open(path, encoding="utf-8") as lines:
            return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), "")
    except OSError:
        return ""


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


@dataclass
class Results:
    """Everything measured so far, in a JSON file that is rewritten after each measurement.

    Attributes:
        path: the file.
        settings: what must be the same for records to belong together.
        facts: of the machine, and what was validated.
        records: one a measurement; `task`, `size` (a multiple of the base), `mb`, `repeat`, `cache` ("warm" or "cold")
            and what was measured.
    """

    path: Path
    settings: dict[str, Any]
    facts: dict[str, Any] = field(default_factory=dict)
    records: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def open(cls, path: Path, settings: dict[str, Any], resume: bool) -> Results:
        """New results, or with `resume` those of the file, without its errors, which are tried again.

        Raises:
            MwSError: the file is of other settings.
        """
        if not resume or not path.exists():
            return cls(path, settings, {"machine": machine()})
        old = json.loads(path.read_text(encoding="utf-8"))
        other = sorted(key for key in settings if old["settings"].get(key) != settings[key])
        if other:
            raise MwSError(f"{path}: measured with another {', '.join(other)}; run without --resume, or elsewhere")
        return cls(path, settings, old["facts"], [r for r in old["records"] if "error" not in r])

    def has(self, **key: Any) -> bool:
        """Whether a measurement with these fields is there."""
        return any(all(record[name] == value for name, value in key.items()) for record in self.records)

    def add(self, record: dict[str, Any]) -> None:
        """Keep a measurement and write the file."""
        self.records.append({name: round(v, 4) if isinstance(v, float) else v for name, v in record.items()})
        self.write()

    def write(self) -> None:
        """Write the file, atomically."""
        whole = {"settings": self.settings, "facts": self.facts, "records": self.records}
        write_text(self.path, json.dumps(whole, ensure_ascii=False, indent=1) + "\n")
