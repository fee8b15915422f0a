"""Measure a trained model, bits per byte and more (`evaluate_run`), and continue prompts greedily.

A multi-token model drafts and verifies: self-speculative decoding gives the text of plain greedy decoding, token for
token, in fewer passes; the extra heads draft, the next-token head verifies. Passes are counted, time is not saved,
since nothing is cached between passes. For sampling and beams use transformers' own `generate`.
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
from lm.scoring import bits_per_byte, padded_ids, passes, score_groups, windows_of, word_forms
from lm.training import CONFIG_FILE, MODEL
from mws_hf.atomic import write_text
from mws_hf.errors import MwSError


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


def evaluate_run(
    run_dir: str | os.PathLike[str],
    documents: Sequence[str] | None = None,
    *,
    batch_size: int = 32,
) -> dict[str, Any]:
    """Measure bits per byte, the losslessness gate, and words by novelty of a finished run.

    Args:
        run_dir: output directory of `pretrain`.
        documents: texts to score; None: the texts that the run held out.
        batch_size: windows a pass.

    Returns:
        A dictionary for JSON; ``nats`` and ``n_bytes`` by document are for `paired_bootstrap`.

    Raises:
        MwSError: there is no finished run, or no documents.
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
        Prompt and continuation; and the gain of drafting, where a multi-token model drafts for itself.
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
    """Encode a prompt at the start of a document."""
    return [codec.separator, *codec.encode([prompt])[0].tolist()]


def greedy(model: Any, ids: list[int], max_new_tokens: int, stop: int, vocabulary: int | None = None) -> list[int]:
    """Decode greedily, one pass over all ids for each token: the result that faster methods must equal.

    `model` maps int64 (1, length) to an object with `logits`. Decoding ends after so many tokens or with the id `stop`,
    which is kept; ids from `vocabulary` on, embedding rows that no token uses, are never chosen.
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
    """The gain of drafting.

    Attributes:
        steps: passes of the model; plain decoding needs one for each token.
        tokens: tokens made.
        n_bytes: raw bytes of these tokens.
        drafted: number of drafts looked at, by head, the head of the second token first.
        accepted: number of drafts, by head, that were right and stood behind right ones alone.
        drafted_bytes: raw bytes of the drafts that were right.
    """

    steps: int
    tokens: int
    n_bytes: int
    drafted: tuple[int, ...]
    accepted: tuple[int, ...]
    drafted_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Compute rates for a report: acceptance by head (of all drafts made); tokens, bytes, drafted bytes a step."""
        acceptance = [right / max(1, made) for right, made in zip(self.accepted, self.drafted, strict=True)]
        steps = max(1, self.steps)
        sums = {"steps": self.steps, "tokens": self.tokens, "bytes": self.n_bytes, "acceptance": acceptance}
        rates = {"tokens": self.tokens, "bytes": self.n_bytes, "drafted_bytes": self.drafted_bytes}
        return {**sums, **{f"{name}_per_step": amount / steps for name, amount in rates.items()}}


def held_out_acceptance(
    model: MultiTokenModel, codec: Codec, documents: Sequence[str], context_bytes: int, *, batch_size: int = 32
) -> Speculation:
    """Measure the gain of drafting along texts: a draft is right if the model, once it has read on, says the same.

    Greedy continuations of small models run in circles, where drafts are easy; texts do not. Every place is a step that
    makes the text's next token and the drafts behind it up to the first wrong one. Windows are as in `bits_per_byte`.

    Args:
        model: with heads for later tokens; each reads the text up to the token before the one it drafts.
        codec: tokenizer of the model.
        documents: held-out texts.
        context_bytes: raw bytes a prediction can look at.
        batch_size: windows a pass.
    """
    n_heads, lengths = len(model.heads), torch.from_numpy(codec.lengths).to(model.device)
    steps = read = drafted_bytes = 0
    accepted = [0] * n_heads
    windows = list(windows_of(codec, codec.encode(documents), context_bytes))
    with torch.inference_mode():
        for chosen in passes(windows, batch_size, codec.vocabulary_size):
            batch = [windows[index] for index in chosen]
            ids = padded_ids(batch, codec.padding).to(model.device)
            if ids.shape[1] <= n_heads:
                continue  # too short for all heads to have something to say
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
    """Decode greedily in fewer passes: the ids are those of `greedy` with `model.lm`, in evaluation mode.

    `lengths` is int64 (ids,), raw bytes of each id.
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
    """Draft greedily with all heads the tokens after `following`, which itself comes right after `tokens`.

    `hidden` is `model.trunk` of the tokens, (1, length, d); ids from `vocabulary` on are never chosen.
    """
    drafts: list[int] = []
    for head in range(len(model.heads)):
        # at place i the token head + 1 places on: past the end these are the tokens made so far
        made = torch.tensor([[following, *drafts]], device=tokens.device)
        states = model.step(head, hidden, torch.cat([tokens, made], dim=1)[:, head + 1 :])
        drafts.append(int(model.logits(states[:, -1])[:, :vocabulary].argmax()))
        hidden = hidden if model.config.form == "parallel" else states
    return drafts
