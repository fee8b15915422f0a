"""Alphabets and split patterns compared: boundary F1, length of running text, speed of bulk encoding.

    python scripts/patterns.py --data ../shared/data [--megabytes 10]

Every 50th line is held out for lengths, the rest trains. F1 is of morph merges alone, 8,000 entries; lengths are of the
default recipe with 32,000 entries. Ukrainian and Hindi have no gold but made-up lists (scripts/robustness/made_up.py),
on which 1,000 entries are trained. Speeds are medians of rounds in turn. Writes scripts/results/patterns.md.
"""

from __future__ import annotations

import argparse
import glob
import gzip
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from robustness.made_up import made_up_lists

from mws_hf import MwSTrainer, WordCounts
from mws_hf.atomic import write_text
from mws_hf.byte_alphabet import ALPHABETS
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.word_list import count_mapping
from mws_hf.encode.bulk import read_source
from mws_hf.encode.encoder import BlockEncoder
from mws_hf.evaluate import Gold, read_gold, score_text, segment_words
from mws_hf.evaluate.boundaries import summarize, word_table
from mws_hf.evaluate.report import markdown_table
from mws_hf.learn.mixtures import find_evidence
from mws_hf.pattern import NAMED_PATTERNS

TEXTS = {"rus": "rus.novels", "fin": "fin", "tur": "tur", "ukr": "ukr"}
GOLD = {
    "rus": ["rus.tikhonov", "rus.wiktionary-forms"],
    "fin": ["fin.morphochallenge2010"],
    "tur": ["tur.morphochallenge2010"],
}
MADE_UP = ("ukr-apostrophe", "hin", "fin-nfd")
HELD_OUT_EVERY = 50
HELD_OUT_LINES = 2000
ROUNDS = 5


def lines_of(data: Path, prefix: str, size: int) -> list[str]:
    """The first `size` bytes of the texts whose names begin so, in whole lines."""
    lines: list[str] = []
    for name in sorted(glob.glob(str(data / "text" / f"{prefix}.*txt.gz"))):
        with gzip.open(name, "rt", encoding="utf-8", newline="\n") as stream:
            for line in stream:
                lines.append(line)
                size -= len(line.encode())
                if size <= 0:
                    return lines
    return lines


def f1(backend: Any, gold: Gold) -> float:
    return summarize(word_table(gold.words, segment_words(backend, [entry.word for entry in gold.words]))).f1


def trained(counts: WordCounts, alphabet: str, evidence: Any, **options: Any) -> Any:
    trainer = MwSTrainer(alphabet=alphabet, pattern=counts.pattern, show_progress=False, **options)  # type: ignore[arg-type]
    return trainer.backend(trainer.learn(counts, evidence=evidence))[0]


def text_rows(data: Path, language: str, size: int) -> list[list[str]]:
    """F1 and lengths of one language, a row for each pattern and alphabet."""
    lines = lines_of(data, TEXTS[language], size)
    held_out = [line.rstrip("\n") for line in lines[::HELD_OUT_EVERY]][:HELD_OUT_LINES]
    golds = [read_gold(data / "gold" / f"{name}.tsv") for name in GOLD.get(language, [])]
    rows = []
    for name in NAMED_PATTERNS:
        counts = count_documents((line for i, line in enumerate(lines) if i % HELD_OUT_EVERY), pattern=name)
        evidence = find_evidence(counts)
        for alphabet in ALPHABETS:
            morphs = trained(counts, alphabet, evidence, vocab_size=8000, composition=0)
            scores = score_text(trained(counts, alphabet, evidence, vocab_size=32_000), held_out)
            found = ", ".join(f"{f1(morphs, gold):.3f}" for gold in golds) or "-"
            lengths = [f"{scores.fertility:.3f}", f"{scores.bytes_per_token:.3f}"]
            rows.append([language, name, alphabet, f"{len(counts):,}", found, *lengths])
            print(*rows[-1], flush=True)
    return rows


def made_up_rows() -> list[list[str]]:
    """F1 on the made-up lists, a row for each list and pattern."""
    rows = []
    for language in MADE_UP:
        made_up = made_up_lists()[language]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "gold.tsv")
            write_text(path, made_up.lines())
            gold = read_gold(path)
        for name in NAMED_PATTERNS:
            counts = count_mapping(dict.fromkeys(made_up.training, 1), pattern=name)
            found = [
                f"{f1(trained(counts, kind, None, vocab_size=1000, composition=0), gold):.3f}" for kind in ALPHABETS
            ]
            rows.append([language, name, f"{len(counts):,}", *found])
            print(*rows[-1], flush=True)
    return rows


def speed_rows(data: Path, size: int) -> list[list[str]]:
    """Seconds of bulk encoding in one thread, of each pattern and alphabet, in turn."""
    lines = lines_of(data, TEXTS["rus"], size)
    blocks = list(read_source(iter(lines)))
    backends = {
        (name, alphabet): trained(count_documents(lines[:20_000], pattern=name), alphabet, None, vocab_size=32_000)
        for name in NAMED_PATTERNS
        for alphabet in ALPHABETS
    }
    seconds: dict[tuple[str, str], list[float]] = {each: [] for each in backends}
    for _ in range(ROUNDS):
        for each, backend in backends.items():
            encoder = BlockEncoder(backend)  # its cache is empty
            started = time.perf_counter()
            for block in blocks:
                encoder.encode(block)
            seconds[each].append(time.perf_counter() - started)
    medians = {each: statistics.median(found) for each, found in seconds.items()}
    first = medians["words", "characters"]
    megabytes = sum(block.size for block in blocks) / 1e6
    return [
        [
            *each,
            "yes" if BlockEncoder(backends[each]).is_fast else "no",
            f"{megabytes / took:.0f}",
            f"{first / took:.2f}",
        ]
        for each, took in medians.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--megabytes", type=int, default=10, help="of text a language, at most")
    arguments = parser.parse_args()
    size = arguments.megabytes * 1_000_000
    rows = [row for language in TEXTS for row in text_rows(arguments.data, language, size)]
    tables = [
        f"# Alphabets and split patterns\n\n`scripts/patterns.py --megabytes {arguments.megabytes}` says how. "
        "Russian gold: Tikhonov lemmas, Wiktionary forms.",
        markdown_table(["text", "pattern", "alphabet", "types", "F1", "tokens/word", "bytes/token"], rows),
        "## Made-up lists, F1",
        markdown_table(["list", "pattern", "types", *ALPHABETS], made_up_rows()),
        "## Bulk encoding in memory, one thread (the kernel serves those of the fast path)",
        markdown_table(["pattern", "alphabet", "fast path", "MB/s", "speed"], speed_rows(arguments.data, size)),
    ]
    write_text(Path(__file__).parent / "results" / "patterns.md", "\n\n".join(tables) + "\n")


if __name__ == "__main__":
    main()
