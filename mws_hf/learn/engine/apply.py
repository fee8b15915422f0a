"""Carry out merges that are known already, word by word as a BPE tokenizer does; nothing is counted or chosen."""

from __future__ import annotations

import numpy as np

from mws_hf.kernels.arrays import Array
from mws_hf.kernels.int_table import find_pair, pair_key, put
from mws_hf.kernels.jit import njit
from mws_hf.learn.engine.pairs import INSIDE


@njit(nogil=True)
def enter_products(pairs: Array, first: int, keys: Array, products: Array) -> None:
    """Enter the product ``first + k`` of each row k of `pairs`, two token ids, in a table (kernels/int_table.py)."""
    for k in range(len(pairs)):
        put(keys, products, pair_key(pairs[k, 0], pairs[k, 1]), first + k)


@njit(nogil=True)
def merge_words(tok: Array, length: Array, keys: Array, products: Array, scratch: Array) -> None:
    """Carry out merges word by word, in each word the merge with the lowest product first.

    The result equals that of merge by merge over all words, if products have higher ids than their parts and than the
    products of earlier merges.

    Args:
        tok: int32, the text in cells (see pairs.py); changed in place.
        length: int32, characters of each token, products included.
        keys: with `products` a table (kernels/int_table.py) from each pair to its product.
        products: token ids; -1 for pairs that are not merged.
        scratch: int32, shape (2, characters of the longest word).
    """
    ids, made = scratch
    begin = 0
    while begin < len(tok):
        if tok[begin] < 0:
            begin += 1
            continue
        n, end = 0, begin
        while tok[end] >= 0:
            ids[n] = tok[end]
            end += length[tok[end]]
            n += 1
        for k in range(n - 1):
            made[k] = find_pair(keys, products, ids[k], ids[k + 1])
        left = _merge_tokens(ids, made, n, keys, products)
        if left < n:
            _write_tokens(ids, left, length, tok, begin)
        begin = end


@njit(inner=True)
def _merge_tokens(ids: Array, made: Array, n: int, keys: Array, products: Array) -> int:
    """Merge the `n` tokens of a word, where ``made[k]`` is the product of tokens k and k + 1; returns how many stay.

    All places of the lowest product go in one pass, for the pairs that they make have higher products. One place a pass
    would take a long word squared time.
    """
    while True:
        at, best = -1, np.int64(1) << 40
        for k in range(n - 1):
            if 0 <= made[k] < best:
                at, best = k, np.int64(made[k])
        if at < 0:
            return n
        left, fresh = at, False
        while at < n:
            merged = at < n - 1 and made[at] == best
            ids[left] = best if merged else ids[at]
            if left > 0 and (merged or fresh):
                made[left - 1] = find_pair(keys, products, ids[left - 1], ids[left])
            if not merged:
                made[left] = made[at]
            at += 2 if merged else 1
            left, fresh = left + 1, merged
        n = left


@njit(inner=True)
def _write_tokens(ids: Array, n: int, length: Array, tok: Array, begin: int) -> None:
    """Write a word's `n` tokens into its cells."""
    for k in range(n):
        last = begin + length[ids[k]] - 1
        for i in range(begin + 1, last):
            tok[i] = INSIDE
        tok[begin] = tok[last] = ids[k]
        begin = last + 1
