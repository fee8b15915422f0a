"""The pictures of a comparison (matplotlib, extra ``plot``): F1 by vocabulary size, F1 by length of text, examples."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mws_hf.atomic import atomic_path
from mws_hf.research.compare.results import Comparison, CutExample, is_trivial

logger = logging.getLogger(__name__)

# distinct for people of every colour vision (Okabe and Ito; Tol); the warm ones are kept for MwS
_OURS = ("#d55e00", "#7f4a1e", "#e6a000")
_RIVALS = (
    "#332288 #117733 #44aa99 #0072b2 #999933 #aa4499 #777777 #6699cc #000000 #c2a500 #5a3e85 #2f6f6f #66a61e #b3a2d9"
).split()
_MARKERS = "osD^vP*X<>hp"
_GAP = 0.6  # between pieces, in characters


def write_plots(comparison: Comparison, folder: Path) -> list[Path]:
    """Draw, for each gold file, F1 by vocabulary size, F1 by length of text (where there is text), and examples.

    Returns the files written; none, with a warning, when matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        logger.warning("no plots: matplotlib is not installed; pip install matplotlib")
        return []
    written = []
    for gold in (str(gold["name"]) for gold in comparison.golds):
        rows = [row.to_dict() for row in comparison.rows_of(gold)]
        written.append(save(size_figure(rows, gold), folder / f"f1-by-size.{gold}.png"))
        if any(row.get("text_fertility") for row in rows):
            written.append(save(fertility_figure(rows, gold), folder / f"f1-by-fertility.{gold}.png"))
    written += [save(_examples_figure(each), folder / f"examples.{each.gold}.png") for each in comparison.examples]
    return written


def size_figure(rows: Sequence[Mapping[str, Any]], about: str) -> Any:
    """Draw F1 over the vocabulary sizes, a line for each system; dotted where the size has no effect.

    The rows belong to one gold, in the form of `Row.to_dict`; `about` describes the gold.
    """
    axes = _axes(f"Morpheme boundaries found at each vocabulary size\n{about}", "vocabulary entries (log scale)")
    sizes = sorted({row["vocab_size"] for row in rows if row["vocab_size"]}) or [1]
    styles = _styles(rows)
    for system, style in styles.items():
        own = sorted((row["vocab_size"] or 0, row["f1"]) for row in rows if row["system"] == system)
        if own[0][0] == 0:
            style |= {"linestyle": ":", "marker": ""}
            axes.axhline(own[0][1], color=style["color"], linestyle=":")
        else:
            axes.plot(*zip(*own, strict=True), **style)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    _name_systems(axes, styles, "↑ better")
    return axes.figure


def fertility_figure(rows: Sequence[Mapping[str, Any]], about: str) -> Any:
    """Draw F1 over tokens per word of held-out text, a line for each system through its sizes, in ever larger marks.

    Rows and `about` have the form that `size_figure` takes. Rows without text, and the trivial systems, are left out.
    """
    drawn = [row for row in rows if row.get("text_fertility") and not is_trivial(row["system"])]
    sizes = sorted({row["vocab_size"] for row in drawn if row["vocab_size"]})
    note = f"; mark size: {' < '.join(f'{size:,}' for size in sizes)} entries" if len(sizes) > 1 else ""
    axes = _axes(f"Morpheme boundaries found, and length of the text\n{about}{note}", "tokens per word of new text")
    styles = _styles(drawn)
    for system, style in styles.items():
        own = sorted((r["vocab_size"] or 0, r["text_fertility"], r["f1"]) for r in drawn if r["system"] == system)
        axes.plot([x for _, x, _ in own], [y for _, _, y in own], **{**style, "marker": ""})
        for size, x, y in own:
            larger = sizes.index(size) if size in sizes else 0
            axes.plot(x, y, **{**style, "markersize": 5.5 + 3 * larger})
    _name_systems(axes, styles, "↖ better: truer boundaries,\nfewer tokens")
    return axes.figure


def _axes(title: str, x_title: str) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    figure = Figure(figsize=(10, 6), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=11, loc="left")
    axes.set_xlabel(x_title)
    axes.set_ylabel("F1 of morpheme boundaries")
    axes.grid(alpha=0.25)
    axes.margins(0.12)
    return axes


def _styles(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Choose how each system is drawn: MwS thick, in warm colours and on top."""
    styles: dict[str, dict[str, Any]] = {}
    systems = sorted({str(row["system"]) for row in rows})
    for ours in (True, False):
        for number, system in enumerate(each for each in systems if each.startswith("mws") == ours):
            colours = _OURS if ours else _RIVALS
            styles[system] = {
                "color": colours[number % len(colours)],
                "marker": _MARKERS[(number + 4 * (not ours)) % len(_MARKERS)],
                "linewidth": 2.6 if ours else 1.2,
                "zorder": 3 if ours else 2,
            }
    return styles


def _name_systems(axes: Any, styles: Mapping[str, Mapping[str, Any]], better: str) -> None:
    """Name each system beside the picture, in its colour, under the words that say which way is better."""
    for name, style in styles.items():
        axes.plot([], [], label=name, **style)
    legend = axes.figure.legend(loc="outside right upper", title=better, labelcolor="linecolor", fontsize=8.5)
    for text in legend.get_texts():
        text.set_weight("bold" if text.get_text().startswith("mws") else "normal")


def _examples_figure(example: CutExample) -> Any:
    """Draw systems down, words across; the pieces of a word are set apart by alternating colour."""
    from matplotlib.figure import Figure

    lines = [("gold", example.morphs), *example.cuts.items()]
    width = max(len("".join(pieces)) + _GAP * len(pieces) for _, cuts in lines for pieces in cuts) + 2
    columns = len(example.morphs)
    # one unit across is one character of 8-point monospace
    figure = Figure(figsize=((26 + columns * width) * 0.075, 0.6 + 0.25 * len(lines)), dpi=130, layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_xlim(-26, columns * width)
    axes.set_ylim(-len(lines), 1)
    axes.set_title(f"Words of {example.gold} as cut with {example.vocab_size:,} entries", fontsize=10)
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


def save(figure: Any, path: Path) -> Path:
    """Write a figure as PNG, atomically; the same figure gives the same bytes."""
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", metadata={"Software": None})
    return path
