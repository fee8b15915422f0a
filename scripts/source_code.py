"""Bytes per token of source code: a mixture of Russian, English and code beside BPE of the same text.

    python scripts/source_code.py --data ../shared/data [--systems mws mws-plain bpe]

Code is Python, JavaScript and JSON of this machine's own packages: site-packages of the running Python and the global
node modules, those that are minified left out. Every eighth package, by a checksum of its name, is held out as a whole.
`mws` has a group named `code`, whose identifiers are cut at their capitals; `mws-plain` is the same without that rule;
`bpe` sees all text as one. Numbers depend on what is installed. Writes scripts/results/source_code.json and .md; what a
run does not measure again stays.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sysconfig
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from mws_hf import MwSTrainer, WordCounts
from mws_hf.atomic import write_text
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.groups import GroupedCounts
from mws_hf.research import baselines
from mws_hf.text.markdown import markdown_table

MB = 1_000_000
KINDS = {"py": 6.0, "js": 2.5, "json": 1.5}
"""Kinds of source and how many MB of each are trained on, at most; they add up to what a language has."""
LANGUAGES = {"ru": "rus.novels", "en": "eng.eltec"}
LANGUAGE_MB = sum(KINDS.values())
HELD_OUT_MB = 1.0
HELD_OUT_EVERY = 8
LONGEST_LINE = 1000  # beyond it a file is taken for minified or generated
SYSTEMS = ("mws", "mws-plain", "bpe")


def packages(roots: list[Path], kind: str) -> Iterator[tuple[str, str]]:
    """Name of the package and text of each source file, by path; files that are not UTF-8 are left out."""
    for root in roots:
        for path in sorted(root.rglob(f"*.{kind}")):
            if not path.is_file() or path.stat().st_size > MB // 2:
                continue
            try:
                text = path.read_bytes().decode("utf-8")
            except UnicodeDecodeError:
                continue
            if text and max(map(len, text.splitlines() or [""])) <= LONGEST_LINE:
                yield path.relative_to(root).parts[0], text


def sources(roots: list[Path], kind: str, most: float) -> tuple[list[str], list[str]]:
    """Texts to train on and held-out ones, of different packages; of each package at most a quarter."""
    parts: tuple[list[str], list[str]] = ([], [])
    left = [most * MB, HELD_OUT_MB * MB]
    taken: Counter[str] = Counter()
    for package, text in packages(roots, kind):
        out = zlib.crc32(package.encode()) % HELD_OUT_EVERY == 0
        size = len(text.encode())
        if size <= left[out] and taken[package] + size <= (HELD_OUT_MB if out else most) * MB / 4:
            parts[out].append(text)
            left[out] -= size
            taken[package] += size
    return parts


def language_lines(data: Path, name: str) -> tuple[list[str], list[str]]:
    """The first `LANGUAGE_MB` of a language's text; every 50th line is held out."""
    lines, size = [], 0
    with gzip.open(data / "text" / f"{name}.txt.gz", "rt", encoding="utf-8", newline="\n") as stream:
        for line in stream:
            size += len(line.encode())
            if size > LANGUAGE_MB * MB:
                break
            lines.append(line)
    return [line for i, line in enumerate(lines) if i % 50], lines[::50]


def train(system: str, size: int, counts: dict[str, WordCounts], directory: Path) -> Tokenizer:
    """The tokenizer of a system as `tokenizers` runs it."""
    if system == "bpe":
        baselines.train("bpe-character", GroupedCounts(counts).union, size, directory)
        return Tokenizer.from_file(str(directory / "tokenizer.json"))
    groups = {("source" if name == "code" and system == "mws-plain" else name): part for name, part in counts.items()}
    trainer = MwSTrainer(vocab_size=size, show_progress=False)
    return trainer.backend(trainer.learn(groups))[0]


def bytes_per_token(tokenizer: Tokenizer, texts: list[str]) -> float:
    """Bytes of UTF-8 by tokens, special ones left out."""
    encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
    return sum(len(text.encode()) for text in texts) / sum(len(each.ids) for each in encoded)


def run(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """A row a system and kind of text."""
    trained, held_out = dict[str, list[str]](), dict[str, list[str]]()
    for language, name in LANGUAGES.items():
        trained[language], held_out[language] = language_lines(arguments.data, name)
    trained["code"] = []
    for kind, most in KINDS.items():
        found, held_out[kind] = sources(arguments.roots, kind, most)
        trained["code"] += found
    for name, texts in [*trained.items(), *held_out.items()]:
        print(name, f"{sum(len(text.encode()) for text in texts) / MB:.1f} MB in {len(texts)} texts", flush=True)
    counts = {name: count_documents(texts) for name, texts in trained.items()}
    rows = []
    for system in arguments.systems:
        started = time.perf_counter()
        tokenizer = train(system, arguments.vocab_size, counts, arguments.cache / system)
        seconds = round(time.perf_counter() - started, 1)
        for kind, texts in held_out.items():
            value = round(bytes_per_token(tokenizer, texts), 4)
            rows.append({"system": system, "kind": kind, "bytes_per_token": value, "seconds": seconds})
            print(system, kind, value, flush=True)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: bytes per token, a row a system, a column a kind of text, against BPE in per cent."""
    kinds = [*LANGUAGES, *KINDS]
    value = {(row["system"], row["kind"]): row["bytes_per_token"] for row in rows}
    cells = []
    for system in dict.fromkeys(row["system"] for row in rows):
        line = [system]
        for kind in kinds:
            here, bpe = value[system, kind], value.get(("bpe", kind))
            line.append(f"{here:.3f}" + (f" ({100 * (here / bpe - 1):+.1f} %)" if bpe and system != "bpe" else ""))
        cells.append(line)
    return f"## Bytes per token on held-out text, 32,000 entries\n\n{markdown_table(['system', *kinds], cells)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument(
        "--roots", nargs="+", type=Path,
        default=[Path(sysconfig.get_paths()["purelib"]), Path("/usr/lib/node_modules/npm/node_modules")],
    )  # fmt: skip
    parser.add_argument("--cache", type=Path, default=Path("out/source_code"))
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--systems", nargs="+", default=SYSTEMS, choices=SYSTEMS)
    parser.add_argument("--results", type=Path, default=Path("scripts/results/source_code.json"))
    arguments = parser.parse_args()
    rows = json.loads(arguments.results.read_text(encoding="utf-8"))["rows"] if arguments.results.exists() else []
    new = run(arguments)
    rows = [row for row in rows if row["system"] not in {row["system"] for row in new}] + new
    rows.sort(key=lambda row: SYSTEMS.index(row["system"]))
    write_text(arguments.results, json.dumps({"rows": rows}, indent=1) + "\n")
    write_text(arguments.results.with_suffix(".md"), table(rows))
    print(table(rows))


if __name__ == "__main__":
    main()
