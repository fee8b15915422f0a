"""How a vocabulary is used: tokens of text, uppercase text, capitalized words, words without a space, and rare tokens.

MwS with default settings and byte-level BPE learn from the first 30 MB of a language's training lines. They then
segment the held-out lines, and the same lines in uppercase. Running words of the held-out lines are split in three
ways: in lowercase after a space, capitalized after a space, and in lowercase without a space, as at the start of a line
or after a quotation mark. The shares are those of running words that have the same split points in two of these ways.
F1 is measured on the first set of reference segmentations, with and without a space before the word. A token is rarely
used if it occurs fewer than five times in the training text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import regex

from lab.cells import Cell, Found, Page, Place, Row
from lab.data import GOLD, gold_of, head, parts_of
from lab.systems import judged, tokens, trained
from lab.tables import groups, tabulated
from mws_hf.cards.training_figures import training_facts
from mws_hf.corpus.counting import count_documents
from mws_hf.tokenizer.opened import Opened, open_tokenizer
from mws_hf.tokenizer.segmenting import Isolated

AXES = {"language": list(GOLD), "size": (8000, 32000), "system": ("mws", "bpe-byte")}
SHARED = 1
LENGTHS = {"tokens": "tokens", "tokens, uppercase text": "tokens_in_capitals"}
SHARES = {
    "capitalized words with the same split points": "capitalized_alike",
    "words without a space with the same split points": "without_space_alike",
    "used < 5 times": "under_5",
    "never": "unused",
}


def measure(place: Place, cells: list[Cell]) -> Found:
    language = cells[0]["language"]
    lines, held_out = parts_of(place.data, language)
    counts = count_documents(head(lines, 30e6))
    gold = gold_of(place.data, language)
    words = Counter(word.lower() for line in held_out for word in regex.findall(r"\p{L}+", line))
    cased = Counter({w: n for w, n in words.items() if len(w.capitalize()) == len(w) and w.capitalize() != w})
    for cell in cells:
        opened = open_tokenizer(trained(cell["system"], counts, cell["size"], place.work / "entries" / language))
        lowercase = dict(zip(words, lengths(opened, list(words)), strict=True))
        capitalized, alone = lengths(opened, [*map(str.capitalize, cased)]), lengths(opened, list(words), "none")
        yield cell, {
            "tokens": tokens(opened.backend, held_out),
            "tokens_in_capitals": tokens(opened.backend, [line.upper() for line in held_out]),
            "capitalized_alike": share_alike(cased, lowercase, capitalized),
            "without_space_alike": share_alike(words, lowercase, alone),
            "f1": judged(opened, gold)["f1"],
            "f1_without_space": judged(opened, gold, isolated="none")["f1"],
            **training_facts(opened.backend, counts, {})["rare_entries"],
        }  # fmt: skip


def lengths(opened: Opened, words: Sequence[str], isolated: Isolated = "space") -> list[list[int]]:
    """Segment words, and return the lengths of the pieces of each."""
    return [[len(piece) for piece in pieces] for pieces in opened.segment_words(words, isolated)]


def share_alike(words: Counter[str], first: Mapping[str, list[int]], second: list[list[int]]) -> float:
    """Return the share of running words whose pieces have the same lengths in two segmentations."""
    alike = sum(count for (word, count), pieces in zip(words.items(), second, strict=True) if pieces == first[word])
    return alike / words.total()


def table(rows: list[Row]) -> Page:
    yield (
        "The first columns compare the number of tokens of held-out text with byte-level BPE of the same vocabulary "
        "size and training text. The other columns are those of the default settings / BPE. The last one is the "
        "change in F1 if words have no space before them."
    )
    lines = []
    for language, size, here in groups(rows, "language", "size"):
        if len(here) == 2:
            ours, bpe = here
            longer = {title: f"{100 * (ours[name] / bpe[name] - 1):+.2f} %" for title, name in LENGTHS.items()}
            shares = {title: f"{100 * ours[name]:.1f} / {100 * bpe[name]:.1f} %" for title, name in SHARES.items()}
            lost = {"F1 without a space": " / ".join(f"{row['f1_without_space'] - row['f1']:+.3f}" for row in here)}
            lines.append({"language": language, "vocabulary size": f"{size:,}", **longer, **shares, **lost})
    yield tabulated(lines)
