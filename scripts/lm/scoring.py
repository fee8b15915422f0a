"""Measure bits per byte of a causal model on held-out documents, and on groups of their words.

Bits per byte are the nats of all predicted tokens that are not special, divided by ln 2 and by the UTF-8 bytes of the
text. Each document is scored on its own after a separator, in windows that have the same number of bytes for every
tokenizer.

For groups of words, the nats of a token are spread evenly over its bytes, and a word consists of its letters and the
space before it. If no token crosses a word boundary, as with every split pattern of this package, the result is the sum
over the word's tokens.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from lm.data import Codec, run_bounds
from mws_hf.errors import MwSError
from mws_hf.kernels import Doubles, Longs, Mask
from mws_hf.scoring.running_text import WORD
from mws_hf.text.pattern import compiled

_MOST_SCORES = 1 << 26
"""The maximum number of logits per forward pass: a quarter of a gigabyte of float32, of which torch keeps copies."""


@dataclass(frozen=True)
class BitsPerByte:
    """The scores of documents by one model.

    Attributes:
        nats: float64, shape (n_documents,): -log p of each document's tokens.
        n_bytes: int64, shape (n_documents,): UTF-8 bytes of each document.
        represented: bool, shape (n_documents,): whether the tokenizer restores the document exactly.
        token_nats: the nats of each token, one float64 array per document.
    """

    nats: Doubles
    n_bytes: Longs
    represented: Mask
    token_nats: list[Doubles]

    @property
    def value(self) -> float:
        """Bits per byte over the documents that the tokenizer restores exactly.

        Raises:
            MwSError: the tokenizer restores no document.
        """
        if not self.represented.any():
            raise MwSError("the tokenizer restores no document exactly, so it has no bits per byte; use a lossless one")
        return float(self.nats[self.represented].sum() / (math.log(2) * self.n_bytes[self.represented].sum()))

    @property
    def lossless(self) -> bool:
        """Whether the tokenizer restores every document exactly."""
        return bool(self.represented.all())


class Window(NamedTuple):
    """A part of a document that is scored in one forward pass: its input ids, of which the last `scored` are scored."""

    document: int
    ids: Longs
    scored: int


def bits_per_byte(
    model: Any, codec: Codec, documents: Sequence[str], context_bytes: int, *, batch_size: int = 32
) -> BitsPerByte:
    """Score documents; the result does not depend on the batch size beyond float rounding.

    Args:
        model: a causal model of transformers, or a function of int64 ids (batch, length) that returns `logits`.
        codec: tokenizer of the model.
        documents: held-out texts, none of them empty.
        context_bytes: bytes per window. A longer document is scored in several windows. In all windows except the
            first, the first half is only context.
        batch_size: windows per forward pass.

    Raises:
        MwSError: there are no documents, or a document is empty.
    """
    if not documents or not all(documents):
        raise MwSError("there are no documents to score, or one is empty; pass texts that are not empty")
    windows = list(windows_of(codec, codec.encode(documents), context_bytes))
    scores: list[Doubles] = [np.zeros(0)] * len(windows)
    for chosen in batches_of(windows, batch_size, codec.vocabulary_size):
        for index, nats in zip(chosen, _score(model, [windows[i] for i in chosen], codec.padding), strict=True):
            scores[index] = nats
    parts: list[list[Doubles]] = [[np.zeros(0)] for _ in documents]
    for window, nats in zip(windows, scores, strict=True):
        parts[window.document].append(nats)
    token_nats = [np.concatenate(part) for part in parts]
    return BitsPerByte(
        nats=np.array([nats.sum() for nats in token_nats]),
        n_bytes=np.array([len(document.encode()) for document in documents], np.int64),
        represented=codec.represented(documents),
        token_nats=token_nats,
    )


def windows_of(codec: Codec, encoded: Sequence[Longs], context_bytes: int) -> Iterator[Window]:
    """Divide documents into windows, in order; every id is scored in exactly one window."""
    for index, ids in enumerate(encoded):
        lengths = codec.lengths[ids]
        ends = np.concatenate(([0], np.cumsum(lengths)))
        first = int(run_bounds(lengths, context_bytes)[1]) if len(ids) else 0
        if first:
            yield Window(index, np.concatenate(([codec.separator], ids[:first])), first)
        for start, end in pairwise((run_bounds(lengths[first:], context_bytes // 2) + first).tolist()):
            # the context begins with the first id that still fits into the window
            begin = int(np.searchsorted(ends, ends[end] - context_bytes))
            yield Window(index, ids[min(begin, start - 1) : end], end - start)


def batches_of(windows: Sequence[Window], batch_size: int, vocabulary: int) -> Iterator[list[int]]:
    """Group windows of similar length into forward passes, so that there is little padding; yield their numbers.

    Args:
        windows: the windows to group.
        batch_size: maximum number of windows per pass.
        vocabulary: number of logits at each position. A pass of several windows has at most 2^26 logits.
    """
    chosen: list[int] = []
    for index in sorted(range(len(windows)), key=lambda each: len(windows[each].ids)):
        scores = (len(chosen) + 1) * len(windows[index].ids) * vocabulary
        if chosen and (len(chosen) == batch_size or scores > _MOST_SCORES):
            yield chosen
            chosen = []
        chosen.append(index)
    if chosen:
        yield chosen


def padded_ids(batch: Sequence[Window], padding: int) -> torch.Tensor:
    """Return the ids of windows as int64 of shape (batch, longest window), padded on the right."""
    return pad_sequence([torch.from_numpy(window.ids) for window in batch], batch_first=True, padding_value=padding)


def _score(model: Any, batch: list[Window], padding: int) -> list[Doubles]:
    """Compute the nats of each window's scored ids."""
    ids = padded_ids(batch, padding).to(next(model.parameters()).device)
    with torch.inference_mode():
        logits = model(input_ids=ids).logits[:, :-1].float()
        losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
    ends = [len(window.ids) - 1 for window in batch]
    rows = losses.double().cpu().numpy()
    return [row[end - window.scored : end] for row, end, window in zip(rows, ends, batch, strict=True)]


@dataclass(frozen=True)
class GroupScore:
    """The score of one group of words.

    Attributes:
        words: number of running words.
        n_bytes: bytes of these words, including the space before each word.
        bits_per_byte: bits per byte of the group; NaN if it has no words.
    """

    words: int
    n_bytes: int
    bits_per_byte: float


def word_forms(documents: Iterable[str]) -> set[str]:
    """Collect the distinct words of documents in lowercase.

    >>> sorted(word_forms(["Дом, дома."]))
    ['дом', 'дома']
    """
    pattern = compiled(WORD)
    return {word.lower() for document in documents for word in pattern.findall(document)}


def score_groups(
    scores: BitsPerByte, codec: Codec, documents: Sequence[str], groups: dict[str, str]
) -> dict[str, GroupScore]:
    """Compute bits per byte of each group of words, over documents whose tokens spell them byte by byte."""
    totals = {name: [0.0, 0, 0] for name in sorted(set(groups.values()))}
    pattern = compiled(WORD)
    for document, ids, nats in zip(documents, codec.encode(documents), scores.token_nats, strict=True):
        lengths = codec.bytes_per_id(document, ids)
        if lengths is None:
            continue
        density = np.repeat(nats / np.maximum(lengths, 1), lengths)
        until = np.concatenate(([0.0], np.cumsum(density)))
        places = _byte_places(document)
        for match in pattern.finditer(document):
            start, end = match.span()
            start -= start > 0 and document[start - 1] == " "
            total = totals[groups[match.group().lower()]]
            total[0] += until[places[end]] - until[places[start]]
            total[1] += int(places[end] - places[start])
            total[2] += 1
    return {
        name: GroupScore(int(words), int(size), float(nats) / (math.log(2) * size) if size else math.nan)
        for name, (nats, size, words) in totals.items()
    }


def _byte_places(document: str) -> np.ndarray:
    """Return the byte at which each character starts in UTF-8, and the end of the last; int64 (n_characters + 1,)."""
    points = np.frombuffer(document.encode("utf-32-le"), np.uint32)
    sizes = 1 + (points > 0x7F).astype(np.int64) + (points > 0x7FF) + (points > 0xFFFF)
    return np.concatenate(([0], np.cumsum(sizes)))
