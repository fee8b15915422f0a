"""Split patterns compared in eight languages: boundary F1, tokens per word, n-gram bits per byte, encoding speed.

The text is about 8 MB of a language, of which one line in 50 is held out. Boundary F1 is measured with morphs only and
with default settings. n-gram bits per byte are those of default settings with vocabulary size 32,000, and their model
learns from the first half of the training lines. Held-out words with an inner apostrophe are measured separately.

For Ukrainian words with an apostrophe, and for Hindi and decomposed Finnish, there are also generated word lists with
known morphs (`lab/made_up.py`), from which tokenizers with vocabulary size 1,000 learn. Speeds are medians of five
alternating rounds in one thread, on the Russian text.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import regex

from lab.cells import Cell, Found, Page, Place, Row
from lab.data import GOLDS, HELD_OUT_EVERY, HELD_OUT_LINES, LANGUAGES, lines_of, n_bytes_of, split_lines
from lab.made_up import made_up_lists
from lab.systems import judged, learnt
from lab.tables import percents, span, tabulated, where
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.segmentations import GoldWord, read_gold
from mws_hf.corpus.sources import Source
from mws_hf.corpus.word_list import count_mapping
from mws_hf.encode.bulk import BLOCK_BYTES
from mws_hf.encode.encoder import BlockEncoder
from mws_hf.scoring import score_text
from mws_hf.scoring.ngram_model import bits_differences, ngram_bits
from mws_hf.scoring.running_text import TextScores

PATTERNS, SIZES, MADE_UP = ("words", "o200k", "llama3"), (8000, 32_000), ("ukr-apostrophe", "hin", "fin-nfd")
AXES = {"language": (*LANGUAGES, *MADE_UP), "pattern": PATTERNS}
SHARED, TOGETHER = 1, True
BYTES, ROUNDS = 8_000_000, 5
APOSTROPHES = regex.compile(r"\p{L}[\p{L}\p{M}]*(?:['’]\p{L}[\p{L}\p{M}]*)+")


def text_of(data: Path, language: str) -> tuple[list[str], list[str]]:
    """Return training and held-out lines of about 8 MB, evenly spaced over all text of the language."""
    lines = [line for line in lines_of(data, language) if line.strip()]
    step = max(1, sum(map(n_bytes_of, lines)) // BYTES)
    training, held_out = split_lines([line for i, line in enumerate(lines) if i // HELD_OUT_EVERY % step == 0])
    return training, [line.rstrip("\n") for line in held_out[:HELD_OUT_LINES]]


def f1(backend: Any, golds: Sequence[Sequence[GoldWord]]) -> float | None:
    """Return the mean F1 over sets of reference segmentations, or None without any."""
    return statistics.mean(judged(backend, gold)["f1"] for gold in golds) if golds else None


def measure(place: Place, cells: list[Cell]) -> Found:
    """Train and score a tokenizer per pattern; bits per byte are compared with the first pattern."""
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
            morphs = f1(learnt(counts, vocab_size=entries, composition=0), golds)
            defaults[name] = default = learnt(counts, vocab_size=entries)
            scores = score_text(default, held_out)
            found = {"f1_morphs": morphs, "f1": f1(default, golds), "tokens": scores.fertility}
            rows[name][str(entries)] = found | apostrophes(default, held_out, scores)
        bits[name] = ngram_bits(defaults[name], lines[: len(lines) // 2], held_out)
        rows[name]["bits"] = bits[name].value
    for name, difference in bits_differences(bits).items():
        rows[name]["against"] = difference and percents(difference)
    speeds = megabytes_a_second(lines, defaults) if language == "rus" else {}
    yield from ((cell, rows[cell["pattern"]] | speeds.get(cell["pattern"], {})) for cell in cells)


def apostrophes(backend: Any, held_out: list[str], scores: TextScores) -> dict[str, float | None]:
    """Return the share of running words with an inner apostrophe, and tokens per word with and without apostrophe."""
    words = [word for line in held_out for word in APOSTROPHES.findall(line)]
    tokens = sum(len(backend.encode(" " + word, add_special_tokens=False).ids) for word in words)
    others = (scores.fertility * scores.words - tokens) / (scores.words - len(words))
    with_them = tokens / len(words) if words else None
    return {"apostrophes": len(words) / scores.words, "tokens_with": with_them, "tokens_without": others}


def made_up(name: str, pattern: str) -> Row:
    """Train on a generated list and score on its morphs."""
    found = made_up_lists()[name]
    gold = [GoldWord(word, (morphs,)) for word, morphs in found.gold.items()]
    counts = count_mapping(dict.fromkeys(found.training, 1), pattern=pattern)
    return {"types": len(counts), "f1": f1(learnt(counts, vocab_size=1000, composition=0), [gold])}


def megabytes_a_second(lines: list[str], backends: dict[str, Any]) -> dict[str, Row]:
    """Measure bulk encoding in one thread, in alternating rounds of all patterns, each with an empty cache at first."""
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


def of_text(row: Row) -> dict[str, str]:
    """Return the line of a row in the table of texts."""
    line = {"text": row["language"], "pattern": row["pattern"], "types": f"{row['types']:,}"}
    for size in SIZES:
        for title, name in {"F1 morphs": "f1_morphs", "F1": "f1", "t/word": "tokens"}.items():
            value = row[str(size)][name]
            line[f"{title} {size:,}"] = "-" if value is None else f"{value:.3f}"
    change = "" if row["against"] is None else span(row["against"], bold=False)
    return line | {"bits": f"{row['bits']:.4f}", "change, %": change}


def change(pattern: str, size: int, texts: list[Row]) -> dict[str, str]:
    """Return the differences of a pattern from the first one: mean F1, and tokens per word of each language."""
    base = {row["language"]: row[str(size)] for row in where(texts, pattern=PATTERNS[0])}
    own = {row["language"]: row[str(size)] for row in where(texts, pattern=pattern)}
    line = {"pattern": pattern, "vocabulary size": f"{size:,}"}
    for title, name in {"F1 morphs": "f1_morphs", "F1": "f1"}.items():
        gains = [row[name] - base[language][name] for language, row in own.items() if row[name] is not None]
        line[title] = f"{statistics.mean(gains):+.4f}" if gains else "-"
    return line | {each: f"{100 * (row['tokens'] / base[each]['tokens'] - 1):+.2f}" for each, row in own.items()}


def apart(row: Row, size: int) -> dict[str, str]:
    """Return the line of a row in the table of words with an inner apostrophe."""
    found = row[str(size)]
    line = {"text": row["language"], "pattern": row["pattern"], "% of words": f"{100 * found['apostrophes']:.2f}"}
    line |= {"vocabulary size": f"{size:,}"}
    lengths = {each: found.get(f"tokens_{each}") for each in ("with", "without")}
    return line | {each: f"{length:.3f}" if length else "" for each, length in lengths.items()}


def table(rows: list[Row]) -> Page:
    texts = [row for row in rows if row["language"] in LANGUAGES]
    lists, timed = ([row for row in rows if figure in row] for figure in ("f1", "speed"))
    both = [(row, size) for row in texts for size in SIZES]
    yield (
        "*t/word* is tokens per word. *bits* are bits per byte of an n-gram model, and *change* is their difference "
        "from the pattern `words` in percent with its 95 % interval."
    )
    yield tabulated(map(of_text, texts))
    yield "## Differences from `words`: mean F1, and tokens per word of each language in %"
    yield tabulated(change(pattern, size, texts) for pattern in PATTERNS[1:] for size in SIZES)
    yield "## Tokens per word of held-out words with and without an inner apostrophe, if over 0.1 % have one"
    yield tabulated(apart(row, size) for row, size in both if row[str(size)].get("apostrophes", 0) > 0.001)
    yield "## F1 on generated lists"
    names = [{"list": row["language"], "pattern": row["pattern"], "types": f"{row['types']:,}"} for row in lists]
    yield tabulated(name | {"F1": f"{row['f1']:.3f}"} for name, row in zip(names, lists, strict=True))
    yield "## Speed of bulk encoding of Russian text in memory, in one thread"
    speeds = ((row["pattern"], f"{row['mb_a_second']:.0f}", f"{row['speed']:.2f}") for row in timed)
    yield tabulated(dict(zip(("pattern", "MB/s", "speed"), each, strict=True)) for each in speeds)
