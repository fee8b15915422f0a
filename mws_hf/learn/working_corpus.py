"""Learn merges by any criterion that is a sum over positions, and apply known merges.

A position is the point after a character, where a boundary can be. `WorkingCorpus` repeatedly merges the pair of
neighboring tokens whose occurrences have the largest sum of position values. If the value of
a position is the weight of its word, this is frequency BPE. If it is large where a boundary is improbable, the learner
finds morphs. The time of a merge depends on the number of
occurrences that it replaces. `tests/reference/engine.py` is a readable implementation that learns the same merges.

Merges that are already known are applied word by word, as a BPE tokenizer does, without counting pairs.
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
    EXHAUSTED,
    HASH_KNOWN,
    PENDING,
    REACHED,
    Minima,
    advance,
    fill_cells,
    hash_set,
    hashes_and_powers,
    open_queue,
    open_table,
    remove_pair,
    with_room,
)
from mws_hf.learn.limits import NO_LIMIT, UNLIMITED, LearnedMerges, MergeLimits
from mws_hf.learn.pairs import INSIDE, TOKENS, Bounds, PairTable, write_cells
from mws_hf.learn.words import SymbolCorpus


@njit(nogil=True)
def enter_products(pairs: Array, first: int, keys: Array, products: Array) -> None:
    """Store the product ``first + k`` of each row k of `pairs` (two token ids) in a table of kernels/containers.py."""
    for k in range(len(pairs)):
        put(keys, products, pair_key(pairs[k, 0], pairs[k, 1]), first + k)


@njit(nogil=True)
def merge_words(tok: Array, length: Array, keys: Array, products: Array, scratch: Array) -> None:
    """Apply merges in place, word by word; in each word the merge with the lowest product comes first.

    The result is the same as applying one merge after another to all words, if a product has a higher id than its parts
    and than the products of earlier merges.

    Args:
        tok: text in cells (see pairs.py).
        length: length of each token in characters, products included.
        keys: keys of a table from each pair to its product.
        products: values of this table.
        scratch: int32, shape (2, length of the longest word), which is overwritten.
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
    """Merge the `n` tokens of a word, where ``made[k]`` is the product of tokens k and k + 1; return how many remain.

    All occurrences of the lowest product are merged in one pass, because the pairs that they make have higher products.
    With one occurrence per pass, the time would grow with the square of the length of the word.
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


MERGES_PER_CALL = 500
"""Number of merges that a kernel makes before Python updates the progress bar."""

Stage = tuple[int, Callable[[], Array | None]]
"""A stage of learning: its maximum number of merges, and the function that computes its position values."""

PositionScores = Callable[[Doubles, Longs], Longs]
"""Scores of positions from their boundary probabilities and the weights of their words: `phases.morph_scores`."""

_WORDS_AT_ONCE = 1 << 12
"""Number of words whose scores are computed at a time, so that intermediate arrays stay small."""


class WorkingCorpus:
    """A corpus that is segmented into tokens, at first into characters; learning changes it in place.

    If the words are already segmented by another tokenizer, give `tokens` and `text`. Then only two attributes of
    `corpus` are used: its weights and its starts, which are counted in characters.

    Attributes:
        corpus: the distinct words and their weights.
        tokens: strings by id: the alphabet in code-point order, then the products in the order of the merges.
        text: the words in cells of token ids (see pairs.py).

    Raises:
        MwSError: the words have too many characters for 32-bit positions.
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
            raise MwSError(
                f"the distinct words have {len(corpus.symbols)} characters, and at most 2^31 fit; leave rare words out"
            )
        self.text = np.empty(cells, np.int32)
        fill_cells(corpus.symbols, corpus.starts, self.text)

    def split_share(self) -> float:
        """Return the share of the positions inside words at which a token ends.

        The position after a leading space is not counted.
        """
        lengths = np.fromiter(map(len, self.tokens), np.int64, len(self.tokens))
        ids, first = self.text[self.text >= 0], self.text[self.corpus.starts[:-1] + np.arange(len(self.corpus)) + 1]
        n_tokens = len(ids) - np.count_nonzero((lengths > 1)[ids]) // 2  # a token of several cells has its id in two
        space = np.array([token.startswith(" ") for token in self.tokens], bool)[first]
        lone_spaces = np.count_nonzero(space & (lengths[first] == 1) & (np.diff(self.corpus.starts) > 1))
        spaced = np.count_nonzero(space & (np.diff(self.corpus.starts) > 1))
        positions = len(self.corpus.symbols) - len(self.corpus) - spaced
        return float((n_tokens - len(self.corpus) - lone_spaces) / np.maximum(1, positions))

    def apply(self, merges: Iterable[tuple[str, str]]) -> None:
        """Apply merges in the order of their ranks, as a BPE tokenizer does.

        Raises:
            MwSError: a part of a merge is not a token yet, or its product already is one.
        """
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
        """Add the product of two tokens without changing the text; return the ids of its parts.

        Raises:
            MwSError: a part is not a token yet, or the product already is one.
        """
        if left not in self._ids or right not in self._ids or left + right in self._ids:
            raise MwSError(
                f"merge {left!r} + {right!r}: both parts must be characters of the corpus or earlier products, and "
                "the product must be new; check the order of the merges"
            )
        self._add_token(left + right)
        return self._ids[left], self._ids[right]

    def learn(
        self, values: Array | None, n_merges: int, limits: MergeLimits = UNLIMITED, *, title: str = "merges"
    ) -> LearnedMerges:
        """Repeatedly merge the pair with the largest sum of position values, while the sum is positive.

        Of pairs with equal sums, the one with the smaller left id comes first, then the one with the smaller right id.
        A pair whose product is a token already is skipped. "aaa" counts as two occurrences of (a, a) and is replaced
        from the left, as in Hugging Face BPE.

        Args:
            values: int64, shape (n_symbols,) or (n_cells,), the value of the position after each character of the
                corpus or each cell of `text`, in any unit. Their sum must fit into 63 bits. Values after the last
                character of a word are not used. None means the weight of the word everywhere, which is frequency BPE.
            n_merges: maximum number of merges.
            limits: what may be merged.
            title: name of the progress bar.

        Returns:
            The merges with their sums.

        Raises:
            MwSError: `values` has neither one value per character nor one per cell.

        >>> corpus = SymbolCorpus.from_words(["abab", "abc"], np.array([2, 1]))
        >>> WorkingCorpus(corpus).learn(None, 2)
        LearnedMerges(merges=[('a', 'b'), ('ab', 'ab')], scores=[5.0, 2.0], exhausted=False)
        """
        bounds = Bounds(max(1, limits.min_occurrences), NO_LIMIT, limits.longest)
        minima = Minima(bounds.min_occurrences, max(1, limits.min_value), limits.min_frequency)
        weights = self.cell_values(None) if limits.min_frequency > 1 else np.zeros(0, np.int64)
        table = open_table(self.text, self.cell_values(values), self.tokens, bounds)
        for ids in limits.excluded_pairs:
            if (pair := int(find_pair(table.keys, table.ids, *ids))) >= 0:
                remove_pair(table, pair)
        queue = open_queue(table, minima)
        strings = self.taken_strings(table, limits.never)
        first, status, accepted = len(self.tokens), REACHED, -1
        with progress_bar(limits.show_progress, total=n_merges, desc=title + limits.progress_suffix, unit="") as bar:
            while status != EXHAUSTED and len(self.tokens) < first + n_merges:
                goal = min(first + n_merges, len(self.tokens) + MERGES_PER_CALL)
                status = advance(table, queue, strings, goal, minima, bounds, accepted, weights)
                bar.update(self.add_products(table))
                if status == HASH_KNOWN:
                    accepted = self.accepted_pair(table, int(queue.used[PENDING]), limits.never)
                elif status not in (REACHED, EXHAUSTED):
                    table, queue = with_room(table, queue)
                    strings = self.taken_strings(table, limits.never)
        return learned_merges(table, self.tokens, first, status == EXHAUSTED)

    def learn_in_stages(
        self, stages: Iterable[Stage], n_merges: int, limits: MergeLimits = UNLIMITED, *, title: str = "merges"
    ) -> LearnedMerges:
        """Learn in stages, each with its own position values, until there are `n_merges` merges.

        The values of a stage are computed when it begins, so that only one array of them is in memory.

        Args:
            stages: the stages, in their order.
            n_merges: maximum number of merges in all stages.
            limits: what may be merged.
            title: name of the progress bar.

        Returns:
            The merges of all stages. `exhausted` is that of the last stage that ran.
        """
        found = LearnedMerges([])
        for most, values in stages:
            n_next = min(most, n_merges - len(found.merges))
            found = found.followed_by(self.learn(values(), n_next, limits, title=title))
            give_back()
            if len(found.merges) >= n_merges:
                break
        return found

    def lay_out(self, boundaries: Doubles, weights: Longs, score: PositionScores) -> Longs:
        """Compute the scores of all positions, one for each cell.

        Args:
            boundaries: float64, probability of a boundary after each symbol of the corpus.
            weights: weight of each word.
            score: computes scores from probabilities and weights.

        Returns:
            int64, one score for each cell of `text`.
        """
        all_starts, values = self.corpus.starts, np.empty(len(self.text), np.int64)
        values[0] = 0

        def fill(a: int, b: int) -> None:
            for first in range(a, b, _WORDS_AT_ONCE):
                starts = all_starts[first : min(b, first + _WORDS_AT_ONCE) + 1]
                weight_of = np.repeat(weights[first : first + len(starts) - 1], np.diff(starts))
                found = score(boundaries[starts[0] : starts[-1]], weight_of)
                write_cells(found, starts - starts[0], values[starts[0] + first :])

        in_parts(fill, len(self.corpus))
        return values

    def cell_values(self, values: Array | None) -> Array:
        """Return position values by cell (see pairs.py); None means the weight of each word everywhere."""
        if values is not None and len(values) == len(self.text):
            return values
        if values is None:
            no_boundaries = np.broadcast_to(0.0, int(self.corpus.starts[-1]))
            return self.lay_out(no_boundaries, self.corpus.weights, lambda _, weights: weights)
        if len(values) != len(self.corpus.symbols):
            raise MwSError(
                f"{len(values)} position values for {len(self.corpus.symbols)} characters; give one for each"
            )
        cells = np.zeros(len(self.text), np.int64)
        fill_cells(np.ascontiguousarray(values, np.int64), self.corpus.starts, cells)
        return cells

    def taken_strings(self, table: PairTable, forbidden: Iterable[str]) -> Array:
        """Return the set of hashes of all tokens and forbidden strings, with room for all tokens of the table."""
        hashes = np.append(table.token_hash[: len(self.tokens)], hashes_and_powers(sorted(forbidden))[:, 0])
        return hash_set(hashes, len(table.length) + len(hashes))

    def _add_token(self, token: str) -> None:
        self._ids[token] = len(self.tokens)
        self.tokens.append(token)

    def add_products(self, table: PairTable) -> int:
        """Add the tokens that kernels have added to the table; return their number."""
        first, end = len(self.tokens), int(table.used[TOKENS])
        for i in range(first, end):
            self._add_token(self.tokens[table.token_left[i]] + self.tokens[table.token_right[i]])
        return end - first

    def accepted_pair(self, table: PairTable, pair: int, forbidden: frozenset[str]) -> int:
        """Return `pair` if its product is a new string although its hash is known; else remove it and return -1."""
        product = self.tokens[table.pairs["left"][pair]] + self.tokens[table.pairs["right"][pair]]
        if product not in self._ids and product not in forbidden:
            return pair
        remove_pair(table, pair)
        return -1


def learned_merges(table: PairTable, tokens: list[str], first: int, exhausted: bool) -> LearnedMerges:
    """Return the merges of all tokens from id `first` on, with their scores."""
    parts = zip(
        table.token_left[first : len(tokens)].tolist(), table.token_right[first : len(tokens)].tolist(), strict=True
    )
    merges = [(tokens[left], tokens[right]) for left, right in parts]
    return LearnedMerges(merges, table.token_score[first : len(tokens)].tolist(), exhausted)
