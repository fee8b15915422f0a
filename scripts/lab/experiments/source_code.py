"""Bytes per token of source code: a mixture of Russian, English and code beside BPE of the same text.

Code is Python, JavaScript and JSON of this machine's own packages: site-packages of the running Python and the global
node modules, those that are minified left out. Every eighth package, by a checksum of its name, is held out as a whole.
`mws` has a group named `code`, whose identifiers are cut at their capitals; `mws-plain` is the same without that rule;
`bpe` sees all text as one. Numbers depend on what is installed.
"""

from __future__ import annotations

import sysconfig
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from tokenizers import Tokenizer

from lab.cells import Cell, Place, Row
from lab.data import head, read, split_lines
from lab.systems import trained
from lab.tables import where
from mws_hf import MwSTrainer, WordCounts
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.groups import GroupedCounts
from mws_hf.text.markdown import markdown_table

MB = 1_000_000
ROOTS = (Path(sysconfig.get_paths()["purelib"]), Path("/usr/lib/node_modules/npm/node_modules"))
KINDS = {"py": 6.0, "js": 2.5, "json": 1.5}
"""Kinds of source and how many MB of each are trained on, at most; they add up to what a language has."""
LANGUAGES = {"ru": "rus.novels", "en": "eng.eltec"}
SIZE, HELD_OUT_MB, HELD_OUT_EVERY, LONGEST_LINE = 32_000, 1.0, 8, 1000  # longer lines: minified or generated
AXES = {"system": ("mws", "mws-plain", "bpe"), "kind": (*LANGUAGES, *KINDS)}
SHARED = 0


def packages(kind: str) -> Iterator[tuple[str, str]]:
    """Name of the package and text of each source file, by path; files that are not UTF-8 are left out."""
    for root, path in [(each, path) for each in ROOTS for path in sorted(each.rglob(f"*.{kind}"))]:
        if path.is_file() and path.stat().st_size <= MB // 2:
            try:
                text = path.read_bytes().decode("utf-8")
            except UnicodeDecodeError:
                continue
            if text and max(map(len, text.splitlines() or [""])) <= LONGEST_LINE:
                yield path.relative_to(root).parts[0], text


def sources(kind: str, most: float) -> tuple[list[str], list[str]]:
    """Texts to train on and held-out ones, of different packages; of each package at most a quarter."""
    parts: tuple[list[str], list[str]] = ([], [])
    left = [most * MB, HELD_OUT_MB * MB]
    taken: Counter[str] = Counter()
    for package, text in packages(kind):
        out = zlib.crc32(package.encode()) % HELD_OUT_EVERY == 0
        size = len(text.encode())
        if size <= left[out] and taken[package] + size <= (HELD_OUT_MB if out else most) * MB / 4:
            parts[out].append(text)
            left[out] -= size
            taken[package] += size
    return parts


def train(place: Place, system: str, counts: Mapping[str, WordCounts]) -> Tokenizer:
    """The tokenizer of a system as `tokenizers` runs it."""
    if system == "bpe":
        directory = trained("bpe-character", GroupedCounts(counts).union, SIZE, place.work / "source_code")
        return Tokenizer.from_file(str(directory / "tokenizer.json"))
    groups = {("source" if name == "code" and system == "mws-plain" else name): part for name, part in counts.items()}
    trainer = MwSTrainer(vocab_size=SIZE, show_progress=False)
    return trainer.backend(trainer.learn(groups))


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Bytes of UTF-8 by tokens, special ones left out."""
    texts = {language: split_lines(head(read(place.data, [name]), sum(KINDS.values()) * MB))
             for language, name in LANGUAGES.items()}  # fmt: skip
    code = {kind: sources(kind, most) for kind, most in KINDS.items()}
    held_out = {name: parts[1] for name, parts in {**texts, **code}.items()}
    training = {name: parts[0] for name, parts in texts.items()}
    training["code"] = [text for parts in code.values() for text in parts[0]]
    counts = {name: count_documents(each) for name, each in training.items()}
    for system in dict.fromkeys(cell["system"] for cell in cells):
        started = time.perf_counter()
        tokenizer = train(place, system, counts)
        seconds = round(time.perf_counter() - started, 1)
        for cell in where(cells, system=system):
            shown = held_out[cell["kind"]]
            tokens = sum(len(each.ids) for each in tokenizer.encode_batch(shown, add_special_tokens=False))
            value = sum(len(text.encode()) for text in shown) / tokens
            yield cell, {"bytes_per_token": round(value, 4), "seconds": seconds}


def table(rows: list[Row]) -> str:
    """Bytes per token, a row a system, a column a kind of text, against BPE in per cent."""
    value = {(row["system"], row["kind"]): row["bytes_per_token"] for row in rows}
    lines = []
    for system in dict.fromkeys(row["system"] for row in rows):
        line = [system]
        for kind in AXES["kind"]:
            here, bpe = value.get((system, kind)), value.get(("bpe", kind))
            more = f" ({100 * (here / bpe - 1):+.1f} %)" if here and bpe and system != "bpe" else ""
            line.append(f"{here:.3f}{more}" if here else "")
        lines.append(line)
    header = ["system", *AXES["kind"]]
    return f"## Bytes per token on held-out text, 32,000 entries\n\n{markdown_table(header, lines)}"
