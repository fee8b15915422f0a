"""How a vocabulary is used: tokens of text, of uppercase text and of capitalized words, and rarely used tokens.

MwS with default settings and byte-level BPE learn from the first 30 MB of a language's training lines. They then
segment the held-out lines, and the same lines in uppercase. A capitalized running word counts as *cut alike* if it has
the same split points as the lowercase word. A token is rarely used if it occurs fewer than five times in the training
text.
"""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import Any

import regex
from tokenizers import Tokenizer

from lab.cells import Cell, Found, Page, Place, Row
from lab.data import GOLD, head, parts_of
from lab.systems import tokens, trained
from lab.tables import groups, tabulated
from mws_hf.cards.training_figures import training_facts
from mws_hf.corpus.counting import count_documents
from mws_hf.tokenizer.opened import open_tokenizer

AXES = {"language": list(GOLD), "size": (8000, 32000), "system": ("mws", "bpe-byte")}
SHARED = 1
LENGTHS = {"tokens": "tokens", "tokens, uppercase text": "tokens_in_capitals"}
SHARES = {"capitalized words cut alike": "capital_words_cut_alike", "used < 5 times": "under_5", "never": "unused"}


def measure(place: Place, cells: list[Cell]) -> Found:
    lines, held_out = parts_of(place.data, cells[0]["language"])
    counts = count_documents(head(lines, 30e6))
    for cell in cells:
        directory = trained(cell["system"], counts, cell["size"], place.work / "entries" / cell["language"])
        backend = open_tokenizer(directory).backend
        yield cell, {
            "tokens": tokens(backend, held_out),
            "tokens_in_capitals": tokens(backend, [line.upper() for line in held_out]),
            "capital_words_cut_alike": cut_alike(backend, held_out),
            **training_facts(backend, counts, {})["rare_entries"],
        }  # fmt: skip


def cut_alike(backend: Tokenizer, lines: list[str]) -> float:
    """Return the share of running words that have the same split points capitalized and in lowercase."""
    words = Counter(word.lower() for line in lines for word in regex.findall(r"\p{L}+", line))
    kept = [word for word in words if len(word.capitalize()) == len(word) and word.capitalize() != word]
    small, large = (backend.encode_batch([" " + form(word) for word in kept]) for form in (str.lower, str.capitalize))
    alike = sum(words[word] for word, a, b in zip(kept, small, large, strict=True) if ends(a) == ends(b))
    return alike / sum(words[word] for word in kept)


def ends(encoding: Any) -> list[int]:
    """Return the number of characters up to the end of each token."""
    return list(accumulate(b - a for a, b in encoding.offsets))


def table(rows: list[Row]) -> Page:
    yield (
        "The first columns compare the number of tokens of held-out text with byte-level BPE of the same vocabulary "
        "size and training text. Shares are those of the default settings / BPE."
    )
    lines = []
    for language, size, here in groups(rows, "language", "size"):
        if len(here) == 2:
            ours, bpe = here
            longer = {title: f"{100 * (ours[name] / bpe[name] - 1):+.2f} %" for title, name in LENGTHS.items()}
            shares = {title: f"{100 * ours[name]:.1f} / {100 * bpe[name]:.1f} %" for title, name in SHARES.items()}
            lines.append({"language": language, "vocabulary size": f"{size:,}", **longer, **shares})
    yield tabulated(lines)
