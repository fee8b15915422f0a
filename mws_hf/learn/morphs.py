"""The first phase: merges that stay between the boundaries of the evidence. No evidence is computed here.

A pair of tokens is worth the sum over its occurrences of 1 - (1 + lambda) * P(boundary between them): each occurrence
inside a morph earns 1, each across a boundary costs lambda, the crossing penalty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from mws_hf.kernels.arrays import Longs
from mws_hf.kernels.memory import give_back
from mws_hf.learn.contextual import Evidence
from mws_hf.learn.engine.segmentation import Segmentation
from mws_hf.learn.evidence.forms import Forms, with_lower_case
from mws_hf.learn.limits import MergeLimits
from mws_hf.learn.overflow import spare_bits
from mws_hf.learn.seed_merges import find_marked_letters, grapheme_merges, space_merges
from mws_hf.learn.settings import DEFAULT_CROSSING_PENALTY
from mws_hf.learn.words import LearnedMerges, SymbolCorpus, in_alphabet
from mws_hf.learn.worth import FORM_UNIT, UNIT, cell_values, form_weights, morph_worth

MONOLINGUAL, MULTILINGUAL = ((0.4, 3.0), (1.0, 0.875)), ((0.2, 3.0), (1.0, 1.0))
"""Schedule of the crossing penalty in one word list and in several: (share of the merges, factor of the penalty) pairs.

The first 40 % (20 %) of the merges pay three times the penalty, because the commonest pairs occur in many words and are
wrong in many. Mean F1 of six languages +.008 (8,000 entries) and +.010 (32,000).
"""

MORPH_LIMITS = MergeLimits(min_occurrences=2)
"""A pair that stands in a single place says nothing of other words."""


def learn_contextual(
    forms: Forms, alphabet: Sequence[str], n_merges: int, evidence: Evidence, *,
    crossing_penalty: float = DEFAULT_CROSSING_PENALTY, types: bool = True, limits: MergeLimits = MORPH_LIMITS,
) -> tuple[LearnedMerges, Segmentation]:  # fmt: skip
    """Learn morph merges from words that have evidence.

    First come the seed merges (see `seed_merges`): letters with their combining marks, also those seen once and in
    words without evidence, up to half of the merges; then the space with each letter, so that a space is never a token
    before a letter. Then come pairs by their worth until none is positive, at first at a higher crossing penalty.

    Args:
        forms: from `collect_forms`; forms without evidence take no part.
        alphabet: the characters that are tokens.
        n_merges: how many merges are wanted.
        evidence: from `collect_evidence`, usually of the same forms.
        crossing_penalty: the lambda of the module docstring.
        types: every lower-cased type weighs the same, shared out among its forms and their lower-case variants;
            False: forms weigh their counts.
        limits: conditions that pairs must meet; seed merges keep to the greatest length and the forbidden strings
            alone. Lower-case variants count as occurrences, but not in a pair's frequency.

    Returns:
        The merges, and the words cut by them, for the composition phase to continue from.
    """
    n_forms = len(forms.counts)
    marked = find_marked_letters(forms.words, forms.counts)
    forms = with_lower_case(forms) if types else forms
    frequencies = (np.arange(len(forms.counts)) < n_forms).astype(np.int64) if types else forms.counts
    type_of = evidence.find(forms.types)[forms.type_of]
    kept = np.nonzero(type_of >= 0)[0]
    weights = form_weights(forms, type_of, evidence.weights)[kept] if types else forms.counts[kept]
    type_of, frequencies = type_of[kept], frequencies[kept]
    words = forms.words.take(kept)
    del forms, kept
    give_back()
    shares = MONOLINGUAL if evidence.weights is None else MULTILINGUAL
    schedule = [(round(share * n_merges), factor * crossing_penalty) for share, factor in shares]
    if spare := spare_bits(words.starts, weights, UNIT * (1 + max(penalty for _, penalty in schedule))):
        weights = weights >> spare
    numbered = SymbolCorpus.from_words(words, np.arange(len(words)), alphabet)  # may cut words at other characters
    corpus = replace(numbered, weights=frequencies[numbered.weights])
    weights = weights[numbered.weights]
    boundaries = evidence.boundaries(words, type_of)
    if len(corpus.symbols) < len(boundaries):
        boundaries = boundaries[in_alphabet(words, alphabet)]
    del words, type_of, numbered, frequencies
    give_back()
    graphemes = grapheme_merges(marked, alphabet, n_merges // 2, limits)
    seeds = graphemes + space_merges(corpus, n_merges, marked, graphemes, limits)
    segmentation = Segmentation(corpus)
    segmentation.apply(seeds)
    give_back()

    def values(penalty: float) -> Longs:
        return cell_values(corpus, boundaries, weights, partial(morph_worth, crossing_penalty=penalty))

    learnt = learn_morphs(segmentation, values, schedule, n_merges - len(seeds), limits)
    unit = float(UNIT * FORM_UNIT if types else UNIT)
    scores = [score / unit for score in learnt.scores]
    return LearnedMerges(seeds, [0.0] * len(seeds)).then(replace(learnt, scores=scores)), segmentation


def learn_morphs(
    segmentation: Segmentation, values: Callable[[float], Longs], schedule: Iterable[tuple[int, float]], n_merges: int,
    limits: MergeLimits,
) -> LearnedMerges:  # fmt: skip
    """Merge pairs by their worth to morphs, under one crossing penalty after another.

    Args:
        segmentation: words, changed in place.
        values: gives the worth of each cell of the words under a crossing penalty, int64.
        schedule: for each turn the most merges to learn in it, and the crossing penalty.
        n_merges: how many merges are wanted of all turns together.
        limits: conditions that pairs must meet.
    """
    turns = [(most, partial(values, penalty)) for most, penalty in schedule]
    return segmentation.learn_in_turns(turns, n_merges, limits, title="morph merges")
