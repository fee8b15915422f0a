"""Write the page and the picture of a comparison of language models from its rows, with confidence intervals.

An interval covers two sources of chance: the seeds, and the choice of held-out works. A bootstrap over three seeds
would give only two thirds of the variance of their mean, so that an interval called "95 %" would cover 85 to 90 %.
Therefore the variance of a mean over seeds is estimated as s^2 / n for each system, and the quantile is that of
Student's t with the degrees of freedom of Welch and Satterthwaite. A bootstrap over held-out works, with the same works
for both systems, adds the variance of the text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, variance
from typing import Any

import numpy as np
from lab.cells import RESULTS, Row, rows_of
from lab.systems import MORPH_BPE, UNIGRAM
from lab.tables import tabulated, welch, where

from lm.config import SEEN, UNSEEN
from lm.plan import MB, PRESETS, Preset
from mws_hf.compare.picture import save
from mws_hf.kernels import Doubles

RESAMPLES = 2000
KEY = ("system", "vocabulary", "flop_matched")
"""The columns that all runs in one line of the table share; these runs differ only in the seed."""
MAIN = (
    "The table shows bits per byte on held-out text, as a mean over seeds. Whole works are held out (lm_*.works.json "
    "lists them), and the rates at the end of this page are compared on other works. Differences are in percent, with "
    "a 95 % t interval over the seeds of both systems and over works. If a system has only one seed, its variance is "
    "estimated from the systems with several seeds; if there are none, the interval covers only the choice of works. "
    "*Peak rate* is the learning rate at which a system is reported: the rate planned for all systems, or its own rate "
    "if that was better. *Seen* and *unseen* are bits per byte over running words whose form is in the training text, "
    "or is not. *Hours* are processor hours of the training; of runs that were interrupted before December 2026 only "
    "the hours after the interruption are known."
)
LANGUAGES = {"rus": "Russian", "hun": "Hungarian", "deu": "German", "eng": "English"}
STYLES = {
    "mws": ("MwS, default", "#d55e00"),
    "mws-finer": ("MwS, finer segmentation", "#ff9966"),
    "mws-capitals": ("MwS, uppercase as a marker", "#e69f00"),
    "mws-shuffled": ("MwS, shuffled probabilities", "#999999"),
    "mws-no-evidence": ("MwS, no boundary probabilities", "#bbbbbb"),
    "mws-price0": ("MwS, no penalty", "#cc79a7"),
    "mws-counts": ("MwS, morphs by frequency", "#882255"),
    "mws-superwords": ("MwS, superwords by t × PMI²", "#f0a060"),
    MORPH_BPE: ("MorphBPE", "#44aa99"),
    UNIGRAM: ("SentencePiece Unigram", "#0072b2"),
    "bpe-byte": ("byte-level BPE", "#117733"),
}
"""The name and the color of each system in the picture."""


def bits_of(row: Row) -> float:
    """Return the bits per byte of a run on held-out text."""
    return float(row["evaluation"]["bits_per_byte"])


def hours_of(rows: Sequence[Row]) -> float:
    """Return the processor hours of the training of all runs together."""
    return float(sum(row["training"]["cpu_seconds"] for row in rows)) / 3600


def summary(preset: Preset, rows: Sequence[Row]) -> list[Row]:
    """Return one line per system, vocabulary size and budget, from its runs at the rate at which it is reported.

    Each line has the columns of `KEY` and these:

    * ``runs``: rows of the runs, which differ only in the seed;
    * ``by_seed`` and ``bits``: bits per byte of each run, and their mean;
    * ``flops``: operations of the first run, divided by those of the first reference, or None without reference;
    * ``against``: for each reference, the difference of bits in percent and the ends of its interval.

    Lines are in the order of training text, vocabulary size and bits.
    """
    lines: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["learning_rate"] == preset.rate_of(row["system"]):
            lines.setdefault(tuple(row[name] for name in KEY), []).append(row)
    noise = seed_noise([[bits_of(row) for row in runs] for runs in lines.values()])
    found = []
    for key, runs in lines.items():
        bases = {name: lines.get((name, key[1], False)) for name in preset.references}
        first, base = runs[0]["training"], bases[preset.references[0]]
        against = {name: difference(runs, other, noise) for name, other in bases.items() if other and other is not runs}
        flops = first["flops"] / base[0]["training"]["flops"] if base else None
        bits = [bits_of(row) for row in runs]
        line = {"runs": runs, "by_seed": bits, "bits": fmean(bits), "flops": flops, "against": against}
        found.append(dict(zip(KEY, key, strict=True)) | line)
    return sorted(
        found, key=lambda line: (line["runs"][0]["training"]["train_bytes"], line["vocabulary"], line["bits"])
    )


def difference(first: list[Row], second: list[Row], noise: tuple[float, int] = (0.0, 1)) -> list[float]:
    """Return by how many percent the bits of one system differ from those of another, and the ends of the interval.

    Args:
        first: rows of the system.
        second: rows of the system it is compared with; the number of runs may differ.
        noise: result of `seed_noise`, for systems that have only one run.
    """
    n_bytes = np.array(first[0]["n_bytes"], np.float64)
    sides = [np.array([row["nats"] for row in side]) / math.log(2) for side in (first, second)]
    bits = [(side.sum(axis=1) / n_bytes.sum()).tolist() for side in sides]
    parts = [(variance(each) / len(each), len(each) - 1) if len(each) > 1 else noise for each in bits]
    half = welch(parts, text_variance(sides[0].mean(axis=0) - sides[1].mean(axis=0), n_bytes))
    means = [fmean(each) for each in bits]
    value = means[0] - means[1]
    return [100 * each / means[1] for each in (value, value - half, value + half)]


def seed_noise(systems: Sequence[Sequence[float]]) -> tuple[float, int]:
    """Estimate the variance of a run around the mean of its system, pooled over systems.

    Args:
        systems: for each system, bits per byte of each seed; systems with one seed are ignored.

    Returns:
        The variance and its degrees of freedom, or (0, 1) if no system has two seeds.

    >>> seed_noise([[1.0, 3.0], [5.0], [2.0, 2.0]])
    (1.0, 2)
    """
    several = [each for each in systems if len(each) > 1]
    freedom = sum(len(each) - 1 for each in several)
    return (sum(variance(each) * (len(each) - 1) for each in several) / freedom, freedom) if freedom else (0.0, 1)


def text_variance(bits: Doubles, n_bytes: Doubles) -> float:
    """Estimate the variance of bits per byte by drawing works with replacement.

    Args:
        bits: for each work, its bits, or the difference in bits between two systems.
        n_bytes: for each work, its length in bytes.

    >>> text_variance(np.array([5.0, 5.0]), np.array([10.0, 10.0]))
    0.0
    """
    generator = np.random.Generator(np.random.PCG64(0))
    drawn = (generator.random((RESAMPLES, len(bits))) * len(bits)).astype(np.int64)
    return float((bits[drawn].sum(axis=1) / n_bytes[drawn].sum(axis=1)).var())


def table(preset: Preset, rows: list[Row]) -> Iterator[str]:
    """Yield the parts of a preset's page: what was run, the main table, and bits by learning rate on other works."""
    done = {tuple(row[name] for name in preset.runs[0]) for row in rows}
    due = len({tuple(run.values()) for run in preset.runs} - done)
    settings = ", ".join(f"{key} {value}" for key, value in preset.settings.items())
    weights = rows[0]["training"]
    yield (
        f"**{len(rows)} runs are done, and {due} of the plan are due.** Settings: {settings}. Parameters: "
        f"{weights['non_embedding_parameters']} without the embedding, {weights['embedding_parameters']} in the tied "
        f"embedding. Stamps of the code: {', '.join(sorted({row['code'] for row in rows}))}."
    )
    yield MAIN
    yield tabulated(_columns(preset, line) for line in summary(preset, rows))
    tried = where(rows, seed=0, flop_matched=False, vocabulary=preset.vocabulary)
    bits = {(row["system"], row["learning_rate"]): f"{row['evaluation']['development']:.4f}" for row in tried}
    rates = sorted({rate for _, rate in bits})
    text = {"text": f"{preset.settings['train_bytes'] / MB:.0f} MB"}
    yield "Bits per byte by peak learning rate, seed 0:"
    yield tabulated(
        {"tokenizer": name} | text | {f"{rate:g}": bits.get((name, rate), "") for rate in rates}
        for name in sorted({name for name, _ in bits})
    )


def _columns(preset: Preset, line: Row) -> dict[str, str]:
    runs, by_seed = line["runs"], line["by_seed"]
    training, evaluation = runs[0]["training"], runs[0]["evaluation"]
    weights = training["non_embedding_parameters"] + training["embedding_parameters"]
    against = {name: "{:+.2f} % [{:+.2f}, {:+.2f}]".format(*found) for name, found in line["against"].items()}
    words = [row["evaluation"]["groups"] for row in runs]
    return {
        "tokenizer": line["system"] + ", FLOP-matched" * line["flop_matched"],
        "vocabulary": str(line["vocabulary"]),
        "peak rate": f"{preset.rate_of(line['system']):g}",
        "seeds": str(len(runs)),
        "bytes/token": f"{training['bytes_per_token']:.2f}",
        "tokens/weight": f"{training['train_tokens'] / weights:.1f}",
        "FLOPs": f"x{line['flops']:.2f}" if line["flops"] else "",
        "bits per byte": f"{line['bits']:.4f}",
        "hours": f"{hours_of(runs):.1f}",
        "spread": f"{max(by_seed) - min(by_seed):.4f}" if len(runs) > 1 else "",
        **{f"against {name}": against.get(name, "") for name in preset.references},
        "lossless": f"{evaluation['documents_represented'] / evaluation['documents']:.1%}",
        "seen": f"{fmean(each[SEEN]['bits_per_byte'] for each in words):.4f}",
        "unseen": f"{fmean(each[UNSEEN]['bits_per_byte'] for each in words):.4f}",
    }


def write_picture(results: Path = RESULTS) -> None:
    """Write lm.png: a panel per preset that has rows, a line per system (the best at the top) and a dot per seed."""
    shown = [(name, preset, summary(preset, rows_of(f"lm_{name}", results))) for name, preset in PRESETS.items()]
    shown = [each for each in shown if each[2]]
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(len(shown), 1, figsize=(7, 2.9 * len(shown)), squeeze=False)
    for axis, (name, preset, lines) in zip(axes.flat, shown, strict=True):
        _draw_seeds(axis, preset, where(lines, vocabulary=preset.vocabulary, flop_matched=False))
        text = f"{LANGUAGES[preset.language]}, {preset.settings['train_bytes'] / MB:.0f} MB"
        axis.set_title(f"Preset {name}: {text}", fontsize=9)
    figure.tight_layout()
    save(figure, results / "lm.png")
    pyplot.close(figure)


def _draw_seeds(axis: Any, preset: Preset, lines: list[Row]) -> None:
    """Draw one panel; the difference from the first reference is written above the mean of the seeds."""
    lines = sorted(lines, key=lambda line: -line["bits"])
    for height, line in enumerate(lines):
        color, mean = STYLES[line["system"]][1], line["bits"]
        axis.plot(line["by_seed"], [height] * len(line["by_seed"]), "o", color=color, alpha=0.75, markersize=6)
        axis.plot(mean, height, "|", color=color, markersize=16, markeredgewidth=1.5)
        if found := line["against"].get(preset.references[0]):
            text = f"{found[0]:+.1f} %"
            axis.annotate(text, (mean, height), (0, 10), textcoords="offset points", ha="center", fontsize=7)
    axis.set_yticks(range(len(lines)), [STYLES[line["system"]][0] for line in lines], fontsize=8)
    axis.set(ylim=(-0.6, len(lines) - 0.1), xlabel="← better     bits per byte (dots: seeds, line: mean)")
    axis.margins(x=0.12)
    axis.grid(axis="x", alpha=0.3)
