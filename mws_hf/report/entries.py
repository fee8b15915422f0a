"""Describe each token of a vocabulary: its uses, and whether it begins and ends at morpheme boundaries.

The descriptions are packed as compressed text into the page, where the browser unpacks and searches them.
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
from mws_hf.report.differences import any_boundaries, ids_of
from mws_hf.scoring.running_text import WORD
from mws_hf.text.pattern import compiled, split
from mws_hf.text.symbols import readable
from mws_hf.tokenizer.opened import Opened

if TYPE_CHECKING:
    from mws_hf.tokenizer.explain import WordEvidence

_MAX_WORDS = 20_000
"""Boundary probabilities are averaged over at most this many words, the most frequent ones.

More words hardly change the means.
"""
WordProbabilities = Mapping[str, tuple[int, Sequence[float]]]
"""For each word, its frequency, and the probability of a boundary after each of its characters."""


@dataclass(frozen=True)
class TrainingEvidence:
    """Boundary probabilities of a training, and how to look up the words of a text in them.

    Attributes:
        evidence: the boundary probabilities by word.
        pattern: the split pattern of the training, which splits a text into words.
        source: a phrase for the page that names the words of the training, such as "training words of mine".
    """

    evidence: WordEvidence
    pattern: str
    source: str

    def values(self, text: str) -> list[float | None]:
        """Return the probability of a boundary after each character, or None for characters outside of words."""
        found: list[float | None] = []
        for part in split(text, self.pattern):
            found += self.evidence.word(part) or [None] * len(part)
        return found


def known_words(lines: Sequence[str], known: TrainingEvidence) -> WordProbabilities:
    """Find the words of a text that are also training words, with their boundary probabilities."""
    counts = Counter(match.group() for line in lines for match in compiled(WORD).finditer(line))
    found = {}
    for word, times in counts.most_common(_MAX_WORDS):
        if all(known.evidence.is_training_word(part) for part in split(f" {word}", known.pattern)):
            found[word] = (times, [value or 0.0 for value in known.values(f" {word}")[1:]])
    return found


def _token_spans(opened: Opened, words: Sequence[str]) -> Iterator[list[tuple[int, int, int]]]:
    """Yield the tokens of each word, segmented as inside a sentence: id, and start and end in the word.

    The start of a token with the space before the word is -1.
    """
    for encoded in opened.words(words):
        yield [(number, *span) for number, span in zip(encoded.ids, encoded.spans or (), strict=False)]


def token_evidence(opened: Opened, words: WordProbabilities) -> dict[int, tuple[int | None, int | None]]:
    """Average the boundary probabilities at the edges of each token, and inside it, over its occurrences in words.

    Returns:
        Two means in percent for each id: the probability of a boundary at the edges of the token, and the highest
        probability inside the token. The beginning and the end of a word do not count as edges. A mean is None if the
        token never has such an edge, or a position inside.
    """
    ends: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    inside: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for (times, values), spans in zip(words.values(), _token_spans(opened, list(words)), strict=True):
        for number, start, end in spans:
            found = [(ends, values[place - 1]) for place in {max(0, start), end} & set(range(1, len(values)))]
            if end - max(0, start) > 1:
                found.append((inside, max(values[max(0, start) : end - 1])))
            for sums, value in found:
                sums[number][0] += times
                sums[number][1] += times * value
    return {number: (_percent(ends.get(number)), _percent(inside.get(number))) for number in {*ends, *inside}}


def _percent(sums: list[float] | None) -> int | None:
    return round(100 * (sums[1] / sums[0])) if sums else None


class Entry(NamedTuple):
    """A token of a vocabulary.

    Attributes:
        id: its id.
        shown: its characters or bytes, as the page shows them.
        uses: how often it occurs in the texts.
        rank: rank of the merge that makes it; None if no merge does.
        kind: kind of that merge, or "added token".
        edges: how many of its edges in the words of the reference segmentations are inside a word.
        right: how many of these edges are boundaries of a reference segmentation.
        ends: mean probability of a boundary at its edges in the texts, in percent (see `token_evidence`).
        inside: mean of the highest probability inside it, in percent.
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
    """Pack entries as columns of JSON, compressed with zlib (`deflate` in browsers) and encoded in base64.

    Entries are sorted by id. An id is stored as its difference from the previous one, and a rank as its difference from
    the id, because most of these differences are equal and compress well.
    """
    entries = sorted(entries)
    columns: dict[str, list[Any]] = {name: [getattr(entry, name) for entry in entries] for name in Entry._fields}
    columns["id"] = [entry.id - before for before, entry in zip([0, *columns["id"]], entries, strict=False)]
    columns["rank"] = [None if entry.rank is None else entry.rank - entry.id for entry in entries]
    text = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode("ascii")


def packed_within(entries: Sequence[Entry], most: int) -> tuple[str, int]:
    """Pack as many of the first entries as fit into `most` characters; return the packed text and their number."""
    kept = len(entries)
    while True:
        text = packed(entries[:kept])
        if len(text) <= most or kept == 0:
            return text, kept
        kept = min(kept - 1, int(kept * most / len(text) * 0.98))


def entries_of(
    opened: Opened, lines: Sequence[str], golds: Sequence[Gold], words: WordProbabilities | None = None
) -> list[Entry]:
    """List the tokens of a vocabulary, the most used first, with figures from texts, gold and evidence.

    Args:
        opened: the tokenizer.
        lines: the texts in which uses are counted.
        golds: reference segmentations, for `Entry.edges` and `Entry.right`.
        words: boundary probabilities by word, for `Entry.ends` and `Entry.inside`; without them these are None.
    """
    uses = Counter(number for ids in ids_of(opened, lines) for number in ids)
    edges, right = _edges(opened, golds)
    evidence = token_evidence(opened, words) if words else {}
    special = opened.backend.get_added_tokens_decoder()
    spell = readable if opened.spec.byte_level else methodcaller("replace", "▁", " ")
    entries = []
    for token, number in opened.backend.get_vocab().items():
        rank, kind = (None, "added token") if number in special else opened.made_by.get(token, (None, ""))
        shown = spell(token) if number not in special else token
        judged = evidence.get(number, (None, None))
        entries.append(Entry(number, shown, uses[number], rank, kind, edges[number], right[number], *judged))
    return sorted(entries, key=lambda entry: (-entry.uses, entry.id))


def _edges(opened: Opened, golds: Sequence[Gold]) -> tuple[Counter[int], Counter[int]]:
    """Count the edges of each token inside gold words, and those that a gold segmentation has as boundaries."""
    edges: Counter[int] = Counter()
    right: Counter[int] = Counter()
    words = [entry for gold in golds for entry in gold.words]
    for entry, spans in zip(words, _token_spans(opened, [entry.word for entry in words]), strict=True):
        true = any_boundaries(entry.segmentations)
        for number, *ends in spans:
            for place in ends:
                if 0 < place < len(entry.word):
                    edges[number] += 1
                    right[number] += place in true
    return edges, right
