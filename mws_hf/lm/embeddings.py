"""`transplant`: another tokenizer for a pretrained model, by new embeddings mixed from old ones; nothing is trained.

Tokens are matched by their raw bytes, so byte-level, metaspace and character-level tokenizers meet. Every new row is a
weighted mean of old rows, and input and output embeddings use the same weights.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from tokenizers import Tokenizer

from mws_hf.errors import MwSError
from mws_hf.lm.codec import raw_bytes

Mixture: TypeAlias = tuple[list[int], list[float]]
"""Old ids and their weights, which add up to 1."""

METHODS = ("mean", "focus")
_ROLES = ("bos_token", "eos_token", "pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
_NEIGHBOURS = 16
_CHUNK = 1024


@dataclass(frozen=True)
class TransplantReport:
    """Where the new rows came from.

    Attributes:
        special: special tokens, by role or by name.
        copied: tokens with the same bytes in both vocabularies.
        mixed: tokens made of old pieces ("mean") or of similar copied tokens ("focus").
        fallback: tokens that the old tokenizer cannot spell, such as parts of characters: the mean of all old rows.
    """

    special: int
    copied: int
    mixed: int
    fallback: int


def transplant(
    model: Any, old_tokenizer: Any, new_tokenizer: Any, method: str = "focus"
) -> tuple[Any, TransplantReport]:
    """Copy a causal model and fit it to another tokenizer.

    Args:
        model: a causal model of transformers; left as it is.
        old_tokenizer: the fast tokenizer it was trained with.
        new_tokenizer: a fast tokenizer.
        method: "mean": a new token is the mean of the old tokenizer's pieces of its string (FVT, Gee et al. 2022).
            "focus": a similarity-weighted mean of tokens in both vocabularies (FOCUS, Dobler & de Melo 2023); similar
            to the mean of the old pieces in the old embedding space, that is (the paper trains fastText vectors).

    Returns:
        The new model (tied embeddings, dtype and device kept, the special ids of its configs changed), and a report.

    Raises:
        MwSError: unknown method, or a slow tokenizer.
    """
    if method not in METHODS:
        raise MwSError(f"method={method!r}; choose one of {', '.join(METHODS)}")
    old, new = _Spelling(_backend(old_tokenizer)), _backend(new_tokenizer)
    special = _special_matches(old_tokenizer, new_tokenizer)
    mixtures, report = _mean_mixtures(old, raw_bytes(new), special)
    if method == "focus":
        mixtures = _focus_mixtures(mixtures, model.get_input_embeddings().weight.detach().float())
    changed = copy.deepcopy(model)
    _replace_rows(model, changed, mixtures)
    for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
        for config in filter(None, (changed.config, getattr(changed, "generation_config", None))):
            setattr(config, name, getattr(new_tokenizer, name, None))
    return changed, report


class _Spelling:
    """The old tokenizer: raw bytes of its ids, ids by bytes, and ids of any string."""

    def __init__(self, original: Tokenizer) -> None:
        self.backend = Tokenizer.from_str(original.to_str())
        self.backend.no_padding()
        self.backend.no_truncation()
        self.pieces = raw_bytes(self.backend)
        # of several ids with the same bytes the first counts, so they are entered last to first
        self.by_bytes = {piece: index for index, piece in reversed(list(enumerate(self.pieces))) if piece}

    def spell(self, piece: bytes) -> list[int]:
        """Ids that spell the bytes, without a word mark the tokenizer adds by itself; empty if they cannot be spelt."""
        try:
            text = piece.decode()
        except UnicodeDecodeError:
            return []
        for attempt in (text, text.removeprefix(" ")):
            ids = self.backend.encode(attempt, add_special_tokens=False).ids
            spelled = b"".join(self.pieces[index] for index in ids)
            if spelled == piece:
                return ids
            if spelled == b" " + piece and self.pieces[ids[0]] == b" ":
                return ids[1:]
        characters = [self.by_bytes.get(character.encode(), -1) for character in text]
        return [] if -1 in characters else characters


def _special_matches(old_tokenizer: Any, new_tokenizer: Any) -> dict[int, int]:
    """New id -> old id of special tokens: by role, then by name; the old end token serves for roles it lacks."""
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
    old: _Spelling, new_pieces: list[bytes], special: dict[int, int]
) -> tuple[list[Mixture], TransplantReport]:
    """FVT for every new id; an empty mixture stands for the mean of all old rows."""
    mixtures: list[Mixture] = []
    copied = mixed = 0
    for index, piece in enumerate(new_pieces):
        if index in special:
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
        means = torch.nn.functional.normalize(_rows(embedding, [mixtures[index] for index in chunk]), dim=1)
        nearest = (means @ directions.T).topk(min(_NEIGHBOURS, len(copied)), dim=1)
        weights = sparsemax(nearest.values)
        for index, places, shares in zip(chunk, copied[nearest.indices].tolist(), weights.tolist(), strict=True):
            result[index] = (places, shares)
    return result


def sparsemax(scores: torch.Tensor) -> torch.Tensor:
    """Projection of each row onto the simplex (Martins & Astudillo 2016); rows are in descending order.

    >>> sparsemax(torch.tensor([[1.0, 0.5, -2.0]])).tolist()
    [[0.75, 0.25, 0.0]]
    """
    sizes = torch.arange(1, scores.shape[1] + 1, device=scores.device)
    sums = scores.cumsum(1)
    support = (1 + sizes * scores > sums).sum(1, keepdim=True)
    threshold = (sums.gather(1, support - 1) - 1) / support
    return (scores - threshold).clamp(min=0)


def _rows(matrix: torch.Tensor, mixtures: list[Mixture]) -> torch.Tensor:
    """Weighted means of rows in float32, (mixtures, width)."""
    flat = torch.tensor([index for ids, _ in mixtures for index in ids], device=matrix.device)
    weights = torch.tensor([weight for _, shares in mixtures for weight in shares], device=matrix.device)
    sizes = torch.tensor([0, *(len(ids) for ids, _ in mixtures)], device=matrix.device)
    starts = sizes.cumsum(0)[:-1]
    rows = torch.nn.functional.embedding_bag(flat, matrix.float(), starts, mode="sum", per_sample_weights=weights)
    rows[sizes[1:] == 0] = matrix.float().mean(0)
    return rows


def _replace_rows(model: Any, changed: Any, mixtures: list[Mixture]) -> None:
    """Resize the embeddings of `changed` and fill them from those of `model`, tied or not, and the output bias."""
    changed.resize_token_embeddings(len(mixtures), mean_resizing=False)
    pairs = [(model.get_input_embeddings(), changed.get_input_embeddings())]
    if (output := model.get_output_embeddings()) is not None and output.weight is not pairs[0][0].weight:
        pairs.append((output, changed.get_output_embeddings()))
    with torch.no_grad():
        for source, target in pairs:
            target.weight.copy_(_rows(source.weight, mixtures))
        if getattr(output, "bias", None) is not None:
            changed.get_output_embeddings().bias.copy_(_rows(output.bias[:, None], mixtures)[:, 0])


def _backend(tokenizer: Any) -> Tokenizer:
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not isinstance(backend, Tokenizer):
        name = type(tokenizer).__name__
        raise MwSError(f"{name} is slow; load it with AutoTokenizer from a directory with tokenizer.json")
    return backend
