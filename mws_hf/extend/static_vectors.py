"""Vectors of tokens by the company they keep in a text: what FOCUS compares tokens of two vocabularies by.

The counts of tokens within a window of each other become positive pointwise mutual information, whose leading
eigenvectors are the vectors (Levy, Goldberg & Dagan 2015). Nothing is trained and nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch

from mws_hf.extend.cuts import cuts, joined
from mws_hf.kernels.arrays import Doubles, Longs
from mws_hf.tokenizer.stock import Tokenizer

WINDOW, WIDTH, LEAST_USES, MOST_TOKENS = 5, 128, 5, 16_000_000
"""Tokens to either side that count, width of a vector, uses below which a token has none, tokens read at most."""

_SMOOTHING = 0.75
_SPARE, _ROUNDS = 16, 4


def static_vectors(tokenizer: Tokenizer, texts: Iterable[str], size: int) -> torch.Tensor:
    """Compute the vectors of a tokenizer's ids from texts; the same texts give the same vectors.

    Args:
        tokenizer: cuts the texts; without truncation and padding.
        texts: documents; after 16 million tokens no more are read.
        size: the largest id plus one.

    Returns:
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

    Returns:
        Codes of pairs, ascending, ``first * size + second`` with both orders of each pair; their counts; and the uses
        of each id.
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
    if not len(keys):
        return keys, counts
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    starts = np.nonzero(np.concatenate(([True], keys[1:] != keys[:-1])))[0]
    return keys[starts], np.add.reduceat(counts, starts)


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
    """Compute the leading eigenvectors of a symmetric sparse matrix, each scaled by the root of its eigenvalue's size.

    By subspace iteration from a fixed start (Halko, Martinsson & Tropp 2011).

    Returns:
        float32 (size, `WIDTH` or fewer).
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
