"""The third view: normalised variation of branching entropy, after Magistry and Sagot (2012). Nothing is fitted.

Where a morph ends the next symbol becomes less certain. The view takes the rise of entropy from one position to the
next, in the trie of whole prefixes and in the trie of whole suffixes. It is compared with the rises at the same
distance from the word's edge, since tries thin out with depth.
"""

from __future__ import annotations

import math

import numpy as np

from mws_hf.kernels.arrays import Bytes, Doubles, Floats, Ints, Longs
from mws_hf.kernels.jit import njit
from mws_hf.learn.evidence.contexts import Contexts
from mws_hf.learn.words import SymbolCorpus

MAX_DISTANCE = 25
"""Distance from the word's edge, in symbols, from which on positions are compared with each other: there are too few of
each distance."""


@njit(nogil=True)
def _rises(
    starts: Longs, nodes: Ints, table: Floats, backwards: bool, rise: Doubles,
    group: Bytes,
) -> None:  # fmt: skip
    """Write the rise of a trie's entropy at each inner position, in its direction, and the distance from the edge."""
    k = 0
    for w in range(len(starts) - 1):
        for i in range(starts[w], starts[w + 1] - 1):
            here, distance = (i + 1, starts[w + 1] - 2 - i) if backwards else (i, i - starts[w])
            last = here + 1 if backwards else here - 1
            rise[k] = np.float64(table[nodes[here], 0])
            if distance > 0:
                rise[k] -= np.float64(table[nodes[last], 0])
            group[k] = min(distance, MAX_DISTANCE)
            k += 1


def add_standard_scores(values: Doubles, groups: Bytes, scores: Doubles) -> None:
    """Add (value - mean) / standard deviation within each group to `scores`.

    >>> scores = np.zeros(3)
    >>> add_standard_scores(np.array([1.0, 3.0, 7.0]), np.array([0, 0, 2], np.uint8), scores)
    >>> scores.round(2).tolist()
    [-1.0, 1.0, 0.0]
    """
    _add_standard_scores(values, groups, np.zeros((5, MAX_DISTANCE + 1)), scores)


@njit(nogil=True)
def _add_standard_scores(values: Doubles, groups: Bytes, sums: Doubles, scores: Doubles) -> None:
    size, total, squares, mean, deviation = sums[0], sums[1], sums[2], sums[3], sums[4]
    for k in range(len(values)):
        g = groups[k]
        size[g] += 1
        total[g] += values[k]
        squares[g] += values[k] * values[k]
    for g in range(MAX_DISTANCE + 1):
        n = max(size[g], 1.0)
        mean[g] = total[g] / n
        deviation[g] = math.sqrt(max(squares[g] / n - mean[g] * mean[g], 0.0)) + 1e-3
    for k in range(len(values)):
        scores[k] += (values[k] - mean[groups[k]]) / deviation[groups[k]]


def normalised_variation(corpus: SymbolCorpus, contexts: Contexts) -> Doubles:
    """Add up the standardised rises of forward and backward branching entropy at each position inside a word.

    Args:
        corpus: distinct words.
        contexts: their contexts, of which the first two views, the tries, are used.

    Returns:
        float64, one for each true value of ``inner_positions(corpus)``, in order.
    """
    n = len(corpus.symbols) - len(corpus)
    scores, rise, group = np.zeros(n), np.empty(n), np.empty(n, np.uint8)
    for backwards, trie in enumerate(contexts.views[:2]):
        _rises(corpus.starts, trie.ids, trie.table, bool(backwards), rise, group)
        add_standard_scores(rise, group, scores)
    return scores
