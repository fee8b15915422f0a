"""Would a normalizer that writes a capital as a marker and its small letter pay? Measured before one is built.

    python scripts/capitals.py --data DATA [--language rus]

The first 16 MB of training lines are rewritten, tokenizers are trained on the rewritten words, and the bits of an
n-gram model over the rewritten held-out lines are divided by the bytes of the lines as they were. Two places of the
marker: right before the letter ("letter": one replacement a letter), and before the space of a word that begins with
it ("space": two replacements a letter, and the word keeps its space). Writes scripts/results/capitals.json and .md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import regex
from ngram_map import SLICES, first, parts_of
from systems import train_system

from mws_hf.atomic import write_text
from mws_hf.corpus.counting import count_documents
from mws_hf.errors import MwSError
from mws_hf.evaluate.encoder import load_encoder
from mws_hf.evaluate.ngram_bits import ngram_bits
from mws_hf.evaluate.significance import paired_bootstrap
from mws_hf.text.markdown import markdown_table

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "scripts" / "results" / "capitals.json"
MARKER = "\u21e7"
PLACES = ("none", "letter", "space")
SYSTEMS = ("bpe", "mws")
SIZE = 8000


def rewritten(line: str, place: str) -> str:
    """A line with its capitals marked; letters whose small form is not one letter are left as they are.

    >>> [rewritten("А в Омске", place) for place in PLACES]
    ['А в Омске', '⇧а в ⇧омске', '⇧а в⇧ омске']
    """
    if place == "none":
        return line
    pattern = r" ?\p{Lu}" if place == "space" else r"\p{Lu}"

    def marked(match: regex.Match[str]) -> str:
        found = match.group()
        small = found.lower()
        return MARKER + small if len(small) == len(found) and small.upper() == found else found

    return str(regex.sub(pattern, marked, line))


def measure(data: Path, language: str, output: Path) -> dict[str, Any]:
    """Bits per true byte of each system and place, and the difference to no marker in per cent.

    Raises:
        MwSError: the text holds the marker.
    """
    lines, held_out = parts_of(data, language)
    lines = first(lines, SLICES["16 MB"]) or lines
    if any(MARKER in line for line in (*lines, *held_out)):
        raise MwSError(f"the text of {language} holds {MARKER}; choose another marker")
    sizes = np.array([len(line.encode()) for line in held_out], np.int64)
    found: dict[str, Any] = {"train_bytes": sum(len(line.encode()) for line in lines), "systems": {}}
    plain = {}
    for place in PLACES:
        train, text = ([rewritten(line, place) for line in part] for part in (lines, held_out))
        counts = count_documents(train)
        for system in SYSTEMS:
            folder = output / language / f"{system}-{place}"
            train_system(system, counts, SIZE, folder)
            bits = ngram_bits(load_encoder(folder), train, text)
            plain.setdefault(system, bits)
            difference = paired_bootstrap([bits.nats], [plain[system].nats], sizes)
            base = difference.value / difference.relative if difference.value else 1.0
            found["systems"].setdefault(system, {})[place] = {
                "bits_per_byte": float(bits.nats.sum() / np.log(2) / sizes.sum()),
                "tokens": bits.tokens,
                "order": bits.order,
                "percent": [100 * x / base for x in (difference.value, difference.low, difference.high)],
            }
            print(language, system, place, found["systems"][system][place], flush=True)
    return found


def markdown(found: dict[str, Any]) -> str:
    """A table a language."""
    parts = [
        "N-gram bits per byte of the text as it was, with capitals written as a marker and the small letter; "
        f"differences to no marker in per cent with 95 % intervals; vocabulary {SIZE:,}. Written by "
        "scripts/capitals.py."
    ]
    for language, entry in found.items():
        rows = []
        for system, places in entry["systems"].items():
            for place, cell in places.items():
                shown = "{:+.2f} ({:+.2f} to {:+.2f})".format(*cell["percent"])
                rows.append([f"{system}, {place}", f"{cell['bits_per_byte']:.4f}", shown, f"{cell['tokens']:,}"])
        parts.append(
            f"## {language}, {entry['train_bytes'] / 1e6:.0f} MB\n\n"
            + markdown_table(["system, marker before", "bits per byte", "against none", "tokens"], rows)
        )
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--output", type=Path, default=Path("out/capitals"))
    parser.add_argument("--language", default="rus")
    arguments = parser.parse_args()
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    found[arguments.language] = measure(arguments.data, arguments.language, arguments.output)
    write_text(RESULTS, json.dumps(found, ensure_ascii=False, indent=1) + "\n")
    write_text(RESULTS.with_suffix(".md"), markdown(found))


if __name__ == "__main__":
    main()
