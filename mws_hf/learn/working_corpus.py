"""Learn and apply merges by any criterion that adds up over positions; where the values come from is not known here.

A position is the place after a character, where a boundary may be. The engine repeatedly merges the adjacent pair of
tokens whose occurrences have the largest sum of position values: word weights give frequency BPE, evidence for "no
boundary here" gives morphs. Each merge costs what it changes. `tests/twins/engine.py` is the readable twin, equal
to it merge for merge.

Merges that are known already are carried out word by word, as a BPE tokenizer does; nothing is counted or chosen then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from mws_hf.corpus.files import progress_bar
from mws_hf.errors import MwSError
from mws_hf.kernels import Array, Doubles, Longs
from mws_hf.kernels.containers import find_pair, new_table, pair_key, put
from mws_hf.kernels.jit import njit
from mws_hf.kernels.threads import give_back, in_parts
from mws_hf.learn.candidates import (
    ASK,
    ASKED,
    EXHAUSTED,
    REACHED,
    Least,
    advance,
    fill_cells,
    hash_set,
    hashes_and_powers,
    open_queue,
    open_table,
    strike,
    with_room,
)
from mws_hf.learn.limits import NO_LIMIT, UNLIMITED, LearnedMerges, MergeLimits
from mws_hf.learn.pairs import INSIDE, Bounds, PairTable, write_cells
from mws_hf.learn.words import SymbolCorpus


@njit(nogil=True)
def enter_products(pairs: Array, first: int, keys: Array, products: Array) -> None:
    """Enter the product ``first + k`` of each row k of `pairs`, two token ids, in a table (kernels/containers.py)."""
    for k in range(len(pairs)):
        put(keys, products, pair_key(pairs[k, 0], pairs[k, 1]), first + k)


@njit(nogil=True)
def merge_words(tok: Array, length: Array, keys: Array, products: Array, scratch: Array) -> None:
    """Carry out merges in place, word by word, in each word the merge with the lowest product first.

    The result equals that of merge by merge over all words, if products have higher ids than their parts and than the
    products of earlier merges. `tok` is text in cells, `length` the characters of each token, products included; `keys`
    and `products` are a table from each pair to its product; `scratch` (2, longest word) is written over.
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
    for k in range(n):
        last = begin + length[ids[k]] - 1
        for i in range(begin + 1, last):
            tok[i] = INSIDE
        tok[begin] = tok[last] = ids[k]
        begin = last + 1


MERGES_A_CALL = 500
"""Merges that kernels make before Python moves the progress bar."""

Turn = tuple[int, Callable[[], Array | None]]
"""The most merges to learn by some position values, and the function that makes these values."""

Worth = Callable[[Doubles, Longs], Longs]
"""Worth of positions from the boundaries there and the weights of their words, such as `phases.morph_worth`."""

_WORDS_AT_ONCE = 1 << 12
"""Words whose worth is worked out at a time, so that intermediate arrays stay small."""


class WorkingCorpus:
    """A corpus cut into tokens, at first characters, and the tokens so far; learning changes it in place.

    `tokens` are the strings by id: the alphabet in code-point order, then the products in merge-rank order. `text`
    holds the words in cells of token ids (see pairs.py). Words that another tokenizer has cut already come with both;
    of their corpus only starts, counted in characters, and weights are looked at.
    """

    def __init__(self, corpus: SymbolCorpus, tokens: Sequence[str] = (), text: Array | None = None) -> None:
        self.corpus = corpus
        self.tokens: list[str] = list(tokens or corpus.alphabet)
        self._ids = {token: i for i, token in enumerate(self.tokens)}
        if text is not None:
            self.text = text
            return
        cells = len(corpus.symbols) + len(corpus) + 1
        if cells >= 2**31:
            raise MwSError(f"{len(corpus.symbols)} characters in distinct words; at most 2**31 fit, drop rare words")
        self.text = np.empty(cells, np.int32)
        fill_cells(corpus.symbols, corpus.starts, self.text)

    def places_cut(self) -> float:
        """Return the share of the places inside words where a token ends; the place after a leading space is none."""
        lengths = np.fromiter(map(len, self.tokens), np.int64, len(self.tokens))
        ids, first = self.text[self.text >= 0], self.text[self.corpus.starts[:-1] + np.arange(len(self.corpus)) + 1]
        n_tokens = len(ids) - np.count_nonzero((lengths > 1)[ids]) // 2  # a token of several cells has its id in two
        space = np.array([token.startswith(" ") for token in self.tokens], bool)[first]
        alone = np.count_nonzero(space & (lengths[first] == 1) & (np.diff(self.corpus.starts) > 1))
        spaced = np.count_nonzero(space & (np.diff(self.corpus.starts) > 1))
        places = len(self.corpus.symbols) - len(self.corpus) - spaced
        return float((n_tokens - len(self.corpus) - alone) / np.maximum(1, places))

    def apply(self, merges: Iterable[tuple[str, str]]) -> None:
        """Carry out given merges in rank order, as a BPE tokenizer would."""
        first = len(self.tokens)
        pairs = [self.add_merge(left, right) for left, right in merges]
        lengths = np.fromiter(map(len, self.tokens), np.int32, len(self.tokens))
        keys, products = new_table(len(pairs))
        enter_products(np.array(pairs, np.int64).reshape(-1, 2), first, keys, products)
        starts, text = self.corpus.starts, self.text
        longest = int(np.diff(starts).max(initial=0))

        def merge(a: int, b: int) -> None:
            words, scratch = text[starts[a] + a : starts[b] + b + 1], np.empty((2, longest), np.int32)
            merge_words(words, lengths, keys, products, scratch)

        in_parts(merge, len(self.corpus))

    def add_merge(self, left: str, right: str) -> tuple[int, int]:
        """Add the product of two tokens, which occurs nowhere yet; return the ids of its parts."""
        if left not in self._ids or right not in self._ids or left + right in self._ids:
            raise MwSError(
                f"merge {left!r} + {right!r}: both parts must be characters of the corpus or earlier products, and "
                "the product new; check the order of the merges"
            )
        self._add_token(left + right)
        return self._ids[left], self._ids[right]

    def learn(
        self, values: Array | None, n_merges: int, limits: MergeLimits = UNLIMITED, *, title: str = "merges"
    ) -> LearnedMerges:
        """Merge the pair whose occurrences have the largest sum of position values, until none has a positive sum.

        Ties: the smaller left id, then the smaller right id. Ids number the alphabet in code-point order, then the
        products in merge-rank order. A pair whose product is a token already is passed over. "aaa" counts as two
        occurrences of (a, a) and is replaced from the left, as in Hugging Face BPE.

        `values`, shape (n_symbols,) or (n_cells,), are the worth of the position after each character of the corpus, or
        each cell of `text`, in units of your choice; their sum must fit into 63 bits. Values after the last character
        of a word are not used. None: the weight of the word everywhere (frequency BPE).
        """
        bounds = Bounds(max(1, limits.min_occurrences), NO_LIMIT, limits.longest)
        least = Least(bounds.min_occurrences, max(1, limits.min_value), limits.min_frequency)
        weights = self.cell_values(None) if limits.min_frequency > 1 else np.zeros(0, np.int64)
        table = open_table(self.text, self.cell_values(values), self.tokens, bounds)
        for ids in limits.struck:
            if (pair := int(find_pair(table.keys, table.ids, *ids))) >= 0:
                strike(table, pair)
        queue = open_queue(table, least)
        strings = self.taken_strings(table, limits.never)
        first, status, accepted = len(self.tokens), REACHED, -1
        with progress_bar(limits.show_progress, total=n_merges, desc=title, unit="") as bar:
            while status != EXHAUSTED and len(self.tokens) < first + n_merges:
                goal = min(first + n_merges, len(self.tokens) + MERGES_A_CALL)
                status = advance(table, queue, strings, goal, least, bounds, accepted, weights)
                bar.update(self.add_products(table))
                if status == ASK:
                    accepted = self.accepted_pair(table, int(queue.used[ASKED]), limits.never)
                elif status not in (REACHED, EXHAUSTED):
                    table, queue = with_room(table, queue)
                    strings = self.taken_strings(table, limits.never)
        return learnt(table, self.tokens, first, status == EXHAUSTED)

    def learn_in_turns(
        self, turns: Iterable[Turn], n_merges: int, limits: MergeLimits = UNLIMITED, *, title: str = "merges"
    ) -> LearnedMerges:
        """Learn by several arrays of position values, each made when its turn comes, until `n_merges` are found."""
        found = LearnedMerges([])
        for most, values in turns:
            room = min(most, n_merges - len(found.merges))
            found = found.then(self.learn(values(), room, limits, title=title))
            give_back()
            if len(found.merges) >= n_merges:
                break
        return found

    def lay_out(self, boundaries: Doubles, weights: Longs, worth: Worth) -> Longs:
        """Lay the worth of all positions out by cell, from the probabilities of a boundary after each symbol."""
        all_starts, values = self.corpus.starts, np.empty(len(self.text), np.int64)
        values[0] = 0

        def fill(a: int, b: int) -> None:
            for first in range(a, b, _WORDS_AT_ONCE):
                starts = all_starts[first : min(b, first + _WORDS_AT_ONCE) + 1]
                each = np.repeat(weights[first : first + len(starts) - 1], np.diff(starts))
                found = worth(boundaries[starts[0] : starts[-1]], each)
                write_cells(found, starts - starts[0], values[starts[0] + first :])

        in_parts(fill, len(self.corpus))
        return values

    def cell_values(self, values: Array | None) -> Array:
        """Lay position values out by cell (see pairs.py), unless they are; None: each word's weight everywhere."""
        if values is not None and len(values) == len(self.text):
            return values
        if values is None:
            nowhere = np.broadcast_to(0.0, int(self.corpus.starts[-1]))
            return self.lay_out(nowhere, self.corpus.weights, lambda _, weights: weights)
        if len(values) != len(self.corpus.symbols):
            raise MwSError(f"{len(values)} position values for {len(self.corpus.symbols)} characters; give one each")
        cells = np.zeros(len(self.text), np.int64)
        fill_cells(np.ascontiguousarray(values, np.int64), self.corpus.starts, cells)
        return cells

    def taken_strings(self, table: PairTable, forbidden: Iterable[str]) -> Array:
        """Hash all token strings and the strings that may never be tokens; the set has room for the table's tokens."""
        hashes = np.append(table.token_hash[: len(self.tokens)], hashes_and_powers(sorted(forbidden))[:, 0])
        return hash_set(hashes, len(table.length) + len(hashes))

    def _add_token(self, token: str) -> None:
        self._ids[token] = len(self.tokens)
        self.tokens.append(token)

    def add_products(self, table: PairTable) -> int:
        """Take over the tokens that kernels have added to the table; returns how many."""
        first, end = len(self.tokens), int(table.used[0])
        for i in range(first, end):
            self._add_token(self.tokens[table.token_left[i]] + self.tokens[table.token_right[i]])
        return end - first

    def accepted_pair(self, table: PairTable, pair: int, forbidden: frozenset[str]) -> int:
        """Return `pair` if its product is a new string after all; otherwise strike the pair out and return -1."""
        product = self.tokens[table.pairs["left"][pair]] + self.tokens[table.pairs["right"][pair]]
        if product not in self._ids and product not in forbidden:
            return pair
        strike(table, pair)
        return -1


def learnt(table: PairTable, tokens: list[str], first: int, exhausted: bool) -> LearnedMerges:
    """Collect the merges of all tokens from id `first` on, with their recorded scores."""
    parts = zip(
        table.token_left[first : len(tokens)].tolist(), table.token_right[first : len(tokens)].tolist(), strict=True
    )
    merges = [(tokens[left], tokens[right]) for left, right in parts]
    return LearnedMerges(merges, table.token_score[first : len(tokens)].tolist(), exhausted)
