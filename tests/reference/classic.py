"""The original MwS algorithm as an executable specification in plain Python; `mws_hf.learn.classic` is the fast one.

Every merge recounts the whole corpus, so use it on small lists only.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from mws_hf.learn.classic_coefficient import PUBLISHED, UNITS, Counts, coefficient, floor, to_units
from mws_hf.learn.limits import UNLIMITED, LearnedMerges, MergeLimits
from mws_hf.learn.settings import Settings
from mws_hf.learn.words import SymbolCorpus

Pair = tuple[str, str]


def learn_classic_reference(
    corpus: SymbolCorpus, n_merges: int, settings: Settings = PUBLISHED, limits: MergeLimits = UNLIMITED
) -> LearnedMerges:
    """Repeatedly merge the adjacent pair with the highest coefficient, as `mws_hf.learn.classic.learn_classic` does.

    Learning stops when the best coefficient is 0 (or not above `stop_threshold`). Pairs whose product is a token
    already are skipped. `mws_hf.learn.classic_coefficient` describes how ties are broken.
    """
    words = [(list(corpus.word(w)), int(corpus.weights[w])) for w in range(len(corpus))]
    ids = {character: i for i, character in enumerate(corpus.alphabet)}
    never = limits.never
    merges: list[Pair] = []
    scores: list[float] = []
    while len(merges) < n_merges:
        candidates = [
            (-to_units(value), ids[left], ids[right], (left, right))
            for (left, right), (count, value) in coefficients(words, settings).items()
            if to_units(value) > floor(settings)
            and count >= limits.min_frequency
            and left + right not in ids
            and left + right not in never
            and len(left + right) <= limits.longest
        ]
        if not candidates:
            return LearnedMerges(merges, scores, exhausted=True)
        value, _, _, best = min(candidates)
        merges.append(best)
        scores.append(-value / UNITS)
        ids["".join(best)] = len(ids)
        words = [(replace(tokens, best), weight) for tokens, weight in words]
    return LearnedMerges(merges, scores, exhausted=False)


def coefficients(words: list[tuple[list[str], int]], settings: Settings) -> dict[Pair, tuple[int, float]]:
    """Compute the count b and the coefficient of every adjacent pair in a segmented corpus of (tokens, weight)."""
    tokens: Counter[str] = Counter()
    pairs: Counter[Pair] = Counter()
    for word, weight in words:
        for token in word:
            tokens[token] += weight
        for pair in pairwise(word):
            pairs[pair] += weight
    n_characters = sum(len(token) * count for token, count in tokens.items())
    found = {}
    for (left, right), b in pairs.items():
        counts = Counts(
            u_l=tokens[left],
            u_r=tokens[right],
            b=b,
            left_size=max(1, len(left.lstrip())),
            right_size=len(right),
            n_tokens=tokens.total(),
            n_pairs=pairs.total(),
            n_characters=n_characters,
        )
        found[left, right] = b, coefficient(counts, settings)
    return found


def replace(tokens: list[str], pair: Pair) -> list[str]:
    """Replace every occurrence of the pair by the product, from left to right."""
    out: list[str] = []
    i = 0
    while i < len(tokens):
        if i + 1 < len(tokens) and (tokens[i], tokens[i + 1]) == pair:
            out.append(tokens[i] + tokens[i + 1])
            i += 2
        else:
            out.append(tokens[i])
            i += 1
    return out
