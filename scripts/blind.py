"""Test sets that were never tuned on, run once: SIGMORPHON 2022, MorphScore, Universal Dependencies, Russian by roots.

    nice -n 5 python scripts/blind.py --data ../shared/data --fetched DIR [--languages spa tur] [--parts sets roots]

`--fetched` holds the public repositories that `blind_sets.py` lists, as `git clone` leaves them; nothing of them is
part of the project. A language without running text in --data learns from a list of words, at 8,000 entries alone:
32,000 would hold most of the list. One without a list is left out, and said so. Writes scripts/results/blind.json
language by language (a run goes on where the last one stopped; no system is measured twice) and blind.md.

Of whole segmentations, boundary F1, precision and recall are told (micro, words behind a space). MorphScore's words and
those of Universal Dependencies that begin with their lemma carry one boundary each: there a true cut elsewhere would
count as false, so recall at that boundary is told, with the pieces a word that it cost. MorphScore leaves out the words
that a tokenizer keeps whole; its authors find that it explains little of the variance of downstream tasks.

Russian by roots: words of one root are in one of five folds. Labels come from four folds and the fifth is scored, 8,000
entries, morphs only, learnt from 4 MB. Supervised systems lose 16 to 18 points of whole words on roots never seen
(Garipov, Morozov, and Glazkova 2023, doi:10.1109/ISPRAS60948.2023.10508171).
"""

from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

from blind_sets import (
    LISTS,
    MORPHSCORE,
    REPOSITORIES,
    SEGMENTATIONS,
    TEXTS,
    BlindSet,
    folds,
    hash_of,
    roots,
    sets_of,
    words_of,
)
from lab.systems import UNIGRAM, labelled
from ngram_map import SLICES, first, parts_of, trained

from mws_hf.atomic import write_text
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.segmentations import read_gold
from mws_hf.evaluate import score, segment_words
from mws_hf.evaluate.boundaries import summarize, word_table
from mws_hf.evaluate.encoder import load_encoder
from mws_hf.evaluate.significance import bootstrap_f1, interval
from mws_hf.research import baselines
from mws_hf.text.markdown import markdown_table

SYSTEMS = ("mws", "mws-morphs", "bpe-byte", UNIGRAM, "morfessor")
TOLD = ("f1", "precision", "recall", "exact", "single_recall", "morphscore", "morphscore_words", "tokens_per_word")
LANGUAGES = tuple(dict.fromkeys((*TEXTS, *SEGMENTATIONS, *MORPHSCORE, *LISTS)))
FOLDS = 5
LABELS = (0, 100, 1000)
ROOT_TEXT = "4 MB"
"""Russian text that the folds by root learn from: there are fifteen trainings."""


def measure(language: str, arguments: argparse.Namespace, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is missing of a language: a row a set, system and size, or a row a set that says why there is none."""
    here = [row for row in rows if row["language"] == language]
    sizes = arguments.sizes if language in TEXTS else arguments.sizes[:1]
    if any("left_out" in row for row in here):
        return []
    there = {(row["kind"], row["vocab_size"], row["system"]) for row in here}
    sets = list(sets_of(language, arguments.fetched, arguments.output))
    missing = set(product((each.kind for each in sets), sizes, arguments.systems)) - there
    if not missing:
        return []
    words = words_of(language, arguments.data, arguments.fetched)
    if words is None:
        return [{"language": language, "kind": each.kind, "left_out": "no words to learn from"} for each in sets]
    counts, source = words
    found = []
    for size in sizes:
        sources = {}
        for system in (each for each in arguments.systems if any(key[1:] == (size, each) for key in missing)):
            own = counts.as_types() if system == "morfessor" else counts
            directory = trained(own, system, size, arguments.tokenizers / language)
            sources[system] = baselines.load(directory).source if system == "morfessor" else load_encoder(directory)
        about = {"language": language, "trained_on": source, "types": len(counts), "vocab_size": size}
        for each in sets:
            lacking = {name: source for name, source in sources.items() if (each.kind, size, name) in missing}
            found += [about | row for row in scored(each, lacking)] if lacking else []
    return found


def scored(blind: BlindSet, sources: dict[str, Any]) -> list[dict[str, Any]]:
    """A row a system, with the 95 % interval of its F1 over words."""
    words = [each.word for each in blind.gold.words]
    tables = [word_table(blind.gold.words, segment_words(source, words)) for source in sources.values()]
    rows = []
    for system, table, drawn in zip(sources, tables, bootstrap_f1(tables), strict=True):
        scores, (low, high) = asdict(summarize(table)), interval(drawn)
        told = {name: scores[name] for name in TOLD}
        facts = {"kind": blind.kind, "system": system, "words": len(words), "rows_of_set": blind.gold.lines}
        rows.append({**facts, **told, "f1_low": low, "f1_high": high})
    return rows


def root_rows(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Five folds of Tikhonov's development half by root: labels come from the four, the fifth is scored."""
    gold = read_gold(arguments.data / "gold" / "rus.tikhonov.tsv").words
    parts = folds(gold, roots(arguments.fetched), FOLDS)
    lines = first(parts_of(arguments.data, "rus")[0], SLICES[ROOT_TEXT])
    if lines is None or not all(parts):
        return []
    counts = count_documents(lines)
    rows = []
    for number, rest in enumerate(parts):
        pool = [word for other in parts if other is not rest for word in other]
        pool = sorted(pool, key=lambda each: hash_of(each.word))[: max(LABELS)]
        for n, size, backend, fit in labelled(counts, pool, LABELS, arguments.sizes[:1]):
            found = score(rest, segment_words(backend, [each.word for each in rest]))
            told = {name: getattr(found, name) for name in ("f1", "precision", "recall", "exact")}
            rows.append({"fold": number, "labels": n, "vocab_size": size, **told, "words": len(rest), "fit": fit})
    return rows


def tables(results: dict[str, Any]) -> str:
    """Markdown: whole segmentations, single boundaries by kind, Russian by roots, and what is left out."""
    rows = [row for row in results["rows"] if "system" in row]
    rows.sort(key=lambda row: (LANGUAGES.index(row["language"]), row["vocab_size"]))
    parts = [
        f"## Whole segmentations: SIGMORPHON 2022, test\n\n{whole([r for r in rows if r['kind'] == 'sigmorphon'])}"
    ]
    for kind, title in (
        ("lemma", "Forms that begin with their lemma: Universal Dependencies, dev and test"),
        ("morphscore", "MorphScore, first version"),
    ):
        parts.append(f"## {title}\n\n{single([r for r in rows if r['kind'] == kind])}")
    if results["roots"]:
        parts.append(f"## Russian, roots never labelled\n\n{by_roots(results['roots'])}")
    absent = sorted({row["language"] for row in results["rows"] if "left_out" in row})
    parts.append(f"Left out, as there are no words to learn from: {', '.join(absent) or 'none'}.")
    return "\n\n".join(parts) + "\n"


def whole(rows: list[dict[str, Any]]) -> str:
    """Markdown: F1 with its interval, precision and recall, a column a system."""
    return _table(
        rows,
        lambda row: (
            f"{row['f1']:.3f} ({row['f1_low']:.3f}-{row['f1_high']:.3f}); {row['precision']:.2f}, {row['recall']:.2f}"
        ),
    )


def single(rows: list[dict[str, Any]]) -> str:
    """Markdown: recall at the one boundary, MorphScore, and pieces a word, a column a system."""
    return _table(
        rows, lambda row: f"{row['single_recall']:.3f}; {row['morphscore']:.3f}; {row['tokens_per_word']:.2f}"
    )


def _table(rows: list[dict[str, Any]], cell: Any) -> str:
    lines = []
    for language, size in dict.fromkeys((row["language"], row["vocab_size"]) for row in rows):
        here = {r["system"]: r for r in rows if (r["language"], r["vocab_size"]) == (language, size)}
        first = next(iter(here.values()))
        about = [language, f"{size:,}", first["trained_on"], f"{first['words']:,}"]
        lines.append([*about, *(cell(here[system]) if system in here else "" for system in SYSTEMS)])
    return markdown_table(["language", "entries", "trained on", "words", *SYSTEMS], lines)


def by_roots(rows: list[dict[str, Any]]) -> str:
    """Markdown: means over folds by the number of labels."""
    lines = []
    for n in LABELS:
        here = [row for row in rows if row["labels"] == n]
        cells = [f"{statistics.fmean(r[name] for r in here):.3f}" for name in ("f1", "precision", "recall", "exact")]
        spread = f"{min(r['f1'] for r in here):.3f} to {max(r['f1'] for r in here):.3f}"
        lines.append([f"{n:,}", f"{sum(r['words'] for r in here):,}", *cells, spread])
    return markdown_table(["labels", "words", "F1", "precision", "recall", "words exact", "F1 by fold"], lines)


def main() -> None:
    told = "\n".join(f"  https://github.com/{name}: {what}" for name, what in REPOSITORIES.items())
    parser = argparse.ArgumentParser(
        description=f"{__doc__}\n{told}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--fetched", type=Path, required=True, help="folder of the repositories below")
    parser.add_argument("--tokenizers", type=Path, default=Path("out/ngram_map"), help="those trained are used again")
    parser.add_argument("--output", type=Path, default=Path("out/blind"))
    parser.add_argument("--languages", nargs="+", default=list(LANGUAGES), choices=LANGUAGES)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--sizes", nargs="+", type=int, default=[8000, 32000], help="the first is that of lists")
    parser.add_argument("--parts", nargs="+", default=["sets", "roots"], choices=["sets", "roots"])
    parser.add_argument("--results", type=Path, default=Path("scripts/results/blind.json"))
    arguments = parser.parse_args()
    results = {"rows": [], "roots": []}
    if arguments.results.exists():
        results = json.loads(arguments.results.read_text(encoding="utf-8"))
    for language in arguments.languages if "sets" in arguments.parts else []:
        if found := measure(language, arguments, results["rows"]):
            results["rows"] += found
            keep(results, arguments.results)
            print(language, *dict.fromkeys(row.get("system", "left out") for row in found), flush=True)
    if "roots" in arguments.parts and not results["roots"]:
        results["roots"] = root_rows(arguments)
        keep(results, arguments.results)


def keep(results: dict[str, Any], file: Path) -> None:
    """Write the results and their page."""
    write_text(file, json.dumps(results, ensure_ascii=False, indent=1) + "\n")
    write_text(file.with_suffix(".md"), tables(results))


if __name__ == "__main__":
    main()
