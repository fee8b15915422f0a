"""The former `GroupedCounts`, kept for one version: `WordCounts` itself may have groups."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping

from mws_hf.corpus.counts import WordCounts

_MESSAGE = (
    "GroupedCounts is now part of WordCounts: use WordCounts.from_groups and WordCounts.load, and the attribute "
    "`groups` of what they return for the counts of each group"
)


class GroupedCounts:
    """Deprecated: makes a `WordCounts` with groups, as `WordCounts.from_groups` does."""

    def __new__(cls, groups: Mapping[str, WordCounts]) -> WordCounts:  # type: ignore[misc]
        """Return `WordCounts.from_groups(groups)`."""
        warnings.warn(_MESSAGE, DeprecationWarning, stacklevel=2)
        return WordCounts.from_groups(groups)

    @staticmethod
    def of(counts: WordCounts | Mapping[str, WordCounts]) -> WordCounts:
        """Return `WordCounts.from_groups(counts)`."""
        warnings.warn(_MESSAGE, DeprecationWarning, stacklevel=2)
        return WordCounts.from_groups(counts)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> WordCounts:
        """Return `WordCounts.load(path)`."""
        warnings.warn(_MESSAGE, DeprecationWarning, stacklevel=2)
        return WordCounts.load(path)
