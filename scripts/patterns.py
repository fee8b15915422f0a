"""Split patterns compared in eight languages: boundary F1, length, n-gram bits per byte, speed of bulk encoding.

    python scripts/patterns.py --data ../shared/data [--megabytes 8]

Every 50th line is held out, the rest trains. `morphs` are morph merges alone, `default` is the default recipe; n-gram
bits per byte are those of the default with 32,000 entries, whose model learns from the first half of the training
lines. Words with inner apostrophes are measured alone: those of the held-out lines, and for Ukrainian a made-up list
with gold (scripts/robustness/made_up.py), as for Hindi and decomposed Finnish, on which 1,000 entries are trained.
Speeds are medians of rounds in turn, one thread. Writes scripts/results/patterns.json and patterns.md; languages that
are not asked for keep their rows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import regex
from quality import GOLD, HELD_OUT_EVERY, HELD_OUT_LINES, lines_of, split_lines
from robustness.made_up import made_up_lists

from mws_hf import MwSTrainer, WordCounts
from mws_hf.atomic import write_text
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.word_list import count_mapping
from mws_hf.encode.bulk import source_blocks
from mws_hf.encode.encoder import BlockEncoder
from mws_hf.evaluate import Gold, read_gold, score_text, segment_words
from mws_hf.evaluate.boundaries import summarize, word_table
from mws_hf.evaluate.ngram_bits import bits_differences, ngram_bits
from mws_hf.evaluate.running_text import TextScores
from mws_hf.learn.multilingual import find_evidence
from mws_hf.text.markdown import markdown_table

LANGUAGES = ("rus", "fin", "tur", "hun", "ces", "eng", "ukr", "deu")
PATTERNS = ("words", "o200k", "llama3")
SIZES = (8000, 32_000)
MADE_UP = ("ukr-apostrophe", "hin", "fin-nfd")
APOSTROPHES = regex.compile(r"\p{L}[\p{L}\p{M}]*(?:['’]\p{L}[\p{L}\p{M}]*)+")
ROUNDS = 5
HEADER = ("text", "pattern", "types", *(f"{what} {size:,}" for size in SIZES for what in ("F1 morphs", "F1", "t/word")))


def text_of(data: Path, language: str, size: int) -> tuple[list[str], list[str]]:
    """Training and held-out lines of about `size` bytes, taken evenly from all of the language's text."""
    lines = [line for line in lines_of(data, language) if line.strip()]
    step = max(1, sum(len(line.encode()) for line in lines) // size)
    chosen = [line for i, line in enumerate(lines) if i // HELD_OUT_EVERY % step == 0]
    training, held_out = split_lines(chosen)
    return training, [line.rstrip("\n") for line in held_out[:HELD_OUT_LINES]]


def f1(backend: Any, golds: list[Gold]) -> float | None:
    """The mean F1 over the golds, or None where there is none."""
    found = [summarize(word_table(g.words, segment_words(backend, [e.word for e in g.words]))).f1 for g in golds]
    return statistics.mean(found) if found else None


def trained(counts: WordCounts, evidence: Any, **options: Any) -> Any:
    trainer = MwSTrainer(pattern=counts.pattern, show_progress=False, **options)
    return trainer.backend(trainer.learn(counts, evidence=evidence))[0]


def measured(data: Path, language: str, size: int) -> list[dict[str, Any]]:
    """A row for each pattern; the first is what bits per byte are compared with."""
    lines, held_out = text_of(data, language, size)
    golds = [read_gold(data / "gold" / f"{name}.tsv") for name in GOLD.get(language, [])]
    rows, bits = [], {}
    for name in PATTERNS:
        counts = count_documents(lines, pattern=name)
        evidence = find_evidence(counts)
        row: dict[str, Any] = {"language": language, "pattern": name, "types": len(counts)}
        for entries in SIZES:
            morphs = trained(counts, evidence, vocab_size=entries, composition=0)
            default = trained(counts, evidence, vocab_size=entries)
            scores = score_text(default, held_out)
            row[str(entries)] = {"f1_morphs": f1(morphs, golds), "f1": f1(default, golds), "tokens": scores.fertility}
            row[str(entries)] |= apostrophes(default, held_out, scores)
        bits[name] = ngram_bits(default, lines[: len(lines) // 2], held_out)
        rows.append(row | {"bits": bits[name].value})
        print(json.dumps(rows[-1]), flush=True)
    for row, (_, difference) in zip(rows, bits_differences(bits).items(), strict=True):
        first = bits[PATTERNS[0]].value / 100
        row["against"] = difference and [x / first for x in (difference.value, difference.low, difference.high)]
    return rows


def apostrophes(backend: Any, held_out: list[str], scores: TextScores) -> dict[str, float | None]:
    """Share of the running words that have an inner apostrophe, and tokens a word of these and of the others."""
    words = [word for line in held_out for word in APOSTROPHES.findall(line)]
    tokens = sum(len(backend.encode(" " + word, add_special_tokens=False).ids) for word in words)
    others = (scores.fertility * scores.words - tokens) / (scores.words - len(words))
    return {
        "apostrophes": len(words) / scores.words,
        "tokens_with": tokens / len(words) if words else None,
        "tokens_without": others,
    }


def made_up_rows() -> list[list[str]]:
    """F1 on the made-up lists, a row for each list and pattern."""
    rows = []
    for language in MADE_UP:
        made_up = made_up_lists()[language]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "gold.tsv")
            write_text(path, made_up.lines())
            gold = read_gold(path)
        for name in PATTERNS:
            counts = count_mapping(dict.fromkeys(made_up.training, 1), pattern=name)
            backend = trained(counts, None, vocab_size=1000, composition=0)
            rows.append([language, name, f"{len(counts):,}", f"{f1(backend, [gold]):.3f}"])
    return rows


def speed_rows(data: Path, size: int) -> list[list[str]]:
    """Bulk encoding in one thread, of each pattern in turn, the cache empty at first."""
    lines, _ = text_of(data, "rus", size)
    blocks = list(source_blocks(None, iter(lines)))
    backends = {name: trained(count_documents(lines, pattern=name), None, vocab_size=32_000) for name in PATTERNS}
    seconds: dict[str, list[float]] = {name: [] for name in backends}
    for _ in range(ROUNDS):
        for name, backend in backends.items():
            encoder = BlockEncoder(backend)
            started = time.perf_counter()
            for block in blocks:
                encoder.encode(block)
            seconds[name].append(time.perf_counter() - started)
    megabytes = sum(block.size for block in blocks) / 1e6
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    return [[name, f"{megabytes / t:.0f}", f"{medians[PATTERNS[0]] / t:.2f}"] for name, t in medians.items()]


def cells(row: dict[str, Any]) -> list[str]:
    """A row of the table of texts."""
    found = [row["language"], row["pattern"], f"{row['types']:,}"]
    for size in map(str, SIZES):
        found += ["-" if row[size][what] is None else f"{row[size][what]:.3f}" for what in ("f1_morphs", "f1")]
        found.append(f"{row[size]['tokens']:.3f}")
    against = row["against"]
    return [*found, f"{row['bits']:.4f}", "" if against is None else "{:+.2f} ({:+.2f} to {:+.2f})".format(*against)]


def changes(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Each pattern against the first: mean change of F1, change of length by language."""
    base = {row["language"]: row for row in rows if row["pattern"] == PATTERNS[0]}
    found = []
    for name in PATTERNS[1:]:
        for size in map(str, SIZES):
            pairs = [(row[size], base[row["language"]][size]) for row in rows if row["pattern"] == name]
            lengths = [f"{100 * (ours['tokens'] / first['tokens'] - 1):+.2f}" for ours, first in pairs]
            means = []
            for what in ("f1_morphs", "f1"):
                with_gold = [ours[what] - first[what] for ours, first in pairs if first[what] is not None]
                means.append(f"{statistics.mean(with_gold):+.4f}" if with_gold else "-")
            found.append([name, f"{int(size):,}", *means, *lengths])
    return found


def report(rows: list[dict[str, Any]], megabytes: int, made_up: list[list[str]], speed: list[list[str]]) -> str:
    languages = list(dict.fromkeys(row["language"] for row in rows))
    apart = [
        [row["language"], row["pattern"], f"{100 * row[size]['apostrophes']:.2f}", f"{int(size):,}"]
        + [f"{row[size][which]:.3f}" for which in ("tokens_with", "tokens_without")]
        for row in rows
        for size in map(str, SIZES)
        if row[size].get("apostrophes", 0) > 0.001
    ]
    tables = [
        f"# Split patterns\n\n`scripts/patterns.py --megabytes {megabytes}` says how; t/word: tokens a word. Bits per "
        f"byte of an n-gram model, and their change against `{PATTERNS[0]}` in % with its 95 % interval.",
        markdown_table([*HEADER, "bits", "change, %"], [cells(row) for row in rows]),
        f"## Against `{PATTERNS[0]}`: mean change of F1, and of length in %",
        markdown_table(["pattern", "entries", "F1 morphs", "F1", *languages], changes(rows)),
        "## Words of held-out text with an inner apostrophe, where they are more than .1 % (tokens a word)",
        markdown_table(["text", "pattern", "% of words", "entries", "with", "without"], apart),
        "## Made-up lists, F1",
        markdown_table(["list", "pattern", "types", "F1"], made_up),
        "## Bulk encoding of Russian in memory, one thread",
        markdown_table(["pattern", "MB/s", "speed"], speed),
    ]
    return "\n\n".join(tables) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--megabytes", type=int, default=8, help="of text a language, about")
    parser.add_argument("--languages", nargs="*", default=list(LANGUAGES))
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "patterns.md")
    arguments = parser.parse_args()
    size, known = arguments.megabytes * 1_000_000, arguments.output.with_suffix(".json")
    rows = json.loads(known.read_text(encoding="utf-8"))["texts"] if known.exists() else []
    for language in arguments.languages:
        rows = [row for row in rows if row["language"] != language] + measured(arguments.data, language, size)
    rows.sort(key=lambda row: LANGUAGES.index(row["language"]))
    made_up, speed = made_up_rows(), speed_rows(arguments.data, size)
    written = {"megabytes": arguments.megabytes, "texts": rows, "made_up": made_up, "speed": speed}
    write_text(known, json.dumps(written, indent=1) + "\n")
    write_text(arguments.output, report(rows, arguments.megabytes, made_up, speed))


if __name__ == "__main__":
    main()
