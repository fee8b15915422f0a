"""Measure a trained model: bits per byte and more (`evaluate_run`)."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from lm.config import RunConfig
from lm.data import Codec, read_split
from lm.decoding import acceptance, generate, held_out_acceptance
from lm.model import MultiTokenModel
from lm.scoring import bits_per_byte, group_of_forms, lemmas_of, score_groups, word_forms
from lm.training import CONFIG_FILE, MODEL
from mws_hf.atomic import write_text
from mws_hf.errors import MwSError

_DRAFTED = 32
"""Held-out documents whose second half a multi-token model drafts."""


def load_model(run_dir: str | os.PathLike[str]) -> tuple[Any, Codec]:
    """Load the next-token model of a run, in evaluation mode, and its tokenizer; of a multi-token model the stock part.

    Raises MwSError if there is no finished run.
    """
    model, codec = open_run(run_dir)
    return _next_token_part(model), codec


def open_run(run_dir: str | os.PathLike[str]) -> tuple[Any, Codec]:
    """Load the model of a run as it was saved, in evaluation mode, and its tokenizer.

    Raises MwSError if there is no finished run.
    """
    path = Path(run_dir) / MODEL
    if not (path / "config.json").is_file():
        raise MwSError(f"{run_dir}: no finished run there; train it first: python scripts/lm pretrain")
    model_type = json.loads((path / "config.json").read_text(encoding="utf-8"))["model_type"]
    kind = MultiTokenModel if model_type == MultiTokenModel.config_class.model_type else AutoModelForCausalLM
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return kind.from_pretrained(path).to(device).eval(), Codec.open(path)


def _next_token_part(model: Any) -> Any:
    return model.lm if isinstance(model, MultiTokenModel) else model


def evaluate_run(
    run_dir: str | os.PathLike[str],
    documents: Sequence[str] | None = None,
    *,
    lemmas: str | None = None,
    prompts: Sequence[str] = (),
    batch_size: int = 32,
) -> dict[str, Any]:
    """Measure bits per byte, the losslessness gate, words by novelty, and samples of a finished run.

    Args:
        run_dir: output directory of `pretrain`.
        documents: texts to score; None: the texts that the run held out.
        lemmas: split unseen forms by whether their lemma was seen; a language of `scoring.lemmas_of`, such as "hu".
        prompts: beginnings to continue greedily.
        batch_size: windows a pass.

    Returns:
        A dictionary for JSON; ``nats`` and ``n_bytes`` by document are for `paired_bootstrap`.

    Raises:
        MwSError: there is no finished run, or no documents.
    """
    config = RunConfig.load(Path(run_dir) / CONFIG_FILE)
    saved, codec = open_run(run_dir)
    model = _next_token_part(saved)
    split = read_split(config)
    texts = split.held_out if documents is None else list(documents)
    scores = bits_per_byte(model, codec, texts, config.context_bytes, batch_size=batch_size)
    groups = group_of_forms(word_forms(texts), word_forms(split.train), lemmas_of(lemmas) if lemmas else None)
    by_group = score_groups(scores, codec, texts, groups)
    result = {
        "bits_per_byte": scores.value if scores.represented.any() else None,
        "lossless": scores.lossless,
        "documents": len(scores.n_bytes),
        "documents_represented": int(scores.represented.sum()),
        "tokens": sum(map(len, scores.token_nats)),
        "groups": {name: dataclasses.asdict(score) for name, score in by_group.items()},
        "samples": [generate(model, codec, prompt, 40) for prompt in prompts],
        "nats": np.round(scores.nats, 4).tolist(),
        "n_bytes": scores.n_bytes.tolist(),
        "represented": scores.represented.tolist(),
    }
    if isinstance(saved, MultiTokenModel):
        beginnings = [text[: len(text) // 2] for text in texts[:_DRAFTED] if len(text) > 1]
        result["speculation"] = acceptance(saved, codec, beginnings).to_dict()
        along = held_out_acceptance(saved, codec, texts, config.context_bytes, batch_size=batch_size)
        result["held_out_speculation"] = along.to_dict()
    if documents is None:
        write_text(Path(run_dir) / "evaluation.json", json.dumps(result, ensure_ascii=False) + "\n")
    return result
