"""Rows of scripts/results as the pages' figures need them: values by key, means, ranges as text."""

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
"""What a function yields: names of figures or tables, and their texts."""
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
    """Read a results file: the rows of an experiment, or one document."""
    if rows := rows_of(name):
        return rows
    found = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found["rows"] if isinstance(found, dict) and "rows" in found else found


def columns(name: str, figure: str, *keys: str, **fixed: object) -> dict[Any, list[Any]]:
    """Give a figure of the rows with some values: all there are, by what they have of one key, or of several."""
    found: dict[Any, list[Any]] = {}
    for row in where(results(name), **fixed):
        if figure in row:
            key = tuple(row[each] for each in keys)
            found.setdefault(key if len(key) > 1 else key[0], []).append(row[figure])
    return found


def means(name: str, figure: str, *keys: str, **fixed: object) -> dict[Any, float]:
    """Give the mean of a figure by key, as `columns` does."""
    return {key: fmean(found) for key, found in columns(name, figure, *keys, **fixed).items()}


def ends(values: Iterable[float], form: str = ".1f", unit: str = " %") -> str:
    """Write the least and the most of some values.

    >>> ends([1.26, 0.33])
    '0.3 to 1.3 %'
    """
    least, *_, most = sorted(values)
    return f"{least:{form}} to {most:{form}}{unit}"


def fewer(values: list[float]) -> str:
    """Write the least and the most of percentages saved.

    >>> fewer([1.26, 0.33])
    '0.3 to 1.3 % fewer'
    >>> fewer([0.4, -0.49])
    '0.5 % more to 0.4 % fewer'
    """
    if min(values) < 0:
        return f"{-min(values):.1f} % more to {max(values):.1f} % fewer"
    return f"{ends(values)} fewer"


def quality(language: str, gold: str, system: str, size: int = 8_000) -> Row:
    """Find the row of a system on a gold set."""
    rows = where(results("quality"), language=language, gold=gold, system=system)
    return next(row for row in rows if row["vocab_size"] in (size, None))


def best_rival(language: str, gold: str) -> tuple[float, str]:
    """Find the highest F1 of a rival at 8,000 entries, and its name."""
    rows = where(results("quality"), language=language, gold=gold)
    rivals = [row for row in rows if not row["system"].startswith("mws") and row["vocab_size"] in (8_000, None)]
    best = max(rivals, key=lambda row: row["f1"])
    names = {"sentencepiece-unigram": "SentencePiece Unigram", "unigram": "Unigram", "morfessor": "Morfessor"}
    system = best["system"].partition(":")[0]
    for suffix in ("-frequent", "-all", "-identity"):
        system = system.removesuffix(suffix)
    return float(best["f1"]), names.get(system, system)


@cache
def models(preset: str) -> list[Row]:
    """Give the lines of a comparison of small models; those of a closed one as they were written."""
    if preset in PRESETS:
        return summary(PRESETS[preset], results(f"lm_{preset}"))

    def percents(found: Row) -> list[float]:
        return [100 * found["relative"] / found["value"] * found[each] for each in ("value", "low", "high")]

    lines = where(results(f"lm_{preset}"), main=True)  # beside other amounts of text
    return [line | {"against": {x: percents(found) for x, found in line["differences"].items()}} for line in lines]


def difference(preset: str, system: str, rival: str, *, matched: bool = False, size: int = 8_000) -> list[float]:
    """Find a difference of bits per byte and the ends of its interval, in per cent of the rival's bits."""
    found = where(models(preset), system=system, vocabulary=size, flop_matched=matched)
    return list(found[0]["against"][rival])


def medians(name: str) -> dict[str, dict[str, float]]:
    """Give the median seconds of each program, by text; of one timed later scaled to the first one's."""
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
    """Give the measured systems of each ready tokenizer."""
    return {row["name"]: row["systems"] for row in results("pretrained")}
