"""One tokenizer for eight languages: boundary F1 and length of the mixture beside BPE and Unigram of the same text.

    python scripts/mixture.py --data ../shared/data [--sizes 64000 128000] [--systems mws mws-morphs bpe]

Text is split by line as in scripts/quality.py: every 50th line is held out for tokens per word, the rest trains. Every
language is counted once, into `--cache`; gold is read to score alone. Each language's own tokenizer of 32,000 entries
(`own`) stands beside them. Unigram is SentencePiece's: the trainer of `tokenizers` takes three times as long (66 s of
processor against 22 s for 148,577 types; here there are 1.5 million) and cuts no better (scripts/LOG.md). `parity-bpe`
is the trainer of `tokenizers` (0.23.2 and later) that balances languages: each is to have as many characters a token,
for there is no parallel text to balance by. `--cost` measures time and memory instead: commands that train on the whole
text, one process after another. Writes scripts/results/mixture.json and mixture.md; what a run does not measure again
stays.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from lab.systems import RIVAL, UNIGRAM
from quality import lines_of, split_lines
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from mws_hf import MwSTrainer, WordCounts
from mws_hf.atomic import write_text
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.groups import GroupedCounts
from mws_hf.evaluate import read_gold, score, score_text, segment_words
from mws_hf.evaluate.encoder import load_encoder
from mws_hf.research import baselines
from mws_hf.text.markdown import markdown_table
from mws_hf.text.pattern import DEFAULT_PATTERN

LANGUAGES = ("rus", "fin", "tur", "hun", "ces", "eng", "deu", "ukr")
GOLD = {
    "rus": "rus.tikhonov",
    "fin": "fin.morphochallenge2010",
    "tur": "tur.morphochallenge2010",
    "hun": "hun.sigmorphon2022",
    "ces": "ces.sigmorphon2022",
    "eng": "eng.morphochallenge2010",
}
PARITY = "parity-bpe"
SYSTEMS = ("mws-morphs", "mws", "bpe", "sentencepiece-unigram", UNIGRAM, PARITY)
ORDER = ("own-morphs", "own", *SYSTEMS)
COMPOSITION = {"mws-morphs": 0, "mws": None, "own-morphs": 0, "own": None}
OWN_SIZE = 32_000


def corpus_of(data: Path, cache: Path, most_held_out: int) -> tuple[GroupedCounts, dict[str, list[str]]]:
    """Word counts by language, from the cache if they are there, and held-out lines."""
    cache.mkdir(parents=True, exist_ok=True)
    counts, held_out = dict[str, WordCounts](), dict[str, list[str]]()
    for language in LANGUAGES:
        training, kept = split_lines(lines_of(data, language))
        held_out[language] = kept[:most_held_out]
        file = cache / f"{language}.parquet"
        if not file.exists():
            GroupedCounts({language: count_documents(training)}).save(file)
        counts |= dict(GroupedCounts.load(file))
    return GroupedCounts(counts), held_out


def train(system: str, size: int, counts: GroupedCounts, directory: Path, data: Path) -> tuple[Any, float]:
    """A trained tokenizer as `segment_words` takes it, and the seconds of training; rivals see all text as one."""
    started = time.perf_counter()
    if system == PARITY:
        source = load_encoder(parity_bpe([split_lines(lines_of(data, each))[0] for each in counts], size))
    elif system in COMPOSITION:
        trainer = MwSTrainer(vocab_size=size, composition=COMPOSITION[system], show_progress=False)
        source = load_encoder(trainer.backend(trainer.learn(counts))[0])
    else:
        baselines.train(RIVAL.get(system, system), counts.union, size, directory)
        source = baselines.load(directory).source
    return source, time.perf_counter() - started


def parity_bpe(languages: list[list[str]], size: int) -> Tokenizer:
    """BPE over characters that merges next for the language with the fewest characters a token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(DEFAULT_PATTERN), "isolated")
    trainer = trainers.ParityBpeTrainer(num_merges=size, total_symbols=True, show_progress=False)
    trainer.train_from_iterator(tokenizer, languages, ratio=[1.0] * len(languages))
    return tokenizer


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


def run(arguments: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    """The rows of all systems and sizes asked for, tokenizer by tokenizer."""
    counts, held_out = corpus_of(arguments.data, arguments.cache, arguments.held_out)
    for system in arguments.systems:
        own = system.startswith("own")
        for size in [OWN_SIZE] if own else arguments.sizes:
            parts = [GroupedCounts({name: each}) for name, each in counts.items()] if own else [counts]
            for part in parts:
                source, seconds = train(system, size, part, arguments.cache / f"{system}-{size}", arguments.data)
                facts = {"system": system, "vocab_size": size, "seconds": round(seconds, 1)}
                rows = measure(source, list(part), arguments.data, held_out, facts)
                print(system, size, *(f"{r['language']} {r.get('f1', 0):.3f}" for r in rows), flush=True)
                yield rows


TOKENIZERS_BPE = """
import sys
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
pattern, size, output, *files = sys.argv[1:]
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), "isolated")
tokenizer.train(files, trainers.BpeTrainer(vocab_size=int(size), show_progress=False))
tokenizer.save(output)
"""
"""The same as `mws train` without groups, in the fastest way that `tokenizers` has: it reads the files itself."""


def costs(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Seconds and peak memory of whole processes, from plain text files to a saved tokenizer; the two in turn."""
    files = {language: arguments.cache / f"{language}.txt" for language in LANGUAGES}
    for language, file in files.items():
        if not file.exists():
            file.write_text("".join(lines_of(arguments.data, language)), encoding="utf-8", newline="\n")
    groups = [f"{language}={file}" for language, file in files.items()]
    output, rows = arguments.cache / "cost", list[dict[str, Any]]()
    for repeat, size in product(range(arguments.repeats), arguments.sizes):
        mws = ["-m", "mws_hf", "train", *groups, "--vocab-size", str(size), "-q", "-o", str(output)]
        bpe = ["-c", TOKENIZERS_BPE, DEFAULT_PATTERN, str(size), f"{output}.json", *map(str, files.values())]
        for system, command in (("mws", mws), ("tokenizers BPE", bpe)):
            found = _process([sys.executable, *command])
            rows.append({"system": system, "vocab_size": size, "repeat": repeat, "load": os.getloadavg()[0], **found})
            print(rows[-1], flush=True)
    return rows


def _process(command: list[str]) -> dict[str, Any]:
    """Wall and processor seconds and peak resident MB of a process."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command[:4])
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak_mb": round(used.ru_maxrss * unit / 1e6),
    }


def cost_table(rows: list[dict[str, Any]]) -> str:
    """Markdown: a row a system and size; the least of the repeats."""
    table = []
    for system, size in dict.fromkeys((row["system"], row["vocab_size"]) for row in rows):
        here = [row for row in rows if (row["system"], row["vocab_size"]) == (system, size)]
        least = [min(row[name] for row in here) for name in ("seconds", "cpu_seconds", "peak_mb")]
        table.append([f"{system}, {size:,}", *(f"{each:,.0f}" for each in least), str(len(here))])
    return markdown_table(["whole process, from text to tokenizer", "s", "processor s", "peak MB", "runs"], table)


def excess(rows: list[dict[str, Any]]) -> str:
    """Markdown: how many more tokens a word than BPE of the same text and size, in %."""
    length = {(row["system"], row["vocab_size"], row["language"]): row["tokens_per_word"] for row in rows}
    table = []
    told = ("mws", "sentencepiece-unigram", UNIGRAM, PARITY)
    for system, size in dict.fromkeys(key[:2] for key in length):
        if system in told and ("bpe", size, LANGUAGES[0]) in length:
            more = [length[system, size, each] / length["bpe", size, each] - 1 for each in LANGUAGES]
            table.append([f"{system}, {size:,}", *(f"{each:+.1%}" for each in more)])
    return f"## Tokens per word beside BPE of the same text\n\n{markdown_table(['system', *LANGUAGES], table)}"


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
    return "\n\n".join([*text, excess(rows)]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", type=Path, default=Path("out/mixture"))
    parser.add_argument("--sizes", nargs="+", type=int, default=[64_000, 128_000])
    parser.add_argument(
        "--systems", nargs="+", default=["own-morphs", *SYSTEMS], choices=[*SYSTEMS, "own-morphs", "own"]
    )
    parser.add_argument("--held-out", type=int, default=500, help="lines of each language to measure length on")
    parser.add_argument("--results", type=Path, default=Path("scripts/results/mixture.json"))
    parser.add_argument("--cost", action="store_true", help="measure time and memory of training instead")
    parser.add_argument("--repeats", type=int, default=1, help="of --cost")
    arguments = parser.parse_args()
    stored = json.loads(arguments.results.read_text(encoding="utf-8")) if arguments.results.exists() else {}
    rows, cost = stored.get("rows", []), stored.get("cost", [])
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    if arguments.cost:
        arguments.cache.mkdir(parents=True, exist_ok=True)
        cost = costs(arguments)
        keep(arguments.results, rows, cost)
    for new in [] if arguments.cost else run(arguments):
        measured = {key(row) for row in new}
        rows = [row for row in rows if key(row) not in measured] + new
        keep(arguments.results, rows, cost)
    print(arguments.results.with_suffix(".md").read_text(encoding="utf-8"))


def key(row: dict[str, Any]) -> tuple[int, int, int]:
    """What a row is a measurement of, in the order of the tables."""
    return row["vocab_size"], ORDER.index(row["system"]), LANGUAGES.index(row["language"])


def keep(results: Path, rows: list[dict[str, Any]], cost: list[dict[str, Any]]) -> None:
    """Write the results and their page."""
    rows = sorted(rows, key=key)
    write_text(results, json.dumps({"rows": rows, "cost": cost}, ensure_ascii=False, indent=1) + "\n")
    text = tables(rows) + (f"\n## Time and memory\n\n{cost_table(cost)}\n" if cost else "")
    write_text(results.with_suffix(".md"), text)


if __name__ == "__main__":
    main()
