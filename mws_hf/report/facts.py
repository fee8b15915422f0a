"""Facts of a report that `mws_hf.evaluate` does not tell: by text, by token, and where texts differ most."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mws_hf.corpus.segmentations import Gold
from mws_hf.demo.comparison import WordDifference, differences
from mws_hf.demo.tokens import Opened
from mws_hf.evaluate.boundaries import boundaries
from mws_hf.evaluate.running_text import TextScores, score_text
from mws_hf.report.evidence import Known, token_evidence

_BATCH = 2000


@dataclass(frozen=True)
class Line:
    """A line of text, and the number of tokens that each tokenizer makes of it."""

    text: str
    tokens: tuple[int, ...]


@dataclass(frozen=True)
class Entry:
    """A token of a vocabulary.

    Attributes:
        number: its id.
        shown: its characters, or its bytes in hexadecimal.
        uses: how often it occurs in the texts.
        rank: of the merge that made it; None for one that no merge made.
        kind: of that merge, such as "morph"; "" where that is not known.
        edges: in gold words, how many of its ends lie inside a word.
        at_boundaries: how many of these ends are boundaries of the gold.
        evidence_at_ends: mean boundary evidence at its ends in known words of the text, 0 to 1; None where not known.
        evidence_inside: the same at the place inside it that has most evidence.
    """

    number: int
    shown: str
    uses: int
    rank: int | None
    kind: str
    edges: int
    at_boundaries: int
    evidence_at_ends: float | None = None
    evidence_inside: float | None = None


def by_text(tokenizers: Sequence[Opened], texts: Mapping[str, Sequence[str]]) -> dict[str, dict[str, TextScores]]:
    """Measure each text by each tokenizer."""
    return {
        name: {opened.name: score_text(opened.encoder, lines) for opened in tokenizers} for name, lines in texts.items()
    }


def parity(scores: Mapping[str, Mapping[str, TextScores]], parallel: bool) -> dict[str, float]:
    """Compute how unevenly each tokenizer treats the texts: the longest text over the shortest, 1 being even.

    Texts that are translations of each other (`parallel`) are compared by their tokens; others by tokens per word,
    which also tells how long the words of a language are. Empty for a single text.
    """
    if len(scores) < 2:
        return {}
    found = {}
    for name in next(iter(scores.values())):
        of_text = [float(each[name].tokens) if parallel else each[name].fertility for each in scores.values()]
        known = [value for value in of_text if not math.isnan(value)]
        if len(known) > 1:
            found[name] = max(known) / min(known)
    return found


def entries_of(opened: Opened, lines: Sequence[str], golds: Sequence[Gold], words: Known | None = None) -> list[Entry]:
    """List the vocabulary of a tokenizer, the most used first, with the figures of every token.

    They are from texts, gold, and where there is any, the boundary evidence of `words`.
    """
    uses: Counter[int] = Counter()
    for start in range(0, len(lines), _BATCH):
        for encoded in opened.encoder.encode(lines[start : start + _BATCH]):
            uses.update(encoded.ids)
    edges, right = _edges(opened, golds)
    evidence = token_evidence(opened, words) if words else {}
    special = opened.backend.get_added_tokens_decoder()
    entries = []
    for token, number in opened.backend.get_vocab().items():
        rank = opened.ranks.get(token)
        kind = "added" if number in special else opened.kind(rank) if rank is not None else ""
        shown = token if number in special else opened.readable(token)
        told = evidence.get(number, (None, None))
        entries.append(Entry(number, shown, uses[number], rank, kind, edges[number], right[number], *told))
    return sorted(entries, key=lambda entry: (-entry.uses, entry.number))


def _edges(opened: Opened, golds: Sequence[Gold]) -> tuple[Counter[int], Counter[int]]:
    """Count for each token its ends inside gold words, and how many are boundaries by the first segmentation."""
    edges: Counter[int] = Counter()
    right: Counter[int] = Counter()
    prefix = "" if opened.encoder.adds_space else " "
    for gold in golds:
        words = gold.words
        encoded = opened.encoder.encode([prefix + entry.word for entry in words])
        for entry, tokens in zip(words, encoded, strict=True):
            true = boundaries(entry.segmentations[0])
            for number, (start, end) in zip(tokens.ids, tokens.spans or (), strict=False):
                for place in (start - len(prefix), end - len(prefix)):
                    if 0 < place < len(entry.word):
                        edges[number] += 1
                        right[number] += place in true
    return edges, right


def most_different_lines(tokenizers: Sequence[Opened], lines: Sequence[str], most: int, longest: int) -> list[Line]:
    """Find the lines whose numbers of tokens differ most between tokenizers, by the ratio of most to fewest.

    Args:
        tokenizers: two or more.
        lines: text; lines under 20 characters and lines over `longest` are passed over.
        most: number of lines to find.
        longest: in characters.
    """
    chosen = list(dict.fromkeys(line for line in lines if 20 <= len(line) <= longest))
    counts = [
        [len(each.ids) for start in range(0, len(chosen), _BATCH)
         for each in opened.encoder.encode(chosen[start : start + _BATCH])]
        for opened in tokenizers
    ]  # fmt: skip
    found = [
        Line(line, numbers) for line, *numbers_ in zip(chosen, *counts, strict=True) for numbers in [tuple(numbers_)]
    ]
    return sorted(found, key=lambda each: -max(each.tokens) / max(1, min(each.tokens)))[:most]


def most_different_words(
    tokenizers: Sequence[Opened], lines: Sequence[str], most: int
) -> dict[str, list[WordDifference]]:
    """List the most frequent words that the first tokenizer and each other one cut differently, by the other's name."""
    first, *others = tokenizers
    text = "\n".join(lines)
    return {other.name: differences(first, other, text)[:most] for other in others}
