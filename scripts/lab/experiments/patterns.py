"""Split patterns compared in eight languages: boundary F1, length, n-gram bits per byte, speed of bulk encoding.

About 8 MB of a language; every 50th line is held out, the rest trains. `morphs` are morph merges alone, `default` is
the default recipe; n-gram bits per byte are those of the default with 32,000 entries, whose model learns from the first
half of the training lines. Words with inner apostrophes are measured alone: those of the held-out lines, and for
Ukrainian a made-up list with gold (`lab/made_up.py`), as for Hindi and decomposed Finnish, on which 1,000
entries are trained. Speeds are medians of five rounds in turn, one thread, on the Russian text.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import regex

from lab.cells import Cell, Place, Row
from lab.data import GOLDS, HELD_OUT_EVERY, HELD_OUT_LINES, LANGUAGES, lines_of, split_lines
from lab.made_up import made_up_lists
from lab.systems import evidence_of
from lab.tables import groups, span, where
from mws_hf import MwSTrainer, WordCounts
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.segmentations import GoldWord
from mws_hf.corpus.sources import Source
from mws_hf.corpus.word_list import count_mapping
from mws_hf.encode.bulk import BLOCK_BYTES
from mws_hf.encode.encoder import BlockEncoder
from mws_hf.evaluate import read_gold, score, score_text, segment_words
from mws_hf.evaluate.ngram_bits import bits_differences, ngram_bits
from mws_hf.evaluate.running_text import TextScores
from mws_hf.text.markdown import markdown_table

PATTERNS, SIZES, MADE_UP = ("words", "o200k", "llama3"), (8000, 32_000), ("ukr-apostrophe", "hin", "fin-nfd")
AXES = {"language": (*LANGUAGES, *MADE_UP), "pattern": PATTERNS}
SHARED, TOGETHER = 1, True
BYTES, ROUNDS = 8_000_000, 5
APOSTROPHES = regex.compile(r"\p{L}[\p{L}\p{M}]*(?:['’]\p{L}[\p{L}\p{M}]*)+")


def text_of(data: Path, language: str) -> tuple[list[str], list[str]]:
    """Training and held-out lines of about 8 MB, taken evenly from all of the language's text."""
    lines = [line for line in lines_of(data, language) if line.strip()]
    step = max(1, sum(len(line.encode()) for line in lines) // BYTES)
    training, held_out = split_lines([line for i, line in enumerate(lines) if i // HELD_OUT_EVERY % step == 0])
    return training, [line.rstrip("\n") for line in held_out[:HELD_OUT_LINES]]


def f1(backend: Any, golds: Sequence[Sequence[GoldWord]]) -> float | None:
    """The mean F1 over the golds, or None where there is none."""
    found = [score(gold, segment_words(backend, [each.word for each in gold])).f1 for gold in golds]
    return statistics.mean(found) if found else None


def learnt(counts: WordCounts, **options: Any) -> Any:
    """A tokenizer with the pattern that its words were counted by."""
    trainer = MwSTrainer(pattern=counts.pattern, show_progress=False, **options)
    return trainer.backend(trainer.learn(counts, evidence=evidence_of(counts, trainer)))


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """A row for each pattern; the first is what bits per byte are compared with."""
    language = cells[0]["language"]
    if language in MADE_UP:
        yield from ((cell, made_up(language, cell["pattern"])) for cell in cells)
        return
    lines, held_out = text_of(place.data, language)
    golds = [read_gold(place.data / "gold" / f"{name}.tsv").words for name in GOLDS.get(language, ())]
    rows: dict[str, Row] = {}
    bits, defaults = {}, {}
    for name in PATTERNS:
        counts = count_documents(lines, pattern=name)
        rows[name] = {"types": len(counts)}
        for entries in SIZES:
            morphs = learnt(counts, vocab_size=entries, composition=0)
            defaults[name] = default = learnt(counts, vocab_size=entries)
            scores = score_text(default, held_out)
            found = {"f1_morphs": f1(morphs, golds), "f1": f1(default, golds), "tokens": scores.fertility}
            rows[name][str(entries)] = found | apostrophes(default, held_out, scores)
        bits[name] = ngram_bits(defaults[name], lines[: len(lines) // 2], held_out)
        rows[name]["bits"] = bits[name].value
    first = bits[PATTERNS[0]].value / 100
    for row, difference in zip(rows.values(), bits_differences(bits).values(), strict=True):
        row["against"] = difference and [x / first for x in (difference.value, difference.low, difference.high)]
    speeds = megabytes_a_second(lines, defaults) if language == "rus" else {}
    yield from ((cell, rows[cell["pattern"]] | speeds.get(cell["pattern"], {})) for cell in cells)


def apostrophes(backend: Any, held_out: list[str], scores: TextScores) -> dict[str, float | None]:
    """Share of the running words that have an inner apostrophe, and tokens a word of these and of the others."""
    words = [word for line in held_out for word in APOSTROPHES.findall(line)]
    tokens = sum(len(backend.encode(" " + word, add_special_tokens=False).ids) for word in words)
    others = (scores.fertility * scores.words - tokens) / (scores.words - len(words))
    with_them = tokens / len(words) if words else None
    return {"apostrophes": len(words) / scores.words, "tokens_with": with_them, "tokens_without": others}


def made_up(name: str, pattern: str) -> Row:
    """F1 on a made-up list."""
    found = made_up_lists()[name]
    gold = [GoldWord(word, (morphs,)) for word, morphs in found.gold.items()]
    counts = count_mapping(dict.fromkeys(found.training, 1), pattern=pattern)
    return {"types": len(counts), "f1": f1(learnt(counts, vocab_size=1000, composition=0), [gold])}


def megabytes_a_second(lines: list[str], backends: dict[str, Any]) -> dict[str, Row]:
    """Bulk encoding in one thread, of each pattern in turn, the cache empty at first."""
    blocks = list(Source.of(iter(lines)).blocks(size=BLOCK_BYTES))
    seconds: dict[str, list[float]] = {name: [] for name in backends}
    for name, backend in list(backends.items()) * ROUNDS:
        encoder, started = BlockEncoder(backend), time.perf_counter()
        for block in blocks:
            encoder.encode(block)
        seconds[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    size = sum(block.size for block in blocks) / 1e6
    return {name: {"mb_a_second": size / t, "speed": medians[PATTERNS[0]] / t} for name, t in medians.items()}


def cells_of(row: Row) -> list[str]:
    """A row of the table of texts."""
    found = [row["language"], row["pattern"], f"{row['types']:,}"]
    for size in map(str, SIZES):
        found += ["-" if row[size][what] is None else f"{row[size][what]:.3f}" for what in ("f1_morphs", "f1")]
        found.append(f"{row[size]['tokens']:.3f}")
    return [*found, f"{row['bits']:.4f}", "" if row["against"] is None else span(row["against"], bold=False)]


def changes(rows: list[Row]) -> list[list[str]]:
    """Each pattern against the first: mean change of F1, change of length by language."""
    base = {row["language"]: row for row in where(rows, pattern=PATTERNS[0])}
    found = []
    for name, size in ((name, size) for name in PATTERNS[1:] for size in map(str, SIZES)):
        pairs = [(row[size], base[row["language"]][size]) for row in where(rows, pattern=name)]
        lengths = [f"{100 * (ours['tokens'] / first['tokens'] - 1):+.2f}" for ours, first in pairs]
        means = []
        for what in ("f1_morphs", "f1"):
            with_gold = [ours[what] - first[what] for ours, first in pairs if first[what] is not None]
            means.append(f"{statistics.mean(with_gold):+.4f}" if with_gold else "-")
        found.append([name, f"{int(size):,}", *means, *lengths])
    return found


def table(rows: list[Row]) -> str:
    """Texts, changes, apostrophes, made-up lists, speed."""
    texts = [row for row in rows if row["language"] in LANGUAGES]
    apart = [
        [row["language"], row["pattern"], f"{100 * row[size]['apostrophes']:.2f}", f"{int(size):,}"]
        + [f"{row[size][which]:.3f}" if which in row[size] else "" for which in ("tokens_with", "tokens_without")]
        for row in texts
        for size in map(str, SIZES)
        if row[size].get("apostrophes", 0) > 0.001
    ]
    lists = [[row["language"], row["pattern"], f"{row['types']:,}", f"{row['f1']:.3f}"] for row in rows if "f1" in row]
    speed = [[r["pattern"], f"{r['mb_a_second']:.0f}", f"{r['speed']:.2f}"] for r in rows if "speed" in r]
    of_sizes = (f"{what} {size:,}" for size in SIZES for what in ("F1 morphs", "F1", "t/word"))
    header = ["text", "pattern", "types", *of_sizes, "bits", "change, %"]
    languages = [language for (language,) in groups(texts, "language")]
    parts = [
        "t/word: tokens a word. Bits per byte of an n-gram model, and their change against `words` in % with its "
        "95 % interval.",
        markdown_table(header, [cells_of(row) for row in texts]),
        "## Against `words`: mean change of F1, and of length in %",
        markdown_table(["pattern", "entries", "F1 morphs", "F1", *languages], changes(texts)),
        "## Words of held-out text with an inner apostrophe, where they are more than .1 % (tokens a word)",
        markdown_table(["text", "pattern", "% of words", "entries", "with", "without"], apart),
        "## Made-up lists, F1",
        markdown_table(["list", "pattern", "types", "F1"], lists),
        "## Bulk encoding of Russian in memory, one thread",
        markdown_table(["pattern", "MB/s", "speed"], speed),
    ]
    return "\n\n".join(parts)
