"""The map of n-gram bits per byte: systems x languages x vocabulary sizes x amounts of text, in one results file.

    python scripts/ngram_map.py --data ../shared/data [--languages rus fin] [--sizes 8000] [--ablations]

Every tokenizer learns from all training lines of its language (Russian without the sentences of RuBLiMP, which are
another benchmark's, and without novels that are there twice); the n-gram model (`mws_hf.evaluate.ngram_bits`) learns
from the first 1, 4 and 16 MB of the same lines in shuffled order, and from all of them. Every 50th line is held out,
4,000 lines at most; a line is a document.
`--ablations` adds MwS with one thing taken away (`systems.py`).
Writes scripts/results/ngram_map.json, and ngram_ablations.md of the cells with ablations, after each cell. A cell that
this version of the package measured is not measured again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

from lab.systems import UNIGRAM, train_system
from quality import HELD_OUT_LINES, lines_of, split_lines

from mws_hf import WordCounts, __version__
from mws_hf.corpus.counting import count_documents
from mws_hf.evaluate.encoder import load_encoder
from mws_hf.evaluate.ngram_bits import NgramBits, bits_differences, ngram_bits
from mws_hf.text.markdown import markdown_table

LANGUAGES = ("rus", "fin", "tur", "hun", "ces", "eng", "ukr", "deu")
NOT_FOR_MODELS = ("rus.rublimp.txt.gz", "rus.eltec.txt.gz")
"""Text that no model or tokenizer is trained on: the source of the benchmark RuBLiMP, and novels some of which stand in
rus.novels as well: 16 MB of training text held 6.6 % of the runs of eight words in their held-out lines, .05 % else."""
SLICES = {"1 MB": 1 << 20, "4 MB": 4 << 20, "16 MB": 16 << 20, "all": None}
OURS = ("mws", "mws-morphs")
ABLATIONS = ("mws-shuffled", "mws-no-evidence", "mws-price0", "mws-counts")
ABLATION_NAMES = ("shuffled evidence", "no evidence", "price 0", "morphs by counts")
RIVALS = ("bpe", "bpe-byte", UNIGRAM, "unigram")
AGAINST = ("bpe", "bpe-byte", UNIGRAM, "mws-shuffled")
"""What every system is compared with, in per cent, where it is measured."""


def parts_of(data: Path, language: str) -> tuple[list[str], list[str]]:
    """Training lines in an order that depends on their content alone, and the lines held out."""
    training, held_out = split_lines([line for line in lines_of(data, language, NOT_FOR_MODELS) if line.strip()])
    step = max(1, len(held_out) // HELD_OUT_LINES)
    return sorted(training, key=lambda line: hashlib.sha256(line.encode()).digest()), held_out[::step][:HELD_OUT_LINES]


def first(lines: list[str], n_bytes: int | None) -> list[str] | None:
    """The first lines of so many bytes; None where there are not twice as many, so that "all" would say the same."""
    if n_bytes is None:
        return lines
    taken = 0
    for number, line in enumerate(lines):
        taken += len(line.encode())
        if taken >= n_bytes:
            return lines[: number + 1] if sum(len(each.encode()) for each in lines) >= 2 * n_bytes else None
    return None


def trained(counts: WordCounts, system: str, size: int, folder: Path) -> Path:
    """The directory of a tokenizer, trained unless it is there."""
    directory = folder / f"{system.replace(' ', '_')}-{size}"
    if (directory / "tokenizer.json").exists():
        return directory
    train_system(system, counts, size, directory)
    return directory


def measure(lines: list[str], held_out: list[str], directories: dict[str, Path]) -> dict[str, dict[str, Any]]:
    """Bits per byte of each system, and its differences to the rivals in per cent, with 95 % intervals over lines."""
    bits: dict[str, NgramBits] = {
        name: ngram_bits(load_encoder(path), lines, held_out) for name, path in directories.items()
    }
    found = {name: each.to_dict() for name, each in bits.items()}
    for rival in (name for name in AGAINST if name in bits):
        for name, percent in percent_against(bits, rival).items():
            found[name][f"against_{rival}"] = percent
    return found


def percent_against(bits: dict[str, NgramBits], base: str) -> dict[str, list[float]]:
    """Bits per byte of each other system against `base`, in per cent with the ends of the 95 % interval."""
    ordered = {base: bits[base], **{name: each for name, each in bits.items() if name != base}}
    of = 100 / bits[base].value
    return {
        name: [of * x for x in (difference.value, difference.low, difference.high)]
        for name, difference in bits_differences(ordered).items()
        if difference is not None
    }


def run(language: str, arguments: argparse.Namespace, cells: list[dict[str, Any]]) -> None:
    """Measure what is missing of a language; `cells` grows and is written after each."""
    systems = [*OURS, *(ABLATIONS if arguments.ablations else ()), *arguments.rivals]
    there = {(c["language"], c["size"], c["slice"], c["system"]) for c in cells if c["version"] == __version__}
    wanted = [
        (size, name)
        for size in arguments.sizes
        for name in arguments.slices
        if any((language, size, name, system) not in there for system in systems)
    ]
    if not wanted:
        return
    lines, held_out = parts_of(arguments.data, language)
    counts = count_documents(lines)
    for size, name in wanted:
        part = first(lines, SLICES[name])
        if part is None:
            continue
        folder = arguments.output / language
        key = (language, size, name)
        again = sorted(system for *cell, system in there if tuple(cell) == key)  # a difference is of systems of one run
        directories = {each: trained(counts, each, size, folder) for each in dict.fromkeys([*systems, *again])}
        found = measure(part, held_out, directories)
        cells[:] = [c for c in cells if (c["language"], c["size"], c["slice"]) != key or c["system"] not in found]
        cells += [
            {"language": language, "size": size, "slice": name, "system": system, "version": __version__, **row}
            for system, row in found.items()
        ]
        write(cells, arguments.results)
        print(language, size, name, {s: round(r["bits_per_byte"], 4) for s, r in found.items()}, flush=True)


def write(cells: list[dict[str, Any]], file: Path) -> None:
    """The results file and the table of ablations."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(cells, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    file.with_name("ngram_ablations.md").write_text(ablations(cells), encoding="utf-8")


def ablations(cells: list[dict[str, Any]]) -> str:
    """Markdown: the default against what it must beat, and each ablation against byte-level BPE, as measured last."""
    rivals = {"bpe-byte": "byte-level BPE", UNIGRAM: "SentencePiece Unigram", "mws-shuffled": "shuffled evidence"}
    systems = {"mws": "default", **dict(zip(ABLATIONS, ABLATION_NAMES, strict=True)), UNIGRAM: rivals[UNIGRAM]}
    leads, losses = [], []
    for size, language, name in sorted(
        {(c["size"], c["language"], c["slice"]) for c in cells if c["system"] == "mws-shuffled"},
        key=lambda each: (each[0], LANGUAGES.index(each[1]), list(SLICES).index(each[2])),
    ):
        here = {c["system"]: c for c in cells if (c["size"], c["language"], c["slice"]) == (size, language, name)}
        about = [f"{size:,}", language, f"{here['mws']['train_bytes'] / (1 << 20):.0f} MB"]
        leads.append([*about, *(_percent(here["mws"][f"against_{rival}"]) for rival in rivals)])
        losses.append([*about, *(_percent(here[system]["against_bpe-byte"]) for system in systems)])
    header = ["entries", "language", "text"]
    return (
        "Difference in n-gram bits per byte of held-out lines, in per cent with its 95 % interval over lines. Below 0 "
        "is better. Written by scripts/ngram_map.py.\n\n## The default against\n\n"
        f"{markdown_table([*header, *rivals.values()], leads)}\n\n## Against byte-level BPE\n\n"
        f"{markdown_table([*header, *systems.values()], losses)}\n"
    )


def _percent(values: list[float]) -> str:
    value, low, high = values
    return f"{value:+.2f} ({low:+.2f} to {high:+.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--output", type=Path, default=Path("out/ngram_map"))
    parser.add_argument("--languages", nargs="+", default=list(LANGUAGES), choices=LANGUAGES)
    parser.add_argument("--sizes", nargs="+", type=int, default=[8000, 16000, 32000])
    parser.add_argument("--slices", nargs="+", default=list(SLICES), choices=SLICES)
    parser.add_argument("--rivals", nargs="+", default=list(RIVALS), choices=RIVALS, help="bpe is always needed")
    parser.add_argument("--ablations", action="store_true")
    parser.add_argument("--results", type=Path, default=Path("scripts/results/ngram_map.json"))
    arguments = parser.parse_args()
    cells = json.loads(arguments.results.read_text(encoding="utf-8")) if arguments.results.exists() else []
    for language in arguments.languages:
        run(language, arguments, cells)
    write(cells, arguments.results)


if __name__ == "__main__":
    main()
