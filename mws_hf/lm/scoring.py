"""Bits per byte of a causal model on held-out documents, one by one, and the paired bootstrap between two systems.

The sum of nats over predicted tokens that are not special, over ln 2 and the raw UTF-8 bytes of the text. Each document
is scored on its own after a separator, in windows of equal raw bytes for every tokenizer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.utils.rnn import pad_sequence

from mws_hf.errors import MwSError
from mws_hf.evaluate.significance import interval
from mws_hf.lm.codec import Codec, Ids
from mws_hf.lm.data import cut_points

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BitsPerByte:
    """Scores of documents by one model.

    Attributes:
        nats: float64 (documents,), -log p of each document's tokens.
        n_bytes: int64 (documents,), raw UTF-8 bytes.
        represented: bool (documents,), whether the tokenizer gives the document back.
        token_nats: for each document float64 (tokens,), in the order of its ids.
    """

    nats: Floats
    n_bytes: npt.NDArray[np.int64]
    represented: npt.NDArray[np.bool_]
    token_nats: list[Floats]

    @property
    def value(self) -> float:
        """Bits per byte over the documents that the tokenizer represents.

        Raises:
            MwSError: it represents none.
        """
        if not self.represented.any():
            raise MwSError("the tokenizer gives no document back as it was; bits per byte mean nothing for it")
        return float(self.nats[self.represented].sum() / (math.log(2) * self.n_bytes[self.represented].sum()))

    @property
    def lossless(self) -> bool:
        """Whether every document came back."""
        return bool(self.represented.all())


class Window(NamedTuple):
    """Part of a document scored by one pass: input ids, of which the last `scored` are predicted."""

    document: int
    ids: Ids
    scored: int


def bits_per_byte(
    model: Any, codec: Codec, documents: Sequence[str], context_bytes: int, *, batch_size: int = 32
) -> BitsPerByte:
    """Score documents; the result does not depend on the batch size beyond float rounding.

    Args:
        model: a causal model of transformers, or anything that maps int64 (batch, length) to an object with `logits`.
        codec: its tokenizer.
        documents: held-out texts, not empty.
        context_bytes: raw bytes a prediction can look at, those it predicts included. Longer documents are scored in
            windows of which the first half is context only, save for the first.
        batch_size: windows a pass.

    Raises:
        MwSError: no documents, or one is empty.
    """
    if not documents or not all(documents):
        raise MwSError("bits per byte need documents that are not empty")
    windows = list(windows_of(codec, codec.encode(documents), context_bytes))
    scores: list[Floats] = [np.zeros(0)] * len(windows)
    # windows of like length share a pass, so that little is padded
    by_length = sorted(range(len(windows)), key=lambda index: len(windows[index].ids))
    for at in range(0, len(windows), batch_size):
        chosen = by_length[at : at + batch_size]
        for index, nats in zip(chosen, _score(model, [windows[i] for i in chosen], codec.padding), strict=True):
            scores[index] = nats
    parts: list[list[Floats]] = [[np.zeros(0)] for _ in documents]
    for window, nats in zip(windows, scores, strict=True):
        parts[window.document].append(nats)
    token_nats = [np.concatenate(part) for part in parts]
    return BitsPerByte(
        nats=np.array([nats.sum() for nats in token_nats]),
        n_bytes=np.array([len(document.encode()) for document in documents], np.int64),
        represented=codec.represented(documents),
        token_nats=token_nats,
    )


def windows_of(codec: Codec, encoded: Sequence[Ids], context_bytes: int) -> Iterator[Window]:
    """Windows over documents, those of each in order; every id is predicted in exactly one."""
    for index, ids in enumerate(encoded):
        lengths = codec.lengths[ids]
        ends = np.concatenate(([0], np.cumsum(lengths)))
        first = int(cut_points(lengths, context_bytes)[1]) if len(ids) else 0
        if first:
            yield Window(index, np.concatenate(([codec.separator], ids[:first])), first)
        for start, end in pairwise((cut_points(lengths[first:], context_bytes // 2) + first).tolist()):
            # context from the first id whose bytes fit before those scored
            begin = int(np.searchsorted(ends, ends[end] - context_bytes))
            yield Window(index, ids[min(begin, start - 1) : end], end - start)


def _score(model: Any, batch: list[Window], padding: int) -> list[Floats]:
    """Nats of the scored ids of each window."""
    ids = pad_sequence([torch.from_numpy(window.ids) for window in batch], batch_first=True, padding_value=padding)
    ids = ids.to(next(model.parameters()).device)
    with torch.inference_mode():
        logits = model(input_ids=ids).logits[:, :-1].float()
        losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
    ends = [len(window.ids) - 1 for window in batch]
    rows = losses.double().cpu().numpy()
    return [row[end - window.scored : end] for row, end, window in zip(rows, ends, batch, strict=True)]


@dataclass(frozen=True)
class PairedDifference:
    """Bits per byte of a first system minus those of a second: negative when the first is better.

    Attributes:
        value: the difference in bits per byte.
        low: 2.5 % quantile over resampled documents.
        high: 97.5 % quantile.
        relative: `value` over the second's bits per byte.
        documents: how many documents both represent.
    """

    value: float
    low: float
    high: float
    relative: float
    documents: int


def paired_bootstrap(
    first: Sequence[Floats],
    second: Sequence[Floats],
    n_bytes: npt.NDArray[np.int64],
    *,
    represented: npt.NDArray[np.bool_] | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> PairedDifference:
    """Compare two systems, each with one or more runs (seeds), on the same documents.

    Runs of a system are averaged document by document; documents are drawn with replacement, runs with them, so the
    interval holds the variation of seeds as well when there are several.

    Args:
        first: nats of each run of the first system, float64 (documents,).
        second: the same for the second.
        n_bytes: int64 (documents,), raw bytes.
        represented: bool (documents,), the documents to compare on; None: all.
        resamples: bootstrap samples.
        seed: of the resampling.

    Raises:
        MwSError: no run, no document, or arrays of unequal length.

    >>> sizes = np.array([10, 20])
    >>> paired_bootstrap([np.log(2) * sizes], [np.log(2) * 2.0 * sizes], sizes)
    PairedDifference(value=-1.0, low=-1.0, high=-1.0, relative=-0.5, documents=2)
    """
    kept = np.ones(len(n_bytes), np.bool_) if represented is None else represented
    if not first or not second or any(len(run) != len(n_bytes) for run in (*first, *second)) or not kept.any():
        raise MwSError("a paired comparison needs at least one run on each side and the same documents in all of them")
    bits = [np.stack(runs)[:, kept] / math.log(2) for runs in (first, second)]
    sizes = n_bytes[kept].astype(np.float64)
    generator = np.random.Generator(np.random.PCG64(seed))
    differences = np.empty(resamples)
    for index in range(resamples):
        weights = np.bincount(generator.integers(0, len(sizes), len(sizes)), minlength=len(sizes)).astype(np.float64)
        drawn = [runs[generator.integers(0, len(runs), len(runs))].mean(axis=0) for runs in bits]
        differences[index] = (drawn[0] - drawn[1]) @ weights / (sizes @ weights)
    low, high = interval(differences)
    means = [float(runs.mean(axis=0).sum() / sizes.sum()) for runs in bits]
    return PairedDifference(means[0] - means[1], low, high, (means[0] - means[1]) / means[1], int(kept.sum()))
