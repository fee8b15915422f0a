"""SHA-256 of the tokenizer.json of trainings that no refactoring may change.

A change of recipe changes these numbers on purpose: run `python tests/unit/test_golden.py`, put its output here, and
put the F1 table before and after (`scripts/lab/experiments/quality.py`) into the commit.
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
from mws_hf.text.pattern import GPT4_PATTERN, WORD_PATTERN
from tests.paths import DATA, ROOT

sys.path.insert(0, str(ROOT / "scripts"))  # this file is also a program
from lab.made_up import made_up_lists  # noqa: E402

RUSSIAN = DATA / "russian_forms.txt"
"""12,022 forms of 616 lemmas of pymorphy3's dictionary (OpenCorpora, CC BY-SA 3.0), those with the least hashes."""


def zipf(words: list[str]) -> dict[str, int]:
    """Return counts as in running text: the word with the n-th smallest hash occurs 20,000 / n times, or once."""
    order = sorted(words, key=lambda word: hashlib.blake2b(word.encode(), digest_size=8).digest())
    return {word: max(1, 20_000 // n) for n, word in enumerate(order, start=1)}


@cache
def russian() -> dict[str, int]:
    """Return Russian forms after a space, every fifth also capitalized, and other pre-tokens of text."""
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
    "rus-running": (russian, {"vocab_size": 2500, "types": False, "hidden_boundary_price": 0.3}),
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
    "rus": "158be0db09d9770ece78ac3e0825a56ebecff569edddf39c182c59688e2a884a",
    "rus-morphs": "b596f8bea510843293620746f80efaea696f995bedfe7a54efeaf3afb2364ca5",
    "rus-running": "6156ac85ee50a6d3f9ea6443400193257d59121868a34f38ba884aebaf6a6fc5",
    "rus-classic": "ea63f1c9f88ca375b85ccfccd80999c771c2ef37a6c56efb5ab88590050dc8a5",
    "rus-classic-fill": "45a55df61808b1d374238176c94067dd69e1bd19df5750bec261bd2047ea8fdb",
    "fin-nfd": "d984ccc1731592269cf83839a99b50cf8dd7c2c546588c9624143412e40f4805",
    "fin-classic": "2c7c7741ce41a41b2c51897a0ae575b8e43370bbe747cceabf666e69fc4a8224",
    "hindi": "0671d9daf500b19582bfa47a3407d8a1a2aba95314c3eb464341510ba9c56761",
    "hindi-morphs": "c479794062b441901ce166f6ab550a1b97365c5eca9570c337a6fb00ebc85403",
    "ukrainian": "d9b49e5e89577ca4b8f9d16c2154501b2952e0bd9ccfda8771a84e1bf794d574",
    "emoji": "0fd08db098f4dffc9664284e8cbcc548b8c345db8bb7a606becc53c140eccb70",
    "tiny": "6c0aed2ed76fcd03eecb93c317bcd449bcf6f64fc7b1405c12b5a492ee99e924",
    "tiny-classic": "03820cfbc5e0acc96a48817258668d8d12df5fe88915c8da47af4dedef8e5edc",
    "rus-bytes": "274bdeef1e7db4eae7d81369fbd24efc35862b178ba7d346adb8fd931dbb019b",
    "hindi-bytes": "b1213e7db4249be4560247fa7893be9d05dc87ba4eeb3d91a55550f973075f4b",
    "mixture": "8c24ec66c81023f8e1b87e6ab521eab780ca40abed4ed1ea9d60618027584c31",
    "mixture-morphs": "3f507863962a286331721d4e71ebb6b719e878848fd2fc66a655159584a6f2a5",
    "two-scripts": "571cc2d21ceb0fc3579a0b860d74629452e38b916d82c13339bf6b5abc93d701",
}


def digest(case: str) -> str:
    """Return the SHA-256 of the tokenizer.json that the training of a case saves."""
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
