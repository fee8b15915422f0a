"""README's table of words: cut by byte-level BPE and by the ready tokenizer of the language, 32,000 entries each.

The words are the first three of each language in `pretrained_sources.py`, written there before any was cut. BPE learns
from the text of the ready tokenizer. `python scripts/docs_tables.py` puts the table into README.
"""

from __future__ import annotations

from collections.abc import Iterator

from pretrained_card import CARDS
from pretrained_sources import WORDS, texts_of

from lab.cells import Cell, Place, Row, beside
from lab.tables import groups
from mws_hf import MwSTrainer, WordCounts
from mws_hf.compare import rivals
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.word_list import lexicon_counts
from mws_hf.evaluate.segment import segment_words
from mws_hf.text.markdown import markdown_table
from mws_hf.tokenizer.opened import open_tokenizer

LANGUAGES = {"en": "English", "fi": "Finnish", "tr": "Turkish", "ru": "Russian"}
SHOWN = {language: WORDS[language].split()[:3] for language in LANGUAGES}
SIZE = 32_000
OF_LEXICON = ("подводник", "безработица", "читательницами", "краснолицый", "переписывающаяся")
AXES = {"language": list(LANGUAGES), "word": [word for words in SHOWN.values() for word in words]}
SHARED = 1


def exists(cell: Cell) -> bool:
    """Whether it is a word of the language."""
    return cell["word"] in SHOWN[cell["language"]]


def our_cuts(language: str) -> list[str]:
    """A language's words as its ready tokenizer cuts them."""
    encoder = open_tokenizer(CARDS / f"mws-{language}-32k", by_class=True)
    return ["·".join(pieces) for pieces in segment_words(encoder, SHOWN[language])]


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Cut words by the ready tokenizer, and by byte-level BPE of its size and training text."""
    language = cells[0]["language"]
    training, _ = texts_of(language, place.data, share_alike=language == "tr")
    rival = rivals.train("bpe-byte", count_documents(training), SIZE).source
    ours = dict(zip(SHOWN[language], our_cuts(language), strict=True))
    yield from ((cell, {"bpe": "·".join(rival.cut([cell["word"]])[0]), "ours": ours[cell["word"]]}) for cell in cells)


def table(rows: list[Row]) -> str:
    """A row a word, its language before the first."""
    lines = []
    for (language,), here in groups(rows, "language").items():
        names = [LANGUAGES[str(language)], *[""] * len(here)]
        lines += [[name, row["word"], row["bpe"], row["ours"]] for name, row in zip(names, here, strict=False)]
    return markdown_table(["", "word", "byte-level BPE", "MwS, default"], lines, numbers=False)


def mws_cuts(counts: WordCounts, granularity: float | None = None) -> list[str]:
    """Each word as MwS cuts it: morphs only."""
    trainer = MwSTrainer(vocab_size=8000, composition=0, granularity=granularity, show_progress=False)
    tokenizer = trainer.train_from_counts(counts)
    return ["·".join(tokenizer.decode(i).strip() for i in tokenizer(" " + word)["input_ids"]) for word in OF_LEXICON]


def cut_lexicon(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Words of docs/train.md as BPE and MwS cut them, learnt from the forms of pymorphy3's dictionary, unlabelled.

    8,000 entries, every form counted once; of MwS morphs only, as word lists want.
    """
    counts = lexicon_counts("ru")
    if cells[0]["system"] == "MwS":
        cuts = mws_cuts(counts)
    else:
        cuts = ["·".join(cut) for cut in rivals.train("bpe-character", counts, 8000).source.cut(OF_LEXICON)]
    found = dict(zip(OF_LEXICON, cuts, strict=True))
    yield from ((cell, {"cut": found[cell["word"]]}) for cell in cells)


def lexicon_table(rows: list[Row]) -> str:
    """A row a word, a column a system."""
    both = [here for here in groups(rows, "word").values() if len(here) == 2]
    lines = [[here[0]["word"], *(row["cut"] for row in here)] for here in both]
    return markdown_table(["word", "BPE", "MwS"], lines, numbers=False)


lexicon_words = beside(cut_lexicon, lexicon_table, {"system": ("BPE", "MwS"), "word": OF_LEXICON}, 1)
