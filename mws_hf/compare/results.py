"""The figures of a comparison, and their files: results.json and results.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mws_hf.atomic import write_text
from mws_hf.evaluate.boundaries import BoundaryScores
from mws_hf.evaluate.evaluation import json_text
from mws_hf.evaluate.measures import BITS, GOLD, TEXT
from mws_hf.evaluate.significance import Difference
from mws_hf.text.markdown import markdown_table

_MARK = " (loses text)"


@dataclass(frozen=True)
class TokenizerRow:
    """A trained system."""

    system: str  # label, such as ``bpe-character:text``
    vocab_size: int | None  # asked for; None where it has no effect
    n_tokens: int
    seconds: float  # of training
    directory: str  # relative to the output folder
    text: dict[str, float | None] | None = None  # `TextScores` by name; None without text or token ids

    @property
    def loses_text(self) -> bool:
        """Whether some held-out line does not come back when decoded, so that its bits are not comparable."""
        return (self.text or {}).get("restored_lines") not in (None, 1)

    def to_dict(self, scores: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return flat name -> value, for JSON, with scores on a gold file before the measures on text."""
        flat = asdict(self)
        text = flat.pop("text") or {}
        flat |= {**(scores or {}), **{f"text_{name}": value for name, value in text.items()}}
        return flat | ({"text_bits_comparable": not self.loses_text} if "bits_per_byte" in text else {})


@dataclass(frozen=True)
class Row:
    """A trained system on one gold file."""

    tokenizer: TokenizerRow
    gold: str
    scores: BoundaryScores
    low: float  # 2.5 % quantile of the bootstrap of micro F1
    high: float  # 97.5 % quantile
    mws_ahead: Difference | None = None  # MwS at the same vocabulary size minus this system; None for itself

    def to_dict(self) -> dict[str, Any]:
        """Return flat name -> value, for JSON."""
        scores = {"gold": self.gold, **asdict(self.scores), "f1_low": self.low, "f1_high": self.high}
        ahead = asdict(self.mws_ahead) if self.mws_ahead else {}
        return self.tokenizer.to_dict(scores | {f"mws_ahead_{name}": value for name, value in ahead.items()})


@dataclass(frozen=True)
class Comparison:
    """All figures."""

    corpus: dict[str, Any]  # figures of the training words: types, running words, pattern
    sizes: list[int]  # ascending
    golds: list[dict[str, Any]]  # name, words, lines, lines left out
    tokenizers: list[TokenizerRow]  # in the order of the plan
    rows: list[Row]  # gold by gold, in the order of the plan

    @property
    def systems(self) -> list[str]:
        """Labels in the order of the plan."""
        return list(dict.fromkeys(tokenizer.system for tokenizer in self.tokenizers))

    def rows_of(self, gold: str) -> list[Row]:
        """Return the rows of one gold file."""
        return [row for row in self.rows if row.gold == gold]

    def ranked(self, size: int, gold: str | None) -> list[TokenizerRow]:
        """Return the systems at a size, the best first: by F1 on a gold file, else by bits per byte or tokens per word.

        A system without a size is the same at all.
        """
        f1 = {id(row.tokenizer): row.scores.f1 for row in self.rows if row.gold == gold}

        def worth(found: TokenizerRow) -> tuple[bool, float]:
            text = found.text or {}
            length = text.get("bits_per_byte") or text.get("fertility") or math.inf
            return (False, -f1[id(found)]) if f1 else (found.loses_text, length)

        return sorted((each for each in self.tokenizers if each.vocab_size in (size, None)), key=worth)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "corpus": self.corpus,
            "sizes": self.sizes,
            "golds": self.golds,
            "tokenizers": [asdict(each) | {"bits_comparable": not each.loses_text} for each in self.tokenizers],
            "rows": [row.to_dict() for row in self.rows],
        }


def write_tables(comparison: Comparison, folder: Path) -> None:
    """Write results.json and results.md, each atomically."""
    write_text(folder / "results.json", json_text(comparison.to_dict()))
    write_text(folder / "results.md", markdown(comparison))


def _bits(tokenizer: TokenizerRow) -> str:
    return BITS.cell(tokenizer.text or {}) + (_MARK if tokenizer.loses_text else "")


_OF_GOLD: dict[str, Callable[[Row], str]] = {
    "F1": lambda row: GOLD["f1"].cell(row.scores),
    "95 %": lambda row: f"{row.low:.3f}-{row.high:.3f}",
    "precision": lambda row: GOLD["precision"].cell(row.scores),
    "recall": lambda row: GOLD["recall"].cell(row.scores),
    "tokens/gold word": lambda row: GOLD["tokens_per_word"].cell(row.scores),
    "MwS ahead by": lambda row: (
        f"{row.mws_ahead.f1:+.3f} ({row.mws_ahead.low:+.3f} to {row.mws_ahead.high:+.3f})" if row.mws_ahead else ""
    ),
    "p (Wilcoxon)": lambda row: f"{row.mws_ahead.wilcoxon:.3f}" if row.mws_ahead else "",
}
_OF_TEXT: dict[str, Callable[[TokenizerRow], str]] = {
    TEXT["fertility"].short: lambda tokenizer: TEXT["fertility"].cell(tokenizer.text or {}),
    TEXT["bytes_per_token"].short: lambda tokenizer: TEXT["bytes_per_token"].cell(tokenizer.text or {}),
    BITS.short: _bits,
}
_OF_ALL: dict[str, Callable[[TokenizerRow], str]] = {
    **_OF_TEXT,
    "entries": lambda tokenizer: f"{tokenizer.n_tokens:,}",
    "training s": lambda each: f"{each.seconds:.1f}",
}


def markdown(comparison: Comparison) -> str:
    """Write the tables for people: one for each gold file and size."""
    corpus = comparison.corpus
    about = (
        f"All trained on the same {corpus['types']:,} word types ({corpus['running_words']:,} running pre-tokens); "
        "`types`: each form once, `text`: by frequency. Gold words stand after a space. F1: micro boundary F1 with its "
        "95 % bootstrap interval. n-gram bits per byte are for screening (they do not rank Unigram as neural models "
        f"do). Where{_MARK} is added, bits are not comparable, for text that is lost costs none."
    )
    parts = ["# Comparison of tokenizers", about]
    for gold in comparison.golds:
        left_out = f", {gold['left_out']} of {gold['lines']} lines left out" if gold["left_out"] else ""
        parts.append(f"## {gold['name']} ({gold['words']:,} words{left_out})")
        parts += [_table(comparison, size, gold["name"]) for size in comparison.sizes]
    if not comparison.golds:
        parts += ["## Held-out running text", *(_table(comparison, size, None) for size in comparison.sizes)]
    return "\n\n".join(parts) + "\n"


def _table(comparison: Comparison, size: int, gold: str | None) -> str:
    rows = {id(row.tokenizer): row for row in comparison.rows if row.gold == gold}
    of_gold = _OF_GOLD if rows else {}
    lines = [
        [each.system, *(cell(rows[id(each)]) for cell in of_gold.values()), *(cell(each) for cell in _OF_ALL.values())]
        for each in comparison.ranked(size, gold)
    ]
    return markdown_table(*_filled([f"vocabulary {size:,}", *of_gold, *_OF_ALL], lines))


def summary(comparison: Comparison) -> list[list[str]]:
    """Make a small table of the largest size: header, then a row for each system, the best on the first gold first."""
    size, golds = comparison.sizes[-1], [str(gold["name"]) for gold in comparison.golds]
    f1 = {(id(row.tokenizer), row.gold): GOLD["f1"].cell(row.scores) for row in comparison.rows}
    lines = [
        [_system_name(each), *(f1[id(each), gold] for gold in golds), *(cell(each) for cell in _OF_TEXT.values())]
        for each in comparison.ranked(size, golds[0] if golds else None)
    ]
    header, lines = _filled([f"{size:,} entries", *(f"F1 {gold}" for gold in golds), *_OF_TEXT], lines)
    return [header, *lines]


def _filled(header: list[str], lines: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Leave out the columns without any figure."""
    kept = [at for at in range(len(header)) if any(line[at] for line in lines)]
    return [header[at] for at in kept], [[line[at] for at in kept] for line in lines]


def _system_name(tokenizer: TokenizerRow) -> str:
    return tokenizer.system if tokenizer.vocab_size else f"{tokenizer.system} ({tokenizer.n_tokens:,} tokens)"
