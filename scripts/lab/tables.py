"""Means, confidence intervals and Markdown tables of rows."""

from __future__ import annotations

import inspect
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from lab.cells import Row
from mws_hf.scoring.significance import PairedDifference
from mws_hf.text.markdown import markdown_table


@cache
def student_quantile(probability: float, freedom: float) -> float:
    """Return a quantile of Student's t distribution.

    The density is integrated numerically, so the degrees of freedom need not be an integer.

    >>> [round(student_quantile(0.975, freedom), 2) for freedom in (2, 10, 1e6)]
    [4.3, 2.23, 1.96]
    """
    constant = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    # x = tan(angle) maps the half line to a finite interval, on which the density is smooth
    angles = np.linspace(0, math.pi / 2, 200_001)[:-1]
    x = np.tan(angles)
    heights = np.exp(constant - (freedom + 1) / 2 * np.log1p(x * x / freedom)) * (1 + x * x)
    area = 0.5 + np.concatenate([[0.0], np.cumsum((heights[1:] + heights[:-1]) / 2 * (angles[1] - angles[0]))])
    return float(np.interp(probability, area, x))


def half_interval(first: Sequence[float], second: Sequence[float] = ()) -> float:
    """Compute half the width of the 95 % t interval of a mean, or of the difference of two means (Welch).

    >>> round(half_interval([1.0, 2.0, 3.0]), 2), round(half_interval([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), 2)
    (2.48, 2.27)
    """
    return welch([(statistics.variance(each) / len(each), len(each) - 1) for each in (first, second) if each])


def welch(parts: Iterable[tuple[float, int]], known: float = 0.0) -> float:
    """Compute half the width of the 95 % t interval of a sum of means, with Welch's degrees of freedom.

    Args:
        parts: the variance and the degrees of freedom of each mean.
        known: an additional variance that is known exactly.
    """
    means = list(parts)
    total = sum(variance for variance, _ in means) + known
    uncertainty = sum(variance**2 / freedom for variance, freedom in means)
    freedom = min(1e6, total**2 / uncertainty) if uncertainty else 1e6
    return student_quantile(0.975, freedom) * math.sqrt(total)


def mean(values: Sequence[float], form: str = ".3f") -> str:
    """Format the mean of values, followed by ± half the width of its 95 % interval if there are two or more values.

    The result is "" if there are no values.

    >>> mean([1.0, 2.0, 3.0], "+.3f"), mean([1.0]), mean([])
    ('+2.000 ± 2.484', '1.000', '')
    """
    if len(values) < 2:
        return format(values[0], form) if values else ""
    return f"{statistics.fmean(values):{form}} ± {half_interval(values):{form.removeprefix('+')}}"


def span(values: Sequence[float], form: str = ".2f", *, bold: bool = True) -> str:
    """Format a value with the ends of its interval; the value is bold if the interval does not contain 0.

    >>> span([-0.5, -0.75, -0.25]), span([0.1, -0.1, 0.3])
    ('**-0.50** (-0.75 to -0.25)', '+0.10 (-0.10 to +0.30)')
    """
    value, low, high = (format(each, f"+{form}") for each in values)
    mark = "**" if bold and values[1] * values[2] > 0 else ""
    return f"{mark}{value}{mark} ({low} to {high})"


def where(rows: Iterable[Row], **key: object) -> list[Row]:
    """List the rows that have the given values.

    >>> where([{"a": 1, "b": 2}, {"a": 2, "b": 2}], a=2)
    [{'a': 2, 'b': 2}]
    """
    return [row for row in rows if all(row.get(name) == value for name, value in key.items())]


def groups(rows: Iterable[Row], *by: str) -> list[tuple[Any, ...]]:
    """Group rows by their values on some axes; each result has these values and, as its last item, the rows.

    Groups are in the order of their first rows.

    >>> [(size, len(own)) for size, own in groups([{"size": 8}, {"size": 9}, {"size": 8}], "size")]
    [(8, 2), (9, 1)]
    """
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in by), []).append(row)
    return [(*key, own) for key, own in found.items()]


def tabulated(lines: Iterable[Mapping[str, str]], *, numbers: bool = True) -> str:
    """Write a Markdown table of lines, each of which maps column names to cells; the result is "" without lines.

    >>> print(tabulated([{"gold": "rus", "F1": "0.6"}, {"gold": "fin"}]))
    | gold | F1 |
    |---|---:|
    | rus | 0.6 |
    | fin |  |
    """
    kept = list(lines)
    header = list(dict.fromkeys(name for line in kept for name in line))
    rows = [[line.get(name, "") for name in header] for line in kept]
    return markdown_table(header, rows, numbers=numbers) if rows else ""


def pivot(rows: Sequence[Row], by: str, across: str, figure: str, form: str = ".3f") -> str:
    """Write a Markdown table of mean figures: one line per value of `by`, one column per value of `across`."""
    columns = list(dict.fromkeys(row[across] for row in rows))
    lines = []
    for name, own in groups(rows, by):
        lines.append({by: str(name)})
        for column in columns:
            values = [row[figure] for row in where(own, **{across: column}) if figure in row]
            title = f"{column:,}" if isinstance(column, int) else str(column)
            lines[-1][title] = format(statistics.fmean(values), form) if values else ""
    return tabulated(lines)


def percents(found: PairedDifference) -> list[float]:
    """Convert a difference in bits, and the ends of its interval, to percent of the second system's bits.

    >>> percents(PairedDifference(-0.5, -0.75, -0.25, -0.25, 9, 2.0))
    [-25.0, -37.5, -12.5]
    """
    return list(found.percent)


def about(doc: str | None) -> str:
    r"""Return an experiment's docstring without its first line.

    >>> about("A title.\n\nHow it is measured.\n")
    'How it is measured.'
    """
    return inspect.cleandoc(doc or "").partition("\n")[2].strip()


def as_they_are(doc: str | None, rows: Sequence[Row], columns: Sequence[str]) -> Iterator[str]:
    """Yield the text of an experiment's docstring, and a table of some columns of the rows."""
    yield about(doc)
    yield tabulated({name: str(row[name]) for name in columns} for row in rows)
