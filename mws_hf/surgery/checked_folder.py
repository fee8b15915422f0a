"""Read the folder that `mws check` checks: its tokenizer, its settings, and the model next to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from mws_hf.errors import MissingTokenizerError
from mws_hf.text.pattern import problem_in_tokenizers
from mws_hf.text.symbols import Alphabet
from mws_hf.tokenizer.backend import alphabet_of
from mws_hf.tokenizer.file import load_settings, read_spec
from mws_hf.tokenizer.layout import ADDED_FILE, CONFIG_FILE, MODEL_FILE, TOKENIZER_FILE
from mws_hf.tokenizer.opened import Opened, open_tokenizer
from mws_hf.tokenizer.spec import Spec, parts_of, split_of


@dataclass(frozen=True)
class CheckedFolder:
    """A folder that is checked; each part of it is read at its first use.

    Attributes:
        place: the folder, or the file in it, as it was given.
        name: its name in messages.
    """

    place: Path
    name: str

    @property
    def directory(self) -> Path:
        """The folder."""
        return self.place.parent if self.place.is_file() else self.place

    @property
    def has_own_file(self) -> bool:
        """Whether the tokenizer.json of the folder is checked, and not a file of another name or program."""
        return self.place in (self.directory, self.directory / TOKENIZER_FILE) and (
            (self.directory / TOKENIZER_FILE).is_file()
        )

    @cached_property
    def opened(self) -> Opened:
        """The tokenizer; MissingTokenizerError if the path does not exist."""
        if not self.place.exists():
            raise MissingTokenizerError(f"{self.place}: no such folder; give one written by save_pretrained")
        return open_tokenizer(self.directory if self.has_own_file else self.place, name=self.name)

    @property
    def backend(self) -> Tokenizer:
        """The tokenizer as an object of `tokenizers`."""
        return self.opened.backend

    @property
    def spec(self) -> Spec:
        """The parts of its tokenizer.json."""
        return self.opened.spec

    @cached_property
    def stored(self) -> dict[str, Any]:
        """The tokenizer.json of the folder as it is stored; empty if another file is checked."""
        return read_spec(self.directory / TOKENIZER_FILE) if self.has_own_file else {}

    @property
    def stored_added(self) -> list[dict[str, Any]]:
        """The added tokens as its tokenizer.json lists them."""
        return self.stored.get("added_tokens") or []

    @property
    def dropout(self) -> float | None:
        """The BPE-dropout in tokenizer.json, which an opened tokenizer leaves out."""
        found = self.stored.get("model", {}).get("dropout")
        return found if isinstance(found, float | int) else None

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Its tokenizer_config.json; empty without one."""
        return load_settings(self.directory / CONFIG_FILE)

    @cached_property
    def model(self) -> dict[str, Any]:
        """The config.json of a model in the same folder; empty without one."""
        return load_settings(self.directory / MODEL_FILE)

    @cached_property
    def next_id(self) -> int:
        """The smallest id above all used ones."""
        return self.spec.highest_id + 1

    @cached_property
    def spaced(self) -> bool:
        """Whether the tokenizer puts a space before a text."""
        return self.spec.has_leading_space

    @cached_property
    def shape(self) -> tuple[Alphabet, str] | None:
        """Alphabet and split pattern, or None if the tokenizer does not have the form of those of this package."""
        parts = [*parts_of(self.spec.raw["pre_tokenizer"])]
        pattern, _ = split_of({"type": "Sequence", "pretokenizers": parts[1:] if self.spaced else parts})
        return None if self.spec.kind != "BPE" or pattern is None else (alphabet_of(self.spec.model["vocab"]), pattern)

    @cached_property
    def pattern_problem(self) -> str | None:
        """The reason why `tokenizers` cannot run one of its regular expressions, so that it cannot encode; or None."""
        parts = [part for step in ("normalizer", "pre_tokenizer") for part in parts_of(self.spec.raw[step])]
        found = [part["pattern"].get("Regex") for part in parts if isinstance(part.get("pattern"), dict)]
        return next(filter(None, map(problem_in_tokenizers, filter(None, found))), None)

    @property
    def has_other_added(self) -> bool:
        """Whether an added_tokens.json contradicts tokenizer.json."""
        ids, added = self.backend.get_vocab(with_added_tokens=True), load_settings(self.directory / ADDED_FILE)
        return any(ids.get(token) != number for token, number in added.items())
