"""Bits per byte of held-out text under an n-gram model over the tokens of a tokenizer.

This is a proxy measure that takes seconds and has no random seeds. It prefers MwS to BPE in the same languages as small
neural models do, but in Russian and Hungarian it underestimates the gain of Unigram. Confirm small differences with
`scripts/lm`.

The models use interpolated modified Kneser-Ney smoothing (Chen & Goodman 1998), computed as in KenLM (Heafield et al.
2013, section 3). An n-gram is stored as an int64 key: the number of its context (its first n - 1 ids) times a constant,
plus its last id. All n-grams of one length are a sorted array of keys, so that the memory (about 200 bytes per training
id) does not grow with the order.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from mws_hf.errors import MwSError, SettingError
from mws_hf.kernels import Doubles, Longs, Mask
from mws_hf.scoring.running_text import lines_of
from mws_hf.scoring.significance import PairedDifference, paired_bootstrap
from mws_hf.tokenizer.opened import Opened, open_tokenizer

Discounts: TypeAlias = tuple[float, float, float]

FALLBACK: Discounts = (0.5, 1.0, 1.5)
"""The discounts of counts 1, 2, and 3 or more if a level has too few n-grams (KenLM: ``--discount_fallback``)."""


class Stream(NamedTuple):
    """Joined documents, each between a start symbol, which is only context, and an end symbol, which is predicted.

    Attributes:
        ids: token ids. The id of the end symbol is the size of the vocabulary, and that of the start is one higher.
        places: distance of each id from the start symbol of its document, which is at 0.
    """

    ids: Longs
    places: Longs


class Scored(NamedTuple):
    """The scores of a text under the model of one order.

    Attributes:
        nats: negative log-likelihood of each id and each end symbol in nats, in the order of the stream.
        discounts: discounts of each level, unigrams first.
    """

    nats: Doubles
    discounts: tuple[Discounts, ...]


class _Level(NamedTuple):
    """The distinct n-grams of one length in the training stream, numbered in the order of their keys.

    Attributes:
        keys: key of each n-gram, ascending.
        counts: occurrences of each n-gram.
        shorter: for each n-gram, the number (in the level below) of its suffix without the first id.
        at_start: whether each n-gram begins with a start symbol.
        numbers: number of the n-gram that ends at each position of the stream; -1 if the document begins too late.
    """

    keys: Longs
    counts: Longs
    shorter: Longs
    at_start: Mask
    numbers: Longs


def stream_of(documents: Sequence[npt.ArrayLike], vocabulary: int) -> Stream:
    """Join documents, whose ids are below `vocabulary`, to one stream with start and end symbols."""
    parts: list[npt.ArrayLike] = []
    for document in documents:
        parts += [[vocabulary + 1], document, [vocabulary]]
    ids = np.concatenate([np.zeros(0, np.int64), *(np.asarray(part, np.int64) for part in parts)])
    positions = np.arange(len(ids))
    starts = np.maximum.accumulate(np.where(ids == vocabulary + 1, positions, 0))
    return Stream(ids, positions - starts)


def score_orders(train: Stream, text: Stream, vocabulary: int, orders: Sequence[int]) -> dict[int, Scored]:
    """Score a text under models of several orders that are trained on the same stream.

    The probability of an id is interpolated level by level, from the uniform distribution over the vocabulary and the
    end symbol up to the n-grams of the order. The count of an n-gram is the number of distinct ids before it. At the
    highest level, and for n-grams that begin with a start symbol, it is the number of occurrences. If a context does
    not occur in training, the probability of the level below is used.

    Args:
        train: the training documents.
        text: the documents to score.
        vocabulary: size of the vocabulary; all ids are smaller.
        orders: lengths of n-grams; there is one model for each.

    Returns:
        The scores by order.

    Raises:
        MwSError: there is no training document, or no order, or an order below 1.
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
            highest = discounts_of(level.counts)
            nats = -np.log(_interpolated(level.keys // radix, level.counts, highest, *at, probability))
            result[order] = Scored(nats, (*discounts, highest))
        if following := next(levels, None):
            # the number of distinct ids before an n-gram, or of its occurrences if it begins with a start symbol
            before = np.bincount(following.shorter, minlength=len(level.keys))
            counts = np.where(level.at_start, level.counts, before)
            discounts = (*discounts, discounts_of(counts))
            probability = _interpolated(level.keys // radix, counts, discounts[-1], *at, probability)
            level = following
    return result


def discounts_of(counts: npt.ArrayLike) -> Discounts:
    """Compute the discounts of counts 1, 2, and 3 or more from the numbers of n-grams that have the counts 1 to 4.

    The result is `FALLBACK` unless each of the counts 1, 2 and 3 occurs and all discounts are positive. A discount of 0
    or less would leave no probability for new ids.
    """
    array = np.asarray(counts)
    n1, n2, n3, n4 = (int((array == count).sum()) for count in (1, 2, 3, 4))
    if not (n1 and n2 and n3):
        return FALLBACK
    share = n1 / (n1 + 2 * n2)
    found = (1 - 2 * share * n2 / n1, 2 - 3 * share * n3 / n2, 3 - 4 * share * n4 / n3)
    return found if min(found) > 0 else FALLBACK


def _levels(train: Stream, highest: int, radix: int) -> Iterator[_Level]:
    """Yield the n-grams of length 1, 2, ... up to `highest`."""
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
            counts[at_start] = 0  # a start symbol is only context and never predicted
        numbers = np.full(len(train.ids), -1, np.int64)
        numbers[within] = inverse
        yield _Level(keys, counts, shorter, at_start, numbers)


def _contexts(numbers: Longs, places: Longs, order: int) -> Longs:
    """Return the number of the context before each position; -1 if the document begins too late for it."""
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
    """Compute the probabilities at a level: discounted counts, plus the discounted mass distributed like `lower`."""
    if not len(contexts):  # no document is long enough
        return lower
    taken = np.array([0.0, *discounts])[np.minimum(counts, 3)]
    total, kept = (np.bincount(contexts, weights=values) for values in (counts, taken))
    known, seen = context >= 0, found >= 0
    discounted = np.where(seen, (counts - taken)[found], 0.0)
    return np.where(known, (discounted + kept[context] * lower) / total[context], lower)


ORDERS = (2, 3, 4, 5)
ASIDE = 10
"""Of this many training documents, one is set aside to choose the order."""
_BATCH = 1000


@dataclass(frozen=True)
class NgramBits:
    """The figures of an n-gram model of a tokenizer on held-out documents; arrays have shape (n_documents,).

    Attributes:
        nats: negative log-likelihood of each document in nats, including its end.
        n_bytes: UTF-8 bytes of each document.
        restored: whether decoding returns the original document. Compare only these documents, because lost text costs
            no bits.
        tokens: tokens of the held-out documents, without their ends.
        order: length of the n-grams, chosen on training documents that were set aside.
        aside: bits per byte of the documents that were set aside, by order.
        discounts: discounts of counts 1, 2, and 3 or more at each level, unigrams first.
        train_bytes: UTF-8 bytes of the training documents, including those set aside.
        train_tokens: tokens of the training documents.
        repeated: number of training documents that were left out, because they are also held out.
    """

    nats: Doubles
    n_bytes: Longs
    restored: Mask
    tokens: int
    order: int
    aside: dict[int, float]
    discounts: tuple[Discounts, ...]
    train_bytes: int
    train_tokens: int
    repeated: int

    @property
    def value(self) -> float:
        """Bits per byte over all held-out documents."""
        return _bits_per_byte(self.nats, self.n_bytes)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values for JSON, summed over documents."""
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
    """Train an n-gram model on the tokens of a tokenizer, and measure held-out documents in bits per byte.

    This is a proxy measure: it does not rank Unigram as neural models do, and its context is a number of tokens and not
    of bytes.

    The model is interpolated modified Kneser-Ney. Documents are independent: each one begins with a start symbol, and
    the bits of its end symbol count. The lowest level is the uniform distribution over the vocabulary and the end
    symbol, so that every token has a probability above 0. To choose the order, every tenth training document is set
    aside, and models are trained on the others. The order that needs the fewest bits per byte of the documents set
    aside (if several are equal, the lowest) is then trained on all training documents. Training documents that are also
    held out are left out.

    Args:
        source: any tokenizer that `mws_hf.tokenizer.opened.open_tokenizer` opens.
        train: documents to train on, at least two that are not held out; a list, or a file with one document per line.
        held_out: documents to measure, none of them empty; a list, or a file with one document per line.
        orders: lengths of n-grams to choose from.

    Raises:
        MwSError: there are too few documents, a held-out document is empty, or there is no order.

    >>> from tokenizers import Tokenizer, decoders, models
    >>> letters = Tokenizer(models.BPE({"a": 0, "b": 1}, []))
    >>> letters.decoder = decoders.Fuse()
    >>> bits = ngram_bits(letters, ["ab", "abab", "ababab", "b"], ["ababababab"], orders=[1, 2])
    >>> bits.order, round(bits.value, 3), bits.to_dict()["restored"]
    (2, 0.888, 1)
    """
    if not isinstance(orders, Sequence) or not orders or any(type(each) is not int or each < 1 for each in orders):
        raise SettingError("orders", orders, "is not a list of lengths of n-grams; give whole numbers from 1 up")
    opened, train, held_out = open_tokenizer(source, by_class=True), lines_of(train), lines_of(held_out)
    kept = training_documents(train, held_out)
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


def training_documents(train: Sequence[str], held_out: Sequence[str]) -> list[str]:
    """Return the training documents that are not also held out.

    Raises:
        MwSError: fewer than two are left, or a held-out document is empty, or there is none.

    >>> training_documents(["a", "b", "c"], ["b"])
    ['a', 'c']
    """
    unseen = set(held_out)
    kept = [document for document in train if document not in unseen]
    if not held_out or not all(held_out) or len(kept) < 2:
        raise MwSError(
            "n-gram bits per byte need held-out text without empty lines, and at least two training lines that are not "
            f"in that text; there are {len(held_out):,} held-out lines, and {len(kept):,} of the {len(train):,} "
            "training lines are not among them"
        )
    return kept


def bits_differences(bits: Mapping[str, NgramBits], *, resamples: int = 1000) -> dict[str, PairedDifference | None]:
    """Compare the bits per byte of each tokenizer with those of the first, on the documents that both restore.

    Args:
        bits: the figures by tokenizer, all on the same held-out documents.
        resamples: number of bootstrap resamples.

    Returns:
        The difference by tokenizer, negative if it needs fewer bits than the first. It is None for the first tokenizer,
        and if there is no document that both restore.

    Raises:
        MwSError: a tokenizer was measured on different documents from the first one.
    """
    base = next(iter(bits.values()), None)
    result: dict[str, PairedDifference | None] = {}
    for name, entry in bits.items():
        if base is None or not np.array_equal(entry.n_bytes, base.n_bytes):
            raise MwSError(
                f"{name} was measured on different documents from the first tokenizer; give both the same held-out text"
            )
        both = entry.restored & base.restored
        result[name] = None
        if entry is not base and both.any():
            result[name] = paired_bootstrap(
                [entry.nats], [base.nats], entry.n_bytes, represented=both, resamples=resamples
            )
    return result


def _encoded(opened: Opened, documents: Sequence[str]) -> list[Longs]:
    """Return the ids of each document, encoded in batches, which limit the memory for token strings and spans."""
    batches = (documents[start : start + _BATCH] for start in range(0, len(documents), _BATCH))
    return [np.array(item.ids, np.int64) for batch in batches for item in opened.encode(batch)]


def _sizes(documents: Sequence[str]) -> Longs:
    return np.array([len(document.encode()) for document in documents], np.int64)


def _bits_per_byte(nats: Doubles, n_bytes: Longs) -> float:
    return float(nats.sum() / (math.log(2) * n_bytes.sum()))
