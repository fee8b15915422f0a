"""Interpolated modified Kneser-Ney n-gram models over integer ids, in sorted arrays.

The definitions are those of Chen & Goodman (1998) as KenLM computes them (Heafield et al. 2013, section 3). An n-gram
is numbered level by level: its key is the number of its context, the n-gram one shorter that it begins with, times a
constant, plus its last id. So a level is a sorted array of int64 keys whatever its length, and memory grows with the
training ids alone (about 200 bytes each at the peak), not with the order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from mws_hf.errors import MwSError
from mws_hf.kernels.arrays import Doubles, Longs, Mask

Discounts: TypeAlias = tuple[float, float, float]

FALLBACK: Discounts = (0.5, 1.0, 1.5)
"""Discounts of counts 1, 2, 3 and more where a level's own cannot be had; those of KenLM's ``--discount_fallback``."""


class Stream(NamedTuple):
    """A stream of documents, each between a boundary, which is context only, and an end, which is predicted.

    Attributes:
        ids: int64 (positions,); the vocabulary's ids, then the end's, then the boundary's.
        places: int64 (positions,), distance from the document's boundary; 0 is the boundary itself.
    """

    ids: Longs
    places: Longs


class Scored(NamedTuple):
    """A text under the model of one order.

    Attributes:
        nats: float64 (predicted positions,), -log p of each id and each end, in the order of the stream.
        discounts: discounts of each level, unigrams first.
    """

    nats: Doubles
    discounts: tuple[Discounts, ...]


class _Level(NamedTuple):
    """The distinct n-grams of one length in the training stream, numbered in the order of their keys.

    Attributes:
        keys: int64 (n-grams,), ascending.
        counts: int64 (n-grams,), occurrences.
        shorter: int64 (n-grams,), number one level down of the n-gram without its first id.
        at_start: bool (n-grams,), whether it begins with the boundary.
        numbers: int64 (positions,), the n-gram that ends at each position of the stream; -1 where none does.
    """

    keys: Longs
    counts: Longs
    shorter: Longs
    at_start: Mask
    numbers: Longs


def stream_of(documents: Sequence[npt.ArrayLike], vocabulary: int) -> Stream:
    """Join documents of ids below `vocabulary` in one stream.

    >>> stream_of([[0, 1], []], vocabulary=2)
    Stream(ids=array([3, 0, 1, 2, 3, 2]), places=array([0, 1, 2, 3, 0, 1]))
    """
    parts: list[npt.ArrayLike] = []
    for document in documents:
        parts += [[vocabulary + 1], document, [vocabulary]]
    ids = np.concatenate([np.zeros(0, np.int64), *(np.asarray(part, np.int64) for part in parts)])
    positions = np.arange(len(ids))
    starts = np.maximum.accumulate(np.where(ids == vocabulary + 1, positions, 0))
    return Stream(ids, positions - starts)


def score_orders(train: Stream, text: Stream, vocabulary: int, orders: Sequence[int]) -> dict[int, Scored]:
    """Score a text under the model of each order trained on the same stream.

    The probability of an id is interpolated from the uniform one over the vocabulary and the end up to the order's
    n-grams. An n-gram counts as often as it occurs at the highest level and where it begins with a boundary, elsewhere
    by the different ids it occurs after. A context never seen leaves the probability as it is one level down.

    Args:
        train: documents whose n-grams are counted; not empty.
        text: documents to score.
        vocabulary: number that all ids are below.
        orders: lengths of n-grams, 1 or more.

    Raises:
        MwSError: there is no training document, or no order.

    >>> scored = score_orders(stream_of([[0, 0, 0]], 1), stream_of([[0]], 1), 1, [1])[1]
    >>> np.exp(-scored.nats).round(4).tolist(), scored.discounts  # (3-1.5)/4 and (1-.5)/4, each plus half of 2/4
    ([0.625, 0.375], ((0.5, 1.0, 1.5),))
    """
    if not len(train.ids) or not orders or min(orders) < 1:
        raise MwSError("an n-gram model needs at least one training document and orders from 1")
    radix = vocabulary + 2
    predicted = text.places > 0
    found = np.zeros(len(text.ids), np.int64)  # the empty n-gram
    probability = np.full(int(predicted.sum()), 1 / (vocabulary + 1))
    discounts: tuple[Discounts, ...] = ()
    result: dict[int, Scored] = {}
    levels = _levels(train, max(orders), radix)
    level = next(levels)
    for order in range(1, max(orders) + 1):
        contexts = _contexts(found, text.places, order)
        found = _numbers_of_keys(level.keys, np.where(contexts < 0, -1, contexts * radix + text.ids))
        at = contexts[predicted], found[predicted]
        if order in orders:
            own = discounts_of(level.counts)
            nats = -np.log(_interpolated(level.keys // radix, level.counts, own, *at, probability))
            result[order] = Scored(nats, (*discounts, own))
        if following := next(levels, None):
            counts = _continuations(level, following)
            discounts = (*discounts, discounts_of(counts))
            probability = _interpolated(level.keys // radix, counts, discounts[-1], *at, probability)
            level = following
    return result


def discounts_of(counts: npt.ArrayLike) -> Discounts:
    """Compute discounts of counts 1, 2 and 3 or more from the numbers of n-grams of a level with the counts 1 to 4.

    `FALLBACK` if none has the count 1, 2 or 3, or if a discount comes out as 0 or less: such a discount would keep no
    probability back for ids unseen after some context. (No discount can exceed the count it is taken from.)

    >>> discounts_of([1, 1, 1, 1, 2, 2, 3, 4])  # Y = 4/8: 1-2Y(2/4), 2-3Y(1/2), 3-4Y(1/1)
    (0.5, 1.25, 1.0)
    """
    array = np.asarray(counts)
    n1, n2, n3, n4 = (int((array == count).sum()) for count in (1, 2, 3, 4))
    if not (n1 and n2 and n3):
        return FALLBACK
    share = n1 / (n1 + 2 * n2)
    found = (1 - 2 * share * n2 / n1, 2 - 3 * share * n3 / n2, 3 - 4 * share * n4 / n3)
    return found if min(found) > 0 else FALLBACK


def _levels(train: Stream, highest: int, radix: int) -> Iterator[_Level]:
    """Build levels 1 to `highest`."""
    numbers = np.zeros(len(train.ids), np.int64)
    for order in range(1, highest + 1):
        contexts = _contexts(numbers, train.places, order)
        within = np.flatnonzero(contexts >= 0)
        keys, inverse, counts = np.unique(
            contexts[within] * radix + train.ids[within], return_inverse=True, return_counts=True
        )
        shorter = np.zeros(len(keys), np.int64)
        shorter[inverse] = numbers[within]
        at_start = np.zeros(len(keys), np.bool_)
        at_start[inverse[train.places[within] == order - 1]] = True
        if order == 1:
            counts[at_start] = 0  # the boundary is a context, never predicted
        numbers = np.full(len(train.ids), -1, np.int64)
        numbers[within] = inverse
        yield _Level(keys, counts, shorter, at_start, numbers)


def _contexts(numbers: Longs, places: Longs, order: int) -> Longs:
    """Number the n-gram one shorter that ends before each position; -1 where the document does not reach back."""
    if order == 1:
        return np.zeros(len(numbers), np.int64)
    contexts = np.roll(numbers, 1)
    contexts[places == 0] = -1
    return contexts


def _numbers_of_keys(keys: Longs, wanted: Longs) -> Longs:
    """Return the number of each wanted key; -1 for absent keys."""
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    at = np.searchsorted(keys, wanted)
    at[at == len(keys)] = 0
    return np.where(keys[at] == wanted, at, -1)


def _continuations(level: _Level, following: _Level) -> Longs:
    """Count the different ids that an n-gram occurs after; its occurrences where it begins with the boundary."""
    return np.where(level.at_start, level.counts, np.bincount(following.shorter, minlength=len(level.keys)))


def _interpolated(
    contexts: Longs, counts: Longs, discounts: Discounts, context: Longs, found: Longs, lower: Doubles
) -> Doubles:
    """Compute probabilities one level up: discounted counts, and the share kept back, spread as `lower` says.

    `contexts` and `counts` belong to each n-gram of the level; `context` and `found` name the context and the n-gram
    of each probability that is wanted, -1 where it was never seen.
    """
    if not len(contexts):  # no document is long enough
        return lower
    taken = np.array([0.0, *discounts])[np.minimum(counts, 3)]
    total, kept = (np.bincount(contexts, weights=values) for values in (counts, taken))
    known, seen = context >= 0, found >= 0
    own = np.where(seen, (counts - taken)[found], 0.0)
    return np.where(known, (own + kept[context] * lower) / total[context], lower)
