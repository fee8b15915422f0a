"""Draw the pictures of a report as SVG."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

# colors that people with any color vision can distinguish (Okabe and Ito; Tol)
COLORS = ("#d55e00", "#0072b2", "#117733", "#aa4499", "#777777", "#332288", "#999933", "#44aa99")
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 560, 320, 76, 46


class Point(NamedTuple):
    """The point of a tokenizer.

    Attributes:
        name: its name.
        x: tokens per word.
        y: boundary F1.
        low: lower end of the interval of `y`.
        high: upper end of the interval of `y`.
    """

    name: str
    x: float
    y: float
    low: float
    high: float


def scatter(points: Sequence[Point], x_title: str, y_title: str) -> Markup:
    """Draw points with bars for their intervals; higher points, and points farther left, are better."""
    xs, ys = [point.x for point in points], [y for point in points for y in (point.low, point.high)]
    x_ticks, y_ticks = _ticks(min(xs), max(xs)), _ticks(min(ys), max(ys))

    def across(value: float) -> float:
        return _LEFT + (value - x_ticks[0]) / (x_ticks[-1] - x_ticks[0]) * (_WIDTH - _LEFT - 20)

    def up(value: float) -> float:
        return _HEIGHT - _BOTTOM - (value - y_ticks[0]) / (y_ticks[-1] - y_ticks[0]) * (_HEIGHT - _BOTTOM - 16)

    parts = [
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 20}" y1="{up(t):.1f}" y2="{up(t):.1f}"/>'
        f'<text x="{_LEFT - 8}" y="{up(t) + 4:.1f}" text-anchor="end">{t:g}</text>'
        for t in y_ticks
    ]
    parts += [
        f'<text x="{across(t):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{t:g}</text>' for t in x_ticks
    ]
    for at, point in enumerate(points):
        color, x, y = COLORS[at % len(COLORS)], across(point.x), up(point.y)
        right = x > _WIDTH * 0.7
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{up(point.low):.1f}" y2="{up(point.high):.1f}" stroke="{color}" '
            f'stroke-width="2"/><circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{color}"/>'
            f'<text class="name" x="{x + (-9 if right else 9):.1f}" y="{y + 4:.1f}" '
            f'text-anchor="{"end" if right else "start"}">{html.escape(point.name)}</text>'
        )
    parts.append(
        f'<text x="{(_LEFT + _WIDTH) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">{html.escape(x_title)}</text>'
        f'<text transform="translate(16 {(_HEIGHT - _BOTTOM) / 2}) rotate(-90)" text-anchor="middle">'
        f"{html.escape(y_title)}</text>"
    )
    return _svg(_HEIGHT, f"{y_title} over {x_title}", "".join(parts))


def bars(values: Mapping[str, Mapping[str, float]], title: str) -> Markup:
    """Draw horizontal bars that start at zero, with a group for each text and a bar for each tokenizer.

    The title is below the axis, and in the label for screen readers.
    """
    most = max(value for group in values.values() for value in group.values()) or 1
    parts, y = [], 4.0
    for text, group in values.items():
        parts.append(f'<text class="name" x="0" y="{y + 13:.0f}">{html.escape(text)}</text>')
        y += 18
        for at, (name, value) in enumerate(group.items()):
            width, color = value / most * (_WIDTH - 250), COLORS[at % len(COLORS)]
            parts.append(
                f'<text x="180" y="{y + 12:.0f}" text-anchor="end">{html.escape(_fitting_name(name))}</text>'
                f'<rect x="188" y="{y:.0f}" width="{width:.1f}" height="15" rx="2" fill="{color}"/>'
                f'<text x="{193 + width:.1f}" y="{y + 12:.0f}">{value:.2f}</text>'
            )
            y += 19
        y += 8
    parts.append(
        f'<line class="axis" x1="188" x2="188" y1="18" y2="{y:.0f}"/>'
        f'<text x="{(188 + _WIDTH) / 2:.0f}" y="{y + 16:.0f}" text-anchor="middle">{html.escape(title)}</text>'
    )
    return _svg(round(y + 22), f"{title}, by text", "".join(parts))


def _fitting_name(name: str) -> str:
    """Shorten a long name in its middle, because names of tokenizers usually differ at the beginning or the end."""
    return name if len(name) <= 17 else f"{name[:8]}…{name[-8:]}"


def _svg(height: int, label: str, body: str) -> Markup:
    start = Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">').format(_WIDTH, height, label)
    return start + Markup(body) + Markup("</svg>")


def _ticks(low: float, high: float) -> list[float]:
    """Choose four to nine round numbers from below `low` to above `high`."""
    low, high = (low - 0.015, high + 0.015) if high - low < 0.02 else (low, high)
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 50, 500, 5e6) if (high - low) / s <= 7.5)
    first, last = int(low // step), int(-(-high // step))
    return [round(at * step, 2) for at in range(first, last + 1)]
