"""Boundary F1 from little text: MwS with 0, 20 and 300 labelled words beside its rivals, 0.1 to 10 MB, six languages.

A text is the first so many million bytes, whole lines, of the language's sources. All systems have 8,000 entries; MwS
learns morphs only. SentencePiece and Morfessor see every word once, as is best for them here, byte-level BPE running
text. Of each gold, the words with the smallest hashes of a sample are labels, and the words after the first 300 are
scored, for every system the same; figures are means over samples. Rows tell where a language has less text than asked.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from lab.cells import Cell, Place, Row
from lab.data import gold_of, head, read, shuffled
from lab.systems import UNIGRAM
from lab.tables import groups, where
from mws_hf import MwSTrainer
from mws_hf.compare import rivals
from mws_hf.corpus.counting import count_documents
from mws_hf.evaluate import score, segment_words
from mws_hf.text.markdown import markdown_table

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


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """F1 of each system on the words after the pool of each sample; it is trained anew only where labels differ."""
    language = cells[0]["language"]
    lines = head(read(place.data, SOURCES[language]), cells[0]["megabytes"] * 1e6)
    counts, gold = count_documents(lines), gold_of(place.data, language)
    about = {"bytes": sum(len(line.encode()) for line in lines), "words_in_text": len(counts)}
    for (system,), own in groups(cells, "system").items():
        source = None
        for cell in own:
            order = shuffled(gold, cell["sample"])
            if source is None or LABELS.get(system):
                if system in LABELS:
                    labels = order[: LABELS[system]] or None
                    trainer = MwSTrainer(vocab_size=VOCAB_SIZE, composition=0, labels=labels, show_progress=False)
                    source = trainer.backend(trainer.learn(counts))
                else:
                    seen = counts.as_types() if TYPES[system] else counts
                    source = rivals.train(system, seen, VOCAB_SIZE).source
            rest = order[POOL:]
            f1 = score(rest, segment_words(source, [each.word for each in rest])).f1
            yield cell, {**about, "f1": f1, "words": len(rest)}


def table(rows: list[Row]) -> str:
    """A row a language and size, a column a system, the mean F1 of the samples."""
    lines = []
    for (language, _), here in groups(rows, "language", "megabytes").items():
        f1 = [[row["f1"] for row in where(here, system=system)] for system in SYSTEMS]
        about = [str(language), f"{here[0]['bytes'] / 1e6:.1f}", f"{here[0]['words_in_text']:,}"]
        lines.append([*about, *(f"{statistics.fmean(each):.3f}" if each else "" for each in f1)])
    return markdown_table(["gold", "MB", "distinct words", *SYSTEMS], lines)
