"""Boundary, morph and word scores of predicted segmentations against reference segmentations (gold).

`emma2` measures whether the same morphemes get the same tokens. A tokenizer that splits a stem differently in each form
can predict many boundaries correctly, but it gives a model no shared token to learn from. `consistency` computes the
measures of MorphBPE.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from mws_hf.corpus.segmentations import GoldWord, Morphs
from mws_hf.errors import MwSError
from mws_hf.kernels import Doubles, Longs, Mask


@dataclass(frozen=True)
class WordTable:
    """Counts of each gold word, in the order of the gold file; all scores and intervals are sums over them.

    If a word has several gold segmentations, counts refer to the one with the highest F1; if several are equal, to the
    first one in the file. `precision` and `recall` each refer to their own best one, as in Morfessor's evaluation.

    Attributes:
        words: the words; the arrays have one entry per word.
        hits: predicted boundaries that are gold boundaries.
        predicted: predicted boundaries.
        gold: gold boundaries.
        morph_hits: gold morphs that are predicted tokens at the same position.
        precision: boundary precision; 1 if no boundary is predicted.
        recall: boundary recall; 1 if the gold segmentation has no boundary.
        exact: 1 if the segmentation equals one of the gold segmentations, else 0.
        scored: 0 for words of one character, which averages over words leave out, else 1.
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
        recall: share of the gold boundaries that are predicted, over all words (micro).
        f1: harmonic mean of precision and recall.
        macro_precision: mean precision over words, each compared with its best alternative (BPR of Virpioja et al.
            2011).
        macro_recall: mean recall over words, in the same way.
        macro_f1: harmonic mean of macro_precision and macro_recall.
        morph_precision: share of the predicted tokens that are gold morphs at the same position.
        morph_recall: share of the gold morphs that are predicted tokens at the same position.
        morph_f1: harmonic mean of both.
        exact: share of the words that are segmented as one of their gold segmentations.
        single_recall: recall at words with exactly one gold boundary.
        single_words: number of these words.
        morphscore: the same recall over those of these words that are split at all (MorphScore, Arnett & Bergen 2025).
        morphscore_words: number of the latter.
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
    """List the positions of the boundaries between morphs, ascending."""
    return tuple(accumulate(map(len, morphs[:-1])))


def f1(precision: float, recall: float) -> float:
    """Compute the harmonic mean of precision and recall; 0 if both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def word_table(gold: Sequence[GoldWord], predicted: Sequence[Sequence[str]]) -> WordTable:
    """Count the hits of each word; `predicted` has the tokens of each gold word, in the same order."""
    if len(gold) != len(predicted):
        raise MwSError(
            f"there are {len(predicted)} segmentations for {len(gold)} gold words; give one for each, in order"
        )
    rows = [_word_row(entry, pieces) for entry, pieces in zip(gold, predicted, strict=True)]
    counts = np.array([row[:6] for row in rows], dtype=np.int64).reshape(len(rows), 6)
    shares = np.array([row[6:] for row in rows], dtype=np.float64).reshape(len(rows), 2)
    hits, cut, true, morph_hits, exact, scored = counts.T
    precision, recall = shares.T
    words = tuple(entry.word for entry in gold)
    return WordTable(words, hits, cut, true, morph_hits, precision, recall, exact, scored)


def summarize(table: WordTable) -> BoundaryScores:
    """Compute the scores of a table of counts."""
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
    """Compute mean precision and recall over chosen words, without words of one character; 1 if none is left."""
    kept = chosen[table.scored[chosen] > 0]
    if not len(kept):
        return 1.0, 1.0
    # fsum is exact; a matrix product may differ in the last digits with the number of threads
    return math.fsum(table.precision[kept]) / len(kept), math.fsum(table.recall[kept]) / len(kept)


def score(gold: Sequence[GoldWord], predicted: Sequence[Sequence[str]]) -> BoundaryScores:
    """Score the predicted tokens of gold words; see `word_table` and `summarize`."""
    return summarize(word_table(gold, predicted))


def best_alternative(entry: GoldWord, pieces: Sequence[str]) -> Morphs:
    """Choose the gold segmentation with the highest boundary F1; if several are equal, the first one in the file."""
    cut = set(boundaries(pieces))

    def agreement(morphs: Morphs) -> float:
        true = set(boundaries(morphs))
        return 2 * len(true & cut) / (len(true) + len(cut)) if true or cut else 1.0

    return max(entry.segmentations, key=agreement)


@dataclass(frozen=True)
class Emma2:
    """Scores of EMMA-2.

    Attributes:
        precision: high if each token stands for one morpheme.
        recall: high if each morpheme is always the same token.
        f1: harmonic mean of both.
    """

    precision: float
    recall: float
    f1: float


def emma2(gold: Sequence[GoldWord], predicted: Sequence[Sequence[str]]) -> Emma2:
    """Compute EMMA-2 (Virpioja et al. 2011, TAL 52(2), section on EMMA): soft many-to-one assignment by co-occurrence.

    For recall each gold morph is assigned the predicted token with which it occurs most often. A word's recall is the
    share of its gold morphs whose token is in the word, and recall is the mean over words. Precision is the same with
    roles exchanged. If two candidates are equally frequent, the rarer one is chosen, then the smaller string. If a word
    has several gold segmentations, the one nearest in boundaries is used (the authors pool them). A morph that occurs
    in only one word is always matched, so compare tokenizers on the same words.
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
        alone: dict[int, str] = {}  # morphs only in this word that are equally frequent in it get the same token
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


CONSISTENCY_WORDS = 10_000
"""Most words whose pairs are compared. All pairs of 10,000 words take about a second; the time grows as the square."""


@dataclass(frozen=True)
class Consistency:
    """The measures mu_c and mu_e of MorphBPE (Asgari et al. 2025), after their description: details may differ.

    Attributes:
        precision: share of the pairs of words with a common token that also share a morph; 1 without such pairs.
        recall: share of the pairs of words with a common morph that also share a token; 1 without such pairs.
        f1: mu_c, the harmonic mean of both.
        edit_distance: mu_e, the mean Levenshtein distance from the morphs of a word to its tokens, each one symbol.
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
    """Compare pairs of words that share tokens with pairs that share morphs.

    Of more than `most_words` words, the pairs within a random sample of that many words are compared. The sample
    depends only on the words, so that all tokenizers are measured on the same pairs. The gold segmentation nearest in
    boundaries counts.
    """
    true = [best_alternative(entry, pieces) for entry, pieces in zip(gold, predicted, strict=True)]
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
    """Choose the indices of at most `size` words at random, by the words and not by their order in the file."""
    if len(words) <= size:
        return list(range(len(words)))
    return random.Random(0).sample(sorted(range(len(words)), key=words.__getitem__), size)


def _sharers(rows: Sequence[Sequence[str]]) -> Iterator[Mask]:
    """Yield for each row a mask of the other rows that share a token with it."""
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
    """Compute the Levenshtein distance of two sequences, columns of its table as bits of integers (Myers 1999)."""
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


def _word_row(entry: GoldWord, pieces: Sequence[str]) -> tuple[float, ...]:
    if "".join(pieces) != entry.word:
        raise MwSError(
            f"the tokens {list(pieces)} do not spell the gold word {entry.word!r}; give tokens that join to the word"
        )
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
