"""First rows of tokens that a model has never seen: which of its rows make each, by what weights, and the rows made.

`weigh` gives the pieces of every new token other weights, or other tokens in their place, by one of `INITS`.

FOCUS compares tokens of two vocabularies by vectors of the company they keep in a text. The counts of tokens within a
window of each other become positive pointwise mutual information, whose leading eigenvectors are the vectors (Levy,
Goldberg & Dagan 2015). Nothing is trained and nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import torch

from mws_hf.errors import SettingError
from mws_hf.extend.spelling import Spelling, count_ids, cuts, joined
from mws_hf.kernels.arrays import Doubles, Longs
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

WINDOW, WIDTH, LEAST_USES, MOST_TOKENS = 5, 128, 5, 16_000_000
"""Tokens to either side that count, width of a vector, uses below which a token has none, tokens read at most."""

_SMOOTHING = 0.75
_SPARE, _ROUNDS = 16, 4


def check_init(init: str, has_text: bool) -> None:
    """Refuse an unknown name, one that needs text and has none, and text that none would read."""
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

    "mean" leaves the pieces, which have one weight; "quiet", "weighted" and "focus" do as `hushed`, `by_use` and
    `by_company` say.
    """
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

    Weights are sparsemax of the cosines with the 16 nearest. Vectors are unit vectors or zeros: a token without a
    vector keeps its pieces, and a copied one without is like nothing.
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
    if matrix.dim() == 1:  # a bias
        return mixed_rows(matrix[:, None], mixtures)[:, 0]
    rows = matrix.new_empty((len(mixtures), matrix.shape[1]))
    single = [index for index, (ids, _) in enumerate(mixtures) if len(ids) == 1]
    rows[single] = matrix[[mixtures[index][0][0] for index in single]]
    if len(single) == len(mixtures):
        return rows
    mixed = [index for index, (ids, _) in enumerate(mixtures) if len(ids) > 1]
    rows[mixed] = _means(matrix, [mixtures[index] for index in mixed]).to(matrix.dtype)
    empty = [index for index, (ids, _) in enumerate(mixtures) if not ids]
    rows[empty] = matrix.mean(0, dtype=torch.float32).to(matrix.dtype)
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


def static_vectors(tokenizer: Tokenizer, texts: Iterable[str], size: int) -> torch.Tensor:
    """Compute the vectors of a tokenizer's ids below `size` from texts; the same texts give the same vectors.

    float32 (size, at most 128): unit vectors; zeros for an id with fewer than five uses.
    """
    keys, counts, uses = neighbours(tokenizer, texts, size)
    seen = np.nonzero(uses >= LEAST_USES)[0]
    vectors = torch.zeros((size, WIDTH))
    if len(seen) < 2:
        return vectors
    place = np.full(size, -1, np.int64)
    place[seen] = np.arange(len(seen))
    rows, columns = place[keys // size], place[keys % size]
    both = (rows >= 0) & (columns >= 0)
    weights = information(rows[both], columns[both], counts[both], len(seen))
    found = torch.nn.functional.normalize(leading(*weights, len(seen)), dim=1)
    vectors[seen, : found.shape[1]] = found
    return vectors


def neighbours(tokenizer: Tokenizer, texts: Iterable[str], size: int) -> tuple[Longs, Longs, Longs]:
    """Count pairs of ids that stand within `WINDOW` tokens of each other in a text.

    Returns codes of pairs, ascending, ``first * size + second`` with both orders of each pair; their counts; and the
    uses of each id.
    """
    keys, counts, uses, read = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(size, np.int64), 0
    for stream in joined(cuts(tokenizer, texts), WINDOW):
        uses += np.bincount(stream[stream >= 0], minlength=size)
        near = [(stream[:-gap], stream[gap:]) for gap in range(1, WINDOW + 1)]
        codes = np.concatenate([(one * size + other)[(one >= 0) & (other >= 0)] for one, other in near])
        new, times = np.unique(codes, return_counts=True)
        keys, counts = _added(np.concatenate([keys, new]), np.concatenate([counts, times]))
        read += len(stream)
        if read >= MOST_TOKENS:
            break
    turned = (keys % size) * size + keys // size
    return *_added(np.concatenate([keys, turned]), np.concatenate([counts, counts])), uses


def _added(keys: Longs, counts: Longs) -> tuple[Longs, Longs]:
    """Add up the counts of equal keys; keys ascending."""
    keys, places = np.unique(keys, return_inverse=True)
    return keys, np.bincount(places, counts, len(keys)).astype(np.int64)


def information(rows: Longs, columns: Longs, counts: Longs, size: int) -> tuple[Longs, Longs, Doubles]:
    """Turn counts of pairs into positive pointwise mutual information, in nats; what is not positive is left out.

    The share of either token is smoothed by a power of 0.75, so that rare ones are not overrated.

    >>> pairs = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 4, 4, 0])
    >>> [part.tolist() for part in information(*pairs, 2)]
    [[0, 1], [1, 0], [0.69314718..., 0.69314718...]]
    """
    total = np.bincount(rows, counts, size)
    smooth = total**_SMOOTHING
    share = smooth / max(smooth.sum(), 1.0)
    with np.errstate(divide="ignore"):
        values = np.log(counts / max(counts.sum(), 1)) - np.log(share[rows]) - np.log(share[columns])
    positive = values > 0
    return rows[positive], columns[positive], values[positive]


def leading(rows: Longs, columns: Longs, values: Doubles, size: int) -> torch.Tensor:
    """Compute at most `WIDTH` leading eigenvectors of a symmetric sparse matrix, scaled by roots of their eigenvalues.

    By subspace iteration from a fixed start (Halko, Martinsson & Tropp 2011).
    """
    places = torch.from_numpy(np.stack([rows, columns]))
    matrix = torch.sparse_coo_tensor(places, torch.from_numpy(values).float(), (size, size), check_invariants=True)
    generator = torch.Generator().manual_seed(0)
    basis = torch.randn((size, min(size, WIDTH + _SPARE)), generator=generator)
    for _ in range(_ROUNDS):
        basis = torch.linalg.qr(torch.sparse.mm(matrix, basis)).Q
    inner = basis.T @ torch.sparse.mm(matrix, basis)
    strengths, turns = torch.linalg.eigh((inner + inner.T) / 2)
    kept = strengths.abs().argsort(descending=True)[:WIDTH]
    return (basis @ turns[:, kept]) * strengths[kept].abs().sqrt()
