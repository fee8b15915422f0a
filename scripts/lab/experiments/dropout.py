"""The effect of BPE-dropout on a small Russian language model, by the kind of merges that may be skipped.

A model with 532,000 parameters (`lm.plan.SMALL_MODEL`) reads 1 MB of whole works four times. The tokenizer has default
settings and vocabulary size 8,000. With dropout, the text is segmented again in each pass; held-out works are segmented
without dropout. There are three seeds per row.

The figures are bits per byte on 400 kB of lines of held-out works, and on the same lines with typing errors: in one
word of ten, two adjacent letters are swapped. Brackets contain the mean difference from training without dropout with
the same seed, and its 95 % t interval.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Set
from dataclasses import asdict
from typing import Any

import torch
from lm.config import SEEN, UNSEEN, RunConfig
from lm.data import documents_of, read_split
from lm.evaluation import open_run
from lm.plan import PRESETS, SMALL_MODEL
from lm.scoring import bits_per_byte, score_groups, word_forms
from lm.texts import texts_of
from lm.training import CONFIG_FILE, pretrain

from lab.cells import RESULTS, Cell, Found, Page, Place, Row, beside
from lab.systems import UNIGRAM, trained
from lab.tables import about, groups, half_interval, tabulated, where
from mws_hf.corpus.counting import count_documents

SKIPPED_SHARE = 0.1
WAYS = {
    "no dropout": {},
    "all merges": {"dropout": SKIPPED_SHARE, "drop": "all"},
    "within morphs": {"dropout": SKIPPED_SHARE, "drop": "morph"},
    "across morphs": {"dropout": SKIPPED_SHARE, "drop": "composition"},
}
SETTINGS: dict[str, Any] = SMALL_MODEL | {"train_bytes": 1_000_000, "passes": 4, "learning_rate": 8e-3}
ENTRIES, HELD_OUT = 8_000, 400_000
"""The vocabulary size, and the number of characters of held-out works that are scored."""

AXES = {"seed": range(3), "way": list(WAYS)}
SHARED = 0
TEXTS = ("bits per byte", "with typing errors")


def mistyped(line: str, draw: random.Random) -> str:
    """Swap two adjacent letters in about one in ten of the words that have at least four letters.

    >>> mistyped("one two three four five six seven eight", random.Random(2))
    'one two three four fvie six seven eight'
    """
    words = line.split(" ")
    for place, word in enumerate(words):
        if len(word) >= 4 and draw.random() < 0.1:
            at = draw.randrange(1, len(word) - 2)
            words[place] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return " ".join(words)


def measure(place: Place, cells: list[Cell]) -> Found:
    torch.set_num_threads(1)
    work = place.work / "dropout"
    text = texts_of(place.data, PRESETS["rus-works"], work, work / "works.json", RESULTS / "works.json")
    counts = count_documents(read_split(RunConfig(tokenizer="", **text.of_run())).pool)
    tokenizer = str(trained("mws", counts, ENTRIES, work).resolve())
    lines = list(dict.fromkeys(documents_of(text.held_out)))
    plain, draw = lines[:: max(1, sum(map(len, lines)) // HELD_OUT)], random.Random(0)
    texts = dict(zip(TEXTS, (plain, [mistyped(line, draw) for line in plain]), strict=True))
    for cell in cells:
        directory = work / "runs" / f"{cell['way'].replace(' ', '-')}-s{cell['seed']}"
        config = RunConfig(tokenizer=tokenizer, seed=cell["seed"], **SETTINGS, **text.of_run(), **WAYS[cell["way"]])
        length = pretrain(config, directory)["bytes_per_token"]
        model, codec = open_run(directory)
        found = {name: bits_per_byte(model, codec, each, config.context_bytes).value for name, each in texts.items()}
        yield cell, {"bytes per token": length, **found}


def table(rows: list[Row]) -> Page:
    plain = {row["seed"]: row for row in where(rows, way="no dropout")}
    lines = []
    for way, own in groups(rows, "way"):
        length = f"{statistics.mean(row['bytes per token'] for row in own):.2f}"
        lines.append({"merges that fail": way, "seeds": str(len(own)), "bytes per token in training": length})
        for name in TEXTS:
            gaps = [100 * (row[name] / plain[row["seed"]][name] - 1) for row in own if row["seed"] in plain]
            beside = "" if way == "no dropout" or not gaps else f" ({interval(gaps)})"
            lines[-1][name] = f"{statistics.mean(row[name] for row in own):.4f}{beside}"
    yield about(__doc__)
    yield tabulated(lines)


def interval(gaps: list[float]) -> str:
    """Format the mean of some differences in percent, and its 95 % t interval.

    >>> interval([1.0, 2.0, 3.0])
    '+2.00 %, -0.48 to +4.48'
    """
    mean = statistics.mean(gaps)
    if len(gaps) < 2:
        return f"{mean:+.2f} %"
    return f"{mean:+.2f} %, {mean - half_interval(gaps):+.2f} to {mean + half_interval(gaps):+.2f}"


SYSTEMS, LEMMAS = ("bpe-byte", "mws", UNIGRAM), "hu"
KNOWN_LEMMA, NEW_LEMMA = "unseen form, seen lemma", "unseen lemma"
GROUPS = (SEEN, KNOWN_LEMMA, NEW_LEMMA, UNSEEN)
TITLES = {UNSEEN: "unseen form, lemma not listed"}


def measure_new_words(place: Place, cells: list[Cell]) -> Found:
    """How well do language models predict words that they have never seen? Bits per byte of seen and unseen words.

    Words are grouped by whether the training text contains their form and their lemma. `--with runs=FOLDER` names the
    folder of runs that `python scripts/lab run lm_hun-works` wrote under its `--work`; all finished runs in it are
    measured. Each model reads the held-out text of its run. Lemmas come from the word lists of `pip install simplemma`,
    so the groups of words are the same for every tokenizer.
    """
    torch.set_num_threads(1)
    for cell in cells:
        run = f"{cell['system']}-32000-lr0.016"
        folder = place.path("runs", "a folder with finished runs") / f"{run}-s{cell['seed']}"
        if (folder / "evaluation.json").is_file():
            config, (model, codec) = RunConfig.load(folder / CONFIG_FILE), open_run(folder)
            split = read_split(config)
            scores = bits_per_byte(model, codec, split.held_out, config.context_bytes)
            novelty = by_novelty(word_forms(split.held_out), word_forms(split.train))
            found = score_groups(scores, codec, split.held_out, novelty)
            yield cell, {"run": run, "groups": {name: asdict(each) for name, each in found.items()}}


def by_novelty(forms: Set[str], trained: Set[str]) -> dict[str, str]:
    """Return the group of each form; an unseen form whose lemma is not listed is in the group `UNSEEN`."""
    from simplemma.strategies import DictionaryLookupStrategy

    lemma_of = DictionaryLookupStrategy().get_lemma
    known = {lemma_of(form, LEMMAS) for form in trained}
    found = dict.fromkeys(forms & trained, SEEN)
    for form in forms - trained:
        lemma = lemma_of(form, LEMMAS)
        found[form] = UNSEEN if lemma is None else KNOWN_LEMMA if lemma in known else NEW_LEMMA
    return found


def table_of_new_words(rows: list[Row]) -> Page:
    """Write bits per byte of each group of words, by run."""
    first = rows[0]["groups"]
    found = [each for each in GROUPS if each in first]  # a group is missing if the dictionary has a lemma of every form
    words = sum(first[each]["words"] for each in found)
    lines = []
    for run, here in groups(rows, "run"):
        lines.append({"run": run, "seeds": str(len(here))})
        for each in found:
            title = f"{TITLES.get(each, each)} ({100 * first[each]['words'] / words:.1f} % of words)"
            lines[-1][title] = f"{statistics.mean(row['groups'][each]['bits_per_byte'] for row in here):.4f}"
    yield "The figures are bits per byte of running words, averaged over seeds."
    yield tabulated(lines)


new_words = beside(measure_new_words, table_of_new_words, {"system": SYSTEMS, "seed": range(3)}, 2)
