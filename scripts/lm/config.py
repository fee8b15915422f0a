"""The settings of a training run, which are saved as JSON: text, tokenizer, model, budget, optimizer and seed."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mws_hf.atomic import write_text
from mws_hf.errors import MwSError
from mws_hf.tokenizer.merging import Dropout, Dropped

SEEN, UNSEEN = "seen form", "unseen form"
"""Groups of running words, by whether their form occurs in the training text."""


@dataclass(frozen=True, kw_only=True)
class MultiToken:
    """The settings of multi-token prediction in a run.

    Attributes:
        form: "parallel" (heads on a shared trunk) or "sequential" (modules in a chain).
        horizon: number of tokens that are predicted from each position, including the next one; at least 2.
        weight: weight of the mean loss of the additional heads.
        start: share of the steps that train only the next token.
        full: share of the steps after which all heads are trained; between `start` and `full` they join one by one.
    """

    form: str = "parallel"
    horizon: int = 4
    weight: float = 0.3
    start: float = 0.25
    full: float = 0.5

    def __post_init__(self) -> None:
        if self.form not in ("parallel", "sequential"):
            raise MwSError(f"multi_token.form={self.form!r}: must be 'parallel' or 'sequential'")
        if self.horizon < 2:
            raise MwSError(
                f"multi_token.horizon={self.horizon}: must be at least 2; omit multi_token for plain training"
            )
        if not 0 <= self.start <= self.full <= 1:
            raise MwSError(f"multi_token: start={self.start} and full={self.full} must satisfy 0 <= start <= full <= 1")

    def active(self, progress: float) -> int:
        """Return how many tokens the loss includes at a point of the training, between 0 and 1.

        This is the forward curriculum of Aynetdinov & Akbik (2025).

        >>> [MultiToken(horizon=4).active(p) for p in (0, 0.25, 0.4, 0.5, 1)]
        [1, 2, 3, 4, 4]
        """
        if progress >= self.full:
            return self.horizon
        if progress < self.start:
            return 1
        return 2 + int((self.horizon - 2) * (progress - self.start) / (self.full - self.start))


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """The settings that determine the result of a run.

    Attributes:
        tokenizer: directory with tokenizer.json.
        text: files with one document per line.
        train_bytes: bytes of text to train on; None: all text that is not held out.
        held_out_bytes: bytes to hold out of `text` (see `lm.data`); not used if `held_out` names files.
        held_out: files with one document per line, for example whole works; their documents are excluded from training.
        passes: number of passes over the text, each in a different order.
        context_bytes: bytes per block.
        batch_blocks: blocks per optimizer step.
        hidden_size: width of the model.
        layers: number of decoder layers.
        heads: number of attention heads.
        intermediate_size: width of the feed-forward layers; None: 8/3 of `hidden_size`, rounded up to a multiple of 16.
        embedding_rows: rows of the tied embedding; None: the vocabulary size. Models with equal rows have equal sizes.
        learning_rate: peak learning rate, after a linear warm-up and before a cosine decay to a tenth of it.
        warmup: share of the steps that are warm-up.
        weight_decay: weight decay of AdamW.
        precision: "fp32", or "bf16" for matrix products under autocast.
        dropout: probability that a merge is skipped when training text is encoded, drawn again in each pass.
        drop: merges that `dropout` affects: "all", "morph" or "composition" (`tokenizer.merging.Dropout`).
        flop_budget: training stops before the block that would exceed these FLOPs; None: no budget.
        save_every: steps between checkpoints; 0: no checkpoints.
        log_every: steps between points of the loss curve.
        seed: seed of the initial weights and of the order of documents.
        multi_token: settings of multi-token prediction; None: only the next token is predicted.
    """

    tokenizer: str
    text: tuple[str, ...]
    train_bytes: int | None = None
    held_out_bytes: int = 500_000
    held_out: tuple[str, ...] = ()
    passes: int = 1
    context_bytes: int = 640
    batch_blocks: int = 16
    hidden_size: int = 160
    layers: int = 4
    heads: int = 4
    intermediate_size: int | None = None
    embedding_rows: int | None = None
    learning_rate: float = 2e-3
    warmup: float = 0.05
    weight_decay: float = 0.1
    precision: str = "fp32"
    dropout: float = 0.0
    drop: Dropped = "all"
    flop_budget: float | None = None
    save_every: int = 0
    log_every: int = 20
    seed: int = 0
    multi_token: MultiToken | None = None

    def __post_init__(self) -> None:
        Dropout(self.dropout, 0, self.drop)  # raises where these make no sense
        if self.precision not in ("fp32", "bf16"):
            raise MwSError(f"precision={self.precision!r}: must be 'fp32' or 'bf16'")
        if self.hidden_size % (2 * self.heads):
            raise MwSError(f"hidden_size={self.hidden_size} must be an even multiple of heads={self.heads}")
        for name in "context_bytes batch_blocks passes hidden_size layers heads held_out_bytes log_every".split():
            if getattr(self, name) < 1:
                raise MwSError(f"{name}={getattr(self, name)}: must be at least 1")

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> RunConfig:
        """Create a config from the values that `to_dict` returns.

        Raises:
            MwSError: a key is unknown or missing, or a value is not valid.
        """
        known = {item.name for item in dataclasses.fields(cls)}
        if unknown := sorted(set(values) - known):
            raise MwSError(f"run config: unknown key {', '.join(unknown)}; the keys are {', '.join(sorted(known))}")
        if missing := sorted({"tokenizer", "text"} - set(values)):
            raise MwSError(f"run config: {' and '.join(missing)} must be given")
        multi = values.get("multi_token")
        files = {name: values.get(name, ()) for name in ("text", "held_out")}
        files = {name: (value,) if isinstance(value, str) else tuple(value) for name, value in files.items()}
        return cls(**{**values, **files, "multi_token": MultiToken(**multi) if isinstance(multi, dict) else multi})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RunConfig:
        """Read a JSON file.

        Raises:
            MwSError: the file cannot be read, a key is unknown or missing, or a value is not valid.
        """
        try:
            values = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise MwSError(f"{path}: cannot be read as JSON ({error}); pass the config of a run") from error
        return cls.from_dict(values)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values for JSON.

        >>> RunConfig.from_dict(RunConfig(tokenizer="t", text=("a.txt",)).to_dict()).text
        ('a.txt',)
        """
        return dataclasses.asdict(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the settings to a JSON file atomically."""
        write_text(path, json.dumps(self.to_dict(), ensure_ascii=False, indent=2) + "\n")

    @property
    def feed_forward(self) -> int:
        """Width of the feed-forward layers.

        >>> RunConfig(tokenizer="t", text=("a",)).feed_forward
        432
        """
        return self.intermediate_size or -(-8 * self.hidden_size // 48) * 16
