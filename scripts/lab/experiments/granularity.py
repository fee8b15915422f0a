"""What finer cuts bring: boundary F1, tokens a word and n-gram bits, by the share of places that evidence lets be cut.

The first 12 MB of a language (Turkish and Finnish have less), every 20th line held out; n-gram models learn from 6 MB
of the rest and read 0.6 MB of the lines held out. F1 is of development gold. `share` is that of compositions among the
merges. Single deterministic runs: under .015 of F1 is a tie. Of morphs alone the fewest bits (bold) find the best F1
within .01, as measured before this table: a rule by language that needs no gold.
"""

from __future__ import annotations

from collections.abc import Iterator

from lab.cells import Cell, Place, Row
from lab.data import gold_of, head, read
from lab.systems import evidence_of
from lab.tables import groups, where
from mws_hf import MwSTrainer
from mws_hf.corpus.counting import count_documents
from mws_hf.evaluate import score, score_text, segment_words
from mws_hf.evaluate.ngram_bits import ngram_bits
from mws_hf.text.markdown import markdown_table

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


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Train a tokenizer for each cell and score it; one evidence serves all of a granularity."""
    lines = head(read(place.data, SOURCES[cells[0]["language"]]), BYTES)
    training = [line for n, line in enumerate(lines, 1) if n % HELD_OUT_EVERY]
    held_out = head(lines[HELD_OUT_EVERY - 1 :: HELD_OUT_EVERY], HELD_OUT)
    counts, learnt = count_documents(training), head(training, TRAINING)
    gold = gold_of(place.data, cells[0]["language"])
    for cell in cells:
        options = {"vocab_size": cell["size"], "granularity": cell["granularity"], "composition": cell["share"]}
        trainer = MwSTrainer(**options, show_progress=False)
        learned = trainer.learn(counts, evidence=evidence_of(counts, trainer))
        backend = trainer.backend(learned)
        found = score(gold, segment_words(backend, [word.word for word in gold]))
        bits = ngram_bits(backend, learnt, held_out).value
        scores = {name: round(getattr(found, name), 5) for name in ("f1", "precision", "recall")}
        length = score_text(backend, [line.rstrip("\n") for line in held_out]).fertility
        yield cell, {"bits": round(bits, 5), "tokens_per_word": round(length, 4), **scores, "words": len(gold)}


def table(rows: list[Row]) -> str:
    """A table a size and share, a row a language, a column a granularity."""
    parts = ["Cells: n-gram bits per byte, F1, tokens a word; **bold**: the fewest bits."]
    for (size, share), here in sorted(groups(rows, "size", "share").items()):
        shown = sorted({row["granularity"] for row in here})
        lines = []
        for (language,), own in groups(here, "language").items():
            least = min(row["bits"] for row in own)
            line = [language]
            for row in (each for value in shown for each in where(own, granularity=value) or [{}]):
                bits = f"{row['bits']:.4f}" if row else ""
                mark = "**" if row and row["bits"] == least else ""
                line.append(f"{mark}{bits}{mark} {row['f1']:.3f} {row['tokens_per_word']:.3f}" if row else "")
            lines.append(line)
        title = f"## {size:,} entries, " + ("morphs alone" if not share else f"compositions {share:g}")
        parts.append(f"{title}\n\n{markdown_table(['', *map(str, shown)], lines)}")
    return "\n\n".join(parts)
