"""Boundary F1 from 0.1 to 10 MB of text: MwS with 0, 20 and 300 labels compared with baselines, in six languages.

A text is the beginning of the language's sources, cut after the last complete line within the given size. If a language
has less text, the row has its actual size. All systems have a vocabulary size of 8,000, and MwS has morphs only.
SentencePiece and Morfessor learn from every word once, which is best for them here, and byte-level BPE learns from
running text.

A sample is a random order of the reference words. Its first 20 or 300 words are the labels, and the words after the
first 300 are scored with every system. The figures are means over samples.
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
"""Whether each baseline learns from every distinct word once."""

SYSTEMS = (*LABELS, *TYPES)
AXES = {"language": list(SOURCES), "megabytes": (0.1, 0.3, 1.0, 3.0, 10.0), "system": SYSTEMS, "sample": range(3)}
SHARED = 2
POOL, VOCAB_SIZE = 300, 8_000


def measure(place: Place, cells: list[Cell]) -> Found:
    """Measure F1 of each system on the words after the pool of each sample; a baseline is trained only once."""
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
