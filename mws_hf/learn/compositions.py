"""The second phase: fill the vocabulary with compositions of frequent neighbours, whole stems and whole words.

Frequency alone would glue morphs back together across every boundary it meets. So each occurrence of a pair is worth
the tokens of running text that it saves, less a price for the boundary that it hides. The price is paid once a word
type. This module finds neither morphs nor boundary evidence.

Compositions pay for all boundaries of the evidence, but in code only for certain ones. Between the capitals and
underscores of identifiers length is what counts, so frequency alone decides there, also whether ``.append`` or
``(self`` becomes one token. With the prices of a language, a training on several languages and code took 8.7 % fewer
bytes a token of Python than BPE; without them it takes 4.8 % fewer (scripts/log, 2026-11-22).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from mws_hf.errors import MwSError
from mws_hf.kernels import Doubles, Ints, Longs
from mws_hf.kernels.threads import give_back
from mws_hf.learn.evidence.forms import find_words
from mws_hf.learn.evidence.posteriors import Evidence
from mws_hf.learn.limits import UNLIMITED, LearnedMerges, MergeLimits
from mws_hf.learn.settings import DEFAULT_HIDDEN_BOUNDARY_PRICE
from mws_hf.learn.words import (
    BITS,
    CodePoints,
    SymbolCorpus,
    concatenated,
    find_among,
    in_alphabet,
    letters_weighed,
)
from mws_hf.learn.working_corpus import WorkingCorpus, Worth

SCALE = 256
"""Units in which one occurrence is counted."""

DISCOUNTS = (1.0, 0.5, 0.25, 0.125, 0.0)
"""Factors of the price, one after another: where no composition is worth its price, the price falls, until the
vocabulary is filled."""

SHARE = 500
"""Occurrences in small letters for which a word counts once in capitals."""


def with_capitals(words: CodePoints, counts: Longs) -> tuple[CodePoints, Longs]:
    """Give each word that occurs `SHARE` times and more in small letters an upper-case variant; new words come last.

    Running text has few words in capitals, so a vocabulary learnt from it cuts a headline into many tokens. One
    occurrence in capitals for every `SHARE` in small letters mends this for 30 to 300 entries (scripts/log,
    2026-11-23). Words with one capital at the head get no variant: they would make text 1.9 % longer. A word whose
    upper-case variant is longer, such as one with "ß", gets none either.

    >>> words, counts = with_capitals(CodePoints.of([" ab", " AB", " Cd", " cd"]), np.array([1000, 3, 900, 500]))
    >>> words.strings(), counts.tolist()
    ([' ab', ' AB', ' Cd', ' cd', ' CD'], [1000, 5, 900, 500, 1])
    """
    often = np.nonzero(counts >= SHARE)[0]
    variants: dict[str, int] = {}
    for word, count in zip(words.take(often).strings(), counts[often].tolist(), strict=True):
        variant = word.upper()
        if word == word.lower() and variant != word and len(variant) == len(word):
            variants[variant] = variants.get(variant, 0) + count // SHARE
    if not variants:
        return words, counts
    added, times = CodePoints.of(list(variants)), np.fromiter(variants.values(), np.int64, len(variants))
    found = find_among(added, words)
    known = found >= 0
    counts = counts.astype(np.int64)  # a copy
    counts[found[known]] += times[known]
    return concatenated([words, added.take(np.nonzero(~known)[0])]), np.concatenate([counts, times[~known]])


def priced_boundaries(evidence: Evidence, pretokens: CodePoints, type_of: Ints | None = None) -> Doubles:
    """Return the boundary posteriors of pre-tokens, multiplied by the price of their type.

    A word that belongs to the group of code has by this share boundaries only at capitals and after underscores.
    `type_of`, from ``evidence.types_of(pretokens)``, saves time where it is known.
    """
    type_of = evidence.types_of(pretokens) if type_of is None else type_of
    paid = evidence
    if evidence.in_code is not None:
        within = np.repeat(1 - evidence.in_code, np.diff(evidence.starts))
        paid = replace(evidence, probabilities=evidence.probabilities * within)
    found = paid.boundaries(pretokens, type_of)
    if evidence.prices is not None:
        price = np.where(type_of >= 0, evidence.prices[np.maximum(type_of, 0)], 1.0)
        found *= np.repeat(price, np.diff(pretokens.starts))
    if evidence.in_code is None:
        return found
    places = find_words(pretokens)
    starts = places.text.starts[:-1]
    led = np.nonzero(places.is_word & (places.begins > starts) & ~places.spaced)[0]
    led = led[places.text.points[starts[led]] != ord("_")]
    found[starts[led]] *= np.where(type_of[led] >= 0, 1 - evidence.in_code[np.maximum(type_of[led], 0)], 1.0)
    return found


def composition_worth(boundaries: Doubles, counts: Longs, price: float) -> Longs:
    """Work out what positions are worth to compositions: count - price * P(boundary); worth and price in 1 / SCALE."""
    return SCALE * counts - np.rint(price * boundaries).astype(np.int64)


def check_fits(starts: Longs, counts: Longs, scale: int, price: float = 0.0) -> None:
    """Check that 64 bits hold the worth of all positions of the running text, each at the price of a certain boundary.

    `scale` are the units of an occurrence; `price` is in units of the mean count of a word.
    """
    letters = letters_weighed(starts, counts)
    mean = float(counts.sum(dtype=np.float64)) / max(1, len(counts))
    needed = scale * (letters + math.ceil(price * mean * float(starts[-1] - starts[0])))
    if needed >> BITS:
        factor = (needed >> BITS) + 1
        raise MwSError(
            f"the words add up to {letters} letters of text, more than can be weighed; divide all counts by {factor} "
            "or more (the merges may differ a little: capitals count from so many occurrences on)"
        )


def learn_compositions(
    words: Sequence[str] | CodePoints, counts: Longs, alphabet: Sequence[str], morphs: Sequence[tuple[str, str]],
    n_merges: int, *, boundaries: Callable[[], Doubles] | None = None,
    hidden_boundary_price: float = DEFAULT_HIDDEN_BOUNDARY_PRICE, limits: MergeLimits = UNLIMITED,
) -> LearnedMerges:  # fmt: skip
    """Merge frequent neighbours on top of the morph merges.

    The value of a pair is the sum over its occurrences of ``count(word) - price * mean_count * P(boundary)``. A pair
    that saves less than one occurrence is never merged.

    `boundaries` gives the probability of a boundary after each character of all words. It is called for each factor of
    the price, so that the array need not be kept. None: no boundaries.
    """
    words = CodePoints.of(words)
    price = 0.0 if boundaries is None else hidden_boundary_price
    check_fits(words.starts, np.asarray(counts, np.int64), SCALE, price)
    corpus = SymbolCorpus.from_words(words, counts, alphabet)
    kept = in_alphabet(words, alphabet) if price else None
    del words
    working = WorkingCorpus(corpus)
    working.apply(morphs)
    give_back()  # what the first phase and the words took

    def values(worth: Worth) -> Longs:
        if boundaries is None or kept is None:
            return working.lay_out(np.broadcast_to(0.0, len(corpus.symbols)), corpus.weights, worth)
        found = boundaries()
        if len(found) != len(kept):
            raise MwSError(f"{len(found)} boundary probabilities for {len(kept)} characters; give one each")
        of_symbols = found if len(corpus.symbols) == len(kept) else found[kept]
        return working.lay_out(of_symbols, corpus.weights, worth)

    mean = float(corpus.weights.sum()) / max(1, len(corpus))
    return compose(working, values, price * mean, n_merges, limits)


def compose(
    working: WorkingCorpus, values: Callable[[Worth], Longs], price: float, n_merges: int, limits: MergeLimits
) -> LearnedMerges:
    """Merge pairs by their worth to compositions, at one price after another, until `n_merges` are found.

    `values` lays worth out by cell (`WorkingCorpus.lay_out`); `price` is that of a certain boundary at first, in
    occurrences. When no pair has a positive value, it falls to the next of `DISCOUNTS`. A pair that saves less than one
    occurrence is never merged.
    """

    def at_price(discount: float) -> Longs:
        return values(partial(composition_worth, price=price * discount * SCALE))

    turns = [(n_merges, partial(at_price, discount)) for discount in (DISCOUNTS if price else (0.0,))]
    return working.learn_in_turns(turns, n_merges, replace(limits, min_value=SCALE), title="compositions")
