"""The Markdown page of scripts/robustness.py; it measures nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import mean, stdev
from typing import Any

from mws_hf.text.markdown import markdown_table

Record = dict[str, Any]

LIMIT_SECONDS, LIMIT_MB = 60, 4000

_GROWTH = "Evenly mixed text; the last column is F1 less that of the next smaller text, on the same words."
_NOISE = "Each kind adds 10 % of the word types; the last column is F1 less that of the clean list, on the same words."
_SEEDS = "Mean and standard deviation over random lists, with the whole list beside."
_COST = (
    f"Evidence and merges in a process of its own; the limit for it is {LIMIT_SECONDS} s and {LIMIT_MB:,} MB. "
    "Cold: with an empty cache of compiled kernels. Load: of the machine before; wall times mean little above 1."
)
_MADE_UP = (
    "**Made up** by scripts/robustness/made_up.py: real stems and endings put together, trained on 60 % of the forms, "
    "all scored against the composition itself. They show that nothing breaks in a script, not how good the "
    "segmentation of the language is."
)
_LISTED = "The 50,000 most frequent forms of film subtitles; there is nothing to score against."


def page(records: list[Record], settings: dict[str, Any]) -> str:
    """All tables; a part that was not measured says so.

    Args:
        records: results with `name` ("part/what/variant").
        settings: printed above them.
    """
    of: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        of[record["name"].split("/")[0]].append(record)
    told = ", ".join(f"{name} {value}" for name, value in settings.items())
    made_up = [record for record in of["unseen"] if "rows" in record]
    listed = [record for record in of["unseen"] if "rows" not in record]
    parts = [
        ("Growth of the training text", _GROWTH, _scores(of["growth"])),
        ("Noisy word lists", _NOISE, _scores(of["noise"])),
        ("Random 80 % of the word types", _SEEDS, _spread(of["seeds"])),
        ("Cost of training", _COST, _costs(of["cost"])),
        ("Made-up lists", _MADE_UP, _intact(made_up)),
        ("Word lists of languages nobody tuned on (no gold)", _LISTED, _intact(listed)),
    ]
    head = f"# Robustness of the default contextual recipe, composition 0\n\n{told}.\n"
    return head + "".join(f"\n## {title}\n\n{text}\n\n{table}\n" for title, text, table in parts)


def _table(header: list[str], rows: list[list[str]]) -> str:
    return markdown_table(header, rows) if rows else "Not measured."


def _interval(row: Record, name: str = "f1", sign: str = "") -> str:
    if f"{name}_low" not in row:
        return ""
    value = row["delta" if name == "delta" else name]
    return f"{value:{sign}.3f} ({row[f'{name}_low']:{sign}.3f} to {row[f'{name}_high']:{sign}.3f})"


def _scores(records: Iterable[Record]) -> str:
    rows = []
    for record in records:
        _, language, variant = record["name"].split("/")
        size = f"{record['mb']:g} MB, " if "mb" in record else ""
        for row in record["rows"]:
            cells = [row["gold"], variant, f"{size}{record['types']:,} types", _interval(row)]
            rows.append([*cells, _interval(row, "delta", "+")])
    rows.sort(key=lambda cells: cells[0])  # stable: variants stay in their order
    return _table(["gold", "variant", "trained on", "F1 (95 %)", "difference (95 %)"], rows)


def _spread(records: Iterable[Record]) -> str:
    found: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        for row in record["rows"]:
            found[row["gold"]].append(row)
    rows = []
    for gold, own in found.items():
        values = [row["f1"] for row in own]
        spread = f"{stdev(values):.4f}" if len(values) > 1 else ""
        whole = mean(row["f1"] - row["delta"] for row in own)
        rows.append([gold, str(len(values)), f"{mean(values):.3f}", spread, f"{whole:.3f}"])
    return _table(["gold", "lists", "F1, mean", "s.d.", "F1, whole list"], rows)


def _costs(records: Iterable[Record]) -> str:
    rows = []
    for record in records:
        for kind in ("cold", "warm"):
            run = record[kind]
            within = run["process_seconds"] < LIMIT_SECONDS and run["peak_mb"] < LIMIT_MB
            rows.append([
                record["name"].split("/")[1], kind, f"{run['types']:,}", f"{run['merges']:,}", f"{run['seconds']:.1f}",
                f"{run['cpu_seconds']:.1f}", f"{run['process_seconds']:.1f}", f"{run['peak_mb']:,.0f}",
                f"{record['load_before']:g}",
                "yes" if within else "no",
            ])  # fmt: skip
    header = [
        "merges",
        "kernels",
        "types",
        "learnt",
        "s",
        "CPU s",
        "whole process, s",
        "peak MB",
        "load",
        "within the limit",
    ]
    return _table(header, rows)


def _intact(records: Iterable[Record]) -> str:
    rows = []
    for record in records:
        scores = [_interval(row) for row in record.get("rows", [])]
        cells = [record.get("what") or record["name"].split("/")[1], *scores, f"{record['types']:,}"]
        cells += [f"{record['entries']:,}", f"{record['tokens_per_word']:.2f}", str(record["not_restored"])]
        rows.append([*cells, str(record["marks_torn_off"]), ", ".join(record["examples"][:4])])
    scores_header = ["F1 (95 %)"] if rows and len(rows[0]) == 8 else []
    header = ["list", *scores_header, "types", "entries", "tokens/word", "texts not restored", "marks torn off"]
    return _table([*header, "examples"], rows)
