"""Name the systems of a comparison: MwS and baselines, each with the weighting of its training words, and its sizes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from mws_hf.compare.baselines import BASELINE_SYSTEMS, Baseline
from mws_hf.compare.morfessor_baseline import MAX_TYPES
from mws_hf.errors import MwSError
from mws_hf.text.valid_text import each_text

logger = logging.getLogger(__name__)

Weighting = Literal["types", "text"]

REFERENCE = "mws"
MWS_SYSTEMS: dict[str, dict[str, Any]] = {
    "mws": {"criterion": "contextual"},
    "mws-morphs": {"criterion": "contextual", "composition": 0},
    "mws-classic": {"criterion": "classic"},
}
"""Arguments of `MwSTrainer` for each MwS variant; ``mws`` has default settings, ``mws-morphs`` learns morphs only."""

DEFAULT_SYSTEMS = (
    *MWS_SYSTEMS,
    "bpe-character:types,bpe-character:text,bpe-byte:text,bpe-end-of-word:types",
    "wordpiece:types,wordpiece:text,wordpiece-likelihood:types,wordpiece-top-down:types",
    "unigram:types,unigram:text,sentencepiece-bpe:text,sentencepiece-unigram:types,sentencepiece-unigram:text",
    "morfessor:types,characters,words:text",
)


@dataclass(frozen=True)
class SystemSpec:
    """A system to train: its name, how its training words are weighted, and its vocabulary size.

    Attributes:
        name: a key of `MWS_SYSTEMS` or `BASELINE_SYSTEMS`.
        words: "types" if each word counts once, or "text" if words are weighted by frequency.
        vocab_size: size of the vocabulary; None if it has no effect, and before `plan` sets it.
    """

    name: str
    words: Weighting = "types"
    vocab_size: int | None = None

    @property
    def title(self) -> str:
        """The name of its folder, which progress messages show, too; ":" is written as "."."""
        return self.label.replace(":", ".") + (f"-{self.vocab_size}" if self.vocab_size else "")

    @property
    def label(self) -> str:
        """The name in tables; the weighting is left out for MwS by types and for systems that have only one."""
        if self.name == "characters" or (self.baseline is None and self.words == "types"):
            return self.name
        return f"{self.name}:{self.words}"

    @property
    def baseline(self) -> Baseline | None:
        """The baseline of this name; None for MwS."""
        return BASELINE_SYSTEMS.get(self.name)

    @property
    def installed(self) -> bool:
        """Whether the library that it needs is installed."""
        return self.baseline is None or self.baseline.installed


def is_system(name: str) -> bool:
    """Return whether `parse_systems` knows a name, with or without a weighting.

    >>> is_system("bpe"), is_system("wordpiece:types"), is_system("corpus.txt")
    (True, True, False)
    """
    base, _, _ = name.partition(":")
    return base == "bpe" or base in MWS_SYSTEMS or base in BASELINE_SYSTEMS


def parse_systems(names: Iterable[str]) -> list[SystemSpec]:
    """Parse names of systems; each string contains one or more of them, separated by commas.

    A name may end in ``:text``, which weights words by frequency, or in ``:types``, which counts each word once.
    Without either, MwS and Morfessor learn from types and the other baselines from text. ``bpe`` means byte-level BPE.

    Raises:
        MwSError: a name or a weighting is unknown, or `names` is not a list of str.

    >>> [spec.label for spec in parse_systems(["mws,bpe", "bpe-character:types", "morfessor"])]
    ['mws', 'bpe-byte:text', 'bpe-character:types', 'morfessor:types']
    """
    specs: list[SystemSpec] = []
    parts = [part.strip() for name in each_text(names, "names") for part in name.split(",")]
    for given in filter(None, parts):
        name, _, words = given.partition(":")
        if not is_system(name):
            raise MwSError(f"{name!r} is not a system; choose from {', '.join((*MWS_SYSTEMS, *BASELINE_SYSTEMS))}")
        if words not in ("", "types", "text"):
            raise MwSError(f"system {given!r}: write 'types' (each word once) or 'text' (by frequency) after the colon")
        name = "bpe-byte" if name == "bpe" else name
        usual: Weighting = "types" if name in MWS_SYSTEMS or name.startswith("morfessor") else "text"
        spec = SystemSpec(name, cast("Weighting", words or usual))
        if spec not in specs:
            specs.append(spec)
    return specs


def default_systems(n_types: int) -> list[SystemSpec]:
    """List the default systems for `n_types` distinct words, and warn about those that are left out."""
    specs = parse_systems(DEFAULT_SYSTEMS)
    absent = [spec.label for spec in specs if not spec.installed]
    if absent:
        logger.warning(
            "systems whose library is not installed are left out: %s; pip install sentencepiece morfessor",
            ", ".join(absent),
        )
    if n_types > MAX_TYPES:
        specs = [spec for spec in specs if not spec.name.startswith("morfessor")]
        logger.warning(
            "morfessor is left out, because with more than %s distinct words it takes minutes and learns only from a "
            "sample of them; give --systems to include it",
            f"{MAX_TYPES:,}",
        )
    return [spec for spec in specs if spec.installed]


def plan(specs: Sequence[SystemSpec], sizes: Sequence[int]) -> list[SystemSpec]:
    """List the tokenizers to train: each system at each size, and a system without a size once."""
    return [
        replace(spec, vocab_size=size)
        for spec in specs
        for size in (sizes if spec.baseline is None or spec.baseline.sized else (None,))
    ]
