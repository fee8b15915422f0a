"""The gain from labeled words: boundary F1 of morphs only with 0 to 1,000 labels, on words that are not labels.

A sample is a random order of the words of a set of reference segmentations. Its first 1,000 words (half of a smaller
set) are the pool. The first 20, 50, ... words of the pool are the labels, and F1 is measured on the words after the
pool. In all rows of a sample, also in the row without labels, the word list contains the whole pool, so that rows
differ only in their labels. The views are computed once per sample. With labels, the merges are learned twice, because
labels affect tokens, too (`mws_hf.learn.token_rates`).
"""

from __future__ import annotations

from lab.cells import Cell, Found, Page, Place, Row, beside
from lab.data import GOLD, counts_of, gold_of, lines_of, shuffled, spaced
from lab.systems import MORPHS, judged, labelled
from lab.tables import groups, mean, tabulated, where
from mws_hf.learn.defaults import DEFAULT_GRANULARITY
from mws_hf.scoring import score_text

LABELS = (0, 20, 50, 100, 300, 1000)
AXES = {"sample": range(5), "language": list(GOLD), "labels": LABELS, "vocab_size": (8_000, 32_000)}
SHARED = 2


KEPT = {"kept": DEFAULT_GRANULARITY, "re-estimated": None}
"""The granularity with labels: the value that is used without labels, or None, so that the labels estimate it."""


def exists(cell: Cell) -> bool:
    """Return whether the references of a language are enough for this number of labels."""
    return cell["labels"] < 1000 or cell["language"] in ("rus", "hun", "ces")


def measure(place: Place, cells: list[Cell]) -> Found:
    language, sample = cells[0]["language"], cells[0]["sample"]
    order = shuffled(gold_of(place.data, language), sample)
    n_pool = min(max(LABELS), len(order) // 2)
    numbers, sizes = (list(dict.fromkeys(cell[name] for cell in cells)) for name in ("labels", "vocab_size"))
    for n, size, backend in labelled(counts_of(place.data, language), order[:n_pool], numbers, sizes, MORPHS):
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


def measure_default(place: Place, cells: list[Cell]) -> Found:
    """The gain from labeled words with default settings: F1 on words that are not labels, and tokens per word.

    The method is that of `labels`, but with the default composition, so that half of the merges join frequent morphs.
    With granularity *kept*, the same share of positions is split as without labels. With granularity *re-estimated*,
    the labels also determine this share, as with the argument `labels=`. Tokens per word are measured on 4,000 lines of
    the training text.
    """
    language, sample = cells[0]["language"], cells[0]["sample"]
    counts, order = counts_of(place.data, language), shuffled(gold_of(place.data, language), sample)
    lines = spaced([line.rstrip("\n") for line in lines_of(place.data, language)], 4000)
    n_pool = min(max(LABELS), len(order) // 2)
    for kept, here in groups(cells, "granularity"):
        numbers, sizes = (list(dict.fromkeys(cell[name] for cell in here)) for name in ("labels", "vocab_size"))
        options = {} if KEPT[kept] is None else {"granularity": KEPT[kept]}
        for n, size, backend in labelled(counts, order[:n_pool], numbers, sizes, options):
            cell = {"sample": sample, "language": language, "granularity": kept, "labels": n, "vocab_size": size}
            length = round(score_text(backend, lines).fertility, 4)
            yield cell, {**judged(backend, order[n_pool:]), "tokens_per_word": length, "words": len(order) - n_pool}


def table_default(rows: list[Row]) -> Page:
    """Write the gains by language, number of labels and vocabulary size, with 95 % t intervals over samples."""
    for size, kept, here in groups(sorted(rows, key=lambda row: row["vocab_size"]), "vocab_size", "granularity"):
        lines = []
        for language, own in groups(here, "language"):
            none = {row["sample"]: row for row in own if not row["labels"]}
            pairs = [(row, none[row["sample"]]) for row in own if row["labels"] and row["sample"] in none]
            lines.append({"language": language, "draws": str(len(none)), "F1 without": ""})
            if none:
                lines[-1]["F1 without"] = f"{sum(row['f1'] for row in none.values()) / len(none):.3f}"
            for n in LABELS[1:]:
                f1 = [row["f1"] - base["f1"] for row, base in pairs if row["labels"] == n]
                ratios = [row["tokens_per_word"] / base["tokens_per_word"] for row, base in pairs if row["labels"] == n]
                longer = f"{100 * (sum(ratios) / len(ratios) - 1):+.1f} %" if ratios else ""
                lines[-1][f"{n:,}"] = f"{mean(f1, '+.3f')}, {longer}" if f1 else ""
        yield f"## Vocabulary size {size:,}, granularity {kept}"
        yield tabulated(lines)


labels_default = beside(
    measure_default,
    table_default,
    {
        "sample": range(5),
        "language": list(GOLD),
        "granularity": list(KEPT),
        "labels": LABELS,
        "vocab_size": (8_000, 32_000),
    },
    2,
    exists=exists,
)
