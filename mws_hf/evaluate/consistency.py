"""Morphological consistency and edit distance, after the description of MorphBPE's measures (Asgari et al. 2025).

Consistency (mu_c) asks of pairs of words whether those that share a token share a morph, and the other way round; edit
distance (mu_e) how many morphs must be put in, left out or exchanged to make a word's tokens of its morphs. The
authors' code was not at hand: details may differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mws_hf.corpus.segmentations import GoldWord
from mws_hf.evaluate.boundaries import best_alternative, f1


@dataclass(frozen=True)
class Consistency:
    """The measures mu_c and mu_e.

    Attributes:
        precision: share of the pairs of words with a common token that share a morph; 1 where no token is shared.
        recall: share of the pairs with a common morph that share a token; 1 where no morph is shared.
        f1: harmonic mean of precision and recall, mu_c.
        edit_distance: mean Levenshtein distance from the morphs of a word to its tokens, each one symbol; mu_e.
    """

    precision: float
    recall: float
    f1: float
    edit_distance: float


def consistency(gold: Sequence[GoldWord], predicted: Sequence[Sequence[str]]) -> Consistency:
    """Compare pairs of words that share tokens with pairs that share morphs; the nearest gold segmentation counts.

    >>> gold = [GoldWord("cats", (("cat", "s"),)), GoldWord("dogs", (("dog", "s"),)), GoldWord("cat", (("cat",),))]
    >>> consistency(gold, [("cat", "s"), ("do", "gs"), ("cat",)])
    Consistency(precision=1.0, recall=0.5, f1=0.6666666666666666, edit_distance=0.6666666666666666)
    """
    true = [best_alternative(entry, pieces) for entry, pieces in zip(gold, predicted, strict=True)]
    both = token_pairs = morph_pairs = 0
    for tokens, morphs in zip(_sharers(predicted), _sharers(true), strict=True):
        both += int((tokens & morphs).sum())
        token_pairs += int(tokens.sum())
        morph_pairs += int(morphs.sum())
    precision = both / token_pairs if token_pairs else 1.0
    recall = both / morph_pairs if morph_pairs else 1.0
    steps = sum(edit_distance(morphs, pieces) for morphs, pieces in zip(true, predicted, strict=True))
    return Consistency(precision, recall, f1(precision, recall), steps / len(true) if true else 0.0)


def _sharers(rows: Sequence[Sequence[str]]) -> Iterator[npt.NDArray[np.bool_]]:
    """Make for each row a mask of the other rows that share a piece with it."""
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
    """Compute the Levenshtein distance of two sequences by columns of the table, as bits of two integers (Myers 1999).

    >>> edit_distance(["un", "lock", "s"], ["un", "locks"])
    2
    """
    places: dict[str, int] = {}
    for k, symbol in enumerate(first):
        places[symbol] = places.get(symbol, 0) | 1 << k
    everywhere = (1 << len(first)) - 1
    up, down, distance = everywhere, 0, len(first)  # bit k: whether row k + 1 of the column is 1 above or below row k
    for symbol in second:
        same = places.get(symbol, 0)
        diagonal = (((same & up) + up) ^ up) | same
        right_up, right_down = down | everywhere & ~(diagonal | up), up & diagonal
        distance += (right_up >> len(first) - 1 & 1) - (right_down >> len(first) - 1 & 1) if first else 1
        right_up, right_down = right_up << 1 | 1, right_down << 1
        up, down = everywhere & (right_down | ~(same | down | right_up)), everywhere & right_up & (same | down)
    return distance
