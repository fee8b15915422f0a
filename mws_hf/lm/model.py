"""The stock model of a run and what it costs; multi-token heads are in `mtp`."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from mws_hf.errors import MwSError
from mws_hf.lm.codec import Codec
from mws_hf.lm.config import RunConfig
from mws_hf.lm.packing import Blocks


def model_config(config: RunConfig, codec: Codec) -> LlamaConfig:
    """A stock Llama decoder with tied embeddings.

    Raises:
        MwSError: fewer embedding rows than the vocabulary has entries.
    """
    rows = config.embedding_rows or codec.vocabulary_size
    if rows < codec.vocabulary_size:
        raise MwSError(
            f"embedding_rows={rows} is less than the vocabulary of {codec.directory}, {codec.vocabulary_size}"
        )
    return LlamaConfig(
        vocab_size=rows,
        hidden_size=config.hidden_size,
        intermediate_size=config.feed_forward,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        num_key_value_heads=config.heads,
        # a token that spells nothing can follow every byte; no context is longer than that
        max_position_embeddings=2 * config.context_bytes + 2,
        tie_word_embeddings=True,
        bos_token_id=codec.separator,
        eos_token_id=codec.separator,
        pad_token_id=codec.padding,
        attn_implementation="sdpa" if torch.cuda.is_available() else "eager",
    )


def build_model(config: RunConfig, codec: Codec) -> LlamaForCausalLM:
    """The model with the initial weights of the run's seed; the trunk is the same for vocabularies of equal rows."""
    torch.manual_seed(config.seed)
    return LlamaForCausalLM(model_config(config, codec))


@dataclass(frozen=True)
class Cost:
    """Floating-point operations of training, by the estimate of Kaplan et al. (2020) with the attention term.

    A token costs ``6 * (non-embedding parameters + rows * width) + 12 * layers * width * context / 2``: forward and
    backward, the unembedding included, attention over half the block on average.

    Attributes:
        non_embedding: parameters besides the tied embedding.
        embedding: parameters of the tied embedding.
        layers: decoder layers.
        width: hidden size.
    """

    non_embedding: int
    embedding: int
    layers: int
    width: int

    @classmethod
    def of(cls, model: torch.nn.Module) -> Cost:
        """Count the parameters of a causal model of transformers; tied ones count once."""
        config = model.config
        embedding = model.get_input_embeddings().weight.numel()
        total = sum(parameter.numel() for parameter in model.parameters())
        return cls(total - embedding, embedding, config.num_hidden_layers, config.hidden_size)

    def of_block(self, n_tokens: float) -> float:
        """Operations of training on one block of `n_tokens` ids.

        >>> Cost(non_embedding=10, embedding=20, layers=1, width=2).of_block(4)
        912
        """
        return n_tokens * (6 * (self.non_embedding + self.embedding) + 6 * self.layers * self.width * n_tokens)

    def of_training(self, blocks: Blocks) -> float:
        """Operations of one pass over all blocks."""
        sizes = (blocks.bounds[1:] - blocks.bounds[:-1]).tolist()
        return sum(map(self.of_block, sizes))

    def affordable(self, blocks: Blocks, budget: float) -> Blocks:
        """The first blocks whose training stays within the budget.

        Raises:
            MwSError: not even one, or the text ends before the budget does.
        """
        spent, count = 0.0, 0
        for size in (blocks.bounds[1:] - blocks.bounds[:-1]).tolist():
            spent += self.of_block(size)
            if spent > budget:
                break
            count += 1
        else:
            if spent < 0.99 * budget:
                raise MwSError(f"flop_budget={budget:.3g}: the text is used up after {spent:.3g}; raise train_bytes")
        if count == 0:
            raise MwSError(f"flop_budget={budget:.3g} is less than one block costs; raise it")
        return blocks.first(count)
