"""Does the default recipe hold up: more text, noisy lists, random lists, languages nobody tuned on (composition 0).

All tokenizers have 8,000 entries. Texts are evenly mixed; noise and random lists are of at most 30 MB. Training reads
no gold.
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
"""Whose words are the foreign ones; for Russian and Czech a neighbour, written alike."""

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
ENTRIES, TEXT_MB, KEPT = 8_000, 30, 0.8
_MARK = regex.compile(r"\p{M}")


def exists(cell: Cell) -> bool:
    part, language, variant = cell["part"], cell["language"], cell["variant"]
    if part == "growth":
        return variant in (GROWTH if language == "rus" else ("third", "whole") if language in ("fin", "eng") else ())
    if part == "unseen":
        return language in (*LISTED, *MADE_UP) and not variant
    return language in DONORS and variant in (NOISY if part == "noise" else ("0", "1", "2"))


def measure(place: Place, cells: list[Cell]) -> Found:
    """Each variant beside the clean list, or the next smaller text; or a list that has none beside."""
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
    """How much text a variant of `growth` has."""
    whole = round(text_of(place, language).stat().st_size / 1e6, 2)
    return {**GROWTH, "third": round(whole / 3, 2), "whole": whole}[variant]


def text_of(place: Place, language: str) -> Path:
    return mixed(place.data, f"{language}.*.txt.gz", place.work / "robustness")


@cache
def words_of(place: Place, language: str, megabytes: float) -> WordCounts:
    return count_files(str(cut(text_of(place, language), megabytes)))


def unseen(place: Place, language: str) -> Row:
    """A word list without gold, or a made-up one with it: scored, and held to losing nothing."""
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
    """A random share of the word types.

    >>> len(random_types(WordCounts.from_mapping({str(i): 1 for i in range(1000)}, pattern="p"), 1))
    784
    """
    kept = np.random.default_rng(seed).random(len(counts)) < KEPT
    strings = counts.strings.filter(pa.array(kept))
    return WordCounts.from_arrays(
        strings, counts.counts[kept], pattern=counts.pattern, normalization=counts.normalization
    )


def scored(directories: Sequence[Path], counts: WordCounts, golds: dict[str, Sequence[GoldWord]]) -> Row:
    """F1 of the first tokenizer on each gold with its interval, and its difference from the second (`delta`)."""
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
    """What must hold for any word in any script: encoding loses nothing and no token begins with a combining mark.

    Words are tried bare, after a space, and all in one text with other characters between.
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
    "Growth of the training text": "The last column is F1 less that of the next smaller text, on the same words.",
    "Noisy word lists": "Each kind adds 10 % of the word types; the last column is F1 less that of the clean list, on "
    "the same words.",
    "Random 80 % of the word types": "Mean and standard deviation over random lists, with the whole list beside.",
    "Made-up lists": "**Made up** by scripts/lab/made_up.py: real stems and endings put together, trained on 60 % of "
    "the forms, all scored against the composition itself. They show that nothing breaks in a script, not how good the "
    "segmentation of the language is.",
    "Word lists of languages nobody tuned on (no gold)": "The 50,000 most frequent forms of film subtitles; there is "
    "nothing to score against.",
}


def table(rows: list[Row]) -> Page:
    each_gold = [{**row, **own} for row in rows for own in row.get("rows", [{}])]
    growth, noise, seeds, unseen = (where(each_gold, part=part) for part in AXES["part"])
    bodies = [f1s(growth), f1s(noise), spread(seeds)]
    bodies += [kept_whole([row for row in unseen if ("f1" in row) == scored]) for scored in (True, False)]
    yield about(__doc__)
    for (title, text), body in zip(SECTIONS.items(), bodies, strict=True):
        yield f"## {title}\n\n{text}\n\n{body or 'Not measured.'}"


def told(row: Row, name: str, sign: str = "") -> str:
    """A figure with its interval, if there is one."""
    if name not in row:
        return ""
    return f"{row[name]:{sign}.3f} ({row[f'{name}_low']:{sign}.3f} to {row[f'{name}_high']:{sign}.3f})"


def f1s(rows: Sequence[Row]) -> str:
    lines = []
    for row in sorted(rows, key=lambda each: each["gold"]):  # stable: variants stay in their order
        words = (f"{row['mb']:g} MB, " if "mb" in row else "") + f"{row['types']:,} types"
        line = {"gold": row["gold"], "variant": row["variant"], "trained on": words}
        lines.append({**line, "F1 (95 %)": told(row, "f1"), "difference (95 %)": told(row, "delta", "+")})
    return tabulated(lines)


def spread(rows: Sequence[Row]) -> str:
    """Mean and spread of F1 over random lists."""
    lines = []
    for gold, own in groups(rows, "gold"):
        values, whole = [row["f1"] for row in own], [row["f1"] - row["delta"] for row in own]
        line = {"gold": gold, "lists": str(len(values)), "F1, mean": f"{mean(values):.3f}"}
        line["s.d."] = f"{stdev(values):.4f}" if len(values) > 1 else ""
        lines.append({**line, "F1, whole list": f"{mean(whole):.3f}"})
    return tabulated(lines)


def kept_whole(rows: Sequence[Row]) -> str:
    """What `intact` found of lists."""
    lines = []
    for row in rows:
        scores = {"F1 (95 %)": told(row, "f1")} if "f1" in row else {}
        line = {"list": row.get("what") or row["language"], **scores, "types": f"{row['types']:,}"}
        line |= {"entries": f"{row['entries']:,}", "tokens/word": f"{row['tokens_per_word']:.2f}"}
        line |= {"texts not restored": str(row["not_restored"]), "marks torn off": str(row["marks_torn_off"])}
        lines.append({**line, "examples": ", ".join(row["examples"][:4])})
    return tabulated(lines)
