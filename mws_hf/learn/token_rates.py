"""Adjust the boundary probabilities inside tokens to the boundaries that these tokens hide in labeled words.

A language has few labeled words, but their tokens occur in many other words, too. So the types are segmented with the
tokens of a first training, and two rates of each token are compared:

* the usual rate is how many boundaries a use of the token hides on average, by the boundary probabilities;
* the labeled rate is how many it hides on average in labeled words. `PRIOR_USES` pseudo-observations with the usual
  rate keep it near the usual rate if the token has few uses there.

Inside each use of the token, the boundary probabilities are multiplied by the labeled rate over the usual rate, so that
a token that hides more boundaries than expected is penalized more when the merges are learned again. A token that no
labeled word contains keeps its probabilities.

The rates of a group's labels come from the types of that group and act on them only, in proportion to its share in the
type (`Evidence.label_shares`). So in a word that several groups have, the factor is the mean of their factors,
weighted like the boundary probabilities themselves (`learn/group_evidence.py`). A group without labels has the factor
1, and the words that only such groups have keep their probabilities.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from tokenizers import Tokenizer

from mws_hf.corpus.groups import UNNAMED
from mws_hf.kernels import Doubles, Longs
from mws_hf.learn.evidence.labels import label_targets, usable_labels
from mws_hf.learn.evidence.posteriors import LONGEST_WORD, Evidence
from mws_hf.learn.words import CodePoints, utf8_sizes
from mws_hf.tokenizer.spec import Spec

if TYPE_CHECKING:
    from mws_hf.corpus.segmentations import GoldWord

PRIOR_USES = 2.0
"""Number of pseudo-observations with the usual rate, which count as uses in labeled words."""

LEAST_FACTOR, LARGEST_FACTOR = 0.2, 5.0
"""Limits of the factor of a token."""

HIGHEST_PROBABILITY = 0.99
"""Highest boundary probability in adjusted words."""

_LEAST_RATE = 1e-9  # a usual rate below it counts as this rate, so that the quotient stays small
_WORDS_AT_ONCE = 10_000


class Segmented(NamedTuple):
    """Types that were segmented into tokens.

    Attributes:
        types: int64, shape (n_segmented,): index of each type that was segmented.
        ids: int64, shape (n_tokens,): id of each token of these types, one type after another.
        type_of: int64, shape (n_tokens,): index of the type of each token.
        positions: int64, shape (n_inside,): indices of the characters that a token contains and does not end with,
            ascending.
        token_at: int64, shape (n_inside,): index of the token that contains each of these characters.
    """

    types: Longs
    ids: Longs
    type_of: Longs
    positions: Longs
    token_at: Longs

    def hidden(self, boundaries: Doubles) -> Doubles:
        """Add up the boundaries inside each token: float64, shape (n_tokens,).

        Args:
            boundaries: float64, shape (n_characters of all types,): a boundary after each character.
        """
        return np.asarray(np.bincount(self.token_at, boundaries[self.positions], len(self.ids)), np.float64)


def adjust_to_labels(evidence: Evidence, backend: Tokenizer) -> Evidence:
    """Adjust the boundary probabilities to the labels, by the tokens of a first training.

    The formulas are in the docstring of this module. The result has no `label_shares`, so that it is not adjusted again
    if it is passed to another training.

    Args:
        evidence: boundary probabilities with labels that are used.
        backend: tokenizer with the merges of the first training, without special tokens.

    Returns:
        The same types with adjusted probabilities; the arrays of `evidence` are not changed.
    """
    types, shares = evidence.code_points, evidence.label_shares
    labels = evidence.settings.labels
    by_group: Mapping[str, Sequence[GoldWord]] = labels if isinstance(labels, Mapping) else {UNNAMED: labels}
    labeled = np.zeros(len(types))
    for share in shares.values():
        labeled += share
    found = segment_types(types, np.nonzero(labeled > 0)[0], backend)
    type_at = found.type_of[found.token_at]
    factors = 1.0 - labeled[type_at]  # the share of groups without labels, which have the factor 1
    for name, share in shares.items():
        usable = usable_labels(by_group[name], LONGEST_WORD)
        targets = label_targets(types, usable, np.ones(len(types.points), bool))
        group_factors = token_factors(found, types, evidence.probabilities, targets, share)
        factors += share[type_at] * group_factors[found.ids[found.token_at]]
    adjusted = evidence.probabilities.copy()
    adjusted[found.positions] *= factors
    segmented = np.zeros(len(types), bool)
    segmented[found.types] = True
    capped = np.repeat(segmented, np.diff(types.starts))
    adjusted[capped] = np.minimum(adjusted[capped], HIGHEST_PROBABILITY)
    return replace(evidence, probabilities=adjusted, label_shares={})


def token_factors(
    found: Segmented, types: CodePoints, probabilities: Doubles, targets: Doubles, share: Doubles
) -> Doubles:
    """Compute the labeled rate of each token over its usual rate.

    Args:
        found: the types as tokens.
        types: the types.
        probabilities: float64, shape (n_characters of the types,): the boundary probabilities.
        targets: float64, of the same shape: boundaries of labeled words, as `label_targets` returns them, else NaN.
        share: float64, shape (n_types,): share of the group in each type.

    Returns:
        float64, shape (highest id + 1,): the factor of each id, from `LEAST_FACTOR` to `LARGEST_FACTOR`; 1 for tokens
        without positions inside, and for tokens that no labeled word contains.
    """
    size, weights = int(found.ids.max(initial=-1)) + 1, share[found.type_of]
    uses = np.bincount(found.ids, weights, size)
    expected = np.bincount(found.ids, found.hidden(probabilities) * weights, size)
    usual = np.divide(expected, uses, out=np.zeros(size), where=uses > 0)
    labeled = ~np.isnan(targets[types.starts[:-1]])[found.type_of]
    seen = np.bincount(found.ids[labeled], minlength=size)
    hidden = np.bincount(found.ids[labeled], found.hidden(targets)[labeled], size)
    rate = (hidden + PRIOR_USES * usual) / (seen + PRIOR_USES)
    factors = np.divide(rate, np.maximum(usual, _LEAST_RATE), out=np.ones(size), where=(usual > 0) & (seen > 0))
    return np.clip(factors, LEAST_FACTOR, LARGEST_FACTOR)


def segment_types(types: CodePoints, rows: Longs, backend: Tokenizer) -> Segmented:
    """Segment types, each with a space before it; types that their tokens do not spell exactly are left out.

    Args:
        types: all types.
        rows: int64, indices of the types to segment.
        backend: a tokenizer without special tokens.

    Returns:
        The tokens of the types, and the positions inside them.
    """
    spec, vocabulary = Spec.of(backend), backend.get_vocab()
    spelled = [spec.bytes_of(token) for token in sorted(vocabulary, key=vocabulary.__getitem__)]
    kept, lengths, ids = array("q"), array("q"), array("q")
    for begin in range(0, len(rows), _WORDS_AT_ONCE):
        batch = rows[begin : begin + _WORDS_AT_ONCE]
        words = [" " + word for word in types.take(batch).strings()]
        encoded = backend.encode_batch_fast(words, add_special_tokens=False)
        for row, word, word_ids in zip(batch.tolist(), words, (encoding.ids for encoding in encoded), strict=True):
            if b"".join([spelled[token] for token in word_ids]) == word.encode():
                kept.append(row)
                lengths.append(len(word_ids))
                ids.extend(word_ids)
    sizes = np.array([len(text) for text in spelled], np.int64)
    return _located(types, np.array(kept, np.int64), np.array(lengths, np.int64), np.array(ids, np.int64), sizes)


def _located(types: CodePoints, rows: Longs, lengths: Longs, ids: Longs, sizes: Longs) -> Segmented:
    """Find the positions inside tokens.

    Args:
        types: all types.
        rows: int64, indices of the segmented types.
        lengths: int64, number of tokens of each of them.
        ids: int64, the ids of all tokens, one type after another; they spell each type with a space before it.
        sizes: int64, number of bytes of each id.
    """
    n_characters = np.diff(types.starts)[rows]
    first = np.cumsum(n_characters) - n_characters
    characters = np.repeat(types.starts[rows] - first, n_characters) + np.arange(n_characters.sum())
    spaces = np.repeat(np.arange(1, len(rows) + 1), n_characters)
    ends = np.cumsum(utf8_sizes(types.points[characters])) + spaces
    token_ends = np.cumsum(sizes[ids])
    token = np.searchsorted(token_ends, ends)
    inside = token_ends[token] > ends
    return Segmented(rows, ids, np.repeat(rows, lengths), characters[inside], token[inside])
