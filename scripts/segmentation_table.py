"""The README's table: words cut by BPE and by MwS, both learnt from the forms of pymorphy3's dictionary, none labelled.

    python scripts/segmentation_table.py            # some minutes, nearly all of them BPE's

Prints the rows in Markdown.
"""

from __future__ import annotations

from mws_hf import MwSTrainer, WordCounts, baselines
from mws_hf.corpus.dictionary import lexicon_counts

WORDS = ("подводник", "безработица", "читательницами", "краснолицый", "переписывающаяся")
SIZE = 8000


def mws_cuts(counts: WordCounts) -> list[str]:
    """Each word as the demo's tokenizer cuts it: morphs only, as word lists want."""
    tokenizer = MwSTrainer(vocab_size=SIZE, composition=0, show_progress=False).train_from_counts(counts)
    return ["·".join(token.strip() for token in tokenizer.tokenize(" " + word)) for word in WORDS]


def bpe_cuts(counts: WordCounts) -> list[str]:
    """Each word as character-level BPE of the same size cuts it, every form counted once."""
    rival = baselines.train("bpe", counts, SIZE)
    return ["·".join(rival.segment(word)) for word in WORDS]


if __name__ == "__main__":
    forms = lexicon_counts("ru")
    for row in zip(WORDS, bpe_cuts(forms), mws_cuts(forms), strict=True):
        print(f"| {' | '.join(row)} |")
