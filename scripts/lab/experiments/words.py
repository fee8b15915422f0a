"""README's table of words: cut by byte-level BPE and by the ready tokenizer of the language, 32,000 entries each.

The words are the first three of each language in `pretrained_sources.py`, written there before any was cut. BPE learns
from the text of the ready tokenizer. `python scripts/docs_tables.py` puts the table into README.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pretrained_card import CARDS
from pretrained_sources import WORDS, texts_of

from lab.cells import Cell, Found, Page, Place, Row, beside
from lab.systems import learnt
from lab.tables import groups, tabulated
from mws_hf import WordCounts
from mws_hf.compare import baselines
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.word_list import lexicon_counts
from mws_hf.tokenizer.opened import segment_words

LANGUAGES = {"en": "English", "fi": "Finnish", "tr": "Turkish", "ru": "Russian"}
SHOWN = {language: WORDS[language].split()[:3] for language in LANGUAGES}
SIZE = 32_000
OF_LEXICON = ("подводник", "безработица", "читательницами", "краснолицый", "переписывающаяся")
AXES = {"language": list(LANGUAGES), "word": [word for words in SHOWN.values() for word in words]}
SHARED = 1


def exists(cell: Cell) -> bool:
    return cell["word"] in SHOWN[cell["language"]]


def cuts(source: Any, words: Sequence[str]) -> dict[str, str]:
    return {word: "·".join(cut) for word, cut in zip(words, segment_words(source, words), strict=True)}


def our_cuts(language: str) -> dict[str, str]:
    """A language's words as its ready tokenizer cuts them."""
    return cuts(CARDS / f"mws-{language}-32k", SHOWN[language])


def measure(place: Place, cells: list[Cell]) -> Found:
    """Cut words by the ready tokenizer, and by byte-level BPE of its size and training text."""
    language = cells[0]["language"]
    training, _ = texts_of(language, place.data, share_alike=language == "tr")
    bpe = cuts(baselines.train("bpe-byte", count_documents(training), SIZE).source, SHOWN[language])
    ours = our_cuts(language)
    yield from ((cell, {"bpe": bpe[cell["word"]], "ours": ours[cell["word"]]}) for cell in cells)


def table(rows: list[Row]) -> Page:
    lines = []
    for language, here in groups(rows, "language"):
        for row in here:
            name = LANGUAGES[language] if row is here[0] else ""
            lines.append({"": name, "word": row["word"], "byte-level BPE": row["bpe"], "MwS, default": row["ours"]})
    yield tabulated(lines, numbers=False)


def mws_cuts(counts: WordCounts, granularity: float | None = None) -> dict[str, str]:
    """Each word as MwS cuts it: morphs only."""
    return cuts(learnt(counts, vocab_size=8000, composition=0, granularity=granularity), OF_LEXICON)


def cut_lexicon(place: Place, cells: list[Cell]) -> Found:
    """Words of docs/train.md as BPE and MwS cut them, learnt from the forms of pymorphy3's dictionary, unlabelled.

    8,000 entries, every form counted once; of MwS morphs only, as word lists want.
    """
    counts = lexicon_counts("ru")
    ours = cells[0]["system"] == "MwS"
    found = mws_cuts(counts) if ours else cuts(baselines.train("bpe-character", counts, 8000).source, OF_LEXICON)
    yield from ((cell, {"cut": found[cell["word"]]}) for cell in cells)


def lexicon_table(rows: list[Row]) -> Page:
    both = [(word, here) for word, here in groups(rows, "word") if len(here) == 2]
    lines = ({"word": word} | {row["system"]: row["cut"] for row in here} for word, here in both)
    yield tabulated(lines, numbers=False)


lexicon_words = beside(cut_lexicon, lexicon_table, {"system": ("BPE", "MwS"), "word": OF_LEXICON}, 1)
