"""Measure the time and memory of whole processes, and of the work inside them: `python -m lab.timing JOB FILE`.

Each task in `TASKS` imports its library, loads the files that are not part of the measurement, does its work inside
``with clock``, and returns its figures. This module imports no large library, because that would slow down the
processes of the baselines, too. The work inside a process is measured with /proc, which exists only on Linux.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

Facts = dict[str, Any]
SCRIPTS = Path(__file__).resolve().parent.parent
BATCH = 10_000  # lines per batch, because the encodings of a whole corpus would take gigabytes of memory
CLASSIC = ("--criterion", "classic", "--composition", "fill")
PACKAGES = ("tokenizers", "transformers", "sentencepiece", "numba", "numpy", "pyarrow")


def timed(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Facts:
    """Run a command and measure it.

    The result has wall seconds, CPU seconds and the peak resident memory in MB. If the command fails, it has only
    `failed`, the last line of its standard error.

    >>> sorted(timed([sys.executable, "-c", ""]))
    ['cpu_seconds', 'peak_mb', 'seconds']
    >>> timed([sys.executable, "-c", "raise SystemExit('no such file')"])
    {'failed': 'no such file'}
    """
    with tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            lines = errors.read().decode("utf-8", errors="replace").strip().splitlines()
            return {"failed": (lines or ["no reason given"])[-1][:90]}
    unit = 1 if sys.platform == "darwin" else 1024
    cpu = round(used.ru_utime + used.ru_stime, 2)
    return {"seconds": round(seconds, 2), "cpu_seconds": cpu, "peak_mb": round(used.ru_maxrss * unit / 1e6)}


def run_module(module: str, *arguments: str, **environment: str) -> Facts:
    """Run a module in a separate process, and return the JSON that it writes to the file in its last argument.

    If the process fails, the result has only `failed`, the reason.
    """
    with tempfile.NamedTemporaryFile(prefix="lab-timing-") as written:
        process = timed([sys.executable, "-m", module, *arguments, written.name], outside(**environment))
        return process if "failed" in process else json.loads(Path(written.name).read_text(encoding="utf-8"))


def outside(**environment: str) -> dict[str, str]:
    """Return environment variables with which a process can import from scripts/ and downloads nothing."""
    paths = os.pathsep.join([str(SCRIPTS), str(SCRIPTS.parent)])
    return os.environ | {"PYTHONPATH": paths, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true"} | environment


def machine() -> str:
    """Describe this machine: processor, cores, memory, operating system, and versions of libraries."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    where = f"{(names or [platform.processor()])[0]}, {os.cpu_count()} cores, {memory:.1f} GB, {platform.platform()}"
    return f"{where}; Python {platform.python_version()}, {versions}"


def cpu_seconds() -> float:
    """Return the CPU time of this process and of all its descendants."""
    rows = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            rows[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    family, size = {os.getpid()}, 0
    while len(family) > size:
        size = len(family)
        family |= {process for process, (parent, _) in rows.items() if parent in family}
    return sum(rows[process][1] for process in family if process in rows) / os.sysconf("SC_CLK_TCK")


def peak_mb() -> float:
    """Return the peak resident memory so far, in MB (10^6 bytes), of this process or of its largest child.

    For this process it is VmHWM, because ru_maxrss would include the memory of the parent process.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii").split()
    own = int(status[status.index("VmHWM:") + 1])
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) * 1024 / 1e6


class Clock:
    """A timer of a ``with`` block, whose CPU time includes descendant processes that are alive or were waited for."""

    def __enter__(self) -> None:
        self.cpu, self.began = cpu_seconds(), time.perf_counter()

    def __exit__(self, *error: object) -> None:
        self.figures = {"seconds": time.perf_counter() - self.began, "cpu_seconds": cpu_seconds() - self.cpu}


class Job(NamedTuple):
    """One measurement.

    Attributes:
        task: a key of `TASKS`.
        text: the file to train on or to encode.
        tokenizer: the folder of the tokenizer that encodes.
        vocab_size: the vocabulary size to train.
        output: an empty folder.
    """

    task: str
    text: str
    tokenizer: str
    vocab_size: int
    output: str = ""


def mws(job: Job) -> list[str]:
    """Return the arguments of the command `mws` that trains or encodes."""
    if job.task.startswith("encode"):
        return ["encode", job.tokenizer, job.text, "-o", f"{job.output}/ids", "--quiet"]
    classic = CLASSIC if job.task.endswith("classic") else ()
    size = str(job.vocab_size)
    return ["train", job.text, "--vocab-size", size, "-o", job.output, "--quiet", "--force", *classic]


def mws_train(job: Job, clock: Clock) -> Facts:
    """Run the command `mws train`; the modules that it would import during its work are imported beforehand."""
    import mws_hf.commands.train
    import mws_hf.corpus.counting
    import mws_hf.learn.classic
    import mws_hf.learn.evidence.posteriors
    import mws_hf.learn.phases
    import mws_hf.trainer  # noqa: F401
    from mws_hf.commands.app import app

    with clock:
        app(mws(job))
    made = json.loads(Path(f"{job.output}/tokenizer.json").read_text(encoding="utf-8"))
    return {"entries": len(made["model"]["vocab"])}


def tokenizers_train(job: Job, clock: Clock) -> Facts:
    """Train or count with `tokenizers` and the same split pattern; the library reads the file itself, for speed."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    from mws_hf.text.pattern import GPT4_PATTERN

    counting = job.task == "count/tokenizers"
    tokenizer = Tokenizer(models.WordLevel(unk_token="?") if counting else models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(GPT4_PATTERN), "isolated")
    maker = trainers.WordLevelTrainer if counting else trainers.BpeTrainer
    trainer = maker(vocab_size=0 if counting else job.vocab_size, show_progress=False)
    with clock:
        tokenizer.train([job.text], trainer)
        if not counting:
            tokenizer.save(f"{job.output}/tokenizer.json")
    return {"entries": tokenizer.get_vocab_size()}


def sentencepiece(job: Job, clock: Clock) -> Facts:
    """Train SentencePiece without normalization, which would take time, and without skipping long lines."""
    import sentencepiece as spm

    with clock:
        spm.SentencePieceTrainer.train(
            input=job.text, model_prefix=f"{job.output}/spm", model_type="bpe", vocab_size=job.vocab_size,
            hard_vocab_limit=False, byte_fallback=True, normalization_rule_name="identity", max_sentence_length=1 << 30,
            num_threads=os.cpu_count() or 1, minloglevel=2,
        )  # fmt: skip
    return {"entries": len(Path(f"{job.output}/spm.vocab").read_text(encoding="utf-8").split("\n")) - 1}


def mws_count(job: Job, clock: Clock) -> Facts:
    """Count the words of a text; the result is an in-memory table of sorted word counts."""
    from mws_hf.corpus.counting import count_files
    from mws_hf.text.pattern import GPT4_PATTERN

    with clock:
        counts = count_files(job.text, pattern=GPT4_PATTERN)
    return {"types": len(counts)}


def mws_to_disk(job: Job, clock: Clock) -> Facts:
    """Encode a text file to memory-mapped ids on disk; the measured time includes loading the tokenizer."""
    from mws_hf.encode.bulk import encode_corpus

    with clock:
        corpus = encode_corpus(job.tokenizer, job.text, Path(job.output) / "ids", separator=None)
    return {"tokens": corpus.n_tokens}


def mws_in_memory(job: Job, clock: Clock) -> Facts:
    """Encode text in memory to ids in memory, on all cores and without file access."""
    from mws_hf.corpus.sources import Source
    from mws_hf.encode.bulk import BLOCK_BYTES
    from mws_hf.encode.encoder import BlockEncoder
    from mws_hf.kernels.threads import thread_count
    from mws_hf.tokenizer.opened import open_tokenizer

    backend = open_tokenizer(job.tokenizer).backend
    blocks = list(Source.of(job.text).blocks(size=BLOCK_BYTES))
    with clock:
        encoder = BlockEncoder(backend)
        with ThreadPoolExecutor(thread_count()) as pool:
            tokens = sum(len(encoded.ids) for encoded in pool.map(encoder.encode, blocks))
    return {"tokens": tokens}


def encode_batch(job: Job, clock: Clock) -> Facts:
    """Encode lists of lines with `encode_batch` of `tokenizers`; the ids are not copied out of the Rust objects."""
    from tokenizers import Tokenizer

    encode = Tokenizer.from_file(f"{job.tokenizer}/tokenizer.json").encode_batch
    with open(job.text, encoding="utf-8", newline="\n") as stream:
        lines = list(stream)
    batches = [lines[i : i + BATCH] for i in range(0, len(lines), BATCH)]
    with clock:
        tokens = sum(sum(map(len, encode(batch, add_special_tokens=False))) for batch in batches)
    return {"tokens": tokens}


TASKS: dict[str, Callable[[Job, Clock], Facts]] = {
    "train/mws-classic": mws_train,
    "train/mws-contextual": mws_train,
    "train/tokenizers-bpe": tokenizers_train,
    "train/sentencepiece-bpe": sentencepiece,
    "count/mws": mws_count,
    "count/tokenizers": tokenizers_train,
    "encode/mws-disk": mws_to_disk,
    "encode/mws-memory": mws_in_memory,
    "encode/encode_batch": encode_batch,
}


def ours(task: str) -> bool:
    """Return whether a task measures mws_hf.

    Such a task runs twice in its process, and once more in a process with an empty kernel cache.
    """
    return "/mws" in task


def whole(job: Job) -> list[str]:
    """Return the command that a user would run for a task; for a baseline it runs this module without measuring."""
    if TASKS[job.task] in (mws_train, mws_to_disk):
        return [sys.executable, "-m", "mws_hf", *mws(job)]
    return [sys.executable, "-m", "lab.timing", json.dumps(job), "alone"]


def outcome(job: Job, *, cold: bool = False) -> Facts:
    """Measure a task twice: inside a process, and as a whole process.

    Args:
        job: the task and its files.
        cold: whether the folder of compiled kernels is empty at the start.

    Returns:
        `seconds`, `cpu_seconds` and `peak_mb` of the work after libraries are imported; `process_seconds` from the
        start of Python to its end; and for mws_hf also `again_seconds` of a second run in the same process. If the task
        fails, the result has `failed`, the reason.
    """
    found: Facts = {"load_before": round(os.getloadavg()[0], 2)}
    with tempfile.TemporaryDirectory() as within, tempfile.TemporaryDirectory() as alone:
        caches = [{"NUMBA_CACHE_DIR": f"{folder}/cache"} if cold else {} for folder in (within, alone)]
        jobs = [job._replace(output=f"{folder}/out") for folder in (within, alone)]
        for each in jobs:
            Path(each.output).mkdir()
        figures = run_module("lab.timing", json.dumps(jobs[0]), **caches[0])
        process = figures if "failed" in figures else timed(whole(jobs[1]), outside(**caches[1]))
    return found | (process if "failed" in process else figures | {"process_seconds": process["seconds"]})


def measure(job: Job) -> Facts:
    """Run a task, twice if it measures mws_hf; times exclude imports and loading, memory includes everything."""
    clock, again = Clock(), Clock()
    facts = TASKS[job.task](job, clock)
    found = clock.figures | {"peak_mb": peak_mb()}
    if ours(job.task):
        TASKS[job.task](job._replace(output=f"{job.output}/again"), again)
        found["again_seconds"] = again.figures["seconds"]
    return {name: round(value, 4) for name, value in found.items()} | facts


if __name__ == "__main__":
    wanted = Job(*json.loads(sys.argv[1]))
    if sys.argv[2] == "alone":
        TASKS[wanted.task](wanted, contextlib.nullcontext())
    else:
        Path(sys.argv[2]).write_text(json.dumps(measure(wanted)), encoding="utf-8")
