"""What surgery on pretrained tokenizers costs and brings, on stand-ins of public size (`surgery_bases`).

    python scripts/surgery.py --data ../shared/data --work out/surgery [--parts length decoder protect]

length: trim to 60 % of the entries by the learnt text of the languages that are kept, add 16,000 Russian tokens, and
count tokens of held-out lines. decoder: a model of 4.9 million weights (four layers of 72 under 64,000 rows of tied
embeddings), trained on English novels with the English stand-in; bits per byte of held-out English and Russian before
and right after surgery on it. protect: 8,000 Turkish tokens for the English stand-in, with and without a sample of
English and Python code that no new merge may change. Writes scripts/results/surgery.json and surgery.md; what a run
does not measure again stays.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from itertools import chain, islice
from pathlib import Path
from typing import Any

from surgery_bases import CODE, MIXTURE, bases, held_out, learnt
from tokenizers import Tokenizer

from mws_hf.cards.markdown import markdown_table
from mws_hf.corpus.counting import count_documents
from mws_hf.extend.base import open_base
from mws_hf.extend.extension import Extension, extend
from mws_hf.extend.trim import Trimming, trim

RESULTS = Path(__file__).parent / "results"
KEPT = {"English, byte-level": ("eng",), "eight languages, byte fallback": ("eng", "deu", "fin", "rus")}
SHARE = 0.6
NEW, RUSSIAN = 16_000, 12
"""Russian tokens to add, and million characters to learn them from."""

SIZES = {**MIXTURE, "code": CODE}


def tokens(tokenizer: Tokenizer, lines: list[str]) -> int:
    return sum(len(item.ids) for item in tokenizer.encode_batch_fast(lines, add_special_tokens=False))


def operated(data: Path, work: Path, name: str, directory: Path) -> tuple[Trimming, Extension]:
    """A stand-in trimmed, and that extended; both saved."""
    base = open_base(directory)
    smaller = trim(
        base,
        chain.from_iterable(learnt(data, language, SIZES[language]) for language in KEPT[name]),
        keep_size=round(SHARE * len(base.vocab)),
    )
    smaller.save(work / f"{directory.name}-trimmed", directory)
    larger = extend(smaller.trimmed_base, count_documents(learnt(data, "rus", RUSSIAN)), NEW)
    larger.save(work / f"{directory.name}-both", directory, smaller)
    return smaller, larger


def length(data: Path, work: Path) -> list[dict[str, Any]]:
    """Tokens of held-out text by stand-in and language."""
    rows = []
    for name, directory in bases(data, work).items():
        smaller, larger = operated(data, work, name, directory)
        before = Tokenizer.from_file(str(directory / "tokenizer.json"))
        for language in dict.fromkeys((*KEPT[name], "rus")):
            lines = held_out(data, language, SIZES[language] if language != "rus" else RUSSIAN)
            first, second, third = (tokens(each, lines) for each in (before, smaller.tokenizer, larger.tokenizer))
            rows.append({
                "base": name, "entries": len(smaller.base.vocab), "trimmed to": sum(smaller.kept.values()),
                "language": language, "tokens": first, "trimmed": f"{second / first - 1:+.2%}",
                f"and {NEW:,} Russian tokens": f"{third / first - 1:+.2%}",
            })  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def decoder(data: Path, work: Path) -> list[dict[str, Any]]:
    """Bits per byte of a small model before and after surgery."""
    import torch
    from transformers import AutoModelForCausalLM

    from mws_hf.extend.checkpoint import transplant_directory
    from mws_hf.research.lm.config import RunConfig
    from mws_hf.research.lm.data import Codec
    from mws_hf.research.lm.scoring import bits_per_byte
    from mws_hf.research.lm.training import pretrain

    torch.set_num_threads(1)
    base = bases(data, work)["English, byte-level"]
    text = work / "english.txt"
    if not text.is_file():
        text.write_text("".join(learnt(data, "eng", SIZES["eng"])), encoding="utf-8")
    config = RunConfig(
        tokenizer=str(base), text=(str(text),), train_bytes=1_200_000, held_out_bytes=20_000, context_bytes=512,
        batch_blocks=8, hidden_size=72, layers=4, heads=4, learning_rate=4e-3, save_every=50,
    )  # fmt: skip
    began = time.process_time()
    report = pretrain(config, work / "decoder")
    print("decoder", time.process_time() - began, {key: value for key, value in report.items() if key != "curve"})
    languages = {
        "English": held_out(data, "eng", SIZES["eng"], 300),
        "Russian": [line[:300] for line in held_out(data, "rus", RUSSIAN, 60)],
    }
    rows = []
    for stage in ("base", "trimmed", "both"):
        place, directory = work / "decoder" / "model", base
        if stage != "base":
            directory, place = work / f"{base.name}-{stage}", work / f"decoder-{stage}"
            transplant_directory(work / "decoder" / "model", directory, place)
        model, codec = AutoModelForCausalLM.from_pretrained(place).eval(), Codec.open(directory)
        row = {"tokenizer": stage, "rows": model.config.vocab_size}
        for language, lines in languages.items():
            scores = bits_per_byte(model, codec, [line.strip() for line in lines if line.strip()], 512, batch_size=4)
            row[f"bits per byte, {language}"] = round(scores.value, 4)
        rows.append(row)
        print(row, flush=True)
    return rows


def protect(data: Path, work: Path) -> list[dict[str, Any]]:
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
    rows = []
    for protected in ([], sample):
        larger = extend(directory, counts, 8000, protected=protected)
        second = {name: larger.tokenizer.encode_batch_fast(texts) for name, texts in lines.items()}
        row: dict[str, Any] = {"protected": f"{len(protected):,} lines"}
        for name in ("sample", "English and code"):
            changed = sum(a.ids != b.ids for a, b in zip(first[name], second[name], strict=True))
            row[f"{name}: texts cut otherwise"] = f"{changed:,} of {len(lines[name]):,}"
        lengths = [sum(len(item.ids) for item in cut["tur"]) for cut in (first, second)]
        row["Turkish tokens"] = f"{lengths[1] / lengths[0] - 1:+.1%}"
        rows.append(row)
        print(row, flush=True)
    return rows


PARTS: dict[str, Callable[[Path, Path], list[dict[str, Any]]]] = {
    "length": length, "decoder": decoder, "protect": protect,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("out/surgery"))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    arguments = parser.parse_args()
    file = RESULTS / "surgery.json"
    for part in arguments.parts:
        rows = PARTS[part](arguments.data, arguments.work)
        found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        found[part] = rows
        file.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        write(found)


def write(found: dict[str, list[dict[str, Any]]]) -> None:
    """Show the results as tables."""
    about = "length: " + (__doc__ or "").partition("length: ")[2]
    tables = [
        f"## {part}\n\n{markdown_table(list(rows[0]), [[str(value) for value in row.values()] for row in rows])}\n"
        for part, rows in found.items()
    ]
    text = f"# Surgery on pretrained tokenizers\n\n{about}\n" + "\n".join(tables)
    (RESULTS / "surgery.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
