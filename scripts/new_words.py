"""How well do language models spell words they have never seen? Bits per byte by whether form and lemma were seen.

    python scripts/new_words.py RUNS --lemmas hu --results scripts/results/new_words.json

RUNS is the folder of runs that `lm compare` left under its `--work`. Each model reads the text that its run
held out. Lemmas come from `lm.scoring.lemmas_of` (Russian: pymorphy3; else the lists of `pip install simplemma`): the
same groups of words for every tokenizer. Writes the file named and a table beside it, run by run, and goes on where it
stopped.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import torch
from lm.evaluation import evaluate_run
from lm.scoring import KNOWN_LEMMA, NEW_LEMMA, SEEN, UNSEEN

from mws_hf.atomic import write_text
from mws_hf.text.markdown import markdown_table

GROUPS = (SEEN, KNOWN_LEMMA, NEW_LEMMA, UNSEEN)
TITLES = {UNSEEN: "unseen form, lemma not listed"}


def table(rows: dict[str, dict[str, Any]]) -> str:
    """Bits per byte by system and size: a column a group, mean over seeds."""
    cells: dict[str, list[dict[str, Any]]] = {}
    for name, groups in sorted(rows.items()):
        cells.setdefault(name.rpartition("-s")[0], []).append(groups)
    first = next(iter(rows.values()))
    found = [each for each in GROUPS if each in first]  # a dictionary may know a lemma of every form
    share = {each: first[each]["words"] / sum(first[group]["words"] for group in found) for each in found}
    header = ["run", "seeds", *(f"{TITLES.get(each, each)} ({100 * share[each]:.1f} % of words)" for each in found)]
    body = [
        [
            name,
            str(len(seeds)),
            *(f"{statistics.mean(run[each]['bits_per_byte'] for run in seeds):.4f}" for each in found),
        ]
        for name, seeds in cells.items()
    ]
    said = "Bits per byte on running words, mean over seeds. Written by scripts/new_words.py."
    return f"{said}\n\n{markdown_table(header, body)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, help="folder of finished runs")
    parser.add_argument("--lemmas", required=True, help="language of the lists, such as hu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--results", type=Path, default=Path("scripts/results/new_words.json"))
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    rows = json.loads(arguments.results.read_text(encoding="utf-8")) if arguments.results.exists() else {}
    for run in sorted(arguments.runs.iterdir()):
        if run.name in rows or not (run / "evaluation.json").is_file():
            continue
        rows[run.name] = evaluate_run(run, lemmas=arguments.lemmas)["groups"]
        print(run.name, {name: round(each["bits_per_byte"], 4) for name, each in rows[run.name].items()}, flush=True)
        write_text(arguments.results, json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        write_text(arguments.results.with_suffix(".md"), table(rows))


if __name__ == "__main__":
    main()
