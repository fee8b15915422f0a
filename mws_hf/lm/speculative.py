"""Self-speculative decoding with a multi-token model: its extra heads draft, its next-token head verifies.

The output is that of plain greedy decoding, token for token. Passes are counted, time is not saved: nothing is cached
between passes (see the reports of acceptance and bytes per step).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from mws_hf.lm.codec import Codec
from mws_hf.lm.generate import prompt_ids
from mws_hf.lm.mtp import MultiTokenModel


@dataclass(frozen=True)
class Speculation:
    """What drafting was worth.

    Attributes:
        steps: passes of the model; plain decoding needs one for each token.
        tokens: tokens made.
        n_bytes: their raw bytes.
        drafted: how often each head's draft was looked at, the head of the second token first.
        accepted: how often it was right, and all before it.
    """

    steps: int
    tokens: int
    n_bytes: int
    drafted: tuple[int, ...]
    accepted: tuple[int, ...]

    def __add__(self, other: Speculation) -> Speculation:
        return Speculation(
            self.steps + other.steps,
            self.tokens + other.tokens,
            self.n_bytes + other.n_bytes,
            tuple(map(sum, zip(self.drafted, other.drafted, strict=True))),
            tuple(map(sum, zip(self.accepted, other.accepted, strict=True))),
        )

    def to_dict(self) -> dict[str, Any]:
        """Rates for a report: acceptance by head (of all drafts made), tokens and bytes a step."""
        return {
            "steps": self.steps,
            "tokens": self.tokens,
            "bytes": self.n_bytes,
            "acceptance": [right / max(1, made) for right, made in zip(self.accepted, self.drafted, strict=True)],
            "tokens_per_step": self.tokens / max(1, self.steps),
            "bytes_per_step": self.n_bytes / max(1, self.steps),
        }


def speculative_generate(
    model: MultiTokenModel, codec: Codec, prompt: str, max_new_tokens: int = 40
) -> tuple[str, Speculation]:
    """Continue a prompt greedily; returns prompt and continuation, and what drafting was worth."""
    start = prompt_ids(codec, prompt)
    ids, statistics = speculative(model, start, max_new_tokens, codec.separator, codec.lengths)
    return codec.decode([np.array(ids, np.int64)])[0], statistics


def speculative(
    model: MultiTokenModel, ids: Sequence[int], max_new_tokens: int, stop: int, lengths: np.ndarray
) -> tuple[list[int], Speculation]:
    """`mws_hf.lm.generate.greedy` of `model.lm` in fewer passes.

    Args:
        model: in evaluation mode.
        ids: the prompt, at least one id.
        max_new_tokens: at most.
        stop: id that ends decoding; it is kept.
        lengths: int64 (ids,), raw bytes of each id; embedding rows beyond them are never chosen.
    """
    known = list(ids)
    draft: list[int] = []
    n_heads = len(model.heads)
    drafted, accepted, steps = [0] * n_heads, [0] * n_heads, 0
    end = len(known) + max_new_tokens
    with torch.inference_mode():
        while len(known) < end and (steps == 0 or known[-1] != stop):
            tokens = torch.tensor([known + draft], device=model.device)
            hidden, last = model.trunk(tokens)
            verdicts = model.lm.lm_head(last[0, len(known) - 1 :])[:, : len(lengths)].argmax(-1).tolist()
            right = _agreeing(draft, verdicts)
            steps += 1
            for head in range(len(draft)):
                drafted[head] += 1
                accepted[head] += head < right
            place = len(known) + right
            known = _until(known + verdicts[: right + 1], end, len(known), stop)
            draft = draft_tokens(model, hidden[:, :place], tokens[:, :place], verdicts[right], len(lengths))
    new = known[len(ids) :]
    return known, Speculation(steps, len(new), int(lengths[new].sum()), tuple(drafted), tuple(accepted))


def draft_tokens(
    model: MultiTokenModel, hidden: torch.Tensor, tokens: torch.Tensor, following: int, vocabulary: int
) -> list[int]:
    """Greedy drafts of all heads for the tokens after `following`, which itself comes right after `tokens`.

    Args:
        model: the multi-token model.
        hidden: `model.trunk` of `tokens`, (1, length, d).
        tokens: int64 (1, length).
        following: the verified next token.
        vocabulary: ids from here on are never chosen.
    """
    drafts: list[int] = []
    for head in range(len(model.heads)):
        # at place i the token head + 1 places on: past the end these are the tokens made so far
        made = torch.tensor([[following, *drafts][: head + 1]], device=tokens.device)
        ahead = torch.cat([tokens, made], dim=1)[:, head + 1 :]
        states = model.step(head, hidden, ahead)
        drafts.append(int(model.logits(states[:, -1])[:, :vocabulary].argmax()))
        hidden = hidden if model.config.form == "parallel" else states
    return drafts


def acceptance(model: MultiTokenModel, codec: Codec, prompts: Sequence[str], max_new_tokens: int = 40) -> Speculation:
    """`speculative_generate` over several prompts, added up."""
    results = [speculative_generate(model, codec, prompt, max_new_tokens)[1] for prompt in prompts]
    return sum(results[1:], results[0])


def _agreeing(draft: Sequence[int], verdicts: Sequence[int]) -> int:
    """How many first drafts are what the model itself says."""
    for index, (guess, verdict) in enumerate(zip(draft, verdicts, strict=False)):
        if guess != verdict:
            return index
    return len(draft)


def _until(ids: list[int], end: int, start: int, stop: int) -> list[int]:
    """Cut after the first stop from `start` on, and at `end`."""
    if stop in ids[start:]:
        ids = ids[: ids.index(stop, start) + 1]
    return ids[:end]
