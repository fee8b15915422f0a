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
    "two-scripts": (two_scripts, {"vocab_size": 3000}),
}

GOLDEN = {
    "rus": "18d8349376974209be5f49fd778c7960ea693cb690ed40d2fc85c6795f481f6b",
    "rus-morphs": "5906158b02b819448c567d133d96b8f257d032531d646c3c6cb11e9627de1b6f",
    "rus-running": "401be18b05e758d979292a438d08fb2d07acd627c67ac26228bf41a11586f3d8",
    "rus-classic": "ea63f1c9f88ca375b85ccfccd80999c771c2ef37a6c56efb5ab88590050dc8a5",
    "rus-classic-fill": "45a55df61808b1d374238176c94067dd69e1bd19df5750bec261bd2047ea8fdb",
    "fin-nfd": "cfcc0d2fbcce734244db19c37191d6f75657dfe5f0c936904f6d162596071349",
    "fin-classic": "2c7c7741ce41a41b2c51897a0ae575b8e43370bbe747cceabf666e69fc4a8224",
    "hindi": "3f90e05a6a5ec6235edf0d62bf8988539f7f7c9ea3bcafb8daf7277a67c081a9",
    "hindi-morphs": "cad425672bdaab909bf0ae995da421730ce802846c8bf9f99cc89eb3893e522a",
    "ukrainian": "d158a8b06ba068a120d125f9c393305bf4bb6fdb34b9ccc973720a793db6691c",
    "emoji": "30160321043840f288a83b38d6e24b33accdbb384ab9cdc9a5f3d258960931e8",
    "tiny": "ba6acffdc11da6d237ec5739006a551cffaa3563fc360059f9598aa76a88c861",
    "tiny-classic": "03820cfbc5e0acc96a48817258668d8d12df5fe88915c8da47af4dedef8e5edc",
    "rus-bytes": "1dcc0ceb96f33882a26d70ad94b74de18326d84de25263cf540fec2820c8c7d7",
    "hindi-bytes": "c098ddac04154234416379b068f9d89537c6ed433fef3d0aa2e37abb8c299d7e",
    "mixture": "02c5ab5333687c33ee30b725492a26a6b1e3d462b867b0188e553a42f2e3a8ed",
    "two-scripts": "e0ac012865bc3551161278512ca1ee60f6cffd8d911a71720b7230c6a51f1aa0",
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
