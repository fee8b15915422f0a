"""First rows of tokens that a model has never seen: which of its rows make each, by what weights, and the rows made.

`weigh` gives the pieces of every new token other weights, or other tokens in their place, by one of `INITS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import torch

from mws_hf.errors import SettingError
from mws_hf.extend.cuts import count_ids
from mws_hf.extend.spelling import Spelling
from mws_hf.extend.static_vectors import static_vectors
from mws_hf.tokenizer.stock import Tokenizer, without_limits

Mixture: TypeAlias = tuple[list[int], list[float]]
"""Old ids and their weights, which add up to 1; without ids, the mean of all old rows."""

INITS = ("mean", "quiet", "weighted", "focus")
READERS = ("weighted", "focus")
"""Those that need text."""

_NEVER = [bytes([byte]) for byte in (0xC0, 0xC1, *range(0xF5, 0x100))]
"""Bytes that no UTF-8 text has, so that the rows of their tokens have learnt nothing but to stay silent."""

_NEIGHBOURS = 16
_CHUNK = 1024


def check_init(init: str, has_text: bool) -> None:
    """Refuse an unknown name, one that needs text and has none, and text that none would read.

    Raises:
        MwSError: see above.
    """
    if init not in INITS:
        raise SettingError("init", init, f"is unknown; choose one of {', '.join(INITS)}")
    if init in READERS and not has_text:
        raise SettingError("init", init, "needs text: documents of the language that the new tokens are for")
    if init not in READERS and has_text:
        raise SettingError("init", init, f"reads no text; leave text out, or choose one of {', '.join(READERS)}")


def weigh(
    mixtures: list[Mixture], init: str, old: Spelling, new: Tokenizer, texts: Iterable[str] | None
) -> list[Mixture]:
    """Weigh the rows that make each new token of several pieces; tokens that have an old row of their own keep it.

    Args:
        mixtures: for each new id the pieces of its token, all of one weight.
        init: "mean" leaves them; "quiet", "weighted" and "focus" do as `hushed`, `by_use` and `by_company` say.
        old: the old tokenizer.
        new: the new tokenizer.
        texts: documents that "weighted" and "focus" read.

    Raises:
        MwSError: unknown init, text missing, not read or too short, no token of a byte that texts never have.
    """
    check_init(init, texts is not None)
    if texts is None:
        return hushed(mixtures, old) if init == "quiet" else mixtures
    if init == "weighted":
        uses = count_ids(old.backend, texts, len(old.pieces))
        found, seen = by_use(mixtures, uses.tolist()), bool(uses.any())
    else:
        vectors = static_vectors(without_limits(new), texts, len(mixtures))
        found, seen = by_company(mixtures, vectors), bool(vectors.any())
    if not seen:
        raise SettingError("init", init, "has too few tokens to learn from in the text given; give more")
    return found


def hushed(mixtures: list[Mixture], old: Spelling) -> list[Mixture]:
    """Mix tokens of several pieces half from these, half from tokens of bytes that no text has.

    A model has learnt never to say the latter. So new tokens take little probability from old ones before they are
    trained, in untied heads and tied ones.

    Raises:
        MwSError: the old tokenizer has no token of such a byte.
    """
    never = [old.by_bytes[byte] for byte in _NEVER if byte in old.by_bytes]
    if not never:
        raise SettingError("init", "quiet", "needs tokens of single bytes, which the old one lacks; choose 'mean'")
    silence = [0.5 / len(never)] * len(never)
    return [
        (ids + never, [weight / 2 for weight in weights] + silence) if len(ids) > 1 else (ids, weights)
        for ids, weights in mixtures
    ]


def by_use(mixtures: list[Mixture], uses: Sequence[int]) -> list[Mixture]:
    """Weigh pieces by their share in a text, of which `uses` has the number of each old id; one more for each.

    >>> by_use([([2], [1.0]), ([0, 1], [0.5, 0.5]), ([], [])], [2, 0, 9])
    [([2], [1.0]), ([0, 1], [0.75, 0.25]), ([], [])]
    """
    found = []
    for ids, weights in mixtures:
        counts = [uses[index] + 1 for index in ids]
        found.append((ids, [count / sum(counts) for count in counts]) if len(ids) > 1 else (ids, weights))
    return found


def by_company(mixtures: list[Mixture], vectors: torch.Tensor) -> list[Mixture]:
    """Make tokens of several pieces from the copied tokens most like them (FOCUS, Dobler & de Melo 2023).

    Args:
        mixtures: for each new id its old row, or its pieces.
        vectors: float32 (new ids, width), unit vectors or zeros: a token without a vector keeps its pieces, and a
            copied one without is like nothing. Weights are sparsemax of the cosines with the 16 nearest.
    """
    has = vectors.any(dim=1).tolist()
    copied = [index for index, (ids, _) in enumerate(mixtures) if len(ids) == 1 and has[index]]
    wanted = [index for index, (ids, _) in enumerate(mixtures) if len(ids) > 1 and has[index]]
    result = list(mixtures)
    if not copied:
        return result
    rows = torch.tensor([mixtures[index][0][0] for index in copied])
    for start in range(0, len(wanted), _CHUNK):
        chunk = wanted[start : start + _CHUNK]
        nearest = (vectors[chunk] @ vectors[copied].T).topk(min(_NEIGHBOURS, len(copied)), dim=1)
        weights = sparsemax(nearest.values)
        for index, places, shares in zip(chunk, rows[nearest.indices].tolist(), weights.tolist(), strict=True):
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
