"""The two phases of learning: morph merges by boundary probabilities, then compositions (frequency merges).

Boundary probabilities are an input here (`learn/evidence/` estimates them).

**Morph merges.** The score of a pair of tokens is the sum over its occurrences of 1 - (1 + lambda) * P(boundary between
them). So an occurrence inside a morph adds 1, and one across a boundary subtracts lambda, the crossing penalty.

The first merges need no boundary probabilities: they join letters with their combining marks, and then the space with
letters (`learn/letter_merges.py`).

**Compositions** fill the vocabulary with frequent neighbors, that is, whole stems and whole words. Frequency alone
would join morphs across every boundary. Therefore the score of an occurrence is the number of tokens of running text
that it saves, minus a penalty for the boundary that it hides. The penalty counts once per word type.

In code, only certain boundaries are penalized, which are those at uppercase letters and after underscores. Between them
only frequency decides what is merged, and also whether ``.append`` or ``(self`` becomes one token. When a training on
several languages and code penalized code like a language, Python had 8.7 % fewer bytes per token than with BPE; now it
has 4.8 % fewer (scripts/log, 2026-11-22).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from mws_hf.errors import MwSError
from mws_hf.kernels import Doubles, Ints, Longs
from mws_hf.kernels.threads import give_back
from mws_hf.learn.defaults import DEFAULT_CROSSING_PENALTY, DEFAULT_HIDDEN_BOUNDARY_PRICE
from mws_hf.learn.evidence.forms import (
    Forms,
    find_words,
    with_lowercase,
)
from mws_hf.learn.evidence.posteriors import Evidence
from mws_hf.learn.letter_merges import find_marked_letters, grapheme_merges, space_merges
from mws_hf.learn.limits import UNLIMITED, LearnedMerges, MergeLimits
from mws_hf.learn.uppercase import LOWERCASE_PER_CAPITAL
from mws_hf.learn.words import (
    SCORE_BITS,
    CodePoints,
    SymbolCorpus,
    in_alphabet,
    weighted_letter_count,
)
from mws_hf.learn.working_corpus import PositionScores, WorkingCorpus

UNIT = 1 << 16
"""Score of an occurrence that is certainly inside a morph; probabilities are rounded to 1 / UNIT before comparisons."""

FORM_UNIT = 256
"""Weight of a word type, which its forms share in proportion to their counts, at least 1 each.

So tokens go to the forms that the text has. With equal shares, the F1 of lowercase words is lower by 0.008 in English
and by 0.002 in Russian.
"""


def form_weights(forms: Forms, type_of: Ints, type_weights: Doubles | None = None) -> Longs:
    """Divide the weight `FORM_UNIT` of each word type among its forms, in proportion to their counts.

    Args:
        forms: the forms, with the number of their type.
        type_of: int32, shape (n_forms,): the index of the type of each form in the evidence; negative if it has none.
        type_weights: float64, shape (n_types of the evidence,): factors of the types; 1 if not given.

    Returns:
        int64, shape (n_forms,): the weight of each form; at least 1, or 0 if the evidence does not contain its type.
    """
    total = np.bincount(forms.type_of, forms.counts)[forms.type_of]
    shares = np.rint(FORM_UNIT * forms.counts / total)
    if type_weights is not None:
        shares = np.rint(np.maximum(1, shares) * type_weights[np.maximum(type_of, 0)])
    return np.where(type_of < 0, 0, np.maximum(1, shares)).astype(np.int64)


def morph_scores(boundaries: Doubles, weights: Longs, crossing_penalty: float) -> Longs:
    """Compute the scores of positions for morph merges: weight * (1 - (1 + penalty) * P(boundary)).

    Args:
        boundaries: float64, shape (n,): probability of a boundary at each position.
        weights: int64, shape (n,): weight of the word of each position.
        crossing_penalty: the penalty, where an occurrence inside a morph adds 1.

    Returns:
        int64, shape (n,), in units of 1 / `UNIT`.
    """
    return np.rint(UNIT * (1 - (1 + crossing_penalty) * boundaries)).astype(np.int64) * weights


STAGES_OF_ONE_LANGUAGE, STAGES_OF_GROUPS = ((0.4, 3.0), (1.0, 0.875)), ((0.2, 3.0), (1.0, 1.0))
"""Schedules of the crossing penalty for one word list and for several: pairs (share of the merges, factor).

For the first 40 % of the merges (20 % with several lists) the penalty is three times as high. The first pairs occur in
so many words that a pair with a good score can still cross boundaries in many of them. The higher penalty raises the
mean F1 of six languages by 0.008 with a vocabulary size of 8,000, and by 0.010 with 32,000.
"""

MORPH_LIMITS = MergeLimits(min_occurrences=2)
"""Limits of morph merges: a pair that occurs only once is no evidence about other words."""


def penalty_schedule(evidence: Evidence, n_merges: int, crossing_penalty: float) -> list[tuple[int, float]]:
    """Return the stages of the morph merges: the maximum number of merges and the crossing penalty of each."""
    shares = STAGES_OF_ONE_LANGUAGE if evidence.weights is None else STAGES_OF_GROUPS
    return [(round(share * n_merges), factor * crossing_penalty) for share, factor in shares]


def fitting_weights(words: CodePoints, weights: Longs, schedule: Iterable[tuple[int, float]]) -> Longs:
    """Divide weights by a power of two, if necessary, so that the scores of all letters add up to at most 62 bits.

    Args:
        words: the words.
        weights: int64, shape (n_words,): weight of each word.
        schedule: the stages, as `penalty_schedule` returns them.
    """
    most = weighted_letter_count(words.starts, weights) * math.ceil(
        UNIT * (1 + max(penalty for _, penalty in schedule))
    )
    return weights >> max(0, most.bit_length() - SCORE_BITS)


def learn_contextual(
    forms: Forms, alphabet: Sequence[str], n_merges: int, evidence: Evidence, *,
    crossing_penalty: float = DEFAULT_CROSSING_PENALTY, types: bool = True, limits: MergeLimits = MORPH_LIMITS,
) -> tuple[LearnedMerges, WorkingCorpus]:  # fmt: skip
    """Learn morph merges from the words that have boundary probabilities.

    The first merges join letters with their combining marks, even if they occur once or in words without probabilities.
    They are at most half of the merges. Then the space is merged with letters (see `space_merges`). For both kinds only
    the maximum length and the forbidden strings of the limits apply. All other pairs are merged in the order of their
    scores, until no score is positive; the crossing penalty is higher at the beginning.

    Args:
        forms: the distinct words.
        alphabet: the characters that words may contain.
        n_merges: maximum number of merges.
        evidence: boundary probabilities of the word types.
        crossing_penalty: cost of an occurrence across a boundary, if one inside a morph adds 1.
        types: True gives all lowercased types equal weight, which their forms and lowercase variants share. False
            weights forms by their counts. Lowercase variants count as occurrences, but not in the frequency of a pair.
        limits: what may be merged.

    Returns:
        The merges, and the words as they are segmented by them. The score of a merge is a number of types, or of
        occurrences if `types` is False; it is 0 for the first merges.
    """
    n_forms = len(forms.counts)
    marked = find_marked_letters(forms.words, forms.counts)
    forms = with_lowercase(forms) if types else forms
    frequencies = (np.arange(len(forms.counts)) < n_forms).astype(np.int64) if types else forms.counts
    type_of = evidence.find(forms.types)[forms.type_of]
    kept = np.nonzero(type_of >= 0)[0]
    weights = form_weights(forms, type_of, evidence.weights)[kept] if types else forms.counts[kept]
    type_of, frequencies = type_of[kept], frequencies[kept]
    words = forms.words.take(kept)
    del forms, kept
    give_back()
    schedule = penalty_schedule(evidence, n_merges, crossing_penalty)
    weights = fitting_weights(words, weights, schedule)
    numbered = SymbolCorpus.from_words(words, np.arange(len(words)), alphabet)  # splits words at other characters
    corpus = replace(numbered, weights=frequencies[numbered.weights])
    weights = weights[numbered.weights]
    boundaries = evidence.boundaries(words, type_of)
    if len(corpus.symbols) < len(boundaries):
        boundaries = boundaries[in_alphabet(words, alphabet)]
    del words, type_of, numbered, frequencies
    give_back()
    graphemes = grapheme_merges(marked, alphabet, n_merges // 2, limits)
    seeds = graphemes + space_merges(corpus, n_merges, marked, graphemes, limits)
    working = WorkingCorpus(corpus)
    working.apply(seeds)
    give_back()

    values = partial(working.lay_out, boundaries, weights)
    learned = learn_morphs(working, values, schedule, n_merges - len(seeds), limits)
    unit = float(UNIT * FORM_UNIT if types else UNIT)
    scores = [score / unit for score in learned.scores]
    return LearnedMerges(seeds, [0.0] * len(seeds)).followed_by(replace(learned, scores=scores)), working


def learn_morphs(
    working: WorkingCorpus,
    values: Callable[[PositionScores], Longs],
    schedule: Iterable[tuple[int, float]],
    n_merges: int,
    limits: MergeLimits,
) -> LearnedMerges:
    """Merge pairs in the order of their morph scores, with one crossing penalty after another.

    Args:
        working: the words, which are changed in place.
        values: computes the score of each cell from a function of scores, as `WorkingCorpus.lay_out` does.
        schedule: for each stage, the maximum number of merges and the crossing penalty.
        n_merges: maximum number of merges in all stages.
        limits: what may be merged.
    """
    stages = [(most, partial(values, partial(morph_scores, crossing_penalty=penalty))) for most, penalty in schedule]
    return working.learn_in_stages(stages, n_merges, limits, title="morph merges")


SCALE = 256
"""Score of one saved token in a composition; scores are whole numbers."""

DISCOUNTS = (1.0, 0.5, 0.25, 0.125, 0.0)
"""Factors by which the penalty is multiplied, one after another.

When no composition has a score of at least one saved token any more, the penalty is multiplied by the next factor. This
ends when the vocabulary is full.
"""


def penalized_boundaries(evidence: Evidence, pretokens: CodePoints, type_of: Ints | None = None) -> Doubles:
    """Return the boundary probabilities of pre-tokens, multiplied by the relative penalty of their type.

    In words of the group of code, boundaries count only at capitals and after underscores. For words that belong to
    code in part, this applies in proportion.

    Args:
        evidence: boundary probabilities of the word types.
        pretokens: the pre-tokens.
        type_of: ``evidence.types_of(pretokens)`` if it is known, which saves time.

    Returns:
        float64, one for each character of all pre-tokens: the boundary after it.
    """
    type_of = evidence.types_of(pretokens) if type_of is None else type_of
    penalized = evidence
    if evidence.in_code is not None:
        within = np.repeat(1 - evidence.in_code, np.diff(evidence.starts))
        penalized = replace(evidence, probabilities=evidence.probabilities * within)
    found = penalized.boundaries(pretokens, type_of)
    if evidence.penalties is not None:
        penalty = np.where(type_of >= 0, evidence.penalties[np.maximum(type_of, 0)], 1.0)
        found *= np.repeat(penalty, np.diff(pretokens.starts))
    if evidence.in_code is None:
        return found
    places = find_words(pretokens)
    starts = places.text.starts[:-1]
    led = np.nonzero(places.is_word & (places.begins > starts) & ~places.spaced)[0]
    led = led[places.text.points[starts[led]] != ord("_")]
    found[starts[led]] *= np.where(type_of[led] >= 0, 1 - evidence.in_code[np.maximum(type_of[led], 0)], 1.0)
    return found


def composition_scores(boundaries: Doubles, counts: Longs, penalty: float) -> Longs:
    """Compute the scores of positions for compositions: count - penalty * P(boundary), in units of 1 / SCALE.

    Args:
        boundaries: float64, shape (n,): probability of a boundary at each position.
        counts: int64, shape (n,): how often the word of each position occurs.
        penalty: penalty of a certain boundary, in units of 1 / SCALE.

    Returns:
        int64, shape (n,).
    """
    return SCALE * counts - np.rint(penalty * boundaries).astype(np.int64)


def check_fits(starts: Longs, counts: Longs, scale: int, penalty: float = 0.0) -> None:
    """Raise MwSError unless the scores of all positions of the running text fit into 64 bits.

    Args:
        starts: int64, shape (n_words + 1,): index of the first letter of each word, then the number of letters.
        counts: int64, shape (n_words,): how often each word occurs.
        scale: score of one occurrence.
        penalty: penalty of a boundary, in units of the mean count of a word; every position is counted as a boundary.
    """
    letters = weighted_letter_count(starts, counts)
    mean = float(counts.sum(dtype=np.float64)) / max(1, len(counts))
    needed = scale * (letters + math.ceil(penalty * mean * float(starts[-1] - starts[0])))
    if needed >> SCORE_BITS:
        factor = (needed >> SCORE_BITS) + 1
        raise MwSError(
            f"the words add up to {letters} letters of text, more than fits into 64 bits; divide all counts by "
            f"{factor} or more (merges may differ a little, because words get uppercase variants from "
            f"{LOWERCASE_PER_CAPITAL} occurrences on)"
        )


def learn_compositions(
    words: Sequence[str] | CodePoints, counts: Longs, alphabet: Sequence[str], morphs: Sequence[tuple[str, str]],
    n_merges: int, *, boundaries: Callable[[], Doubles] | None = None,
    hidden_boundary_price: float = DEFAULT_HIDDEN_BOUNDARY_PRICE, limits: MergeLimits = UNLIMITED,
) -> LearnedMerges:  # fmt: skip
    """Learn compositions, which merge frequent neighbors, after the morph merges.

    The score of a pair is the sum over its occurrences of ``count(word) - price * mean_count * P(boundary)``, where
    price is `hidden_boundary_price`. A pair with a score below one saved token is never merged.

    Args:
        words: the distinct words of the running text.
        counts: int64, shape (n_words,): how often each occurs.
        alphabet: the characters that words may contain.
        morphs: the morph merges.
        n_merges: maximum number of compositions.
        boundaries: returns the probability of a boundary after each character of all words. It is called once for each
            factor of the penalty, so that the array does not stay in memory. None means no boundaries.
        hidden_boundary_price: penalty of a certain boundary, in units of the mean count of a word.
        limits: what may be merged.

    Returns:
        The merges. The score of a merge is the number of tokens that it saves minus the penalties, in units of 1 /
        `SCALE`.

    Raises:
        MwSError: the counts do not fit into 64 bits, or `boundaries` returns more or fewer values than characters.
    """
    words = CodePoints.of(words)
    penalty = 0.0 if boundaries is None else hidden_boundary_price
    check_fits(words.starts, np.asarray(counts, np.int64), SCALE, penalty)
    corpus = SymbolCorpus.from_words(words, counts, alphabet)
    kept = in_alphabet(words, alphabet) if penalty else None
    del words
    working = WorkingCorpus(corpus)
    working.apply(morphs)
    give_back()  # the memory of the first phase and of the words

    def values(score: PositionScores) -> Longs:
        if boundaries is None or kept is None:
            return working.lay_out(np.broadcast_to(0.0, len(corpus.symbols)), corpus.weights, score)
        found = boundaries()
        if len(found) != len(kept):
            raise MwSError(f"{len(found)} boundary probabilities for {len(kept)} characters; give one each")
        of_symbols = found if len(corpus.symbols) == len(kept) else found[kept]
        return working.lay_out(of_symbols, corpus.weights, score)

    mean = float(corpus.weights.sum()) / max(1, len(corpus))
    return compose(working, values, penalty * mean, n_merges, limits)


def compose(
    working: WorkingCorpus,
    values: Callable[[PositionScores], Longs],
    penalty: float,
    n_merges: int,
    limits: MergeLimits,
) -> LearnedMerges:
    """Merge pairs in the order of their composition scores, with one penalty after another.

    When no pair has a score of at least one saved token, the penalty falls to the next of `DISCOUNTS`. A pair with a
    lower score is never merged.

    Args:
        working: the words, which are changed in place.
        values: computes the score of each cell from a function of scores, as `WorkingCorpus.lay_out` does.
        penalty: penalty of a certain boundary in the first stage, in occurrences.
        n_merges: maximum number of merges.
        limits: what may be merged.
    """

    def values_at(discount: float) -> Longs:
        return values(partial(composition_scores, penalty=penalty * discount * SCALE))

    stages = [(n_merges, partial(values_at, discount)) for discount in (DISCOUNTS if penalty else (0.0,))]
    return working.learn_in_stages(stages, n_merges, replace(limits, min_value=SCALE), title="frequency merges")
