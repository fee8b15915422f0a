"""Bits per byte of held-out text under an n-gram model over a tokenizer's tokens; `kneser_ney` is the model.

A screening measure: it needs no seeds and takes seconds. It prefers MwS to BPE where small neural models do, but it
does not reproduce their ranking of Unigram: in Russian and Hungarian it finds less of Unigram's gain than they do. Its
context is a number of tokens, so that a tokenizer of short tokens sees less text. Confirm small differences with
`scripts/lm`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from mws_hf.errors import MwSError
from mws_hf.evaluate.encoder import Encoder
from mws_hf.evaluate.formats import open_encoder
from mws_hf.evaluate.kneser_ney import Discounts, score_orders, stream_of
from mws_hf.evaluate.significance import PairedDifference, paired_bootstrap
from mws_hf.kernels.arrays import Doubles, Longs

ORDERS = (2, 3, 4, 5)
ASIDE = 10
"""One training document in so many is kept aside to choose the order."""
_BATCH = 1000


@dataclass(frozen=True)
class NgramBits:
    """The figures of a tokenizer's n-gram model on held-out documents.

    Attributes:
        nats: float64 (documents,), -log p of each document's tokens and of its end.
        n_bytes: int64 (documents,), UTF-8 bytes of the raw text.
        restored: bool (documents,), whether the tokenizer gives the document back. Text that it loses costs no bits, so
            bits per byte are comparable on restored documents only.
        tokens: tokens of the held-out documents, ends not counted.
        order: length of the n-grams, chosen on training documents kept aside.
        aside: bits per byte of the documents kept aside, by order, under models of the other training documents.
        discounts: discounts of counts 1, 2 and 3 or more at each level, unigrams first; (0.5, 1, 1.5) is the fallback.
        train_bytes: UTF-8 bytes trained on, documents kept aside included.
        train_tokens: tokens trained on.
        repeated: training documents left out because they are held out as well.
    """

    nats: Doubles
    n_bytes: Longs
    restored: npt.NDArray[np.bool_]
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
    source: Any, train: Sequence[str], held_out: Sequence[str], *, orders: Sequence[int] = ORDERS
) -> NgramBits:
    """Train an interpolated modified Kneser-Ney model on a tokenizer's tokens and measure held-out documents with it.

    For screening: it does not rank Unigram as neural models do, and the context is a number of tokens, not of bytes.

    Each document stands alone: it begins with a boundary as context and ends with an end symbol, whose bits count. The
    uniform distribution over the vocabulary and the end is the model's base, so every token has a probability above 0.
    Every tenth training document is kept aside; the order with the fewest bits per byte there under models of the
    others (the lowest of equals) is then trained on all. Training documents that are held out as well are left out.

    Args:
        source: anything `mws_hf.evaluate.formats.open_encoder` opens.
        train: documents to train on, at least two besides the held-out ones.
        held_out: documents to measure, none empty.
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
    encoder = open_encoder(source)
    unseen = set(held_out)
    kept = [document for document in train if document not in unseen]
    if not held_out or not all(held_out) or len(kept) < 2:
        raise MwSError(
            f"n-gram bits per byte need text held out, none of it empty, and two or more other documents to train on; "
            f"there are {len(held_out)} and {len(kept)} (a line is a document)"
        )
    train_ids, held_ids = list(_encoded(encoder, kept)), list(_encoded(encoder, held_out))
    largest = max((int(ids.max()) for ids in (*train_ids, *held_ids) if len(ids)), default=0)
    vocabulary = max(encoder.vocabulary_size, largest + 1)
    rest = [ids for index, ids in enumerate(train_ids) if index % ASIDE]
    n_bytes = _sizes(kept[::ASIDE])
    models = score_orders(stream_of(rest, vocabulary), stream_of(train_ids[::ASIDE], vocabulary), vocabulary, orders)
    aside = {order: _bits_per_byte(models[order].nats, n_bytes) for order in sorted(models)}
    best = min(aside, key=lambda order: aside[order])
    scored = score_orders(stream_of(train_ids, vocabulary), stream_of(held_ids, vocabulary), vocabulary, [best])[best]
    lengths = np.array([len(ids) for ids in held_ids], np.int64)
    return NgramBits(
        nats=np.add.reduceat(scored.nats, np.concatenate(([0], np.cumsum(lengths + 1)[:-1]))),
        n_bytes=_sizes(held_out),
        restored=_restored(encoder, held_out, held_ids),
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

    A value is the tokenizer's bits minus the first one's; None for the first itself, and where the two restore no
    document in common.

    Raises:
        MwSError: the tokenizers were measured on different documents.
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


def _encoded(encoder: Encoder, documents: Sequence[str]) -> Iterator[Longs]:
    """Return the ids of each document, a batch at a time: token strings and spans take far more room than ids."""
    iterator = iter(documents)
    while batch := list(islice(iterator, _BATCH)):
        for item in encoder.encode(batch):
            yield np.array(item.ids, np.int64)


def _restored(encoder: Encoder, documents: Sequence[str], encoded: Sequence[Longs]) -> npt.NDArray[np.bool_]:
    if encoder.decode is None:
        return np.zeros(len(documents), np.bool_)
    decoded = encoder.decode([ids.tolist() for ids in encoded])
    return np.array([text == document for text, document in zip(decoded, documents, strict=True)], np.bool_)


def _sizes(documents: Sequence[str]) -> Longs:
    return np.array([len(document.encode()) for document in documents], np.int64)


def _bits_per_byte(nats: Doubles, n_bytes: Longs) -> float:
    return float(nats.sum() / (math.log(2) * n_bytes.sum()))
