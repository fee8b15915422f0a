"""One tokenizer for eight languages: boundary F1 and length of the mixture beside BPE and Unigram of the same text.

    python scripts/mixture.py --data ../shared/data [--sizes 64000 128000] [--systems mws mws-composed bpe unigram]

Text is split by line as in scripts/quality.py: every 50th line is held out for tokens per word, the rest trains. Every
language is counted once, into `--cache`; gold is read to score alone. Each language's own tokenizer of 32,000 entries
(`own`) stands beside them. Writes scripts/results/mixture.json and mixture.md; what a run does not measure again stays.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from quality import HELD_OUT_EVERY, lines_of

from mws_hf import MwSTrainer, WordCounts, baselines
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.groups import GroupedCounts
from mws_hf.evaluate import read_gold, score, score_text, segment_words
from mws_hf.evaluate.encoder import load_encoder
from mws_hf.evaluate.report import markdown_table

LANGUAGES = ("rus", "fin", "tur", "hun", "ces", "eng", "deu", "ukr")
GOLD = {
    "rus": "rus.tikhonov",
    "fin": "fin.morphochallenge2010",
    "tur": "tur.morphochallenge2010",
    "hun": "hun.sigmorphon2022",
    "ces": "ces.sigmorphon2022",
    "eng": "eng.morphochallenge2010",
}
SYSTEMS = ("mws", "mws-composed", "bpe", "unigram")
COMPOSITION = {"mws": 0, "mws-composed": 0.5, "own": 0, "own-composed": 0.5}
OWN_SIZE = 32_000


def corpus_of(data: Path, cache: Path, most_held_out: int) -> tuple[GroupedCounts, dict[str, list[str]]]:
    """Word counts by language, from the cache if they are there, and held-out lines."""
    cache.mkdir(parents=True, exist_ok=True)
    counts, held_out = dict[str, WordCounts](), dict[str, list[str]]()
    for language in LANGUAGES:
        lines = lines_of(data, language)
        held_out[language] = lines[::HELD_OUT_EVERY][:most_held_out]
        file = cache / f"{language}.parquet"
        if not file.exists():
            found = count_documents(line for i, line in enumerate(lines) if i % HELD_OUT_EVERY)
            GroupedCounts({language: found}).save(file)
        counts |= dict(GroupedCounts.load(file))
    return GroupedCounts(counts), held_out


def train(system: str, size: int, counts: GroupedCounts, directory: Path) -> tuple[Any, float]:
    """A trained tokenizer as `segment_words` takes it, and the seconds of training; rivals see all text as one."""
    started = time.perf_counter()
    if system in COMPOSITION:
        trainer = MwSTrainer(vocab_size=size, composition=COMPOSITION[system], show_progress=False)
        backend, _ = trainer.backend(trainer.learn(counts))
        return load_encoder(backend), time.perf_counter() - started
    baselines.train(system, counts.union, size, directory)
    return baselines.load(directory).source, time.perf_counter() - started


def measure(
    source: Any, languages: list[str], data: Path, held_out: dict[str, list[str]], facts: dict[str, Any]
) -> list[dict[str, Any]]:
    """A row a language: F1, precision and recall where there is gold, tokens per word on held-out lines."""
    rows = []
    for language in languages:
        row = {**facts, "language": language, "tokens_per_word": score_text(source, held_out[language]).fertility}
        if language in GOLD:
            gold = read_gold(data / "gold" / f"{GOLD[language]}.tsv").words
            found = score(gold, segment_words(source, [word.word for word in gold]))
            row |= {"f1": found.f1, "precision": found.precision, "recall": found.recall}
        rows.append(row)
    return rows


def run(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """All systems and sizes asked for."""
    counts, held_out = corpus_of(arguments.data, arguments.cache, arguments.held_out)
    rows = []
    for system in arguments.systems:
        own = system.startswith("own")
        for size in [OWN_SIZE] if own else arguments.sizes:
            parts = [GroupedCounts({name: each}) for name, each in counts.items()] if own else [counts]
            for part in parts:
                source, seconds = train(system, size, part, arguments.cache / f"{system}-{size}")
                facts = {"system": system, "vocab_size": size, "seconds": round(seconds, 1)}
                rows += measure(source, list(part), arguments.data, held_out, facts)
            print(system, size, *(f"{r['language']} {r.get('f1', 0):.3f}" for r in rows if r["system"] == system))
    return rows


def tables(rows: list[dict[str, Any]]) -> str:
    """Markdown: F1 and tokens per word, a row a system and size, a column a language."""
    text = []
    for title, field, languages in (
        ("Boundary F1 (micro; words behind a space)", "f1", list(GOLD)),
        ("Tokens per word on held-out lines", "tokens_per_word", list(LANGUAGES)),
    ):
        table = []
        for system, size in dict.fromkeys((row["system"], row["vocab_size"]) for row in rows):
            cells = {
                r["language"]: r[field] for r in rows if (r["system"], r["vocab_size"]) == (system, size) and field in r
            }
            numbers = [f"{cells[each]:.3f}" if each in cells else "" for each in languages]
            table.append([f"{system}, {size:,}", *numbers])
        text.append(f"## {title}\n\n{markdown_table(['system', *languages], table)}")
    return "\n\n".join(text) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", type=Path, default=Path("out/mixture"))
    parser.add_argument("--sizes", nargs="+", type=int, default=[64_000, 128_000])
    parser.add_argument("--systems", nargs="+", default=["own", *SYSTEMS], choices=[*SYSTEMS, "own", "own-composed"])
    parser.add_argument("--held-out", type=int, default=1500, help="lines of each language to measure length on")
    parser.add_argument("--results", type=Path, default=Path("scripts/results/mixture.json"))
    arguments = parser.parse_args()
    rows = json.loads(arguments.results.read_text(encoding="utf-8"))["rows"] if arguments.results.exists() else []
    new = run(arguments)
    measured = {(row["system"], row["vocab_size"]) for row in new}
    rows = [row for row in rows if (row["system"], row["vocab_size"]) not in measured] + new
    order = ["own", "own-composed", *SYSTEMS]
    rows.sort(key=lambda row: (row["vocab_size"], order.index(row["system"]), LANGUAGES.index(row["language"])))
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    arguments.results.write_text(json.dumps({"rows": rows}, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    arguments.results.with_suffix(".md").write_text(tables(rows), encoding="utf-8")
    print(tables(rows))


if __name__ == "__main__":
    main()
