"""What is told of the ready tokenizers: figures in their cards, and the index of `mws pretrained` (ready_made.json).

    python scripts/pretrained_card.py

writes the index from model_cards/; `train_pretrained.py` does so at its end, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult
from lab.tables import tabulated

from mws_hf.atomic import write_text
from mws_hf.scoring.evaluation import EvaluationReport
from mws_hf.scoring.running_text import TextScores
from mws_hf.scoring.score_tables import gold_table, text_table
from mws_hf.tokenizer.places import INDEX

ROOT = Path(__file__).resolve().parent.parent
CARDS = ROOT / "model_cards"
RESULTS = ROOT / "scripts" / "results" / "pretrained.json"
OURS, TWIN = "mws-", "bpe-"


def sections(
    report: EvaluationReport,
    groups: Mapping[str, Mapping[str, TextScores]],
    text: str,
    bits: str,
    restored: tuple[int, int],
) -> str:
    """Tables of all tokenizers, the card's first; `text` and `bits` name the texts measured and learnt from."""
    tables = [gold_table(gold, [row for row in report.rows if row.gold == gold.name]).short() for gold in report.golds]
    tables.append(text_table(report.text, report.bits, report.bits_differences).short())
    said = [f"Running text is {text}, n-gram models learn from {bits}." if report.bits else f"Running text is {text}."]
    said.append("{:,} of {:,} lines decode to what they were.".format(*restored))
    parts = ["## Beside others", " ".join(said), *(table.to_markdown() for table in tables)]
    if groups:
        lines = (
            {"group": group}
            | {f"{name}, tokens per word": f"{each.fertility:.3f}" for name, each in scores.items()}
            | {f"{name}, bytes per token": f"{each.bytes_per_token:.3f}" for name, each in scores.items()}
            for group, scores in groups.items()
        )
        parts += ["## Length by group, on held-out text", tabulated(lines)]
    return "\n\n".join(parts)


def results(report: EvaluationReport, name: str, text: str) -> list[EvalResult]:
    """Every figure of one tokenizer."""

    def result(task: str, task_name: str, dataset: str, kind: str, title: str, value: float) -> EvalResult:
        return EvalResult(task, dataset, dataset, kind, round(value, 4), task_name=task_name, metric_name=title)

    found = []
    for row in (row for row in report.rows if row.tokenizer == name):
        task = ("token-classification", "Morpheme segmentation", row.gold)
        for kind, title in (("f1", "F1"), ("precision", "precision"), ("recall", "recall")):
            found.append(result(*task, kind, f"Boundary {title}", getattr(row.scores, kind)))
    scores, task = report.text[name], ("text-generation", "Tokenization", text)
    found.append(result(*task, "bytes_per_token", "Bytes per token", scores.bytes_per_token))
    if scores.words:
        found.append(result(*task, "tokens_per_word", "Tokens per word", scores.fertility))
    if name in report.bits:
        task = ("text-generation", "n-gram language model of the tokens", text)
        found.append(result(*task, "bits_per_byte", "Bits per byte", report.bits[name].value))
    return found


def index(cards: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each folder that there is, in the order of the results; a BPE stands behind its twin of ours."""
    found = []
    for row in rows:
        for name, system in ((row["name"], "MwS"), (row["name"].replace(OURS, TWIN, 1), "BPE")):
            if (cards / name / "tokenizer.json").is_file() and system in row["systems"]:
                found.append(_entry(cards / name, system, row))
    return found


def _entry(folder: Path, system: str, row: dict[str, Any]) -> dict[str, Any]:
    figures = row["systems"][system]
    gold = next(iter(figures["f1"]), None)
    return {
        "name": folder.name,
        "system": system,
        "languages": ["ru"] if row["groups"] == ["lexicon"] else row["groups"],
        "entries": row["entries"],
        "license": row["license"],
        "megabytes": round(sum(path.stat().st_size for path in folder.iterdir()) / 1e6, 2),
        "gold": gold,
        "f1": figures["f1"].get(gold),
        "tokens_per_word": figures["tokens_per_word"],
        "bytes_per_token": figures["bytes_per_token"],
    }


def write_index(cards: Path = CARDS, results: Path = RESULTS, output: Path = INDEX) -> None:
    """Write the index of the folders that there are."""
    rows = json.loads(results.read_text(encoding="utf-8"))["rows"]
    write_text(output, json.dumps({"tokenizers": index(cards, rows)}, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    write_index()
