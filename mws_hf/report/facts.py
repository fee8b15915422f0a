"""Facts of a report that `mws_hf.evaluate` does not tell: by text, by token, and where texts differ most.

The boundary evidence of a token is how probable a morph boundary is at its ends, and inside it, in words of a text. A
vocabulary is packed for the page: compressed, as text, so that the browser unpacks it and searches in it.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mws_hf.corpus.segmentations import Gold
from mws_hf.demo.comparison import WordDifference, differences
from mws_hf.demo.tokens import Opened
from mws_hf.demo.word_view import TrainingEvidence
from mws_hf.evaluate.boundaries import boundaries
from mws_hf.evaluate.running_text import WORD, TextScores, score_text
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


def packed(entries: Sequence[Entry]) -> str:
    """Pack entries as columns of JSON, compressed (zlib's form, which browsers call `deflate`) and in base64.

    Entries come in the order of their ids: an id is written as its distance from the one before, a rank by its distance
    from the id, so that most of these numbers are alike and take no room.
    """
    entries = sorted(entries, key=lambda entry: entry.number)
    columns = {
        "id": [b.number - a for a, b in zip([0, *(entry.number for entry in entries)], entries, strict=False)],
        "shown": [entry.shown for entry in entries],
        "uses": [entry.uses for entry in entries],
        "rank": [None if entry.rank is None else entry.rank - entry.number for entry in entries],
        "kind": [entry.kind for entry in entries],
        "edges": [entry.edges for entry in entries],
        "right": [entry.at_boundaries for entry in entries],
        "ends": [_per_cent(entry.evidence_at_ends) for entry in entries],
        "inside": [_per_cent(entry.evidence_inside) for entry in entries],
    }
    text = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode("ascii")


def _per_cent(value: float | None) -> int | None:
    return None if value is None else round(100 * value)


def packed_within(entries: Sequence[Entry], most: int) -> tuple[str, int]:
    """Pack as many of the first entries as fit into so many characters; return the text and their number.

    >>> packed_within([Entry(number, str(number), 0, None, "", 0, 0) for number in range(9)], 1000)[1]
    9
    """
    kept = len(entries)
    while True:
        text = packed(entries[:kept])
        if len(text) <= most or kept == 0:
            return text, kept
        kept = min(kept - 1, int(kept * most / len(text) * 0.98))


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
        judged = evidence.get(number, (None, None))
        entries.append(Entry(number, shown, uses[number], rank, kind, edges[number], right[number], *judged))
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
