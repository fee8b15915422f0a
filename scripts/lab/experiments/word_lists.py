"""Tokens per word in languages that have a word list and no gold: each learns from nine words of ten, the tenth is cut.

Length alone says nothing of morphs; beside BPE and Unigram of the same words it says what morphs cost. No merges are
learnt here. A cell of the table has the tokens per held-out word, each word once, then by its count.
"""

from __future__ import annotations

from collections.abc import Iterator

from lab.cells import Cell, Place, Row
from lab.data import list_of
from lab.systems import RIVAL
from lab.tables import groups, where
from mws_hf import MwSTrainer, WordCounts
from mws_hf.compare import rivals
from mws_hf.evaluate import segment_words
from mws_hf.text.markdown import markdown_table
from mws_hf.text.pattern import DEFAULT_PATTERN, split
from mws_hf.tokenizer.opened import open_tokenizer

LANGUAGES = ("bul", "deu", "est", "pol", "ukr")
SYSTEMS = ("mws-morphs", "mws", "bpe", "unigram")
AXES = {"language": LANGUAGES, "vocab_size": (8000,), "system": SYSTEMS}
SHARED, HELD_OUT_EVERY = 1, 10
TOLD = ("tokens_per_word", "tokens_per_running_word")


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Tokens per held-out word, each once and by their counts."""
    words = {word: n for word, n in list_of(place.data, cells[0]["language"]).items() if len(split(f" {word}")) == 1}
    held_out = dict(list(words.items())[::HELD_OUT_EVERY])
    rest = {f" {word}": n for word, n in words.items() if word not in held_out}
    counts = WordCounts.from_mapping(rest, pattern=DEFAULT_PATTERN)
    for cell in cells:
        system, size = cell["system"], cell["vocab_size"]
        if system.startswith("mws"):
            composition = 0 if system == "mws-morphs" else None
            trainer = MwSTrainer(vocab_size=size, composition=composition, show_progress=False)
            source = open_tokenizer(trainer.backend(trainer.learn(counts)))
        else:
            source = rivals.train(RIVAL.get(system, system), counts, size).source
        lengths = [len(pieces) for pieces in segment_words(source, list(held_out))]
        running = sum(n * k for n, k in zip(held_out.values(), lengths, strict=True)) / sum(held_out.values())
        once = sum(lengths) / len(lengths)
        yield (
            cell,
            {"words": len(held_out), **{name: round(n, 4) for name, n in zip(TOLD, (once, running), strict=True)}},
        )


def table(rows: list[Row]) -> str:
    """A row a system and size, a column a language: each held-out word once, then by counts."""
    lines = []
    for system in SYSTEMS:
        for (size,), here in groups(where(rows, system=system), "vocab_size").items():
            found = [where(here, language=language) for language in LANGUAGES]
            told = [[f"{row[name]:.2f}" for row in each for name in TOLD] for each in found]
            lines.append([f"{system}, {size:,}", *map(", ".join, told)])
    return markdown_table(["tokens per word: each once, by counts", *LANGUAGES], lines)
