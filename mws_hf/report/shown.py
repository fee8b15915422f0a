"""A tokenizer opened for the report page: its vocabulary, merges and kinds, and an encoder of texts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tokenizers import Tokenizer

from mws_hf.evaluate.encoder import Encoder, load_encoder
from mws_hf.text.byte_alphabet import BYTE_OF, bytes_of
from mws_hf.text.special import byte_of
from mws_hf.tokenizer.file import load_backend, open_tokenizer
from mws_hf.tokenizer.spec import EMPTY_TEMPLATE, Spec
from mws_hf.tokenizer.stock import set_part, without_limits
from mws_hf.tokenizer.training_record import kinds_by_rank, kinds_of


@dataclass(frozen=True)
class Opened:
    """A tokenizer and its name on the page; `kinds` are those of the last merges, from `training_record.kinds_of`.

    `foreign` encodes in place of the backend, which then holds the vocabulary alone.
    """

    name: str
    backend: Tokenizer
    kinds: Sequence[tuple[str, int]] = ()
    foreign: Encoder | None = None

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder of texts to ids and spans."""
        return self.foreign or load_encoder(self.backend)

    @cached_property
    def _spec(self) -> Spec:
        return Spec.of(self.backend)

    @cached_property
    def ranks(self) -> dict[str, int]:
        """Token string -> rank of the first merge that makes it; empty for a model without merges."""
        ranks: dict[str, int] = {}
        for rank, (left, right) in enumerate(self._spec.merges):
            ranks.setdefault(left + right, rank)
        return ranks

    @cached_property
    def merge_kinds(self) -> list[str]:
        """The kind of each merge by rank, such as "morph"; "" where it is not known."""
        return kinds_by_rank(self.kinds, len(self._spec.merges))

    def readable(self, token: str) -> str:
        """Spell a string of the vocabulary in text; bytes that are no text are written in hexadecimal."""
        if (byte := byte_of(token)) is not None:
            return f"{byte:02X}"
        if not self._spec.byte_level or not all(character in BYTE_OF for character in token):
            return token.replace("▁", " ")
        data = bytes_of(token)
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data.hex(" ").upper().replace(" ", "\u202f")  # spaces that do not break


def open_for_page(source: str | os.PathLike[str], name: str | None = None) -> Opened:
    """Open a directory with a tokenizer.json, such a file, or a Hub name; by default it is named by its last part."""
    backend, _ = load_backend(open_tokenizer(source, by_class=True))
    kinds = kinds_of(Path(source), backend) if Path(source).is_dir() else []
    plain = without_limits(backend)
    # offsets that a byte-level post-processor trims would take the spaces off their tokens
    set_part(plain, "post_processor", EMPTY_TEMPLATE)
    return Opened(name or Path(source).resolve().name, plain, kinds)
