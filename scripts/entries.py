"""What the entries of a vocabulary are used for: length, text in capitals, words with a capital, entries hardly used.

    python scripts/entries.py --data ../shared/data [--languages fin] [--sizes 8000 32000]

The default and byte-level BPE learn from the first 30 MB of the training lines of a language (`ngram_map.parts_of`) and
cut the lines held out: as they are, and in capitals. A running word with a capital counts as cut alike if its pieces
end where those of the small word do. An entry is hardly used if the training text uses it fewer than five times.
Writes scripts/results/entries.json, cell by cell, and entries.md.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import Any

import regex
from ngram_map import parts_of
from systems import train_system

from mws_hf import WordCounts
from mws_hf.atomic import write_text
from mws_hf.cards.group_facts import training_facts
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.groups import GroupedCounts
from mws_hf.text.markdown import markdown_table
from mws_hf.tokenizer.file import read_tokenizer
from mws_hf.tokenizer.stock import Tokenizer

LANGUAGES = ("rus", "fin", "tur", "hun", "ces", "eng")
SIZES = (8000, 32000)
SYSTEMS = ("mws", "bpe-byte")
SHARES = ("capital_words_cut_alike", "under_5", "unused")
TRAINING_BYTES = 30_000_000
RESULTS = Path(__file__).parent / "results" / "entries.json"


def cell(system: str, size: int, counts: WordCounts, held_out: list[str]) -> dict[str, Any]:
    """Measure one tokenizer of one language."""
    with tempfile.TemporaryDirectory() as folder:
        train_system(system, counts, size, Path(folder, "t"))
        backend = read_tokenizer(Path(folder, "t", "tokenizer.json"))
    return {
        "tokens": tokens(backend, held_out),
        "tokens_in_capitals": tokens(backend, [line.upper() for line in held_out]),
        "capital_words_cut_alike": cut_alike(backend, held_out),
        **training_facts(backend, GroupedCounts.of(counts), {})["rare_entries"],
    }


def tokens(backend: Tokenizer, lines: list[str]) -> int:
    """Count the tokens of lines."""
    return sum(len(item.ids) for item in backend.encode_batch_fast(lines, add_special_tokens=False))


def cut_alike(backend: Tokenizer, lines: list[str]) -> float:
    """Tell which share of the running words is cut with a capital as it is without one."""
    words = Counter(word.lower() for line in lines for word in regex.findall(r"\p{L}+", line))
    kept = [word for word in words if len(word.capitalize()) == len(word) and word.capitalize() != word]
    small, large = (backend.encode_batch([" " + form(word) for word in kept]) for form in (str.lower, str.capitalize))
    alike = sum(words[word] for word, a, b in zip(kept, small, large, strict=True) if ends(a) == ends(b))
    return alike / sum(words[word] for word in kept)


def ends(encoding: Any) -> list[int]:
    """List where tokens end, in characters."""
    return list(accumulate(b - a for a, b in encoding.offsets))


def table(cells: list[dict[str, Any]]) -> str:
    """Markdown: a row a language and size, the default beside byte-level BPE."""
    header = ["language", "entries", "length", "in capitals", "capital words cut alike", "used < 5 times", "never"]
    rows = []
    ordered = sorted(cells, key=lambda each: (LANGUAGES.index(each["language"]), each["size"]))
    for ours in (each for each in ordered if each["system"] == "mws"):
        key = ("language", "size")
        bpe = next((c for c in cells if c["system"] == "bpe-byte" and all(c[k] == ours[k] for k in key)), None)
        if bpe is not None:
            rows.append([
                ours["language"], f"{ours['size']:,}",
                *(f"{100 * (ours[name] / bpe[name] - 1):+.2f} %" for name in ("tokens", "tokens_in_capitals")),
                *(f"{100 * ours[name]:.1f} / {100 * bpe[name]:.1f} %" for name in SHARES),
            ])  # fmt: skip
    return (
        "Tokens of held-out text against byte-level BPE of the same size and text; shares are default / BPE. "
        f"Written by scripts/entries.py.\n\n{markdown_table(header, rows)}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--languages", nargs="+", default=list(LANGUAGES))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    arguments = parser.parse_args()
    cells = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    done = {(each["language"], each["size"], each["system"]) for each in cells}
    for language in arguments.languages:
        lines, held_out = parts_of(arguments.data, language)
        room = accumulate(len(line.encode()) for line in lines)
        counts = count_documents([line for line, end in zip(lines, room, strict=True) if end <= TRAINING_BYTES])
        for size in arguments.sizes:
            for system in SYSTEMS:
                if (language, size, system) not in done:
                    found = {"language": language, "size": size, "system": system}
                    cells.append(found | cell(system, size, counts, held_out))
                    print(cells[-1], flush=True)
                    write_text(RESULTS, json.dumps(cells, indent=1) + "\n")
                    write_text(RESULTS.with_suffix(".md"), table(cells))


if __name__ == "__main__":
    main()
