"""What an extension brings: length and boundary F1 of a base, of ours, and of frequency BPE appended the same way.

    python scripts/extend.py --data ../shared/data --work out/extend [--languages rus tur] [--bases byte-level]

Bases are stand-ins (`extend_bases`): English text and Python code, none of the language added. Each 50th line is held
out for lengths; gold is read to score alone. "Frequency" is the same way of appending with composition 1 and no
price; at equal length it is cut down to the number of tokens at which it is as long as ours. Writes
scripts/results/extend.json and extend.md; what a run does not measure again stays.
"""

from __future__ import annotations

import argparse
import glob
import gzip
import json
import random
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from extend_bases import END, byte_fallback, byte_level, save
from tokenizers import Tokenizer

from mws_hf.corpus.counting import count_documents
from mws_hf.evaluate.report import evaluate
from mws_hf.extend.extension import Extension, extend
from mws_hf.extend.report import measure_change
from mws_hf.text.markdown import markdown_table

GOLD = {"rus": "rus.tikhonov", "tur": "tur.morphochallenge2010", "fin": "fin.morphochallenge2010"}
RESULTS = Path(__file__).parent / "results"
SYSTEMS = {
    "ours": {},
    "ours, morphs only": {"composition": 0},
    "frequency": {"composition": 1, "hidden_boundary_price": 0},
}


def lines_of(data: Path, language: str) -> Iterator[str]:
    """All lines of a language."""
    for name in sorted(glob.glob(str(data / "text" / f"{language}.*.txt.gz"))):
        with gzip.open(name, "rt", encoding="utf-8") as stream:
            yield from stream


def some(texts: Iterator[str], megabytes: float) -> Iterator[str]:
    """Texts until so many characters are given."""
    given = 0
    for text in texts:
        given += len(text)
        if given > megabytes * 1e6:
            return
        yield text


def code() -> Iterator[str]:
    """Python files of this interpreter, in one order for all."""
    files = sorted(
        glob.glob(str(Path(sys.prefix) / "lib" / "python*" / "site-packages" / "t*" / "**" / "*.py"), recursive=True)
    )
    random.Random(0).shuffle(files)
    for file in files:
        yield Path(file).read_text(encoding="utf-8", errors="ignore")


def bases(data: Path, work: Path) -> dict[str, Path]:
    """Train the stand-ins, once."""
    made = {"byte-level": work / "byte_level", "byte fallback": work / "byte_fallback"}
    for name, directory in made.items():
        if not (directory / "tokenizer.json").is_file():
            texts = chain(some(lines_of(data, "eng"), 12), some(code(), 6))
            built = byte_level(texts, 32_000) if name == "byte-level" else byte_fallback(texts, 32_000)
            save(built, directory, END if name == "byte-level" else "<eos>")
    return made


def as_short(longer: Extension, before: Tokenizer, lines: list[str], wanted: float) -> Extension:
    """The fewest of the new tokens with which text is at most `wanted` tokens a word."""
    low, high = 1, len(longer.ids)
    while low < high:
        middle = (low + high) // 2
        if measure_change(before, longer.first(middle).tokenizer, lines).tokens_per_word[1] <= wanted:
            high = middle
        else:
            low = middle + 1
    return longer.first(high)


def rows_of(data: Path, base: Path, kind: str, language: str, n_tokens: int, most: float) -> list[dict[str, Any]]:
    """One row a system for one base and language; `most` million characters are read, of lines evenly spread."""
    before = Tokenizer.from_file(str(base / "tokenizer.json"))
    lines = list(lines_of(data, language))
    lines = lines[:: max(1, sum(map(len, lines)) // int(most * 1e6))]
    held_out = lines[::50][::5][:1000]
    counts = count_documents(line for number, line in enumerate(lines) if number % 50)
    english = [*some(lines_of(data, "eng"), 3)][-2000:] + [*some(code(), 7)][-40:]
    found = {name: extend(base, counts, n_tokens, **options) for name, options in SYSTEMS.items()}
    length = {name: measure_change(before, each.tokenizer, held_out).tokens_per_word[1] for name, each in found.items()}
    if length["frequency"] < length["ours"]:
        found["frequency, as long as ours"] = as_short(found["frequency"], before, held_out, length["ours"])
    tokenizers = {"base": before} | {name: each.tokenizer for name, each in found.items()}
    scores = evaluate(tokenizers, [data / "gold" / f"{GOLD[language]}.tsv"], baselines=False, resamples=200).rows
    rows = []
    for row in scores:
        after = tokenizers[row.tokenizer]
        change = measure_change(before, after, held_out)
        new = set(after.get_vocab().values()) - set(before.get_vocab().values())
        pairs = [(before.encode(text).ids, after.encode(text).ids) for text in english]
        if any(old != made and new.isdisjoint(made) for old, made in pairs):
            raise SystemExit("a text without new tokens has other ids")
        same = sum(old == made for old, made in pairs)
        rows.append({
            "base": kind, "language": language, "system": row.tokenizer,
            "new tokens": after.get_vocab_size() - before.get_vocab_size(),
            "tokens/word": round(change.tokens_per_word[1], 3), "bytes/token": round(change.bytes_per_token[1], 2),
            "fewer tokens": f"{1 - change.tokens[1] / change.tokens[0]:.1%}",
            "F1": round(row.scores.f1, 3), "95 %": f"{row.interval[0]:.3f}-{row.interval[1]:.3f}",
            "precision": round(row.scores.precision, 3), "recall": round(row.scores.recall, 3),
            "English and code texts with the same ids": f"{same} of {len(english)}",
        })  # fmt: skip
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("out/extend"))
    parser.add_argument("--add", type=int, default=8000)
    parser.add_argument("--languages", nargs="+", default=["rus", "tur"])
    parser.add_argument("--bases", nargs="+", default=["byte-level", "byte fallback"])
    parser.add_argument("--megabytes", type=float, default=15, help="million characters of each language")
    arguments = parser.parse_args()
    file = RESULTS / "extend.json"
    rows = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    for kind, base in bases(arguments.data, arguments.work).items():
        if kind not in arguments.bases:
            continue
        for language in arguments.languages:
            rows = [row for row in rows if (row["base"], row["language"]) != (kind, language)]
            rows += rows_of(arguments.data, base, kind, language, arguments.add, arguments.megabytes)
            write(rows)


def write(rows: list[dict[str, Any]]) -> None:
    """Save the rows and show them as a table."""
    (RESULTS / "extend.json").write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    table = markdown_table(list(rows[0]), [[str(value) for value in row.values()] for row in rows])
    about = "Bases are" + (__doc__ or "").partition("Bases are")[2]
    (RESULTS / "extend.md").write_text(f"# Extending pretrained tokenizers\n\n{about}\n{table}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
