"""The whole evaluation: tokenizers x gold files (x running text) as one report, as a dictionary, JSON or Markdown."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from mws_hf.corpus.segmentations import Gold, read_golds
from mws_hf.errors import MwSError
from mws_hf.evaluate.boundaries import BoundaryScores, Emma2, WordTable, emma2, summarize, word_table
from mws_hf.evaluate.consistency import Consistency, consistency
from mws_hf.evaluate.encoder import load_encoder
from mws_hf.evaluate.ngram_bits import NgramBits, bits_differences, ngram_bits
from mws_hf.evaluate.running_text import TextScores, lines_of, score_text
from mws_hf.evaluate.segment import Isolated, is_plain_function, segment_words
from mws_hf.evaluate.significance import Difference, PairedDifference, bootstrap_f1, difference, interval
from mws_hf.hub import named_sources, tokenizer_place
from mws_hf.training_record import labelled_words

BASELINES: dict[str, Callable[[str], tuple[str, ...]]] = {"(every character)": tuple, "(no cut)": lambda word: (word,)}
"""What cuts everywhere, and what never does."""


@dataclass(frozen=True)
class GoldRow:
    """One tokenizer on one gold file.

    Attributes:
        tokenizer: name.
        gold: name of the gold file.
        scores: boundary, morph and word scores.
        interval: bootstrap 95 % interval of micro F1.
        emma2: consistency of pieces across words.
        consistency: that of words which share a morph or a token, and edit distance (MorphBPE's measures).
        behind_best: the best tokenizer of this gold (by micro F1, baselines apart) against this one; None for the
            best itself and for the baselines.
    """

    tokenizer: str
    gold: str
    scores: BoundaryScores
    interval: tuple[float, float]
    emma2: Emma2
    consistency: Consistency
    behind_best: Difference | None = None


# title of a column, and its cell
_GOLD_COLUMNS: dict[str, Callable[[GoldRow], str]] = {
    "tokenizer": lambda row: row.tokenizer,
    "F1": lambda row: f"{row.scores.f1:.3f}",
    "95 %": lambda row: f"{row.interval[0]:.3f}-{row.interval[1]:.3f}",
    "precision": lambda row: f"{row.scores.precision:.3f}",
    "recall": lambda row: f"{row.scores.recall:.3f}",
    "macro F1": lambda row: f"{row.scores.macro_f1:.3f}",
    "morph F1": lambda row: f"{row.scores.morph_f1:.3f}",
    "exact": lambda row: f"{row.scores.exact:.1%}",
    "EMMA-2": lambda row: f"{row.emma2.f1:.3f}",
    "μc": lambda row: f"{row.consistency.f1:.3f}",
    "μe": lambda row: f"{row.consistency.edit_distance:.2f}",
    "MorphScore": lambda row: f"{row.scores.morphscore:.3f}" if row.scores.morphscore_words else "-",
    "over": lambda row: f"{row.scores.over_segmented:.1%}",
    "under": lambda row: f"{row.scores.under_segmented:.1%}",
    "tokens/word": lambda row: f"{row.scores.tokens_per_word:.2f}",
    "behind best": lambda row: (
        f"{row.behind_best.f1:.3f} ({row.behind_best.low:.3f}-{row.behind_best.high:.3f})" if row.behind_best else ""
    ),
}
# title of a column, measure, format
_TEXT_COLUMNS = (
    ("tokens/word", "fertility", ".3f"),
    ("bytes/token", "bytes_per_token", ".3f"),
    ("characters/token", "characters_per_token", ".3f"),
    ("vocabulary", "vocabulary_size", ""),
    ("used", "vocabulary_used", ".1%"),
    ("Rényi 2.5", "renyi_efficiency", ".3f"),
    ("words whole", "whole_words", ".1%"),
    ("byte tokens", "byte_tokens", ".2%"),
    ("unknown", "unknown_tokens", ".2%"),
    ("same in context", "context_agreement", ".1%"),
)


@dataclass(frozen=True)
class EvaluationReport:
    """Everything `evaluate` measured.

    Attributes:
        isolated: how gold words were given to the tokenizers.
        golds: the gold files read, with the lines left out of each.
        rows: gold by gold, tokenizers in the order given, then the baselines.
        text: running-text measures by tokenizer; empty without text.
        bits: n-gram bits per byte by tokenizer; empty unless asked for.
        bits_differences: of `bits` to the first tokenizer; None for the first itself, and where nothing is comparable.
    """

    isolated: str
    golds: tuple[Gold, ...]
    rows: tuple[GoldRow, ...]
    text: dict[str, TextScores] = field(default_factory=dict)
    bits: dict[str, NgramBits] = field(default_factory=dict)
    bits_differences: dict[str, PairedDifference | None] = field(default_factory=dict)

    def of(self, tokenizer: str) -> EvaluationReport:
        """The part of one tokenizer."""
        return replace(
            self,
            rows=tuple(row for row in self.rows if row.tokenizer == tokenizer),
            text={name: scores for name, scores in self.text.items() if name == tokenizer},
            bits={name: entry for name, entry in self.bits.items() if name == tokenizer},
            bits_differences={tokenizer: None} if tokenizer in self.bits else {},
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        golds = {
            gold.name: {
                "format": gold.format,
                "words": len(gold.words),
                "lines": gold.lines,
                "partial": gold.partial,
                "left_out": len(gold.problems),
                "labelled": gold.labelled,
                "problems": list(gold.problems[:20]),
            }
            for gold in self.golds
        }
        rows = [
            {
                "tokenizer": row.tokenizer,
                "gold": row.gold,
                **row.scores.to_dict(),
                "f1_low": row.interval[0],
                "f1_high": row.interval[1],
                **{f"emma2_{name}": value for name, value in asdict(row.emma2).items()},
                **{f"consistency_{name}": value for name, value in asdict(row.consistency).items()},
                "behind_best": asdict(row.behind_best) if row.behind_best else None,
            }
            for row in self.rows
        ]
        text = {name: scores.to_dict() for name, scores in self.text.items()}
        bits = {
            name: {**entry.to_dict(), "difference": asdict(found) if (found := self.bits_differences[name]) else None}
            for name, entry in self.bits.items()
        }
        return {"isolated": self.isolated, "golds": golds, "rows": rows, "text": text, "bits": bits}

    def to_markdown(self) -> str:
        """Tables for people: one a gold file, one for the text."""
        parts = [_gold_markdown(gold, [row for row in self.rows if row.gold == gold.name]) for gold in self.golds]
        if self.text:
            parts.append(_text_markdown(self.text, self.bits, self.bits_differences))
        return "\n\n".join(parts) + "\n"


def evaluate(
    tokenizers: Mapping[str, Any] | Sequence[str | os.PathLike[str]],
    gold_files: Sequence[str | os.PathLike[str]] = (),
    text: str | os.PathLike[str] | Iterable[str] | None = None,
    *,
    bits: str | os.PathLike[str] | Iterable[str] | None = None,
    isolated: Isolated = "space",
    baselines: bool = True,
    resamples: int = 1000,
) -> EvaluationReport:
    """Score tokenizers on gold segmentations and running text.

    Args:
        tokenizers: name -> anything `segment_words` takes (directory, Hub name, tokenizer object, function
            ``word -> pieces``), or a list of directories and Hub names, named by their last part.
        gold_files: files `read_gold` understands.
        text: a UTF-8 file (gzip allowed) or lines; plain functions are left out of it.
        bits: text to train n-gram models on, a file or lines; gives n-gram bits per byte of `text`, a line a document.
        isolated: "space" (as after a space inside a sentence) or "none".
        baselines: add the rows that cut everywhere and nowhere.
        resamples: bootstrap resamples for the 95 % intervals.

    Raises:
        MwSError: nothing to score, `bits` without `text` or too few lines for it, unreadable files, two tokenizers
            or two gold files of one name.
    """
    named = tokenizers if isinstance(tokenizers, Mapping) else named_sources(tokenizers)
    if bits is not None and text is None:
        raise MwSError("bits per byte need text to train on and other text to measure; give the latter too (--text)")
    if not named or not (gold_files or text is not None):
        raise MwSError("nothing to evaluate; give at least one tokenizer, and a gold file or a text")
    named = {
        name: tokenizer_place(source) if isinstance(source, str | os.PathLike) else source
        for name, source in named.items()
    }
    learnt_from = _labelled(named.values())
    golds = tuple(gold.without(learnt_from) for gold in read_golds(gold_files))
    sources = {name: source if is_plain_function(source) else load_encoder(source) for name, source in named.items()}
    rows = [row for gold in golds for row in _gold_rows(sources, gold, isolated, baselines, resamples)]
    encoders = {name: source for name, source in sources.items() if not is_plain_function(source)}
    text_scores: dict[str, TextScores] = {}
    measured: dict[str, NgramBits] = {}
    if text is not None:
        lines = lines_of(text)
        text_scores = {name: score_text(encoder, lines) for name, encoder in encoders.items()}
        if bits is not None:
            train, held_out = lines_of(bits), [line for line in lines if line]
            measured = {name: ngram_bits(encoder, train, held_out) for name, encoder in encoders.items()}
    differences = bits_differences(measured, resamples=resamples)
    return EvaluationReport(isolated, golds, tuple(rows), text_scores, measured, differences)


def _labelled(sources: Iterable[Any]) -> frozenset[str]:
    """Words that the tokenizers among the directories were labelled with."""
    folders = [Path(source) for source in sources if isinstance(source, str | os.PathLike)]
    return frozenset().union(*(labelled_words(folder) for folder in folders))


def _gold_rows(
    sources: Mapping[str, Any], gold: Gold, isolated: Isolated, baselines: bool, resamples: int
) -> list[GoldRow]:
    words = [entry.word for entry in gold.words]
    cuts = {name: segment_words(source, words, isolated=isolated) for name, source in sources.items()}
    if baselines:
        cuts.update((name, [function(word) for word in words]) for name, function in BASELINES.items())
    tables = {name: word_table(gold.words, pieces) for name, pieces in cuts.items()}
    resampled = dict(zip(tables, bootstrap_f1(list(tables.values()), resamples), strict=True))
    scores = {name: summarize(table) for name, table in tables.items()}
    best = max(sources, key=lambda name: scores[name].f1)

    def behind(name: str, table: WordTable) -> Difference | None:
        if name == best or name not in sources:
            return None
        return difference(tables[best], table, resampled[best], resampled[name])

    return [
        GoldRow(
            tokenizer=name,
            gold=gold.name,
            scores=scores[name],
            interval=interval(resampled[name]),
            emma2=emma2(gold.words, cuts[name]),
            consistency=consistency(gold.words, cuts[name]),
            behind_best=behind(name, table),
        )
        for name, table in tables.items()
    ]


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


def json_text(value: Any, indent: int = 1) -> str:
    r"""JSON with null for NaN, which JSON does not have, and a line break at the end.

    >>> json_text({"a": [float("nan"), 1]}, indent=0)
    '{\n"a": [\nnull,\n1\n]\n}\n'
    """
    return json.dumps(_without_nan(value), ensure_ascii=False, indent=indent, allow_nan=False) + "\n"


def _gold_markdown(gold: Gold, rows: Sequence[GoldRow]) -> str:
    """One gold file: what was read of it, and a row for each tokenizer."""
    morphs = sum(len(entry.segmentations[0]) for entry in gold.words) / len(gold.words)
    about = f"{len(gold.words)} words, {morphs:.2f} morphs a word, format {gold.format}"
    if gold.problems:
        about += f"; {len(gold.problems)} of {gold.lines} lines left out, the first: {gold.problems[0]}"
    if gold.labelled:
        about += f"; {gold.labelled} more left out: a tokenizer was trained on their labels"
    if gold.partial:
        about += "; **marks only one or two boundaries of a word: read MorphScore, not F1**"
    return f"### {gold.name}\n{about}\n\n" + markdown_table(
        list(_GOLD_COLUMNS), [[cell(row) for cell in _GOLD_COLUMNS.values()] for row in rows]
    )


def _text_markdown(
    text: Mapping[str, TextScores],
    bits: Mapping[str, NgramBits],
    differences: Mapping[str, PairedDifference | None],
) -> str:
    """Running text: a row for each tokenizer; with `bits`, two more columns and what to know about them."""
    first = next(iter(text.values()))
    about = f"{first.words} words, {first.bytes} bytes"
    for name, scores in text.items():
        if scores.unaligned_lines:
            about += f"; {name}: {scores.unaligned_lines} lines without offsets count for lengths only"
    rows = [
        [name, *(format(getattr(scores, m), form) for _, m, form in _TEXT_COLUMNS)] for name, scores in text.items()
    ]
    header = ["tokenizer", *(title for title, _, _ in _TEXT_COLUMNS)]
    if bits:
        header += ["n-gram bits/byte", f"minus {next(iter(bits))} (95 %)"]
        for row in rows:
            form = "{0.value:+.4f} ({0.low:+.4f} to {0.high:+.4f}), {0.relative:+.1%}"
            row += [f"{bits[row[0]].value:.4f}", form.format(differences[row[0]]) if differences[row[0]] else ""]
        about += "\n\n" + _about_bits(bits)
    return f"### running text\n{about}\n\n" + markdown_table(header, rows)


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


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value
