"""Which characters of the training words become tokens; words are spelled out for it, and nothing is merged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mws_hf.learn.spelled import Spelled, count_points

if TYPE_CHECKING:
    from mws_hf.corpus.counts import WordCounts

Longs = npt.NDArray[np.int64]


def spelled(counts: WordCounts) -> Spelled:
    """The words as code points; made anew for each use, in a few hundredths of a second, rather than kept."""
    points, starts = counts.code_points()
    return Spelled(points.view(np.int32), starts)


def choose_alphabet(words: Spelled, counts: Longs, initial: Iterable[str], limit: int | None) -> list[str]:
    """The characters that become tokens, ascending by code point.

    Args:
        words: the training words.
        counts: int64, how often each occurs.
        initial: characters to include in any case.
        limit: how many of the other characters to keep, the most frequent first (ties: lower code point); None: all.
    """
    frequency = count_points(words, counts)
    kept = set(initial)
    seen = np.nonzero(frequency)[0]
    ordered = seen[np.lexsort((seen, -frequency[seen]))]
    others = [c for c in map(chr, ordered.tolist()) if c not in kept]
    return sorted(kept.union(others if limit is None else others[:limit]))
