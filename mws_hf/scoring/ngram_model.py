"""Bits per byte of held-out text under an n-gram model over a tokenizer's tokens.

A screening measure: it needs no seeds and takes seconds. It prefers MwS to BPE where small neural models do, but in
Russian and Hungarian it finds less of Unigram's gain than they do. Confirm small differences with `scripts/lm`.

The models are interpolated modified Kneser-Ney, by the definitions of Chen & Goodman (1998) as KenLM computes them
(Heafield et al. 2013, section 3). The key of an n-gram is the number of its context, the n-gram one shorter that it
begins with, times a constant, plus its last id. So a level is a sorted array of int64 keys, and memory (about 200 bytes
a training id) does not grow with the order.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from mws_hf.errors import MwSError
from mws_hf.kernels import Doubles, Longs, Mask
from mws_hf.scoring.running_text import lines_of
from mws_hf.scoring.significance import PairedDifference, paired_bootstrap
from mws_hf.tokenizer.opened import Opened, open_tokenizer

Discounts: TypeAlias = tuple[float, float, float]

FALLBACK: Discounts = (0.5, 1.0, 1.5)
"""Discounts of counts 1, 2, 3 and more where a level's own cannot be had; those of KenLM's ``--discount_fallback``."""


class Stream(NamedTuple):
    """A stream of documents, each between a boundary, which is context only, and an end, which is predicted."""

    ids: Longs  # the vocabulary's, then the end's, then the boundary's
    places: Longs  # distance from the document's boundary; 0 is the boundary itself


class Scored(NamedTuple):
    """A text under the model of one order."""

    nats: Doubles  # -log p of each id and each end, in the order of the stream
    discounts: tuple[Discounts, ...]  # of each level, unigrams first


class _Level(NamedTuple):
    """The distinct n-grams of one length in the training stream, numbered in the order of their keys."""

    keys: Longs  # one an n-gram, ascending
    counts: Longs
    shorter: Longs  # number one level down of the n-gram without its first id
    at_start: Mask  # whether it begins with the boundary
    numbers: Longs  # of the n-gram that ends at each position of the stream; -1 where none does


def stream_of(documents: Sequence[npt.ArrayLike], vocabulary: int) -> Stream:
    """Join documents of ids below `vocabulary` in one stream."""
    parts: list[npt.ArrayLike] = []
    for document in documents:
        parts += [[vocabulary + 1], document, [vocabulary]]
    ids = np.concatenate([np.zeros(0, np.int64), *(np.asarray(part, np.int64) for part in parts)])
    positions = np.arange(len(ids))
    starts = np.maximum.accumulate(np.where(ids == vocabulary + 1, positions, 0))
    return Stream(ids, positions - starts)


def score_orders(train: Stream, text: Stream, vocabulary: int, orders: Sequence[int]) -> dict[int, Scored]:
    """Score a text, of ids below `vocabulary`, under the model of each order trained on the same stream.

    The probability of an id is interpolated from the uniform one over the vocabulary and the end up to the order's
    n-grams. An n-gram counts as often as it occurs at the highest level and where it begins with a boundary, elsewhere
    by the different ids it occurs after. A context never seen leaves the probability as it is one level down.
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
            # the different ids that an n-gram occurs after; its occurrences where it begins with the boundary
            before = np.bincount(following.shorter, minlength=len(level.keys))
            counts = np.where(level.at_start, level.counts, before)
            discounts = (*discounts, discounts_of(counts))
            probability = _interpolated(level.keys // radix, counts, discounts[-1], *at, probability)
            level = following
    return result


def discounts_of(counts: npt.ArrayLike) -> Discounts:
    """Compute discounts of counts 1, 2 and 3 or more from the numbers of n-grams of a level with the counts 1 to 4.

    `FALLBACK` if none has the count 1, 2 or 3, or for a discount of 0 or less, which would leave nothing for new ids.
    """
    array = np.asarray(counts)
    n1, n2, n3, n4 = (int((array == count).sum()) for count in (1, 2, 3, 4))
    if not (n1 and n2 and n3):
        return FALLBACK
    share = n1 / (n1 + 2 * n2)
    found = (1 - 2 * share * n2 / n1, 2 - 3 * share * n3 / n2, 3 - 4 * share * n4 / n3)
    return found if min(found) > 0 else FALLBACK


def _levels(train: Stream, highest: int, radix: int) -> Iterator[_Level]:
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


def _interpolated(
    contexts: Longs, counts: Longs, discounts: Discounts, context: Longs, found: Longs, lower: Doubles
) -> Doubles:
    """Compute probabilities one level up: discounted counts, and the share kept back, spread as `lower` says."""
    if not len(contexts):  # no document is long enough
        return lower
    taken = np.array([0.0, *discounts])[np.minimum(counts, 3)]
    total, kept = (np.bincount(contexts, weights=values) for values in (counts, taken))
    known, seen = context >= 0, found >= 0
    own = np.where(seen, (counts - taken)[found], 0.0)
    return np.where(known, (own + kept[context] * lower) / total[context], lower)


ORDERS = (2, 3, 4, 5)
ASIDE = 10  # one training document in so many is kept aside to choose the order
_BATCH = 1000


@dataclass(frozen=True)
class NgramBits:
    """The figures of a tokenizer's n-gram model on held-out documents; arrays have one entry a document."""

    nats: Doubles  # -log p of each document's tokens and of its end
    n_bytes: Longs  # UTF-8 bytes of the raw text
    restored: Mask  # documents that the tokenizer gives back; text that it loses costs no bits, so compare on these
    tokens: int  # of the held-out documents, ends not counted
    order: int  # length of the n-grams, chosen on training documents kept aside
    aside: dict[int, float]  # bits per byte of the documents kept aside, by order
    discounts: tuple[Discounts, ...]  # of counts 1, 2 and 3 or more at each level, unigrams first
    train_bytes: int  # documents kept aside included
    train_tokens: int
    repeated: int  # training documents left out because they are held out as well

    @property
    def value(self) -> float:
        """Bits per byte over all held-out documents."""
        return _bits_per_byte(self.nats, self.n_bytes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; documents are summed up."""
        return {
            "bits_per_byte": self.value,
            "documents": len(self.nats),
            "restored": int(self.restored.sum()),
            "bytes": int(self.n_bytes.sum()),
            "tokens": self.tokens,
            "order": self.order,
            "bits_per_byte_aside": {str(order): bits for order, bits in self.aside.items()},
            "discounts": [list(level) for level in self.discounts],
            "train_bytes": self.train_bytes,
            "train_tokens": self.train_tokens,
            "repeated": self.repeated,
        }


def ngram_bits(
    source: Any,
    train: str | os.PathLike[str] | Iterable[str],
    held_out: str | os.PathLike[str] | Iterable[str],
    *,
    orders: Sequence[int] = ORDERS,
) -> NgramBits:
    """Train an interpolated modified Kneser-Ney model on a tokenizer's tokens and measure held-out documents with it.

    For screening: it does not rank Unigram as neural models do, and the context is a number of tokens, not of bytes.

    Each document stands alone: it begins with a boundary as context and ends with an end symbol, whose bits count. The
    uniform distribution over the vocabulary and the end is the model's base, so every token has a probability above 0.
    Every tenth training document is kept aside; the order with the fewest bits per byte there under models of the
    others (the lowest of equals) is then trained on all. Training documents that are held out as well are left out.

    Args:
        source: any tokenizer that `mws_hf.tokenizer.opened.open_tokenizer` opens.
        train: documents to train on, at least two besides the held-out ones; a list, or a file with one on each line.
        held_out: documents to measure, none empty; a list or a file.
        orders: lengths of n-grams to choose from.

    Raises:
        MwSError: too few documents, an empty one held out, or no order.

    >>> from tokenizers import Tokenizer, decoders, models
    >>> letters = Tokenizer(models.BPE({"a": 0, "b": 1}, []))
    >>> letters.decoder = decoders.Fuse()
    >>> bits = ngram_bits(letters, ["ab", "abab", "ababab", "b"], ["ababababab"], orders=[1, 2])
    >>> bits.order, round(bits.value, 3), bits.to_dict()["restored"]
    (2, 0.888, 1)
    """
    opened, train, held_out = open_tokenizer(source, by_class=True), lines_of(train), lines_of(held_out)
    unseen = set(held_out)
    kept = [document for document in train if document not in unseen]
    if not held_out or not all(held_out) or len(kept) < 2:
        raise MwSError(
            f"n-gram bits per byte need text held out, none of it empty, and two or more other documents to train on; "
            f"there are {len(held_out)} and {len(kept)} (a line is a document)"
        )
    train_ids, held_ids = _encoded(opened, kept), _encoded(opened, held_out)
    largest = max((int(ids.max()) for ids in (*train_ids, *held_ids) if len(ids)), default=0)
    vocabulary = max(opened.vocabulary_size, largest + 1)
    rest = [ids for index, ids in enumerate(train_ids) if index % ASIDE]
    n_bytes = _sizes(kept[::ASIDE])
    models = score_orders(stream_of(rest, vocabulary), stream_of(train_ids[::ASIDE], vocabulary), vocabulary, orders)
    aside = {order: _bits_per_byte(models[order].nats, n_bytes) for order in sorted(models)}
    best = min(aside, key=lambda order: aside[order])
    scored = score_orders(stream_of(train_ids, vocabulary), stream_of(held_ids, vocabulary), vocabulary, [best])[best]
    lengths = np.array([len(ids) for ids in held_ids], np.int64)
    decoded = opened.decode([ids.tolist() for ids in held_ids])
    return NgramBits(
        nats=np.add.reduceat(scored.nats, np.concatenate(([0], np.cumsum(lengths + 1)[:-1]))),
        n_bytes=_sizes(held_out),
        restored=np.array([text == document for text, document in zip(decoded, held_out, strict=True)], np.bool_),
        tokens=int(lengths.sum()),
        order=best,
        aside=aside,
        discounts=scored.discounts,
        train_bytes=int(_sizes(kept).sum()),
        train_tokens=sum(map(len, train_ids)),
        repeated=len(train) - len(kept),
    )


def bits_differences(bits: Mapping[str, NgramBits], *, resamples: int = 1000) -> dict[str, PairedDifference | None]:
    """Compare each tokenizer's bits per byte with the first one's by a bootstrap over documents that both restore.

    A value is negative where the tokenizer needs fewer; None for the first itself, and where no document is comparable.
    """
    base = next(iter(bits.values()), None)
    result: dict[str, PairedDifference | None] = {}
    for name, entry in bits.items():
        if base is None or not np.array_equal(entry.n_bytes, base.n_bytes):
            raise MwSError(f"{name} was measured on other documents than the first; give both the same held-out text")
        both = entry.restored & base.restored
        result[name] = None
        if entry is not base and both.any():
            result[name] = paired_bootstrap(
                [entry.nats], [base.nats], entry.n_bytes, represented=both, resamples=resamples
            )
    return result


def _encoded(opened: Opened, documents: Sequence[str]) -> list[Longs]:
    """Return the ids of each document, a batch at a time: token strings and spans take far more room than ids."""
    batches = (documents[start : start + _BATCH] for start in range(0, len(documents), _BATCH))
    return [np.array(item.ids, np.int64) for batch in batches for item in opened.encode(batch)]


def _sizes(documents: Sequence[str]) -> Longs:
    return np.array([len(document.encode()) for document in documents], np.int64)


def _bits_per_byte(nats: Doubles, n_bytes: Longs) -> float:
    return float(nats.sum() / (math.log(2) * n_bytes.sum()))
