"""How well do language models spell words they have never seen? Bits per byte by whether form and lemma were seen.

`--with runs=FOLDER` is the folder of runs that `python -m lm compare --preset hun-works` left under its `--work`. Each
model reads the text that its run held out. Lemmas come from `lm.scoring.lemmas_of` (the lists of
`pip install simplemma`): the same groups of words for every tokenizer.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import torch
from lm.evaluation import evaluate_run
from lm.scoring import KNOWN_LEMMA, NEW_LEMMA, SEEN, UNSEEN

from lab.cells import Cell, Place, Row
from lab.systems import UNIGRAM
from lab.tables import groups
from mws_hf.text.markdown import markdown_table

SYSTEMS = ("bpe-byte", "mws", UNIGRAM)
AXES = {"system": SYSTEMS, "seed": range(3)}
SHARED, LEMMAS = 2, "hu"
GROUPS = (SEEN, KNOWN_LEMMA, NEW_LEMMA, UNSEEN)
TITLES = {UNSEEN: "unseen form, lemma not listed"}


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Evaluate the runs that are done."""
    torch.set_num_threads(1)
    for cell in cells:
        run = f"{cell['system']}-32000-lr0.016"
        folder = place.path("runs", "a folder of finished runs") / f"{run}-s{cell['seed']}"
        if (folder / "evaluation.json").is_file():
            yield cell, {"run": run, "groups": evaluate_run(folder, lemmas=LEMMAS)["groups"]}


def table(rows: list[Row]) -> str:
    """Bits per byte by system and size: a column a group, mean over seeds."""
    first = rows[0]["groups"]
    found = [each for each in GROUPS if each in first]  # a dictionary may know a lemma of every form
    words = sum(first[each]["words"] for each in found)
    shares = (f"{TITLES.get(each, each)} ({100 * first[each]['words'] / words:.1f} % of words)" for each in found)
    lines = []
    for (run,), here in groups(rows, "run").items():
        bits = (statistics.mean(row["groups"][each]["bits_per_byte"] for row in here) for each in found)
        lines.append([run, str(len(here)), *(f"{each:.4f}" for each in bits)])
    said = "Bits per byte on running words, mean over seeds."
    return f"{said}\n\n{markdown_table(['run', 'seeds', *shares], lines)}"
