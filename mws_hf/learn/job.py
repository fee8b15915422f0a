"""Plan a learning job: which words, how many merges of each kind, over which alphabet and within which limits.

Everything that is checked or worked out before learning begins is here; `vocabulary.learn` carries the job out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from mws_hf.corpus.block_counts import normalizer
from mws_hf.corpus.groups import GroupedCounts
from mws_hf.errors import MwSError
from mws_hf.kernels.arrays import Longs
from mws_hf.learn.compositions import SCALE, check_fits
from mws_hf.learn.settings import DEFAULT_VOCAB_SIZE, CriterionSettings, VocabularySettings, alphabet_kind
from mws_hf.learn.wishes import Apart
from mws_hf.learn.words import CodePoints, MergeLimits, count_points
from mws_hf.text.byte_alphabet import character_merges
from mws_hf.text.pattern import split
from mws_hf.tokenizer.backend import BYTE_TOKENS, tokenizer_tables

if TYPE_CHECKING:
    from mws_hf.corpus.counts import WordCounts

logger = logging.getLogger(__name__)

BYTE_ORDER_MARK = "\ufeff"
"""In every alphabet of characters, seen or not: as three byte tokens JavaScript's decoders drop it from a text.

Not where the vocabulary is to be as published.
"""


@dataclass(frozen=True)
class LearningJob:
    """One training, checked and worked out, before anything is learnt.

    Attributes:
        groups: words and how often each occurs, by group; rare words are left out.
        counts: words of all groups together, groups weighted.
        settings: of the criterion.
        vocabulary: settings that both criteria share.
        alphabet: the characters that are tokens, ascending by code point.
        composition: share of the merges that are compositions, or "fill": as many as the criterion leaves.
        n_merges: how many merges there is room for.
        n_morphs: how many of them the criterion may choose.
        limits: conditions that every pair must meet to be merged.
    """

    groups: GroupedCounts
    counts: WordCounts
    settings: CriterionSettings
    vocabulary: VocabularySettings
    alphabet: list[str]
    composition: float | Literal["fill"]
    n_merges: int
    n_morphs: int
    limits: MergeLimits

    @classmethod
    def plan(
        cls,
        counts: WordCounts | Mapping[str, WordCounts],
        settings: CriterionSettings,
        vocabulary: VocabularySettings,
        show_progress: bool = False,
    ) -> LearningJob:
        """Check the words, choose the alphabet and work out how many merges there is room for.

        Args:
            counts: words and how often each occurs in running text; by group where groups are named.
            settings: of the criterion.
            vocabulary: settings that both criteria share.
            show_progress: show progress bars on stderr when it is a terminal.

        Raises:
            MwSError: there is no word to learn from, counts are too large to be weighed, or a special token is a
                character of the words.
        """
        groups = GroupedCounts.of(counts).at_least(vocabulary.min_count)
        if vocabulary.keep_apart:
            groups = GroupedCounts({name: vocabulary.apart.split(part) for name, part in groups.items()})
        _check_words(groups, vocabulary.min_count)
        total = groups.weighted(vocabulary.weights)
        words = CodePoints.of_counts(total)
        check_fits(words.starts, total.counts, SCALE, settings.hidden_boundary_price)
        kind = alphabet_kind(settings, vocabulary)
        _check_tokens(vocabulary.tokens, total, vocabulary.apart)
        initial = set(vocabulary.initial_alphabet).union(*vocabulary.tokens)
        if kind == "characters" and not settings.as_published:
            initial.add(BYTE_ORDER_MARK)
        alphabet = choose_alphabet(words, total.counts, initial, vocabulary.limit_alphabet)
        tokenizer_tables(vocabulary.special_tokens, alphabet, [], kind)  # refuses a special token that is a character
        asked = vocabulary.composition
        composition = settings.usual_composition(len(groups)) if asked is None else asked
        n_merges = _merge_budget(settings, vocabulary, alphabet)
        n_morphs = n_merges if isinstance(composition, str) else round(n_merges * (1 - composition))
        limits = MergeLimits(
            min_frequency=vocabulary.min_frequency,
            max_token_length=vocabulary.max_token_length,
            forbidden=frozenset(vocabulary.special_tokens),
            show_progress=show_progress,
        )
        return cls(groups, total, settings, vocabulary, alphabet, composition, n_merges, n_morphs, limits)


def _check_words(groups: GroupedCounts, least: int) -> None:
    for name, counts in groups.items():
        if len(counts) == 0:
            of = f" of group {name!r}" if name else ""
            often = f" that occur {least:,} times" if least > 1 else ""
            raise MwSError(f"no training words{of} are left{often}; give text with at least one word")


def _check_tokens(tokens: Sequence[str], counts: WordCounts, apart: Apart) -> None:
    """Refuse strings that no merge could make: normalization changes them, or a cut runs through them."""
    normalize = normalizer(counts.normalization)
    for token in tokens:
        if normalize(token) != token:
            raise MwSError(f"{token!r} cannot become an entry: normalization makes {normalize(token)!r} of it")
        pieces = split(token, counts.pattern)
        if len(pieces) != 1:
            parts = "|".join(pieces)
            raise MwSError(f"{token!r} cannot become an entry: the split pattern cuts it ({parts}); give its parts")
        if apart.behind(CodePoints.of([token]).points)[:-1].any():
            raise MwSError(f"{token!r} cannot become an entry: characters in it are to be kept apart; leave one out")


def choose_alphabet(words: CodePoints, counts: Longs, initial: Iterable[str], limit: int | None) -> list[str]:
    """Choose the characters that become tokens; returns them ascending by code point.

    Args:
        words: the training words.
        counts: int64, how often each occurs.
        initial: characters to include in any case.
        limit: how many of the other characters to keep, the most frequent first (ties: lower code point); None: all.

    >>> choose_alphabet(CodePoints.of(["ab", "bc"]), np.array([1, 2]), "z", 1)
    ['b', 'z']
    """
    frequency = count_points(words, counts)
    kept = set(initial)
    seen = np.nonzero(frequency)[0]
    ordered = seen[np.lexsort((seen, -frequency[seen]))]
    others = [c for c in map(chr, ordered.tolist()) if c not in kept]
    return sorted(kept.union(others if limit is None else others[:limit]))


def _merge_budget(settings: CriterionSettings, vocabulary: VocabularySettings, alphabet: list[str]) -> int:
    """Count the merges that the vocabulary has room for; a vocabulary too small for its base warns and gets none.

    A byte-level base holds, in place of the alphabet, the products of the merges that build characters from bytes.
    """
    n_special = len(vocabulary.special_tokens)
    if vocabulary.n_merges is not None:
        # the published size test counts special tokens before they are appended (mws.md, Training)
        return vocabulary.n_merges + (n_special if settings.as_published else 0)
    wanted = DEFAULT_VOCAB_SIZE if vocabulary.vocab_size is None else vocabulary.vocab_size
    in_bytes = alphabet_kind(settings, vocabulary) == "bytes"
    n_alphabet = len(character_merges(alphabet) if in_bytes else alphabet)
    base = n_special + len(BYTE_TOKENS) + n_alphabet
    if wanted < base:
        logger.warning(
            "vocab_size=%d is less than %d special tokens + %d byte tokens + %d %s = %d: no merges are "
            "learnt; raise vocab_size, or set limit_alphabet",
            wanted, n_special, len(BYTE_TOKENS), n_alphabet, "parts of characters" if in_bytes else "characters", base,
        )  # fmt: skip
    return max(0, wanted - base)
