"""Does the default recipe hold up: more text, noisy lists, random lists, languages nobody tuned on (composition 0).

All tokenizers have 8,000 entries. Texts are evenly mixed; noise and random lists are of at most 30 MB. Training reads
no gold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import pyarrow as pa
import regex

from lab.cells import Cell, Place, Row
from lab.data import GOLDS, cut, mixed
from lab.made_up import KINDS, made_up_lists, polluted
from lab.systems import train_system
from lab.tables import about, groups, where
from mws_hf import WordCounts
from mws_hf.corpus.counting import count_documents, count_files
from mws_hf.corpus.word_list import read_word_list
from mws_hf.evaluate import read_gold, segment_words
from mws_hf.evaluate.boundaries import WordTable, summarize, word_table
from mws_hf.evaluate.significance import bootstrap_f1, difference, interval
from mws_hf.text.markdown import markdown_table
from mws_hf.tokenizer.opened import open_tokenizer

DONORS = {"rus": "ukr", "fin": "eng", "tur": "eng", "eng": "fin", "hun": "ces", "ces": "hun"}
"""Whose words are the foreign ones; for Russian and Czech a neighbour, written alike."""

GROWTH = {"1x": 10, "3x": 30, "9x": 90}
LISTED = ("est", "pol", "ukr", "bul", "deu")
MADE_UP = tuple(made_up_lists())
NOISY = ("clean", *KINDS, "all")
AXES = {
    "part": ("growth", "noise", "seeds", "unseen"),
    "language": (*dict.fromkeys((*DONORS, *LISTED, *MADE_UP)),),
    "variant": (*GROWTH, "third", "whole", *NOISY, "0", "1", "2", ""),
}
SHARED = 2
ENTRIES, TEXT_MB, KEPT = 8_000, 30, 0.8
_MARK = regex.compile(r"\p{M}")


def exists(cell: Cell) -> bool:
    """What is tried of each part."""
    part, language, variant = cell["part"], cell["language"], cell["variant"]
    if part == "growth":
        return variant in (GROWTH if language == "rus" else ("third", "whole") if language in ("fin", "eng") else ())
    if part == "unseen":
        return language in (*LISTED, *MADE_UP) and not variant
    return language in DONORS and variant in (NOISY if part == "noise" else ("0", "1", "2"))


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Each variant beside its clean or next smaller sibling, which is trained once."""
    part, language = cells[0]["part"], cells[0]["language"]
    work = place.work / "robustness" / part / language
    golds = [place.data / "gold" / f"{name}.tsv" for name in GOLDS.get(language, ())]

    def counts(language: str, megabytes: float) -> WordCounts:
        text = mixed(place.data, f"{language}.*.txt.gz", place.work / "robustness")
        return count_files(str(cut(text, megabytes)))

    def trained(counts: WordCounts, name: str) -> Path:
        if not (work / name / "tokenizer.json").is_file():
            train_system("mws-morphs", counts, ENTRIES, work / name)
        return work / name

    if part == "unseen":
        yield cells[0], unseen(place, language, work)
        return
    if part == "growth":
        whole = round(mixed(place.data, f"{language}.*.txt.gz", place.work / "robustness").stat().st_size / 1e6, 2)
        sizes = GROWTH if language == "rus" else {"third": round(whole / 3, 2), "whole": whole}
        smaller = dict(zip(list(sizes)[1:], sizes, strict=False))
        for cell in cells:
            name = cell["variant"]
            base = smaller.get(name)
            beside = trained(counts(language, sizes[base]), base) if base else None
            own = counts(language, sizes[name])
            yield cell, {"mb": sizes[name], **scored(trained(own, name), own, golds, beside)}
        return
    clean = counts(language, TEXT_MB)
    beside = trained(clean, "clean")
    donor = counts(DONORS[language], TEXT_MB) if part == "noise" else clean
    for cell in cells:
        name = cell["variant"]
        if part == "noise":
            own = clean if name == "clean" else polluted(clean, donor, list(KINDS) if name == "all" else [name])
        else:
            own = random_types(clean, int(name))
        yield cell, scored(trained(own, name), own, golds, None if name == "clean" else beside)


def unseen(place: Place, language: str, work: Path) -> Row:
    """A word list without gold, or a made-up one with it: scored, and held to losing nothing."""
    if language in LISTED:
        counts = read_word_list(str(place.data / "words" / f"{language}.*.tsv.gz"))
        train_system("mws-morphs", counts, ENTRIES, work)
        return {"types": len(counts)} | intact(work, [word.strip() for word in counts.words][:20_000])
    made = made_up_lists()[language]
    gold = work.with_suffix(".tsv")
    gold.parent.mkdir(parents=True, exist_ok=True)
    gold.write_text(made.lines(), encoding="utf-8", newline="\n")
    counts = count_documents([" " + " ".join(made.training)], workers=1)
    train_system("mws-morphs", counts, ENTRIES, work)
    words = sorted({*made.gold, *made.training})
    return {"what": made.what, **scored(work, counts, [gold], None), **intact(work, words)}


def random_types(counts: WordCounts, seed: int) -> WordCounts:
    """A random share of the word types.

    >>> len(random_types(WordCounts.from_mapping({str(i): 1 for i in range(1000)}, pattern="p"), 1))
    784
    """
    kept = np.random.default_rng(seed).random(len(counts)) < KEPT
    strings = counts.strings.filter(pa.array(kept))
    return WordCounts.from_arrays(
        strings, counts.counts[kept], pattern=counts.pattern, normalization=counts.normalization
    )


def scored(directory: Path, counts: WordCounts, golds: Sequence[Path], beside: Path | None) -> Row:
    """F1 on each gold file with its interval; with another tokenizer `beside` also the difference (`delta`)."""
    rows = []
    for path in golds:
        tables = [_table(each, path) for each in (directory, beside) if each is not None]
        f1s = bootstrap_f1(tables)
        low, high = interval(f1s[0])
        row: Row = {"gold": path.stem, "f1": summarize(tables[0]).f1, "f1_low": low, "f1_high": high}
        if beside is not None:
            found = difference(tables[0], tables[1], f1s[0], f1s[1])
            row |= {"delta": found.f1, "delta_low": found.low, "delta_high": found.high}
        rows.append(row)
    return {"types": len(counts), "rows": rows}


def _table(directory: Path, gold: Path) -> WordTable:
    entries = read_gold(gold).words
    return word_table(entries, segment_words(directory, [entry.word for entry in entries]))


def intact(directory: Path, words: Sequence[str]) -> Row:
    """What must hold for any word in any script: encoding loses nothing and no token begins with a combining mark.

    Words are tried bare, after a space, and all in one text with other characters between.
    """
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(directory))
    texts = [
        *words,
        *(" " + word for word in words),
        "\t 😀\r\n".join(words[:1000]),
        "e\u0301\u0301 \u0301x 漢字 \u200d",
    ]
    lost = [t for t in texts if tokenizer.decode(tokenizer(t, add_special_tokens=False)["input_ids"]) != t]
    cuts = segment_words(open_tokenizer(directory, by_class=True), list(words))
    several = [pieces for pieces in cuts if len(pieces) > 1]
    return {
        "entries": len(tokenizer),
        "not_restored": len(lost),
        "marks_torn_off": sum(any(_MARK.match(piece) for piece in pieces[1:]) for pieces in cuts),
        "tokens_per_word": sum(map(len, cuts)) / max(1, len(cuts)),
        "examples": ["·".join(pieces) for pieces in several[:: max(1, len(several) // 8)][:4]],
    }


def table(rows: list[Row]) -> str:
    """A section a part; one that was not measured says so."""
    unseen_rows = where(rows, part="unseen")
    parts = [
        (
            "Growth of the training text",
            "The last column is F1 less that of the next smaller text, on the same words.",
            _scores(where(rows, part="growth")),
        ),
        (
            "Noisy word lists",
            "Each kind adds 10 % of the word types; the last column is F1 less that of the clean list, on the same "
            "words.",
            _scores(where(rows, part="noise")),
        ),
        (
            "Random 80 % of the word types",
            "Mean and standard deviation over random lists, with the whole list beside.",
            _spread(where(rows, part="seeds")),
        ),
        (
            "Made-up lists",
            "**Made up** by scripts/lab/made_up.py: real stems and endings put together, trained on 60 % of the forms, "
            "all scored against the composition itself. They show that nothing breaks in a script, not how good the "
            "segmentation of the language is.",
            _intact([row for row in unseen_rows if "rows" in row]),
        ),
        (
            "Word lists of languages nobody tuned on (no gold)",
            "The 50,000 most frequent forms of film subtitles; there is nothing to score against.",
            _intact([row for row in unseen_rows if "rows" not in row]),
        ),
    ]
    return about(__doc__) + "".join(
        f"\n\n## {title}\n\n{text}\n\n{body or 'Not measured.'}" for title, text, body in parts
    )


def _interval(row: Row, name: str = "f1", sign: str = "") -> str:
    if name not in row:
        return ""
    return f"{row[name]:{sign}.3f} ({row[f'{name}_low']:{sign}.3f} to {row[f'{name}_high']:{sign}.3f})"


def _scores(rows: Sequence[Row]) -> str:
    lines = [
        [
            each["gold"],
            row["variant"],
            (f"{row['mb']:g} MB, " if "mb" in row else "") + f"{row['types']:,} types",
            _interval(each),
            _interval(each, "delta", "+"),
        ]
        for row in rows
        for each in row["rows"]
    ]
    lines.sort(key=lambda line: line[0])  # stable: variants stay in their order
    return markdown_table(["gold", "variant", "trained on", "F1 (95 %)", "difference (95 %)"], lines) if lines else ""


def _spread(rows: Sequence[Row]) -> str:
    lines = []
    for (gold,), own in groups([each for row in rows for each in row["rows"]], "gold").items():
        values = [row["f1"] for row in own]
        spread = f"{stdev(values):.4f}" if len(values) > 1 else ""
        whole = mean(row["f1"] - row["delta"] for row in own)
        lines.append([str(gold), str(len(values)), f"{mean(values):.3f}", spread, f"{whole:.3f}"])
    return markdown_table(["gold", "lists", "F1, mean", "s.d.", "F1, whole list"], lines) if lines else ""


def _intact(rows: Sequence[Row]) -> str:
    lines: list[list[Any]] = []
    for row in rows:
        cells = [row.get("what") or row["language"], *map(_interval, row.get("rows", ())), f"{row['types']:,}"]
        cells += [f"{row['entries']:,}", f"{row['tokens_per_word']:.2f}", str(row["not_restored"])]
        lines.append([*cells, str(row["marks_torn_off"]), ", ".join(row["examples"][:4])])
    header = ["list", *(["F1 (95 %)"] if lines and len(lines[0]) == 8 else []), "types", "entries", "tokens/word"]
    return markdown_table([*header, "texts not restored", "marks torn off", "examples"], lines) if lines else ""
