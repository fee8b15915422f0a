"""Where tokenizers differ: words cut in two ways, lines of unlike length, and how unlike whole texts are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from mws_hf.scoring.boundaries import boundaries
from mws_hf.scoring.running_text import WORD, TextScores
from mws_hf.text.pattern import compiled
from mws_hf.tokenizer.opened import Opened

_BATCH = 2000


class Piece(NamedTuple):
    """A part of a word; `after` judges the cut at its end by gold: "hit", "miss", or "" where there is none."""

    text: str
    after: str = ""


class WordDifference(NamedTuple):
    """A word that two tokenizers cut differently, how often a text has it, its pieces by both, and by gold if known."""

    word: str
    times: int
    first: tuple[Piece, ...]
    second: tuple[Piece, ...]
    gold: tuple[str, ...] = ()


def differences(
    first: Opened, second: Opened, text: str, gold: Mapping[str, Sequence[str]] | None = None
) -> list[WordDifference]:
    """List the words that two tokenizers cut differently after a space, the most frequent first, then by letters.

    Args:
        first: a tokenizer.
        second: another one.
        text: whose words are looked at.
        gold: word -> its morphs; a cut of a word that is there is a hit or a miss.
    """
    counts = Counter(match.group() for match in compiled(WORD).finditer(text))
    words = sorted(counts, key=lambda word: (-counts[word], word))
    cuts = [opened.cut(words) for opened in (first, second)]
    gold = gold or {}
    return [
        WordDifference(
            word, counts[word], judged(one, gold.get(word)), judged(other, gold.get(word)), tuple(gold.get(word, ()))
        )
        for word, one, other in zip(words, *cuts, strict=True)
        if one != other
    ]


def judged(pieces: Sequence[str], gold: Sequence[str] | None) -> tuple[Piece, ...]:
    """Judge the cut at the end of each piece but the last.

    >>> [piece.after for piece in judged(("un", "pa", "cking"), ("un", "pack", "ing"))]
    ['hit', 'miss', '']
    """
    if gold is None:
        return tuple(map(Piece, pieces))
    true = boundaries(gold)
    return tuple(map(Piece, pieces, [*("hit" if end in true else "miss" for end in boundaries(pieces)), ""]))


def parity(scores: Mapping[str, Mapping[str, TextScores]], parallel: bool) -> dict[str, float]:
    """Divide the longest of several texts by the shortest, by tokenizer: in tokens if parallel, or tokens per word."""
    if len(scores) < 2:
        return {}
    found = {}
    for name in next(iter(scores.values())):
        of_text = [float(each[name].tokens) if parallel else each[name].fertility for each in scores.values()]
        known = [value for value in of_text if not math.isnan(value)]
        if len(known) > 1:
            found[name] = max(known) / min(known)
    return found


def most_different_lines(
    tokenizers: Sequence[Opened], lines: Sequence[str], most: int, longest: int
) -> list[tuple[str, tuple[int, ...]]]:
    """Find the lines of 20 to `longest` characters whose numbers of tokens, returned too, have the largest ratios."""
    chosen = list(dict.fromkeys(line for line in lines if 20 <= len(line) <= longest))
    counts = [[len(ids) for ids in ids_of(opened, chosen)] for opened in tokenizers]
    found = list(zip(chosen, zip(*counts, strict=True), strict=True))
    return sorted(found, key=lambda each: -max(each[1]) / max(1, min(each[1])))[:most]


def ids_of(opened: Opened, lines: Sequence[str]) -> Iterator[Sequence[int]]:
    """Yield the ids of each line, a batch of lines at a time."""
    for start in range(0, len(lines), _BATCH):
        for encoded in opened.encode(lines[start : start + _BATCH]):
            yield encoded.ids
