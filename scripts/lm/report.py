"""Tables of the runs that `python scripts/lm compare` has finished, and intervals of their differences.

Resampling three seeds gives two thirds of the variance of their mean, and "95 %" then covers 85 to 90 %. So the
variance of a mean over seeds is estimated as usual, s^2 / n for each system, and the quantile is that of Student with
the degrees of freedom of Welch and Satterthwaite. Held-out text adds the variance of a bootstrap over works, both
systems on the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from lab.tables import student_quantile

from lm.plan import MB, Preset, plan, tuned_rates
from lm.records import Finished, Records
from lm.scoring import SEEN, UNSEEN
from mws_hf.atomic import write_text
from mws_hf.evaluate.evaluation import json_text
from mws_hf.kernels import Doubles, Longs
from mws_hf.text.markdown import markdown_table

RESAMPLES = 2000
MAIN = (
    "Bits per byte on held-out text, mean over seeds; {held_out} Differences in percent with a 95 % t interval over "
    "all seeds of both systems, and over works or documents. Where a system has one seed, the spread of the others "
    "stands for its own (that of documents alone, while no system has two). *Peak rate*: the one planned for all, else "
    "the best of the sweep on seed 0 as far as it has come. *Seen*, *unseen*: bits per byte over running words whose "
    "form training text held, or not."
)


class Key(NamedTuple):
    """What runs of one row share; they differ in the seed alone."""

    system: str
    vocabulary: int
    flop_matched: bool


def write_report(name: str, preset: Preset, records: Records, results: Path) -> None:
    """Write lm_NAME.json and .md of everything finished so far."""
    groups = grouped(records, preset.rate)
    rows = [_row(key, groups, preset.references, records) for key in groups]
    rows.sort(key=lambda row: (row["train_bytes"], row["vocabulary"], row["bits_per_byte"]))
    wanted = plan(preset, records.tuning())
    state = {"done": len(records.runs), "due": sum(run not in records.runs for run in wanted)}
    rates = tuned_rates(preset, records.tuning())
    sweep = {system: {f"{rate:g}": bits for rate, bits in found.items()} for system, found in rates.items()}
    document = {"preset": name, "settings": preset.settings, "runs": state, "sweep": sweep, "rows": rows}
    write_text(results / f"lm_{name}.json", json_text(document))
    parts = [
        f"# Language models over tokenizers, preset {name}",
        f"**{state['done']} runs done, {state['due']} of the plan due.** {_about(preset, records)}",
        _main_table(rows, preset),
        _sweep_table(records),
    ]
    write_text(results / f"lm_{name}.md", "\n\n".join(part for part in parts if part) + "\n")


def grouped(records: Records, planned: float | None = None) -> dict[Key, list[Finished]]:
    """Runs by row, by seed, all at one learning rate.

    That is the rate planned for all, else the one that is best on the first seed; runs of equal operations have the
    rate of those of equal bytes if there is a run at it, else the best that was tried.
    """
    found: dict[Key, list[Finished]] = {}
    for entry in records.runs.values():
        run = entry.run
        found.setdefault(Key(run.system, run.vocabulary, run.flop_matched), []).append(entry)
    result = {}
    for key, entries in found.items():
        main = found.get(key._replace(flop_matched=False), [])
        rates = {entry.run.learning_rate for entry in entries}
        best = planned or (_best(main) if main else None)
        rate = best if best in rates else _best(entries)
        kept = [entry for entry in entries if entry.run.learning_rate == rate]
        result[key] = sorted(kept, key=lambda entry: entry.run.seed)
    return result


def _best(entries: list[Finished]) -> float | None:
    """The rate that is best on the first seed."""
    first = min(entry.run.seed for entry in entries)
    tried = [entry for entry in entries if entry.run.seed == first]
    return min(tried, key=lambda entry: (math.isnan(entry.tuning), entry.tuning)).run.learning_rate


def difference(
    runs: list[Finished], base: list[Finished], records: Records, noise: tuple[float, int]
) -> Interval | None:
    """Compare two rows over all their seeds; None where a tokenizer loses text."""
    if not all(entry.evaluation["lossless"] for entry in (*runs, *base)):
        return None
    nats = [np.mean([entry.nats for entry in side], axis=0) for side in (runs, base)]
    text = text_variance(nats[0] - nats[1], records.n_bytes)
    bits = [[float(entry.nats.sum() / records.n_bytes.sum() / math.log(2)) for entry in side] for side in (runs, base)]
    return seeds_difference(*bits, text, noise)


def _row(key: Key, groups: dict[Key, list[Finished]], references: tuple[str, ...], records: Records) -> dict[str, Any]:
    runs = groups[key]
    first, training = runs[0], runs[0].training
    values = [entry.bits for entry in runs]
    bases = {name: groups.get(key._replace(flop_matched=False, system=name)) for name in references}
    base = bases[references[0]]
    noise = seed_noise([[entry.bits for entry in each] for each in groups.values()])
    weights = training["non_embedding_parameters"] + training["embedding_parameters"]
    return {
        **key._asdict(),
        "train_bytes": training["train_bytes"],
        "learning_rate": first.run.learning_rate,
        "seeds": len(runs),
        "by_seed": values,
        "bytes_per_token": training["bytes_per_token"],
        "tokens_per_weight": training["train_tokens"] / weights,
        "relative_flops": training["flops"] / base[0].training["flops"] if base else None,
        "bits_per_byte": float(np.mean(values)),
        "spread": max(values) - min(values) if len(values) > 1 else None,
        "differences": {
            name: found._asdict()
            for name, other in bases.items()
            if other and other is not runs and (found := difference(runs, other, records, noise)) is not None
        },
        "represented": first.evaluation["documents_represented"] / first.evaluation["documents"],
        "seen": _mean(entry.evaluation["groups"].get(SEEN, {}).get("bits_per_byte") for entry in runs),
        "unseen": _mean(entry.evaluation["groups"].get(UNSEEN, {}).get("bits_per_byte") for entry in runs),
    }


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None and not math.isnan(value)]
    return float(np.mean(known)) if known else None


def _about(preset: Preset, records: Records) -> str:
    settings = ", ".join(f"{key} {value}" for key, value in preset.settings.items())
    sizes = next(iter(records.runs.values())).training if records.runs else {}
    revisions = sorted({entry.tokenizer["revision"] for entry in records.runs.values()})
    return (
        f"Settings: {settings}. Weights besides the embedding {sizes.get('non_embedding_parameters')}, of the tied "
        f"embedding {sizes.get('embedding_parameters')}. Revisions of the tokenizers: {', '.join(revisions)}. "
        "Written by `python scripts/lm compare`."
    )


def _main_table(rows: list[dict[str, Any]], preset: Preset) -> str:
    if not rows:
        return "No run is done yet."
    header = ["tokenizer", "vocabulary", "peak rate", "seeds", "bytes/token", "tokens/weight", "FLOPs",
              "bits per byte", "spread", *(f"against {name}" for name in preset.references), "lossless", "seen",
              "unseen"]  # fmt: skip
    lines = [
        [
            *(row["system"] + ", FLOP-matched" * row["flop_matched"], str(row["vocabulary"])),
            *(f"{row['learning_rate']:g}", str(row["seeds"])),
            *(f"{row['bytes_per_token']:.2f}", f"{row['tokens_per_weight']:.1f}"),
            "" if row["relative_flops"] is None else f"x{row['relative_flops']:.2f}",
            *(_number(row["bits_per_byte"]), _number(row["spread"])),
            *(_interval(row["differences"].get(name)) for name in preset.references),
            *(f"{row['represented']:.1%}", _number(row["seen"]), _number(row["unseen"])),
        ]
        for row in rows
    ]
    return f"{MAIN.format(held_out=_held_out(preset))}\n\n{markdown_table(header, lines)}"


def _held_out(preset: Preset) -> str:
    chosen = "rates are chosen on other works"
    if preset.rate is not None:
        chosen = "the rate is the best of the sweeps on single lines; the sweep below is on works kept for that"
    return f"whole works are held out, and {chosen} (lists: lm_*.works.json)."


def _sweep_table(records: Records) -> str:
    """Bits per byte by peak rate, wherever a system was trained at several, and of the main table in any case."""
    found: dict[tuple[int, str], dict[float, float]] = {}
    for run, entry in records.runs.items():
        if run.seed == 0 and not run.flop_matched and run.learning_rate:
            key = (round(entry.training["train_bytes"] / MB), run.system)
            found.setdefault(key, {})[run.learning_rate] = entry.tuning
    rates = sorted({rate for measured in found.values() for rate in measured})
    lines = [
        [system, f"{size} MB", *(_number(measured.get(rate)) for rate in rates)]
        for (size, system), measured in sorted(found.items(), key=lambda item: item[0])
    ]
    header = ["tokenizer", "text", *(f"{rate:g}" for rate in rates)]
    return "Bits per byte by peak learning rate, seed 0:\n\n" + markdown_table(header, lines) if lines else ""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _interval(difference: dict[str, float] | None) -> str:
    """A difference in percent of the reference, with its interval."""
    if difference is None:
        return ""
    scale = 100 * difference["relative"] / difference["value"] if difference["value"] else 0.0
    low, high = difference["low"] * scale, difference["high"] * scale
    return f"{100 * difference['relative']:+.2f} % [{low:+.2f}, {high:+.2f}]"


class Interval(NamedTuple):
    """A difference in bits per byte, the ends of its 95 % interval, and the difference over the second's bits."""

    value: float
    low: float
    high: float
    relative: float


def seed_noise(systems: Sequence[Sequence[float]]) -> tuple[float, int]:
    """Variance of a run around the mean of its system, pooled over systems, and its degrees of freedom.

    Args:
        systems: bits per byte of each seed, of each system; those of one seed say nothing.

    Returns:
        Nothing known, where no system has two seeds, is (0, 1).

    >>> seed_noise([[1.0, 3.0], [5.0], [2.0, 2.0]])
    (1.0, 2)
    """
    several = [np.array(each) for each in systems if len(each) > 1]
    freedom = sum(len(each) - 1 for each in several)
    squares = sum(float(((each - each.mean()) ** 2).sum()) for each in several)
    return (squares / freedom, freedom) if freedom else (0.0, 1)


def seeds_difference(
    first: Sequence[float], second: Sequence[float], text: float, noise: tuple[float, int] = (0.0, 1)
) -> Interval:
    """Compare two systems by the means of all their runs, with a 95 % t interval.

    Args:
        first: bits per byte of each run of the first system.
        second: the same for the second; the number of runs may differ.
        text: variance of the difference that the held-out text adds (`text_variance`).
        noise: from `seed_noise`, for systems that have one run.

    >>> found = seeds_difference([0.9, 1.1], [1.8, 2.2], 0.0)
    >>> round(found.value, 6), round(found.relative, 6), found.low < -1 < found.high
    (-1.0, -0.5, True)
    """
    sides = [np.array(side) for side in (first, second)]
    parts = [(float(x.var(ddof=1)) / len(x), len(x) - 1) if len(x) > 1 else noise for x in sides]
    total = sum(variance for variance, _ in parts) + text
    doubt = sum(variance**2 / freedom for variance, freedom in parts)
    half = student_quantile(0.975, min(1e6, total**2 / doubt) if doubt else 1e6) * math.sqrt(total)
    means = [float(x.mean()) for x in sides]
    value = means[0] - means[1]
    return Interval(value, value - half, value + half, value / means[1])


def text_variance(nats: Doubles, n_bytes: Longs) -> float:
    """Variance of bits per byte when works, or lines, are drawn with replacement; `nats` is a difference of two sides.

    >>> text_variance(np.array([7.0, 7.0]), np.array([10, 10]))
    0.0
    """
    generator = np.random.Generator(np.random.PCG64(0))
    drawn = (generator.random((RESAMPLES, len(nats))) * len(nats)).astype(np.int64)
    bits, sizes = nats / math.log(2), n_bytes.astype(np.float64)
    return float((bits[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)).var())
