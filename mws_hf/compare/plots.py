"""The plots of a comparison (matplotlib, extra ``plot``); figures come from `results`, none is computed here."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from mws_hf.atomic import atomic_path
from mws_hf.compare.results import Comparison, Example, Row, is_trivial

logger = logging.getLogger(__name__)

_RIVALS = (
    "#1f77b4 #2ca02c #9467bd #8c564b #7f7f7f #bcbd22 #17becf #98df8a "
    "#c5b0d5 #c49c94 #555500 #006666 #aec7e8 #e377c2 #000000 #4b0082"
).split()
_GAP = 0.6  # between pieces, in characters
_MARKERS = "osD^vP*X<>hp"


def write_plots(comparison: Comparison, folder: Path) -> list[Path]:
    """Draw, for each gold file, F1 against vocabulary size, F1 against fertility (with text), and examples.

    Returns:
        The files written; none, with a warning, when matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        logger.warning("no plots: matplotlib is not installed; pip install 'mws-hf[plot]'")
        return []
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    written = []
    for gold in (str(gold["name"]) for gold in comparison.golds):
        rows = comparison.rows_of(gold)
        written.append(_save(_by_size(Figure, comparison, rows, gold), folder / f"f1-by-size.{gold}.png"))
        if any(row.tokenizer.fertility is not None for row in rows):
            written.append(_save(_by_fertility(Figure, comparison, rows, gold), folder / f"f1-by-fertility.{gold}.png"))
    for example in comparison.examples:
        written.append(_save(_examples(Figure, example), folder / f"examples.{example.gold}.png"))
    return written


def _style(comparison: Comparison, system: str) -> dict[str, Any]:
    """MwS in strong red, rivals in the colours far from red, everything with its own mark."""
    systems = comparison.systems
    number = systems.index(system)
    mark = _MARKERS[number % len(_MARKERS)]
    if system.startswith("mws"):
        return {"color": ("#c00000", "#e06000", "#a06090")[number % 3], "marker": mark, "linewidth": 2.4, "zorder": 3}
    return {"color": _RIVALS[number % len(_RIVALS)], "marker": mark, "linewidth": 1.1}


def _axes(figure_class: Any, title: str) -> tuple[Any, Any]:
    figure = figure_class(figsize=(9, 5), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title)
    axes.set_ylabel("boundary F1 (micro)")
    axes.grid(alpha=0.3)
    return figure, axes


def _by_size(figure_class: Any, comparison: Comparison, rows: list[Row], gold: str) -> Any:
    figure, axes = _axes(figure_class, f"{gold}: F1 against vocabulary size")
    for system in comparison.systems:
        own = [row for row in rows if row.tokenizer.system == system]
        style = _style(comparison, system)
        if own[0].tokenizer.vocab_size is None:
            axes.axhline(own[0].scores.f1, color=style["color"], linestyle=":", label=system)
            continue
        sizes = [row.tokenizer.vocab_size for row in own]
        axes.plot(sizes, [row.scores.f1 for row in own], label=system, **style)
        if system.startswith("mws"):
            axes.fill_between(
                sizes, [row.low for row in own], [row.high for row in own], color=style["color"], alpha=0.12
            )
    axes.set_xscale("log", base=2)
    axes.set_xticks(comparison.sizes, [f"{size:,}" for size in comparison.sizes])
    axes.minorticks_off()
    axes.set_xlabel("vocabulary size")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
    return figure


def _by_fertility(figure_class: Any, comparison: Comparison, rows: list[Row], gold: str) -> Any:
    figure, axes = _axes(figure_class, f"{gold}: F1 against length, a point for each vocabulary size")
    for system in (each for each in comparison.systems if not is_trivial(each)):  # they would squeeze the others
        own = [row for row in rows if row.tokenizer.system == system and row.tokenizer.fertility is not None]
        if own:
            points = [(row.tokenizer.fertility, row.scores.f1) for row in own]
            axes.plot(*zip(*points, strict=True), label=system, **_style(comparison, system))
    axes.set_xlabel("tokens per word of held-out text")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
    return figure


def _examples(figure_class: Any, example: Example) -> Any:
    """Systems down, words across; the pieces of a word are set apart by alternating colour."""
    lines = [("gold", example.morphs), *example.cuts.items()]
    width = max(len("".join(pieces)) + _GAP * len(pieces) for _, cuts in lines for pieces in cuts) + 2
    columns = len(example.morphs)
    # one unit across is one character of 8-point monospace
    figure = figure_class(figsize=((26 + columns * width) * 0.075, 0.6 + 0.25 * len(lines)), layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_xlim(-26, columns * width)
    axes.set_ylim(-len(lines), 1)
    axes.set_title(f"{example.gold}: cuts at vocabulary {example.vocab_size:,}", fontsize=10)
    for down, (name, cuts) in enumerate(lines):
        weight = "bold" if name == "gold" or name.startswith("mws") else "normal"
        axes.text(-26, -down, name, fontsize=8, va="center", weight=weight)
        for across, pieces in enumerate(cuts):
            at = float(across * width)
            for number, piece in enumerate(pieces):
                shade = {"facecolor": ("#dbe9f6", "#fde0c5")[number % 2], "edgecolor": "none", "pad": 1.2}
                axes.text(at, -down, piece, fontsize=8, va="center", family="monospace", bbox=shade)
                at += len(piece) + _GAP
    return figure


def _save(figure: Any, path: Path) -> Path:
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", dpi=130, metadata={"Software": None})
    return path
