"""How far BPE over characters and BPE over bytes cut alike, by language: they are not one baseline in Cyrillic.

    python scripts/byte_cuts.py --data DATA [--languages rus ukr fin tur hun]

Both are trained on the same counts by the same trainer. Measured on held-out lines: the share of token ends that both
have, of those that either has, bytes a token, and n-gram bits per byte (first 4 and 16 MB of the training lines), with
those of the default against each; on gold: boundary F1. Writes scripts/results/byte_cuts.json and .md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from lm.data import Codec
from ngram_map import SLICES, first, parts_of, percent_against, trained

from mws_hf.atomic import write_text
from mws_hf.corpus.counting import count_documents
from mws_hf.evaluate import read_gold, score, segment_words
from mws_hf.evaluate.encoder import load_encoder
from mws_hf.evaluate.ngram_bits import NgramBits, ngram_bits
from mws_hf.text.byte_alphabet import BYTE_OF
from mws_hf.text.markdown import markdown_table

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "scripts" / "results" / "byte_cuts.json"
SIZE = 8000
SYSTEMS = ("bpe", "bpe-byte", "mws")
GOLD = {
    "rus": "rus.running-text-forms",
    "fin": "fin.morphochallenge2010",
    "tur": "tur.morphochallenge2010",
    "hun": "hun.sigmorphon2022",
}
SHOWN = 40


def token_ends(codec: Codec, lines: list[str]) -> list[set[int]]:
    """Places in bytes at which each line's tokens end."""
    return [set(np.cumsum(codec.lengths[ids]).tolist()) for ids in codec.encode(lines)]


def in_common(first: list[set[int]], second: list[set[int]]) -> float:
    """Share of places in both, of those in either.

    >>> in_common([{1, 2}, {5}], [{2, 3}, {5}])
    0.5
    """
    both = sum(len(x & y) for x, y in zip(first, second, strict=True))
    return both / sum(len(x | y) for x, y in zip(first, second, strict=True))


def first_merges(directory: Path) -> list[str]:
    """The first merges of a byte-level tokenizer, bytes that are no whole character in hexadecimal."""
    merges = json.loads((directory / "tokenizer.json").read_text(encoding="utf-8"))["model"]["merges"][:SHOWN]

    def shown(token: str) -> str:
        return bytes(BYTE_OF[character] for character in token).decode(errors="backslashreplace").replace(" ", "␣")

    return [" + ".join(map(shown, pair)) for pair in merges]


def differences(lines: list[str], held_out: list[str], folders: dict[str, Path]) -> dict[str, list[float]]:
    """N-gram bits per byte of one system against another, in per cent with the ends of the 95 % interval."""
    bits: dict[str, NgramBits] = {
        system: ngram_bits(load_encoder(folder), lines, held_out) for system, folder in folders.items()
    }
    return {
        f"{name} against {base}": percent
        for base in ("bpe", "bpe-byte")
        for name, percent in percent_against(bits, base).items()
        if (name, base) != ("bpe", "bpe-byte")
    }


def measure(data: Path, language: str, output: Path) -> dict[str, Any]:
    """Both systems of one language."""
    lines, held_out = parts_of(data, language)
    counts = count_documents(lines)
    folders = {system: trained(counts, system, SIZE, output / language) for system in SYSTEMS}
    codecs = {system: Codec.open(folders[system]) for system in ("bpe", "bpe-byte")}
    ends = {system: token_ends(codec, held_out) for system, codec in codecs.items()}
    size = sum(len(line.encode()) for line in held_out)
    found: dict[str, Any] = {
        "in_common": in_common(ends["bpe"], ends["bpe-byte"]),
        "bytes_per_token": {system: size / sum(map(len, places)) for system, places in ends.items()},
        "bits": {
            name: differences(part, held_out, folders)
            for name in ("4 MB", "16 MB")
            if (part := first(lines, SLICES[name])) is not None
        },
        "first_merges": first_merges(folders["bpe-byte"]),
    }
    if language in GOLD:
        gold = read_gold(data / "gold" / f"{GOLD[language]}.tsv")
        words = [entry.word for entry in gold.words]
        cut = {system: segment_words(load_encoder(folders[system]), words) for system in codecs}
        found["f1"] = {system: score(gold.words, pieces).f1 for system, pieces in cut.items()}
    return found


def markdown(found: dict[str, Any]) -> str:
    """A table, and why."""
    rows = []
    for language, entry in found.items():
        f1 = [f"{entry['f1'][system]:.3f}" if "f1" in entry else "" for system in ("bpe", "bpe-byte")]
        lengths = [f"{entry['bytes_per_token'][system]:.2f}" for system in ("bpe", "bpe-byte")]
        rows.append([language, f"{100 * entry['in_common']:.1f} %", *lengths, *f1])
    header = ["language", "token ends in common", "bytes/token bpe", "bpe-byte", "F1 bpe", "bpe-byte"]
    text = (
        f"BPE over characters and BPE over bytes, {SIZE:,} entries, same counts and trainer. Written by "
        "scripts/byte_cuts.py.\n\n" + markdown_table(header, rows)
    )
    bits = [
        [f"{language}, {name}", *("{:+.2f} ({:+.2f} to {:+.2f})".format(*three) for three in pairs.values())]
        for language, entry in found.items()
        for name, pairs in entry["bits"].items()
    ]
    named = next((list(pairs) for entry in found.values() for pairs in entry["bits"].values()), [])
    text += "\n\nN-gram bits per byte, differences in per cent:\n\n" + markdown_table(["text", *named], bits)
    for language in ("rus",):
        if language in found:
            merges = ", ".join(f"`{merge}`" for merge in found[language]["first_merges"])
            text += f"\n\nFirst merges over bytes, {language}: {merges}."
    return text + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--output", type=Path, default=Path("out/map"), help="tokenizers, as those of ngram_map.py")
    parser.add_argument("--languages", nargs="*", default=["rus", "ukr", "fin", "tur", "hun"])
    arguments = parser.parse_args()
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    for language in arguments.languages:
        found[language] = measure(arguments.data, language, arguments.output)
        write_text(RESULTS, json.dumps(found, ensure_ascii=False, indent=1) + "\n")
        write_text(RESULTS.with_suffix(".md"), markdown(found))


if __name__ == "__main__":
    main()
