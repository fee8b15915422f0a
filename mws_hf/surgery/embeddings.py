"""Give a pretrained model in memory another tokenizer; nothing is trained.

`mixtures` computes the new embeddings, and `checkpoint` does the same for models on disk.
"""

from __future__ import annotations

import copy
import json
import logging
from typing import Any

import torch

from mws_hf.errors import MwSError
from mws_hf.surgery.companions import check_no_token_adapter
from mws_hf.surgery.ids import (
    POSITIONS_AFTER_PAD,
    ROLE_FIELDS,
    SIZES,
    Role,
    Successor,
    parts_of_model,
    renumber_model,
)
from mws_hf.surgery.mixtures import TransplantReport, backend_of, mix_rows, new_table
from mws_hf.surgery.model_tables import Tensor, usable_tables, vocabulary_tables
from mws_hf.text.symbols import ROLES

logger = logging.getLogger(__name__)


def transplant(
    model: Any,
    old_tokenizer: Any,
    new_tokenizer: Any,
    init: str = "mean",
    pad_to_multiple: int | None = None,
) -> tuple[Any, TransplantReport]:
    """Copy a causal model and adapt it to another tokenizer.

    Tokens are matched by their strings if both tokenizers have the same decoder. Of those that are left, special tokens
    are matched by role or name, and all others by their bytes.

    Args:
        model: a causal model of transformers, which is not changed.
        old_tokenizer: the fast tokenizer with which it was trained.
        new_tokenizer: a fast tokenizer.
        init: initial embedding of a new token. "mean": the mean of the embeddings of the old tokens that spell it (FVT,
            Gee et al. 2022). "quiet": half of that, plus half of the mean of the embeddings of bytes that no text has,
            so that old tokens keep their probability.
        pad_to_multiple: the number of rows is rounded up to a multiple of this. The additional rows are those that the
            old embeddings have after their vocabulary, or the mean of all rows. With None, the new embeddings are
            padded like the old ones (see `mixtures.row_count`).

    Returns:
        The new model, with new special ids in its configs and the same ties, dtype and device; and a report.

    Raises:
        MwSError: one of these is true:

            * `model` is not a model, `init` is unknown, `pad_to_multiple` is below 1, or a tokenizer is slow.
            * The old tokenizer has more ids than the model has rows.
            * A tensor with a row per token cannot be changed, or an adapter trains single tokens.
            * The model numbers positions from its padding id up (RoBERTa), and the new tokenizer has a different one.

    >>> from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> def tokenizer(*merges):
    ...     return PreTrainedTokenizerFast(tokenizer_object=build_backend(base_vocab([], "ab", merges), merges))
    >>> sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    >>> config = LlamaConfig(vocab_size=258, num_key_value_heads=1, **sizes)
    >>> model, report = transplant(LlamaForCausalLM(config), tokenizer(), tokenizer(("a", "b")))
    >>> report.copied, report.mixed, model.config.vocab_size, tuple(model.get_input_embeddings().weight.shape)
    (258, 1, 259, (259, 8))
    """
    if not isinstance(model, torch.nn.Module) or not hasattr(model, "config"):
        raise MwSError(
            f"{type(model).__name__} is not a model of transformers; load one with AutoModelForCausalLM, or call "
            "transplant_directory for a model on disk"
        )
    check_no_token_adapter(model)
    settings = json.loads(model.config.to_json_string(use_diff=False))
    shapes = {name: Tensor(str(tensor.dtype), tuple(tensor.shape)) for name, tensor in model.state_dict().items()}
    tables = vocabulary_tables(shapes, settings)
    rows = usable_tables(tables, settings, type(model).__name__)
    # before the model is copied, because it may raise an error
    mixtures, report = mix_rows(old_tokenizer, new_tokenizer, init, rows, pad_to_multiple)
    changed = copy.deepcopy(model)  # with frozen, tied and added parameters
    tensors = changed.state_dict(keep_vars=True)
    by_vocabulary = {id(tensors[table.name]): (tensors[table.name], table) for table in tables}  # tied tensors once
    for tensor, table in by_vocabulary.values():
        tensor.data = new_table(tensor.detach(), table, mixtures)
    follow, by_role = _successors(old_tokenizer, new_tokenizer), _successors_by_role(old_tokenizer, new_tokenizer)
    for module in changed.modules():
        tensors_of_module = (*module._parameters.values(), *module._buffers.values())
        has_table = any(id(tensor) in by_vocabulary for tensor in tensors_of_module)
        for name in (*SIZES, *(("num_embeddings", "out_features") if has_table else ())):
            if vars(module).get(name) == rows:
                setattr(module, name, len(mixtures))
        if has_table and getattr(module, "padding_idx", None) is not None:
            new = follow(module.padding_idx)
            module.padding_idx = by_role.get(module.padding_idx) if new is None else new
    for config, size in ((changed.config, len(mixtures)), (getattr(changed, "generation_config", None), None)):
        if config is not None:
            before, after = (json.loads(config.to_json_string(use_diff=False)) for _ in range(2))
            fit_settings(after, type(config).__name__, old_tokenizer, new_tokenizer, size)
            _set_changed_fields(config, before, after)
    return changed, report


def _set_changed_fields(config: Any, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Set the fields of a config, and of nested configs, whose values differ between two versions of its dict."""
    for name, value in after.items():
        if value != before[name]:
            part = getattr(config, name)
            if hasattr(part, "to_dict"):
                _set_changed_fields(part, before[name], value)
            else:
                setattr(config, name, value)


def fit_settings(
    settings: dict[str, Any], name: str, old_tokenizer: Any, new_tokenizer: Any, rows: int | None = None
) -> list[str]:
    """Replace the ids in a config by those of the new tokenizer, in place, and warn of each field that lost an id.

    Args:
        settings: the config as a dict.
        name: its name in warnings.
        old_tokenizer: the tokenizer that the ids belong to.
        new_tokenizer: the new tokenizer.
        rows: the number of rows of the new embeddings; None leaves the size of the vocabulary unchanged.

    Returns:
        The fields that lost an id.

    Raises:
        MwSError: the model numbers positions from its padding id up, and the new tokenizer has a different padding id.
    """
    numbering = [part for _, part in parts_of_model(settings) if part.get("model_type") in POSITIONS_AFTER_PAD]
    padding = [part.get("pad_token_id") for part in numbering]
    roles = {
        role: Role(getattr(new_tokenizer, role, None), new=getattr(old_tokenizer, role, None) is None)
        for role in ROLE_FIELDS
    }
    by_role = _successors_by_role(old_tokenizer, new_tokenizer)
    lost = renumber_model(settings, _successors(old_tokenizer, new_tokenizer), roles, rows, by_role)
    for part, old in zip(numbering, padding, strict=True):
        if old is not None and (new := part["pad_token_id"]) != old:
            has = "no pad token" if new is None else f"pad_token_id {new}"
            raise MwSError(
                f"{name}: a model of type {part['model_type']} numbers positions from its pad_token_id {old} up, but "
                f"the new tokenizer has {has}; give a tokenizer whose pad token has id {old}"
            )
    for field in lost:
        logger.warning("%s: %s has the id of a token that the new tokenizer lacks; the id was removed", name, field)
    return lost


def _successors(old_tokenizer: Any, new_tokenizer: Any) -> Successor:
    """Return the function from an id of one tokenizer to the id of the same token in the other, or None."""
    old, new = backend_of(old_tokenizer), backend_of(new_tokenizer)

    def successor(number: int) -> int | None:
        token = old.id_to_token(number)
        return None if token is None else new.token_to_id(token)

    return successor


def _successors_by_role(old_tokenizer: Any, new_tokenizer: Any) -> dict[int, int]:
    """Return the new id of each old id that has a role in both tokenizers, by the first of its roles."""
    found: dict[int, int] = {}
    for role in ROLES:
        old, new = (getattr(tokenizer, f"{role}_id", None) for tokenizer in (old_tokenizer, new_tokenizer))
        if old is not None and new is not None:
            found.setdefault(old, new)
    return found
