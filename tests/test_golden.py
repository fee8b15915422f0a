"""SHA-256 of the tokenizer.json of trainings that no refactoring may change.

A change of recipe changes these numbers on purpose: run `python tests/test_golden.py`, put its output here, and put the
F1 table before and after (`scripts/quality.py`) into the commit.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mws_hf import MwSTrainer, WordCounts
from mws_hf.pattern import GPT4_PATTERN, WORD_PATTERN

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from robustness.made_up import made_up_lists  # noqa: E402

RUSSIAN = Path(__file__).parent / "data" / "russian_forms.txt"
"""12,022 forms of 616 lemmas of pymorphy3's dictionary (OpenCorpora, CC BY-SA 3.0), those with the least hashes."""


def zipf(words: list[str]) -> dict[str, int]:
    """Counts as running text has them: the word with the n-th smallest hash occurs 20,000 / n times, or once."""
    order = sorted(words, key=lambda word: hashlib.blake2b(word.encode(), digest_size=8).digest())
    return {word: max(1, 20_000 // n) for n, word in enumerate(order, start=1)}


@cache
def russian() -> dict[str, int]:
    """Russian forms behind a space, every fifth also with a capital, and what else stands in text."""
    words = zipf(RUSSIAN.read_text(encoding="utf-8").split())
    spaced = {" " + word: count for word, count in words.items()}
    capital = {" " + word.capitalize(): 1 + count // 9 for word, count in list(words.items())[::5]}
    return spaced | capital | {",": 900, ".": 700, " —": 80, "\n": 60, " 19": 9, "2024": 3, "(слово": 2, "Ёж": 1}


def made_up(name: str) -> dict[str, int]:
    return {" " + word: count for word, count in zipf(made_up_lists()[name].training).items()}


def emoji() -> dict[str, int]:
    faces = ["😀", "👍🏽", "👨‍👩‍👧‍👦", "🇫🇮", "❤️", "é", "e\u0301", "x\u0302y\u0302"]
    mixed = {f" {face}{other}": 2 + i for i, face in enumerate(faces) for other in faces}
    return mixed | {f" talo{end}": 3 for end in ("", "ssa", "sta", "n", "t")} | {face * 3: 5 for face in faces}


def tiny() -> dict[str, int]:
    return {" " + stem + end: 1 for stem in ("чит", "пис", "игр") for end in ("ать", "ал", "ала", "али", "аю")}


def mixture() -> dict[str, dict[str, int]]:
    return {"rus": russian(), "fin": made_up("fin-nfd"), "hin": made_up("hin")}


def two_scripts() -> dict[str, int]:
    latin = {f" {a}{b}{c}": 2 for a in SYLLABLES for b in SYLLABLES for c in ("", "s", "ing", "ed")}
    return russian() | latin


SYLLABLES = [first + vowel for first in "bdfgklmnprst" for vowel in "aeio"]

CASES: dict[str, tuple[Callable[[], dict[str, Any]], dict[str, object]]] = {
    "rus": (russian, {"vocab_size": 3000}),
    "rus-morphs": (russian, {"vocab_size": 2500, "composition": 0}),
    "rus-running": (russian, {"vocab_size": 2500, "types": False, "burial_cost": 0.3}),
    "rus-classic": (russian, {"vocab_size": 2500, "criterion": "classic"}),
    "rus-classic-fill": (russian, {"vocab_size": 3000, "criterion": "classic", "composition": "fill"}),
    "fin-nfd": (lambda: made_up("fin-nfd"), {"vocab_size": 900}),
    "fin-classic": (lambda: made_up("fin-nfd"), {"vocab_size": 700, "criterion": "classic"}),
    "hindi": (lambda: made_up("hin"), {"vocab_size": 900}),
    "hindi-morphs": (lambda: made_up("hin"), {"vocab_size": 700, "composition": 0}),
    "ukrainian": (lambda: made_up("ukr-apostrophe"), {"vocab_size": 900, "max_token_length": 6}),
    "emoji": (emoji, {"vocab_size": 500}),
    "tiny": (tiny, {"vocab_size": 330}),
    "tiny-classic": (tiny, {"n_merges": 12, "criterion": "classic"}),
    "rus-bytes": (russian, {"vocab_size": 3000, "alphabet": "bytes"}),
    "hindi-bytes": (lambda: made_up("hin"), {"vocab_size": 900, "alphabet": "bytes"}),
    "mixture": (mixture, {"vocab_size": 3000, "weights": {"fin": 2}}),
    "mixture-morphs": (mixture, {"vocab_size": 2500, "weights": {"fin": 2}, "composition": 0}),
    "two-scripts": (two_scripts, {"vocab_size": 3000}),
}

GOLDEN = {
    "rus": "d6c913abd8b99a65524fcc37b6aa35437b68d1618df000fbfeeda641989334e9",
    "rus-morphs": "afb1785a5a2d9346b987eb7cd9d83a24127c46df84a211cad7347ad5d1ead865",
    "rus-running": "27bab8c23055b082c86a252e025345288b91917d7e58cf1dfd85736825b18ac3",
    "rus-classic": "ea63f1c9f88ca375b85ccfccd80999c771c2ef37a6c56efb5ab88590050dc8a5",
    "rus-classic-fill": "45a55df61808b1d374238176c94067dd69e1bd19df5750bec261bd2047ea8fdb",
    "fin-nfd": "699ef0e579e2eadd5938341b949c3fbad575f194a9098baf528230c882dfbab7",
    "fin-classic": "2c7c7741ce41a41b2c51897a0ae575b8e43370bbe747cceabf666e69fc4a8224",
    "hindi": "41fd30c7fcb3d8ce9b62a2f62319a01ed8832eb5a175c589903fbc76bc4a6e35",
    "hindi-morphs": "68074a0046ed06f13dae8d7a2c2e8103e29800c9fffc6a7d47a2374bd6d0308a",
    "ukrainian": "259816598fe42dcec6db1a2becf515c9cf0017b45cc0200826c2616a66ff7a3a",
    "emoji": "30160321043840f288a83b38d6e24b33accdbb384ab9cdc9a5f3d258960931e8",
    "tiny": "ba6acffdc11da6d237ec5739006a551cffaa3563fc360059f9598aa76a88c861",
    "tiny-classic": "03820cfbc5e0acc96a48817258668d8d12df5fe88915c8da47af4dedef8e5edc",
    "rus-bytes": "7d0b547d6b40ae2011f95822625e8ffacde0b19bc476445d0a314413458430a2",
    "hindi-bytes": "48b09f67e79009899554a03cd8d8b516fba12691c3b8db0945c041e5550f366f",
    "mixture": "d3917985c2f7870a23ca01ca7f8628e8b3dd7730a6f64bd43196686eed3c4dda",
    "mixture-morphs": "2ca138ac7f711c88a4b02b0c42e05cd08f683178762017c3631913aec2576ed6",
    "two-scripts": "e4cec851e4deed4295eef6174480686a8eabb6e8e3b650132eb64bbf33c3f479",
}


def digest(case: str) -> str:
    """SHA-256 of the tokenizer.json that the case's training saves."""
    words, options = CASES[case]
    classic = options.get("criterion") == "classic"
    pattern, found = GPT4_PATTERN if classic else WORD_PATTERN, words()
    groups = {name: each for name, each in found.items() if isinstance(each, dict)}
    counts = {name: WordCounts.from_mapping(each, pattern=pattern) for name, each in groups.items()}
    options = {"alphabet": "characters", "pattern": pattern, **options}
    tokenizer = MwSTrainer(show_progress=False, **options).train_from_counts(
        counts or WordCounts.from_mapping(found, pattern=pattern)
    )
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        return hashlib.sha256(Path(folder, "tokenizer.json").read_bytes()).hexdigest()


@pytest.mark.parametrize("case", CASES)
def test_tokenizer_is_the_same_to_the_byte(case):
    assert digest(case) == GOLDEN[case]


if __name__ == "__main__":
    for name in CASES:
        print(f'    "{name}": "{digest(name)}",')
