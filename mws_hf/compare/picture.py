"""The picture of a comparison (matplotlib, extra ``plot``): F1 of boundaries over tokens per word."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mws_hf.atomic import atomic_path
from mws_hf.tokenizer.plotting import labels_of

# colors that people with any color vision can distinguish (Okabe and Ito; Tol); MwS gets the warm ones
_OURS = ("#d55e00", "#7f4a1e", "#e6a000")
_BASELINES = (
    "#332288 #117733 #44aa99 #0072b2 #999933 #aa4499 #777777 #6699cc #000000 #c2a500 #5a3e85 #2f6f6f #66a61e #b3a2d9"
).split()
_TRIVIAL = ("characters", "words")
_NAME_DISTANCE = 0.033
"""The smallest distance between two names, as a share of the height of a panel."""


def _load_matplotlib() -> None:
    """Import matplotlib, even if MPLBACKEND names a backend that is not installed, as it may in notebooks."""
    backend = os.environ.pop("MPLBACKEND", None)
    try:
        import matplotlib  # noqa: F401
    finally:
        if backend is not None:
            os.environ["MPLBACKEND"] = backend
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)


def figure_of(panels: Mapping[str, Sequence[Mapping[str, Any]]]) -> Any:
    """Draw boundary F1 over tokens per word, with a line for each system, and return the figure of matplotlib.

    Each panel is one gold file. Larger marks are larger vocabularies, and the name of a system is to the right of its
    last point. The systems ``characters`` and ``words`` are left out. If lengths are those of a text, systems that only
    split words are named in the title of the panel, and not drawn.

    Args:
        panels: the rows of a `Comparison` by the title of their panel. Tokens per word are those of held-out text if
            the rows have them, and otherwise those of the gold words.
    """
    _load_matplotlib()
    from matplotlib import rcParams
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6 * len(panels)), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (title, rows) in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels.items(), strict=True):
        drawn = [row for row in rows if row["system"].partition(":")[0] not in _TRIVIAL]
        of_text = any(row.get("text_fertility") for row in drawn)
        length = "text_fertility" if of_text else "tokens_per_word"
        without = sorted({str(row["system"]) for row in drawn if not row.get(length)})
        drawn = [row for row in drawn if row.get(length)]
        sizes = sorted({row["vocab_size"] for row in drawn if row["vocab_size"]})
        note = f"\nmark size: vocabulary size, {' < '.join(f'{size:,}' for size in sizes)}" if len(sizes) > 1 else ""
        note += f"\nnot drawn, because they do not encode text: {', '.join(without)}" if without else ""
        labels, font = labels_of(title)
        axes_title = f"{''.join(labels)}: boundaries found, and length{note}"
        fonts = [font, *rcParams["font.family"]]
        axes.set_title(axes_title, fontsize=11, loc="left", family=fonts, parse_math=False)  # a name may contain "$"
        axes.set_xlabel(f"tokens per word of {'new text' if of_text else 'the gold file'}: ← shorter")
        axes.set_ylabel("F1 of morpheme boundaries: ↑ better")
        axes.grid(alpha=0.25)
        axes.margins(0.15, 0.1)
        _draw(axes, drawn, length, sizes)
    return figure


def _draw(axes: Any, rows: Sequence[Mapping[str, Any]], length: str, sizes: Sequence[int]) -> None:
    ends = []
    for system, style in _styles(rows).items():
        points = sorted((row["vocab_size"] or 0, row[length], row["f1"]) for row in rows if row["system"] == system)
        axes.plot([x for _, x, _ in points], [y for _, _, y in points], **style)
        for size, x, y in points:
            axes.plot(x, y, "o", markersize=5 + 3 * (sizes.index(size) if size in sizes else 0), **style)
        x, y = max((x, y) for _, x, y in points)
        ends.append((y, x, system, style["color"]))
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    at = low
    for y, x, system, color in sorted(ends):  # names from the bottom up, without overlaps
        at = max(y, at + _NAME_DISTANCE * (high - low))
        line = {"arrowstyle": "-", "color": color, "linewidth": 0.6} if at > y else None
        weight = "bold" if system.startswith("mws") else "normal"
        axes.annotate(
            system, (x, y), (x + 0.02 * (right - left), at), color=color, weight=weight, va="center", fontsize=8.5,
            arrowprops=line,
        )  # fmt: skip


def _styles(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Choose how each system is drawn: MwS with thick lines, in warm colors and on top."""
    styles: dict[str, dict[str, Any]] = {}
    systems = sorted({str(row["system"]) for row in rows})
    for ours in (True, False):
        for number, system in enumerate(name for name in systems if name.startswith("mws") == ours):
            colors = _OURS if ours else _BASELINES
            color = colors[number % len(colors)]
            styles[system] = {"color": color, "linewidth": 2.6 if ours else 1.2, "zorder": 3 if ours else 2}
    return styles


def save(figure: Any, path: Path) -> Path:
    """Write a figure as PNG, atomically; the same figure gives the same bytes."""
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", metadata={"Software": None})
    return path
