"""What `lab.experiments.benchmark` times, each in a process of its own: `python -m lab.timing JOB`.

A task imports its library and loads what is not measured, then returns the function whose run is. The result is the
last line that the process prints. `whole` is the command that a user would start for the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from lab.process import timed

Run = Callable[[], dict[str, Any]]
SCRIPTS = Path(__file__).resolve().parent.parent
_BATCH = 10_000  # lines: the encodings of a whole corpus at once would take gigabytes
_CLASSIC = ("--criterion", "classic", "--composition", "fill")


@dataclass(frozen=True)
class Job:
    """One measurement: the task, its text, an empty folder, the tokenizer that encoding uses, entries to train."""

    task: str
    text: str
    output: str
    tokenizer: str
    vocab_size: int


def mws_train(job: Job, options: tuple[str, ...] = ()) -> Run:
    """`mws train`, the command itself; imports done beforehand are those it makes while it works."""
    import mws_hf.commands.train
    import mws_hf.corpus.counting
    import mws_hf.learn.classic.learner
    import mws_hf.learn.compositions
    import mws_hf.learn.evidence.posteriors
    import mws_hf.trainer  # noqa: F401
    from mws_hf.commands.app import app

    def run() -> dict[str, Any]:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            app([*_train(job), *options])
        made = (Path(job.output) / "tokenizer.json").read_bytes()
        told = json.loads(printed.getvalue())
        return {"entries": told["vocab_size"], "digest": hashlib.sha256(made).hexdigest()[:16]}

    return run


def _train(job: Job) -> list[str]:
    return [
        "train",
        job.text,
        "--vocab-size",
        str(job.vocab_size),
        "--output",
        job.output,
        "--quiet",
        "--json",
        "--force",
    ]


def rust_train(job: Job, kind: str) -> Run:
    """A trainer of `tokenizers` under the same split pattern; it reads the file itself, the fastest way it has."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    from mws_hf.text.pattern import GPT4_PATTERN

    counting = kind == "count"
    tokenizer = Tokenizer(models.WordLevel(unk_token="?") if counting else models.BPE())
    maker = trainers.WordLevelTrainer if counting else trainers.BpeTrainer
    trainer = maker(vocab_size=0 if counting else job.vocab_size, show_progress=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(GPT4_PATTERN), "isolated")

    def run() -> dict[str, Any]:
        tokenizer.train([job.text], trainer)
        if not counting:
            tokenizer.save(str(Path(job.output) / "tokenizer.json"))
        return {"entries": tokenizer.get_vocab_size()}

    return run


def sentencepiece(job: Job) -> Run:
    """SentencePiece on the file, without normalization (it would cost it time) and without leaving out long lines."""
    import sentencepiece as spm

    def run() -> dict[str, Any]:
        prefix = str(Path(job.output) / "spm")
        spm.SentencePieceTrainer.train(
            input=job.text, model_prefix=prefix, model_type="bpe", vocab_size=job.vocab_size, hard_vocab_limit=False,
            byte_fallback=True, normalization_rule_name="identity", max_sentence_length=1 << 30,
            num_threads=os.cpu_count() or 1, minloglevel=2,
        )  # fmt: skip
        return {"entries": len(Path(f"{prefix}.vocab").read_text(encoding="utf-8").split("\n")) - 1}

    return run


def mws_count(job: Job) -> Run:
    """Our counting, to the sorted word counts in memory."""
    from mws_hf.corpus.counting import count_files
    from mws_hf.text.pattern import GPT4_PATTERN

    def run() -> dict[str, Any]:
        counts = count_files(job.text, pattern=GPT4_PATTERN)
        return {"types": len(counts), "digest": f"{len(counts)}-{int(counts.counts.sum())}"}

    return run


def mws_to_disk(job: Job) -> Run:
    """Text file to memory-mapped ids on disk, loading of the tokenizer included."""
    from mws_hf.encode.bulk import encode_corpus

    def run() -> dict[str, Any]:
        corpus = encode_corpus(job.tokenizer, job.text, Path(job.output) / "ids", separator=None)
        return {"tokens": corpus.n_tokens, "digest": str(corpus.n_tokens)}

    return run


def mws_in_memory(job: Job) -> Run:
    """Text in memory to ids in memory on all cores: the kernel without reading and writing."""
    from mws_hf.corpus.sources import Source
    from mws_hf.encode.bulk import BLOCK_BYTES
    from mws_hf.encode.encoder import BlockEncoder
    from mws_hf.kernels.threads import thread_count
    from mws_hf.tokenizer.opened import open_tokenizer

    backend = open_tokenizer(job.tokenizer).backend
    blocks = list(Source.of(job.text).blocks(size=BLOCK_BYTES))

    def run() -> dict[str, Any]:
        encoder = BlockEncoder(backend)
        with ThreadPoolExecutor(thread_count()) as pool:
            tokens = sum(len(encoded.ids) for encoded in pool.map(encoder.encode, blocks))
        return {"tokens": tokens, "digest": str(tokens)}

    return run


def encode_batch(job: Job) -> Run:
    """`encode_batch` on lists of lines; ids stay in the Rust objects."""
    from tokenizers import Tokenizer

    backend = Tokenizer.from_file(str(Path(job.tokenizer) / "tokenizer.json"))
    with open(job.text, encoding="utf-8", newline="\n") as stream:
        lines = list(stream)
    batches = [lines[i : i + _BATCH] for i in range(0, len(lines), _BATCH)]
    encode = backend.encode_batch
    return lambda: {"tokens": sum(sum(map(len, encode(batch, add_special_tokens=False))) for batch in batches)}


TASKS: dict[str, Callable[[Job], Run]] = {
    "train/mws-classic": partial(mws_train, options=_CLASSIC),
    "train/mws-contextual": mws_train,
    "train/tokenizers-bpe": partial(rust_train, kind="bpe"),
    "train/sentencepiece-bpe": sentencepiece,
    "count/mws": mws_count,
    "count/tokenizers": partial(rust_train, kind="count"),
    "encode/mws-disk": mws_to_disk,
    "encode/mws-memory": mws_in_memory,
    "encode/encode_batch": encode_batch,
}


def ours(task: str) -> bool:
    """Whether a task is ours: run once cold, and its output must not differ between runs."""
    return "/mws" in task


def whole(job: Job) -> list[str]:
    """The command that a user would start for a task; a rival's script has nothing around the task."""
    python = [sys.executable, "-m"]
    if job.task.startswith("train/mws"):
        return [*python, "mws_hf", *_train(job), *(_CLASSIC if job.task.endswith("classic") else ())]
    if job.task == "encode/mws-disk":
        return [*python, "mws_hf", "encode", job.tokenizer, job.text, "-o", job.output + "/ids", "--quiet"]
    return [*python, "lab.timing", json.dumps(asdict(job)), "alone"]


def outcome(job: Job, *, cold: bool = False) -> dict[str, Any]:
    """Measure a task twice, from within and as a whole process; `cold`: with an empty folder of compiled kernels.

    Returns:
        `seconds`, `cpu_seconds` and `peak_mb` with libraries imported; of ours `again_seconds`, of a second run in the
        process; `process_seconds` from the start of Python to its end; or `failed`, the reason.
    """
    found: dict[str, Any] = {"load_before": round(os.getloadavg()[0], 2)}
    with tempfile.TemporaryDirectory(prefix="lab-timing-") as folder:
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(SCRIPTS), str(SCRIPTS.parent)]),
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "true",
        }
        for name in ("within", "alone"):
            if cold:
                environment["NUMBA_CACHE_DIR"] = f"{folder}/cache-{name}"
            own = replace(job, output=f"{folder}/{name}")
            Path(own.output).mkdir()
            told = Path(folder) / "told.json"
            within = [sys.executable, "-m", "lab.timing", json.dumps(asdict(own)), str(told)]
            process = timed(within if name == "within" else whole(own), environment)
            if "failed" in process:
                return found | process
            found |= json.loads(told.read_text("utf-8")) if name == "within" else {}
            found["process_seconds"] = process["seconds"]
    return found


def measure(job: Job) -> dict[str, Any]:
    """Run a task; times exclude imports and what is loaded before, memory includes everything."""
    run = TASKS[job.task](job)
    cpu, began = cpu_seconds(), time.perf_counter()
    facts = run()
    found = {"seconds": time.perf_counter() - began, "cpu_seconds": cpu_seconds() - cpu, "peak_mb": peak_mb()}
    if ours(job.task):
        second = replace(job, output=job.output + "/again")
        Path(second.output).mkdir()
        run = TASKS[job.task](second)
        began = time.perf_counter()
        again = run()
        found["again_seconds"] = time.perf_counter() - began
        if again != facts:
            raise ValueError(f"a second run in the same process gave {again} after {facts}")
    return {name: round(value, 4) for name, value in found.items()} | facts


def cpu_seconds() -> float:
    """Processor time of this process, its threads and its finished children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def peak_mb() -> float:
    """Largest resident memory of this process or of a child of it so far, in MB (10^6 bytes)."""
    unit = 1 if sys.platform == "darwin" else 1024
    own, children = (resource.getrusage(x).ru_maxrss * unit for x in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    with contextlib.suppress(OSError), open("/proc/self/status", encoding="ascii") as status:
        # on Linux ru_maxrss starts at what the parent had when it started this process, VmHWM at 0
        own = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    return max(own, children) / 1e6


if __name__ == "__main__":
    wanted = Job(**json.loads(sys.argv[1]))
    if sys.argv[2] == "alone":
        TASKS[wanted.task](wanted)()
    else:
        Path(sys.argv[2]).write_text(json.dumps(measure(wanted)), encoding="utf-8")
