"""Russian, roots never labelled: Tikhonov's development half, words of one root in one of five folds.

Labels come from four folds and the fifth is scored, 8,000 entries, morphs only, learnt from 4 MB (there are fifteen
trainings). Supervised systems lose 16 to 18 points of whole words on roots never seen (Garipov, Morozov, and Glazkova
2023, doi:10.1109/ISPRAS60948.2023.10508171). `--with fetched=FOLDER` holds a clone of MartinXPN/word2morph, whose
dictionary marks the roots.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from lab.cells import Cell, Place, Row
from lab.data import MB, first, gold_of, order_of, parts_of
from lab.public_sets import folds, roots
from lab.systems import labelled
from lab.tables import groups
from mws_hf.corpus.counting import count_documents
from mws_hf.evaluate import score, segment_words
from mws_hf.text.markdown import markdown_table

FOLDS, SIZE = 5, 8000
TOLD = ("f1", "precision", "recall", "exact")
AXES = {"labels": (0, 100, 1000), "fold": range(FOLDS)}
SHARED = 0


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Learn from labels of the other folds, and score each."""
    fetched = place.path("fetched", "a folder with a clone of MartinXPN/word2morph")
    parts = folds(gold_of(place.data, "rus"), roots(fetched), FOLDS)
    lines, _ = parts_of(place.data, "rus")
    counts = count_documents(first(lines, 4 * MB) or lines)
    for (number,), own in groups(cells, "fold").items():
        pool = sorted((w for n, part in enumerate(parts) if n != number for w in part), key=lambda w: order_of(w.word))
        rest = parts[number]
        for n, _, backend, fit in labelled(counts, pool[:1000], [cell["labels"] for cell in own], [SIZE]):
            found = score(rest, segment_words(backend, [each.word for each in rest]))
            told = {name: getattr(found, name) for name in TOLD}
            yield {"labels": n, "fold": number}, {"vocab_size": SIZE, **told, "words": len(rest), "fit": fit}


def table(rows: list[Row]) -> str:
    """Means over folds by the number of labels."""
    lines = []
    for (n,), here in groups(rows, "labels").items():
        means = [f"{statistics.fmean(row[name] for row in here):.3f}" for name in TOLD]
        spread = f"{min(row['f1'] for row in here):.3f} to {max(row['f1'] for row in here):.3f}"
        lines.append([f"{n:,}", f"{sum(row['words'] for row in here):,}", *means, spread])
    return markdown_table(["labels", "words", "F1", "precision", "recall", "words exact", "F1 by fold"], lines)
