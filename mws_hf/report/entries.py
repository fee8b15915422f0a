"""Describe the tokens of a vocabulary for the report: uses, boundary probabilities, and boundaries in references.

The page contains them as compressed text, which the browser unpacks and searches.
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

_MAX_WORDS = 20_000
"""Distinct words that are used, the most frequent first; further ones do not change the figures of common tokens."""

Known = Mapping[str, tuple[int, Sequence[float]]]
"""For each word, its frequency and the probability of a boundary after each of its letters."""


@dataclass(frozen=True)
class TrainingEvidence:
    """Boundary probabilities for the words of a text.

    Attributes:
        evidence: boundary probabilities of words.
        pattern: the split pattern of their training words.
        source: where the probabilities are from, for the page.
    """

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
    """Return the words of a text that are training words when they follow a space; others have no probabilities."""
    counts = Counter(match.group() for line in lines for match in compiled(WORD).finditer(line))
    found = {}
    for word, times in counts.most_common(_MAX_WORDS):
        if all(known.evidence.knows(part) for part in split(f" {word}", known.pattern)):
            found[word] = (times, [value or 0.0 for value in known.values(f" {word}")[1:]])
    return found


def _pieces(opened: Opened, words: Sequence[str]) -> Iterator[list[tuple[int, int, int]]]:
    """Yield the tokens of each word, as they are inside a sentence: id, start and end in the word."""
    for encoded in opened.words(words):
        yield [(number, *span) for number, span in zip(encoded.ids, encoded.spans or (), strict=False)]


def token_evidence(opened: Opened, words: Known) -> dict[int, tuple[int | None, int | None]]:
    """Average the boundary probabilities of each token over its occurrences in words.

    Returns:
        For each id, the mean probability in per cent at the ends of the token, and the mean of the highest probability
        inside it. The beginning and the end of a word do not count, so a token may have None for either.
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
    """A token of a vocabulary.

    Attributes:
        id: its id.
        shown: its characters or bytes.
        uses: number of occurrences in the texts.
        rank: rank of its merge; None if no merge makes it.
        kind: kind of its merge, or "added".
        edges: number of its ends inside words of the reference segmentations.
        right: number of these ends that are boundaries.
        ends: mean boundary probability at its ends, in per cent (`token_evidence`).
        inside: mean of the highest boundary probability inside it, in per cent.
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
    """Pack entries as columns of JSON, compressed with zlib (`deflate` in browsers) and written in base64.

    Entries are sorted by id. An id is written as the difference from the one before, and a rank as the difference from
    the id, so that most of these numbers are equal and compress well.
    """
    entries = sorted(entries)
    columns: dict[str, list[Any]] = {name: [getattr(entry, name) for entry in entries] for name in Entry._fields}
    columns["id"] = [entry.id - before for before, entry in zip([0, *columns["id"]], entries, strict=False)]
    columns["rank"] = [None if entry.rank is None else entry.rank - entry.id for entry in entries]
    text = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode("ascii")


def packed_within(entries: Sequence[Entry], most: int) -> tuple[str, int]:
    """Pack as many of the first entries as fit into `most` characters; return the text and their number."""
    kept = len(entries)
    while True:
        text = packed(entries[:kept])
        if len(text) <= most or kept == 0:
            return text, kept
        kept = min(kept - 1, int(kept * most / len(text) * 0.98))


def entries_of(opened: Opened, lines: Sequence[str], golds: Sequence[Gold], words: Known | None = None) -> list[Entry]:
    """Return all tokens of a vocabulary with their figures, the most used ones first.

    Args:
        opened: the tokenizer.
        lines: the texts, for the uses.
        golds: reference segmentations, for ends at boundaries.
        words: boundary probabilities of words; None for none.
    """
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
    """Count for each token its ends inside reference words, and those that are boundaries of the first segmentation."""
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
