"""Merge the best pair again and again when ties are decided by the order of the text, as in the textbook recounts.

Textbook programs recount all adjacent pairs after each merge and take the best; among equals the one that occurs
earliest in the words as they are cut now. `mws_hf.learn.engine` adds up values and breaks ties by token ids: other
merges. Here only the words that hold the merged pair are counted again.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import add

from tqdm import tqdm

Score = Callable[[int, int, int], float]
Key = tuple[float, int, int]


def frequency(pair: int, left: int, right: int) -> float:
    """Score a pair as plain BPE does: by its number of occurrences."""
    return pair


def likelihood(pair: int, left: int, right: int) -> float:
    """Score a pair as likelihood WordPiece does, b / (u_l * u_r): the merge's gain of a unigram model's likelihood.

    The product is an exact integer below 2^53 and division rounds correctly, so equal ratios are equal floats.
    """
    return pair / (left * right)


class PairLearner:
    """Counts of tokens and adjacent pairs over words, kept up to date while pairs are merged.

    Inside, token number n is the character chr(n), a pair is a string of two and a word a string, so that
    `str.replace` merges. A pair whose product is the string of an existing token is never merged.

    Args:
        words: the initial symbols of each word, in the order that decides ties.
        weights: one positive integer a word.
        score: value of a pair from its count and the counts of its parts; the largest is merged.
        join: the string of a merged token from the strings of its parts.

    >>> learner = PairLearner([list("low"), list("lowest"), list("newest")], [5, 2, 6], frequency, str.__add__)
    >>> learner.token_counts()["w"], [learner.merge_best() for _ in range(3)]
    (13, [('w', 'e'), ('we', 's'), ('wes', 't')])
    """

    def __init__(
        self, words: Iterable[Sequence[str]], weights: Iterable[int], score: Score, join: Callable[[str, str], str]
    ) -> None:
        self._score, self._join = score, join
        self._ids: dict[str, str] = {}
        self._words = ["".join(self._ids.setdefault(s, chr(len(self._ids))) for s in word) for word in words]
        self._weights = list(weights)
        self.tokens = list(self._ids)
        self._sizes = dict.fromkeys(self._ids.values(), 1)
        self._used: Counter[str] = Counter()
        self._pairs: Counter[str] = Counter()
        # words that held a pair when its younger part was made, ascending: later merges only take pairs away
        self._holders: defaultdict[str, deque[int]] = defaultdict(deque)
        self._pairs_with: defaultdict[str, set[str]] = defaultdict(set)
        for number, (word, weight) in enumerate(zip(self._words, self._weights, strict=True)):
            for symbol in word:
                self._used[symbol] += weight
            self._count_pairs(number, weight, word)
        # a pair stands in the heap under its key or a smaller one; only the entry named in `_queued` counts
        self._queued: dict[str, Key] = {}
        self._heap: list[tuple[Key, str]] = []
        self._queue(self._pairs)

    def token_counts(self) -> dict[str, int]:
        """Count how often each token occurs in the corpus as it is cut now."""
        return {token: self._used[symbol] for token, symbol in self._ids.items()}

    def merge_best(self) -> tuple[str, str] | None:
        """Merge the best pair everywhere, left to right; None when no pair is left."""
        while self._heap:
            key, pair = heapq.heappop(self._heap)
            if self._queued.get(pair) != key or self._pairs[pair] <= 0:
                continue
            left, right = (self.tokens[ord(symbol)] for symbol in pair)
            product = self._join(left, right)
            if product in self._ids:
                continue
            if self._key(pair) == key:
                self._merge(pair, product)
                return left, right
            self._queue([pair])
        return None

    def merges(self, limit: int, *, show_progress: bool = False) -> Iterator[tuple[str, str]]:
        """Merge at most `limit` times and list the merges, best first."""
        for _ in tqdm(range(limit), desc="merges", disable=None if show_progress else True):
            merge = self.merge_best()
            if merge is None:
                return
            yield merge

    def _key(self, pair: str) -> Key:
        """Return the key that orders pairs: score, then word and place (in initial symbols) of the first occurrence."""
        holders, words = self._holders[pair], self._words
        while pair not in words[holders[0]]:
            holders.popleft()
        before = words[holders[0]].partition(pair)[0]
        score = self._score(self._pairs[pair], self._used[pair[0]], self._used[pair[1]])
        return -score, holders[0], sum(map(self._sizes.__getitem__, before))

    def _queue(self, pairs: Iterable[str]) -> None:
        for pair in pairs:
            self._queued[pair] = self._key(pair)
            heapq.heappush(self._heap, (self._queued[pair], pair))

    def _count_pairs(self, number: int, weight: int, word: str, part: str = "") -> None:
        """Count the pairs of a word; pairs with `part`, by default all, are new to it."""
        for pair in map(add, word, word[1:]):
            self._pairs[pair] += weight
            if part in pair:
                self._holders[pair].append(number)
                for symbol in pair:
                    self._pairs_with[symbol].add(pair)

    def _merge(self, pair: str, product: str) -> None:
        made = self._ids[product] = chr(len(self.tokens))
        self.tokens.append(product)
        self._sizes[made] = sum(map(self._sizes.__getitem__, pair))
        for number in self._holders.pop(pair):
            old, weight = self._words[number], self._weights[number]
            new = self._words[number] = old.replace(pair, made)
            if new == old:
                continue
            for symbol, sign in ((made, 1), (pair[0], -1), (pair[1], -1)):
                self._used[symbol] += sign * weight * (len(old) - len(new))
            for gone in map(add, old, old[1:]):
                self._pairs[gone] -= weight
            self._count_pairs(number, weight, new, made)
        # the parts became rarer, so pairs with them may now be worth more than the heap knows
        for symbol in made if self._score is frequency else {made, *pair}:
            self._pairs_with[symbol] = {found for found in self._pairs_with[symbol] if self._pairs[found] > 0}
            self._queue(self._pairs_with[symbol])
