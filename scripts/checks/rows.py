"""Read the rows of scripts/results for the figures of the pages: values by key, means, and ranges as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from statistics import fmean
from typing import Any

from lab.cells import RESULTS, Row, rows_of
from lab.experiments.trainers import scaled_seconds
from lab.systems import UNIGRAM
from lab.tables import where
from lm.plan import BPE, PRESETS
from lm.report import summary

SHUFFLED = "mws-shuffled"
NAMES = {BPE: "byte-level BPE", UNIGRAM: "SentencePiece Unigram", SHUFFLED: "shuffled probabilities"}
LANGUAGES = {
    "ces": "Czech", "deu": "German", "eng": "English", "fin": "Finnish", "hun": "Hungarian", "rus": "Russian",
    "tur": "Turkish", "ukr": "Ukrainian", "lat": "Latin", "rus-pymorphy3": "Russian, pymorphy3",
}  # fmt: skip
Figures = Iterator[tuple[str, str]]
"""The results of a function of figures: names of figures or tables, and their texts."""
GOLDS = {
    "Russian, Tikhonov's lemmas": ("rus", "rus.tikhonov"),
    "Russian, Wiktionary forms": ("rus", "rus.wiktionary-forms"),
    "Russian, forms of running text": ("rus", "rus.running-text-forms"),
    "Russian lemmas, learned from a lexicon": ("rus-lexicon", "rus.tikhonov"),
    "Finnish, Morpho Challenge": ("fin", "fin.morphochallenge2010"),
    "Turkish, Morpho Challenge": ("tur", "tur.morphochallenge2010"),
    "Hungarian, SIGMORPHON": ("hun", "hun.sigmorphon2022"),
    "Czech, SIGMORPHON": ("ces", "ces.sigmorphon2022"),
    "English, Morpho Challenge": ("eng", "eng.morphochallenge2010"),
    "Latin, from a list of 8,000 words": ("lat", "lat.sigmorphon2022"),
}


@cache
def results(name: str) -> Any:
    """Read a results file: the rows of an experiment (.jsonl), or one document (.json)."""
    if rows := rows_of(name):
        return rows
    found = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found["rows"] if isinstance(found, dict) and "rows" in found else found


def columns(name: str, figure: str, *keys: str, **fixed: object) -> dict[Any, list[Any]]:
    """Collect the values of a figure from the rows that have the `fixed` values, grouped by one or several keys."""
    found: dict[Any, list[Any]] = {}
    for row in where(results(name), **fixed):
        if figure in row:
            key = tuple(row[each] for each in keys)
            found.setdefault(key if len(key) > 1 else key[0], []).append(row[figure])
    return found


def means(name: str, figure: str, *keys: str, **fixed: object) -> dict[Any, float]:
    """Return the mean of a figure for each key, with the arguments of `columns`."""
    return {key: fmean(found) for key, found in columns(name, figure, *keys, **fixed).items()}


def ends(values: Iterable[float], form: str = ".1f", unit: str = " %") -> str:
    """Format the range of some values.

    >>> ends([1.26, 0.33])
    '0.3 to 1.3 %'
    """
    least, *_, most = sorted(values)
    return f"{least:{form}} to {most:{form}}{unit}"


def fewer(values: list[float]) -> str:
    """Format the range of some savings in percent, of which the lowest may be negative.

    >>> fewer([1.26, 0.33])
    '0.3 to 1.3 % fewer'
    >>> fewer([0.4, -0.49])
    '0.5 % more to 0.4 % fewer'
    """
    if min(values) < 0:
        return f"{-min(values):.1f} % more to {max(values):.1f} % fewer"
    return f"{ends(values)} fewer"


def quality(language: str, gold: str, system: str, size: int = 8_000) -> Row:
    """Find the row of a system on a set of reference segmentations."""
    rows = where(results("quality"), language=language, gold=gold, system=system)
    return next(row for row in rows if row["vocab_size"] in (size, None))


def best_baseline(language: str, gold: str) -> tuple[float, str]:
    """Find the highest F1 of a baseline at vocabulary size 8,000, and the name of the baseline."""
    rows = where(results("quality"), language=language, gold=gold)
    baselines = [row for row in rows if not row["system"].startswith("mws") and row["vocab_size"] in (8_000, None)]
    best = max(baselines, key=lambda row: row["f1"])
    names = {"sentencepiece-unigram": "SentencePiece Unigram", "unigram": "Unigram", "morfessor": "Morfessor"}
    system = best["system"].partition(":")[0]
    for suffix in ("-frequent", "-all", "-identity"):
        system = system.removesuffix(suffix)
    return float(best["f1"]), names.get(system, system)


@cache
def models(preset: str) -> list[Row]:
    """Return the lines of a comparison of small models; for a closed comparison these are its saved rows."""
    if preset in PRESETS:
        return summary(PRESETS[preset], results(f"lm_{preset}"))

    def percents(found: Row) -> list[float]:
        return [100 * found["relative"] / found["value"] * found[each] for each in ("value", "low", "high")]

    lines = where(results(f"lm_{preset}"), main=True)  # other rows are of other amounts of text
    return [line | {"against": {x: percents(found) for x, found in line["differences"].items()}} for line in lines]


def difference(preset: str, system: str, baseline: str, *, matched: bool = False, size: int = 8_000) -> list[float]:
    """Find a difference in bits per byte and the ends of its interval, in percent of the baseline's bits."""
    found = where(models(preset), system=system, vocabulary=size, flop_matched=matched)
    return list(found[0]["against"][baseline])


def medians(name: str) -> dict[str, dict[str, float]]:
    """Return the median seconds of each program, by text.

    The seconds of a program that was timed later are scaled by the seconds of the first program in both rounds.
    """
    of_text: dict[str, dict[str, list[Row]]] = {}
    for row in results(name):
        text = row.get("text") or f"{row['megabytes']} MB"
        of_text.setdefault(text, {}).setdefault(row["program"], []).append(row)
    found: dict[str, dict[str, float]] = {}
    for text, programs in of_text.items():
        first = scaled_seconds(next(iter(programs.values())), 0.0)
        found[text] = {program: scaled_seconds(rows, first) for program, rows in programs.items()}
    return found


def cards() -> dict[str, dict[str, Any]]:
    """Return the measured systems of each pretrained tokenizer."""
    return {row["name"]: row["systems"] for row in results("pretrained")}
