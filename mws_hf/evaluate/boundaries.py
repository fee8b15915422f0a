"""Boundary, morph and word scores of predicted segmentations against gold, and EMMA-2, their consistency across words.

EMMA-2 asks whether the same morphemes get the same pieces: a tokenizer that cuts a stem differently in each form can
place many boundaries well and still give a model no shared token to learn from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from mws_hf.corpus.segmentations import GoldWord, Morphs
from mws_hf.errors import MwSError
from mws_hf.kernels.arrays import Doubles, Longs


@dataclass(frozen=True)
class WordTable:
    """Counts of each gold word, one entry a word, in gold order; every score and interval is a sum over it.

    With several gold segmentations, counts refer to the one with the best F1 of the word (the first in the file when
    several tie), `precision` and `recall` each to their own best, as Morfessor's evaluation does.

    Attributes:
        words: the words.
        hits: boundaries both predicted and gold.
        predicted: predicted boundaries.
        gold: gold boundaries.
        morph_hits: morphs found as exact spans.
        precision: share of predicted boundaries that are gold; 1 where nothing is predicted.
        recall: share of gold boundaries found; 1 where gold has none.
        exact: 1 where the segmentation equals one of the gold's.
        scored: 1 for words of at least two characters; shorter words have no place for a boundary and are left out of
            the averages over words.
    """

    words: tuple[str, ...]
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
    """Scores of a segmentation; every figure is in [0, 1] but for the counts and the rates per word.

    Attributes:
        words: gold words.
        precision: micro boundary precision (1 if nothing is predicted).
        recall: micro boundary recall.
        f1: micro boundary F1, 2 hits / (predicted + gold).
        macro_precision: mean over words of the word's precision, best alternative (BPR of Virpioja et al. 2011, as in
            Morfessor's evaluation; words of one character are skipped).
        macro_recall: mean over words of the word's recall, in the same way.
        macro_f1: harmonic mean of macro precision and recall.
        morph_precision: predicted pieces that are gold morphs at their place.
        morph_recall: gold morphs found as pieces.
        morph_f1: harmonic mean of morph precision and recall (micro).
        exact: words cut exactly as gold.
        single_recall: recall at words with exactly one gold boundary.
        single_words: number of such words.
        morphscore: the same recall over such words that the tokenizer cuts at all (MorphScore, Arnett & Bergen 2025).
        morphscore_words: number of words in `morphscore`.
        over_segmented: words with more pieces than gold morphs.
        under_segmented: words with fewer pieces than gold morphs.
        spurious_per_word: predicted boundaries that are not gold, per word.
        missed_per_word: gold boundaries not predicted, per word.
        tokens_per_word: pieces per gold word.
        morphs_per_word: gold morphs per gold word.
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

    def to_dict(self) -> dict[str, float | int]:
        """Return name -> value, in the order of the attributes."""
        return asdict(self)


def boundaries(morphs: Sequence[str]) -> tuple[int, ...]:
    """List the positions between morphs, ascending.

    >>> boundaries(["un", "lock", "s"])
    (2, 6)
    """
    places: list[int] = []
    end = 0
    for morph in morphs[:-1]:
        end += len(morph)
        places.append(end)
    return tuple(places)


def f1(precision: float, recall: float) -> float:
    """Compute the harmonic mean of precision and recall; 0 when both are 0.

    >>> f1(0.5, 1.0), f1(0.0, 0.0)
    (0.6666666666666666, 0.0)
    """
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def word_table(gold: Sequence[GoldWord], predicted: Sequence[Sequence[str]]) -> WordTable:
    """Count hits word by word; `predicted` are the pieces of each gold word, in the same order.

    Raises:
        MwSError: the lists differ in length, or pieces do not spell their word.
    """
    if len(gold) != len(predicted):
        raise MwSError(f"{len(predicted)} segmentations for {len(gold)} gold words; give one for each, in order")
    rows = [_word_row(entry, pieces) for entry, pieces in zip(gold, predicted, strict=True)]
    counts = np.array([row[:6] for row in rows], dtype=np.int64).reshape(len(rows), 6)
    shares = np.array([row[6:] for row in rows], dtype=np.float64).reshape(len(rows), 2)
    hits, cut, true, morph_hits, exact, scored = counts.T
    return WordTable(
        tuple(entry.word for entry in gold), hits, cut, true, morph_hits, shares[:, 0], shares[:, 1], exact, scored
    )


def summarize(table: WordTable) -> BoundaryScores:
    """Turn a table's counts into scores.

    >>> gold = [GoldWord("unlocks", (("un", "lock", "s"),)), GoldWord("cat", (("cat",),))]
    >>> scores = summarize(word_table(gold, [("un", "locks"), ("c", "at")]))
    >>> scores.precision, scores.recall, scores.f1, scores.macro_precision, scores.macro_recall
    (0.5, 0.5, 0.5, 0.5, 0.75)
    """
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
    """Compute mean precision and recall over some of a table's words, words of one character skipped; 1 if all are."""
    weight = table.scored[chosen]
    scored = int(weight.sum())
    if not scored:
        return 1.0, 1.0
    return float(table.precision[chosen] @ weight) / scored, float(table.recall[chosen] @ weight) / scored


def score(gold: Sequence[GoldWord], predicted: Sequence[Sequence[str]]) -> BoundaryScores:
    """Score predicted pieces of gold words: `word_table` counts, `summarize` turns counts into scores."""
    return summarize(word_table(gold, predicted))


def best_alternative(entry: GoldWord, pieces: Sequence[str]) -> Morphs:
    """Choose the gold segmentation with the highest boundary F1 against `pieces`; of equals the first in the file.

    >>> best_alternative(GoldWord("abc", (("abc",), ("a", "bc"))), ["a", "b", "c"])
    ('a', 'bc')
    """
    if len(entry.segmentations) == 1:
        return entry.segmentations[0]
    cut = set(boundaries(pieces))

    def agreement(morphs: Morphs) -> float:
        true = set(boundaries(morphs))
        return 2 * len(true & cut) / (len(true) + len(cut)) if true or cut else 1.0

    return max(entry.segmentations, key=agreement)


@dataclass(frozen=True)
class Emma2:
    """Scores of EMMA-2: precision (pieces that stand for one morpheme), recall (morphemes kept to one piece), F1."""

    precision: float
    recall: float
    f1: float


def emma2(gold: Sequence[GoldWord], predicted: Sequence[Sequence[str]]) -> Emma2:
    """Compute EMMA-2 (Virpioja et al. 2011, TAL 52(2), section on EMMA): soft many-to-one assignment by co-occurrence.

    For recall each gold morph is assigned the predicted piece it occurs with most often (in a word, as often as both
    are there, so that equal segmentations score 1); a word's recall is the share of its gold morphs whose piece is
    there; recall is the mean over words. Precision is the same with roles exchanged.
    Ties go to the rarer candidate (the closer associate), then to the smaller string. Of several gold segmentations the
    one nearest in boundaries counts, as in the other scores (the authors pool them). A morph that occurs in one word
    only is always matched, so compare tokenizers on the same words.

    >>> gold = [GoldWord("cats", (("cat", "s"),)), GoldWord("dogs", (("dog", "s"),))]
    >>> emma2(gold, [("cat", "s"), ("dogs",)])
    Emma2(precision=1.0, recall=0.75, f1=0.8571428571428571)
    """
    true = [Counter(best_alternative(entry, pieces)) for entry, pieces in zip(gold, predicted, strict=True)]
    cut = [Counter(pieces) for pieces in predicted]
    precision, recall = _assigned_share(cut, true), _assigned_share(true, cut)
    return Emma2(precision, recall, f1(precision, recall))


def _assigned_share(rows: list[Counter[str]], others: list[Counter[str]]) -> float:
    frequency, n_words = Counter[str](), Counter[str]()
    for row, other in zip(rows, others, strict=True):
        n_words.update(row.keys())
        frequency.update(other)

    def closest(shared: Mapping[str, int]) -> str:
        return min(shared, key=lambda candidate: (-shared[candidate], frequency[candidate], candidate))

    assigned: dict[str, str] = {}
    together: dict[str, Counter[str]] = {}
    for row, other in zip(rows, others, strict=True):
        alone: dict[int, str] = {}  # morphs of this word only, if as frequent in it, get the same piece
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


def _word_row(entry: GoldWord, pieces: Sequence[str]) -> tuple[float, ...]:
    if "".join(pieces) != entry.word:
        raise MwSError(f"the pieces {list(pieces)} do not spell the gold word {entry.word!r}")
    cut = set(boundaries(pieces))
    alternatives = [set(boundaries(morphs)) for morphs in entry.segmentations]
    best = set(boundaries(best_alternative(entry, pieces)))
    precision = max(len(cut & true) / len(cut) for true in alternatives) if cut else 1.0
    recall = max(len(cut & true) / len(true) if true else 1.0 for true in alternatives)
    length = len(entry.word)
    morph_hits = len(_spans(cut, length) & _spans(best, length))
    return (len(cut & best), len(cut), len(best), morph_hits, cut in alternatives, length > 1, precision, recall)


def _spans(cuts: set[int], length: int) -> set[tuple[int, int]]:
    edges = [0, *sorted(cuts), length]
    return set(zip(edges, edges[1:], strict=False))


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
