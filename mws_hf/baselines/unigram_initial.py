"""The Unigram model before any EM: an educational reference, readable in one go; nothing of it is saved or compared.

All characters and the most frequent substrings, each with its share of the counts; a word is cut to be most probable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping


def initial_costs(words: Mapping[str, int], n_tokens: int) -> dict[str, float]:
    """Cost -log(frequency / total) of all characters and the most frequent longer substrings.

    Args:
        words: word -> count; among equally frequent substrings the one seen first is taken.
        n_tokens: number of tokens, characters included.

    >>> sorted(initial_costs({"hug": 10, "pug": 5}, 5))
    ['g', 'h', 'p', 'u', 'ug']
    """
    characters: dict[str, int] = {}
    substrings: dict[str, int] = {}
    for word, count in words.items():
        for start, character in enumerate(word):
            characters[character] = characters.get(character, 0) + count
            for end in range(start + 2, len(word) + 1):
                substrings[word[start:end]] = substrings.get(word[start:end], 0) + count
    longer = sorted(substrings.items(), key=lambda item: -item[1])[: max(0, n_tokens - len(characters))]
    frequency = characters | dict(longer)
    total = sum(frequency.values())
    return {token: -math.log(count / total) for token, count in frequency.items()}


def viterbi(word: str, costs: Mapping[str, float]) -> tuple[list[str], float]:
    """The cheapest way to cut a word, and what it costs; of equally cheap ways the one with the longer last piece.

    Returns:
        Pieces and their summed cost; ``["<unk>"]`` and infinity when the pieces cannot spell the word.

    >>> viterbi("hug", {"h": 3.0, "u": 3.0, "g": 3.0, "ug": 4.0})
    (['h', 'ug'], 7.0)
    """
    best = [0.0] + [math.inf] * len(word)
    begin = [0] * (len(word) + 1)
    for end in range(1, len(word) + 1):
        for start in range(end):
            cost = best[start] + costs.get(word[start:end], math.inf)
            if cost < best[end]:
                best[end], begin[end] = cost, start
    if math.isinf(best[-1]):
        return ["<unk>"], math.inf
    pieces: list[str] = []
    end = len(word)
    while end:
        pieces.insert(0, word[begin[end] : end])
        end = begin[end]
    return pieces, best[-1]
