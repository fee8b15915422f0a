"""The models of a run, which are standard Llama models with optional multi-token prediction, and the cost of training.

Multi-token prediction has two forms:

* "parallel": each head is one transformer layer on a shared trunk, and the unembedding is shared (Gloeckle et al.
  2024);
* "sequential": the heads are modules in a chain, which also read the tokens in between (DeepSeek-V3, 2024, section
  2.2).

The last layer of the standard model is the head of the next token, so `MultiTokenModel.lm` is always a complete causal
model.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaDecoderLayer, LlamaRMSNorm

from lm.config import MultiToken, RunConfig
from lm.data import IGNORED, Blocks, Codec
from mws_hf.errors import MwSError


def build_model(config: RunConfig, codec: Codec) -> LlamaForCausalLM:
    """Build a standard decoder with tied embeddings.

    Models with equal settings, embedding rows and seed have equal initial weights, whatever their tokenizer.

    Raises:
        MwSError: there are fewer embedding rows than the vocabulary size.
    """
    rows = config.embedding_rows or codec.vocabulary_size
    if rows < codec.vocabulary_size:
        raise MwSError(
            f"embedding_rows={rows} is less than the vocabulary size of {codec.directory}, which is "
            f"{codec.vocabulary_size}; increase it"
        )
    torch.manual_seed(config.seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=rows,
            hidden_size=config.hidden_size,
            intermediate_size=config.feed_forward,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            num_key_value_heads=config.heads,
            # a context is longest if a token without bytes follows each byte
            max_position_embeddings=2 * config.context_bytes + 2,
            tie_word_embeddings=True,
            bos_token_id=codec.separator,
            eos_token_id=codec.separator,
            pad_token_id=codec.padding,
            attn_implementation="sdpa" if torch.cuda.is_available() else "eager",
        )
    )


@dataclass(frozen=True)
class Cost:
    """The floating-point operations of training, estimated as by Kaplan et al. (2020) with the attention term.

    A token costs ``6 * (non-embedding parameters + rows * width) + 12 * layers * width * context / 2`` operations. This
    covers the forward and the backward pass, includes the unembedding, and assumes attention over half the block on
    average.

    Attributes:
        non_embedding: number of parameters without the tied embedding.
        embedding: number of parameters of the tied embedding.
        layers: number of decoder layers.
        width: hidden size.
    """

    non_embedding: int
    embedding: int
    layers: int
    width: int

    @classmethod
    def of(cls, model: torch.nn.Module) -> Cost:
        """Count the parameters of a causal model of transformers; tied parameters count once."""
        embedding = model.get_input_embeddings().weight.numel()
        total = sum(parameter.numel() for parameter in model.parameters())
        return cls(total - embedding, embedding, model.config.num_hidden_layers, model.config.hidden_size)

    def of_block(self, n_tokens: float) -> float:
        """Compute the operations of training on one block of `n_tokens` ids.

        >>> Cost(non_embedding=10, embedding=20, layers=1, width=2).of_block(4)
        912
        """
        return n_tokens * (6 * (self.non_embedding + self.embedding) + 6 * self.layers * self.width * n_tokens)

    def of_training(self, blocks: Blocks) -> float:
        """Compute the operations of one pass over all blocks."""
        return sum(self._of_each(blocks))

    def affordable(self, blocks: Blocks, budget: float) -> Blocks:
        """Return the first blocks whose training stays within a budget of operations.

        Raises:
            MwSError: the budget is too small for one block, or the text is too short to use it.
        """
        spent = list(accumulate(self._of_each(blocks)))
        count = bisect_right(spent, budget)
        if count == len(spent) and spent[-1] < 0.99 * budget:
            raise MwSError(f"flop_budget={budget:.3g}: the text is used up after {spent[-1]:.3g}; increase train_bytes")
        if count == 0:
            raise MwSError(f"flop_budget={budget:.3g} is less than the cost of one block; increase it")
        return blocks.first(count)

    def _of_each(self, blocks: Blocks) -> list[float]:
        return [self.of_block(size) for size in (blocks.bounds[1:] - blocks.bounds[:-1]).tolist()]


class MultiTokenConfig(PretrainedConfig):
    """The config of a `MultiTokenModel`.

    Args:
        trunk: the values of the standard model's `LlamaConfig`.
        form: "parallel" or "sequential".
        horizon: number of tokens that are predicted from each position, including the next one.
        extra_weight: weight of the mean loss of the tokens after the next one.
    """

    model_type = "mws_multi_token"

    def __init__(
        self,
        trunk: dict[str, Any] | None = None,
        form: str = "parallel",
        horizon: int = 4,
        extra_weight: float = 0.3,
        **options: Any,
    ) -> None:
        MultiToken(form=form, horizon=horizon)  # raises MwSError if one is not valid
        self.trunk = trunk or {}
        self.form = form
        self.horizon = horizon
        self.extra_weight = extra_weight
        self.initializer_range = self.trunk.get("initializer_range", 0.02)
        super().__init__(**options)


class SequentialModule(nn.Module):
    """A module of the sequential form: ``block(M [RMSNorm(h_i); RMSNorm(Emb(t_{i+k}))])``, where M maps 2d to d."""

    def __init__(self, config: LlamaConfig, index: int) -> None:
        super().__init__()
        self.hidden_norm = LlamaRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.token_norm = LlamaRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.projection = nn.Linear(2 * config.hidden_size, config.hidden_size, bias=False)
        self.block = LlamaDecoderLayer(config, index)

    def join(self, hidden: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Compute the block's input from hidden states and embedded tokens, both of shape (batch, length, d)."""
        return self.projection(torch.cat([self.hidden_norm(hidden), self.token_norm(tokens)], dim=-1))


class MultiTokenModel(PreTrainedModel):
    """A standard causal model with additional heads for the tokens after the next one.

    Attributes:
        lm: the standard `LlamaForCausalLM`, whose embedding, unembedding and final norm the heads share.
        heads: one head per token after the next one.
        active_horizon: number of tokens that the loss includes; a curriculum may change it.
    """

    config_class = MultiTokenConfig
    base_model_prefix = ""
    supports_gradient_checkpointing = False
    _supports_sdpa = True

    def __init__(self, config: MultiTokenConfig) -> None:
        super().__init__(config)
        self.lm = LlamaForCausalLM(LlamaConfig(**config.trunk))
        self.heads = nn.ModuleList(
            LlamaDecoderLayer(self.lm.config, index)
            if config.form == "parallel"
            else SequentialModule(self.lm.config, index)
            for index in range(config.horizon - 1)
        )
        self.active_horizon = config.horizon
        self.post_init()

    @classmethod
    def around(
        cls, model: LlamaForCausalLM, form: str = "parallel", horizon: int = 4, extra_weight: float = 0.3
    ) -> MultiTokenModel:
        """Wrap a standard model, which stays unchanged, and create new heads."""
        config = MultiTokenConfig(model.config.to_dict(), form, horizon, extra_weight)
        wrapped = cls(config)
        wrapped.lm = model
        for module in wrapped.heads.modules():
            if isinstance(module, LlamaAttention):
                module.config = model.config
        return wrapped.to(device=model.device, dtype=model.dtype)

    def get_input_embeddings(self) -> nn.Module:
        """Return the input embeddings of the standard model."""
        return self.lm.get_input_embeddings()

    def get_output_embeddings(self) -> nn.Module:
        """Return the output embeddings of the standard model."""
        return self.lm.get_output_embeddings()

    def trunk(self, input_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute the hidden states that the heads read, and the standard model's last ones, after its final norm.

        Both have shape (batch, length, d). Parallel heads read the input of the standard model's last layer, and
        sequential heads read its output.
        """
        outputs = self.lm.model(input_ids=input_ids, output_hidden_states=True, use_cache=False)
        last = outputs.last_hidden_state
        return (outputs.hidden_states[-2] if self.config.form == "parallel" else last), last

    def step(self, head: int, hidden: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Compute the hidden states of one head before the final norm; head 0 predicts the second token.

        Args:
            head: number of the head.
            hidden: states of the trunk ("parallel") or of the previous module ("sequential"), (batch, length, d).
            tokens: int64 (batch, length), at position i the token ``head + 1`` positions after i. Parallel heads do not
                use them.
        """
        module = self.heads[head]
        if self.config.form == "parallel":
            return self._block(module, hidden)
        return self._block(module.block, module.join(hidden, self.get_input_embeddings()(tokens)))

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Apply the shared final norm and the shared unembedding to the hidden states of a head."""
        return self.lm.lm_head(self.lm.model.norm(hidden))

    def forward(
        self,
        input_ids: torch.Tensor,
        labels: torch.Tensor | None = None,
        num_items_in_batch: torch.Tensor | int | None = None,
        **unused: Any,
    ) -> CausalLMOutput:
        """Compute the logits of the next token and, if there are labels, the loss.

        The loss is the loss of the next token plus `extra_weight` times the mean loss of the other active heads.

        Args:
            input_ids: int64 (batch, length), padded on the right.
            labels: the input ids, with `IGNORED` (-100) at positions that are not predicted; they are shifted here.
            num_items_in_batch: the number of predicted tokens, by which sums of nats are divided; None: count `labels`.
            **unused: further arguments that `Trainer` may pass.
        """
        hidden, last = self.trunk(input_ids)
        logits = self.lm.lm_head(last)
        if labels is None:
            return CausalLMOutput(logits=logits)
        count = (labels[:, 1:] != IGNORED).sum() if num_items_in_batch is None else num_items_in_batch
        loss = _nats(logits, labels, 1) / count
        extra = torch.zeros_like(loss)
        for head in range(self.active_horizon - 1):
            length = input_ids.shape[1] - head - 1
            if length < 2:
                break
            states = self.step(head, hidden[:, :length], input_ids[:, head + 1 :])
            extra = extra + _nats(self.logits(states), labels, head + 2) / count
            hidden = hidden if self.config.form == "parallel" else states
        return CausalLMOutput(
            loss=loss + self.config.extra_weight * extra / max(1, self.active_horizon - 1), logits=logits
        )

    def _block(self, block: nn.Module, hidden: torch.Tensor) -> torch.Tensor:
        length = hidden.shape[1]
        places = torch.arange(length, device=hidden.device).unsqueeze(0)
        mask = torch.full((length, length), torch.finfo(hidden.dtype).min, dtype=hidden.dtype, device=hidden.device)
        output = block(
            hidden,
            attention_mask=mask.triu(1)[None, None],
            position_ids=places,
            position_embeddings=self.lm.model.rotary_emb(hidden, position_ids=places),
        )
        return output[0] if isinstance(output, tuple) else output  # transformers 4 returns a tuple


def _nats(logits: torch.Tensor, labels: torch.Tensor, ahead: int) -> torch.Tensor:
    """Return the sum of -log p of the labels that are `ahead` positions after their logits."""
    usable = labels[:, ahead:]
    rows = logits[:, : usable.shape[1]].float()
    return nn.functional.cross_entropy(
        rows.reshape(-1, rows.shape[-1]), usable.reshape(-1), ignore_index=IGNORED, reduction="sum"
    )
