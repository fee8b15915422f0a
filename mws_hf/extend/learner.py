"""New merges on top of a base's own cuts: characters, word beginnings, morphs, compositions. It writes no file.

1. Characters. A byte-level base that has few letters of a script spells the others in bytes; those merge first, within
   characters alone. A base with byte fallback gets such characters as symbols of their own. What remains in pieces is
   left alone by everything below, so that no new token holds part of a character and more.
2. The space with the letter behind it, so that a space is seldom a token before a letter.
3. Morphs: pairs by their evidence, as in `learn.contextual`.
4. Compositions at a price for each boundary they hide, as in `learn.composition`.

Ties: smaller id of the base, then of the new tokens in the order they were found; left before right.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mws_hf.corpus.counts import WordCounts
from mws_hf.errors import MwSError
from mws_hf.extend.base import Base
from mws_hf.extend.protection import UNPROTECTED, Protection
from mws_hf.extend.words import CutWords, collect_base_forms, cut_words, symbol_sizes
from mws_hf.kernels.arrays import Longs
from mws_hf.learn.apart import Apart
from mws_hf.learn.arguments import check_number, check_whole
from mws_hf.learn.contextual import FORM_UNIT, UNIT, Evidence, collect_evidence
from mws_hf.learn.evidence.forms import Forms, TypeCounts, with_lower_case
from mws_hf.learn.evidence.settings import EvidenceSettings
from mws_hf.learn.settings import DEFAULT_COMPOSITION, DEFAULT_CROSSING_PENALTY, DEFAULT_HIDDEN_BOUNDARY_PRICE
from mws_hf.learn.words import LearnedMerges, count_points

DISCOUNTS = (1.0, 0.5, 0.25, 0.125, 0.0)
"""Where no composition is worth its price, the price falls by these factors."""

SCALE = 256
CHARACTER_SHARE, SPACE_SHARE = 2, 8
"""At most 1 / CHARACTER_SHARE of the new tokens are characters, 1 / SPACE_SHARE a space with a letter."""


@dataclass(frozen=True, kw_only=True)
class ExtensionSettings:
    """What may be asked of an extension.

    Attributes:
        composition: share of the new tokens for compositions, 0 to 1; 1 alone needs no evidence: frequency BPE.
        crossing_penalty: how much a merge across a boundary costs against one within a morph; higher cuts finer.
        hidden_boundary_price: price of a boundary that a composition hides, see `learn.settings`.
        min_saving: occurrences in the corpus that a new token must save when it is made.
        max_token_length: longest new token in symbols of the base (bytes or characters); None: no limit.
        evidence: constants of the boundary evidence.
        keep_apart: characters that no new merge joins with others, and pairs of characters that none joins.

    Raises:
        MwSError: a value is out of range.
    """

    composition: float = DEFAULT_COMPOSITION
    crossing_penalty: float = DEFAULT_CROSSING_PENALTY
    hidden_boundary_price: float = DEFAULT_HIDDEN_BOUNDARY_PRICE
    min_saving: int = 2
    max_token_length: int | None = None
    evidence: EvidenceSettings = field(default_factory=EvidenceSettings)
    keep_apart: Iterable[str] = ()

    def __post_init__(self) -> None:
        check_number("hidden_boundary_price", self.hidden_boundary_price)
        check_number("crossing_penalty", self.crossing_penalty)
        check_number("composition", self.composition)
        check_whole("min_saving", self.min_saving, 0)
        check_whole("max_token_length", self.max_token_length, 1)
        if self.composition > 1:
            raise MwSError(f"composition={self.composition}: give a share from 0 to 1")
        object.__setattr__(self, "keep_apart", tuple(self.keep_apart))
        Apart.of(self.keep_apart)


@dataclass(frozen=True)
class LearnedTokens:
    """What is to be appended.

    Attributes:
        symbols: characters that a base with byte fallback gets as symbols; no merge makes them.
        merges: (left, right) as the base spells them, in rank order.
        found: how many merges each step found: characters, spaces, morphs, compositions.
        n_types: distinct words learnt from.
    """

    symbols: list[str]
    merges: list[tuple[str, str]]
    found: dict[str, int]
    n_types: int

    @property
    def tokens(self) -> list[str]:
        """The new tokens, in the order of their ids."""
        return [*self.symbols, *(left + right for left, right in self.merges)]

    def first(self, n_tokens: int) -> LearnedTokens:
        """Only the first of the new tokens."""
        symbols = self.symbols[:n_tokens]
        return replace(self, symbols=symbols, merges=self.merges[: n_tokens - len(symbols)])


def learn_tokens(
    base: Base,
    counts: WordCounts,
    n_tokens: int,
    settings: ExtensionSettings,
    protection: Protection = UNPROTECTED,
    *,
    show_progress: bool = False,
) -> LearnedTokens:
    """Learn new tokens for a base from words by any pattern; nothing that `protection` names.

    Raises:
        MwSError: there is no word to learn from.
    """
    forms = collect_base_forms(base, counts)
    if not len(forms.counts):
        raise MwSError("no words to learn from; give text with at least one word of letters")
    listed = TypeCounts(forms.types, forms.type_counts)
    evidence = collect_evidence(listed, settings.evidence) if settings.composition < 1 else None
    n_forms = len(forms.counts)
    symbols = []
    if not base.byte_level:
        most = n_tokens // CHARACTER_SHARE
        symbols = missing_characters(base, forms, most, settings, protection.characters)
    forms = with_lower_case(forms) if evidence is not None else forms
    counted = np.where(np.arange(len(forms.counts)) < n_forms, forms.counts, 0)
    cut = cut_words(base, forms.words, counted, symbols)
    learner = Learner(cut, counted[cut.chosen], settings, show_progress, protection)
    left = n_tokens - len(symbols)
    characters = learner.characters(left // CHARACTER_SHARE)
    spaces = learner.spaces((left - characters) // SPACE_SHARE)
    left -= characters + spaces
    morphs = 0
    if evidence is not None:
        morphs = learner.morphs(forms, evidence, round(left * (1 - settings.composition)))
    compositions = learner.compositions(evidence, n_forms, left - morphs) if settings.composition > 0 else 0
    found = {"characters": characters, "spaces": spaces, "morphs": morphs, "compositions": compositions}
    return LearnedTokens(symbols, learner.merges, found, n_forms)


def missing_characters(
    base: Base, forms: Forms, most: int, settings: ExtensionSettings, but: frozenset[str] = frozenset()
) -> list[str]:
    """Characters of the words that the base spells in bytes, those that save most first, but not those of `but`."""
    counts = count_points(forms.words, forms.counts)
    points = np.nonzero(counts)[0]
    saved = counts[points] * (symbol_sizes(points.astype(np.int32)) - 1)
    ordered = points[np.lexsort((points, -saved))]
    worth = ordered[np.sort(-saved) <= -max(1, settings.min_saving)]
    missing = (character for character in map(chr, worth.tolist()) if base.spell(character) not in base.vocab)
    return [character for character in missing if character not in but][:most]


class Learner:
    """The steps, each of which moves the words on and appends its merges."""

    def __init__(
        self,
        cut: CutWords,
        counts: Longs,
        settings: ExtensionSettings,
        show_progress: bool,
        protection: Protection = UNPROTECTED,
    ) -> None:
        self.cut, self.counts, self.settings, self.show_progress = cut, counts, settings, show_progress
        self.limits: dict[str, Any] = {
            "struck": protection.struck(cut.segmentation.tokens), "forbidden": protection.words,
        }  # fmt: skip
        self.apart = cut.last[Apart.of(settings.keep_apart).behind(cut.words.points)]
        self.merges: list[tuple[str, str]] = []

    def characters(self, n_merges: int) -> int:
        """Merges within characters, by frequency."""
        nothing = np.zeros(len(self.cut.last), np.int64)
        return self._learn("characters", self.cut.cells(nothing, self.cut.per_character(self.counts)), n_merges)

    def spaces(self, n_merges: int) -> int:
        """Merges of the space with a whole letter behind it, by frequency."""
        text, first = self.cut.segmentation.text, self.cut.words.starts[:-1]
        values, last = np.zeros(len(text), np.int64), self.cut.last
        several = np.nonzero(np.diff(self.cut.words.starts) > 1)[0]
        first = first[several]
        letters = np.fromiter(map(len, self.cut.segmentation.tokens), np.int64)[text[last[first] + 1]]
        spaced = (self.cut.words.points[first] == 32) & (letters == self.cut.sizes[first + 1])
        values[last[first[spaced]]] = self.counts[several[spaced]]
        return self._learn("spaces", self._closed(values), n_merges)

    def morphs(self, forms: Forms, evidence: Evidence, n_merges: int) -> int:
        """Merges by evidence, every lower-cased type the same weight, shared out among its forms."""
        total = np.bincount(forms.type_of, forms.counts)[forms.type_of]
        shares = np.maximum(1, np.rint(FORM_UNIT * forms.counts / total)).astype(np.int64)
        shares[evidence.find(forms.types)[forms.type_of] < 0] = 0
        weights = self.cut.per_character(shares[self.cut.chosen])
        penalty = 1 + self.settings.crossing_penalty
        worth = np.rint(UNIT * (1 - penalty * evidence.boundaries(self.cut.words))).astype(np.int64)
        values = self._closed(self.cut.cells(worth * weights, UNIT * weights))
        return self._learn("morphs", values, n_merges, min_occurrences=2)

    def compositions(self, evidence: Evidence | None, n_types: int, n_merges: int) -> int:
        """Merges by frequency at a price for boundaries."""
        cost = self.settings.hidden_boundary_price if evidence is not None else 0.0
        boundaries = np.zeros(len(self.cut.last)) if evidence is None else evidence.boundaries(self.cut.words)
        counts = self.cut.per_character(self.counts)
        boundaries[counts == 0] = 0
        mean, found = float(self.counts.sum()) / max(1, n_types), 0
        for discount in DISCOUNTS if cost else (0.0,):
            price = np.rint(cost * discount * mean * SCALE * boundaries).astype(np.int64)
            values = self._closed(self.cut.cells(SCALE * counts - price, SCALE * counts))
            found += self._learn("compositions", values, n_merges - found, min_value=SCALE)
            if found >= n_merges:
                break
        return found

    def _closed(self, values: Longs) -> Longs:
        """The values, 0 where characters are kept apart, and within and around each character that is in pieces.

        No pair that touches one of these is worth a merge. Whether a pair does can be seen from its two tokens alone,
        so that all its occurrences are 0.
        """
        broken = self.cut.broken()
        around = self.cut.last[broken]
        for k in range(int(self.cut.sizes.max(initial=1)) + 1):
            within = self.cut.sizes[broken] >= k
            values[around[within] - k] = 0
        values[self.apart] = 0
        return values

    def _learn(self, title: str, values: Longs, n_merges: int, **limits: Any) -> int:
        learnt: LearnedMerges = self.cut.segmentation.learn(
            values,
            max(0, n_merges),
            min_frequency=self.settings.min_saving,
            max_token_length=self.settings.max_token_length,
            show_progress=self.show_progress,
            title=title,
            **self.limits,
            **limits,
        )
        self.merges += learnt.merges
        return len(learnt.merges)
