"""Rows of evaluation results and their Markdown tables; no measuring happens here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mws_hf.evaluate.boundaries import BoundaryScores
from mws_hf.evaluate.consistency import Emma2
from mws_hf.evaluate.gold import Gold
from mws_hf.evaluate.ngram_bits import NgramBits
from mws_hf.evaluate.paired import PairedDifference
from mws_hf.evaluate.running_text import TextScores
from mws_hf.evaluate.significance import Difference

_GOLD_HEADER = (
    "tokenizer",
    "F1",
    "95 %",
    "precision",
    "recall",
    "macro F1",
    "morph F1",
    "exact",
    "EMMA-2",
    "MorphScore",
    "over",
    "under",
    "tokens/word",
    "behind best",
)
_TEXT_HEADER = (
    "tokenizer",
    "tokens/word",
    "bytes/token",
    "characters/token",
    "vocabulary",
    "used",
    "Rényi 2.5",
    "words whole",
    "byte tokens",
    "unknown",
    "same in context",
)


@dataclass(frozen=True)
class GoldRow:
    """One tokenizer on one gold file.

    Attributes:
        tokenizer: name.
        gold: name of the gold file.
        scores: boundary, morph and word scores.
        interval: bootstrap 95 % interval of micro F1.
        emma2: consistency of pieces across words.
        behind_best: the best tokenizer of this gold (by micro F1, baselines apart) against this one; None for the
            best itself and for the baselines.
    """

    tokenizer: str
    gold: str
    scores: BoundaryScores
    interval: tuple[float, float]
    emma2: Emma2
    behind_best: Difference | None = None


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column is left-aligned, the others right-aligned.

    >>> print(markdown_table(["a", "b"], [["x", "1"]]))
    | a | b |
    |---|---:|
    | x | 1 |
    """
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def gold_markdown(gold: Gold, rows: Sequence[GoldRow]) -> str:
    """One gold file: what was read of it, and a row for each tokenizer."""
    morphs = sum(len(entry.segmentations[0]) for entry in gold.words) / len(gold.words)
    about = f"{len(gold.words)} words, {morphs:.2f} morphs a word, format {gold.format}"
    if gold.problems:
        about += f"; {len(gold.problems)} of {gold.lines} lines left out, the first: {gold.problems[0]}"
    if gold.partial:
        about += "; **marks only one or two boundaries of a word: read MorphScore, not F1**"
    return f"### {gold.name}\n{about}\n\n" + markdown_table(_GOLD_HEADER, [_gold_cells(row) for row in rows])


def text_markdown(
    text: Mapping[str, TextScores],
    bits: Mapping[str, NgramBits] | None = None,
    differences: Mapping[str, PairedDifference | None] | None = None,
) -> str:
    """Running text: a row for each tokenizer; with `bits`, two more columns and what to know about them."""
    first = next(iter(text.values()))
    about = f"{first.words} words, {first.bytes} bytes"
    for name, scores in text.items():
        if scores.unaligned_lines:
            about += f"; {name}: {scores.unaligned_lines} lines without offsets count for lengths only"
    rows = [[name, *_text_cells(scores)] for name, scores in text.items()]
    header = list(_TEXT_HEADER)
    if bits:
        header += ["n-gram bits/byte", f"minus {next(iter(bits))} (95 %)"]
        for row in rows:
            found = (differences or {}).get(row[0])
            row += [f"{bits[row[0]].value:.4f}", _difference_cell(found) if found else ""]
        about += "\n\n" + _about_bits(bits)
    return f"### running text\n{about}\n\n" + markdown_table(header, rows)


def _text_cells(scores: TextScores) -> list[str]:
    return [
        f"{scores.fertility:.3f}",
        f"{scores.bytes_per_token:.3f}",
        f"{scores.characters_per_token:.3f}",
        str(scores.vocabulary_size),
        f"{scores.vocabulary_used:.1%}",
        f"{scores.renyi_efficiency:.3f}",
        f"{scores.whole_words:.1%}",
        f"{scores.byte_tokens:.2%}",
        f"{scores.unknown_tokens:.2%}",
        f"{scores.context_agreement:.1%}",
    ]


def _difference_cell(found: PairedDifference) -> str:
    return f"{found.value:+.4f} ({found.low:+.4f} to {found.high:+.4f}), {found.relative:+.1%}"


def _about_bits(bits: Mapping[str, NgramBits]) -> str:
    first = next(iter(bits.values()))
    orders = ", ".join(f"{name} {entry.order}" for name, entry in bits.items())
    about = (
        f"n-gram bits/byte: modified Kneser-Ney over tokens, trained on {first.train_bytes} bytes; {len(first.nats)} "
        f"lines held out, the end of each counted; order chosen on a tenth of the training text: {orders}. "
        "For screening: it overrates Unigram, and its context is counted in tokens."
    )
    if first.repeated:
        about += f" {first.repeated} training lines are held out as well and were left out."
    for name, entry in bits.items():
        if lost := int((~entry.restored).sum()):
            about += (
                f" **{name} does not give {lost} of {len(entry.nats)} lines back as they were: its bits/byte are not "
                "comparable, since what it loses costs nothing; differences are over lines that both give back.**"
            )
    return about


def _gold_cells(row: GoldRow) -> list[str]:
    scores = row.scores
    behind = row.behind_best
    return [
        row.tokenizer,
        f"{scores.f1:.3f}",
        f"{row.interval[0]:.3f}-{row.interval[1]:.3f}",
        f"{scores.precision:.3f}",
        f"{scores.recall:.3f}",
        f"{scores.macro_f1:.3f}",
        f"{scores.morph_f1:.3f}",
        f"{scores.exact:.1%}",
        f"{row.emma2.f1:.3f}",
        f"{scores.morphscore:.3f}" if scores.morphscore_words else "-",
        f"{scores.over_segmented:.1%}",
        f"{scores.under_segmented:.1%}",
        f"{scores.tokens_per_word:.2f}",
        f"{behind.f1:.3f} ({behind.low:.3f}-{behind.high:.3f})" if behind else "",
    ]
