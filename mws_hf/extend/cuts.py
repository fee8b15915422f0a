"""Texts as the ids a tokenizer cuts them into, batch by batch: what counting of uses and neighbours reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from mws_hf.kernels.arrays import Longs
from mws_hf.tokenizer.stock import Tokenizer

_BATCH, _PLACES = 1024, 1 << 20


def cuts(tokenizer: Tokenizer, texts: Iterable[str]) -> Iterator[Longs]:
    """Yield the ids of each text, without those that a template adds; int64.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> backend = build_backend(base_vocab([], "abc", [("a", "b")]), [("a", "b")])
    >>> [[backend.id_to_token(index) for index in ids] for ids in cuts(backend, ["abc", "cab"])]
    [['ab', 'c'], ['c', 'ab']]
    """
    iterator = iter(texts)
    while batch := list(islice(iterator, _BATCH)):
        for item in tokenizer.encode_batch_fast(batch, add_special_tokens=False):
            yield np.array(item.ids, np.int64)


def count_ids(tokenizer: Tokenizer, texts: Iterable[str], size: int) -> Longs:
    """Count how often each id below `size` occurs in texts; int64 (size,)."""
    uses, parts = np.zeros(size, np.int64), cuts(tokenizer, texts)
    while batch := list(islice(parts, _BATCH)):
        uses += np.bincount(np.concatenate(batch), minlength=size)
    return uses


def joined(parts: Iterable[Longs], gap: int) -> Iterator[Longs]:
    """Join the ids of many texts into arrays of a million places or more, with `gap` places of -1 after each text.

    >>> [array.tolist() for array in joined([np.array([3, 4]), np.array([5])], 2)]
    [[3, 4, -1, -1, 5, -1, -1]]
    """
    between, held, places = np.full(gap, -1, np.int64), list[Longs](), 0
    for ids in parts:
        held += [ids, between]
        places += len(ids) + gap
        if places >= _PLACES:
            yield np.concatenate(held)
            held, places = [], 0
    if held:
        yield np.concatenate(held)
