"""The merges that a learner finds, and the limits of what may be merged, whatever a merge is worth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from mws_hf.errors import MwSError
from mws_hf.kernels import Array, Mask
from mws_hf.learn.words import utf8_sizes
from mws_hf.text.symbols import BYTE_TOKENS

if TYPE_CHECKING:
    from mws_hf.corpus.counts import WordCounts


@dataclass(frozen=True)
class LearnedMerges:
    """Merges that a learner found, in rank order; each product is a string no earlier token has.

    `scores` are the criterion's values of the merges when they were taken; `exhausted`: it had no further candidate.
    """

    merges: list[tuple[str, str]]
    scores: list[float] = field(default_factory=list)
    exhausted: bool = False

    def then(self, later: LearnedMerges) -> LearnedMerges:
        """Append merges learnt after these; whether candidates remain is known from the later ones."""
        return LearnedMerges(self.merges + later.merges, self.scores + later.scores, later.exhausted)


NO_LIMIT = 1 << 30
"""A length in characters that no token has."""


@dataclass(frozen=True)
class MergeLimits:
    """Conditions that a pair of tokens must meet to be merged, whatever its value, and whether progress is shown.

    `min_occurrences` counts places in the distinct words, `min_frequency` each place by the weight of its word.
    `min_value` is the least sum over the occurrences. `max_token_length` includes a leading space. `forbidden` strings
    and byte tokens never become tokens. `struck` are pairs of ids of tokens that exist before learning begins; they are
    never merged.
    """

    min_occurrences: int = 1
    min_value: int = 1
    min_frequency: int = 0
    max_token_length: int | None = None
    forbidden: frozenset[str] = frozenset()
    struck: tuple[tuple[int, int], ...] = ()
    show_progress: bool = False

    @property
    def longest(self) -> int:
        """The greatest length of a product in characters."""
        return self.max_token_length or NO_LIMIT

    @property
    def never(self) -> frozenset[str]:
        """All strings that must not become tokens."""
        return self.forbidden.union(BYTE_TOKENS)

    def allow(self, product: str) -> bool:
        """Return whether a string may become a token."""
        return len(product) <= self.longest and product not in self.forbidden and product not in BYTE_TOKENS


UNLIMITED = MergeLimits()
"""No condition beyond a positive value."""

_SHIFT = 21  # bits of a code point


@dataclass(frozen=True)
class Apart:
    """Characters that are merged with no other, and strings of two characters that no merge joins in this order."""

    alone: frozenset[str] = frozenset()
    pairs: frozenset[str] = frozenset()

    @classmethod
    def of(cls, entries: Iterable[str]) -> Apart:
        """Read a list of entries, each of one character or two.

        Raises:
            MwSError: an entry is empty or longer.

        >>> Apart.of(["'", "12"]) == Apart(frozenset("'"), frozenset(["12"]))
        True
        """
        given = list(entries)
        for entry in given:
            if not isinstance(entry, str) or not 1 <= len(entry) <= 2:
                raise MwSError(f"{entry!r} cannot be kept apart; give one character, or two that are not to be joined")
        return cls(frozenset(e for e in given if len(e) == 1), frozenset(e for e in given if len(e) == 2))

    def after(self, points: Array) -> Mask:
        """Find the places that no merge may cross: bool, True after each of the n code points where a merge must stop.

        >>> Apart.of(["'", "12"]).after(np.array([ord(c) for c in "a'b121"])).tolist()
        [True, True, False, True, False, False]
        """
        points = points.astype(np.int64)
        alone = np.isin(points, [ord(character) for character in self.alone])
        found = alone.copy()
        found[:-1] |= alone[1:]
        codes = [ord(pair[0]) << _SHIFT | ord(pair[1]) for pair in self.pairs]
        found[:-1] |= np.isin(points[:-1] << _SHIFT | points[1:], codes)
        return found

    def split(self, counts: WordCounts) -> WordCounts:
        """Cut words where characters are kept apart; each part counts as often as the words that hold it.

        >>> from mws_hf.corpus.counts import WordCounts
        >>> counts = WordCounts.from_mapping({" it's": 3, "s": 1}, pattern="...")
        >>> dict(Apart.of("'").split(counts).items())
        {'s': 4, ' it': 3, "'": 3}
        """
        if not (self.alone or self.pairs) or not len(counts):
            return counts
        points, starts = counts.code_points()
        data, offsets = counts.utf8()
        cuts = np.union1d(starts, np.nonzero(self.after(points))[0] + 1)
        ends = offsets[0] + np.concatenate([[0], np.cumsum(utf8_sizes(points))])
        owner = np.searchsorted(starts, cuts[:-1], "right") - 1
        from mws_hf.corpus.token_table import TokenTable  # seldom asked for

        table = TokenTable()
        table.count_words(data, ends[cuts], counts.counts[owner])
        strings, numbers = table.entries()
        return counts.of(strings, numbers, counts.splitter)
