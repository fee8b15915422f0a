"""Pictures of boundary F1 over tokens per word, drawn from the rows of `quality`; nothing is measured."""

from __future__ import annotations

from pathlib import Path

from lab.cells import Row
from lab.tables import where
from mws_hf.compare.picture import figure_of, save

GOLDS = {
    ("rus", "rus.tikhonov"): "Russian: Tikhonov's dictionary of morphemes",
    ("fin", "fin.morphochallenge2010"): "Finnish: Morpho Challenge 2010",
    ("tur", "tur.morphochallenge2010"): "Turkish: Morpho Challenge 2010",
}
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


def by_length(rows: list[Row], folder: Path) -> None:
    """Every system on one gold set: f1-by-fertility.GOLD.png."""
    for (language, gold), about in GOLDS.items():
        figure = figure_of({about: where(rows, language=language, gold=gold)})
        save(figure, folder / f"f1-by-fertility.{gold}.png")


def first(rows: list[Row], path: Path) -> None:
    """README's first picture: MwS beside BPE, Unigram and Morfessor, three languages."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.3), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(PANELS), sharey=True)
    for axis, (panel, (language, gold)) in zip(axes, PANELS.items(), strict=True):
        here = where(rows, language=language, gold=gold)
        for system, (name, colour) in SYSTEMS.items():
            own = sorted(where(here, system=system), key=lambda row: row["vocab_size"])
            points = [(row["text_fertility"], row["f1"]) for row in own]
            width, front = (2.6, 3) if system.startswith("mws") else (1.6, 2)
            axis.plot(*zip(*points, strict=True), color=colour, linewidth=width, label=name, zorder=front)
            for row, (x, y) in zip(own, points, strict=True):
                axis.plot(x, y, "o", color=colour, markersize=MARKS[row["vocab_size"]], zorder=front)
        best = max(row["f1"] for row in here if row["system"] in MORFESSOR)
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
