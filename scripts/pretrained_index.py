"""Write the index of `mws pretrained` (tokenizer/ready_made.json) from model_cards/.

    python scripts/pretrained_index.py

`train_pretrained.py` writes it at its end, too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mws_hf.atomic import write_text
from mws_hf.tokenizer.places import INDEX

ROOT = Path(__file__).resolve().parent.parent
CARDS = ROOT / "model_cards"
RESULTS = ROOT / "scripts" / "results" / "pretrained.json"
OURS, TWIN = "mws-", "bpe-"


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
