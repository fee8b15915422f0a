"""Learn new merges on top of a base's own cuts: characters, word beginnings, morphs, compositions. It writes no file.

1. Characters. A byte-level base that has few letters of a script spells the others in bytes; those merge first, within
   characters alone. A base with byte fallback gets such characters as symbols of their own. Characters that remain in
   pieces are left alone by all later steps, so that no new token holds part of a character and more.
2. The space with the letter after it, so that a space is seldom a token before a letter.
3. Morphs: pairs by their evidence, in the phase of `learn.morphs`.
4. Compositions at a price for each boundary they hide, in the phase of `learn.compositions`.

Ties: smaller id of the base, then of the new tokens in the order they were found; left before right.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated

import numpy as np

from mws_hf.corpus.counts import WordCounts
from mws_hf.errors import MwSError
from mws_hf.extend.base import Base
from mws_hf.extend.words import UNPROTECTED, CutWords, Protection, collect_base_forms, cut_words
from mws_hf.kernels.arrays import Doubles, Longs
from mws_hf.learn.compositions import compose
from mws_hf.learn.contextual import Evidence, collect_evidence
from mws_hf.learn.described import COUNT, Range, Setting
from mws_hf.learn.engine.segmentation import Worth
from mws_hf.learn.evidence.forms import Forms, TypeCounts, with_lower_case
from mws_hf.learn.morphs import MORPH_LIMITS, SPACE_SHARE, form_weights, learn_morphs
from mws_hf.learn.settings import DEFAULT_COMPOSITION, Apart, ContextualSettings
from mws_hf.learn.words import LearnedMerges, MergeLimits, count_points, utf8_sizes

CHARACTER_SHARE = 2
"""At most 1 / CHARACTER_SHARE of the new tokens are characters."""


@dataclass(frozen=True, kw_only=True)
class ExtensionSettings(ContextualSettings):
    """The settings of an extension: those of the contextual criterion, and these.

    Attributes:
        composition: share of the new tokens for compositions, 0 to 1; 1 alone needs no evidence: frequency BPE.
        min_saving: occurrences in the corpus that a new token must save when it is made.
        max_token_length: longest new token in symbols of the base (bytes or characters); None: no limit.
        keep_apart: characters that no new merge joins with others, and pairs of characters that none joins.

    Raises:
        MwSError: a value is out of range.
    """

    composition: Annotated[float, Setting("Share of compositions.", takes=Range(most=1))] = DEFAULT_COMPOSITION
    min_saving: Annotated[int, Setting("Least saving.", takes=COUNT)] = 2
    max_token_length: Annotated[int | None, Setting("Longest token.", takes=Range(1, whole=True))] = None
    keep_apart: Iterable[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "keep_apart", tuple(self.keep_apart))
        self.apart  # noqa: B018  # refuses what cannot be kept apart

    @cached_property
    def apart(self) -> Apart:
        """Return what `keep_apart` says, read."""
        return Apart.of(self.keep_apart)


@dataclass(frozen=True)
class LearnedTokens:
    """Tokens and merges to append to a base.

    Attributes:
        symbols: characters that a base with byte fallback gets as symbols; no merge makes them.
        merges: (left, right) as the base spells them, in rank order.
        found: number of merges of each step: characters, spaces, morphs, compositions.
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
        """Keep only the first `n_tokens` of the new tokens."""
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
    """Learn new tokens for a base from words by any pattern; nothing that `protection` names is learnt.

    Args:
        base: the tokenizer to extend.
        counts: words and how often each occurs.
        n_tokens: most new tokens.
        settings: shares, prices and limits.
        protection: pairs, characters and words to leave alone.
        show_progress: show progress bars on stderr when it is a terminal.

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
    """List characters of the words that the base spells in bytes, the most saving first, without those of `but`."""
    counts = count_points(forms.words, forms.counts)
    points = np.nonzero(counts)[0]
    saved = counts[points] * (utf8_sizes(points.astype(np.int32)) - 1)
    ordered = points[np.lexsort((points, -saved))]
    worth = ordered[np.sort(-saved) <= -max(1, settings.min_saving)]
    missing = (character for character in map(chr, worth.tolist()) if base.spell(character) not in base.vocab)
    return [character for character in missing if character not in but][:most]


class Learner:
    """The steps of learning; each one changes the words' cut and appends its merges."""

    def __init__(
        self,
        cut: CutWords,
        counts: Longs,
        settings: ExtensionSettings,
        show_progress: bool,
        protection: Protection = UNPROTECTED,
    ) -> None:
        self.cut, self.counts, self.settings = cut, counts, settings
        self.limits = MergeLimits(
            min_frequency=settings.min_saving,
            max_token_length=settings.max_token_length,
            forbidden=protection.words,
            struck=tuple(protection.struck(cut.segmentation.tokens)),
            show_progress=show_progress,
        )
        self.apart = cut.last[settings.apart.after(cut.words.points)]
        self.merges: list[tuple[str, str]] = []

    def characters(self, n_merges: int) -> int:
        """Learn at most `n_merges` merges within characters, by frequency; return the number found."""
        nothing = np.zeros(len(self.cut.last), np.int64)
        values = self.cut.cells(nothing, self.cut.per_character(self.counts))
        return self._append(self.cut.segmentation.learn(values, max(0, n_merges), self.limits, title="characters"))

    def spaces(self, n_merges: int) -> int:
        """Learn merges of the space with a whole letter after it, by frequency; return the number found."""
        text, first = self.cut.segmentation.text, self.cut.words.starts[:-1]
        values, last = np.zeros(len(text), np.int64), self.cut.last
        several = np.nonzero(np.diff(self.cut.words.starts) > 1)[0]
        first = first[several]
        letters = np.fromiter(map(len, self.cut.segmentation.tokens), np.int64)[text[last[first] + 1]]
        spaced = (self.cut.words.points[first] == 32) & (letters == self.cut.sizes[first + 1])
        values[last[first[spaced]]] = self.counts[several[spaced]]
        values = self._closed(values)
        return self._append(self.cut.segmentation.learn(values, max(0, n_merges), self.limits, title="spaces"))

    def morphs(self, forms: Forms, evidence: Evidence, n_merges: int) -> int:
        """Learn merges by the evidence, every lower-cased type of the same weight; return the number found."""
        weights = form_weights(forms, evidence.find(forms.types)[forms.type_of])[self.cut.chosen]
        schedule = [(n_merges, self.settings.crossing_penalty)]
        limits = replace(self.limits, min_occurrences=MORPH_LIMITS.min_occurrences)
        values = partial(self._values, evidence.boundaries(self.cut.words), weights)
        return self._append(learn_morphs(self.cut.segmentation, values, schedule, max(0, n_merges), limits))

    def compositions(self, evidence: Evidence | None, n_types: int, n_merges: int) -> int:
        """Learn merges by frequency, at a price for boundaries; return the number found.

        Args:
            evidence: boundary evidence; None: boundaries have no price.
            n_types: number of word forms in the corpus, over which the mean frequency is taken.
            n_merges: number of merges wanted.
        """
        boundaries = np.zeros(len(self.cut.last)) if evidence is None else evidence.boundaries(self.cut.words)
        boundaries[self.cut.per_character(self.counts) == 0] = 0
        mean = float(self.counts.sum()) / max(1, n_types)
        price = self.settings.hidden_boundary_price * mean if evidence is not None else 0.0
        values = partial(self._values, boundaries, self.counts)
        return self._append(compose(self.cut.segmentation, values, price, max(0, n_merges), self.limits))

    def _values(self, boundaries: Doubles, weights: Longs, worth: Worth) -> Longs:
        """Lay worth out by cell, as `Segmentation.lay_out` does; within a character there is no boundary."""
        each = self.cut.per_character(weights)
        return self._closed(self.cut.cells(worth(boundaries, each), worth(np.zeros(len(each)), each)))

    def _append(self, learnt: LearnedMerges) -> int:
        """Append merges to the merges learnt before; return their number."""
        self.merges += learnt.merges
        return len(learnt.merges)

    def _closed(self, values: Longs) -> Longs:
        """Set values to 0 where characters are kept apart, and within and around each character that is in pieces.

        No pair that touches one of these places is worth a merge. Whether a pair touches one can be seen from its two
        tokens alone, so all its occurrences are 0.
        """
        broken = self.cut.broken()
        around = self.cut.last[broken]
        for k in range(int(self.cut.sizes.max(initial=1)) + 1):
            within = self.cut.sizes[broken] >= k
            values[around[within] - k] = 0
        values[self.apart] = 0
        return values
