"""What hand-cut words add: boundary F1 of morph merges learnt with 0 to 1,000 labelled words, on gold not used.

A sample is an order of the gold words. Its first 1,000 (half of a smaller gold set) are the pool: the first 20, 50,
... of them are labels, and the words after the pool are scored on. All of the pool are in the word list in every row
of a sample, that with 0 labels too, so that rows differ by the labels alone, and the views are computed once a sample.
"""

from __future__ import annotations

from collections.abc import Iterator

from lab.cells import Cell, Place, Row
from lab.data import GOLD, counts_of, gold_of, shuffled
from lab.systems import labelled
from lab.tables import mean, where
from mws_hf.evaluate import score, segment_words
from mws_hf.text.markdown import markdown_table

LABELS = (0, 20, 50, 100, 300, 1000)
AXES = {"sample": range(5), "language": list(GOLD), "labels": LABELS, "vocab_size": (8_000, 32_000)}
SHARED = 2
TOLD = ("f1", "precision", "recall", "exact")


def exists(cell: Cell) -> bool:
    """Whether the gold of a language is large enough for so many labels."""
    return cell["labels"] < 1000 or cell["language"] in ("rus", "hun", "ces")


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Learn with the first so many labels of the pool each, and score on the rest."""
    language, sample = cells[0]["language"], cells[0]["sample"]
    order = shuffled(gold_of(place.data, language), sample)
    n_pool = min(max(LABELS), len(order) // 2)
    pool, rest = order[:n_pool], order[n_pool:]
    numbers, sizes = (list(dict.fromkeys(cell[name] for cell in cells)) for name in ("labels", "vocab_size"))
    for n, size, backend in labelled(counts_of(place.data, language), pool, numbers, sizes):
        found = score(rest, segment_words(backend, [each.word for each in rest]))
        cell = {"sample": sample, "language": language, "labels": n, "vocab_size": size}
        yield cell, {**{name: getattr(found, name) for name in TOLD}, "words": len(rest)}


def table(rows: list[Row]) -> str:
    """Mean F1 without labels, and the mean gain with its 95 % interval over samples."""
    parts = []
    for size in AXES["vocab_size"]:
        lines = []
        for language in GOLD:
            f1 = {(r["sample"], r["labels"]): r["f1"] for r in where(rows, language=language, vocab_size=size)}
            none = {sample: value for (sample, labels), value in f1.items() if not labels}
            gains = ([f1[s, n] - value for s, value in none.items() if (s, n) in f1] for n in LABELS[1:])
            if none:
                base = f"{sum(none.values()) / len(none):.3f}"
                lines.append([language, str(len(none)), base, *(mean(each, "+.3f") for each in gains)])
        header = ["gold", "samples", "none", *(f"{n:,}" for n in LABELS[1:])]
        parts.append(f"## Vocabulary {size:,}, morphs only\n\n{markdown_table(header, lines)}")
    return "\n\n".join(parts)
