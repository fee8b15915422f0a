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
sys.path.insert(0, str(ROOT / "scripts"))  # this file is a program as well
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
    "rus": "575651255fd07ebc82435685efc62d6444425de1616a60c9719bad844e8210a5",
    "rus-morphs": "b596f8bea510843293620746f80efaea696f995bedfe7a54efeaf3afb2364ca5",
    "rus-running": "f42c3b2a5278c67514037f58ffe5ef149ad62345ab1fff9019b08f8797a852fd",
    "rus-classic": "ea63f1c9f88ca375b85ccfccd80999c771c2ef37a6c56efb5ab88590050dc8a5",
    "rus-classic-fill": "45a55df61808b1d374238176c94067dd69e1bd19df5750bec261bd2047ea8fdb",
    "fin-nfd": "471a5dbf0bc8934bc0ff508d3539fb0c8d93079c3a589265ea3f798813c9ae89",
    "fin-classic": "2c7c7741ce41a41b2c51897a0ae575b8e43370bbe747cceabf666e69fc4a8224",
    "hindi": "56f6babdc282a8d4b960ccc643c6a36cae914c5f6fcbaed5489245332544bc48",
    "hindi-morphs": "a99ef21070bdbd394970199939f65049e06dc95e12457c1bb48b8b8293e27a61",
    "ukrainian": "b18e055bceaa6bc9cec9198d0a23bc0a7ae3803f3d7ca779b35771d257b6a304",
    "emoji": "91085bcf3c6a5b90f3163a82cbb9ac536c75489a43b0eef85e72e23f72f255cc",
    "tiny": "667cc62d6ab6347cf91a099bb237ac24c5cf41a1fac19f6eae7fe1f13a499d00",
    "tiny-classic": "03820cfbc5e0acc96a48817258668d8d12df5fe88915c8da47af4dedef8e5edc",
    "rus-bytes": "cd2941dfa0efa3678f0b50060531c650f1937ac637bd759b977f5fc8a1fe840b",
    "hindi-bytes": "59cc99ed6067f0219d9971bb47ceec92b03eb4cb39b65ee4a5b666bbf2ee38ce",
    "mixture": "cc2f460bab322cf9c09178286f8c301c027e51ea591e624fb457c8beb84eb9ed",
    "mixture-morphs": "415ca654541f8b58728418531613e83c380c10bef78d93b058c9b061d2def1c9",
    "two-scripts": "ea75ac5970ff800280e9e70dcf4f203efbe943fc563d909ace361dd6f8e898cd",
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
