"""The picture of `compare_lm.py`: each language a row, with its seeds, its sweep of peak rates and its curve over text.

It trains nothing and draws what scripts/results/lm_*.runs.jsonl hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from compare_lm_plan import MB, PRESETS, Preset, tuned_rates
from compare_lm_records import Finished, Records
from compare_lm_report import Key, grouped

from mws_hf.compare.plots import save
from mws_hf.errors import MwSError

LANGUAGES = {"rus": "Russian", "hun": "Hungarian", "gpu": "Russian, 60 M weights"}
STYLES = {
    "mws": ("MwS, default", "#d55e00"),
    "mws-morphs": ("MwS, morphs alone", "#e6a000"),
    "mws-c75-burial0": ("MwS, no price", "#aa4499"),
    "unigram": ("Unigram", "#0072b2"),
    "bpe-byte": ("BPE over bytes", "#117733"),
    "bpe": ("BPE", "#555555"),
}
"""Name and colour of each system; those of ngram_map.py."""


class Language(NamedTuple):
    """What of a preset is drawn.

    Attributes:
        name: of the preset.
        main: runs of the main table by system, all at its best rate, by seed.
        sweep: bits per byte by peak rate on the first seed, by system.
        curve: per cent from BPE by MB of training text, by system.
    """

    name: str
    main: dict[str, list[Finished]]
    sweep: dict[str, dict[float, float]]
    curve: dict[str, dict[float, float]]


def write_picture(results: Path, opened: Mapping[str, Records]) -> None:
    """Write lm.png of every preset that has runs in a folder.

    Args:
        results: the folder.
        opened: runs by preset, where they have been read already.
    """
    languages = []
    for name, make in PRESETS.items():
        preset = make()
        try:
            records = opened.get(name) or Records.open(results / f"lm_{name}.runs.jsonl", preset.settings)
        except MwSError:  # runs with other settings (--set)
            continue
        languages.append(_language(name, preset, records))
    draw(languages, results / "lm.png")


def _language(name: str, preset: Preset, records: Records) -> Language:
    groups = {
        key: runs
        for key, runs in grouped(records).items()
        if not key.multi_token and not key.flop_matched and key.vocabulary == preset.vocabulary
    }
    rates = {key.system: runs[0].run.learning_rate for key, runs in groups.items() if key.train_bytes is None}
    curve: dict[str, dict[float, float]] = {}
    for key, runs in groups.items():
        base = groups.get(key._replace(system="bpe"), [])
        if any(rates.get(each[0].run.system) != each[0].run.learning_rate for each in (runs, base) if each):
            continue  # at another rate than that of the main table a system is not at its best
        percent = _percent(runs, base)
        if percent is not None and key.system != "bpe":
            curve.setdefault(key.system, {})[runs[0].training["train_bytes"] / MB] = percent
    main = {
        system: groups[key]
        for system in preset.tuned
        if (key := Key(system, preset.vocabulary, None, False, False)) in groups
    }
    return Language(name, main, tuned_rates(preset, records.bits()), curve)


def draw(languages: list[Language], path: Path) -> None:
    """Write the picture; languages without a run of the main table are left out."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = [language for language in languages if language.main]
    if not shown:
        return
    figure, axes = pyplot.subplots(
        len(shown), 3, figsize=(12, 2.9 * len(shown)), squeeze=False, gridspec_kw={"width_ratios": [1.25, 1, 1]}
    )
    for (seeds, rates, texts), language in zip(axes, shown, strict=True):
        _draw_seeds(seeds, language)
        _draw_lines(rates, language.sweep, "peak learning rate (first seed)", "bits per byte", "{:g}")
        _draw_curve(texts, language)
    for axis in axes[-1]:
        axis.xaxis.label.set_visible(True)
    figure.tight_layout()
    save(figure, path)
    pyplot.close(figure)


def _draw_seeds(axis: Any, language: Language) -> None:
    """One line a system, best at the top, one dot a seed; how far its mean is from BPE's stands beside it."""
    means = {system: sum(run.bits for run in runs) / len(runs) for system, runs in language.main.items()}
    systems = sorted(means, key=lambda system: -means[system])
    first = next(iter(language.main.values()))[0]
    for height, system in enumerate(systems):
        colour = STYLES[system][1]
        bits = [run.bits for run in language.main[system]]
        axis.plot(bits, [height] * len(bits), "o", color=colour, alpha=0.75, markersize=6)
        axis.plot(means[system], height, "|", color=colour, markersize=16, markeredgewidth=1.5)
        percent = _percent(language.main[system], language.main.get("bpe", []))
        if percent is not None and system != "bpe":
            text = f"{percent:+.1f} %"
            axis.annotate(text, (means[system], height), (0, 10), textcoords="offset points", ha="center", fontsize=7)
    weights = first.training["non_embedding_parameters"] + first.training["embedding_parameters"]
    title = f"{LANGUAGES[language.name]}, {first.training['train_bytes'] / MB:.0f} MB, {weights / 1e6:.2f} M weights"
    axis.set_title(title, fontsize=9)
    axis.set_yticks(range(len(systems)), [STYLES[system][0] for system in systems], fontsize=8)
    axis.set(ylim=(-0.6, len(systems) - 0.1), xlabel="← better     bits per byte, a dot a seed, a line their mean")
    axis.margins(x=0.12)
    axis.grid(axis="x", alpha=0.3)


def _percent(runs: list[Finished], base: list[Finished]) -> float | None:
    """How far the mean is from that of others, over the seeds that both have."""
    ours, theirs = ({entry.run.seed: entry.bits for entry in each} for each in (runs, base))
    both = ours.keys() & theirs.keys()
    return 100 * (sum(ours[seed] for seed in both) / sum(theirs[seed] for seed in both) - 1) if both else None


def _draw_lines(axis: Any, found: dict[str, dict[float, float]], x: str, y: str, number: str) -> None:
    """A line a system over a logarithmic axis with a tick at each value measured."""
    for system, values in found.items():
        colour = STYLES[system][1]
        axis.plot(list(values), list(values.values()), marker="o", markersize=4, linewidth=1.3, color=colour)
    measured = sorted({value for values in found.values() for value in values})
    axis.set_xscale("log")
    axis.set_xticks(measured, [number.format(value) for value in measured], fontsize=8)
    axis.minorticks_off()
    axis.set(xlabel=x, ylabel=y)
    axis.grid(alpha=0.3)


def _draw_curve(axis: Any, language: Language) -> None:
    """Differences to BPE by amount of text."""
    curve = {system: dict(sorted(found.items())) for system, found in language.curve.items()}
    _draw_lines(axis, curve, "MB of text", "per cent from BPE", "{:.0f}")
    axis.axhline(0, color=STYLES["bpe"][1], linewidth=0.8)
