"""The figures of a comparison, and their files: results.json, results.csv and results.md."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mws_hf.atomic import write_text
from mws_hf.evaluate.boundaries import BoundaryScores
from mws_hf.evaluate.evaluation import json_text
from mws_hf.evaluate.measures import BITS, GOLD, TEXT, Measure, number_cell
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
        """Return flat name -> value, for CSV and JSON, with scores on a gold file before the measures on text."""
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
        """Return flat name -> value, for CSV and JSON."""
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

    def at(self, system: str, size: int) -> TokenizerRow | None:
        """Return a system at a size; a system without a size is the same at all."""
        found = (t for t in self.tokenizers if t.system == system and t.vocab_size in (size, None))
        return next(found, None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "corpus": self.corpus,
            "sizes": self.sizes,
            "golds": self.golds,
            "tokenizers": [asdict(each) | {"bits_comparable": not each.loses_text} for each in self.tokenizers],
            "rows": [row.to_dict() for row in self.rows],
        }


def is_trivial(system: str) -> bool:
    """Return whether a label is one of the two ends that need no criterion: characters and whole words."""
    return system.partition(":")[0] in ("characters", "words")


def write_tables(comparison: Comparison, folder: Path) -> None:
    """Write results.json, results.csv and results.md, each atomically."""
    write_text(folder / "results.json", json_text(comparison.to_dict()))
    rows = [row.to_dict() for row in comparison.rows] or [each.to_dict() for each in comparison.tokenizers]
    write_text(folder / "results.csv", csv_text(rows))
    write_text(folder / "results.md", markdown(comparison))


def csv_text(records: Sequence[Mapping[str, Any]]) -> str:
    """Write records as CSV with the union of their keys as columns, in order of first occurrence."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(key for record in records for key in record)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue()


def markdown(comparison: Comparison) -> str:
    """Write the tables for people."""
    corpus = comparison.corpus
    parts = [
        "# Comparison of tokenizers",
        f"All trained on the same {corpus['types']:,} word types ({corpus['running_words']:,} running pre-tokens); "
        "`types`: each form once, `text`: by frequency. Gold words stand after a space. F1: micro boundary F1 with its "
        "95 % bootstrap interval; the best of each column, trivial ends apart, is bold.",
    ]
    for gold in comparison.golds:
        rows = comparison.rows_of(gold["name"])
        f1 = {(row.tokenizer.system, row.tokenizer.vocab_size): row.scores.f1 for row in rows}
        left_out = f", {gold['left_out']} of {gold['lines']} lines left out" if gold["left_out"] else ""
        parts += [
            f"## {gold['name']} ({gold['words']:,} words{left_out})",
            _by_size(comparison, f1, GOLD["f1"]),
        ]
        parts += [_details(rows, comparison.sizes)]
    if any(tokenizer.text for tokenizer in comparison.tokenizers):
        parts += ["## Held-out running text"]
        for measure in (TEXT["fertility"], TEXT["bytes_per_token"]):
            parts += [f"{measure.name.capitalize()}:", _text_by_size(comparison, measure)]
        if any("bits_per_byte" in (tokenizer.text or {}) for tokenizer in comparison.tokenizers):
            about = (
                f"{BITS.name}, for screening (they do not rank Unigram as neural models do). Where{_MARK} is "
                "added, bits are not comparable, for text that is lost costs none:"
            )
            parts += [about, _text_by_size(comparison, BITS)]
    return "\n\n".join(parts) + "\n"


def _text_by_size(comparison: Comparison, measure: Measure) -> str:
    values = {(t.system, t.vocab_size): t.text.get(measure.key) for t in comparison.tokenizers if t.text}
    lost = {(t.system, t.vocab_size) for t in comparison.tokenizers if measure is BITS and t.loses_text}
    return _by_size(comparison, {key: value for key, value in values.items() if value is not None}, measure, lost)


def summary(comparison: Comparison) -> list[list[str]]:
    """Make a small table of the largest size: header, then a row for each system, the best first.

    The best has the highest F1 on the first gold; without gold it needs the fewest bits per byte, else tokens per word.
    """
    size = comparison.sizes[-1]
    golds = [str(gold["name"]) for gold in comparison.golds]
    f1 = {(row.tokenizer.system, row.tokenizer.vocab_size, row.gold): row.scores.f1 for row in comparison.rows}
    measures = [TEXT["fertility"], TEXT["bytes_per_token"], BITS]
    ranked = []
    for tokenizer in (found for system in comparison.systems if (found := comparison.at(system, size))):
        scores = [f1[tokenizer.system, tokenizer.vocab_size, gold] for gold in golds]
        text = tokenizer.text or {}
        lengths = [measure.cell(text) for measure in measures]
        lengths[-1] += _MARK if tokenizer.loses_text else ""
        worth = -scores[0] if scores else text.get("bits_per_byte") or text.get("fertility") or float("inf")
        row = [_system_name(tokenizer, tokenizer.system), *(number_cell(score) for score in scores), *lengths]
        ranked.append((tokenizer.loses_text and not scores, worth, row))
    rows = [row for _, _, row in sorted(ranked, key=lambda item: item[:2])]
    header = [f"{size:,} entries", *(f"F1 {gold}" for gold in golds), *(measure.short for measure in measures)]
    kept = [at for at in range(len(header)) if at == 0 or any(row[at] for row in rows)]
    return [[row[at] for at in kept] for row in (header, *rows)]


def _by_size(
    comparison: Comparison,
    values: Mapping[tuple[str, int | None], float],
    measure: Measure,
    lost: Collection[tuple[str, int | None]] = (),
) -> str:
    """Make a table with systems down and sizes across; values of `lost` are marked, never best.

    A system without a size stands in every column, with its number of tokens.
    """
    lines = []
    rivals = [
        (at, value) for (system, at), value in values.items() if not is_trivial(system) and (system, at) not in lost
    ]
    tops = {size: measure.best([v for at, v in rivals if at in (size, None)]) for size in comparison.sizes}
    for system in comparison.systems:
        cells = []
        for size in comparison.sizes:
            key = (system, size) if (system, size) in values else (system, None)
            value = values.get(key)
            text = "" if value is None else number_cell(value, measure.form) + (_MARK if key in lost else "")
            cells.append(f"**{text}**" if value is not None and key not in lost and value == tops[size] else text)
        if any(cells):
            lines.append([_system_name(comparison.at(system, comparison.sizes[0]), system), *cells])
    return markdown_table(["vocabulary", *(f"{size:,}" for size in comparison.sizes)], lines)


def _system_name(tokenizer: TokenizerRow | None, system: str) -> str:
    if tokenizer is None or tokenizer.vocab_size is not None:
        return system
    return f"{system} ({tokenizer.n_tokens:,} tokens)"


def _details(rows: Sequence[Row], sizes: Sequence[int]) -> str:
    """Make one table for each size, folded away."""
    header = ["system", "F1", "95 %", "precision", "recall", "tokens", "tokens/word", "text tokens/word"]
    header += ["MwS ahead by", "p (Wilcoxon)", "training s"]
    parts = []
    for size in sizes:
        chosen = [row for row in rows if row.tokenizer.vocab_size in (size, None)]
        chosen.sort(key=lambda row: -row.scores.f1)
        table = markdown_table(header, [_detail(row) for row in chosen])
        parts.append(f"<details><summary>Vocabulary {size:,}</summary>\n\n{table}\n\n</details>")
    return "\n\n".join(parts)


def _detail(row: Row) -> list[str]:
    ahead = row.mws_ahead
    return [
        row.tokenizer.system,
        GOLD["f1"].cell(row.scores),
        f"{row.low:.3f}-{row.high:.3f}",
        GOLD["precision"].cell(row.scores),
        GOLD["recall"].cell(row.scores),
        f"{row.tokenizer.n_tokens:,}",
        GOLD["tokens_per_word"].cell(row.scores),
        TEXT["fertility"].cell(row.tokenizer.text or {}),
        f"{ahead.f1:+.3f} ({ahead.low:+.3f} to {ahead.high:+.3f})" if ahead else "",
        f"{ahead.wilcoxon:.3f}" if ahead else "",
        f"{row.tokenizer.seconds:.1f}",
    ]
