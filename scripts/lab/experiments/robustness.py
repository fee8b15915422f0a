"""Robustness of morphs only (composition 0): more text, noisy lists, random lists, languages not used for tuning.

All tokenizers have a vocabulary size of 8,000. The sources of each text are evenly mixed. Noisy lists and random lists
are made from at most 30 MB of text. Training uses no reference segmentations.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import pyarrow as pa
import regex

from lab.cells import Cell, Found, Page, Place, Row
from lab.data import GOLDS, cut, mixed
from lab.made_up import KINDS, made_up_lists, polluted
from lab.systems import cut_words, trained
from lab.tables import about, groups, tabulated, where
from mws_hf import WordCounts
from mws_hf.corpus.counting import count_documents, count_files
from mws_hf.corpus.segmentations import GoldWord, read_gold
from mws_hf.corpus.word_list import read_word_list
from mws_hf.scoring import segment_words
from mws_hf.scoring.boundaries import summarize
from mws_hf.scoring.significance import bootstrap_f1, difference, interval
from mws_hf.tokenizer.opened import open_tokenizer

DONORS = {"rus": "ukr", "fin": "eng", "tur": "eng", "eng": "fin", "hun": "ces", "ces": "hun"}
"""The language of the foreign words in noisy lists, which for Russian and Czech is a related one in the same script."""

GROWTH = {"1x": 10, "3x": 30, "9x": 90}
SMALLER = {"3x": "1x", "9x": "3x", "whole": "third"}
LISTED = ("est", "pol", "ukr", "bul", "deu")
MADE_UP = tuple(made_up_lists())
NOISY = ("clean", *KINDS, "all")
AXES = {
    "part": ("growth", "noise", "seeds", "unseen"),
    "language": (*dict.fromkeys((*DONORS, *LISTED, *MADE_UP)),),
    "variant": (*GROWTH, "third", "whole", *NOISY, "0", "1", "2", ""),
}
SHARED = 2
ENTRIES, TEXT_MB, KEPT_SHARE = 8_000, 30, 0.8
_MARK = regex.compile(r"\p{M}")


def exists(cell: Cell) -> bool:
    """Return whether a part measures this variant in this language."""
    part, language, variant = cell["part"], cell["language"], cell["variant"]
    if part == "growth":
        return variant in (GROWTH if language == "rus" else ("third", "whole") if language in ("fin", "eng") else ())
    if part == "unseen":
        return language in (*LISTED, *MADE_UP) and not variant
    return language in DONORS and variant in (NOISY if part == "noise" else ("0", "1", "2"))


def measure(place: Place, cells: list[Cell]) -> Found:
    """Score each variant, and compare it with the clean list or with the next smaller text, if there is one."""
    part, language = cells[0]["part"], cells[0]["language"]
    if part == "unseen":
        yield cells[0], unseen(place, language)
        return
    golds = {name: read_gold(place.data / "gold" / f"{name}.tsv").words for name in GOLDS[language]}
    for cell in cells:
        name = cell["variant"]
        base = SMALLER.get(name) if part == "growth" else None if name == "clean" else "clean"
        counts = {each: varied(place, part, language, each) for each in (name, base) if each}
        work = place.work / "robustness" / part / language
        directories = [trained("mws-morphs", own, ENTRIES, work / each) for each, own in counts.items()]
        size = {"mb": megabytes(place, language, name)} if part == "growth" else {}
        yield cell, {**size, **scored(directories, counts[name], golds)}


def varied(place: Place, part: str, language: str, variant: str) -> WordCounts:
    """Return the word counts of a variant."""
    if part == "growth":
        return words_of(place, language, megabytes(place, language, variant))
    clean = words_of(place, language, TEXT_MB)
    if variant == "clean":
        return clean
    if part == "seeds":
        return random_types(clean, int(variant))
    donor = words_of(place, DONORS[language], TEXT_MB)
    return polluted(clean, donor, list(KINDS) if variant == "all" else [variant])


def megabytes(place: Place, language: str, variant: str) -> float:
    """Return the size of the text of a variant of `growth`, in MB."""
    whole = round(text_of(place, language).stat().st_size / 1e6, 2)
    return {**GROWTH, "third": round(whole / 3, 2), "whole": whole}[variant]


def text_of(place: Place, language: str) -> Path:
    """Return the file with all text of a language, evenly mixed."""
    return mixed(place.data, f"{language}.*.txt.gz", place.work / "robustness")


@cache
def words_of(place: Place, language: str, megabytes: float) -> WordCounts:
    """Count the words in the first `megabytes` of a language's text."""
    return count_files(str(cut(text_of(place, language), megabytes)))


def unseen(place: Place, language: str) -> Row:
    """Train on a word list and check the tokenizer with `intact`; a generated list is also scored."""
    work = place.work / "robustness" / "unseen" / language
    if language in LISTED:
        counts = read_word_list(str(place.data / "words" / f"{language}.*.tsv.gz"))
        words = [word.strip() for word in counts.words][:20_000]
        return {"types": len(counts)} | intact(trained("mws-morphs", counts, ENTRIES, work), words)
    made = made_up_lists()[language]
    counts = count_documents([" " + " ".join(made.training)], workers=1)
    directory = trained("mws-morphs", counts, ENTRIES, work)
    gold = {language: [GoldWord(word, (morphs,)) for word, morphs in made.gold.items()]}
    words = sorted({*made.gold, *made.training})
    return {"what": made.what, **scored([directory], counts, gold), **intact(directory, words)}


def random_types(counts: WordCounts, seed: int) -> WordCounts:
    """Keep a random share of the distinct words.

    >>> len(random_types(WordCounts.from_mapping({str(i): 1 for i in range(1000)}, pattern="p"), 1))
    784
    """
    kept = np.random.default_rng(seed).random(len(counts)) < KEPT_SHARE
    strings = counts.strings.filter(pa.array(kept))
    return WordCounts.from_arrays(
        strings, counts.counts[kept], pattern=counts.pattern, normalization=counts.normalization
    )


def scored(directories: Sequence[Path], counts: WordCounts, golds: dict[str, Sequence[GoldWord]]) -> Row:
    """Compute F1 of the first tokenizer on each set with its interval, and its difference from the second (`delta`)."""
    rows = []
    for name, gold in golds.items():
        tables = [cut_words(each, gold) for each in directories]
        f1s = bootstrap_f1(tables)
        low, high = interval(f1s[0])
        row: Row = {"gold": name, "f1": summarize(tables[0]).f1, "f1_low": low, "f1_high": high}
        if len(tables) == 2:
            found = difference(*tables, *f1s)
            row |= {"delta": found.f1, "delta_low": found.low, "delta_high": found.high}
        rows.append(row)
    return {"types": len(counts), "rows": rows}


def intact(directory: Path, words: Sequence[str]) -> Row:
    """Check properties that every tokenizer must have in any script.

    Encoding is lossless, and no token begins with a combining mark. Words are tested on their own, after a space, and
    in one text with other characters between them.
    """
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(directory))
    mixed_up = ["\t 😀\r\n".join(words[:1000]), "e\u0301\u0301 \u0301x 漢字 \u200d"]
    texts = [*words, *(" " + word for word in words), *mixed_up]
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


SECTIONS = {
    "Growth of the training text": "The last column is the difference of F1 from the next smaller text, on the same "
    "words.",
    "Noisy word lists": "Each kind of noise adds 10 % of the number of distinct words. The last column is the "
    "difference of F1 from the clean list, on the same words.",
    "Random 80 % of the distinct words": "The table has the mean and the standard deviation over random lists, and F1 "
    "of the whole list.",
    "Generated lists": "scripts/lab/made_up.py **generates** these lists from real stems and endings. The tokenizers "
    "learn from 60 % of the forms, and all forms are scored against their stems and endings. The scores show that "
    "nothing breaks in a script. They do not show how well MwS segments the language.",
    "Word lists of languages that were not used for tuning": "These are the 50,000 most frequent forms of film "
    "subtitles. There are no reference segmentations to score against.",
}


def table(rows: list[Row]) -> Page:
    """Write a section for each part."""
    each_gold = [{**row, **own} for row in rows for own in row.get("rows", [{}])]
    growth, noise, seeds, unseen = (where(each_gold, part=part) for part in AXES["part"])
    bodies = [f1s(growth), f1s(noise), spread_table(seeds)]
    bodies += [intact_table([row for row in unseen if ("f1" in row) == scored]) for scored in (True, False)]
    yield about(__doc__)
    for (title, text), body in zip(SECTIONS.items(), bodies, strict=True):
        yield f"## {title}\n\n{text}\n\n{body or 'Not measured.'}"


def with_interval(row: Row, name: str, sign: str = "") -> str:
    """Format a figure with its interval, or "" if the row does not have it."""
    if name not in row:
        return ""
    return f"{row[name]:{sign}.3f} ({row[f'{name}_low']:{sign}.3f} to {row[f'{name}_high']:{sign}.3f})"


def f1s(rows: Sequence[Row]) -> str:
    """Write a table of F1 and differences by variant."""
    lines = []
    for row in sorted(rows, key=lambda each: each["gold"]):  # the sort is stable, so variants stay in order
        words = (f"{row['mb']:g} MB, " if "mb" in row else "") + f"{row['types']:,} distinct words"
        line = {"reference set": row["gold"], "variant": row["variant"], "trained on": words}
        lines.append(
            {**line, "F1 (95 %)": with_interval(row, "f1"), "difference (95 %)": with_interval(row, "delta", "+")}
        )
    return tabulated(lines)


def spread_table(rows: Sequence[Row]) -> str:
    """Write a table of the mean and the standard deviation of F1 over random lists."""
    lines = []
    for gold, own in groups(rows, "gold"):
        values, whole = [row["f1"] for row in own], [row["f1"] - row["delta"] for row in own]
        line = {"reference set": gold, "lists": str(len(values)), "F1, mean": f"{mean(values):.3f}"}
        line["s.d."] = f"{stdev(values):.4f}" if len(values) > 1 else ""
        lines.append({**line, "F1, whole list": f"{mean(whole):.3f}"})
    return tabulated(lines)


def intact_table(rows: Sequence[Row]) -> str:
    """Write a table of the results of `intact`."""
    lines = []
    for row in rows:
        scores = {"F1 (95 %)": with_interval(row, "f1")} if "f1" in row else {}
        line = {"list": row.get("what") or row["language"], **scores, "distinct words": f"{row['types']:,}"}
        line |= {"vocabulary size": f"{row['entries']:,}", "tokens per word": f"{row['tokens_per_word']:.2f}"}
        line |= {"texts not restored": str(row["not_restored"]), "marks split off": str(row["marks_torn_off"])}
        lines.append({**line, "examples": ", ".join(row["examples"][:4])})
    return tabulated(lines)
