"""Boundary evidence of tokens: how probable a morph boundary is at their ends, and inside them, in words of a text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from mws_hf.demo.tokens import Opened
from mws_hf.demo.word_view import TrainingEvidence
from mws_hf.evaluate.running_text import WORD
from mws_hf.text.pattern import compiled, split

MOST_WORDS = 20_000
"""Distinct words looked at, the most frequent first: more change no figure of a token that is much used."""

Known = Mapping[str, tuple[int, Sequence[float]]]
"""Word -> how often it occurs, and the probability of a boundary after each of its letters."""


def known_words(lines: Sequence[str], known: TrainingEvidence) -> dict[str, tuple[int, Sequence[float]]]:
    """Find the words of a text that are among the training words: occurrences, and the evidence after each letter.

    Words that are not among them have no posterior, so they are left out. A word is read as after a space.
    """
    counts = Counter(match.group() for line in lines for match in compiled(WORD).finditer(line))
    found: dict[str, tuple[int, Sequence[float]]] = {}
    for word, times in counts.most_common(MOST_WORDS):
        if all(known.evidence.knows(part) for part in split(f" {word}", known.pattern)):
            found[word] = (times, [value or 0.0 for value in known.values(f" {word}")[1:]])
    return found


def token_evidence(opened: Opened, words: Known) -> dict[int, tuple[float | None, float | None]]:
    """Average the boundary evidence of each token over its occurrences in words.

    Args:
        opened: the tokenizer.
        words: from `known_words`.

    Returns:
        Id -> evidence at its ends, and at the place inside it that has most, from 0 to 1. The beginning and the end of
        a word are no places; None for a token that has no end, or no place, inside a word.
    """
    ends: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    inside: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    prefix = "" if opened.encoder.adds_space else " "
    encoded = opened.encoder.encode([prefix + word for word in words])
    for (times, values), tokens in zip(words.values(), encoded, strict=True):
        for number, (start, end) in zip(tokens.ids, tokens.spans or (), strict=False):
            first, last = max(0, start - len(prefix)), end - len(prefix)
            for place in {first, last} & set(range(1, len(values))):
                _add(ends[number], times, values[place - 1])
            if last - first > 1:
                _add(inside[number], times, max(values[first : last - 1]))
    return {number: (_mean(ends.get(number)), _mean(inside.get(number))) for number in {*ends, *inside}}


def _add(sums: list[float], times: int, value: float) -> None:
    sums[0] += times
    sums[1] += times * value


def _mean(sums: list[float] | None) -> float | None:
    return sums[1] / sums[0] if sums else None
