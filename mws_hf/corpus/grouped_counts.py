"""The former `GroupedCounts`, kept for one version: `WordCounts` itself may have groups."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping

from mws_hf.corpus.counts import WordCounts

_MESSAGE = (
    "GroupedCounts is now part of WordCounts: use WordCounts.from_groups and WordCounts.load; the attribute `groups` "
    "of the result contains the counts of each group"
)


class GroupedCounts:
    """A deprecated name for `WordCounts` with groups, which `WordCounts.from_groups` creates."""

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
