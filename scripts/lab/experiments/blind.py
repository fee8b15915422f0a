"""Test sets that were never tuned on, run once: SIGMORPHON 2022, MorphScore, Universal Dependencies.

`--with fetched=FOLDER` holds the public repositories that `lab/public_sets.py` lists, as `git clone` leaves them;
nothing of them is part of the project. A language without running text in the shared data learns from a list of words,
at 8,000 entries alone: 32,000 would hold most of the list. One without a list is left out, and said so.

Of whole segmentations, boundary F1, precision and recall are given (micro, words after a space). MorphScore's words and
those of Universal Dependencies that begin with their lemma carry one boundary each: there a true cut elsewhere would
count as false, so recall at that boundary is given, with the pieces a word that it cost. MorphScore leaves out the
words that a tokenizer keeps whole; its authors find that it explains little of the variance of downstream tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from lab.cells import Cell, Place, Row
from lab.public_sets import KINDS, LANGUAGES, TEXTS, sets_of, words_of
from lab.systems import UNIGRAM, trained
from lab.tables import groups, where
from mws_hf.compare import rivals
from mws_hf.evaluate import segment_words
from mws_hf.evaluate.boundaries import summarize, word_table
from mws_hf.evaluate.significance import bootstrap_f1, interval
from mws_hf.text.markdown import markdown_table
from mws_hf.tokenizer.opened import open_tokenizer

SYSTEMS = ("mws", "mws-morphs", "bpe-byte", UNIGRAM, "morfessor")
AXES = {"language": list(LANGUAGES), "vocab_size": (8000, 32000), "kind": list(KINDS), "system": SYSTEMS}
SHARED = 2
TOLD = ("f1", "precision", "recall", "exact", "single_recall", "morphscore", "morphscore_words", "tokens_per_word")


def exists(cell: Cell) -> bool:
    """Whether there is such a set of the language; the larger size is that of running text, and Morfessor has none."""
    small = cell["vocab_size"] == 8000
    return cell["language"] in KINDS[cell["kind"]] and (
        small or cell["language"] in TEXTS and cell["system"] != SYSTEMS[-1]
    )


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Score each system on the sets of its language, or say why there is no score."""
    language, size = cells[0]["language"], cells[0]["vocab_size"]
    fetched = place.path("fetched", "a folder of clones of the repositories of lab/public_sets.py")
    sets = {each.kind: each.gold for each in sets_of(language, fetched, place.work / "blind")}
    words = words_of(language, place.data, fetched)
    for system, own in groups([cell for cell in cells if cell["kind"] in sets], "system").items():
        if words is None:
            yield from ((cell, {"left_out": "no words to learn from"}) for cell in own)
            continue
        counts, about = words
        directory = trained(system[0], counts, size, place.work / "ngram_map" / language)
        source = open_tokenizer(rivals.saved(directory), by_class=True)
        for cell in own:
            gold = sets[cell["kind"]]
            cut = word_table(gold.words, segment_words(source, [each.word for each in gold.words]))
            scores, (low, high) = asdict(summarize(cut)), interval(bootstrap_f1([cut])[0])
            facts = {"trained_on": about, "types": len(counts), "words": len(gold.words), "rows_of_set": gold.lines}
            yield cell, {**facts, **{name: scores[name] for name in TOLD}, "f1_low": low, "f1_high": high}


def table(rows: list[Row]) -> str:
    """Whole segmentations, single boundaries by kind, and what is left out."""
    parts = []
    for kind, (title, told) in TITLES.items():
        lines = []
        for (language, size), here in groups(where(rows, kind=kind, left_out=None), "language", "vocab_size").items():
            about = [language, f"{size:,}", here[0]["trained_on"], f"{here[0]['words']:,}"]
            found = (where(here, system=system) for system in SYSTEMS)
            lines.append([*about, *(told(own[0]) if own else "" for own in found)])
        parts.append(f"## {title}\n\n{markdown_table(['language', 'entries', 'trained on', 'words', *SYSTEMS], lines)}")
    absent = sorted({row["language"] for row in rows if "left_out" in row})
    return "\n\n".join([*parts, f"Left out, as there are no words to learn from: {', '.join(absent) or 'none'}."])


def whole(row: Row) -> str:
    """F1 with its interval, precision and recall."""
    return f"{row['f1']:.3f} ({row['f1_low']:.3f}-{row['f1_high']:.3f}); {row['precision']:.2f}, {row['recall']:.2f}"


def single(row: Row) -> str:
    """Recall at the one boundary, MorphScore, and pieces a word."""
    return f"{row['single_recall']:.3f}; {row['morphscore']:.3f}; {row['tokens_per_word']:.2f}"


TITLES: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "sigmorphon": ("Whole segmentations: SIGMORPHON 2022, test", whole),
    "lemma": ("Forms that begin with their lemma: Universal Dependencies, dev and test", single),
    "morphscore": ("MorphScore, first version", single),
}
