"""What is tried, as a plan of named measurements; how one is carried out lies in `measure`, `noise` and `cost`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from benchmark.corpus import MB, cut, mixed_text
from lab.data import GOLDS

import mws_hf
from mws_hf import WordCounts
from mws_hf.corpus.counting import count_documents, count_files
from mws_hf.corpus.word_list import read_word_list
from robustness.cost import cost, word_list
from robustness.made_up import made_up_lists
from robustness.measure import Recipe, intact, scored
from robustness.noise import KINDS, polluted

DONORS = {"rus": "ukr", "fin": "eng", "tur": "eng", "eng": "fin", "hun": "ces", "ces": "hun"}
"""Whose words are the foreign ones; for Russian and Czech a neighbour, written alike."""

UNSEEN = ("est", "pol", "ukr", "bul", "deu")
_HELD = 0.8


@dataclass(frozen=True)
class Measurement:
    """One thing to measure.

    Attributes:
        name: part/what/variant, as ``--only`` takes it.
        reads: what of the data it depends on: languages whose text is read, else nothing.
        run: measures it.
    """

    name: str
    reads: tuple[str, ...]
    run: Callable[[], dict[str, Any]]


@dataclass(frozen=True)
class Setting:
    """Where the data is and how much of it is used.

    Attributes:
        data: folder with text/, gold/ and words/.
        recipe: what is trained.
        base_mb: Russian text is measured at 1, 3 and 9 times this.
        text_mb: noise and seeds train on at most this much mixed text.
        seeds: how many random lists a language.
        cost_types: word types of the cost measurement.
        cost_vocab: its vocabulary size.
    """

    data: Path
    recipe: Recipe
    base_mb: float = 10
    text_mb: float = 30
    seeds: int = 3
    cost_types: int = 400_000
    cost_vocab: int = 32_000

    def golds(self, language: str) -> list[Path]:
        """The development gold of a language."""
        return [self.data / "gold" / f"{name}.tsv" for name in GOLDS[language]]

    def text(self, language: str) -> Path:
        """All text of a language, evenly mixed."""
        return mixed_text([str(self.data / "text" / f"{language}.*.txt.gz")], self.recipe.work)

    def counts(self, language: str, megabytes: float | None = None) -> WordCounts:
        """Counts of the first so many MB of the mixed text, or of all there is."""
        text = self.text(language)
        whole = megabytes is None or megabytes * MB >= text.stat().st_size
        return _counts(text if whole or megabytes is None else cut(text, megabytes))


@lru_cache(maxsize=3)
def _counts(text: Path) -> WordCounts:
    return count_files([str(text)])


def plan(setting: Setting) -> list[Measurement]:
    """Every measurement; each compares itself with its clean or next smaller sibling on its own."""
    return [*_growth(setting), *_noise(setting), *_seeds(setting), *_cost(setting), *_unseen(setting)]


def _growth(setting: Setting) -> Iterator[Measurement]:
    def russian(times: int) -> dict[str, Any]:
        size = setting.base_mb * times
        smaller = setting.counts("rus", size / 3) if times > 1 else None
        return {"mb": size, **scored(setting.counts("rus", size), setting.golds("rus"), setting.recipe, smaller)}

    for times in (1, 3, 9):
        yield Measurement(f"growth/rus/{times}x", ("rus",), _later(russian, times))
    for language in ("fin", "eng"):
        for label in ("third", "whole"):
            yield Measurement(f"growth/{language}/{label}", (language,), _later(_third, setting, language, label))


def _third(setting: Setting, language: str, label: str) -> dict[str, Any]:
    whole = round(setting.text(language).stat().st_size / MB, 2)
    third = setting.counts(language, whole / 3)
    golds, recipe = setting.golds(language), setting.recipe
    if label == "third":
        return {"mb": round(whole / 3, 2), **scored(third, golds, recipe)}
    return {"mb": whole, **scored(setting.counts(language), golds, recipe, third)}


def _noise(setting: Setting) -> Iterator[Measurement]:
    def with_noise(language: str, kinds: list[str]) -> dict[str, Any]:
        clean = setting.counts(language, setting.text_mb)
        if not kinds:
            return scored(clean, setting.golds(language), setting.recipe)
        donor = setting.counts(DONORS[language], setting.text_mb)
        return scored(polluted(clean, donor, kinds), setting.golds(language), setting.recipe, clean)

    variants: dict[str, list[str]] = {"clean": [], **{kind: [kind] for kind in KINDS}, "all": list(KINDS)}
    for language, donor in DONORS.items():
        for label, kinds in variants.items():
            yield Measurement(f"noise/{language}/{label}", (language, donor), _later(with_noise, language, kinds))


def _seeds(setting: Setting) -> Iterator[Measurement]:
    def with_seed(language: str, seed: int) -> dict[str, Any]:
        whole = setting.counts(language, setting.text_mb)
        return scored(random_types(whole, seed), setting.golds(language), setting.recipe, whole)

    for language in DONORS:
        for seed in range(setting.seeds):
            yield Measurement(f"seeds/{language}/{seed}", (language,), _later(with_seed, language, seed))


def random_types(counts: WordCounts, seed: int, share: float = _HELD) -> WordCounts:
    """A random share of the word types.

    >>> len(random_types(WordCounts.from_mapping({str(i): 1 for i in range(1000)}, pattern="p"), 1))
    784
    """
    kept = np.random.default_rng(seed).random(len(counts)) < share
    strings = counts.strings.filter(pa.array(kept))
    return WordCounts.from_arrays(
        strings, counts.counts[kept], pattern=counts.pattern, normalization=counts.normalization
    )


def _cost(setting: Setting) -> Iterator[Measurement]:
    def measured(composition: float | None) -> dict[str, Any]:
        target = setting.recipe.work / f"cost-{setting.cost_types}.parquet"
        if not target.exists():
            word_list(setting.counts("rus"), setting.cost_types, target)
        return cost(target, setting.cost_vocab, composition)

    yield Measurement("cost/morphs", ("rus",), _later(measured, 0))
    yield Measurement("cost/default", ("rus",), _later(measured, None))


def _unseen(setting: Setting) -> Iterator[Measurement]:
    def from_list(language: str) -> dict[str, Any]:
        counts = read_word_list(str(setting.data / "words" / f"{language}.*.tsv.gz"))
        directory, facts = setting.recipe.tokenizer(counts)
        return {**facts, **intact(directory, [word.strip() for word in counts.words][:20_000])}

    for language in UNSEEN:
        yield Measurement(f"unseen/{language}", (), _later(from_list, language))
    for name in made_up_lists():
        yield Measurement(f"unseen/{name}", (), _later(_made_up, setting, name))


def _made_up(setting: Setting, name: str) -> dict[str, Any]:
    made = made_up_lists()[name]
    gold = setting.recipe.work / f"made-up.{name}.tsv"
    gold.write_text(made.lines(), encoding="utf-8", newline="\n")
    counts = count_documents([" " + " ".join(made.training)], workers=1)
    directory, facts = setting.recipe.tokenizer(counts)
    words = sorted({*made.gold, *made.training})
    return {"what": made.what, **scored(counts, [gold], setting.recipe), **facts, **intact(directory, words)}


def _later(function: Callable[..., dict[str, Any]], *arguments: Any) -> Callable[[], dict[str, Any]]:
    return lambda: function(*arguments)


def program() -> str:
    """A digest of the sources that a result depends on: counting, learning, backend and scoring, and this folder."""
    package = Path(mws_hf.__file__).parent
    folders = ("corpus", "kernels", "learn", "evaluate", "text", "tokenizer")
    files = [f for folder in folders for f in sorted((package / folder).rglob("*.py"))]
    files += [
        package / name for name in ("trainer.py", "trained.py", "research/compare/run.py", "research/compare/run.py")
    ]
    files += [f for f in sorted(Path(__file__).parent.glob("*.py")) if f.name != "report.py"]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def key(measurement: Measurement, setting: Setting, program: str) -> str:
    """A digest of all that a result depends on: the program, what is tried, and the text files by name and size."""
    files = [f for name in measurement.reads for f in sorted((setting.data / "text").glob(f"{name}.*.txt.gz"))]
    state = [program, measurement.name, setting.recipe.vocab_size, setting.base_mb, setting.text_mb]
    state += [setting.cost_types, setting.cost_vocab, *((file.name, file.stat().st_size) for file in files)]
    return hashlib.sha256(repr(state).encode()).hexdigest()[:16]
