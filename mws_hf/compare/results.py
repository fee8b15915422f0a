"""Hold the figures of a comparison as plain rows, and write them to results.json and results.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from mws_hf.atomic import write_json, write_text
from mws_hf.scoring.measures import BITS, GOLD, TEXT, Measure
from mws_hf.text.markdown import markdown_table, plain
from mws_hf.text.phrases import counted

_LOSES_TEXT = " (loses text)"

Row: TypeAlias = dict[str, Any]
"""The figures of a trained system by name; measures on text have the prefix `text_`, and scores on gold have none."""


@dataclass(frozen=True)
class Comparison:
    """All figures of a comparison, as they are written to results.json.

    Attributes:
        corpus: figures of the training words: `types`, `running_words` and `pattern`.
        sizes: vocabulary sizes, ascending.
        golds: `name`, `words`, `lines`, `left_out` (number of lines) and `remarks` of each gold file.
        tokenizers: the systems in the order of their training, each with `system`, `vocab_size` (None if it has no
            effect), `n_tokens`, `seconds` (of the training), `directory` (relative to the output), `text` and
            `bits_comparable`. `text` has the measures on text; it is None if no text was given or the system only
            segments words. `bits_comparable` is False if decoding does not return all lines of the text.
        rows: scores on gold: for each gold file all systems, in the same order. The names ``mws_ahead_...`` are those
            of the `Difference` between MwS and the system; ``mws_ahead_vocab_size`` is the vocabulary size of MwS.
    """

    corpus: dict[str, Any]
    sizes: list[int]
    golds: list[dict[str, Any]]
    tokenizers: list[dict[str, Any]]
    rows: list[Row]

    @property
    def systems(self) -> list[str]:
        """Labels of the systems, in the order of their training."""
        return list(dict.fromkeys(tokenizer["system"] for tokenizer in self.tokenizers))

    def rows_of(self, gold: str) -> list[Row]:
        """Return the rows of one gold file."""
        return [row for row in self.rows if row["gold"] == gold]

    def ranked(self, size: int, gold: str | None) -> list[Row]:
        """Return the systems of one vocabulary size, the best first.

        They are sorted by F1 on a gold file. If `gold` is None, they are sorted by bits per byte, or without these by
        tokens per word, and systems that lose text are last. A system without a size is listed at all sizes.
        """
        rows = map(flat_row, self.tokenizers) if gold is None else self.rows_of(gold)

        def rank(row: Row) -> tuple[bool, float]:
            if gold is not None:
                return False, -row["f1"]
            return _loses_text(row), row.get("text_bits_per_byte") or row.get("text_fertility") or math.inf

        return sorted((row for row in rows if row["vocab_size"] in (size, None)), key=rank)


def flat_row(tokenizer: Mapping[str, Any], scores: Mapping[str, Any] | None = None) -> Row:
    """Flatten the figures of a trained system to one row, with scores on a gold file before the measures on text."""
    flat = dict(tokenizer)
    text, comparable = flat.pop("text") or {}, flat.pop("bits_comparable")
    flat |= {**(scores or {}), **{f"text_{name}": value for name, value in text.items()}}
    return flat | ({"text_bits_comparable": comparable} if "bits_per_byte" in text else {})


def _loses_text(row: Row) -> bool:
    """Return whether a system does not restore the text, by its decoded lines or by its unknown tokens."""
    return row.get("text_bits_comparable") is False or bool(row.get("text_unknown_tokens"))


def write_tables(comparison: Comparison, folder: Path) -> None:
    """Write results.json and results.md, each atomically."""
    write_json(folder / "results.json", vars(comparison))
    write_text(folder / "results.md", markdown(comparison))


def _figure_cell(measure: Measure, prefix: str = "") -> Callable[[Row], str]:
    return lambda row: measure.cell({measure.key: row.get(prefix + measure.key)})


def _loss(row: Row, measure: Measure) -> str:
    """Return the mark of a system that loses text, if it belongs to this measure: bits, or without them the length."""
    marked = BITS if "text_bits_per_byte" in row else TEXT["fertility"]
    return _LOSES_TEXT if measure is marked and _loses_text(row) else ""


_OF_GOLD: dict[str, Callable[[Row], str]] = {
    "F1": _figure_cell(GOLD["f1"]),
    "95 %": lambda row: f"{row['f1_low']:.3f}-{row['f1_high']:.3f}" if "f1" in row else "",
    "precision": _figure_cell(GOLD["precision"]),
    "recall": _figure_cell(GOLD["recall"]),
    "tokens/gold word": _figure_cell(GOLD["tokens_per_word"]),
    "MwS minus this": lambda row: (
        "{mws_ahead_f1:+.3f} ({mws_ahead_low:+.3f} to {mws_ahead_high:+.3f})".format(**row)
        if "mws_ahead_f1" in row
        else ""
    ),
    "p (Wilcoxon)": lambda row: f"{row['mws_ahead_wilcoxon']:.3f}" if "mws_ahead_f1" in row else "",
}
_OF_TEXT: dict[str, Callable[[Row], str]] = {
    TEXT["fertility"].short: lambda row: _figure_cell(TEXT["fertility"], "text_")(row) + _loss(row, TEXT["fertility"]),
    TEXT["bytes_per_token"].short: _figure_cell(TEXT["bytes_per_token"], "text_"),
    BITS.short: lambda row: _figure_cell(BITS, "text_")(row) + _loss(row, BITS),
}
_OF_TRAINING: dict[str, Callable[[Row], str]] = {
    "vocabulary size": lambda row: f"{row['n_tokens']:,}",
    "training s": lambda row: f"{row['seconds']:.1f}",
}


def markdown(comparison: Comparison) -> str:
    """Return all tables as Markdown, one for each gold file and size."""
    corpus = comparison.corpus
    about = (
        f"All systems are trained on the same {corpus['types']:,} distinct words ({corpus['running_words']:,} running "
        "pre-tokens); `types`: each word once, `text`: by frequency. Gold words are segmented as if they followed a "
        "space. F1 is micro boundary F1 with its 95 % bootstrap interval, which is too narrow if a gold file has only "
        "a few dozen words. p (Wilcoxon) compares ten overlapping samples of the words, so it is too small: prefer the "
        "interval. n-gram bits per byte are a proxy measure (they do not rank Unigram as neural models do). Figures "
        f"with{_LOSES_TEXT} are not comparable, because lost text costs neither tokens nor bits."
    )
    parts = ["# Comparison of tokenizers", about]
    for gold in comparison.golds:
        size = "; ".join([counted(gold["words"], "word"), *gold["remarks"]])
        parts.append(f"## {plain(gold['name'])} ({size})")
        parts += [_table(comparison, size, gold["name"]) for size in comparison.sizes]
    if not comparison.golds:
        parts += ["## Held-out running text", *(_table(comparison, size, None) for size in comparison.sizes)]
    return "\n\n".join(parts) + "\n"


def _table(comparison: Comparison, size: int, gold: str | None) -> str:
    columns = {f"vocabulary {size:,}": lambda row: str(row["system"]), **_OF_GOLD, **_OF_TEXT, **_OF_TRAINING}
    rows = [_without_other_sizes(row, size) for row in comparison.ranked(size, gold)]
    header, *lines = _cells(rows, columns)
    return markdown_table(header, lines)


def _without_other_sizes(row: Row, size: int) -> Row:
    """Leave out the difference from MwS if it was computed at a different size, as for a system without a size."""
    if row.get("mws_ahead_vocab_size") == size:
        return row
    return {name: value for name, value in row.items() if not name.startswith("mws_ahead_")}


def summary(comparison: Comparison) -> list[list[str]]:
    """Return a small table of the largest size: a header, and the systems in the order of `Comparison.ranked`.

    If the vocabulary of a system has a different size from the header, its number of tokens follows its name.
    """
    size, golds = comparison.sizes[-1], [str(gold["name"]) for gold in comparison.golds]
    f1 = {(row["directory"], row["gold"]): _OF_GOLD["F1"](row) for row in comparison.rows}
    columns: dict[str, Callable[[Row], str]] = {
        f"vocabulary {size:,}": lambda row: (
            row["system"] if row["n_tokens"] == size else f"{row['system']} ({row['n_tokens']:,} tokens)"
        )
    }
    columns |= {f"F1 {gold}": lambda row, gold=gold: f1[row["directory"], gold] for gold in golds}  # type: ignore[misc]
    return _cells(comparison.ranked(size, golds[0] if golds else None), columns | _OF_TEXT)


def _cells(rows: Iterable[Row], columns: Mapping[str, Callable[[Row], str]]) -> list[list[str]]:
    """Return the cells of a table, header first, without empty columns."""
    lines = [[cell(row) for cell in columns.values()] for row in rows]
    kept = [index for index in range(len(columns)) if any(line[index] for line in lines)]
    return [[line[index] for index in kept] for line in ([*columns], *lines)]
