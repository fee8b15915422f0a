"""The Markdown page and the plot of a benchmark; figures come from `summary`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmark import summary
from benchmark.summary import Record
from mws_hf.atomic import atomic_path
from mws_hf.text.markdown import markdown_table

_NOTES = """\
Every measurement is a process of its own. *Ratio* compares whole processes, from the start of Python to its end, as
a user waits for them: `mws train` and `mws encode` beside a script for the rival, nothing measured within (in rows
marked °, only the work; in rows of memory, the peak of the process that measures);
*imported* compares the work with libraries imported and, for us, kernels compiled before (loading them from the
cache on disk is included); *again* is our work done once more in the same process; *cold* is our whole process with
an empty cache of kernels, compilation included. Ratios are medians over medians, in brackets the least and greatest
within one repeat. Order alternates between repeats. All split text by the same pattern, but contextual MwS has its
own and SentencePiece splits by white space, here without normalization. `count/tokenizers` is WordLevelTrainer with
vocab_size=0, the cheapest way to count there. `encode_batch` gets lines from memory (reading them is in its whole
process), and its ids stay in Rust. `learn/full-rescan` (*) is extrapolated from a few merges at the beginning and
at the end, the cheaper of them taken for all."""


def write_report(results: Any, folder: Path, stem: str) -> None:
    """Write STEM.md and STEM.png beside the results."""
    records, facts = results.records, results.facts
    host = facts["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in host["versions"].items() if version)
    parts = [
        "# Benchmark",
        f"{host['processor']}, {host['cores']} cores, {host['memory_gb']} GB, {host['system']}; "
        f"Python {host['python']}, {versions}; commit {host['commit']}.",
        f"Text: {results.settings['corpus']}; vocabulary {results.settings['vocab_size']:,}; "
        f"repeats in column n. Load of the machine before measurements: {_loads(records)}.",
        _NOTES,
        "## Validated first",
        "\n".join(f"- {line}" for line in facts.get("validated", ["nothing"])),
        "## Targets",
        targets_table(records, summary.TARGETS[results.settings["targets"]]),
        "## Growth",
        growth_table(records),
        "## Measurements",
        measurements_table(records),
        _failures(records),
    ]
    with atomic_path(folder / f"{stem}.md") as temporary:
        temporary.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8", newline="\n")
    draw(records, folder / f"{stem}.png")


def _loads(records: list[Record]) -> str:
    loads = [record["load_before"] for record in records if "load_before" in record]
    return f"{min(loads):.1f} to {max(loads):.1f}" if loads else "unknown"


def targets_table(records: list[Record], targets: Sequence[summary.Target]) -> str:
    """The targets at the largest size measured, and what was reached."""
    header = "work, against, ours, rival, ratio, imported, again, cold, at least, aim, reached".split(", ")
    rows = []
    for target in targets:
        sizes = [{r["size"] for r in summary.of(records, task)} for task in (target.ours, target.rival)]
        common = sizes[0] & sizes[1]
        found = summary.ratio(records, target, max(common)) if common else None
        goals = [f"{target.at_least:g}x", f"{target.aim:g}x" if target.aim else "–"]
        work, name = target.work + ("°" if target.measure == "seconds" else ""), target.rival.split("/")[1]
        if found is None:
            rows.append([work, name, "–", "–", "–", "–", "–", "–", *goals, "not measured"])
            continue
        unit = "MB" if target.measure == "peak_mb" else "s"
        rows.append(
            [
                work,
                name,
                f"{_short(found.ours)} {unit}",
                f"{_short(found.rival)} {unit}",
                f"**{found.value:.3g}x** ({found.low:.3g}–{found.high:.3g})",
                *_beside(records, target, max(common)),
                *goals,
                summary.verdict(target, found.value),
            ]
        )
    return markdown_table(header, rows)


def _beside(records: list[Record], target: summary.Target, size: float) -> list[str]:
    """Ratios with libraries imported, of our second run in a process, and of our process with an empty cache."""
    if target.measure == "peak_mb":
        return ["–", "–", "–"]
    kinds = (("warm", "seconds", "seconds"), ("warm", "again_seconds", "seconds"))
    cells = []
    for cache, ours, theirs in (*kinds, ("cold", "process_seconds", "process_seconds")):
        mine = summary.middle([r for r in summary.of(records, target.ours, size, cache) if ours in r], ours)
        other = summary.middle(summary.of(records, target.rival, size), theirs)
        cells.append(f"{other / mine:.3g}x" if mine and other else "–")
    return cells


def growth_table(records: list[Record]) -> str:
    """Exponents of time in size for all tasks measured at several sizes; ours must not exceed 1."""
    tasks = sorted({record["task"] for record in records})
    exponents = {task: summary.growth(records, task) for task in tasks}
    rows = [
        [task, f"{value:.2f}", "" if task not in summary.GROWING else "yes" if value <= 1 else "no"]
        for task, value in exponents.items()
        if value is not None
    ]
    return markdown_table(["task", "exponent", "no faster than the text"], rows) if rows else "One size only."


def measurements_table(records: list[Record]) -> str:
    """Medians of everything."""
    header = "task, MB, s, range, MB/s, CPU s, process s, peak MB, again s, cold s, entries, n".split(", ")
    rows = []
    for task, size in sorted({(r["task"], r["size"]) for r in records}):
        found = summary.of(records, task, size)
        if not found:
            continue
        seconds = [record["seconds"] for record in found]
        middle = summary.middle(found, "seconds") or 0.0
        cold = summary.middle(summary.of(records, task, size, "cold"), "seconds")
        again = summary.middle([r for r in found if "again_seconds" in r], "again_seconds")
        running = task.split("/")[0] in ("train", "count", "encode")
        rows.append(
            [
                task,
                f"{found[0]['mb']:.1f}",
                _short(middle) + ("*" if found[0].get("extrapolated") else ""),
                f"{_short(min(seconds))}–{_short(max(seconds))}",
                f"{found[0]['mb'] / middle:.1f}" if running else "–",
                _short(summary.middle(found, "cpu_seconds") or 0),
                _short(summary.middle(found, "process_seconds") or 0),
                f"{summary.middle(found, 'peak_mb') or 0:.0f}",
                _short(again) if again else "–",
                _short(cold) if cold else "–",
                f"{found[0]['entries']:,}" if "entries" in found[0] else "–",
                str(len(found)),
            ]
        )
    return markdown_table(header, rows) if rows else "Nothing measured yet."


def _failures(records: list[Record]) -> str:
    reasons = {
        f"- {r['task']} at {r['mb']:.1f} MB: {r.get('error') or r.get('skipped')}"
        for r in records
        if "seconds" not in r
    }
    lines = sorted(reasons) + [f"- **{line}**" for line in summary.contradictions(records)]
    return "\n\n".join(["## Not measured, or contradictory", "\n".join(lines)]) if lines else ""


def _short(value: float) -> str:
    """Three significant digits, without exponents.

    >>> _short(0.01234), _short(12.345), _short(123456.7)
    ('0.0123', '12.3', '123,457')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def draw(records: list[Record], path: Path) -> None:
    """Seconds against MB, both logarithmic, for training and encoding; nothing without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    figure = Figure(figsize=(12, 5.5), layout="constrained")
    panels = (("train", "training: text to saved tokenizer"), ("encode", "encoding: text to ids"))
    for axes, (group, title) in zip(figure.subplots(1, 2), panels, strict=True):
        for number, task in enumerate(sorted({r["task"] for r in records if r["task"].startswith(group)})):
            _curve(axes, records, task, number)
        axes.set(xscale="log", yscale="log", title=title, xlabel="MB of text", ylabel="seconds")
        axes.grid(alpha=0.3, which="both")
        if axes.lines:
            axes.legend(fontsize=8)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", dpi=130, metadata={"Software": None})


def _curve(axes: Any, records: list[Record], task: str, number: int) -> None:
    found = summary.of(records, task)
    megabytes = sorted({record["mb"] for record in found})
    times = [summary.middle([r for r in found if r["mb"] == mb], "seconds") for mb in megabytes]
    if not found:
        return
    ours = "/mws" in task
    slope = summary.growth(records, task)
    label = task.split("/")[1] + (f" (exponent {slope:.2f})" if slope is not None else "")
    shades = ("#c00000", "#e06000") if ours else ("#1f77b4", "#2ca02c", "#9467bd", "#8c564b", "#7f7f7f", "#17becf")
    axes.plot(
        megabytes, times, label=label, marker="osD^vPX"[number % 7], color=shades[number % len(shades)],
        linewidth=2.4 if ours else 1.1,
    )  # fmt: skip
