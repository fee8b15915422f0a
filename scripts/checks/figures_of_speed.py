"""Compute figures of speed and memory, on one machine and on clusters, for `figures.py`."""

from __future__ import annotations

from statistics import median

from checks.rows import Figures, columns, medians, results
from lab.tables import tabulated, where

_TABLE_ROW_BYTES = 29
"""The mean number of bytes of a word and its count in a partial table of counts."""


def speed() -> Figures:
    """Median seconds of whole processes, and ratios of these medians."""
    for name, title in (("trainers", "training"), ("encoders", "encoding")):
        found = medians(name)
        lines = (
            {"seconds": each} | {text.replace(" entries", ""): f"{of[each]:.1f}" for text, of in found.items()}
            for each in next(iter(found.values()))
        )
        yield title, tabulated(lines)
    large, small = medians("trainers").values()
    ours, unigram = "mws train, contextual", "SentencePiece Unigram (its own rules)"
    for name, each in (("mws", ours), ("bytes", "tokenizers BpeTrainer, bytes"), ("unigram", unigram)):
        yield f"train.{name}", f"{large[each]:.1f}"
    yield "train.bytes.times", f"{large['tokenizers BpeTrainer, bytes'] / large[ours]:.1f}"
    yield "train.small.unigram", f"{small[ours] / small[unigram]:.1f}"
    warm = columns("benchmark", "process_seconds", "text", "task", cache="warm")
    tasks = {
        "bench.mws": ("Russian", "train/mws-contextual"),
        "bench.characters": ("Russian", "train/tokenizers-bpe"),
        "bench.classic": ("Russian", "train/mws-classic"),
        "bench.sentencepiece": ("Russian", "train/sentencepiece-bpe"),
        "bench.count": ("Russian", "count/mws"),
        "bench.count.tokenizers": ("Russian", "count/tokenizers"),
        "bench.encode": ("Russian", "encode/mws-disk"),
        "bench.encode_batch": ("Russian", "encode/encode_batch"),
        "gb.mws": ("Russian, words drawn anew", "train/mws-contextual"),
        "gb.characters": ("Russian, words drawn anew", "train/tokenizers-bpe"),
    }
    seconds = {name: median(warm[task]) for name, task in tasks.items()}
    yield from ((name, f"{value:.1f}") for name, value in seconds.items())
    for text in ("bench", "gb"):
        yield f"{text}.times", f"{seconds[f'{text}.characters'] / seconds[f'{text}.mws']:.1f}"
    yield "encode.times", f"{seconds['bench.encode_batch'] / seconds['bench.encode']:.0f}"


def memory() -> Figures:
    """Peak memory of trainers in MB, and seconds of the first training with an empty kernel cache."""
    tasks = {"mws": "train/mws-contextual", "classic": "train/mws-classic", "bpe": "train/tokenizers-bpe"}
    peak = columns("benchmark", "peak_mb", "task", text="Russian", cache="warm")
    cold = columns("benchmark", "process_seconds", "task", text="Russian", cache="cold")
    for name, task in tasks.items():
        yield f"peak.{name}", f"{median(peak[task]):.0f}"
        if name != "bpe":
            yield f"cold.{name}", f"{median(cold[task]):.0f}"


def large_texts() -> Figures:
    """Seconds and gigabytes of training on a gigabyte, and on eight languages."""
    for name, text in (("gb", "Russian, words drawn anew"), ("eight", "eight languages")):
        rows = {row["task"]: row for row in where(results("benchmark"), text=text, cache="warm")}
        for system, task in (("mws", "train/mws-contextual"), ("characters", "train/tokenizers-bpe")):
            if name == "eight":  # `speed` yields the seconds for a gigabyte
                yield f"eight.{system}.seconds", f"{rows[task]['process_seconds']:.1f}"
            yield f"{name}.{system}.gigabytes", f"{rows[task]['peak_mb'] / 1000:.1f}"
    yield "encoded.ids", f"{results('encoders')[0]['ids'] / 1e6:.1f}"


def clusters() -> Figures:
    """Counting and encoding on one machine and on clusters, and the time for a terabyte on 16 cores."""
    of = {(row["task"], row["how"]): row for row in results("distributed")}
    count = of["count", "local"]
    yield "cluster.megabytes", f"{count['mb']:.0f}"
    yield "cluster.shuffled", f"{100 * _TABLE_ROW_BYTES * count['types'] / (1e6 * count['mb']):.0f}"
    lines = []
    for task in ("count", "encode"):
        for how, title in (("local", "one machine"), ("spark", "Spark")):
            speed = of[task, how]["mb"] / of[task, how]["cpu_seconds"]
            hours = 1e6 / speed / 3600
            lines.append({
                "": f"{task}, {title}",
                "MB per CPU second": f"{speed:.0f}",
                "core-hours per terabyte (extrapolated)": f"{hours:.{1 if hours < 10 else 0}f}",
            })  # fmt: skip
        speed = of[task, "local"]["mb"] / of[task, "local"]["cpu_seconds"]
        yield f"cluster.{task}.local", f"{speed:.0f}"
        yield f"cluster.{task}.minutes", f"{1e6 / speed / 60 / 16:.0f}"
        yield f"cluster.{task}.disk", f"{16 * speed / 1000:.1f}"
        yield f"cluster.{task}.ray", f"{of[task, 'ray']['seconds'] / of[task, 'local']['seconds']:.1f}"
    yield "cluster", tabulated(lines)
