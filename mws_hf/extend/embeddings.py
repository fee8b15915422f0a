"""Give a pretrained model another tokenizer, by new embeddings mixed from old ones; nothing is trained.

Tokens are matched by their raw bytes, so byte-level, metaspace and character-level tokenizers meet; of an extended or
trimmed tokenizer (`mws_hf.extend`) every old token keeps its row bit for bit. Every new row is a weighted mean of old
rows, and input and output embeddings use the same weights. Models on disk: `extend.checkpoint`.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from tokenizers import Tokenizer

from mws_hf.errors import MwSError
from mws_hf.extend.id_map import IdMap, kept_rows, row_count
from mws_hf.extend.spelling import Spelling, raw_bytes

Mixture: TypeAlias = tuple[list[int], list[float]]
"""Old ids and their weights, which add up to 1."""

METHODS = ("mean", "focus")
SPECIAL_IDS = ("bos_token_id", "eos_token_id", "pad_token_id")
_ROLES = ("bos_token", "eos_token", "pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
_NEIGHBOURS = 16
_CHUNK = 1024


@dataclass(frozen=True)
class TransplantReport:
    """The origin of the new rows.

    Attributes:
        special: special tokens, by role or by name.
        copied: tokens with the same bytes in both vocabularies; old rows that no token uses, kept, are among them.
        mixed: tokens made of old pieces ("mean") or of similar copied tokens ("focus").
        fallback: tokens that the old tokenizer cannot spell, such as special tokens it lacks: the mean of all old rows.
        padding: rows behind the vocabulary, which no token uses.
    """

    special: int
    copied: int
    mixed: int
    fallback: int
    padding: int = 0


def transplant(
    model: Any, old_tokenizer: Any, new_tokenizer: Any, method: str = "focus", pad_to_multiple: int | None = None
) -> tuple[Any, TransplantReport]:
    """Copy a causal model and fit it to another tokenizer.

    Args:
        model: a causal model of transformers; left as it is.
        old_tokenizer: the fast tokenizer it was trained with.
        new_tokenizer: a fast tokenizer.
        method: "mean": a new token is the mean of the old tokenizer's pieces of its string (FVT, Gee et al. 2022).
            "focus": a similarity-weighted mean of tokens in both vocabularies (FOCUS, Dobler & de Melo 2023); "similar"
            means near the mean of the old pieces in the old embedding space (the paper trains fastText vectors).
        pad_to_multiple: rows are filled up to a multiple of this, by old rows behind the vocabulary or the mean of all;
            None does as the old embeddings have it, see `mws_hf.extend.id_map.row_count`.

    Returns:
        The new model (tied embeddings, dtype and device kept, the special ids of its configs changed), and a report.

    Raises:
        MwSError: unknown method, a slow tokenizer, or an old one with more ids than the model has rows.
    """
    matrix = model.get_input_embeddings().weight.detach() if hasattr(model, "get_input_embeddings") else None
    mixtures, report = mix_rows(old_tokenizer, new_tokenizer, method, matrix, pad_to_multiple)
    changed = copy.deepcopy(model)
    _replace_rows(model, changed, mixtures)
    for config in filter(None, (changed.config, getattr(changed, "generation_config", None))):
        for name in filter(holds_ids, config.to_dict()):
            setattr(config, name, special_id(name, getattr(config, name, None), old_tokenizer, new_tokenizer))
    return changed, report


def mix_rows(
    old_tokenizer: Any,
    new_tokenizer: Any,
    method: str,
    matrix: torch.Tensor | None,
    pad_to_multiple: int | None,
    ids: IdMap | None = None,
) -> tuple[list[Mixture], TransplantReport]:
    """Find which old rows make each new one.

    Args:
        old_tokenizer: tokenizer that the model was trained with.
        new_tokenizer: a fast tokenizer.
        method: "mean" or "focus", see `transplant`.
        matrix: the input embeddings; None stands for as many rows as the old tokenizer has ids.
        pad_to_multiple: rows are filled up to a multiple of this, see `transplant`.
        ids: new id of each old id; None matches tokens by their strings.

    Raises:
        MwSError: unknown method, a slow tokenizer, more ids than rows, or a map of another base.
    """
    if method not in METHODS:
        raise MwSError(f"method={method!r}; choose one of {', '.join(METHODS)}")
    old, new = Spelling(_backend(old_tokenizer)), _backend(new_tokenizer)
    old_size, pieces = len(old.pieces), raw_bytes(new)
    rows = old_size if matrix is None else len(matrix)
    n_rows = row_count(rows, old_size, len(pieces), pad_to_multiple)
    kept = kept_rows(old.backend, new, ids)
    mixtures, report = _mean_mixtures(old, pieces, _special_matches(old_tokenizer, new_tokenizer), kept)
    if method == "focus" and matrix is not None:
        mixtures = _focus_mixtures(mixtures, matrix.float())
    report = dataclasses.replace(report, padding=n_rows - len(pieces))
    for index in range(len(pieces), n_rows):
        spare = index if index >= old_size else old_size + index - len(pieces)
        mixtures.append(([spare], [1.0]) if spare < rows else ([], []))
    return mixtures, report


def holds_ids(name: str) -> bool:
    """Tell whether an entry of a config holds ids of the tokenizer.

    >>> holds_ids("image_token_index"), holds_ids("eos_token_id"), holds_ids("vocab_size")
    (True, True, False)
    """
    return name.endswith(("_token_id", "_token_ids", "_token_index"))


def special_id(name: str, value: Any, old_tokenizer: Any, new_tokenizer: Any) -> Any:
    """Return the new value of an entry of a config such as ``eos_token_id``.

    It is the ids of the same tokens in the new tokenizer, where it has them all. Else it is the new tokenizer's id for
    that role, if the role is one of `SPECIAL_IDS`, or the old value.
    """
    old, new = _backend(old_tokenizer), _backend(new_tokenizer)
    role = getattr(new_tokenizer, name, None) if name in SPECIAL_IDS else value
    if value is None:
        return None if getattr(old_tokenizer, name, None) == role else role
    given = value if isinstance(value, list) else [value]
    tokens = [old.id_to_token(index) if isinstance(index, int) and index >= 0 else None for index in given]
    ids = [None if token is None else new.token_to_id(token) for token in tokens]
    if None in ids:
        return role
    return ids if isinstance(value, list) else ids[0]


def _special_matches(old_tokenizer: Any, new_tokenizer: Any) -> dict[int, int]:
    """Match special tokens, new id -> old id: by role, then by name; the old end token serves for roles it lacks."""
    matches: dict[int, int] = {}
    end = getattr(old_tokenizer, "eos_token_id", None)
    for role in _ROLES:
        index, old = (getattr(tokenizer, f"{role}_id", None) for tokenizer in (new_tokenizer, old_tokenizer))
        source = end if old is None else old
        if index is not None and source is not None:
            matches.setdefault(index, source)
    vocab = _backend(old_tokenizer).get_vocab(with_added_tokens=True)
    for index, token in _backend(new_tokenizer).get_added_tokens_decoder().items():
        if token.special and token.content in vocab:
            matches.setdefault(index, vocab[token.content])
    return matches


def _mean_mixtures(
    old: Spelling, new_pieces: list[bytes], special: dict[int, int], kept: dict[int, int]
) -> tuple[list[Mixture], TransplantReport]:
    """Mix rows by FVT for every new id; an empty mixture stands for the mean of all old rows."""
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


def _focus_mixtures(mixtures: list[Mixture], embedding: torch.Tensor) -> list[Mixture]:
    """Mix tokens of several pieces from the copied tokens nearest to the pieces' mean, by sparsemax of cosines."""
    copied = torch.tensor(sorted({ids[0] for ids, _ in mixtures if len(ids) == 1}), device=embedding.device)
    wanted = [index for index, (ids, _) in enumerate(mixtures) if len(ids) > 1]
    if not wanted or len(copied) < 2:
        return mixtures
    directions = torch.nn.functional.normalize(embedding[copied], dim=1)
    result = list(mixtures)
    for start in range(0, len(wanted), _CHUNK):
        chunk = wanted[start : start + _CHUNK]
        means = torch.nn.functional.normalize(_means(embedding, [mixtures[index] for index in chunk]), dim=1)
        nearest = (means @ directions.T).topk(min(_NEIGHBOURS, len(copied)), dim=1)
        weights = sparsemax(nearest.values)
        for index, places, shares in zip(chunk, copied[nearest.indices].tolist(), weights.tolist(), strict=True):
            result[index] = (places, shares)
    return result


def sparsemax(scores: torch.Tensor) -> torch.Tensor:
    """Project each row onto the simplex (Martins & Astudillo 2016); rows are in descending order.

    >>> sparsemax(torch.tensor([[1.0, 0.5, -2.0]])).tolist()
    [[0.75, 0.25, 0.0]]
    """
    sizes = torch.arange(1, scores.shape[1] + 1, device=scores.device)
    sums = scores.cumsum(1)
    support = (1 + sizes * scores > sums).sum(1, keepdim=True)
    threshold = (sums.gather(1, support - 1) - 1) / support
    return (scores - threshold).clamp(min=0)


def mixed_rows(matrix: torch.Tensor, mixtures: Sequence[Mixture]) -> torch.Tensor:
    """Compute weighted means of rows, (mixtures, width), in the type of `matrix`; single rows stay bit for bit."""
    rows = matrix.new_empty((len(mixtures), matrix.shape[1]))
    single = [index for index, (ids, _) in enumerate(mixtures) if len(ids) == 1]
    rows[single] = matrix[[mixtures[index][0][0] for index in single]]
    if len(single) == len(mixtures):
        return rows
    mixed = [index for index, (ids, _) in enumerate(mixtures) if len(ids) > 1]
    rows[mixed] = _means(matrix, [mixtures[index] for index in mixed]).to(matrix.dtype)
    rows[[index for index, (ids, _) in enumerate(mixtures) if not ids]] = matrix.mean(0, dtype=torch.float32).to(
        matrix.dtype
    )
    return rows


def _means(matrix: torch.Tensor, mixtures: list[Mixture]) -> torch.Tensor:
    """Compute weighted means of rows in float32, (mixtures, width); only the rows that occur are made float32."""
    flat = torch.tensor([index for ids, _ in mixtures for index in ids], device=matrix.device, dtype=torch.long)
    weights = torch.tensor([weight for _, shares in mixtures for weight in shares], device=matrix.device)
    starts = torch.tensor([0, *(len(ids) for ids, _ in mixtures)], device=matrix.device).cumsum(0)[:-1]
    used, places = flat.unique(return_inverse=True)
    return torch.nn.functional.embedding_bag(
        places, matrix[used].float(), starts, mode="sum", per_sample_weights=weights.float()
    )


def _replace_rows(model: Any, changed: Any, mixtures: list[Mixture]) -> None:
    """Resize the embeddings of `changed`, tied or not, and fill them and the output bias from those of `model`."""
    changed.resize_token_embeddings(len(mixtures), mean_resizing=False)
    pairs = [(model.get_input_embeddings(), changed.get_input_embeddings())]
    if (output := model.get_output_embeddings()) is not None and output.weight is not pairs[0][0].weight:
        pairs.append((output, changed.get_output_embeddings()))
    with torch.no_grad():
        for source, target in pairs:
            target.weight.copy_(mixed_rows(source.weight, mixtures))
        if getattr(output, "bias", None) is not None:
            changed.get_output_embeddings().bias.copy_(mixed_rows(output.bias[:, None], mixtures)[:, 0])


def _backend(tokenizer: Any) -> Tokenizer:
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not isinstance(backend, Tokenizer):
        name = type(tokenizer).__name__
        raise MwSError(f"{name} is slow; load it with AutoTokenizer from a directory with tokenizer.json")
    return backend
