"""Merges that are known already, carried out word by word as a BPE tokenizer does; nothing is counted or chosen."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from mws_hf.kernels.int_table import find_pair, pair_key, put
from mws_hf.kernels.jit import njit
from mws_hf.learn.engine.pairs import INSIDE

Array = npt.NDArray[Any]


@njit(nogil=True)
def enter_products(pairs: Array, first: int, keys: Array, products: Array) -> None:
    """Give row k of `pairs`, two token ids, the product ``first + k`` in a table (kernels/int_table.py)."""
    for k in range(len(pairs)):
        put(keys, products, pair_key(pairs[k, 0], pairs[k, 1]), first + k)


@njit(nogil=True)
def merge_words(tok: Array, length: Array, keys: Array, products: Array) -> None:
    """Carry out merges word by word, of all that a word has room for the one with the lowest product first.

    The same as merge by merge over all words, if products have higher ids than their parts and later merges.

    Args:
        tok: the text; changed in place.
        length: of the tokens, products included, in characters.
        keys: with `products` a table (kernels/int_table.py) from each pair to its product.
        products: token ids; -1 for pairs that are not merged.
    """
    begin = 0
    while begin < len(tok):
        if tok[begin] < 0:
            begin += 1
            continue
        best, end = _lowest_product(tok, length, keys, products, begin)
        while best >= 0:
            i = begin
            while i < end:
                j = i + length[tok[i]]
                if tok[j] >= 0 and find_pair(keys, products, tok[i], tok[j]) == best:
                    last = j + length[tok[j]] - 1
                    tok[j - 1] = tok[j] = INSIDE
                    tok[i] = tok[last] = best
                    j = last + 1
                i = j
            best, end = _lowest_product(tok, length, keys, products, begin)
        begin = end


@njit(nogil=True)
def _lowest_product(tok: Array, length: Array, keys: Array, products: Array, begin: int) -> tuple[int, int]:
    """The lowest product of the pairs in the word that begins there, -1 if none is merged, and where the word ends."""
    best, i = -1, begin
    while True:
        j = i + length[tok[i]]
        if tok[j] < 0:
            return best, j
        product = int(find_pair(keys, products, tok[i], tok[j]))
        if product >= 0 and (best < 0 or product < best):
            best = product
        i = j
