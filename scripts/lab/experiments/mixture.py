"""One tokenizer for eight languages: boundary F1 and tokens per word, compared with BPE and Unigram of the same text.

One line in 50 is held out, of which 500 per language are used to measure tokens per word. The tokenizers learn from the
other lines, and reference segmentations are used only for scoring. `own` is a monolingual tokenizer of each language
with vocabulary size 32,000. Unigram is that of SentencePiece, because the trainer of `tokenizers` takes three times as
long (66 instead of 22 CPU seconds for 148,577 distinct words; here there are 1.5 million) and finds no better split
points. `parity-bpe` is the trainer of `tokenizers` (0.23.2 and later) that balances languages. It aims at equal
characters per token in all languages, because there is no parallel text.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache
from typing import Any

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from lab.cells import Cell, Found, Page, Place, Row
from lab.data import GOLD, gold_of, lines_of, split_lines
from lab.systems import RIVAL, UNIGRAM, judged, learnt
from lab.tables import pivot, tabulated
from mws_hf import WordCounts
from mws_hf.compare import baselines
from mws_hf.corpus.counting import count_documents
from mws_hf.scoring import score_text
from mws_hf.text.pattern import DEFAULT_PATTERN
from mws_hf.tokenizer.opened import open_tokenizer

PARITY = "parity-bpe"
COMPOSITION = {"own-morphs": 0, "own": None, "mws-morphs": 0, "mws": None}
SYSTEMS = (*COMPOSITION, "bpe", "sentencepiece-unigram", UNIGRAM, PARITY)
ORDER = ("rus", "fin", "tur", "hun", "ces", "eng", "deu", "ukr")
AXES = {"vocab_size": (32_000, 64_000, 128_000), "system": SYSTEMS, "language": ORDER}
SHARED = 2


def exists(cell: Cell) -> bool:
    """Return whether a cell is measured: monolingual tokenizers have size 32,000, and multilingual ones are larger."""
    return (cell["vocab_size"] == 32_000) == cell["system"].startswith("own")


@cache
def lines_in_parts(place: Place, language: str) -> tuple[list[str], list[str]]:
    """Return the training lines and the held-out lines of a language."""
    training, kept = split_lines(lines_of(place.data, language))
    return training, kept[:500]


@cache
def counts_in(place: Place, language: str) -> WordCounts:
    """Count the words of a language's training lines."""
    return count_documents(lines_in_parts(place, language)[0])


def measure(place: Place, cells: list[Cell]) -> Found:
    system, size = cells[0]["system"], cells[0]["vocab_size"]
    counts = WordCounts.from_groups({language: counts_in(place, language) for language in ORDER})
    source, seconds = None, 0.0
    for cell in cells:
        language, began = cell["language"], time.perf_counter()
        if source is None or system.startswith("own"):
            part = WordCounts.from_groups({language: counts.groups[language]}) if system.startswith("own") else counts
            source = source_of(place, system, size, part)
            seconds = round(time.perf_counter() - began, 1)
        row = {"seconds": seconds, "tokens_per_word": score_text(source, lines_in_parts(place, language)[1]).fertility}
        if language in GOLD:
            row |= judged(source, gold_of(place.data, language))
        yield cell, row


def source_of(place: Place, system: str, size: int, counts: WordCounts) -> Any:
    """Train a tokenizer and return it as an argument of `segment_words`; baselines do not distinguish languages."""
    if system == PARITY:
        return open_tokenizer(parity_bpe([lines_in_parts(place, language)[0] for language in ORDER], size))
    if system in COMPOSITION:
        return open_tokenizer(learnt(counts, vocab_size=size, composition=COMPOSITION[system]))
    return baselines.train(RIVAL.get(system, system), counts.union, size).source


def parity_bpe(languages: Sequence[Sequence[str]], size: int) -> Tokenizer:
    """Train BPE over characters whose next merge is always for the language with the fewest characters per token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(DEFAULT_PATTERN), "isolated")
    trainer = trainers.ParityBpeTrainer(num_merges=size, total_symbols=True, show_progress=False)
    trainer.train_from_iterator(tokenizer, languages, ratio=[1.0] * len(languages))
    return tokenizer


def excess(rows: list[Row]) -> str:
    """Write a table of the difference in tokens per word from BPE of the same text and size, in percent."""
    length = {(row["system"], row["vocab_size"], row["language"]): row["tokens_per_word"] for row in rows}
    lines = []
    for system, size in dict.fromkeys(key[:2] for key in length):
        if system in ("mws", "sentencepiece-unigram", UNIGRAM, PARITY) and ("bpe", size, ORDER[0]) in length:
            more = {each: f"{length[system, size, each] / length['bpe', size, each] - 1:+.1%}" for each in ORDER}
            lines.append({"system": f"{system}, {size:,}", **more})
    return tabulated(lines)


def table(rows: list[Row]) -> Page:
    named = [row | {"system": f"{row['system']}, {row['vocab_size']:,}"} for row in rows]
    yield "## Boundary F1 (micro; words after a space)"
    yield pivot([row for row in named if "f1" in row], "system", "language", "f1")
    yield "## Tokens per word on held-out lines"
    yield pivot(named, "system", "language", "tokens_per_word")
    yield "## Tokens per word compared with BPE of the same text"
    yield excess(rows)
