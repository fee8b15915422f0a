"""Boundary F1 from little text: MwS with 0, 20 and 300 labelled words beside its rivals, 0.1 to 10 MB, six languages.

A text is the first so many million bytes, whole lines, of the language's sources. All systems have 8,000 entries; MwS
learns morphs only. SentencePiece and Morfessor see every word once, as is best for them here, byte-level BPE running
text. Of each gold, the words with the smallest hashes of a sample are labels, and the words after the first 300 are
scored, for every system the same; figures are means over samples. Rows tell where a language has less text than asked.
"""

from __future__ import annotations

import statistics

from lab.cells import Cell, Found, Page, Place, Row
from lab.data import gold_of, head, n_bytes_of, read, shuffled
from lab.systems import UNIGRAM, judged, learnt
from lab.tables import groups, tabulated, where
from mws_hf.compare import baselines
from mws_hf.corpus.counting import count_documents

SOURCES = {
    "rus": ("rus.eltec", "rus.rublimp"),
    "fin": ("fin.fincore", "fin.ud-tdt-ner", "fin.msdocs"),
    "tur": ("tur.blog", "tur.ud-boun", "tur.msdocs-ht"),
    "hun": ("hun.eltec",),
    "ces": ("ces.eltec",),
    "eng": ("eng.eltec",),
}
LABELS = {"mws-morphs": 0, "mws-morphs, 20 labels": 20, "mws-morphs, 300 labels": 300}
TYPES = {"bpe-byte": False, UNIGRAM: True, "morfessor": True}
"""Whether each rival learns from types."""

SYSTEMS = (*LABELS, *TYPES)
AXES = {"language": list(SOURCES), "megabytes": (0.1, 0.3, 1.0, 3.0, 10.0), "system": SYSTEMS, "sample": range(3)}
SHARED = 2
POOL, VOCAB_SIZE = 300, 8_000


def measure(place: Place, cells: list[Cell]) -> Found:
    """F1 of each system on the words after the pool of each sample; it is trained anew only where labels differ."""
    language = cells[0]["language"]
    lines = head(read(place.data, SOURCES[language]), cells[0]["megabytes"] * 1e6)
    counts, gold = count_documents(lines), gold_of(place.data, language)
    about = {"bytes": sum(map(n_bytes_of, lines)), "words_in_text": len(counts)}
    for system, own in groups(cells, "system"):
        if system in TYPES:
            rival = baselines.train(system, counts.as_types() if TYPES[system] else counts, VOCAB_SIZE).source
        for cell in own:
            order = shuffled(gold, cell["sample"])
            if system in LABELS:
                labels = order[: LABELS[system]] or None
                source = learnt(counts, vocab_size=VOCAB_SIZE, composition=0, labels=labels)
            else:
                source = rival
            yield cell, {**about, "f1": judged(source, order[POOL:])["f1"], "words": len(order) - POOL}


def table(rows: list[Row]) -> Page:
    lines = []
    for language, _, here in groups(rows, "language", "megabytes"):
        size, words = f"{here[0]['bytes'] / 1e6:.1f}", f"{here[0]['words_in_text']:,}"
        lines.append({"gold": language, "MB": size, "distinct words": words})
        for system in SYSTEMS:
            f1 = [row["f1"] for row in where(here, system=system)]
            lines[-1][system] = f"{statistics.fmean(f1):.3f}" if f1 else ""
    yield tabulated(lines)
