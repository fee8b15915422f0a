"""The third view: normalised variation of branching entropy, after Magistry and Sagot (2012). Nothing is fitted.

Where a morph ends the next symbol becomes less certain. The rise of entropy from one junction to the next, in the trie
of whole prefixes and in that of whole suffixes, is compared with the rises at the same distance from the word's edge,
since tries thin out with depth.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mws_hf.learn.contextual.contexts import Contexts
from mws_hf.learn.contextual.words import inner_junctions
from mws_hf.learn.symbols import SymbolCorpus

Doubles = npt.NDArray[np.float64]

LONGEST = 25
"""Longer prefixes and suffixes are compared with each other: there are too few of each length."""


def standard_scores(values: Doubles, groups: npt.NDArray[np.int64]) -> Doubles:
    """(value - mean) / standard deviation within each group.

    >>> standard_scores(np.array([1.0, 3.0, 7.0]), np.array([0, 0, 2])).round(2).tolist()
    [-1.0, 1.0, 0.0]
    """
    sizes = np.maximum(np.bincount(groups), 1)
    mean = np.bincount(groups, values) / sizes
    variance = np.bincount(groups, values**2) / sizes - mean**2
    result: Doubles = (values - mean[groups]) / (np.sqrt(np.maximum(variance, 0)) + 1e-3)[groups]
    return result


def normalised_variation(corpus: SymbolCorpus, contexts: Contexts) -> Doubles:
    """Sum of the standardised rises of forward and backward branching entropy at each junction inside a word.

    Args:
        corpus: distinct words.
        contexts: their contexts; the first two views, the tries, are used.

    Returns:
        float64, one for each true value of ``inner_junctions(corpus)``, in order.
    """
    junctions = np.nonzero(inner_junctions(corpus))[0]
    entropy = contexts.table[:, 0].astype(np.float64)
    sizes = np.diff(corpus.starts)
    before = np.arange(len(corpus.symbols)) - np.repeat(corpus.starts[:-1], sizes)
    after = np.repeat(sizes, sizes) - 1 - before
    left, right = before[junctions], after[junctions] - 1
    forward, backward = entropy[contexts.nodes[:, 0]], np.append(entropy[contexts.nodes[:, 1]], 0.0)
    rise_left = forward[junctions] - np.where(left > 0, forward[junctions - 1], 0.0)
    rise_right = backward[junctions + 1] - np.where(right > 0, backward[junctions + 2], 0.0)
    scores: Doubles = standard_scores(rise_left, np.minimum(left, LONGEST))
    scores += standard_scores(rise_right, np.minimum(right, LONGEST))
    return scores
