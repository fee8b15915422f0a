"""Write the index of `mws pretrained` (tokenizer/ready_made.json) from model_cards/, and the archive of a release.

    python scripts/pretrained_index.py [--archive out/mws-pretrained.zip]

`train_pretrained.py` writes the index at its end. The archive holds every folder of model_cards/, and is the same, byte
for byte, for the same folders.
"""

from __future__ import annotations

import argparse
import json
import zipfile
from pathlib import Path
from typing import Any

from mws_hf.atomic import atomic_path, write_text
from mws_hf.tokenizer.pretrained import INDEX, text_digest

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
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    return {
        "name": folder.name,
        "system": system,
        "languages": ["ru"] if row["groups"] == ["lexicon"] else row["groups"],
        "entries": row["entries"],
        "license": row["license"],
        "megabytes": round(sum(map(len, files.values())) / 1e6, 2),
        "gold": gold,
        "f1": figures["f1"].get(gold),
        "tokens_per_word": figures["tokens_per_word"],
        "bytes_per_token": figures["bytes_per_token"],
        "files": {name: text_digest(content) for name, content in files.items()},
    }


def write_index(cards: Path = CARDS, results: Path = RESULTS, output: Path = INDEX) -> None:
    """Write the index of the folders that there are."""
    rows = json.loads(results.read_text(encoding="utf-8"))["rows"]
    write_text(output, json.dumps({"tokenizers": index(cards, rows)}, ensure_ascii=False, indent=1) + "\n")


def write_archive(output: Path, cards: Path = CARDS) -> None:
    """Write all folders as a .zip; times are left out."""
    with atomic_path(output) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(cards.glob("*/*")):
            info = zipfile.ZipInfo(path.relative_to(cards).as_posix())
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, path.read_bytes())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archive", type=Path)
    arguments = parser.parse_args()
    write_index()
    if arguments.archive:
        write_archive(arguments.archive)
        print(arguments.archive, f"{arguments.archive.stat().st_size / 1e6:.1f} MB")
