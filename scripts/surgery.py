"""What surgery on pretrained tokenizers costs and brings, on stand-ins (`surgery_bases`, `surgery_decoder`).

    python scripts/surgery.py --data ../shared/data --work out/surgery [--parts length public protect decoder ...]

length: trim to 60 % of the entries by the learnt text of the languages that are kept, add 16,000 Russian tokens, and
count tokens of held-out lines; the last column has as many tokens appended by frequency alone. public: the same for
tokenizers of public models, English kept, from folders WORK/public/NAME. protect: 8,000 Turkish tokens for the
English stand-in of 64,000 entries, without and with a sample of English and Python code that no new merge may change,
and with all text the base learnt. decoder: models of 1.1 and 5.2 million weights under 8,000 entries, trained on 5
and 8 MB of English novels; bits per byte of held-out English and Finnish before surgery, trimmed to 4,800 and to
6,400 entries, and with 2,000 Finnish tokens more. first_rows: the smaller model after surgery with each kind of first
rows, and after 200 and 1,000 steps of training on Finnish (1 kB a step), over three orders of the text; in brackets
the difference from "mean" in the same order, with its standard deviation over orders. "focus by old rows" is no
choice any more: it compared tokens by the rows of their pieces, not by a text. Writes scripts/results/surgery.json
and surgery.md after each row; what a run does not measure again stays.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from surgery_bases import CODE, MIXTURE, bases, held_out, learnt
from surgery_decoder import before_and_after, first_rows, summary
from tokenizers import Tokenizer

from mws_hf.corpus.counting import count_documents
from mws_hf.extend.base import open_base
from mws_hf.extend.extension import Extension, extend
from mws_hf.extend.trim import Trimming, trim
from mws_hf.text.markdown import markdown_table

RESULTS = Path(__file__).parent / "results"
KEPT = {"English, byte-level": ("eng",), "eight languages, byte fallback": ("eng", "deu", "fin", "rus")}
SHARE = 0.6
NEW, RUSSIAN = 16_000, 12
"""Russian tokens to add, and million characters to learn them from."""

SIZES = {**MIXTURE, "code": CODE}


def tokens(tokenizer: Tokenizer, lines: list[str]) -> int:
    return sum(len(item.ids) for item in tokenizer.encode_batch_fast(lines, add_special_tokens=False))


def operated(data: Path, work: Path, directory: Path, kept: tuple[str, ...]) -> tuple[Trimming, Extension]:
    """Trim a tokenizer to the languages that are kept, and extend that; save both."""
    base = open_base(directory)
    smaller = trim(
        base,
        chain.from_iterable(learnt(data, language, SIZES[language]) for language in kept),
        keep_size=round(SHARE * len(base.vocab)),
    )
    smaller.save(work / f"{directory.name}-trimmed", directory)
    larger = extend(smaller.trimmed_base, count_documents(learnt(data, "rus", RUSSIAN)), NEW)
    larger.save(work / f"{directory.name}-both", directory, smaller)
    return smaller, larger


def length(data: Path, work: Path) -> Iterator[dict[str, Any]]:
    """Tokens of held-out text by stand-in and language."""
    for name, directory in bases(data, work).items():
        yield from lengths(data, work, name, directory, KEPT[name])


def public(data: Path, work: Path) -> Iterator[dict[str, Any]]:
    """Tokens of held-out text by public tokenizer and language."""
    for directory in sorted((work / "public").iterdir()):
        yield from lengths(data, work, directory.name, directory, ("eng",))


def lengths(data: Path, work: Path, name: str, directory: Path, kept: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Tokens of held-out text before surgery, trimmed, and extended in two ways."""
    smaller, larger = operated(data, work, directory, kept)
    plain = extend(
        smaller.trimmed_base, count_documents(learnt(data, "rus", RUSSIAN)), NEW, composition=1, hidden_boundary_price=0
    )
    before = Tokenizer.from_file(str(directory / "tokenizer.json"))
    stages = (before, smaller.tokenizer, larger.tokenizer, plain.tokenizer)
    for language in dict.fromkeys((*kept, "rus")):
        lines = held_out(data, language, SIZES[language] if language != "rus" else RUSSIAN)
        first, *later = (tokens(each, lines) for each in stages)
        trimmed, ours, by_frequency = (f"{each / first - 1:+.2%}" for each in later)
        yield {
            "base": name, "entries": len(smaller.base.vocab), "trimmed to": sum(smaller.kept.values()),
            "language": language, "tokens": first, "trimmed": trimmed,
            f"and {NEW:,} Russian tokens": ours, "by frequency": by_frequency,
        }  # fmt: skip


def protect(data: Path, work: Path) -> Iterator[dict[str, Any]]:
    """Old texts that are cut otherwise after 8,000 Turkish tokens."""
    directory = bases(data, work)["English, byte-level"]
    before = Tokenizer.from_file(str(directory / "tokenizer.json"))
    counts = count_documents(learnt(data, "tur", SIZES["tur"]))
    sample = [*islice(learnt(data, "eng", SIZES["eng"]), 20_000), *islice(learnt(data, "code", CODE), 100)]
    lines = {
        "sample": sample[::8],
        "English and code": [*held_out(data, "eng", SIZES["eng"], 2000), *held_out(data, "code", CODE, 40)],
        "tur": held_out(data, "tur", SIZES["tur"]),
    }
    first = {name: before.encode_batch_fast(texts) for name, texts in lines.items()}
    whole = [*learnt(data, "eng", SIZES["eng"]), *learnt(data, "code", CODE)]
    for protected in ([], sample, whole):
        larger = extend(directory, counts, 8000, protected=protected)
        second = {name: larger.tokenizer.encode_batch_fast(texts) for name, texts in lines.items()}
        row: dict[str, Any] = {"protected": f"{len(protected):,} lines"}
        for name in ("sample", "English and code"):
            changed = sum(a.ids != b.ids for a, b in zip(first[name], second[name], strict=True))
            row[f"{name}: texts cut otherwise"] = f"{changed:,} of {len(lines[name]):,}"
        lengths = [sum(len(item.ids) for item in cut["tur"]) for cut in (first, second)]
        row["Turkish tokens"] = f"{lengths[1] / lengths[0] - 1:+.1%}"
        yield row


PARTS: dict[str, Callable[[Path, Path], Iterator[dict[str, Any]]]] = {
    "length": length, "public": public, "protect": protect, "decoder": before_and_after, "first_rows": first_rows,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("out/surgery"))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    arguments = parser.parse_args()
    file = RESULTS / "surgery.json"
    for part in arguments.parts:
        found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        found[part] = []
        for row in PARTS[part](arguments.data, arguments.work):
            print(row, flush=True)
            found[part].append(row)
            file.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
            write(found)


def write(found: dict[str, list[dict[str, Any]]]) -> None:
    """Show the results as tables."""
    about = "length: " + (__doc__ or "").partition("length: ")[2]
    tables = [
        f"## {part}\n\n{markdown_table(list(rows[0]), [[str(value) for value in row.values()] for row in rows])}\n"
        for part, rows in (found | {"first_rows": summary(found.get("first_rows", []))}).items()
        if rows
    ]
    text = f"# Surgery on pretrained tokenizers\n\n{about}\n" + "\n".join(tables)
    (RESULTS / "surgery.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
