"""The picture of all comparisons: each language a row, with its seeds, its sweep of peak rates and its curve over text.

It trains nothing and draws what the reports lm_*.json hold.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

from lab.systems import MORPH_BPE, UNIGRAM

from lm.plan import MB, PRESETS
from lm.report import curve_rows
from mws_hf.compare.picture import save

Row: TypeAlias = dict[str, Any]

LANGUAGES = {"rus": "Russian", "hun": "Hungarian", "deu": "German", "eng": "English"}
STYLES = {
    "mws": ("MwS, default", "#d55e00"),
    "mws-finer": ("MwS, finer cuts", "#ff9966"),
    "mws-morphs": ("MwS, morphs alone", "#e6a000"),
    "mws-c75-price0": ("MwS, no price", "#aa4499"),
    "mws-shuffled": ("MwS, shuffled evidence", "#999999"),
    "mws-no-evidence": ("MwS, no evidence", "#bbbbbb"),
    "mws-price0": ("MwS, no price", "#cc79a7"),
    "mws-counts": ("MwS, morphs by counts", "#882255"),
    "mws-superwords": ("MwS, superwords by t × PMI²", "#f0a060"),
    "mws-superwords-t": ("MwS, superwords by t × PMI", "#c08040"),
    MORPH_BPE: ("MorphBPE", "#44aa99"),
    UNIGRAM: ("SentencePiece Unigram", "#0072b2"),
    "unigram": ("Unigram", "#88bbdd"),
    "bpe-byte": ("BPE over bytes", "#117733"),
    "bpe": ("BPE", "#555555"),
}
"""Name and colour of each system; those of the experiment `ngram_map`."""


def write_picture(results: Path) -> None:
    """Write lm.png of every preset that has a report in a folder, and a run of the main table."""
    shown = []
    for name, make in PRESETS.items():
        file = results / f"lm_{name}.json"
        preset = make()
        document = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"rows": []}
        curve = curve_rows(document["rows"], preset.vocabulary)
        if any(row["main"] for row in curve):
            title = f"Preset {name}: {LANGUAGES[preset.language]}"
            shown.append((title, curve, document["sweep"], preset.references[0]))
    if shown:
        draw(shown, results / "lm.png")


def draw(shown: list[tuple[str, list[Row], dict[str, dict[str, float]], str]], path: Path) -> None:
    """Write the picture of names, rows, sweeps as lm_*.json holds them, and the systems compared with."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        len(shown), 3, figsize=(12, 2.9 * len(shown)), squeeze=False, gridspec_kw={"width_ratios": [1.25, 1, 1]}
    )
    for (seeds, rates, texts), (language, rows, sweep, base) in zip(axes, shown, strict=True):
        _draw_seeds(seeds, language, [row for row in rows if row["main"]], base)
        tried = {system: {float(rate): bits for rate, bits in found.items()} for system, found in sweep.items()}
        _draw_lines(rates, tried, "peak learning rate (first seed)", "bits per byte", "{:g}")
        _draw_curve(texts, rows, base)
    figure.tight_layout()
    save(figure, path)
    pyplot.close(figure)


def _draw_seeds(axis: Any, language: str, rows: list[Row], base: str) -> None:
    """One line a system, best at the top, one dot a seed; how far it is from `base` stands above their mean."""
    rows = sorted(rows, key=lambda row: -row["bits_per_byte"])
    for height, row in enumerate(rows):
        colour, mean = STYLES[row["system"]][1], row["bits_per_byte"]
        axis.plot(row["by_seed"], [height] * row["seeds"], "o", color=colour, alpha=0.75, markersize=6)
        axis.plot(mean, height, "|", color=colour, markersize=16, markeredgewidth=1.5)
        if base in row["differences"]:
            text = f"{100 * row['differences'][base]['relative']:+.1f} %"
            axis.annotate(text, (mean, height), (0, 10), textcoords="offset points", ha="center", fontsize=7)
    axis.set_title(f"{language}, {rows[0]['train_bytes'] / MB:.0f} MB", fontsize=9)
    axis.set_yticks(range(len(rows)), [STYLES[row["system"]][0] for row in rows], fontsize=8)
    axis.set(ylim=(-0.6, len(rows) - 0.1), xlabel="← better     bits per byte, a dot a seed, a line their mean")
    axis.margins(x=0.12)
    axis.grid(axis="x", alpha=0.3)


def _draw_lines(axis: Any, found: dict[str, dict[float, float]], x: str, y: str, number: str) -> None:
    """A line a system over a logarithmic axis with a tick at each value measured."""
    for system, values in found.items():
        colour = STYLES[system][1]
        axis.plot(list(values), list(values.values()), marker="o", markersize=4, linewidth=1.3, color=colour)
    measured = sorted({value for values in found.values() for value in values})
    axis.set_xscale("log")
    axis.set_xticks(measured, [number.format(value) for value in measured], fontsize=8)
    axis.minorticks_off()
    axis.set(xlabel=x, ylabel=y)
    axis.grid(alpha=0.3)


def _draw_curve(axis: Any, rows: list[Row], base: str) -> None:
    """Differences to `base` by amount of text, where it was trained on as much at its own rate."""
    amounts = {row["train_bytes"] for row in rows if row["system"] == base}
    curve: dict[str, dict[float, float]] = {}
    for row in sorted(rows, key=lambda row: row["train_bytes"]):
        if base in row["differences"] and row["train_bytes"] in amounts:
            percent = 100 * row["differences"][base]["relative"]
            curve.setdefault(row["system"], {})[row["train_bytes"] / MB] = percent
    _draw_lines(axis, curve, "MB of text", f"per cent from {STYLES[base][0]}", "{:.0f}")
    axis.axhline(0, color=STYLES[base][1], linewidth=0.8)
