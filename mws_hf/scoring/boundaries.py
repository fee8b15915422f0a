"""Score predicted segmentations against reference segmentations (gold) by boundaries, morphs and words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from mws_hf.corpus.segmentations import Gold, GoldWord, Morphs
from mws_hf.errors import MwSError
from mws_hf.kernels import Doubles, Longs
from mws_hf.text.phrases import counted


@dataclass(frozen=True)
class WordTable:
    """Counts for each gold word, from which all scores and intervals are computed; arrays have shape (n_words,).

    If a word has several gold segmentations, counts refer to the one with the highest F1, or if several are equal, to
    the first of these. `precision` and `recall` are each the highest over all gold segmentations, as in Morfessor's
    evaluation.

    Attributes:
        words: the words, in the order of the gold file.
        hits: predicted boundaries that are gold boundaries.
        predicted: predicted boundaries.
        gold: gold boundaries.
        morph_hits: gold morphs that are predicted tokens at the same position.
        precision: boundary precision; 1 if no boundary is predicted.
        recall: boundary recall; 1 if the gold segmentation has no boundary.
        exact: 1 if the segmentation equals one of the gold segmentations, else 0.
        scored: 0 for words of one character, which are left out of means over words, else 1.
    """

    words: tuple[str, ...] = field(repr=False)
    hits: Longs
    predicted: Longs
    gold: Longs
    morph_hits: Longs
    precision: Doubles
    recall: Doubles
    exact: Longs
    scored: Longs


@dataclass(frozen=True)
class BoundaryScores:
    """Scores of a segmentation, in [0, 1] except for counts and rates per word.

    Attributes:
        words: number of words.
        precision: share of the predicted boundaries that are gold, over all words (micro); 1 if none is predicted.
        recall: share of the gold boundaries that are predicted, over all words (micro); 1 if there is none.
        f1: harmonic mean of precision and recall.
        macro_precision: mean precision over words, each compared with its best alternative (BPR of Virpioja et al.
            2011).
        macro_recall: mean recall over words, in the same way.
        macro_f1: harmonic mean of macro_precision and macro_recall.
        morph_precision: share of the predicted tokens that are gold morphs at the same position.
        morph_recall: share of the gold morphs that are predicted tokens at the same position.
        morph_f1: harmonic mean of both.
        exact: share of the words that are segmented as one of their gold segmentations.
        single_recall: recall at words with exactly one gold boundary; 0 without such words, as for all shares below.
        single_words: number of these words.
        morphscore: the same recall, over only those of these words that are split (MorphScore, Arnett & Bergen 2025).
        morphscore_words: number of the words that `morphscore` is computed from.
        over_segmented: share of the words with more tokens than gold morphs.
        under_segmented: share of the words with fewer tokens than gold morphs.
        spurious_per_word: predicted boundaries that are not gold, per word.
        missed_per_word: gold boundaries that are not predicted, per word.
        tokens_per_word: predicted tokens per word.
        morphs_per_word: gold morphs per word.
    """

    words: int
    precision: float
    recall: float
    f1: float
    macro_precision: float
    macro_recall: float
    macro_f1: float
    morph_precision: float
    morph_recall: float
    morph_f1: float
    exact: float
    single_recall: float
    single_words: int
    morphscore: float
    morphscore_words: int
    over_segmented: float
    under_segmented: float
    spurious_per_word: float
    missed_per_word: float
    tokens_per_word: float
    morphs_per_word: float


def boundaries(morphs: Sequence[str]) -> tuple[int, ...]:
    """Return the positions of the boundaries between morphs, ascending, as numbers of characters before them.

    >>> boundaries(["un", "pack", "ing"])
    (2, 6)
    """
    return tuple(accumulate(map(len, morphs[:-1])))


def f1(precision: float, recall: float) -> float:
    """Compute the harmonic mean of precision and recall; 0 if both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def word_table(gold: Sequence[GoldWord], predicted: Sequence[Sequence[str]]) -> WordTable:
    """Compare predicted tokens with the gold segmentations of each word.

    Args:
        gold: the gold words.
        predicted: the tokens of each of these words, in the same order.

    Raises:
        MwSError: the lists have different lengths, or tokens do not spell their word.
    """
    rows = [_word_row(entry, pieces) for entry, pieces in paired(gold, predicted)]
    counts = np.array([row[:6] for row in rows], dtype=np.int64).reshape(len(rows), 6)
    shares = np.array([row[6:] for row in rows], dtype=np.float64).reshape(len(rows), 2)
    hits, n_predicted, n_gold, morph_hits, exact, scored = counts.T
    precision, recall = shares.T
    words = tuple(entry.word for entry in gold)
    return WordTable(words, hits, n_predicted, n_gold, morph_hits, precision, recall, exact, scored)


def summarize(table: WordTable) -> BoundaryScores:
    """Compute all scores from the counts of words."""
    words = len(table.words)
    hits, predicted, gold = int(table.hits.sum()), int(table.predicted.sum()), int(table.gold.sum())
    morph_hits = int(table.morph_hits.sum())
    macro = macro_scores(table, np.arange(words))
    single = table.gold == 1
    split = single & (table.predicted > 0)
    extra = table.predicted - table.gold
    return BoundaryScores(
        words=words,
        precision=hits / predicted if predicted else 1.0,
        recall=hits / gold if gold else 1.0,
        f1=2 * hits / (predicted + gold) if predicted + gold else 1.0,
        macro_precision=macro[0],
        macro_recall=macro[1],
        macro_f1=f1(*macro),
        morph_precision=_ratio(morph_hits, predicted + words),
        morph_recall=_ratio(morph_hits, gold + words),
        morph_f1=_ratio(2 * morph_hits, predicted + gold + 2 * words),
        exact=_ratio(int(table.exact.sum()), words),
        single_recall=_ratio(int(table.hits[single].sum()), int(single.sum())),
        single_words=int(single.sum()),
        morphscore=_ratio(int(table.hits[split].sum()), int(split.sum())),
        morphscore_words=int(split.sum()),
        over_segmented=_ratio(int((extra > 0).sum()), words),
        under_segmented=_ratio(int((extra < 0).sum()), words),
        spurious_per_word=_ratio(predicted - hits, words),
        missed_per_word=_ratio(gold - hits, words),
        tokens_per_word=_ratio(predicted + words, words),
        morphs_per_word=_ratio(gold + words, words),
    )


def macro_scores(table: WordTable, chosen: Longs) -> tuple[float, float]:
    """Compute mean precision and recall over the words with the given indices.

    Words of one character are left out; if no other word is left, both means are 1.
    """
    kept = chosen[table.scored[chosen] > 0]
    if not len(kept):
        return 1.0, 1.0
    # fsum is exact; a matrix product may differ in the last digits with the number of threads
    return math.fsum(table.precision[kept]) / len(kept), math.fsum(table.recall[kept]) / len(kept)


def score(gold: Sequence[GoldWord], predicted: Sequence[Sequence[str]]) -> BoundaryScores:
    """Score predicted tokens against gold segmentations.

    Args:
        gold: the gold words, such as `read_gold(file).words`.
        predicted: the tokens of each of these words, in the same order; empty strings among them are left out.

    Raises:
        MwSError: `gold` is not a list of gold words, there are none, the lists have different lengths, or tokens do not
            spell their word.

    >>> from mws_hf.corpus.segmentations import GoldWord
    >>> result = score([GoldWord("unpacking", (("un", "pack", "ing"),))], [["un", "packing"]])
    >>> result.precision, result.recall
    (1.0, 0.5)
    """
    if isinstance(gold, Gold):
        raise MwSError("the gold words are not a list, but a Gold; give its words: score(gold.words, ...)")
    if not gold:
        raise MwSError("there are no gold words to score")
    return summarize(word_table(gold, [list(filter(None, pieces)) for pieces in predicted]))


def best_alternative(entry: GoldWord, pieces: Sequence[str]) -> Morphs:
    """Choose the gold segmentation with the highest boundary F1; if several are equal, the first one in the file."""
    predicted = set(boundaries(pieces))

    def agreement(morphs: Morphs) -> float:
        true = set(boundaries(morphs))
        return 2 * len(true & predicted) / (len(true) + len(predicted)) if true or predicted else 1.0

    return max(entry.segmentations, key=agreement)


def paired(gold: Sequence[GoldWord], predicted: Sequence[Sequence[str]]) -> Iterator[tuple[GoldWord, Sequence[str]]]:
    """Yield each gold word with its tokens; raise MwSError if there are more or fewer segmentations than words."""
    if len(gold) != len(predicted):
        raise MwSError(
            f"{counted(len(predicted), 'segmentation')} cannot be compared with {counted(len(gold), 'gold word')}; "
            "give one for each word, in order"
        )
    yield from zip(gold, predicted, strict=True)


def _word_row(entry: GoldWord, pieces: Sequence[str]) -> tuple[float, ...]:
    """Return six counts of a word and its precision and recall: the columns of `WordTable`, the counts first."""
    if "".join(pieces) != entry.word:
        raise MwSError(
            f"the tokens {list(pieces)} do not spell the gold word {entry.word!r}; give tokens that join to the word"
        )
    found = set(boundaries(pieces))
    alternatives = [set(boundaries(morphs)) for morphs in entry.segmentations]
    best = set(boundaries(best_alternative(entry, pieces)))
    precision = max(len(found & true) / len(found) for true in alternatives) if found else 1.0
    recall = max(len(found & true) / len(true) if true else 1.0 for true in alternatives)
    length = len(entry.word)
    morph_hits = len(_spans(found, length) & _spans(best, length))
    return (len(found & best), len(found), len(best), morph_hits, found in alternatives, length > 1, precision, recall)


def _spans(positions: set[int], length: int) -> set[tuple[int, int]]:
    edges = [0, *sorted(positions), length]
    return set(zip(edges, edges[1:], strict=False))


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
