"""Describe the tokens of a vocabulary: uses, boundary probabilities at their ends, boundaries in gold.

They are packed for the page as compressed text, which the browser unpacks and searches.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import TYPE_CHECKING, Any, NamedTuple

from mws_hf.corpus.segmentations import Gold
from mws_hf.report.differences import ids_of
from mws_hf.scoring.boundaries import boundaries
from mws_hf.scoring.running_text import WORD
from mws_hf.text.pattern import compiled, split
from mws_hf.text.symbols import readable
from mws_hf.tokenizer.opened import Opened

if TYPE_CHECKING:
    from mws_hf.tokenizer.explain import WordEvidence

_MOST_WORDS = 20_000  # distinct ones, the most frequent first: more change no figure of a token that is much used
Known = Mapping[str, tuple[int, Sequence[float]]]
"""Word -> how often it occurs, and the probability of a boundary after each of its letters."""


@dataclass(frozen=True)
class TrainingEvidence:
    """Boundary probabilities, the pattern that splits their training words from text, and their source."""

    evidence: WordEvidence
    pattern: str
    source: str

    def values(self, text: str) -> list[float | None]:
        """Return the probability of a boundary after each character; None in pre-tokens that are not words."""
        found: list[float | None] = []
        for part in split(text, self.pattern):
            found += self.evidence.word(part) or [None] * len(part)
        return found


def known_words(lines: Sequence[str], known: TrainingEvidence) -> Known:
    """Find the words of a text that, after a space, are training words; other words have no probabilities."""
    counts = Counter(match.group() for line in lines for match in compiled(WORD).finditer(line))
    found = {}
    for word, times in counts.most_common(_MOST_WORDS):
        if all(known.evidence.knows(part) for part in split(f" {word}", known.pattern)):
            found[word] = (times, [value or 0.0 for value in known.values(f" {word}")[1:]])
    return found


def _pieces(opened: Opened, words: Sequence[str]) -> Iterator[list[tuple[int, int, int]]]:
    """Yield the tokens of each word inside a sentence: id, and where it begins and ends in the word."""
    for encoded in opened.words(words):
        yield [(number, *span) for number, span in zip(encoded.ids, encoded.spans or (), strict=False)]


def token_evidence(opened: Opened, words: Known) -> dict[int, tuple[int | None, int | None]]:
    """Average the boundary evidence of each token over its occurrences in words.

    Returns id -> per cent at its ends, and at the place inside it that has most. The beginning and the end of a word
    are no places; None for a token that has no end, or no place, inside a word.
    """
    ends: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    inside: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for (times, values), pieces in zip(words.values(), _pieces(opened, list(words)), strict=True):
        for number, start, end in pieces:
            found = [(ends, values[place - 1]) for place in {max(0, start), end} & set(range(1, len(values)))]
            if end - max(0, start) > 1:
                found.append((inside, max(values[max(0, start) : end - 1])))
            for sums, value in found:
                sums[number][0] += times
                sums[number][1] += times * value
    return {number: (_per_cent(ends.get(number)), _per_cent(inside.get(number))) for number in {*ends, *inside}}


def _per_cent(sums: list[float] | None) -> int | None:
    return round(100 * (sums[1] / sums[0])) if sums else None


class Entry(NamedTuple):
    """A token of a vocabulary: its characters or bytes, its uses in the texts, the rank and kind of its merge.

    Then how many of its ends lie inside a gold word, how many of these are boundaries (`right`), and its evidence in
    known words of the texts, in per cent, as `token_evidence` has it.
    """

    id: int
    shown: str
    uses: int
    rank: int | None
    kind: str
    edges: int
    right: int
    ends: int | None = None
    inside: int | None = None


def packed(entries: Sequence[Entry]) -> str:
    """Pack entries as columns of JSON, compressed (zlib's form, which browsers call `deflate`) and in base64.

    Entries come in the order of their ids: an id is written as its distance from the one before, a rank by its distance
    from the id, so that most of these numbers are alike and take no room.
    """
    entries = sorted(entries)
    columns: dict[str, list[Any]] = {name: [getattr(entry, name) for entry in entries] for name in Entry._fields}
    columns["id"] = [entry.id - before for before, entry in zip([0, *columns["id"]], entries, strict=False)]
    columns["rank"] = [None if entry.rank is None else entry.rank - entry.id for entry in entries]
    text = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode("ascii")


def packed_within(entries: Sequence[Entry], most: int) -> tuple[str, int]:
    """Pack as many of the first entries as fit into so many characters; return the text and their number."""
    kept = len(entries)
    while True:
        text = packed(entries[:kept])
        if len(text) <= most or kept == 0:
            return text, kept
        kept = min(kept - 1, int(kept * most / len(text) * 0.98))


def entries_of(opened: Opened, lines: Sequence[str], golds: Sequence[Gold], words: Known | None = None) -> list[Entry]:
    """List the vocabulary of a tokenizer, the most used first, with what texts, gold and evidence say of each token."""
    uses = Counter(number for ids in ids_of(opened, lines) for number in ids)
    edges, right = _edges(opened, golds)
    evidence = token_evidence(opened, words) if words else {}
    special = opened.backend.get_added_tokens_decoder()
    spell = readable if opened.spec.byte_level else methodcaller("replace", "▁", " ")
    entries = []
    for token, number in opened.backend.get_vocab().items():
        rank, kind = opened.made_by.get(token, (None, ""))
        kind = "added" if number in special else kind
        shown = spell(token) if number not in special else token
        judged = evidence.get(number, (None, None))
        entries.append(Entry(number, shown, uses[number], rank, kind, edges[number], right[number], *judged))
    return sorted(entries, key=lambda entry: (-entry.uses, entry.id))


def _edges(opened: Opened, golds: Sequence[Gold]) -> tuple[Counter[int], Counter[int]]:
    """Count for each token its ends inside gold words, and how many are boundaries by the first segmentation."""
    edges: Counter[int] = Counter()
    right: Counter[int] = Counter()
    words = [entry for gold in golds for entry in gold.words]
    for entry, pieces in zip(words, _pieces(opened, [entry.word for entry in words]), strict=True):
        true = boundaries(entry.segmentations[0])
        for number, *ends in pieces:
            for place in ends:
                if 0 < place < len(entry.word):
                    edges[number] += 1
                    right[number] += place in true
    return edges, right
