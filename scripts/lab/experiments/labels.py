"""What hand-cut words add: boundary F1 of morph merges learnt with 0 to 1,000 labelled words, on gold not used.

A sample is an order of the gold words. Its first 1,000 (half of a smaller gold set) are the pool: the first 20, 50,
... of them are labels, and the words after the pool are scored on. All of the pool are in the word list in every row
of a sample, that with 0 labels too, so that rows differ by the labels alone, and the views are computed once a sample.
"""

from __future__ import annotations

from lab.cells import Cell, Found, Page, Place, Row
from lab.data import GOLD, counts_of, gold_of, shuffled
from lab.systems import judged, labelled
from lab.tables import mean, tabulated, where

LABELS = (0, 20, 50, 100, 300, 1000)
AXES = {"sample": range(5), "language": list(GOLD), "labels": LABELS, "vocab_size": (8_000, 32_000)}
SHARED = 2


def exists(cell: Cell) -> bool:
    """Whether the gold of a language is large enough for so many labels."""
    return cell["labels"] < 1000 or cell["language"] in ("rus", "hun", "ces")


def measure(place: Place, cells: list[Cell]) -> Found:
    language, sample = cells[0]["language"], cells[0]["sample"]
    order = shuffled(gold_of(place.data, language), sample)
    n_pool = min(max(LABELS), len(order) // 2)
    numbers, sizes = (list(dict.fromkeys(cell[name] for cell in cells)) for name in ("labels", "vocab_size"))
    for n, size, backend in labelled(counts_of(place.data, language), order[:n_pool], numbers, sizes):
        cell = {"sample": sample, "language": language, "labels": n, "vocab_size": size}
        yield cell, {**judged(backend, order[n_pool:]), "words": len(order) - n_pool}


def table(rows: list[Row]) -> Page:
    for size in AXES["vocab_size"]:
        lines = []
        for language in GOLD:
            f1 = {(r["sample"], r["labels"]): r["f1"] for r in where(rows, language=language, vocab_size=size)}
            none = {sample: value for (sample, labels), value in f1.items() if not labels}
            if none:
                base = f"{sum(none.values()) / len(none):.3f}"
                lines.append({"gold": language, "samples": str(len(none)), "none": base})
                for n in LABELS[1:]:
                    gains = [f1[sample, n] - value for sample, value in none.items() if (sample, n) in f1]
                    lines[-1][f"{n:,}"] = mean(gains, "+.3f")
        yield f"## Vocabulary {size:,}, morphs only"
        yield tabulated(lines)
