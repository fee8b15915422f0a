"""The second phase: fill the vocabulary with compositions of frequent neighbours, whole stems and whole words.

Frequency alone would glue morphs back together across every boundary it meets. So each occurrence of a pair is worth
the tokens of running text that it saves, less a price for the boundary that it hides. The price is paid once a word
type. This module finds neither morphs nor boundary evidence.

Compositions pay for all boundaries of the evidence, but in code only for certain ones. Between the capitals and
underscores of identifiers length is what counts, so frequency alone decides there, also whether ``.append`` or
``(self`` becomes one token. With the prices of a language, a training on several languages and code took 8.7 % fewer
bytes a token of Python than BPE; without them it takes 4.8 % fewer (scripts/LOG.md, 2026-11-22).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mws_hf.errors import MwSError
from mws_hf.kernels.arrays import Doubles, Ints, Longs
from mws_hf.kernels.threads import give_back
from mws_hf.learn.contextual import Evidence
from mws_hf.learn.engine.segmentation import Segmentation
from mws_hf.learn.evidence.forms import find_words
from mws_hf.learn.settings import DEFAULT_HIDDEN_BOUNDARY_PRICE
from mws_hf.learn.words import UNLIMITED, CodePoints, LearnedMerges, MergeLimits, SymbolCorpus, in_alphabet
from mws_hf.learn.worth import SCALE, Cells, SymbolCells, check_fits, composition_worth


def priced_boundaries(evidence: Evidence, pretokens: CodePoints, type_of: Ints | None = None) -> Doubles:
    """Return the boundary posteriors of pre-tokens, multiplied by the price of their type.

    A word that belongs to the group of code has by this share boundaries only at capitals and behind underscores.

    Args:
        evidence: boundary evidence with its prices.
        pretokens: any pre-tokens.
        type_of: int32, from ``evidence.types_of(pretokens)``, if it is known; saves time.

    Returns:
        float64, shape (n_characters,): priced probability of a boundary after each character.

    >>> known = Evidence(CodePoints.of(["ab"]), np.array([.5, 0]), in_code=np.array([1.0]))
    >>> priced_boundaries(known, CodePoints.of(["ab", "aB", "_ab", ".ab"])).tolist()
    [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    if evidence.in_code is None:
        return evidence.boundaries(pretokens, type_of, priced=True)
    type_of = evidence.types_of(pretokens) if type_of is None else type_of
    within = np.repeat(1 - evidence.in_code, np.diff(evidence.starts))
    weaker = replace(evidence, probabilities=evidence.probabilities * within)
    found = weaker.boundaries(pretokens, type_of, priced=True)
    places = find_words(pretokens)
    starts = places.text.starts[:-1]
    led = np.nonzero(places.is_word & (places.begins > starts) & ~places.spaced)[0]
    led = led[places.text.points[starts[led]] != ord("_")]
    found[starts[led]] *= np.where(type_of[led] >= 0, 1 - evidence.in_code[np.maximum(type_of[led], 0)], 1.0)
    return found


DISCOUNTS = (1.0, 0.5, 0.25, 0.125, 0.0)
"""Factors of the price, one after another: where no composition is worth its price, the price falls, until the
vocabulary is filled."""


@dataclass(frozen=True)
class PricedWords:
    """Words, and what a boundary in them costs; from `price_words`.

    Attributes:
        corpus: the words, weighted by their frequency in running text.
        boundaries: gives float64, shape (n_symbols,): probability of a boundary after each symbol; None: none.
        price: of a certain boundary, in occurrences.
    """

    corpus: SymbolCorpus
    boundaries: Callable[[], Doubles] | None = None
    price: float = 0.0


def price_words(
    words: Sequence[str] | CodePoints, counts: Longs, alphabet: Sequence[str],
    boundaries: Callable[[], Doubles] | None = None, hidden_boundary_price: float = DEFAULT_HIDDEN_BOUNDARY_PRICE,
) -> PricedWords:  # fmt: skip
    """Prepare words for `learn_compositions`; no merge is needed for it.

    Args:
        words: distinct pre-tokens.
        counts: int64, shape (n_words,), their frequencies in running text.
        alphabet: the characters that are tokens.
        boundaries: gives float64, shape (n_characters,): probability of a boundary after each character of all words.
            It is called for each factor of the price, so that the array need not be kept. None: no boundaries.
        hidden_boundary_price: see `settings.DEFAULT_HIDDEN_BOUNDARY_PRICE`.

    Raises:
        MwSError: the counts are too large to be weighed; or later, where `boundaries` gives a wrong number of them.
    """
    words = CodePoints.of(words)
    price = 0.0 if boundaries is None else hidden_boundary_price
    check_fits(words.starts, np.asarray(counts, np.int64), SCALE, price)
    corpus = SymbolCorpus.from_words(words, counts, alphabet)
    if boundaries is None or price == 0:
        return PricedWords(corpus)
    kept = in_alphabet(words, alphabet)
    mean = float(corpus.weights.sum()) / max(1, len(corpus))
    del words

    def of_symbols() -> Doubles:
        found = boundaries()
        if len(found) != len(kept):
            raise MwSError(f"{len(found)} boundary probabilities for {len(kept)} characters; give one each")
        return found if len(corpus.symbols) == len(kept) else found[kept]

    return PricedWords(corpus, of_symbols, hidden_boundary_price * mean)


def learn_compositions(
    words: PricedWords, morphs: Sequence[tuple[str, str]], n_merges: int, *, known: Segmentation | None = None,
    limits: MergeLimits = UNLIMITED,
) -> LearnedMerges:  # fmt: skip
    """Merge frequent neighbours on top of the morph merges.

    The value of a pair is the sum over its occurrences of ``count(word) - price * mean_count * P(boundary)``. When no
    pair has a positive value, the price falls to the next of `DISCOUNTS`, until `n_merges` are found.

    Args:
        words: from `price_words`.
        morphs: the merges of the first phase, applied first.
        n_merges: how many merges are wanted.
        known: words cut by `morphs` already, to be copied instead of cut again, and then let go; it only saves time.
        limits: conditions that pairs must meet. A pair that saves less than one occurrence is never merged.

    >>> words = price_words([" walk", " walked", " talked"], np.array([9, 1, 1]), sorted(set(" walkedt")))
    >>> learn_compositions(words, [(" ", "w"), ("e", "d")], 3).merges
    [('a', 'l'), ('al', 'k'), (' w', 'alk')]
    """
    segmentation = Segmentation(words.corpus) if known is None else Segmentation.continued(words.corpus, known, morphs)
    if known is None:
        segmentation.apply(morphs)
    give_back()  # what the first phase and the words took
    cells = SymbolCells(segmentation, words.corpus)
    return compose(cells, words.boundaries, words.corpus.weights, words.price, n_merges, limits)


def compose(
    cells: Cells, boundaries: Callable[[], Doubles] | None, counts: Longs, price: float, n_merges: int,
    limits: MergeLimits,
) -> LearnedMerges:  # fmt: skip
    """Merge pairs by their worth to compositions, at one price after another.

    Args:
        cells: words, changed in place.
        boundaries: gives float64, shape (n_characters,): probability of a boundary after each character of the words,
            once for each price. None: there are no boundaries, and each cell is worth the weight of its word.
        counts: int64, shape (n_words,), how often each word occurs in running text.
        price: of a certain boundary, in occurrences.
        n_merges: how many merges are wanted.
        limits: conditions that pairs must meet. A pair that saves less than one occurrence is never merged.
    """
    title = "compositions"
    if boundaries is None:
        return cells.segmentation.learn_in_turns([(n_merges, lambda: None)], n_merges, limits, title=title)

    def values(discount: float) -> Longs:
        return cells.values(boundaries(), counts, partial(composition_worth, price=price * discount * SCALE))

    discounts = DISCOUNTS if price else (0.0,)
    limits = replace(limits, min_value=SCALE)
    turns = [(n_merges, partial(values, discount)) for discount in discounts]
    return cells.segmentation.learn_in_turns(turns, n_merges, limits, title=title)
