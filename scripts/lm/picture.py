"""The picture of all comparisons: a panel a preset, a row a system, a dot a seed.

It trains nothing and draws what the reports lm_*.json hold.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

from lab.systems import MORPH_BPE, UNIGRAM

from lm.plan import MB, PRESETS
from mws_hf.compare.picture import save

Row: TypeAlias = dict[str, Any]

LANGUAGES = {"rus": "Russian", "hun": "Hungarian", "deu": "German", "eng": "English"}
STYLES = {
    "mws": ("MwS, default", "#d55e00"),
    "mws-finer": ("MwS, finer cuts", "#ff9966"),
    "mws-shuffled": ("MwS, shuffled evidence", "#999999"),
    "mws-no-evidence": ("MwS, no evidence", "#bbbbbb"),
    "mws-price0": ("MwS, no price", "#cc79a7"),
    "mws-counts": ("MwS, morphs by counts", "#882255"),
    "mws-superwords": ("MwS, superwords by t × PMI²", "#f0a060"),
    "mws-superwords-t": ("MwS, superwords by t × PMI", "#c08040"),
    MORPH_BPE: ("MorphBPE", "#44aa99"),
    UNIGRAM: ("SentencePiece Unigram", "#0072b2"),
    "bpe-byte": ("BPE over bytes", "#117733"),
}
"""Name and colour of each system."""


def write_picture(results: Path) -> None:
    """Write lm.png of every preset that has a report in a folder, and a run of the main table."""
    shown = []
    for name, make in PRESETS.items():
        file = results / f"lm_{name}.json"
        preset = make()
        document = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"rows": []}
        rows = [row for row in document["rows"] if row["vocabulary"] == preset.vocabulary and not row["flop_matched"]]
        if rows:
            shown.append((f"Preset {name}: {LANGUAGES[preset.language]}", rows, preset.references[0]))
    if not shown:
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(len(shown), 1, figsize=(7, 2.9 * len(shown)), squeeze=False)
    for axis, (title, rows, base) in zip(axes.flat, shown, strict=True):
        _draw_seeds(axis, title, rows, base)
    figure.tight_layout()
    save(figure, results / "lm.png")
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
