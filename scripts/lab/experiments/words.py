"""README's table of words, as byte-level BPE and the pretrained tokenizer of the language split them.

Both have a vocabulary size of 32,000. The words are the first three of each language in `pretrained_sources.py`, where
they were written before any tokenizer had split them. BPE learns from the training text of the pretrained tokenizer.
`python scripts/docs_tables.py` puts the table into README.
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
    """Return whether the word is in the language."""
    return cell["word"] in SHOWN[cell["language"]]


def cuts(source: Any, words: Sequence[str]) -> dict[str, str]:
    """Segment words; write a dot between the tokens of each word."""
    return {word: "·".join(cut) for word, cut in zip(words, segment_words(source, words), strict=True)}


def our_cuts(language: str) -> dict[str, str]:
    """Segment the words of a language with its pretrained tokenizer."""
    return cuts(CARDS / f"mws-{language}-32k", SHOWN[language])


def measure(place: Place, cells: list[Cell]) -> Found:
    """Segment words with the pretrained tokenizer, and with byte-level BPE of its size and training text."""
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
    """Segment each word with MwS, morphs only."""
    return cuts(learnt(counts, vocab_size=8000, composition=0, granularity=granularity), OF_LEXICON)


def cut_lexicon(place: Place, cells: list[Cell]) -> Found:
    """Five Russian words, as BPE and MwS split them after training on the forms of pymorphy3's dictionary.

    Both have a vocabulary size of 8,000 and learn from every form once, without labels. MwS has morphs only, which is
    the right setting for word lists.
    """
    counts = lexicon_counts("ru")
    ours = cells[0]["system"] == "MwS"
    found = mws_cuts(counts) if ours else cuts(baselines.train("bpe-character", counts, 8000).source, OF_LEXICON)
    yield from ((cell, {"cut": found[cell["word"]]}) for cell in cells)


def lexicon_table(rows: list[Row]) -> Page:
    """Write a table of the words, split by BPE and by MwS."""
    both = [(word, here) for word, here in groups(rows, "word") if len(here) == 2]
    lines = ({"word": word} | {row["system"]: row["cut"] for row in here} for word, here in both)
    yield tabulated(lines, numbers=False)


lexicon_words = beside(cut_lexicon, lexicon_table, {"system": ("BPE", "MwS"), "word": OF_LEXICON}, 1)
