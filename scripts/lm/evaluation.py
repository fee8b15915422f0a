"""Measure a trained model, for example its bits per byte (`evaluate_run`), and continue prompts greedily.

A multi-token model uses self-speculative decoding: its additional heads draft tokens, and its next-token head verifies
them. The result is equal to plain greedy decoding, token by token, and takes fewer forward passes. Only the passes are
counted, because nothing is cached between passes, so no time is saved. For sampling and beam search use `generate` of
transformers.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from lm.config import SEEN, UNSEEN, RunConfig
from lm.data import Codec, read_split
from lm.model import MultiTokenModel
from lm.scoring import batches_of, bits_per_byte, padded_ids, score_groups, windows_of, word_forms
from lm.training import CONFIG_FILE, MODEL
from mws_hf.atomic import write_text
from mws_hf.errors import MwSError


def open_run(run_dir: str | os.PathLike[str]) -> tuple[Any, Codec]:
    """Load the saved model of a run, in evaluation mode, and its tokenizer.

    Raises:
        MwSError: the directory contains no finished run.
    """
    path = Path(run_dir) / MODEL
    if not (path / "config.json").is_file():
        raise MwSError(f"{run_dir} contains no finished run; train it first: python scripts/lm pretrain")
    model_type = json.loads((path / "config.json").read_text(encoding="utf-8"))["model_type"]
    kind = MultiTokenModel if model_type == MultiTokenModel.config_class.model_type else AutoModelForCausalLM
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return kind.from_pretrained(path).to(device).eval(), Codec.open(path)


def evaluate_run(
    run_dir: str | os.PathLike[str],
    documents: Sequence[str] | None = None,
    *,
    batch_size: int = 32,
) -> dict[str, Any]:
    """Measure a finished run: bits per byte over all text, bits per byte of seen and unseen words, and losslessness.

    Args:
        run_dir: output directory of `pretrain`.
        documents: texts to score; None: the held-out texts of the run.
        batch_size: windows per forward pass.

    Returns:
        A dictionary for JSON. Its ``nats`` and ``n_bytes`` per document are the input of `paired_bootstrap`.

    Raises:
        MwSError: the directory contains no finished run, or there are no documents.
    """
    config = RunConfig.load(Path(run_dir) / CONFIG_FILE)
    saved, codec = open_run(run_dir)
    model = saved.lm if isinstance(saved, MultiTokenModel) else saved
    split = read_split(config)
    texts = split.held_out if documents is None else list(documents)
    scores = bits_per_byte(model, codec, texts, config.context_bytes, batch_size=batch_size)
    trained = word_forms(split.train)
    groups = {form: SEEN if form in trained else UNSEEN for form in word_forms(texts)}
    by_group = score_groups(scores, codec, texts, groups)
    result = {
        "bits_per_byte": scores.value if scores.represented.any() else None,
        "lossless": scores.lossless,
        "documents": len(scores.n_bytes),
        "documents_represented": int(scores.represented.sum()),
        "tokens": sum(map(len, scores.token_nats)),
        "groups": {name: dataclasses.asdict(score) for name, score in by_group.items()},
        "nats": np.round(scores.nats, 4).tolist(),
        "n_bytes": scores.n_bytes.tolist(),
        "represented": scores.represented.tolist(),
    }
    if isinstance(saved, MultiTokenModel):
        along = held_out_acceptance(saved, codec, texts, config.context_bytes, batch_size=batch_size)
        result["held_out_speculation"] = along.to_dict()
    if documents is None:
        write_text(Path(run_dir) / "evaluation.json", json.dumps(result, ensure_ascii=False) + "\n")
    return result


def generate(model: Any, codec: Codec, prompt: str, max_new_tokens: int = 40) -> tuple[str, Speculation | None]:
    """Continue a prompt greedily until the document ends.

    Returns:
        The prompt with its continuation, and the statistics of speculative decoding or None for a standard model.
    """
    if max_new_tokens < 0:
        raise MwSError(f"max_new_tokens={max_new_tokens}: must not be negative")
    start, gain = prompt_ids(codec, prompt), None
    if isinstance(model, MultiTokenModel):
        ids, gain = speculative(model, start, max_new_tokens, codec.separator, codec.lengths)
    else:
        ids = greedy(model, start, max_new_tokens, codec.separator, codec.vocabulary_size)
    return codec.decode([np.array(ids, np.int64)])[0], gain


def prompt_ids(codec: Codec, prompt: str) -> list[int]:
    """Encode a prompt, with a separator before it, as at the start of a document."""
    return [codec.separator, *codec.encode([prompt])[0].tolist()]


def greedy(model: Any, ids: list[int], max_new_tokens: int, stop: int, vocabulary: int | None = None) -> list[int]:
    """Decode greedily, with one forward pass over all ids per token; faster methods must return the same ids.

    `model` maps int64 ids of shape (1, length) to an object with `logits`. Decoding ends after `max_new_tokens` tokens
    or after the id `stop`, which is part of the result. Ids from `vocabulary` on are never chosen, because these
    embedding rows belong to no token.
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


@dataclass(frozen=True)
class Speculation:
    """Statistics of speculative decoding.

    Attributes:
        steps: forward passes of the model; plain decoding needs one pass per token.
        tokens: tokens that were generated.
        n_bytes: bytes of these tokens.
        drafted: number of drafts per head, beginning with the head of the second token.
        accepted: number of drafts per head that were correct and followed only correct drafts.
        drafted_bytes: bytes of the accepted drafts.
    """

    steps: int
    tokens: int
    n_bytes: int
    drafted: tuple[int, ...]
    accepted: tuple[int, ...]
    drafted_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, the acceptance rate of each head, and tokens, bytes and drafted bytes per step."""
        acceptance = [right / max(1, made) for right, made in zip(self.accepted, self.drafted, strict=True)]
        steps = max(1, self.steps)
        sums = {"steps": self.steps, "tokens": self.tokens, "bytes": self.n_bytes, "acceptance": acceptance}
        rates = {"tokens": self.tokens, "bytes": self.n_bytes, "drafted_bytes": self.drafted_bytes}
        return {**sums, **{f"{name}_per_step": amount / steps for name, amount in rates.items()}}


def held_out_acceptance(
    model: MultiTokenModel, codec: Codec, documents: Sequence[str], context_bytes: int, *, batch_size: int = 32
) -> Speculation:
    """Measure the acceptance of drafts on texts: a draft is accepted if the model predicts the same token later.

    Held-out texts are used because greedy continuations of small models repeat themselves, which makes drafts too
    easy. Every position counts as one step, which produces the text's next token and the drafts after it up to the
    first wrong one. Windows are the same as in `bits_per_byte`.

    Args:
        model: a model with heads for later tokens; each head reads the text up to the token before its draft.
        codec: tokenizer of the model.
        documents: held-out texts.
        context_bytes: bytes of context of a prediction.
        batch_size: windows per forward pass.
    """
    n_heads, lengths = len(model.heads), torch.from_numpy(codec.lengths).to(model.device)
    steps = read = drafted_bytes = 0
    accepted = [0] * n_heads
    windows = list(windows_of(codec, codec.encode(documents), context_bytes))
    with torch.inference_mode():
        for chosen in batches_of(windows, batch_size, codec.vocabulary_size):
            batch = [windows[index] for index in chosen]
            ids = padded_ids(batch, codec.padding).to(model.device)
            if ids.shape[1] <= n_heads:
                continue  # the windows are too short for a prediction of every head
            ends = torch.tensor([[len(window.ids), window.scored] for window in batch], device=model.device)
            place = torch.arange(ids.shape[1] - n_heads, device=model.device)
            right = (place >= (ends[:, :1] - ends[:, 1:] - 1)) & (place + n_heads < ends[:, :1])
            hidden, last = model.trunk(ids)
            verdicts = model.lm.lm_head(last)[..., : len(lengths)].argmax(-1)
            steps += int(right.sum())
            read += int(lengths[ids[:, 1 : 1 + len(place)]][right].sum())
            for head in range(n_heads):
                states = model.step(head, hidden[:, : ids.shape[1] - head - 1], ids[:, head + 1 :])
                drafts = model.logits(states)[..., : len(lengths)].argmax(-1)
                said = verdicts[:, head + 1 : head + 1 + len(place)]
                right = right & (drafts[:, : len(place)] == said)
                accepted[head] += int(right.sum())
                drafted_bytes += int(lengths[said][right].sum())
                hidden = hidden if model.config.form == "parallel" else states
    made = steps + sum(accepted)
    return Speculation(steps, made, read + drafted_bytes, (steps,) * n_heads, tuple(accepted), drafted_bytes)


def speculative(
    model: MultiTokenModel, ids: Sequence[int], max_new_tokens: int, stop: int, lengths: np.ndarray
) -> tuple[list[int], Speculation]:
    """Decode greedily in fewer forward passes; the ids equal those of `greedy` with `model.lm` in evaluation mode.

    `lengths` contains the bytes of each id: int64, shape (n_ids,).
    """
    known, draft = list(ids), list[int]()
    drafted, accepted, steps, drafted_bytes = [0] * len(model.heads), [0] * len(model.heads), 0, 0
    end = len(known) + max_new_tokens
    with torch.inference_mode():
        while len(known) < end and (steps == 0 or known[-1] != stop):
            tokens = torch.tensor([known + draft], device=model.device)
            hidden, last = model.trunk(tokens)
            verdicts = model.lm.lm_head(last[0, len(known) - 1 :])[:, : len(lengths)].argmax(-1).tolist()
            right = next((i for i, guess in enumerate(draft) if guess != verdicts[i]), len(draft))
            steps += 1
            for head in range(len(draft)):
                drafted[head] += 1
                accepted[head] += head < right
            place = len(known) + right
            new = verdicts[: right + 1]
            known = (known + new[: new.index(stop) + 1 if stop in new else None])[:end]
            drafted_bytes += int(lengths[known[place - right : place]].sum())
            draft = draft_tokens(model, hidden[:, :place], tokens[:, :place], verdicts[right], len(lengths))
    made = known[len(ids) :]
    n_bytes = int(lengths[made].sum())
    return known, Speculation(steps, len(made), n_bytes, tuple(drafted), tuple(accepted), drafted_bytes)


def draft_tokens(
    model: MultiTokenModel, hidden: torch.Tensor, tokens: torch.Tensor, following: int, vocabulary: int
) -> list[int]:
    """Draft the tokens after `following`, one per head, where `following` is the token right after `tokens`.

    `hidden` is the result of `model.trunk` for `tokens`, shape (1, length, d). Ids from `vocabulary` on are never
    chosen.
    """
    drafts: list[int] = []
    for head in range(len(model.heads)):
        # position i needs the token head + 1 positions later; after the end of the text, these are the new tokens
        made = torch.tensor([[following, *drafts]], device=tokens.device)
        states = model.step(head, hidden, torch.cat([tokens, made], dim=1)[:, head + 1 :])
        drafts.append(int(model.logits(states[:, -1])[:, :vocabulary].argmax()))
        hidden = hidden if model.config.form == "parallel" else states
    return drafts
