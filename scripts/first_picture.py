"""README's first picture: boundary F1 over tokens per word, MwS beside BPE, Unigram and Morfessor, three languages.

    python scripts/first_picture.py

It draws what scripts/results/quality.json holds and measures nothing. Writes docs/boundaries-by-length.png.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mws_hf.research.compare.plots import save

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "scripts" / "results" / "quality.json"
PICTURE = ROOT / "docs" / "boundaries-by-length.png"
PANELS = {
    "English": ("eng", "eng.morphochallenge2010"),
    "Finnish": ("fin", "fin.morphochallenge2010"),
    "Russian": ("rus", "rus.tikhonov"),
}
SYSTEMS = {
    "mws": ("MwS, the default", "#d55e00"),
    "mws-morphs": ("MwS, morphs only", "#e6a000"),
    "sentencepiece-unigram:text": ("SentencePiece Unigram", "#0072b2"),
    "bpe-byte:text": ("byte-level BPE", "#555555"),
}
MORFESSOR = ("morfessor:types", "morfessor-frequent:text")
MARKS = {8_000: 6, 32_000: 11}

Row = dict[str, Any]


def rows_of(panel: str, rows: list[Row], system: str) -> list[Row]:
    """Find a system's rows of a panel, the smallest vocabulary first."""
    own = [row for row in rows if (row["language"], row["gold"]) == PANELS[panel] and row["system"] == system]
    return sorted(own, key=lambda row: row["vocab_size"] or 0)


def draw(rows: list[Row], path: Path) -> None:
    """Write the picture of results rows."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.3), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(PANELS), sharey=True)
    for axis, panel in zip(axes, PANELS, strict=True):
        for system, (name, colour) in SYSTEMS.items():
            own = rows_of(panel, rows, system)
            ours = system.startswith("mws")
            points = [(row["text_fertility"], row["f1"]) for row in own]
            width, front = (2.6, 3) if ours else (1.6, 2)
            axis.plot(*zip(*points, strict=True), color=colour, linewidth=width, label=name, zorder=front)
            for row, (x, y) in zip(own, points, strict=True):
                axis.plot(x, y, "o", color=colour, markersize=MARKS[row["vocab_size"]], zorder=front)
        best = max(row["f1"] for system in MORFESSOR for row in rows_of(panel, rows, system))
        axis.axhline(best, color="#117733", linestyle=":", label="Morfessor (it has no vocabulary size)", zorder=1)
        axis.set_title(panel, fontsize=13, loc="left", weight="bold")
        axis.set_xlabel("tokens per word of new text")
        axis.grid(alpha=0.25)
    axes[0].set_ylabel("F1 of morpheme boundaries")
    axes[-1].annotate("↖ better", (0.97, 0.04), xycoords="axes fraction", ha="right", style="italic")
    handles, names = axes[0].get_legend_handles_labels()
    title = "small mark: 8,000 entries, large mark: 32,000"
    figure.legend(handles, names, loc="outside lower center", ncols=5, frameon=False, title=title, fontsize=9.5)
    save(figure, path)


def main() -> None:
    draw(json.loads(RESULTS.read_text(encoding="utf-8"))["rows"], PICTURE)
    print(PICTURE.relative_to(ROOT))


if __name__ == "__main__":
    main()
