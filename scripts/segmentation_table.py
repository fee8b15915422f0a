"""A table of docs/train.md: words cut by BPE and by MwS, learnt from the forms of pymorphy3's dictionary, unlabelled.

    python scripts/segmentation_table.py            # some minutes, nearly all of them BPE's
    python scripts/segmentation_table.py --granularity 0.05 0.095 0.25      # MwS alone, coarse to fine

Prints the rows in Markdown.
"""

from __future__ import annotations

import argparse

from mws_hf import MwSTrainer, WordCounts
from mws_hf.compare import rivals
from mws_hf.corpus.word_list import lexicon_counts

WORDS = ("подводник", "безработица", "читательницами", "краснолицый", "переписывающаяся")
SIZE = 8000


def mws_cuts(counts: WordCounts, granularity: float | None = None) -> list[str]:
    """Each word as the demo's tokenizer cuts it: morphs only, as word lists want."""
    trainer = MwSTrainer(vocab_size=SIZE, composition=0, granularity=granularity, show_progress=False)
    tokenizer = trainer.train_from_counts(counts)
    return ["·".join(tokenizer.decode(i).strip() for i in tokenizer(" " + word)["input_ids"]) for word in WORDS]


def bpe_cuts(counts: WordCounts) -> list[str]:
    """Each word as character-level BPE of the same size cuts it, every form counted once."""
    rival = rivals.train("bpe-character", counts, SIZE)
    return ["·".join(rival.segment(word)) for word in WORDS]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--granularity", nargs="+", type=float, help="shares of places to cut, instead of BPE and MwS")
    arguments = parser.parse_args()
    forms = lexicon_counts("ru")
    columns = [mws_cuts(forms, each) for each in arguments.granularity or [None]]
    for row in zip(WORDS, *columns if arguments.granularity else (bpe_cuts(forms), *columns), strict=True):
        print(f"| {' | '.join(row)} |")
