"""What finer cuts bring: boundary F1, tokens a word and n-gram bits, by the share of places that evidence lets be cut.

The first 12 MB of a language (Turkish and Finnish have less), every 20th line held out; n-gram models learn from 6 MB
of the rest and read 0.6 MB of the lines held out. F1 is of development gold. `share` is that of compositions among the
merges. Single deterministic runs: under .015 of F1 is a tie. Of morphs alone the fewest bits (bold) find the best F1
within .01, as measured before this table: a rule by language that needs no gold.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.cells import Cell, Found, Page, Place, Row
from lab.data import gold_of, head, read
from lab.systems import judged, learnt
from lab.tables import groups, tabulated
from mws_hf import WordCounts
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.segmentations import GoldWord
from mws_hf.scoring import score_text
from mws_hf.scoring.ngram_model import ngram_bits

SOURCES = {
    "rus": ("rus.novels",), "fin": ("fin.fincore", "fin.msdocs"), "tur": ("tur.blog", "tur.msdocs-ht", "tur.ud-boun"),
    "hun": ("hun.eltec",), "ces": ("ces.eltec",), "eng": ("eng.eltec",),
}  # fmt: skip
AXES = {
    "language": list(SOURCES),
    "granularity": (0.06, 0.08, 0.095, 0.115, 0.14, 0.17, 0.21),
    "size": (8000, 16_000, 32_000),
    "share": (0, 0.5),
}
SHARED = 1
HELD_OUT_EVERY, BYTES, TRAINING, HELD_OUT = 20, 12e6, 6e6, 6e5


@dataclass(frozen=True)
class Sample:
    """The text of a language, split for one experiment, and its reference segmentations.

    Attributes:
        counts: words of the training lines, which tokenizers learn from.
        of_bits: training lines that the n-gram model learns from.
        held_out: lines that neither has seen.
        gold: the development set of reference segmentations.
    """

    counts: WordCounts
    of_bits: list[str]
    held_out: list[str]
    gold: tuple[GoldWord, ...]

    @classmethod
    def of(cls, data: Path, language: str) -> Sample:
        """Read the first 12 MB of a language and hold every 20th line out."""
        lines = head(read(data, SOURCES[language]), BYTES)
        training = [line for n, line in enumerate(lines, 1) if n % HELD_OUT_EVERY]
        held_out = head(lines[HELD_OUT_EVERY - 1 :: HELD_OUT_EVERY], HELD_OUT)
        return cls(count_documents(training), head(training, TRAINING), held_out, gold_of(data, language))

    def figures(self, backend: Any) -> Row:
        """Return the n-gram bits per byte, tokens per word and boundary scores of a tokenizer."""
        bits = ngram_bits(backend, self.of_bits, self.held_out).value
        length = score_text(backend, [line.rstrip("\n") for line in self.held_out]).fertility
        scores = {name: round(value, 5) for name, value in judged(backend, self.gold).items()}
        return {"bits": round(bits, 5), "tokens_per_word": round(length, 4), **scores, "words": len(self.gold)}


def measure(place: Place, cells: list[Cell]) -> Found:
    """Train a tokenizer for each cell and score it; one evidence serves all of a granularity."""
    sample = Sample.of(place.data, cells[0]["language"])
    for cell in cells:
        settings = {"vocab_size": cell["size"], "granularity": cell["granularity"], "composition": cell["share"]}
        yield cell, sample.figures(learnt(sample.counts, **settings))


def table(rows: list[Row]) -> Page:
    yield "Cells: n-gram bits per byte, F1, tokens a word; **bold**: the fewest bits."
    for size, share, here in sorted(groups(rows, "size", "share"), key=lambda each: each[:2]):
        shown = sorted({row["granularity"] for row in here})
        lines = []
        for language, own in groups(here, "language"):
            least = min(row["bits"] for row in own)
            lines.append({"": language} | {str(value): "" for value in shown})
            for row in own:
                mark = "**" if row["bits"] == least else ""
                cell = f"{mark}{row['bits']:.4f}{mark} {row['f1']:.3f} {row['tokens_per_word']:.3f}"
                lines[-1][str(row["granularity"])] = cell
        yield f"## {size:,} entries, " + (f"compositions {share:g}" if share else "morphs alone")
        yield tabulated(lines)
