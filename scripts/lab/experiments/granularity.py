"""The effect of granularity, the share of positions that are split, on boundary F1, tokens per word and n-gram bits.

The text is the first 12 MB of a language (Turkish and Finnish have less), and one line in 20 is held out. n-gram models
learn from 6 MB of the other lines and are scored on 0.6 MB of the held-out lines. F1 is measured on the development
sets of reference segmentations. `share` is the share of frequency merges (`composition`). Each cell is a single
deterministic run, so differences in F1 below 0.015 are within noise.

With morphs only, the granularity with the fewest bits (bold) has the best F1 or is at most 0.01 below it, according to
measurements before this table. Bits are therefore a way to choose the granularity of a language without reference
segmentations.
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
        """Read the first 12 MB of a language, and hold out one line in 20."""
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
    """Train and score a tokenizer per cell; all cells of a granularity share their boundary probabilities."""
    sample = Sample.of(place.data, cells[0]["language"])
    for cell in cells:
        settings = {"vocab_size": cell["size"], "granularity": cell["granularity"], "composition": cell["share"]}
        yield cell, sample.figures(learnt(sample.counts, **settings))


def table(rows: list[Row]) -> Page:
    """Write a table of bits, F1 and tokens per word for each vocabulary size and share of frequency merges."""
    yield "Each cell has n-gram bits per byte, F1 and tokens per word; the fewest bits are **bold**."
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
        yield f"## Vocabulary size {size:,}, " + (f"composition {share:g}" if share else "morphs only")
        yield tabulated(lines)
