"""Words of docs/train.md as BPE and MwS cut them, learnt from the forms of pymorphy3's dictionary, unlabelled.

8,000 entries, every form counted once; of MwS morphs only, as word lists want.
"""

from __future__ import annotations

from collections.abc import Iterator

from lab.cells import Cell, Place, Row
from lab.tables import groups
from mws_hf import MwSTrainer, WordCounts
from mws_hf.compare import rivals
from mws_hf.corpus.word_list import lexicon_counts
from mws_hf.text.markdown import markdown_table

WORDS = ("подводник", "безработица", "читательницами", "краснолицый", "переписывающаяся")
AXES = {"system": ("BPE", "MwS"), "word": WORDS}
SHARED = 1


def mws_cuts(counts: WordCounts, granularity: float | None = None) -> list[str]:
    """Each word as MwS cuts it: morphs only."""
    trainer = MwSTrainer(vocab_size=8000, composition=0, granularity=granularity, show_progress=False)
    tokenizer = trainer.train_from_counts(counts)
    return ["·".join(tokenizer.decode(i).strip() for i in tokenizer(" " + word)["input_ids"]) for word in WORDS]


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Cut the words by one system."""
    counts = lexicon_counts("ru")
    if cells[0]["system"] == "MwS":
        cuts = mws_cuts(counts)
    else:
        cuts = ["·".join(cut) for cut in rivals.train("bpe-character", counts, 8000).source.cut(WORDS)]
    found = dict(zip(WORDS, cuts, strict=True))
    yield from ((cell, {"cut": found[cell["word"]]}) for cell in cells)


def table(rows: list[Row]) -> str:
    """A row a word, a column a system."""
    both = [here for here in groups(rows, "word").values() if len(here) == 2]
    lines = [[here[0]["word"], *(row["cut"] for row in here)] for here in both]
    return markdown_table(["word", "BPE", "MwS"], lines, numbers=False)
