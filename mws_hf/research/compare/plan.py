"""Plan which systems are trained at which sizes; nothing is trained here."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from mws_hf.errors import MwSError
from mws_hf.research.baselines import BASELINES

logger = logging.getLogger(__name__)

Weighting = Literal["types", "text"]

MWS_SYSTEMS: dict[str, dict[str, Any]] = {
    "mws": {"criterion": "contextual"},
    "mws-morphs": {"criterion": "contextual", "composition": 0},
    "mws-classic": {"criterion": "classic"},
}
"""MwS variants: name -> arguments of `MwSTrainer`; ``mws`` is the default, ``mws-morphs`` morphs only."""

DEFAULT_SYSTEMS = (
    *MWS_SYSTEMS,
    "bpe-character:types,bpe-character:text,bpe-byte:text,bpe-end-of-word:types",
    "wordpiece:types,wordpiece:text,wordpiece-likelihood:types,wordpiece-top-down:types",
    "unigram:types,unigram:text,sentencepiece-bpe:text,sentencepiece-unigram:types,sentencepiece-unigram:text",
    "morfessor:types,characters,words:text",
)

_LIBRARIES = {"sentencepiece": "sentencepiece", "morfessor": "morfessor"}


@dataclass(frozen=True)
class SystemSpec:
    """A system and the words it is trained on."""

    name: str  # a key of `MWS_SYSTEMS` or `BASELINES`
    words: Weighting = "types"  # each form once, or "text": weighted by frequency

    @property
    def label(self) -> str:
        """The name in tables: without the weighting where a system has only one."""
        if self.name == "characters" or (self.is_mws and self.words == "types"):
            return self.name
        return f"{self.name}:{self.words}"

    @property
    def is_mws(self) -> bool:
        """Whether the system is MwS."""
        return self.name in MWS_SYSTEMS

    @property
    def sized(self) -> bool:
        """Whether the vocabulary size has an effect."""
        return self.is_mws or BASELINES[self.name].sized

    @property
    def installed(self) -> bool:
        """Whether the library it needs is there."""
        library = _LIBRARIES.get(self.name.split("-")[0])
        return library is None or importlib.util.find_spec(library) is not None


@dataclass(frozen=True)
class Job:
    """One tokenizer to train; `vocab_size` is None where it has no effect."""

    spec: SystemSpec
    vocab_size: int | None

    @property
    def title(self) -> str:
        """The name for progress and files."""
        return self.spec.label.replace(":", ".") + (f"-{self.vocab_size}" if self.vocab_size else "")


def parse_systems(names: Iterable[str]) -> list[SystemSpec]:
    """Read system names, each alone or several separated by commas.

    A name may end in ``:text``, to learn words weighted by how often they occur, or ``:types``, each word once. A bare
    name means what people use: types for MwS and Morfessor, text for other rivals; ``bpe`` is byte-level BPE.

    >>> [spec.label for spec in parse_systems(["mws,bpe", "bpe-character:types", "morfessor"])]
    ['mws', 'bpe-byte:text', 'bpe-character:types', 'morfessor:types']
    """
    specs: list[SystemSpec] = []
    for given in (part.strip() for name in names for part in name.split(",") if part.strip()):
        name, _, words = given.partition(":")
        name = "bpe-byte" if name == "bpe" else name
        if name not in MWS_SYSTEMS and name not in BASELINES:
            raise MwSError(f"unknown system {name!r}; choose from {', '.join((*MWS_SYSTEMS, *BASELINES))}")
        if words not in ("", "types", "text"):
            raise MwSError(f"system {given!r}: after the colon comes 'types' (each form once) or 'text' (by frequency)")
        usual: Weighting = "types" if name in MWS_SYSTEMS or name.startswith("morfessor") else "text"
        spec = SystemSpec(name, cast("Weighting", words or usual))
        if spec not in specs:
            specs.append(spec)
    return specs


def default_systems() -> list[SystemSpec]:
    """List `DEFAULT_SYSTEMS` without the systems whose library is absent, with a warning."""
    specs = parse_systems(DEFAULT_SYSTEMS)
    absent = [spec.label for spec in specs if not spec.installed]
    if absent:
        logger.warning("left out, library not installed: %s; pip install sentencepiece morfessor", ", ".join(absent))
    return [spec for spec in specs if spec.installed]


def plan(specs: Sequence[SystemSpec], sizes: Sequence[int]) -> list[Job]:
    """List all jobs, system by system; a system without a size is trained once."""
    return [Job(spec, size) for spec in specs for size in (sizes if spec.sized else (None,))]
