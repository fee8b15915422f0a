"""Compare tokenizers by the words that they split differently, the lengths of lines, and parity between texts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from mws_hf.corpus.segmentations import Morphs
from mws_hf.scoring.boundaries import boundaries
from mws_hf.scoring.running_text import WORD, TextScores
from mws_hf.text.pattern import compiled
from mws_hf.tokenizer.opened import Opened

_BATCH = 2000


class JudgedToken(NamedTuple):
    """A token of a word.

    Attributes:
        text: its characters.
        after: "hit" if the split after it is a boundary of the reference, "miss" if not, and "" without a reference or
            at the end of the word.
    """

    text: str
    after: str = ""


class WordDifference(NamedTuple):
    """A word that two tokenizers split differently.

    Attributes:
        word: the word.
        times: how often it occurs in the text.
        first: its tokens by the first tokenizer.
        second: its tokens by the second tokenizer.
        gold: its reference segmentations; empty if it is not in the reference.
    """

    word: str
    times: int
    first: tuple[JudgedToken, ...]
    second: tuple[JudgedToken, ...]
    gold: Sequence[Morphs] = ()


class WordComparison(NamedTuple):
    """The words that two tokenizers split differently.

    Attributes:
        first: name of the first tokenizer.
        second: name of the second tokenizer.
        share: share of the running words that they split differently, from 0 to 1.
        words: these words, the most frequent first.
    """

    first: str
    second: str
    share: float
    words: list[WordDifference]


def comparisons(
    tokenizers: Sequence[Opened], text: str, gold: Mapping[str, Sequence[Morphs]] | None = None
) -> list[WordComparison]:
    """Compare how tokenizers split the words of a text, each word after a space.

    Args:
        tokenizers: two or more tokenizers.
        text: the text whose words are compared.
        gold: reference segmentations by word; in these words, each split point is judged as a hit or a miss.

    Returns:
        First the comparison of the two tokenizers that differ most, then the other comparisons with the first
        tokenizer. The words of a comparison are sorted by frequency, and those of equal frequency by code points.
    """
    counts = Counter(match.group() for match in compiled(WORD).finditer(text))
    words = sorted(counts, key=lambda word: (-counts[word], word))
    split = {opened.name: opened.segment_words(words) for opened in tokenizers}
    gold = gold or {}

    def compared(first: str, second: str) -> WordComparison:
        rows = [
            WordDifference(
                word, counts[word], judged(a, gold.get(word, ())), judged(b, gold.get(word, ())), gold.get(word, ())
            )
            for word, a, b in zip(words, split[first], split[second], strict=True)
            if a != b
        ]
        return WordComparison(first, second, sum(row.times for row in rows) / max(1, counts.total()), rows)

    found = [compared(first, second) for first, second in combinations(split, 2)]
    most = max(found, key=lambda pair: pair.share, default=None)
    return [pair for pair in found if pair is most] + [
        pair for pair in found if pair is not most and pair.first == tokenizers[0].name
    ]


def judged(tokens: Sequence[str], gold: Sequence[Morphs]) -> tuple[JudgedToken, ...]:
    """Judge the split after each token of a word: it is a hit if a reference segmentation has this boundary.

    Without a reference segmentation, no split is judged.

    >>> [token.after for token in judged(("un", "pa", "cking"), [("un", "pack", "ing")])]
    ['hit', 'miss', '']
    """
    if not gold:
        return tuple(map(JudgedToken, tokens))
    true = any_boundaries(gold)
    return tuple(map(JudgedToken, tokens, [*("hit" if end in true else "miss" for end in boundaries(tokens)), ""]))


def any_boundaries(segmentations: Sequence[Morphs]) -> set[int]:
    """Return the positions of all boundaries that at least one segmentation of a word has.

    >>> sorted(any_boundaries([("un", "lock", "s"), ("unlock", "s")]))
    [2, 6]
    """
    return {position for morphs in segmentations for position in boundaries(morphs)}


def parity(scores: Mapping[str, Mapping[str, TextScores]], parallel: bool) -> dict[str, float]:
    """Return, for each tokenizer, the length of the longest of several texts divided by that of the shortest.

    Args:
        scores: measures by text and tokenizer; the result is empty if there are fewer than two texts.
        parallel: whether the texts are translations of each other. If so, lengths are in tokens, and if not, in tokens
            per word.
    """
    if len(scores) < 2:
        return {}
    found = {}
    for name in next(iter(scores.values())):
        lengths = [float(text[name].tokens) if parallel else text[name].fertility for text in scores.values()]
        known = [value for value in lengths if not math.isnan(value)]
        if len(known) > 1:
            found[name] = max(known) / min(known)
    return found


def most_different_lines(
    tokenizers: Sequence[Opened], lines: Sequence[str], most: int, longest: int
) -> list[tuple[str, tuple[int, ...]]]:
    """Return the lines for which the numbers of tokens have the largest ratio, each with these numbers.

    Args:
        tokenizers: the tokenizers.
        lines: the lines; only those of 20 to `longest` characters are compared.
        most: maximum number of lines to return.
        longest: maximum length of a line in characters.

    Returns:
        Pairs of a line and its number of tokens by each tokenizer, the largest ratio first.
    """
    chosen = list(dict.fromkeys(line for line in lines if 20 <= len(line) <= longest))
    counts = [[len(ids) for ids in ids_of(opened, chosen)] for opened in tokenizers]
    found = list(zip(chosen, zip(*counts, strict=True), strict=True))
    return sorted(found, key=lambda row: -max(row[1]) / max(1, min(row[1])))[:most]


def ids_of(opened: Opened, lines: Sequence[str]) -> Iterator[Sequence[int]]:
    """Yield the ids of each line; lines are encoded in batches."""
    for start in range(0, len(lines), _BATCH):
        for encoded in opened.encode(lines[start : start + _BATCH]):
            yield encoded.ids
