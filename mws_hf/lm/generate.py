"""Greedy continuations, as samples to read; sampling and beams are those of transformers' own `generate`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from mws_hf.errors import MwSError
from mws_hf.lm.codec import Codec


def generate(model: Any, codec: Codec, prompt: str, max_new_tokens: int = 40) -> str:
    """Continue a prompt greedily until the document ends; returns prompt and continuation.

    Raises:
        MwSError: a negative number of tokens.
    """
    if max_new_tokens < 0:
        raise MwSError(f"max_new_tokens={max_new_tokens}: must not be negative")
    ids = greedy(model, prompt_ids(codec, prompt), max_new_tokens, codec.separator, codec.vocabulary_size)
    return codec.decode([np.array(ids, np.int64)])[0]


def prompt_ids(codec: Codec, prompt: str) -> list[int]:
    """Ids of a prompt at the start of a document."""
    return [codec.separator, *codec.encode([prompt])[0].tolist()]


def greedy(model: Any, ids: list[int], max_new_tokens: int, stop: int, vocabulary: int | None = None) -> list[int]:
    """Plain greedy decoding, one pass over everything for each token: what faster methods must equal.

    Args:
        model: maps int64 (1, length) to an object with `logits`.
        ids: the prompt, at least one id.
        max_new_tokens: at most.
        stop: id that ends decoding; it is kept.
        vocabulary: ids from here on are never chosen: embedding rows that no token uses.
    """
    ids = list(ids)
    device = next(model.parameters()).device
    with torch.inference_mode():
        for _ in range(max_new_tokens):
            logits = model(input_ids=torch.tensor([ids], device=device)).logits[0, -1, :vocabulary]
            ids.append(int(logits.argmax()))
            if ids[-1] == stop:
                break
    return ids
