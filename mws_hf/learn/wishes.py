"""Fulfil the user's wishes, whatever the learner thinks: characters kept apart, and strings that must be entries.

No merge joins characters that are kept apart, so the place between them is a certain boundary. The merges of strings
that must be entries come behind the learner's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.token_table import TokenTable
from mws_hf.errors import MwSError
from mws_hf.kernels.arrays import Mask
from mws_hf.tokenizer.merging import merge, ranked

_SHIFT = 21  # bits of a code point


@dataclass(frozen=True)
class Apart:
    """Characters and pairs of characters that are kept apart; none by default.

    Attributes:
        alone: characters that are merged with no other.
        pairs: strings of two characters that no merge joins in this order.
    """

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

    def behind(self, points: npt.NDArray[np.integer]) -> Mask:
        """Find the places that no merge may cross.

        Args:
            points: shape (n,), code points of a text.

        Returns:
            bool, shape (n,): True behind each character where a merge must stop.

        >>> Apart.of(["'", "12"]).behind(np.array([ord(c) for c in "a'b121"])).tolist()
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
        cuts = np.union1d(starts, np.nonzero(self.behind(points))[0] + 1)
        sizes = 1 + (points > 0x7F).astype(np.int64) + (points > 0x7FF) + (points > 0xFFFF)
        ends = offsets[0] + np.concatenate([[0], np.cumsum(sizes)])
        owner = np.searchsorted(starts, cuts[:-1], "right") - 1
        table = TokenTable()
        table.count_words(data, ends[cuts], counts.counts[owner])
        strings, numbers = table.entries()
        return WordCounts.from_arrays(
            strings, numbers, pattern=counts.pattern, normalization=counts.normalization, checked=True
        )


Merge = tuple[str, str]


def merges_for(strings: Iterable[Sequence[str]], merges: Sequence[Merge], known: Collection[str] = ()) -> list[Merge]:
    """Find merges that make each string one token where it is a word by itself; they rank behind all other merges.

    A string falls into pieces under the merges so far. New merges join these pieces, the left ones first, unless the
    product is an entry already. A later string changes no earlier one, since its merges rank behind.

    Args:
        strings: the symbols of each string.
        merges: the merges that exist, in rank order.
        known: entries that no merge need make.

    Raises:
        MwSError: other merges already make every product that could lead to a string.

    >>> merges_for(["abcd", "abc"], [("b", "c")])
    [('a', 'bc'), ('abc', 'd')]
    """
    table = ranked(merges)
    entries = {*known, *(left + right for left, right in merges)}
    found: list[Merge] = []
    for string in strings:
        whole = "".join(string)
        pieces = [whole] if whole in entries else merge(string, table)
        while len(pieces) > 1:
            pairs = [(pieces[at], pieces[at + 1]) for at in range(len(pieces) - 1)]
            pair = next((pair for pair in pairs if pair[0] + pair[1] not in entries), None)
            if pair is None:
                raise MwSError(f"{whole!r} cannot become an entry: all ways to it are other entries; leave it out")
            table[pair] = len(table) + len(merges), pair[0] + pair[1]
            found.append(pair)
            entries.add(pair[0] + pair[1])
            pieces = merge(pieces, table)
    return found
