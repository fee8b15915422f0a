"""Characters that no merge joins: which places they are, and words cut there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.token_table import TokenTable
from mws_hf.errors import MwSError
from mws_hf.kernels.arrays import Array, Mask
from mws_hf.learn.words import utf8_sizes

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
        table = TokenTable()
        table.count_words(data, ends[cuts], counts.counts[owner])
        strings, numbers = table.entries()
        return WordCounts.from_arrays(
            strings, numbers, pattern=counts.pattern, normalization=counts.normalization, checked=True
        )
