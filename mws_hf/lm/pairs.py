"""`judge`: minimal pairs under a language model, by summed log-probability of each sentence."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from mws_hf.errors import MwSError
from mws_hf.evaluate.minimal_pairs import Floats, Pair, margins_of
from mws_hf.lm.codec import Codec
from mws_hf.lm.config import RunConfig
from mws_hf.lm.evaluation import load_model
from mws_hf.lm.scoring import bits_per_byte
from mws_hf.lm.training import CONFIG_FILE


def judge(
    model_dir: str | os.PathLike[str], pairs: Sequence[Pair], *, context_bytes: int = 2048, batch_size: int = 64
) -> Floats:
    """How much more probable a model finds the good sentence of each pair.

    A sentence stands alone after the separator; its end is not scored, and punctuation counts as any token does.

    Args:
        model_dir: a run of `pretrain`, or a directory of a causal model with its tokenizer.
        pairs: what to judge.
        context_bytes: raw bytes a prediction can look at, those it predicts included; a run has its own.
        batch_size: sentences a pass.

    Returns:
        Log-probability of the good sentence minus that of the bad one, float64 (pairs,), in nats.

    Raises:
        MwSError: no model or tokenizer there.
    """
    directory = Path(model_dir)
    if (directory / CONFIG_FILE).is_file():
        model, codec = load_model(directory)
        context_bytes = RunConfig.load(directory / CONFIG_FILE).context_bytes
    else:
        model, codec = _open(directory)

    def nats(sentences: list[str]) -> Floats:
        return bits_per_byte(model, codec, sentences, context_bytes, batch_size=batch_size).nats

    return margins_of(pairs, nats)


def _open(directory: Path) -> tuple[Any, Codec]:
    if not (directory / "config.json").is_file():
        raise MwSError(f"{directory}: no run and no model there; give a directory with run.json or config.json")
    codec = Codec.open(directory)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return AutoModelForCausalLM.from_pretrained(directory).to(device).eval(), codec
