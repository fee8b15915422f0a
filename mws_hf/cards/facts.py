"""What people and commands say of a tokenizer, as its record keeps it: name, data, command, languages, license.

The record (`mws_training.json`) holds them under ``card``, beside the settings and figures of the training. A card is
written from both, and no command reads a card to learn about its tokenizer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from mws_hf.tokenizer.training_record import read_record, write_part

_PART = "card"


@dataclass(frozen=True)
class CardFacts:
    """What is known of a tokenizer beside its training; a field that nobody gave is empty.

    `data`: what it was learnt from, extended with or trimmed to, in words. `words` are shown cut, `notes` are put after
    the head, `limits` beside those of every card. `extended` and `trimmed`: figures of `mws extend`
    (`mws_hf.extend.changes.extension_figures`) and of `mws trim` (`mws_hf.extend.changes.trim_figures`).
    """

    name: str = ""
    data: str = ""
    command: str = ""
    languages: tuple[str, ...] = ()
    license: str = ""
    words: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    extended: Mapping[str, Any] = field(default_factory=dict)
    trimmed: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Replace what is no text: a command, or the data, may be a file whose name is none."""
        for name, value in vars(self).items():
            if isinstance(value, str):
                object.__setattr__(self, name, _without_surrogates(value))
            elif isinstance(value, tuple):
                object.__setattr__(self, name, tuple(map(_without_surrogates, value)))

    @classmethod
    def of(cls, record: Any) -> CardFacts:
        """Read facts from the record's JSON; what is of another type or name is passed over."""
        found = record if isinstance(record, Mapping) else {}
        given: dict[str, Any] = {}
        for name, empty in asdict(cls()).items():
            value = tuple(found[name]) if isinstance(found.get(name), list) else found.get(name)
            if isinstance(value, type(empty)) and not (empty == () and any(not isinstance(v, str) for v in value)):
                given[name] = value
        return cls(**given)

    def to_dict(self) -> dict[str, Any]:
        """Return the facts that are not empty."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name))}

    def with_(self, **more: Any) -> CardFacts:
        """Return these facts, with others in their place where they are not empty."""
        return CardFacts(**(self.to_dict() | CardFacts(**more).to_dict()))


def _without_surrogates(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def read_facts(directory: Path, backend: Tokenizer) -> CardFacts | None:
    """Read the facts kept beside a tokenizer; None where the record, if any, keeps none."""
    part = read_record(directory, backend).get(_PART)
    return CardFacts.of(part) if isinstance(part, dict) else None


def write_facts(directory: Path, backend: Tokenizer, facts: CardFacts) -> None:
    """Keep facts in the record beside a tokenizer; what else the record holds stays."""
    write_part(directory, backend, _PART, facts.to_dict())
