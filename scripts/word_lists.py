"""Tokens per word in languages that have a word list and no gold: each learns from nine words of ten, the tenth is cut.

Length alone tells nothing of morphs; beside BPE and Unigram of the same words it tells what morphs cost. No merges are
learnt here, and `scripts/quality.py` keeps the results.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from lab.systems import RIVAL

from mws_hf import MwSTrainer, WordCounts
from mws_hf.evaluate import segment_words
from mws_hf.evaluate.encoder import load_encoder
from mws_hf.research import baselines
from mws_hf.text.markdown import markdown_table
from mws_hf.text.pattern import DEFAULT_PATTERN, split

LANGUAGES = ("bul", "deu", "est", "pol", "ukr")
SYSTEMS = ("mws-morphs", "mws", "bpe", "unigram")
HELD_OUT_EVERY = 10


def read(file: Path) -> dict[str, int]:
    """Words and counts of a ``word<TAB>count`` list, those that are one pre-token behind a space."""
    rows = (line.rstrip("\n").split("\t") for line in gzip.open(file, "rt", encoding="utf-8", newline="\n"))
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and len(split(f" {row[0]}")) == 1 and row[0].isalpha()}


def measure(file: Path, sizes: list[int]) -> list[dict[str, Any]]:
    """A row a system and size: tokens per held-out word, each once and by their counts."""
    words = read(file)
    held_out = dict(list(words.items())[::HELD_OUT_EVERY])
    training = WordCounts.from_mapping(
        {f" {w}": n for w, n in words.items() if w not in held_out}, pattern=DEFAULT_PATTERN
    )
    rows = []
    for size in sizes:
        for system in SYSTEMS:
            lengths = [len(pieces) for pieces in segment_words(_trained(system, training, size), list(held_out))]
            running = sum(n * k for n, k in zip(held_out.values(), lengths, strict=True)) / sum(held_out.values())
            rows.append(
                {
                    "language": file.name.partition(".")[0],
                    "system": system,
                    "vocab_size": size,
                    "words": len(held_out),
                    "tokens_per_word": round(sum(lengths) / len(lengths), 4),
                    "tokens_per_running_word": round(running, 4),
                }
            )
    return rows


def _trained(system: str, counts: WordCounts, size: int) -> Any:
    if not system.startswith("mws"):
        return baselines.train(RIVAL.get(system, system), counts, size).source
    trainer = MwSTrainer(vocab_size=size, composition=0 if system == "mws-morphs" else None, show_progress=False)
    return load_encoder(trainer.backend(trainer.learn(counts))[0])


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: a row a system and size, a column a language: each held-out word once, then by counts."""
    languages = list(dict.fromkeys(row["language"] for row in rows))
    lines = []
    for system, size in dict.fromkeys((row["system"], row["vocab_size"]) for row in rows):
        here = {row["language"]: row for row in rows if (row["system"], row["vocab_size"]) == (system, size)}
        cells = [
            f"{here[each]['tokens_per_word']:.2f}, {here[each]['tokens_per_running_word']:.2f}" if each in here else ""
            for each in languages
        ]
        lines.append([f"{system}, {size:,}", *cells])
    return markdown_table(["tokens per word: each once, by counts", *languages], lines)
