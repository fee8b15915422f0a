"""Hold the limits that every learner of merges keeps to, as one value; each criterion chooses pairs within them."""

from __future__ import annotations

from dataclasses import dataclass

from mws_hf.text.special import BYTE_TOKENS

NO_LIMIT = 1 << 30
"""A length in characters that no token has."""


@dataclass(frozen=True)
class MergeLimits:
    """Conditions that a pair of tokens must meet to be merged, whatever its value, and whether progress is shown.

    Attributes:
        min_occurrences: least number of places where the pair stands in the distinct words, not weighted.
        min_value: least value of the pair, the sum over its occurrences.
        min_frequency: least number of the pair's occurrences, each counted by the weight of its word.
        max_token_length: greatest length of the product in characters, a leading space included; None: no limit.
        forbidden: strings that must not become tokens. Byte tokens, ``<0x00>`` to ``<0xFF>``, never do.
        struck: pairs of ids of tokens that exist before learning begins; these pairs are never merged.
        show_progress: show a progress bar on stderr when it is a terminal.

    >>> MergeLimits(max_token_length=3).allow("abcd"), MergeLimits().allow("<0x41>"), MergeLimits().allow("abcd")
    (False, False, True)
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
        """Return the greatest length of a product in characters, as a number in any case."""
        return self.max_token_length or NO_LIMIT

    @property
    def never(self) -> frozenset[str]:
        """List all strings that must not become tokens: the forbidden ones and the byte tokens."""
        return self.forbidden.union(BYTE_TOKENS)

    def allow(self, product: str) -> bool:
        """Tell whether a string may become a token."""
        return len(product) <= self.longest and product not in self.forbidden and product not in BYTE_TOKENS


UNLIMITED = MergeLimits()
"""No condition beyond a positive value."""
