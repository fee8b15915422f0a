"""Boundary F1 of MwS and all baselines on the development sets, trained on all text of each language.

One line in 50 is held out to measure tokens per word (fertility), and the tokenizers learn from the other lines.
Reference segmentations are used only for scoring. Morfessor learns from at most 30,000 words of each list: those with
the smallest hashes, or the most frequent ones. In English it is also trained on all words. It has no vocabulary size.
The rows of ParaMA's reference segmentations (Xu et al. 2018) were measured with commit 505e525, which downloads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from lab.cells import Cell, Found, Page, Place, Row
from lab.data import GOLDS, HELD_OUT_LINES, lines_of, split_lines
from lab.tables import tabulated, where
from mws_hf import WordCounts
from mws_hf.compare import baselines, compare, parse_systems
from mws_hf.compare.morfessor_baseline import build_frequent
from mws_hf.compare.picture import figure_of, save
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.word_list import lexicon_counts
from mws_hf.text.pattern import DEFAULT_PATTERN, split

PARAMA = {language: (f"{language}.parama",) for language in ("fin", "tur", "eng")}
ORDER = ("rus", "rus-lexicon", "fin", "tur", "hun", "ces", "eng", "lat")
GOLD = {language: (*names, *PARAMA.get(language, ())) for language, names in GOLDS.items()}
GOLD |= {"rus-lexicon": ("rus.tikhonov",), "lat": ("lat.sigmorphon2022",)}
ALL_WORDS = "morfessor-all:types"
MORFESSOR = ("morfessor:types", "morfessor-frequent:text", ALL_WORDS)
baselines.BASELINE_SYSTEMS["morfessor-all"] = baselines.Baseline(
    partial(build_frequent, max_types=10**9), "morfessor", sized=False
)
SYSTEMS = (
    "mws", "mws-morphs", "mws-classic", "bpe-character:types", "bpe-character:text", "bpe-byte:text", "morph-bpe:types",
    "wordpiece:types", "unigram:types", "unigram:text", "sentencepiece-bpe:text", "sentencepiece-unigram:types",
    "sentencepiece-unigram:text", "sentencepiece-unigram-identity:text", *MORFESSOR,
)  # fmt: skip
OURS = ("mws-morphs", "mws", "mws-classic")
AXES = {
    "language": ORDER,
    "gold": list(dict.fromkeys(name for language in ORDER for name in GOLD[language])),
    "system": SYSTEMS,
    "vocab_size": (8000, 32000, None),
}
SHARED = 1
FROM = {"rus-lexicon": "lexicon", "lat": "word list"}
PANELS = {
    "English": ("eng", "eng.morphochallenge2010"),
    "Finnish": ("fin", "fin.morphochallenge2010"),
    "Russian": ("rus", "rus.tikhonov"),
}
LINES = {
    "mws": ("MwS", "#d55e00"),
    "mws-morphs": ("MwS, morphs only", "#e6a000"),
    "sentencepiece-unigram:text": ("SentencePiece Unigram", "#0072b2"),
    "bpe-byte:text": ("byte-level BPE", "#555555"),
}
MARKS = {8_000: 6, 32_000: 11}
NAME_OFFSETS = {
    "mws": (0, 10, "center"),
    "mws-morphs": (0, 10, "center"),
    "sentencepiece-unigram:text": (44, -22, "left"),
    "bpe-byte:text": (-4, -17, "left"),
}
"""The position of each system's name relative to its large mark: points to the right, points up, alignment."""


def exists(cell: Cell) -> bool:
    """Return whether a cell is measured.

    The set must be of the language and in the shared data, and the system must have this size. Morfessor on all words
    is measured only in English, because it takes long.
    """
    if cell["gold"].endswith(".parama"):
        return False
    if cell["system"] == ALL_WORDS and cell["gold"] != "eng.morphochallenge2010":
        return False
    return cell["gold"] in GOLD[cell["language"]] and (cell["vocab_size"] is None) == (cell["system"] in MORFESSOR)


def corpus_of(data: Path, language: str) -> tuple[WordCounts, list[str] | None]:
    """Return the word counts to train on, and the held-out lines or None if there is no running text."""
    if language == "rus-lexicon":
        return lexicon_counts("ru"), None
    if language == "lat":  # there is no text, so only the words of the reference segmentations are read
        rows = (data / "gold" / "lat.sigmorphon2022.tsv").read_text(encoding="utf-8").splitlines()
        pieces = {piece for row in rows for piece in split(" " + row.split("\t")[0])}
        return WordCounts.from_mapping(dict.fromkeys(pieces, 1), pattern=DEFAULT_PATTERN), None
    training, held_out = split_lines(lines_of(data, language))
    return count_documents(training), held_out[:HELD_OUT_LINES]


def measure(place: Place, cells: list[Cell]) -> Found:
    """Compare the systems that are due in one language; trained tokenizers stay in the work folder."""
    language = cells[0]["language"]
    golds = [place.data / "gold" / f"{name}.tsv" for name in dict.fromkeys(cell["gold"] for cell in cells)]
    counts, held_out = corpus_of(place.data, language)
    sizes = sorted({cell["vocab_size"] or 8000 for cell in cells})
    systems = dict.fromkeys(["mws-morphs", *(cell["system"] for cell in cells)])
    options = {"systems": parse_systems([",".join(systems)]), "text": held_out, "picture": False}
    result = compare(counts, golds, sizes, place.work / "quality" / language, **options, show_progress=True)
    for row in result.rows:
        cell = {name: row[name] for name in AXES if name != "language"} | {"language": language}
        if cell in cells:
            yield cell, {name: value for name, value in row.items() if name not in (*AXES, "directory")}


def interval(row: Row) -> str:
    """Format F1 with its interval."""
    return f"{row['f1']:.3f} ({row['f1_low']:.3f}-{row['f1_high']:.3f})"


def compared_sets(rows: list[Row], size: int, figure: str) -> Iterator[tuple[str, str, dict[str, Row], Row]]:
    """Yield each set of reference segmentations on which MwS and baselines were measured at one vocabulary size.

    The items are the language, the name of the set, the rows of MwS by system, and the row of the best baseline.
    """
    here = [row for row in rows if row["vocab_size"] in (size, None)]
    for language, name in [(each, name) for each in ORDER for name in GOLD[each]]:
        own = where(here, language=language, gold=name)
        ours = {row["system"]: row for row in own if row["system"] in OURS}
        others = [row for row in own if row["system"] not in OURS]
        if others and "mws-morphs" in ours:
            yield language, name, ours, max(others, key=lambda row: row[figure])


def best_rivals(rows: list[Row], size: int) -> str:
    """Write a table of MwS and the best baseline on each set at one vocabulary size."""
    lines = []
    for language, name, ours, best in compared_sets(rows, size, "f1"):
        if not name.endswith(".parama"):
            own = {system: interval(ours[system]) if system in ours else "" for system in OURS}
            rival = f"{interval(best)} {best['system']}"
            start = {"reference segmentations": name, "trained on": FROM.get(language, "text")}
            lines.append({**start, **own, "best baseline": rival})
    return tabulated(lines)


def macro(rows: list[Row], size: int) -> str:
    """Write a table of macro F1 at one size: the mean over words with their best alternative (Morpho Challenge)."""
    lines = []
    title = "reference segmentations, macro F1"
    for language, name, ours, best in compared_sets(rows, size, "macro_f1"):
        if language != "rus-lexicon":
            own = {system: f"{ours[system]['macro_f1']:.3f}" if system in ours else "" for system in OURS}
            lines.append({title: name, **own, "best baseline": f"{best['macro_f1']:.3f} {best['system']}"})
    return tabulated(sorted(lines, key=lambda line: line[title].endswith(".parama")))


def lengths(rows: list[Row], size: int) -> str:
    """Write a table of tokens per word on held-out text and F1 on the language's first set, at one vocabulary size."""
    lines = []
    for language in ORDER:
        own = where(rows, language=language, gold=GOLD[language][0], vocab_size=size)
        for system in ("mws-morphs", "mws", "bpe-character:text", "unigram:types", "unigram:text"):
            for row in where(own, system=system):
                if row.get("text_fertility"):
                    line = {"language": language, "system": system, "vocabulary size": f"{row['n_tokens']:,}"}
                    line |= {"tokens per word": f"{row['text_fertility']:.2f}", "F1": f"{row['f1']:.3f}"}
                    lines.append(line)
    return tabulated(lines)


def table(rows: list[Row]) -> Page:
    for size in (8000, 32000):
        yield f"## Vocabulary size {size:,}"
        yield from (part(rows, size) for part in (best_rivals, macro, lengths))


def draw(rows: list[Row], results: Path) -> None:
    """Draw F1 against tokens per word: all systems on Russian lemmas, and README's first picture."""
    russian = {"Russian: Tikhonov's dictionary of morphemes": where(rows, language="rus", gold="rus.tikhonov")}
    save(figure_of(russian), results / "f1-by-fertility.rus.tikhonov.png")
    readme_picture(rows, results.parent.parent / "docs" / "boundaries-by-length.png")


def readme_picture(rows: list[Row], path: Path) -> None:
    """Draw the picture of README: F1 against tokens per word, with its message as title and names at the points."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(PANELS), sharey=True)
    for axis, (panel, (language, gold)) in zip(axes, PANELS.items(), strict=True):
        here = where(rows, language=language, gold=gold)
        for system, (name, colour) in LINES.items():
            own = sorted(where(here, system=system), key=lambda row: row["vocab_size"])
            points = [(row["text_fertility"], row["f1"]) for row in own]
            width, front = (2.6, 3) if system.startswith("mws") else (1.6, 2)
            axis.plot(*zip(*points, strict=True), color=colour, linewidth=width, zorder=front)
            for row, (x, y) in zip(own, points, strict=True):
                axis.plot(x, y, "o", color=colour, markersize=MARKS[row["vocab_size"]], zorder=front)
            right, up, aligned = NAME_OFFSETS[system]
            axis.annotate(
                name, points[-1], (right, up), textcoords="offset points", color=colour, fontsize=9.5, ha=aligned,
                zorder=4,
            )  # fmt: skip
        best = max(row["f1"] for row in here if row["system"] in MORFESSOR)
        axis.axhline(best, color="#117733", linestyle=":", zorder=1)
        axis.annotate(
            "Morfessor", (0.99, best), (0, 3), xycoords=("axes fraction", "data"), textcoords="offset points",
            color="#117733", fontsize=9, ha="right",
        )  # fmt: skip
        axis.set_title(panel, fontsize=12, loc="left", weight="bold")
        axis.set_xlabel("tokens per word of new text")
        axis.grid(alpha=0.25)
        axis.margins(x=0.2, y=0.1)
    axes[0].set_ylabel("F1 of morpheme boundaries")
    axes[-1].annotate("↖ better", (0.97, 0.04), xycoords="axes fraction", ha="right", style="italic")
    figure.suptitle(
        "MwS finds far more morpheme boundaries than BPE, for slightly longer text "
        "(small marks: vocabulary size 8,000, large marks: 32,000)",
        fontsize=11.5,
    )
    save(figure, path)
