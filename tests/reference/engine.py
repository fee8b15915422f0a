"""The learner of merges as an executable specification: plain lists, and a recount at each merge. Only tests use it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from mws_hf.learn.limits import UNLIMITED, LearnedMerges, MergeLimits
from mws_hf.learn.words import SymbolCorpus
from mws_hf.learn.working_corpus import WorkingCorpus

Word = list[tuple[int, int]]


def learn_by_position_value(
    corpus: SymbolCorpus, values: Sequence[int] | None, n_merges: int, limits: MergeLimits = UNLIMITED
) -> LearnedMerges:
    """Learn merges as `WorkingCorpus(corpus).learn` does, with equal results: the same merges, scores and ties.

    A word is a list of (token id, value of the position after it), and every merge counts all pairs again. `values` has
    one value per symbol; without it, every position has the weight of the word. ``excluded_pairs`` is not used.
    """
    tokens = list(corpus.alphabet)
    taken = {*tokens, *limits.never}
    words = _cut_into_characters(corpus, values)
    merges: list[tuple[str, str]] = []
    scores: list[float] = []
    while len(merges) < n_merges:
        worth: Counter[tuple[int, int]] = Counter()
        places: Counter[tuple[int, int]] = Counter()
        frequency: Counter[tuple[int, int]] = Counter()
        for word, weight in zip(words, corpus.weights.tolist(), strict=True):
            for (left, value), (right, _) in pairwise(word):
                worth[left, right] += value
                places[left, right] += 1
                frequency[left, right] += weight
        candidates = [
            (-value, left, right)
            for (left, right), value in worth.items()
            if value >= max(1, limits.min_value)
            and places[left, right] >= limits.min_occurrences
            and frequency[left, right] >= limits.min_frequency
            and tokens[left] + tokens[right] not in taken
            and len(tokens[left] + tokens[right]) <= limits.longest
        ]
        if not candidates:
            return LearnedMerges(merges, scores, exhausted=True)
        value, left, right = min(candidates)
        merges.append((tokens[left], tokens[right]))
        scores.append(float(-value))
        tokens.append(tokens[left] + tokens[right])
        taken.add(tokens[-1])
        words = [merge_word(word, left, right, len(tokens) - 1) for word in words]
    return LearnedMerges(merges, scores, exhausted=False)


def merge_word(word: Word, left: int, right: int, product: int) -> Word:
    """Replace (left, right) from the left; the product keeps the position value after its right part.

    >>> merge_word([(0, 5), (0, 6), (0, 7)], 0, 0, 1)
    [(1, 6), (0, 7)]
    """
    out: Word = []
    i = 0
    while i < len(word):
        if i + 1 < len(word) and word[i][0] == left and word[i + 1][0] == right:
            out.append((product, word[i + 1][1]))
            i += 2
        else:
            out.append(word[i])
            i += 1
    return out


def _cut_into_characters(corpus: SymbolCorpus, values: Sequence[int] | None) -> list[Word]:
    words = []
    for w in range(len(corpus)):
        first, end = int(corpus.starts[w]), int(corpus.starts[w + 1])
        worth = [int(corpus.weights[w])] * (end - first) if values is None else [int(v) for v in values[first:end]]
        words.append(list(zip(corpus.symbols[first:end].tolist(), worth, strict=True)))
    return words


def tokens_of(segmentation: WorkingCorpus, word: int) -> list[str]:
    """Return the tokens of word number `word` of a segmented corpus, in order."""
    at = int(segmentation.corpus.starts[word]) + word + 1
    found = []
    while segmentation.text[at] >= 0:
        found.append(segmentation.tokens[segmentation.text[at]])
        at += len(found[-1])
    return found
