"""Draw boundary probabilities (matplotlib, extra ``plot``), with fonts for letters of any script."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from mws_hf.atomic import atomic_path
from mws_hf.tokenizer.explain import SpelledWord

logger = logging.getLogger(__name__)


def labels_of(text: str) -> tuple[list[str], str]:
    """Return a label for each character of a text, and the name of the font to write them in.

    The font is matplotlib's default or, if that lacks a character, another installed font that has all of them. If no
    font has all of them, characters that the default lacks are labeled with their code points, such as U+0E01, and a
    warning says so.
    """
    from matplotlib.font_manager import FontProperties, findfont

    default = FontProperties()
    known, wanted = _characters(findfont(default)), {ord(character) for character in text}
    if wanted <= known:
        return list(text), default.get_name()
    if (other := _font_with(frozenset(wanted))) is not None:
        return list(text), other
    logger.warning(
        "no installed font has all letters of %r; those without one are shown as code points: install a font of their "
        "script, such as one of the Noto fonts",
        text,
    )
    return [each if ord(each) in known else f"U+{ord(each):04X}" for each in text], default.get_name()


def _font_with(wanted: frozenset[int]) -> str | None:
    """Find the first installed font, by name, that has some characters; its weight and style are normal."""
    from matplotlib.font_manager import fontManager

    for font in sorted(fontManager.ttflist, key=lambda font: font.name):
        plain = font.style == "normal" and font.weight in (400, "normal", "regular")
        if plain and not font.name.startswith("Last Resort") and wanted <= _characters(font.fname):
            return font.name
    return None


@cache
def _characters(file: str) -> frozenset[int]:
    """Read the code points of a font; none of a font in a format that matplotlib does not read."""
    from matplotlib.font_manager import get_font

    try:
        return frozenset(get_font(file).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()


def plot_evidence(path: Path, words: Sequence[SpelledWord]) -> None:
    """Draw the boundary probabilities of words, one panel per word, with bars between letters and a line at each split.

    Args:
        path: the file to write; its suffix decides about the format, which is PNG without a suffix.
        words: the words, at least one.

    Raises:
        MwSError: the file cannot be written.
        ModuleNotFoundError: matplotlib is not installed.
        ValueError: matplotlib does not write files of this suffix.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 1.6 * len(words) + 0.4), layout="constrained")
    panels = figure.subplots(len(words), 1, squeeze=False)[:, 0]
    for panel, word in zip(panels, words, strict=True):
        _draw(panel, word)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lstrip(".") or "png", dpi=150)


def _draw(panel: Any, word: SpelledWord) -> None:
    """Draw one word into a panel (axes) of a figure."""
    letters, values, split_points = word
    inner = range(len(letters) - 1)
    panel.bar([place + 0.5 for place in inner], [100 * values[place] for place in inner], width=0.5, color="#4a7ebb")
    for point in split_points:
        panel.axvline(point - 0.5, color="#c0392b", linewidth=1.5)
    labels, font = labels_of(letters)
    panel.set_xticks(range(len(letters)), labels, family=font)
    if any(map(str.__ne__, labels, letters)):
        panel.tick_params(axis="x", rotation=90, labelsize=7)
    panel.set(ylim=(0, 100), xlim=(-0.5, len(letters) - 0.5), ylabel="boundary (%)")
