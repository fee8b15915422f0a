"""The gain of MwS by the size of the language model: a table and a picture over all presets of a language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lab.cells import RESULTS, Row, rows_of
from lab.systems import NAMES, UNIGRAM
from lab.tables import tabulated, where

from lm.plan import BPE, DEFAULT, MB, PRESETS, RIVALS
from lm.report import LANGUAGES, STYLES, hours_of, summary
from mws_hf.compare.picture import save

LADDERS = {"rus": ("rus-works", "rus-5m", "rus-5m-60mb", "rus-16m-60mb"), "hun": ("hun-works", "hun-5m")}
"""Presets of each language, smallest models first. They hold the same books out."""
MARKS = {8000: "o", 32000: "s"}
"""Marks in the picture, by vocabulary size."""
TICKS = (0.5, 1, 2, 5, 10, 20)
"""Ticks of the x axis, in millions of parameters."""


class Step(NamedTuple):
    """One comparison of MwS with a baseline, in models of one size.

    Attributes:
        language: ISO 639-3 code.
        preset: name of the preset.
        parameters: parameters of the model, its embedding included.
        vocabulary: vocabulary size.
        text: training text in bytes.
        seeds: number of seeds of MwS.
        hours: processor hours of all runs of the preset with this vocabulary size.
        baseline: system that MwS is compared with.
        difference: difference of bits per byte, and the ends of its 95 % interval, in percent of the baseline.
    """

    language: str
    preset: str
    parameters: int
    vocabulary: int
    text: int
    seeds: int
    hours: float
    baseline: str
    difference: list[float]


def steps(language: str, results: Path = RESULTS) -> Iterator[Step]:
    """Yield every comparison of MwS with default settings that has rows, smallest models first."""
    for name in LADDERS[language]:
        preset = PRESETS[name]
        rows = rows_of(f"lm_{name}", results)
        lines = summary(preset, rows)
        for line in where(lines, system=DEFAULT, flop_matched=False):
            if line["vocabulary"] not in MARKS:
                continue
            training = line["runs"][0]["training"]
            hours = hours_of(where(rows, vocabulary=line["vocabulary"]))
            size = training["non_embedding_parameters"] + training["embedding_parameters"]
            for baseline, difference in line["against"].items():
                if baseline in RIVALS:
                    seeds, text = len(line["runs"]), preset.settings["train_bytes"]
                    yield Step(language, name, size, line["vocabulary"], text, seeds, hours, baseline, list(difference))


def outcome(small: Sequence[float], large: Sequence[float]) -> str:
    """Say by the rule of 27 November 2026 whether the gain of the small models holds in larger ones.

    If the small models have no significant gain, there is none that could hold or shrink.

    Args:
        small: difference from a baseline in the small models, and the ends of its interval; negative is better.
        large: the same in the larger models, with the same vocabulary size.

    >>> outcome([-2.0, -2.3, -1.6], [-1.6, -2.5, -0.7]), outcome([-2.0, -2.3, -1.6], [-1.4, -1.5, -1.3])
    ('holds', 'shrinks')
    >>> outcome([-2.0, -2.3, -1.6], [-1.9, -4.0, 0.2])
    'is gone'
    >>> outcome([-0.5, -1.0, 0.1], [-0.2, -1.3, 0.9])
    'not significant'
    """
    if small[2] >= 0:
        return "significant" if large[2] < 0 else "not significant"
    if large[2] >= 0:
        return "is gone"
    return "holds" if large[0] <= 0.75 * small[0] else "shrinks"


def ladder_table(language: str, results: Path = RESULTS) -> str:
    """Return the ladder as a table in Markdown: a line per model and vocabulary size, a column per baseline.

    The gains over BPE and Unigram in larger models are followed by their outcome by the rule. If there is only one
    seed, no outcome is shown, because the interval covers only the choice of books.
    """
    lines: dict[tuple[object, ...], Row] = {}
    small: dict[tuple[int, str], Step] = {}
    for step in steps(language, results):
        value, low, high = step.difference
        line = lines.setdefault(
            (step.preset, step.vocabulary),
            {
                "parameters": f"{step.parameters / 1e6:.1f} million",
                "vocabulary size": f"{step.vocabulary:,}",
                "text": f"{step.text / MB:.0f} MB",
                "seeds": str(step.seeds),
                "hours": f"{step.hours:.1f}",
            },
        )
        cell = f"{value:+.2f} % ({low:+.2f} to {high:+.2f})"
        first = small.setdefault((step.vocabulary, step.baseline), step)
        if step.preset != first.preset and step.baseline in (BPE, UNIGRAM) and step.seeds > 1:
            cell += f", {outcome(first.difference, step.difference)}"
        line[f"against {named(step.baseline)}"] = cell
    return tabulated(lines.values())


def named(baseline: str) -> str:
    """Return the name of a baseline as pages write it."""
    return NAMES.get(baseline, "shuffled boundary probabilities")


def _order(baseline: str, vocabulary: int, text: int) -> tuple[int, int, int]:
    """Return the place of a series in the legend: by baseline, then vocabulary size, then training text in bytes."""
    return RIVALS.index(baseline), vocabulary, text


def write_ladder(results: Path = RESULTS) -> None:
    """Write lm_ladder.png: a panel per language, parameters on the x axis, the difference in bits on the y axis.

    A line connects models that read the same text. Models that read more have open marks.
    """
    shown = {language: found for language in LADDERS if (found := list(steps(language, results)))}
    if not shown:
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        1, len(shown), figsize=(5.2 * len(shown), 4.4), squeeze=False, sharex=True, sharey=True, layout="constrained"
    )
    for axis, (language, found) in zip(axes.flat, shown.items(), strict=True):
        series: dict[tuple[str, int, int], list[Step]] = {}
        for step in found:
            series.setdefault((step.baseline, step.vocabulary, step.text), []).append(step)
        for (baseline, vocabulary, text), here in sorted(series.items(), key=lambda item: _order(*item[0])):
            is_first = text == found[0].text
            shift = 1 + 0.03 * RIVALS.index(baseline) - 0.1 * (not is_first)  # so that intervals do not overlap
            line = "" if not is_first else "-" if vocabulary == min(MARKS) else "--"
            axis.errorbar(
                [step.parameters / 1e6 * shift for step in here],
                [step.difference[0] for step in here],
                [[step.difference[0] - step.difference[1] for step in here],
                 [step.difference[2] - step.difference[0] for step in here]],
                fmt=MARKS[vocabulary] + line, color=STYLES[baseline][1], capsize=3, markersize=5,
                markerfacecolor=STYLES[baseline][1] if is_first else "white",
                label=f"against {named(baseline)}, {vocabulary // 1000}k" + f", {text // MB} MB" * (not is_first),
            )  # fmt: skip
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set_xscale("log")
        axis.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axis.set_xticks([], minor=True)
        axis.set_xlim(TICKS[0] / 1.2, TICKS[-1] * 1.2)
        axis.set(title=LANGUAGES[language], xlabel="parameters of the language model, in millions (log scale)")
        axis.grid(alpha=0.3)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    axes[0, 0].set_ylabel("bits per byte of MwS, difference in %\n(below 0: MwS is better)")
    save(figure, results / "lm_ladder.png")
    pyplot.close(figure)
