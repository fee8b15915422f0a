"""Make the tables of an evaluation, in full or with the most important columns, and write them as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mws_hf.corpus.segmentations import Gold
from mws_hf.scoring.boundaries import BoundaryScores
from mws_hf.scoring.consistency import Consistency, Emma2
from mws_hf.scoring.measures import BITS, GOLD, TEXT, Measure, number_cell
from mws_hf.scoring.ngram_model import NgramBits
from mws_hf.scoring.running_text import TextScores
from mws_hf.scoring.significance import Difference, PairedDifference
from mws_hf.text.markdown import markdown_table, plain
from mws_hf.text.phrases import counted, percent

RUNNING_TEXT = "running text"
"""Title of the table of running text."""


@dataclass(frozen=True)
class GoldRow:
    """The scores of one tokenizer on one gold file.

    Attributes:
        tokenizer: name of the tokenizer or baseline.
        gold: name of the gold file.
        scores: boundary, morph and word scores.
        interval: 95 % bootstrap interval of micro F1.
        emma2: scores of EMMA-2.
        consistency: measures of MorphBPE.
        behind_best: difference between the tokenizer with the highest F1 and this one; None for the former and for
            baselines.
    """

    tokenizer: str
    gold: str
    scores: BoundaryScores
    interval: tuple[float, float]
    emma2: Emma2
    consistency: Consistency
    behind_best: Difference | None = None


def _score_cell(measure: Measure) -> Callable[[GoldRow], str]:
    return lambda row: measure.cell(row.scores)


class Table(NamedTuple):
    """A table of an evaluation; no text in it is Markdown.

    Attributes:
        title: name of the gold file, or `RUNNING_TEXT`.
        about: the size of the source, and remarks that are necessary to understand the figures.
        header: titles of the columns.
        rows: cells, one list per tokenizer.
    """

    title: str
    about: str
    header: list[str]
    rows: list[list[str]]

    def to_markdown(self) -> str:
        """Return title, remarks and table as Markdown."""
        header, *rows = [[plain(cell) for cell in row] for row in (self.header, *self.rows)]
        return f"### {plain(self.title)}\n{plain(self.about)}\n\n{markdown_table(header, rows)}"

    def short(self) -> Table:
        """Return the table with only the names of the tokenizers and the most important columns, at most five."""
        first = ("tokenizer", *FIRST_OF_GOLD, *FIRST_OF_TEXT)
        kept = [index for index, title in enumerate(self.header) if title in first or title.startswith("minus ")]
        if len(kept) > 6:  # bits per byte are more informative than the share of whole words
            kept = [index for index in kept if self.header[index] not in ("words whole", "used")]
        rows = [[row[index] for index in kept] for row in self.rows]
        return self._replace(header=[self.header[index] for index in kept], rows=rows)


GOLD_COLUMNS: dict[str, Callable[[GoldRow], str]] = {
    "tokenizer": lambda row: row.tokenizer,
    "F1": lambda row: GOLD["f1"].cell(row.scores),
    "95 %": lambda row: f"{row.interval[0]:.3f}-{row.interval[1]:.3f}",
    **{GOLD[key].short: _score_cell(GOLD[key]) for key in ("precision", "recall", "macro_f1", "morph_f1", "exact")},
    "EMMA-2": lambda row: f"{row.emma2.f1:.3f}",
    "μc": lambda row: f"{row.consistency.f1:.3f}",
    "μe": lambda row: f"{row.consistency.edit_distance:.2f}",
    "MorphScore": lambda row: GOLD["morphscore"].cell(row.scores) if row.scores.morphscore_words else "-",
    **{GOLD[key].short: _score_cell(GOLD[key]) for key in ("over_segmented", "under_segmented", "tokens_per_word")},
    "behind best": lambda row: (
        f"{row.behind_best.f1:.3f} ({row.behind_best.low:.3f} to {row.behind_best.high:.3f})" if row.behind_best else ""
    ),
}
FIRST_OF_GOLD = ("F1", "95 %", "precision", "recall", "tokens/word")
FIRST_OF_TEXT = ("tokens/word", "bytes/token", "vocabulary", "used", "words whole", BITS.short)
"""The most important columns of running text; docs/score.md defines all columns."""


def gold_table(gold: Gold, rows: Sequence[GoldRow]) -> Table:
    """Return the table of one gold file, with a row for each tokenizer."""
    morphs = sum(len(entry.segmentations[0]) for entry in gold.words) / len(gold.words)
    size = f"{counted(len(gold.words), 'word')}, {morphs:.2f} morphs per word (file format: {gold.format})"
    about = "; ".join([size, *gold.remarks])
    if gold.problems:
        about += f"; the first line left out: {gold.problems[0]}"
    if rows and rows[0].consistency.compared_words < len(gold.words):
        about += f"; μc compares the words of a random sample of {rows[0].consistency.compared_words:,}"
    return Table(gold.name, about, list(GOLD_COLUMNS), [[cell(row) for cell in GOLD_COLUMNS.values()] for row in rows])


def text_table(
    text: Mapping[str, TextScores],
    bits: Mapping[str, NgramBits],
    differences: Mapping[str, PairedDifference | None],
) -> Table:
    """Return the table of running text, with a row for each tokenizer; `bits` add two columns and remarks on them."""
    first = next(iter(text.values()))
    about = f"{counted(first.words, 'word')}, {first.bytes:,} bytes"
    if first.unspaced > 0.1:
        about += (
            f"; {percent(first.unspaced, '.0f')} of the letters are of scripts without spaces, where a word is all "
            "text up to the next space or punctuation mark: compare bytes per token and not tokens per word"
        )
    for name, scores in text.items():
        if scores.unaligned_lines:
            about += f"; {name}: only the lengths include {counted(scores.unaligned_lines, 'line')} without offsets"
    rows = [[name, *(measure.cell(scores) for measure in TEXT.values())] for name, scores in text.items()]
    header = ["tokenizer", *(measure.short for measure in TEXT.values())]
    if bits:
        header += [BITS.short, f"minus {next(iter(bits))} (95 %)"]
        for row in rows:
            row += [number_cell(bits[row[0]].value, BITS.form), _difference_cell(differences[row[0]])]
        about += "\n\n" + _about_bits(bits)
    return Table(RUNNING_TEXT, about, header, rows)


def _difference_cell(found: PairedDifference | None) -> str:
    """Return a difference of bits per byte with its interval, and in percent; "" if there is none."""
    if found is None:
        return ""
    return f"{found.value:+.4f} ({found.low:+.4f} to {found.high:+.4f}), {percent(found.relative, '+.1f')}"


def _about_bits(bits: Mapping[str, NgramBits]) -> str:
    first = next(iter(bits.values()))
    orders = ", ".join(f"{name} {entry.order}" for name, entry in bits.items())
    about = (
        f"n-gram bits/byte: modified Kneser-Ney over tokens, trained on {first.train_bytes:,} bytes and measured on "
        f"{len(first.nats):,} held-out lines with their ends; order chosen on a tenth of the training text: {orders}. "
        "This is a proxy measure: it does not rank Unigram as neural models do, and its context is counted in tokens."
    )
    if first.repeated:
        about += f" Left out of the training text: {counted(first.repeated, 'line')} of the held-out text."
    for name, entry in bits.items():
        if lost := int((~entry.restored).sum()):
            about += (
                f"\n\n{name} does not decode {lost} of {len(entry.nats)} lines to the original text. Its bits/byte are "
                "not comparable, because lost text costs no bits; differences are over lines that both decode."
            )
    return about
