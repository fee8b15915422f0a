"""The second phase: fill the vocabulary with compositions of frequent neighbours, whole stems and whole words.

Frequency alone would glue morphs back together across every boundary it meets. So each occurrence of a pair is worth
the tokens of running text it saves, less a price for the boundary it hides, paid once a word type. This module
finds neither morphs nor boundary evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from mws_hf.errors import MwSError
from mws_hf.kernels.jit import njit
from mws_hf.kernels.memory import give_back
from mws_hf.learn.engine.segmentation import Segmentation
from mws_hf.learn.settings import DEFAULT_HIDDEN_BOUNDARY_PRICE
from mws_hf.learn.words import CodePoints, LearnedMerges, SymbolCorpus, numbering

_DISCOUNTS = (1.0, 0.5, 0.25, 0.125, 0.0)
"""Where no composition is worth its price, the price falls by these factors, so that the vocabulary is filled."""

_SCALE = 256


def learn_compositions(
    words: Sequence[str] | CodePoints, counts: npt.NDArray[np.int64], alphabet: Sequence[str],
    morphs: Sequence[tuple[str, str]], n_merges: int, *, known: Segmentation | None = None,
    boundaries: Callable[[], npt.NDArray[np.float64]] | None = None,
    hidden_boundary_price: float = DEFAULT_HIDDEN_BOUNDARY_PRICE,
    min_frequency: int = 0, max_token_length: int | None = None, forbidden: frozenset[str] = frozenset(),
    show_progress: bool = False,
) -> LearnedMerges:  # fmt: skip
    """Merge frequent neighbours on top of the morph merges.

    A pair's score is the sum over its occurrences of ``count(word) - price * mean_count * P(boundary)``. When no pair
    has a positive score, the price is lowered by steps (`_DISCOUNTS`), last to 0, until `n_merges` are found.

    Args:
        words: distinct pre-tokens.
        counts: int64, shape (n_words,), their frequencies in running text.
        alphabet: the characters that are tokens.
        morphs: the merges of the first phase, applied first.
        n_merges: how many merges are wanted.
        known: words cut by `morphs` already, to be copied instead of cut again and then let go; only saves time.
        boundaries: gives, anew for each price so that it need not be kept, float64, shape (characters of all words,):
            probability of a boundary after each character. None: 0.
        hidden_boundary_price: see `settings.DEFAULT_HIDDEN_BOUNDARY_PRICE`.
        min_frequency: least frequency of a pair, in occurrences weighted by `counts`; a score below 1 is never enough.
        max_token_length: longest product in characters.
        forbidden: strings that must not become tokens.
        show_progress: a bar on stderr when it is a terminal.

    Raises:
        MwSError: `boundaries` does not give one value a character.

    >>> words, counts = [" walk", " walked", " talked"], np.array([9, 1, 1])
    >>> learn_compositions(words, counts, sorted(set(" walkedt")), [(" ", "w"), ("e", "d")], 3).merges
    [('a', 'l'), ('al', 'k'), (' w', 'alk')]
    """
    words = CodePoints.of(words)
    corpus, kept = SymbolCorpus.from_words(words, counts, alphabet), numbering(alphabet)[1][words.points] >= 0
    del words
    segmentation = Segmentation(corpus) if known is None else Segmentation.continued(corpus, known, morphs)
    if known is None:
        segmentation.apply(morphs)
    corpus = segmentation.corpus
    give_back()  # what the first phase and the words took
    plain = boundaries is None or hidden_boundary_price == 0  # then a word's weight is the worth of all its positions
    found = LearnedMerges([])
    for discount in _DISCOUNTS:
        price = hidden_boundary_price * discount
        more = segmentation.learn(
            None if boundaries is None or plain else _cell_values(corpus, kept, boundaries(), price),
            n_merges - len(found.merges),
            min_value=1 if plain else _SCALE,
            min_frequency=min_frequency,
            max_token_length=max_token_length,
            forbidden=forbidden,
            show_progress=show_progress,
            title="compositions",
        )
        found = LearnedMerges(found.merges + more.merges, found.scores + more.scores, more.exhausted)
        if len(found.merges) >= n_merges or plain:
            break
    return found


def _cell_values(
    corpus: SymbolCorpus, kept: npt.NDArray[np.bool_], boundaries: npt.NDArray[np.float64], hidden_boundary_price: float
) -> npt.NDArray[np.int64]:
    """Worth of the position after each cell (see learn/engine/pairs.py), int64, in 1/256 of an occurrence.

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
    values = np.zeros(len(corpus.symbols) + len(corpus) + 1, np.int64)
    mean = float(corpus.weights.sum()) / max(1, len(corpus))
    _fill_values(corpus.starts, corpus.weights, kept, boundaries, hidden_boundary_price * mean * _SCALE, values)
    del boundaries
    give_back()
    return values


@njit(nogil=True)
def _fill_values(
    starts: npt.NDArray[np.int64], weights: npt.NDArray[np.int64], kept: npt.NDArray[np.bool_],
    boundaries: npt.NDArray[np.float64], price: float, values: npt.NDArray[np.int64],
) -> None:  # fmt: skip
    """Each word's weight, less the price of the boundary after each of its characters."""
    character = 0
    for w in range(len(weights)):
        for i in range(starts[w], starts[w + 1]):
            while not kept[character]:
                character += 1
            values[i + w + 1] = weights[w] * _SCALE - np.int64(np.rint(price * boundaries[character]))
            character += 1
