"""The figures of a comparison as plain records; nothing is measured or written here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from mws_hf.evaluate.boundaries import BoundaryScores
from mws_hf.evaluate.significance import Difference


@dataclass(frozen=True)
class Tokenizer:
    """A trained system.

    Attributes:
        system: its label, such as ``bpe:text``.
        vocab_size: the size asked for; None where it has no effect.
        n_tokens: entries of the vocabulary it got.
        seconds: training time, as measured when it was trained.
        directory: where it is, relative to the output folder.
        text: measures on held-out text by name (`mws_hf.evaluate.TextScores`); None without text, and for systems
            that have no token ids.
    """

    system: str
    vocab_size: int | None
    n_tokens: int
    seconds: float
    directory: str
    text: dict[str, float | None] | None = None

    @property
    def fertility(self) -> float | None:
        """Tokens per running word."""
        return None if self.text is None else self.text["fertility"]


@dataclass(frozen=True)
class Row:
    """A trained system on one gold file.

    Attributes:
        tokenizer: the system.
        gold: name of the gold file.
        scores: boundary, morph and word scores.
        low: 2.5 % quantile of the bootstrap of micro F1.
        high: 97.5 % quantile.
        mws_ahead: MwS at the same vocabulary size minus this system; None without MwS and for itself.
    """

    tokenizer: Tokenizer
    gold: str
    scores: BoundaryScores
    low: float
    high: float
    mws_ahead: Difference | None = None

    def to_dict(self) -> dict[str, Any]:
        """Flat name -> value, for CSV and JSON."""
        tokenizer = asdict(self.tokenizer)
        text = tokenizer.pop("text") or {}
        ahead = asdict(self.mws_ahead) if self.mws_ahead else {}
        return {
            **tokenizer,
            "gold": self.gold,
            **self.scores.to_dict(),
            "f1_low": self.low,
            "f1_high": self.high,
            **{f"mws_ahead_{name}": value for name, value in ahead.items()},
            **{f"text_{name}": value for name, value in text.items()},
        }


@dataclass(frozen=True)
class Example:
    """Words of a gold file as each system cuts them; `cuts` maps the system's label to the pieces of each word."""

    gold: str
    vocab_size: int
    morphs: list[list[str]]
    cuts: dict[str, list[list[str]]]


@dataclass(frozen=True)
class Comparison:
    """All figures.

    Attributes:
        corpus: what was trained on: types, running words, pattern.
        sizes: vocabulary sizes, ascending.
        golds: gold files: name, words, lines left out.
        tokenizers: all trained systems, in the order of the plan.
        rows: gold by gold, in the order of the plan.
        examples: one a gold file.
    """

    corpus: dict[str, Any]
    sizes: list[int]
    golds: list[dict[str, Any]]
    tokenizers: list[Tokenizer]
    rows: list[Row]
    examples: list[Example]

    @property
    def systems(self) -> list[str]:
        """Labels in the order of the plan."""
        return unique(tokenizer.system for tokenizer in self.tokenizers)

    def rows_of(self, gold: str) -> list[Row]:
        """The rows of one gold file."""
        return [row for row in self.rows if row.gold == gold]

    def at(self, system: str, size: int) -> Tokenizer | None:
        """A system at a size; one without a size is the same at all."""
        found = (t for t in self.tokenizers if t.system == system and t.vocab_size in (size, None))
        return next(found, None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "corpus": self.corpus,
            "sizes": self.sizes,
            "golds": self.golds,
            "tokenizers": [asdict(tokenizer) for tokenizer in self.tokenizers],
            "rows": [row.to_dict() for row in self.rows],
            "examples": [asdict(example) for example in self.examples],
        }


def is_trivial(system: str) -> bool:
    """Whether a label is one of the two ends that need no criterion: characters and whole words."""
    return system.partition(":")[0] in ("characters", "words")


def unique(items: Iterable[str]) -> list[str]:
    """Each item once, in order of first occurrence."""
    return list(dict.fromkeys(items))
