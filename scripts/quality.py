"""Boundary F1 of MwS and every rival on the development gold: one `mws compare` a language, one results file.

    python scripts/quality.py --data ../shared/data --output out/quality [--languages rus fin] [--sizes 8000 32000]

Text is split by line: every 50th line is held out for fertility, the rest trains. Gold is read to score alone. A second
run trains only what changed. Writes scripts/results/quality.json and quality.md; what a run does not measure again
(other languages, `--systems`, `--sizes`) stays as it was. The pictures are drawn anew from all results; `--plots-only`
does nothing else.
Morfessor learns from 30,000 words of each list at most: those with the smallest hashes, or the most frequent ones.

`--parts` names what is measured: `gold`, these sets; `parama`, the gold of the literature for English, Turkish and
Finnish, fetched into the output folder (without a network it is left out); `lists`, tokens per word in languages that
have a word list and no gold.
"""

from __future__ import annotations

import argparse
import glob
import gzip
import json
import platform
from pathlib import Path
from typing import Any

import parama
import word_lists

from mws_hf import WordCounts
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.word_list import lexicon_counts
from mws_hf.research.compare import compare, parse_systems
from mws_hf.research.compare.plots import fertility_figure, save
from mws_hf.text.markdown import markdown_table
from mws_hf.text.pattern import DEFAULT_PATTERN, split

GOLD = {
    "rus": ["rus.tikhonov", "rus.wiktionary-forms", "rus.running-text-forms"],
    "rus-lexicon": ["rus.tikhonov"],
    "fin": ["fin.morphochallenge2010"],
    "tur": ["tur.morphochallenge2010"],
    "hun": ["hun.sigmorphon2022"],
    "ces": ["ces.sigmorphon2022"],
    "eng": ["eng.morphochallenge2010"],
    "lat": ["lat.sigmorphon2022"],
}
PICTURES = {
    ("rus", "rus.tikhonov"): "Russian: Tikhonov's dictionary of morphemes",
    ("fin", "fin.morphochallenge2010"): "Finnish: Morpho Challenge 2010",
    ("tur", "tur.morphochallenge2010"): "Turkish: Morpho Challenge 2010",
}
RIVALS = (
    "bpe-character:types,bpe-character:text,bpe-byte:text,morph-bpe:types,wordpiece:types,unigram:types,unigram:text,"
    "sentencepiece-bpe:text,sentencepiece-unigram:types,sentencepiece-unigram:text,morfessor:types,"
    "morfessor-frequent:text"
)
SYSTEMS = f"mws,mws-morphs,mws-classic,{RIVALS}"
HELD_OUT_EVERY = 50
HELD_OUT_LINES = 4000


def lines_of(data: Path, language: str, without: tuple[str, ...] = ()) -> list[str]:
    """All lines of a language's text files but those named, in file order."""
    lines: list[str] = []
    for name in sorted(glob.glob(str(data / "text" / f"{language}.*.txt.gz"))):
        if Path(name).name in without:
            continue
        with gzip.open(name, "rt", encoding="utf-8", newline="\n") as stream:
            lines.extend(stream)
    return lines


def split_lines(lines: list[str]) -> tuple[list[str], list[str]]:
    """Lines to train on, and every so manieth that is held out.

    >>> training, held_out = split_lines([str(number) for number in range(100)])
    >>> len(training), held_out
    (98, ['0', '50'])
    """
    return [line for i, line in enumerate(lines) if i % HELD_OUT_EVERY], lines[::HELD_OUT_EVERY]


def corpus_of(data: Path, language: str) -> tuple[WordCounts, list[str] | None]:
    """Word counts to train on, and held-out lines where there is running text."""
    if language == "rus-lexicon":
        return lexicon_counts("ru"), None
    if language == "lat":  # no text: the words of the gold file, their segmentations unread
        rows = (data / "gold" / "lat.sigmorphon2022.tsv").read_text(encoding="utf-8").splitlines()
        pieces = {piece for row in rows for piece in split(" " + row.split("\t")[0])}
        return WordCounts.from_mapping(dict.fromkeys(pieces, 1), pattern=DEFAULT_PATTERN), None
    training, held_out = split_lines(lines_of(data, language))
    return count_documents(training), held_out[:HELD_OUT_LINES]


def gold_of(language: str, arguments: argparse.Namespace) -> list[Path]:
    """The gold files of a language that are asked for and at hand."""
    files = [arguments.data / "gold" / f"{name}.tsv" for name in GOLD[language]] if "gold" in arguments.parts else []
    if "parama" in arguments.parts and language in parama.LANGUAGES:
        fetched = parama.gold_file(language, arguments.output / "parama", arguments.parama)
        files += [] if fetched is None else [fetched]
    return files


def run(language: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Compare all systems on one language; one row a system, size and gold."""
    gold = gold_of(language, arguments)
    if not gold:
        return []
    counts, held_out = corpus_of(arguments.data, language)
    result = compare(
        counts,
        gold,
        arguments.sizes,
        arguments.output / language,
        systems=parse_systems([arguments.systems]),
        text=held_out,
        plots=False,
        show_progress=True,
    )
    return [{"language": language, **row} for row in result.to_dict()["rows"]]


def draw(rows: list[dict[str, Any]], folder: Path) -> None:
    """The pictures of scripts/results, from its rows."""
    for (language, gold), about in PICTURES.items():
        if here := [row for row in rows if (row["language"], row["gold"]) == (language, gold)]:
            save(fertility_figure(here, about), folder / f"f1-by-fertility.{gold}.png")


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    """What a row is a measurement of."""
    return row["language"], row["gold"], row["system"], row["vocab_size"]


def best_rivals(rows: list[dict[str, Any]], size: int) -> str:
    """Markdown: MwS beside the best rival of each gold set at one size."""
    table = []
    for language, names in GOLD.items():
        for name in names:
            here = [
                r
                for r in rows
                if (r["language"], r["gold"], r["vocab_size"]) in {(language, name, size), (language, name, None)}
            ]
            ours = {r["system"]: r for r in here if r["system"].startswith("mws")}
            rivals = sorted((r for r in here if not r["system"].startswith("mws")), key=lambda r: -r["f1"])
            if not rivals or "mws-morphs" not in ours:
                continue
            cells = [name, "lexicon" if language == "rus-lexicon" else "word list" if language == "lat" else "text"]
            cells += [interval(ours[s]) if s in ours else "" for s in ("mws-morphs", "mws", "mws-classic")]
            table.append([*cells, f"{interval(rivals[0])} {rivals[0]['system']}"])
    header = ["gold", "trained on", "mws-morphs", "mws", "mws-classic", "best rival trained"]
    return markdown_table(header, table)


def macro(rows: list[dict[str, Any]], size: int) -> str:
    """Markdown: macro boundary F1, the mean over words with the best alternative (Morpho Challenge's), at one size."""
    table = []
    for name in dict.fromkeys([*(name for names in GOLD.values() for name in names), *(row["gold"] for row in rows)]):
        here = [row for row in rows if row["gold"] == name and row["vocab_size"] in (size, None)]
        here = [row for row in here if row["language"] != "rus-lexicon"]
        ours = {row["system"]: row for row in here if row["system"].startswith("mws")}
        rivals = [row for row in here if not row["system"].startswith("mws")]
        if not rivals or "mws-morphs" not in ours:
            continue
        cells = [f"{ours[s]['macro_f1']:.3f}" if s in ours else "" for s in ("mws-morphs", "mws", "mws-classic")]
        best = max(rivals, key=lambda row: row["macro_f1"])
        table.append([name, *cells, f"{best['macro_f1']:.3f} {best['system']}"])
    return markdown_table(["gold, macro F1", "mws-morphs", "mws", "mws-classic", "best rival"], table)


def lengths(rows: list[dict[str, Any]], size: int) -> str:
    """Markdown: tokens per word on held-out text, and F1 on the language's first gold set, at one size."""
    table = []
    for language, names in GOLD.items():
        for system in ("mws-morphs", "mws", "bpe-character:text", "unigram:types", "unigram:text"):
            for row in rows:
                at = (row["language"], row["gold"], row["vocab_size"], row["system"]) == (
                    language,
                    names[0],
                    size,
                    system,
                )
                if at and row.get("text_fertility"):
                    entries = f"{row['n_tokens']:,}"
                    table.append([language, system, entries, f"{row['text_fertility']:.2f}", f"{row['f1']:.3f}"])
    return markdown_table(["language", "system", "entries", "tokens per word", "F1"], table)


def interval(row: dict[str, Any]) -> str:
    """F1 with its 95 % interval."""
    return f"{row['f1']:.3f} ({row['f1_low']:.3f}-{row['f1_high']:.3f})"


def keep(results: Path, rows: list[dict[str, Any]], lists: list[dict[str, Any]]) -> None:
    """Write the results file."""
    results.parent.mkdir(parents=True, exist_ok=True)
    facts = {"python": platform.python_version(), "rows": rows, "lists": lists}
    results.write_text(json.dumps(facts, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--output", type=Path, default=Path("out/quality"))
    parser.add_argument("--languages", nargs="+", default=list(GOLD), choices=list(GOLD))
    parser.add_argument("--sizes", nargs="+", type=int, default=[8000, 32000])
    parser.add_argument("--systems", default=SYSTEMS)
    parser.add_argument("--results", type=Path, default=Path("scripts/results/quality.json"))
    parser.add_argument("--parts", nargs="+", default=["gold", "parama", "lists"], choices=["gold", "parama", "lists"])
    parser.add_argument("--parama", default=parama.SOURCE, help="where the gold of ParaMA lies")
    parser.add_argument("--plots-only", action="store_true", help="draw the pictures from the stored results")
    arguments = parser.parse_args()
    stored = json.loads(arguments.results.read_text(encoding="utf-8")) if arguments.results.exists() else {}
    rows, lists = stored.get("rows", []), stored.get("lists", [])
    if "lists" in arguments.parts and not arguments.plots_only:
        for language in word_lists.LANGUAGES:
            file = next((arguments.data / "words").glob(f"{language}.*.tsv.gz"))
            new = word_lists.measure(file, arguments.sizes)
            lists = [
                r for r in lists if (r["language"], r["vocab_size"]) not in {(language, s) for s in arguments.sizes}
            ]
            lists += new
        keep(arguments.results, rows, lists)
    for language in [] if arguments.plots_only else arguments.languages:
        new = run(language, arguments)
        measured = {key(row) for row in new}
        rows = [row for row in rows if key(row) not in measured] + new
        keep(arguments.results, rows, lists)
    draw(rows, arguments.results.parent)
    sizes = sorted({row["vocab_size"] for row in rows if row["vocab_size"]})
    text = "\n\n".join(
        f"## Vocabulary {size:,}\n\n{best_rivals(rows, size)}\n\n{macro(rows, size)}\n\n{lengths(rows, size)}"
        for size in sizes
    )
    if lists:
        text += f"\n\n## Languages with a word list and no gold\n\n{word_lists.table(lists)}"
    arguments.results.with_suffix(".md").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
