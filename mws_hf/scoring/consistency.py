"""Measure whether a morpheme always gets the same token: EMMA-2, and the measures of MorphBPE.

Boundary scores do not show this: a tokenizer that splits a stem differently in each form can predict many boundaries
correctly, but gives a model no shared token to learn from.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mws_hf.corpus.segmentations import GoldWord
from mws_hf.kernels import Mask
from mws_hf.scoring.boundaries import best_alternative, f1, paired

CONSISTENCY_WORDS = 10_000
"""Maximum number of words whose pairs are compared. 10,000 take about a second; the time grows quadratically."""


@dataclass(frozen=True)
class Emma2:
    """Scores of EMMA-2, in [0, 1].

    Attributes:
        precision: high if each token always corresponds to the same morpheme.
        recall: high if each morpheme always gets the same token.
        f1: harmonic mean of both.
    """

    precision: float
    recall: float
    f1: float


def emma2(gold: Sequence[GoldWord], predicted: Sequence[Sequence[str]]) -> Emma2:
    """Compute EMMA-2 (Virpioja et al. 2011, TAL 52(2), section on EMMA): soft many-to-one assignment by co-occurrence.

    For recall, each gold morph is assigned the predicted token with which it occurs most often. The recall of a word is
    the share of its gold morphs whose assigned token is in the word, and recall is the mean over words. Precision is
    the same with the roles exchanged. If several tokens occur equally often with a morph, the rarest one is assigned,
    then the smallest string. If a word has several gold segmentations, the one nearest in boundaries is used (the
    authors pool them). A morph that occurs in only one word is always matched, so compare tokenizers on the same words.

    Raises:
        MwSError: the lists have different lengths.

    >>> gold = [GoldWord("cats", (("cat", "s"),)), GoldWord("dogs", (("dog", "s"),))]
    >>> emma2(gold, [["cat", "s"], ["dog", "s"]]).f1, emma2(gold, [["cats"], ["dogs"]]).recall
    (1.0, 0.75)
    """
    true = [Counter(best_alternative(entry, pieces)) for entry, pieces in paired(gold, predicted)]
    tokens = [Counter(pieces) for pieces in predicted]
    precision, recall = _assigned_share(tokens, true), _assigned_share(true, tokens)
    return Emma2(precision, recall, f1(precision, recall))


def _assigned_share(rows: list[Counter[str]], others: list[Counter[str]]) -> float:
    """Assign each symbol of `rows` one of `others`; return the mean share of a row's symbols whose partner is there."""
    frequency, n_words = Counter[str](), Counter[str]()
    for row, other in zip(rows, others, strict=True):
        n_words.update(row.keys())
        frequency.update(other)

    def closest(shared: Mapping[str, int]) -> str:
        return min(shared, key=lambda candidate: (-shared[candidate], frequency[candidate], candidate))

    assigned: dict[str, str] = {}
    together: dict[str, Counter[str]] = {}
    for row, other in zip(rows, others, strict=True):
        alone: dict[int, str] = {}  # morphs of only this word with equal counts get the same token
        for morph, count in row.items():
            if n_words[morph] == 1 and count in alone:
                assigned[morph] = alone[count]
                continue
            shared = together.setdefault(morph, Counter())
            for candidate, candidate_count in other.items():
                shared[candidate] += min(count, candidate_count)
            if n_words[morph] == 1:
                assigned[morph] = alone[count] = closest(together.pop(morph))
    assigned |= {morph: closest(shared) for morph, shared in together.items()}
    shares = [
        sum(min(count, other[assigned[morph]]) for morph, count in row.items()) / row.total()
        for row, other in zip(rows, others, strict=True)
    ]
    return sum(shares) / len(shares) if shares else 1.0


@dataclass(frozen=True)
class Consistency:
    """The measures mu_c and mu_e of MorphBPE (Asgari et al. 2025), by their description; details may differ.

    Attributes:
        precision: share of the pairs of words with a common token that also share a morph; 1 without such pairs.
        recall: share of the pairs of words with a common morph that also share a token; 1 without such pairs.
        f1: mu_c, the harmonic mean of both.
        edit_distance: mu_e, the mean Levenshtein distance between the morphs and the tokens of a word, in which each
            morph or token is one symbol.
        compared_words: words whose pairs were compared: all, or a sample of `CONSISTENCY_WORDS`.
    """

    precision: float
    recall: float
    f1: float
    edit_distance: float
    compared_words: int


def consistency(
    gold: Sequence[GoldWord], predicted: Sequence[Sequence[str]], most_words: int = CONSISTENCY_WORDS
) -> Consistency:
    """Compare the pairs of words that share tokens with the pairs that share morphs.

    If a word has several gold segmentations, the one nearest in boundaries is used.

    Args:
        gold: the gold words.
        predicted: the tokens of each of these words, in the same order.
        most_words: if there are more words, a random sample of this size is used. It depends only on the words, so that
            all tokenizers are measured on the same pairs.

    Raises:
        MwSError: the lists have different lengths.
    """
    true = [best_alternative(entry, pieces) for entry, pieces in paired(gold, predicted)]
    chosen = _sample([entry.word for entry in gold], most_words)
    both = token_pairs = morph_pairs = 0
    for tokens, morphs in zip(*(_sharers([rows[k] for k in chosen]) for rows in (predicted, true)), strict=True):
        both += int((tokens & morphs).sum())
        token_pairs += int(tokens.sum())
        morph_pairs += int(morphs.sum())
    precision = both / token_pairs if token_pairs else 1.0
    recall = both / morph_pairs if morph_pairs else 1.0
    steps = sum(edit_distance(morphs, pieces) for morphs, pieces in zip(true, predicted, strict=True))
    mean_steps = steps / len(true) if true else 0.0
    return Consistency(precision, recall, f1(precision, recall), mean_steps, len(chosen))


def _sample(words: Sequence[str], size: int) -> list[int]:
    """Choose the indices of at most `size` words at random, independently of their order in the file."""
    if len(words) <= size:
        return list(range(len(words)))
    return random.Random(0).sample(sorted(range(len(words)), key=words.__getitem__), size)


def _sharers(rows: Sequence[Sequence[str]]) -> Iterator[Mask]:
    """Yield, for each row, a mask of the other rows that share a symbol with it; bool, shape (len(rows),)."""
    places: dict[str, list[int]] = {}
    for k, row in enumerate(rows):
        for piece in set(row):
            places.setdefault(piece, []).append(k)
    holders = {piece: np.array(found) for piece, found in places.items()}
    for k, row in enumerate(rows):
        mask = np.zeros(len(rows), bool)
        for piece in set(row):
            mask[holders[piece]] = True
        mask[k] = False
        yield mask


def edit_distance(first: Sequence[str], second: Sequence[str]) -> int:
    """Compute the Levenshtein distance of two sequences with bit vectors (Myers 1999).

    >>> edit_distance("kitten", "sitting")
    3
    """
    places: dict[str, int] = {}
    for k, symbol in enumerate(first):
        places[symbol] = places.get(symbol, 0) | 1 << k
    everywhere = (1 << len(first)) - 1
    # a column of the table is stored as differences: bit k of `up` (`down`) is set if row k + 1 is 1 more (less) than
    # row k
    up, down, distance = everywhere, 0, len(first)
    for symbol in second:
        same = places.get(symbol, 0)
        diagonal = (((same & up) + up) ^ up) | same
        right_up, right_down = down | everywhere & ~(diagonal | up), up & diagonal
        distance += (right_up >> len(first) - 1 & 1) - (right_down >> len(first) - 1 & 1) if first else 1
        right_up, right_down = right_up << 1 | 1, right_down << 1
        up, down = everywhere & (right_down | ~(same | down | right_up)), everywhere & right_up & (same | down)
    return distance
