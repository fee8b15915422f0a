"""What hand-cut words add: boundary F1 of morph merges learnt with 0 to 1,000 labelled words, on gold not used.

    nice -n 10 python scripts/labels.py --data ../shared/data [--languages tur fin] [--samples 5] [--sizes 8000 32000]

A sample is an order of the gold words. Its first 1,000 (half of a smaller gold set) are the pool: the first 20, 50,
... of them are labels, and the words behind the pool are scored on. All of the pool are in the word list in every row
of a sample, that with 0 labels too, so that rows differ by the labels alone, and the views are computed once a sample.
Writes scripts/results/labels.json, row by row (a run goes on where the last one stopped), and labels.md.
"""

from __future__ import annotations

import argparse
import glob
import hashlib
import json
import math
import statistics
from pathlib import Path
from typing import Any

import numpy as np
from mixture import GOLD

from mws_hf import MwSTrainer, WordCounts
from mws_hf.atomic import write_text
from mws_hf.corpus.counting import count_files
from mws_hf.corpus.segmentations import GoldWord, read_gold
from mws_hf.evaluate import score
from mws_hf.evaluate.segment import segment_words
from mws_hf.learn.contextual import LONGEST_WORD, Evidence
from mws_hf.learn.evidence.ensemble import calibrated_posteriors, mix_views
from mws_hf.learn.evidence.forms import collect_forms, count_graphemes, split_graphemes
from mws_hf.learn.evidence.labels import add_labelled, label_targets
from mws_hf.learn.settings import EvidenceSettings
from mws_hf.learn.words import CodePoints
from mws_hf.text.markdown import markdown_table
from mws_hf.text.pattern import DEFAULT_PATTERN

LABELS = (0, 20, 50, 100, 300, 1000)
FIT = ("f1", "f1_without", "granularity", "ridge")
T_95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}
"""Student's quantile for the mean of so many samples."""


def shuffled(words: tuple[GoldWord, ...], sample: int) -> list[GoldWord]:
    """The sample-th order of the words."""
    return sorted(words, key=lambda each: hashlib.blake2b(f"{sample} {each.word}".encode()).digest())


def measure(counts: WordCounts, gold: tuple[GoldWord, ...], sample: int, sizes: list[int]) -> list[dict[str, Any]]:
    """The rows of one sample of one language."""
    order = shuffled(gold, sample)
    n_pool = min(max(LABELS), len(order) // 2)
    found = learnt(counts, order[:n_pool], order[n_pool:], sizes, [n for n in LABELS if n <= n_pool])
    return [{"sample": sample, **row} for row in found]


def learnt(
    counts: WordCounts, pool: list[GoldWord], rest: list[GoldWord], sizes: list[int], numbers: list[int]
) -> list[dict[str, Any]]:
    """Learn with the first so many labels of the pool each, and score on the rest; all of the pool are in the list."""
    settings = EvidenceSettings()
    listed = collect_forms(CodePoints.of_counts(counts), counts.counts).types
    lengths = count_graphemes(listed)
    chosen = np.nonzero((lengths > 1) & (lengths <= LONGEST_WORD))[0][: settings.max_types]
    types = add_labelled(listed.take(chosen), pool, LONGEST_WORD)
    graphemes = split_graphemes(types)
    mixture = mix_views(graphemes.corpus, settings, keep=True)
    rows = []
    for n in numbers:
        labelled = label_targets(types, pool[:n], graphemes.last) if n else None
        found = np.zeros(len(graphemes.last))
        found[graphemes.last], refit = calibrated_posteriors(mixture, graphemes.corpus, settings, labelled=labelled)
        for size in sizes:
            trainer = MwSTrainer(vocab_size=size, composition=0, show_progress=False)
            learned = trainer.learn(counts, evidence=Evidence(types, found, settings))
            scores = score(rest, segment_words(trainer.backend(learned)[0], [each.word for each in rest]))
            told = {name: getattr(scores, name) for name in ("f1", "precision", "recall", "exact")}
            fit = None if refit is None else {name: getattr(refit, name) for name in FIT}
            rows.append({"labels": n, "vocab_size": size, **told, "words": len(rest), "fit": fit})
            print(rows[-1], flush=True)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: mean F1 without labels, and the mean gain with its 95 % interval over samples."""
    parts = []
    for size in sorted({row["vocab_size"] for row in rows}):
        lines = []
        for language in GOLD:
            here = [row for row in rows if (row["language"], row["vocab_size"]) == (language, size)]
            by = {(row["sample"], row["labels"]): row["f1"] for row in here}
            if not by:
                continue
            samples = sorted({sample for sample, _ in by})
            base = statistics.fmean(by[s, 0] for s in samples)
            cells = [language, str(len(samples)), f"{base:.3f}"]
            for n in LABELS[1:]:
                gains = [by[s, n] - by[s, 0] for s in samples if (s, n) in by]
                cells.append(gain(gains))
            lines.append(cells)
        header = ["gold", "samples", "none", *(f"{n:,}" for n in LABELS[1:])]
        parts.append(f"## Vocabulary {size:,}, morphs only\n\n{markdown_table(header, lines)}")
    return "\n\n".join(parts) + "\n"


def gain(gains: list[float]) -> str:
    """Mean, and half of its 95 % interval."""
    if not gains:
        return ""
    mean = statistics.fmean(gains)
    if len(gains) < 2:
        return f"{mean:+.3f}"
    return f"{mean:+.3f} ± {T_95.get(len(gains), 2.78) * statistics.stdev(gains) / math.sqrt(len(gains)):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--counts", help="saved counts, {} for the language, instead of counting the text")
    parser.add_argument("--languages", nargs="+", default=list(GOLD), choices=list(GOLD))
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--sizes", nargs="+", type=int, default=[8000, 32000])
    parser.add_argument("--results", type=Path, default=Path("scripts/results/labels.json"))
    arguments = parser.parse_args()
    rows = json.loads(arguments.results.read_text(encoding="utf-8")) if arguments.results.exists() else []
    for sample in range(arguments.samples):
        for language in arguments.languages:
            there = {(r["language"], r["sample"], r["vocab_size"]) for r in rows}
            sizes = [size for size in arguments.sizes if (language, sample, size) not in there]
            if not sizes:
                continue
            counts = (
                WordCounts.load(arguments.counts.format(language))
                if arguments.counts
                else count_files(
                    sorted(glob.glob(str(arguments.data / "text" / f"{language}.*.txt.gz"))),
                    pattern=DEFAULT_PATTERN,
                    normalization=None,
                    show_progress=False,
                )
            )
            gold = read_gold(arguments.data / "gold" / f"{GOLD[language]}.tsv").words
            rows += [{"language": language, **row} for row in measure(counts, gold, sample, sizes)]
            write_text(arguments.results, json.dumps(rows, indent=0) + "\n")
            write_text(arguments.results.with_suffix(".md"), table(rows))


if __name__ == "__main__":
    main()
