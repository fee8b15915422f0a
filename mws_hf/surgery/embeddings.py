"""Give a pretrained model another tokenizer: new embeddings are means of old ones, and nothing is trained.

Tokens are matched by their raw bytes, so that byte-level, metaspace and character-level tokenizers can replace each
other. If the tokenizer was extended or trimmed, each old token keeps its embedding bit for bit. A new embedding is a
weighted mean of old ones, with the same weights in all tensors that have a row per token. `surgery.checkpoint` does
this for models on disk.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import logging
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from tokenizers import Tokenizer

from mws_hf.errors import MwSError, SettingError
from mws_hf.learn.setting_rules import Range, check_range
from mws_hf.surgery.base import IdMap, Spelling, raw_bytes
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
from mws_hf.surgery.model_tables import Table, Tensor, usable_tables, vocabulary_tables
from mws_hf.text.symbols import ROLES
from mws_hf.tokenizer.layout import IDS_FILE

Mixture: TypeAlias = tuple[list[int], list[float]]
"""Old ids and their weights, which add up to 1. A single id means a copy; no ids mean the mean of all old rows."""

INITS = ("mean", "quiet")
_NEVER = [bytes([byte]) for byte in (0xC0, 0xC1, *range(0xF5, 0x100))]
"""Bytes that never occur in UTF-8, so that a model has learned never to predict their tokens."""

logger = logging.getLogger(__name__)

_LARGEST_MULTIPLE = 256
"""The largest multiple to which the rows of new embeddings are rounded up if the caller names none."""


@dataclass(frozen=True)
class TransplantReport:
    """The number of new embeddings by the way in which they were computed.

    Attributes:
        special: embeddings of special tokens, matched by role or by name.
        copied: embeddings of tokens with the same bytes in both vocabularies, and kept rows that no token uses.
        mixed: means of the embeddings of the old tokens that spell the new one.
        fallback: means of all old embeddings, for tokens that the old tokenizer cannot spell, such as a special token
            that it lacks.
        padding: rows after the vocabulary, which no token uses.
    """

    special: int
    copied: int
    mixed: int
    fallback: int
    padding: int = 0


def transplant(
    model: Any,
    old_tokenizer: Any,
    new_tokenizer: Any,
    init: str = "mean",
    pad_to_multiple: int | None = None,
) -> tuple[Any, TransplantReport]:
    """Copy a causal model and fit it to another tokenizer.

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
            padded as the old ones, see `row_count`.

    Returns:
        The new model, with new special ids in its configs and the same ties, dtype and device; and a report.

    Raises:
        MwSError: `model` is not a model, `init` is unknown, `pad_to_multiple` is below 1, a tokenizer is slow, the old
            one has more ids than the model has rows, a tensor with a row per token cannot be changed, an adapter
            trains single tokens, or the model numbers positions from its padding id on (RoBERTa), and the new tokenizer
            has another padding id.

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
        MwSError: the model numbers positions from its padding id on, and the new tokenizer has another padding id.
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
                f"{name}: a model of type {part['model_type']} numbers positions from its pad_token_id {old} on, but "
                f"the new tokenizer has {has}; give a tokenizer whose pad token has id {old}"
            )
    for field in lost:
        logger.warning("%s: %s has the id of a token that the new tokenizer lacks; the id was removed", name, field)
    return lost


def mix_rows(
    old_tokenizer: Any,
    new_tokenizer: Any,
    init: str,
    rows: int,
    pad_to_multiple: int | None,
    ids: IdMap | None = None,
) -> tuple[list[Mixture], TransplantReport]:
    """Compute, for each new row, the old rows whose weighted mean it is.

    Args:
        old_tokenizer: the tokenizer of the old embeddings.
        new_tokenizer: the tokenizer of the new embeddings.
        init: one of `INITS`; see `transplant`.
        rows: number of rows of the old embeddings.
        pad_to_multiple: see `transplant`.
        ids: the new id of each old id; None to match tokens by their strings.

    Returns:
        A mixture for each row of the new embeddings, and how many of them were computed in which way.

    Raises:
        MwSError: as in `transplant`, or `ids` does not fit the two tokenizers.
    """
    if init not in INITS:
        raise SettingError("init", init, f"is unknown; choose one of {', '.join(INITS)}")
    old, new = Spelling(_backend(old_tokenizer), rows), _backend(new_tokenizer)
    old_size, pieces = _size_with_rows(old.backend, rows), raw_bytes(new)
    n_rows = row_count(rows, old_size, len(pieces), pad_to_multiple)
    kept = {number: index for number, index in kept_rows(old.backend, new, ids).items() if index < rows}
    mixtures, report = _mean_mixtures(old, pieces, _special_matches(old_tokenizer, new_tokenizer, rows), kept)
    if init == "quiet":
        mixtures = quieted(mixtures, old)
    report = dataclasses.replace(report, padding=n_rows - len(pieces))
    for index in range(len(pieces), n_rows):
        spare = index if index >= old_size else old_size + index - len(pieces)
        mixtures.append(([spare], [1.0]) if spare < rows else ([], []))
    return mixtures, report


def _size_with_rows(old: Tokenizer, rows: int) -> int:
    """Return the largest id plus one, without added tokens for which the model has no row; warn of such tokens.

    An example is a pad token that is only in tokenizer_config.json. The model can never have read such a token.
    """
    added, vocab = old.get_added_tokens_decoder(), old.get_vocab()
    beyond = sorted((number, token) for token, number in vocab.items() if number >= rows)
    if not beyond or any(number not in added for number, _ in beyond):
        return max(vocab.values(), default=-1) + 1
    logger.warning(
        "the model has no embedding for %s, so it was never trained with it; the new model gets an embedding, "
        "initialized like that of a new token: train the model before you use it",
        ", ".join(repr(token) for _, token in beyond),
    )
    return rows


def _successors(old_tokenizer: Any, new_tokenizer: Any) -> Successor:
    """Return the function from an id of one tokenizer to the id of the same token in the other, or None."""
    old, new = _backend(old_tokenizer), _backend(new_tokenizer)

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


def kept_rows(old: Tokenizer, new: Tokenizer, ids: IdMap | None = None) -> dict[int, int]:
    """Return the old id of each new id whose token is the same.

    Tokens are matched by `ids` (ids.json). Without `ids`, they are matched by their strings if both tokenizers have the
    same decoder; if not, the result is empty. An id that has no token in either tokenizer is matched with itself.

    Raises:
        MwSError: `ids` is of another base.
    """
    size, old_size = (max(backend.get_vocab().values(), default=-1) + 1 for backend in (new, old))
    if ids is not None:
        _check_map(old, new, ids, old_size)
        return {number: index for index, number in ids.items() if number is not None}
    decoders = [None if backend.decoder is None else backend.decoder.__getstate__() for backend in (old, new)]
    if decoders[0] != decoders[1]:  # equal strings may then be different bytes
        return {}
    found = {}
    for index in range(size):
        token = new.id_to_token(index)
        source = index if token is None and old.id_to_token(index) is None else old.token_to_id(token or "")
        if source is not None:
            found[index] = source
    return found


def _check_map(old: Tokenizer, new: Tokenizer, ids: IdMap, old_size: int) -> None:
    """Raise MwSError unless ids.json maps all ids of the old tokenizer to the same tokens of the new one."""
    remedy = f"{IDS_FILE} belongs to another base; give its model, or remove {IDS_FILE} to match tokens by string"
    if len(ids) != old_size:
        raise MwSError(f"{IDS_FILE} maps {len(ids)} ids but the model's tokenizer has {old_size}: {remedy}")
    for index, number in ids.items():
        if number is not None and old.id_to_token(index) != new.id_to_token(number):
            tokens = f"{index} is {old.id_to_token(index)!r}, but {number} is {new.id_to_token(number)!r}"
            raise MwSError(f"{IDS_FILE} maps id {index} to {number}, but token {tokens}: {remedy}")


def row_count(rows: int, old_size: int, new_size: int, pad_to_multiple: int | None) -> int:
    """Compute the number of rows of the new embeddings.

    Without `pad_to_multiple` the rows are padded as those of the base. If the base has no padding, neither have the new
    embeddings; if it has, their number is a multiple of the largest power of two, at most 256, that divides the old
    number. It is never smaller than the old number unless the vocabulary became smaller.

    Args:
        rows: number of rows of the old embeddings.
        old_size: largest old id plus one.
        new_size: largest new id plus one.
        pad_to_multiple: if it is given, `new_size` is rounded up to a multiple of this.

    Raises:
        MwSError: `rows` is smaller than `old_size`, or `pad_to_multiple` is not a whole number from 1 up.

    >>> row_count(262_208, 262_145, 278_145, None), row_count(151_936, 151_665, 151_700, None)  # Gemma 3, Qwen 2.5
    (278208, 151936)
    >>> row_count(500, 500, 480, None), row_count(512, 500, 450, None), row_count(500, 500, 450, 64)
    (480, 512, 512)
    """
    if rows < old_size:
        raise MwSError(
            f"the model has {rows} rows of embeddings, but its tokenizer has {old_size} ids; give the tokenizer that "
            "it was trained with, or resize its embeddings first"
        )
    check_range("pad_to_multiple", pad_to_multiple, Range(1, whole=True), optional=True)
    if pad_to_multiple is not None:
        return -(-new_size // pad_to_multiple) * pad_to_multiple
    if rows == old_size:
        return new_size
    if old_size <= new_size <= rows:
        return rows
    multiple = min(rows & -rows, _LARGEST_MULTIPLE)
    return -(-new_size // multiple) * multiple


def _special_matches(old_tokenizer: Any, new_tokenizer: Any, rows: int) -> dict[int, int]:
    """Return the old id of each new special token, matched by role, then by name.

    A role that the old tokenizer lacks is matched with its end token.
    """
    matches: dict[int, int] = {}
    end = getattr(old_tokenizer, "eos_token_id", None)
    for role in ROLES:
        index, old = (getattr(tokenizer, f"{role}_id", None) for tokenizer in (new_tokenizer, old_tokenizer))
        source = end if old is None or old >= rows else old
        if index is not None and source is not None:
            matches.setdefault(index, source)
    vocab = _backend(old_tokenizer).get_vocab(with_added_tokens=True)
    for index, token in _backend(new_tokenizer).get_added_tokens_decoder().items():
        if token.special and token.content in vocab:
            matches.setdefault(index, vocab[token.content])
    return {index: source for index, source in matches.items() if source < rows}


def _mean_mixtures(
    old: Spelling, new_pieces: list[bytes], special: dict[int, int], kept: dict[int, int]
) -> tuple[list[Mixture], TransplantReport]:
    """Compute the mixture of each new id by FVT: a copy, or the mean of the old tokens that spell the new one."""
    mixtures: list[Mixture] = []
    copied = mixed = 0
    for index, piece in enumerate(new_pieces):
        if index in kept:
            mixtures.append(([kept[index]], [1.0]))
            copied += index not in special
        elif index in special:
            mixtures.append(([special[index]], [1.0]))
        elif piece in old.by_bytes:
            mixtures.append(([old.by_bytes[piece]], [1.0]))
            copied += 1
        elif piece and (ids := old.spell(piece)):
            mixtures.append((ids, [1 / len(ids)] * len(ids)))
            mixed += 1
        else:
            mixtures.append(([], []))
    return mixtures, TransplantReport(len(special), copied, mixed, len(mixtures) - len(special) - copied - mixed)


def quieted(mixtures: list[Mixture], old: Spelling) -> list[Mixture]:
    """Mix half of the embeddings of bytes that no text has into each new embedding that is a mean.

    A model has learned never to predict these bytes. So before new tokens are trained, they take little probability
    from old ones, whether the head is tied or not. Embeddings that are copied from one old token are not changed.
    """
    never = [old.by_bytes[byte] for byte in _NEVER if byte in old.by_bytes]
    if not never:
        raise SettingError("init", "quiet", "needs tokens of single bytes, which the old one lacks; choose 'mean'")
    silence = [0.5 / len(never)] * len(never)
    return [
        (ids + never, [weight / 2 for weight in weights] + silence) if len(ids) > 1 else (ids, weights)
        for ids, weights in mixtures
    ]


def _means(matrix: torch.Tensor, mixtures: list[Mixture]) -> torch.Tensor:
    """Compute weighted means of rows in float32, shape (mixtures, width); only rows that occur are converted."""
    flat = torch.tensor([index for ids, _ in mixtures for index in ids], device=matrix.device, dtype=torch.long)
    weights = torch.tensor([weight for _, shares in mixtures for weight in shares], device=matrix.device)
    starts = torch.tensor([0, *(len(ids) for ids, _ in mixtures)], device=matrix.device).cumsum(0)[:-1]
    used, places = flat.unique(return_inverse=True)
    return torch.nn.functional.embedding_bag(
        places, matrix[used].float(), starts, mode="sum", per_sample_weights=weights.float()
    )


def new_table(old: torch.Tensor, table: Table, mixtures: list[Mixture]) -> torch.Tensor:
    """Compute the new rows of a tensor with a row per token; copied rows are equal bit for bit.

    If a table has fewer rows than ids, an id without a row uses the first row, as in Gemma.

    Args:
        old: the tensor.
        table: its description; the tokens are along `table.axis`.
        mixtures: a mixture for each new row.

    Returns:
        A tensor of the same dtype and shape, but with len(mixtures) rows along `table.axis`.
    """
    if table.rows <= max((index for ids, _ in mixtures for index in ids), default=0):
        mixtures = [([index if index < table.rows else 0 for index in ids], weights) for ids, weights in mixtures]
    entries = old.movedim(table.axis, 0)
    matrix = entries.reshape(len(entries), -1)
    rows = matrix.new_empty((len(mixtures), matrix.shape[1]))
    single = [index for index, (ids, _) in enumerate(mixtures) if len(ids) == 1]
    rows[single] = matrix[[mixtures[index][0][0] for index in single]]
    if mixed := [index for index, (ids, _) in enumerate(mixtures) if len(ids) > 1]:
        rows[mixed] = _means(matrix, [mixtures[index] for index in mixed]).to(matrix.dtype)
    if empty := [index for index, (ids, _) in enumerate(mixtures) if not ids]:
        rows[empty] = matrix.mean(0, dtype=torch.float32).to(matrix.dtype)
    return rows.view(len(rows), *entries.shape[1:]).movedim(0, table.axis).contiguous()


def _backend(tokenizer: Any) -> Tokenizer:
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not isinstance(backend, Tokenizer):
        name = type(tokenizer).__name__
        raise MwSError(f"{name} is not a fast tokenizer; load one with AutoTokenizer from a folder with tokenizer.json")
    return backend
