"""The merges that a learner finds, and the limits of what may be merged regardless of scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from mws_hf.errors import MwSError
from mws_hf.kernels import Array, Mask
from mws_hf.learn.words import utf8_sizes
from mws_hf.text.phrases import code_points
from mws_hf.text.symbols import BYTE_TOKENS

if TYPE_CHECKING:
    from mws_hf.corpus.counts import WordCounts


@dataclass(frozen=True)
class LearnedMerges:
    """Merges that a learner found; no product equals an earlier token.

    Attributes:
        merges: (left, right) in the order of their ranks.
        scores: the score of each merge at the time when it was made, in the unit of the learner.
        exhausted: True if there was no further candidate.
    """

    merges: list[tuple[str, str]]
    scores: list[float] = field(default_factory=list)
    exhausted: bool = False

    def followed_by(self, later: LearnedMerges) -> LearnedMerges:
        """Append merges that were learned after these; `exhausted` is that of the later ones."""
        return LearnedMerges(self.merges + later.merges, self.scores + later.scores, later.exhausted)


NO_LIMIT = 1 << 30
"""A length in characters that no token reaches."""


@dataclass(frozen=True)
class MergeLimits:
    """Conditions for merging a pair of tokens, and whether progress is shown.

    Attributes:
        min_occurrences: minimum number of occurrences in the distinct words.
        min_value: minimum sum of position values over the occurrences.
        min_frequency: minimum sum of the weights of the words over the occurrences.
        max_token_length: maximum length of a product in characters, including a leading space; None for no limit.
        forbidden: strings that never become tokens, in addition to byte tokens.
        excluded_pairs: pairs of ids of tokens that exist before learning begins, which are never merged.
        show_progress: show a progress bar on stderr if it is a terminal.
        progress_suffix: text after the name of the progress bar.
    """

    min_occurrences: int = 1
    min_value: int = 1
    min_frequency: int = 0
    max_token_length: int | None = None
    forbidden: frozenset[str] = frozenset()
    excluded_pairs: tuple[tuple[int, int], ...] = ()
    show_progress: bool = False
    progress_suffix: str = ""

    @property
    def longest(self) -> int:
        """Maximum length of a product in characters."""
        return self.max_token_length or NO_LIMIT

    @property
    def never(self) -> frozenset[str]:
        """All strings that must not become tokens."""
        return self.forbidden.union(BYTE_TOKENS)

    def allow(self, product: str) -> bool:
        """Return whether a string may become a token."""
        return len(product) <= self.longest and product not in self.forbidden and product not in BYTE_TOKENS


UNLIMITED = MergeLimits()
"""No conditions except a positive sum of values."""

_CODE_POINT_BITS = 21


@dataclass(frozen=True)
class Apart:
    """Characters that must not be merged.

    Attributes:
        alone: characters that are never merged with others.
        pairs: strings of two characters that no merge joins in this order.
    """

    alone: frozenset[str] = frozenset()
    pairs: frozenset[str] = frozenset()

    @classmethod
    def of(cls, entries: Iterable[str]) -> Apart:
        """Create an `Apart` from strings of one or two characters.

        Raises:
            MwSError: a string is empty or longer.

        >>> Apart.of(["'", "12"]) == Apart(frozenset("'"), frozenset(["12"]))
        True
        """
        given = list(entries)
        for entry in given:
            if not isinstance(entry, str) or not 1 <= len(entry) <= 2:
                raise MwSError(f"{entry!r} cannot be kept apart; give one character, or two that must not be joined")
        return cls(frozenset(e for e in given if len(e) == 1), frozenset(e for e in given if len(e) == 2))

    def check_normalized(self, normalize: Callable[[str], str]) -> None:
        """Raise MwSError for an entry that normalized text never contains, because normalization changes it.

        Args:
            normalize: function that normalizes a text to a Unicode form.
        """
        for entry in sorted(self.alone | self.pairs):
            if (changed := normalize(entry)) != entry:
                raise MwSError(
                    f"{entry!r} cannot be kept apart, because it occurs in no normalized text: normalization changes "
                    f"it to {changed!r} ({code_points(changed)}); leave it out"
                )

    def after(self, points: Array) -> Mask:
        """Find the positions that no merge may cross.

        Args:
            points: code points of the text, shape (n,).

        Returns:
            bool, shape (n,), True if no merge may cross the position after the code point.

        >>> Apart.of(["'", "12"]).after(np.array([ord(c) for c in "a'b121"])).tolist()
        [True, True, False, True, False, False]
        """
        points = points.astype(np.int64)
        alone = np.isin(points, [ord(character) for character in self.alone])
        found = alone.copy()
        found[:-1] |= alone[1:]
        codes = [ord(pair[0]) << _CODE_POINT_BITS | ord(pair[1]) for pair in self.pairs]
        found[:-1] |= np.isin(points[:-1] << _CODE_POINT_BITS | points[1:], codes)
        return found

    def split(self, counts: WordCounts) -> WordCounts:
        """Split words where characters are kept apart; the count of a part is the sum over the words that contain it.

        >>> from mws_hf.corpus.counts import WordCounts
        >>> counts = WordCounts.from_mapping({" it's": 3, "s": 1}, pattern="...")
        >>> dict(Apart.of("'").split(counts).items())
        {'s': 4, ' it': 3, "'": 3}
        """
        if not (self.alone or self.pairs) or not len(counts):
            return counts
        points, starts = counts.code_points()
        data, offsets = counts.utf8()
        edges = np.union1d(starts, np.nonzero(self.after(points))[0] + 1)
        ends = offsets[0] + np.concatenate([[0], np.cumsum(utf8_sizes(points))])
        owner = np.searchsorted(starts, edges[:-1], "right") - 1
        from mws_hf.corpus.token_table import TokenTable  # here, because it is rarely needed

        table = TokenTable()
        table.count_words(data, ends[edges], counts.counts[owner])
        strings, numbers = table.entries()
        return counts.of(strings, numbers, counts.splitter)
