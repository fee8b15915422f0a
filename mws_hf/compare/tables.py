"""results.json, results.csv and results.md of a comparison; nothing is measured here."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mws_hf.atomic import write_text
from mws_hf.compare.results import Comparison, Example, Row, Tokenizer, is_trivial, unique
from mws_hf.evaluate.tables import markdown_table


def write_tables(comparison: Comparison, folder: Path) -> None:
    """Write all three, each atomically."""
    plain = _without_nan(comparison.to_dict())
    write_text(folder / "results.json", json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    write_text(folder / "results.csv", csv_text([row.to_dict() for row in comparison.rows]))
    write_text(folder / "results.md", markdown(comparison))


def csv_text(records: Sequence[Mapping[str, Any]]) -> str:
    r"""Records as CSV with the union of their keys as columns, in order of first occurrence.

    >>> csv_text([{"a": 1}, {"a": 2, "b": "x"}])
    'a,b\n1,\n2,x\n'
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, unique(key for record in records for key in record), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue()


def markdown(comparison: Comparison) -> str:
    """The tables for people."""
    corpus = comparison.corpus
    parts = [
        "# Comparison of tokenizers",
        f"All trained on the same {corpus['types']:,} word types ({corpus['running_words']:,} running pre-tokens); "
        "`types`: each form once, `text`: by frequency. Gold words stand after a space. F1: micro boundary F1 with its "
        "95 % bootstrap interval; the best of each column, trivial ends apart, is bold.",
    ]
    for gold in comparison.golds:
        rows = comparison.rows_of(gold["name"])
        left_out = f", {gold['left_out']} of {gold['lines']} lines left out" if gold["left_out"] else ""
        parts += [
            f"## {gold['name']} ({gold['words']:,} words{left_out})",
            _by_size(comparison, _f1s(rows), max, ".3f"),
        ]
        parts += [_details(rows, comparison.sizes)]
        parts += [_examples(example) for example in comparison.examples if example.gold == gold["name"]]
    if any(tokenizer.text for tokenizer in comparison.tokenizers):
        parts += ["## Held-out running text", "Tokens per word:", _text_by_size(comparison, "fertility", min)]
        parts += ["Bytes per token:", _text_by_size(comparison, "bytes_per_token", max)]
    return "\n\n".join(parts) + "\n"


def _f1s(rows: Sequence[Row]) -> dict[tuple[str, int | None], float]:
    return {(row.tokenizer.system, row.tokenizer.vocab_size): row.scores.f1 for row in rows}


def _text_by_size(comparison: Comparison, measure: str, best: Callable[..., float]) -> str:
    values = {
        (t.system, t.vocab_size): t.text[measure]
        for t in comparison.tokenizers
        if t.text and t.text[measure] is not None
    }
    return _by_size(comparison, {key: value for key, value in values.items() if value is not None}, best, ".2f")


def _by_size(
    comparison: Comparison, values: Mapping[tuple[str, int | None], float], best: Callable[..., float], form: str
) -> str:
    """Systems down, sizes across; a system without a size stands in every column, with its number of tokens."""
    lines = []
    rivals = [(at, value) for (system, at), value in values.items() if not is_trivial(system)]
    tops = {size: best((v for at, v in rivals if at in (size, None)), default=None) for size in comparison.sizes}
    for system in comparison.systems:
        cells = []
        for size in comparison.sizes:
            value = values.get((system, size), values.get((system, None)))
            text = "" if value is None else format(value, form)
            cells.append(f"**{text}**" if value is not None and value == tops[size] else text)
        if any(cells):
            lines.append([_name(comparison.at(system, comparison.sizes[0]), system), *cells])
    return markdown_table(["vocabulary", *(f"{size:,}" for size in comparison.sizes)], lines)


def _name(tokenizer: Tokenizer | None, system: str) -> str:
    if tokenizer is None or tokenizer.vocab_size is not None:
        return system
    return f"{system} ({tokenizer.n_tokens:,} tokens)"


def _details(rows: Sequence[Row], sizes: Sequence[int]) -> str:
    """One table a size, folded away."""
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
    ahead, fertility = row.mws_ahead, row.tokenizer.fertility
    return [
        row.tokenizer.system,
        f"{row.scores.f1:.3f}",
        f"{row.low:.3f}-{row.high:.3f}",
        f"{row.scores.precision:.3f}",
        f"{row.scores.recall:.3f}",
        f"{row.tokenizer.n_tokens:,}",
        f"{row.scores.tokens_per_word:.2f}",
        "" if fertility is None else f"{fertility:.2f}",
        f"{ahead.f1:+.3f} ({ahead.low:+.3f} to {ahead.high:+.3f})" if ahead else "",
        f"{ahead.wilcoxon:.3f}" if ahead else "",
        f"{row.tokenizer.seconds:.1f}",
    ]


def _examples(example: Example) -> str:
    rows = [["gold", *map(" ".join, example.morphs)]]
    rows += [[system, *map(" ".join, cuts)] for system, cuts in example.cuts.items()]
    words = ["".join(morphs) for morphs in example.morphs]
    return f"Examples at vocabulary {example.vocab_size:,}:\n\n" + markdown_table(["system", *words], rows)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value
