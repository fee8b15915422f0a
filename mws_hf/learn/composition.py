"""The second phase: fill the vocabulary with compositions of frequent neighbours, whole stems and whole words.

Frequency alone would glue morphs back together across every boundary it meets. So each occurrence of a pair is worth
the tokens of running text it saves, less a price for the boundary it hides, paid once a word type. This module
finds neither morphs nor boundary evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mws_hf.errors import MwSError
from mws_hf.kernels.arrays import Doubles, Longs, Mask
from mws_hf.kernels.jit import njit
from mws_hf.kernels.memory import give_back
from mws_hf.kernels.threads import in_parts
from mws_hf.learn.engine.segmentation import Segmentation
from mws_hf.learn.limits import SCALE, check_fits
from mws_hf.learn.settings import DEFAULT_HIDDEN_BOUNDARY_PRICE
from mws_hf.learn.words import CodePoints, LearnedMerges, SymbolCorpus, numbering

_DISCOUNTS = (1.0, 0.5, 0.25, 0.125, 0.0)
"""Where no composition is worth its price, the price falls by these factors, so that the vocabulary is filled."""


@dataclass(frozen=True)
class PricedWords:
    """Words and what their positions are worth to compositions; from `price_words`.

    Attributes:
        corpus: the words, weighted by their frequency in running text.
        values: gives the worth of each position by cell (see learn/engine/pairs.py) at a share of the price, int64, in
            1 / `unit` of an occurrence; None where each is worth its word's weight. A wrong number of boundaries is a
            MwSError.
        unit: least sum that is worth an occurrence.
    """

    corpus: SymbolCorpus
    values: Callable[[float], Longs | None]
    unit: int = 1


def price_words(
    words: Sequence[str] | CodePoints, counts: Longs, alphabet: Sequence[str],
    boundaries: Callable[[], Doubles] | None = None, hidden_boundary_price: float = DEFAULT_HIDDEN_BOUNDARY_PRICE,
) -> PricedWords:  # fmt: skip
    """Get words ready for `learn_compositions`; no merge is needed for it.

    Args:
        words: distinct pre-tokens.
        counts: int64, shape (n_words,), their frequencies in running text.
        alphabet: the characters that are tokens.
        boundaries: gives, anew for each price so that it need not be kept, float64, shape (characters of all words,):
            probability of a boundary after each character. None: 0.
        hidden_boundary_price: see `settings.DEFAULT_HIDDEN_BOUNDARY_PRICE`.

    Raises:
        MwSError: the counts are too large to be weighed.
    """
    words = CodePoints.of(words)
    price = 0.0 if boundaries is None else hidden_boundary_price
    check_fits(words.starts, np.asarray(counts, np.int64), SCALE, price)
    corpus = SymbolCorpus.from_words(words, counts, alphabet)
    if boundaries is None or price == 0:
        return PricedWords(corpus, lambda _: None)
    kept = numbering(alphabet)[1][words.points] >= 0
    del words
    return PricedWords(
        corpus, lambda share: _cell_values(corpus, kept, boundaries(), hidden_boundary_price * share), SCALE
    )


def learn_compositions(
    words: PricedWords, morphs: Sequence[tuple[str, str]], n_merges: int, *, known: Segmentation | None = None,
    min_frequency: int = 0, max_token_length: int | None = None, forbidden: frozenset[str] = frozenset(),
    show_progress: bool = False,
) -> LearnedMerges:  # fmt: skip
    """Merge frequent neighbours on top of the morph merges.

    A pair's score is the sum over its occurrences of ``count(word) - price * mean_count * P(boundary)``. When no pair
    has a positive score, the price is lowered by steps (`_DISCOUNTS`), last to 0, until `n_merges` are found.

    Args:
        words: from `price_words`.
        morphs: the merges of the first phase, applied first.
        n_merges: how many merges are wanted.
        known: words cut by `morphs` already, to be copied instead of cut again and then let go; only saves time.
        min_frequency: least frequency of a pair, in occurrences weighted by counts; a score below 1 is never enough.
        max_token_length: longest product in characters.
        forbidden: strings that must not become tokens.
        show_progress: a bar on stderr when it is a terminal.

    >>> words = price_words([" walk", " walked", " talked"], np.array([9, 1, 1]), sorted(set(" walkedt")))
    >>> learn_compositions(words, [(" ", "w"), ("e", "d")], 3).merges
    [('a', 'l'), ('al', 'k'), (' w', 'alk')]
    """
    corpus = words.corpus
    segmentation = Segmentation(corpus) if known is None else Segmentation.continued(corpus, known, morphs)
    if known is None:
        segmentation.apply(morphs)
    give_back()  # what the first phase and the words took
    found = LearnedMerges([])
    for share in _DISCOUNTS:
        values = words.values(share)
        more = segmentation.learn(
            values,
            n_merges - len(found.merges),
            min_value=words.unit,
            min_frequency=min_frequency,
            max_token_length=max_token_length,
            forbidden=forbidden,
            show_progress=show_progress,
            title="compositions",
        )
        found = LearnedMerges(found.merges + more.merges, found.scores + more.scores, more.exhausted)
        if len(found.merges) >= n_merges or values is None:
            break
        del values
    return found


def _cell_values(corpus: SymbolCorpus, kept: Mask, boundaries: Doubles, hidden_boundary_price: float) -> Longs:
    """Worth of the position after each cell (see learn/engine/pairs.py), in 1 / SCALE of an occurrence.

    Args:
        corpus: the words.
        kept: of all characters, those that are symbols of the corpus.
        boundaries: probability of a boundary after each character.
        hidden_boundary_price: see `settings.DEFAULT_HIDDEN_BOUNDARY_PRICE`.

    Raises:
        MwSError: `boundaries` has not one value a character.
    """
    if len(boundaries) != len(kept):
        raise MwSError(f"{len(boundaries)} boundary probabilities for {len(kept)} characters; give one each")
    starts, weights = corpus.starts, corpus.weights
    values = np.zeros(len(corpus.symbols) + len(corpus) + 1, np.int64)
    price = hidden_boundary_price * (float(weights.sum()) / max(1, len(corpus))) * SCALE

    def fill(a: int, b: int) -> None:
        _fill_values(starts[a : b + 1], weights[a:b], kept, boundaries, price, values[a:])

    if len(corpus.symbols) == len(kept):
        in_parts(fill, len(corpus))
    else:  # how many characters before a word are left out is not known
        fill(0, len(corpus))
    return values


@njit(nogil=True)
def _fill_values(starts: Longs, weights: Longs, kept: Mask, boundaries: Doubles, price: float, values: Longs) -> None:
    """Each word's weight, less the price of the boundary after each of its characters."""
    character = starts[0]
    for w in range(len(weights)):
        for i in range(starts[w], starts[w + 1]):
            while not kept[character]:
                character += 1
            values[i + w + 1] = weights[w] * SCALE - np.int64(np.rint(price * boundaries[character]))
            character += 1
