"""A small readable learner of pair merges for the rivals whose tie rule is the order of the recount; it saves nothing.

The textbook loops recount all adjacent pairs after each merge and take the best pair; among equals the first of the
recount, that is the pair that occurs earliest in the corpus as it is cut now. `PairLearner` gives the same merges
without the recount: only the neighbours of a merged pair are updated, and a heap with lazily checked entries finds the
next one.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence

from tqdm import tqdm

Score = Callable[[int, int, int], float]
Pair = tuple[int, int]


def frequency(pair: int, left: int, right: int) -> float:
    """The score of plain BPE: how often the pair occurs."""
    return pair


def likelihood(pair: int, left: int, right: int) -> float:
    """The score of likelihood WordPiece, b / (u_l * u_r): the gain of a unigram model's likelihood by the merge.

    The product is an exact integer below 2^53 and division rounds correctly, so equal ratios are equal floats.
    """
    return pair / (left * right)


class PairLearner:
    """Counts of tokens and adjacent pairs over words, kept up to date while pairs are merged.

    Ties go to the pair whose first occurrence stands earliest: by word in the order given, then by place in the word.
    A pair whose product is the string of an existing token is never merged, so each token has one derivation.

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
        self._ids: dict[str, int] = {}
        self.tokens: list[str] = []
        self._symbols: list[int] = [-1]
        self._weight: list[int] = [0]
        self._next: list[int] = []
        self._previous: list[int] = []
        for word, weight in zip(words, weights, strict=True):
            self._symbols.extend(self._intern(symbol) for symbol in word)
            self._symbols.append(-1)
            self._weight.extend([weight] * len(word) + [0])
        n = len(self._symbols)
        self._next, self._previous = list(range(1, n + 1)), list(range(-1, n - 1))
        self._used: list[int] = [0] * len(self.tokens)
        self._pairs: dict[Pair, int] = {}
        self._places: dict[Pair, list[int]] = {}
        self._after: list[set[int]] = [set() for _ in self.tokens]
        self._before: list[set[int]] = [set() for _ in self.tokens]
        self._count()
        self._pushed: dict[Pair, tuple[float, int]] = {}
        self._heap: list[tuple[float, int, Pair]] = []
        for pair in self._pairs:
            self._push(pair)

    def token_counts(self) -> dict[str, int]:
        """How often each token occurs in the corpus as it is cut now."""
        return dict(zip(self.tokens, self._used, strict=True))

    def merge_best(self) -> tuple[str, str] | None:
        """Merge the best pair everywhere, left to right; None when no pair is left."""
        while self._heap:
            score, place, pair = heapq.heappop(self._heap)
            if self._pushed.get(pair) != (score, place):
                continue
            if self._pairs.get(pair, 0) <= 0:
                self._forget(pair)
                continue
            if self._key(pair) != (score, place):
                self._push(pair)
                continue
            left, right = self.tokens[pair[0]], self.tokens[pair[1]]
            joined = self._join(left, right)
            if joined in self._ids:
                self._forget(pair)
                continue
            self._merge(pair, self._intern(joined))
            return left, right
        return None

    def merges(self, limit: int, *, show_progress: bool = False) -> Iterator[tuple[str, str]]:
        """At most `limit` merges, best first."""
        for _ in tqdm(range(limit), desc="merges", disable=None if show_progress else True):
            merge = self.merge_best()
            if merge is None:
                return
            yield merge

    def _intern(self, token: str) -> int:
        if token not in self._ids:
            self._ids[token] = len(self.tokens)
            self.tokens.append(token)
        return self._ids[token]

    def _count(self) -> None:
        symbols, weight = self._symbols, self._weight
        for place in range(len(symbols) - 1):
            left, right = symbols[place], symbols[place + 1]
            if left >= 0:
                self._used[left] += weight[place]
                if right >= 0:
                    self._add((left, right), weight[place], place)

    def _add(self, pair: Pair, weight: int, place: int) -> None:
        if pair in self._places:
            self._pairs[pair] += weight
            self._places[pair].append(place)
            return
        self._pairs[pair] = weight
        self._places[pair] = [place]
        self._after[pair[0]].add(pair[1])
        self._before[pair[1]].add(pair[0])

    def _forget(self, pair: Pair) -> None:
        self._pairs.pop(pair, None)
        self._places.pop(pair, None)
        self._pushed.pop(pair, None)
        self._after[pair[0]].discard(pair[1])
        self._before[pair[1]].discard(pair[0])

    def _holds(self, place: int, pair: Pair) -> bool:
        return self._symbols[place] == pair[0] and self._symbols[self._next[place]] == pair[1]

    def _key(self, pair: Pair) -> tuple[float, int]:
        places = self._places[pair]
        first = 0
        while not self._holds(places[first], pair):
            first += 1
        # places only go stale, so what was skipped once need not be looked at again
        del places[:first]
        return -self._score(self._pairs[pair], self._used[pair[0]], self._used[pair[1]]), places[0]

    def _push(self, pair: Pair) -> None:
        key = self._key(pair)
        self._pushed[pair] = key
        heapq.heappush(self._heap, (*key, pair))

    def _merge(self, pair: Pair, new: int) -> None:
        self._used.append(0)
        self._after.append(set())
        self._before.append(set())
        fresh: set[Pair] = set()
        for place in self._places.pop(pair):
            if self._holds(place, pair):
                self._replace(place, pair, new, fresh)
        self._forget(pair)
        for made in fresh:
            if self._pairs.get(made, 0) > 0:
                self._push(made)
        if self._score is not frequency:
            self._raise_neighbours(pair)

    def _replace(self, place: int, pair: Pair, new: int, fresh: set[Pair]) -> None:
        symbols, weight, pairs = self._symbols, self._weight[place], self._pairs
        gone = self._next[place]
        before, after = self._previous[place], self._next[gone]
        if symbols[before] >= 0:
            old = (symbols[before], pair[0])
            if old in pairs:
                pairs[old] -= weight
            self._add((symbols[before], new), weight, before)
            fresh.add((symbols[before], new))
        if symbols[after] >= 0:
            old = (pair[1], symbols[after])
            if old in pairs:
                pairs[old] -= weight
            self._add((new, symbols[after]), weight, place)
            fresh.add((new, symbols[after]))
        symbols[place], symbols[gone] = new, -2
        self._next[place], self._previous[after] = after, place
        self._used[pair[0]] -= weight
        self._used[pair[1]] -= weight
        self._used[new] += weight

    def _raise_neighbours(self, pair: Pair) -> None:
        # the parts became rarer, so pairs with them may now score higher than the heap knows
        for part in set(pair):
            for touched in [(part, x) for x in self._after[part]] + [(x, part) for x in self._before[part]]:
                if self._pairs.get(touched, 0) > 0:
                    self._push(touched)
                else:
                    self._forget(touched)
