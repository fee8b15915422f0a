"""The second phase: fill the vocabulary with compositions of frequent neighbours, whole stems and whole words.

Frequency alone would glue morphs back together across every boundary it meets. So each occurrence of a pair is worth
the tokens of running text it saves, less a price for the boundary it buries, paid once a word type. This module
finds neither morphs nor boundary evidence.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mws_hf.errors import MwSError
from mws_hf.jit import njit
from mws_hf.learn.engine import Segmentation
from mws_hf.learn.spelling import Spelled, numbering, symbol_corpus
from mws_hf.learn.symbols import Learnt, SymbolCorpus

DEFAULT_COMPOSITION = 0.5
"""Share of the merges given to compositions by the contextual criterion.

Half of 32,000 leaves more morph merges than most lists yield evidence for, and at 8,000 the morph F1 is on its plateau
from 4,000 on (scripts/LOG.md, 2026-11-21).
"""

DEFAULT_BURIAL_COST = 1.0
"""Price of burying one certain boundary of one word type, in units of the mean frequency of a word type.

1 means: a composition must save at least as many tokens as an average type has occurrences for each boundary it hides.
At 32,000 entries this costs 10 % more tokens than BPE and keeps nearly all of the boundary F1 of the morphs; 0 (plain
frequency) is as short as BPE and loses a third of it (scripts/LOG.md, 2026-11-21).
"""

_DISCOUNTS = (1.0, 0.5, 0.25, 0.125, 0.0)
"""Where no composition is worth its price, the price falls by these factors, so that the vocabulary is filled."""

_SCALE = 256


def learn_compositions(
    words: Sequence[str] | Spelled,
    counts: npt.NDArray[np.int64],
    alphabet: Sequence[str],
    morphs: Sequence[tuple[str, str]],
    n_merges: int,
    *,
    known: Segmentation | None = None,
    boundaries: npt.NDArray[np.float64] | None = None,
    burial_cost: float = DEFAULT_BURIAL_COST,
    min_frequency: int = 0,
    max_token_length: int | None = None,
    forbidden: frozenset[str] = frozenset(),
    show_progress: bool = False,
) -> Learnt:
    """Merge frequent neighbours on top of the morph merges.

    A pair's score is the sum over its occurrences of ``count(word) - burial_cost * mean_count * P(boundary)``. When no
    pair has a positive score, the price is lowered by steps (`_DISCOUNTS`), last to 0, until `n_merges` are found.

    Args:
        words: distinct pre-tokens.
        counts: int64, shape (n_words,), their frequencies in running text.
        alphabet: the characters that are tokens.
        morphs: the merges of the first phase, applied first.
        n_merges: how many merges are wanted.
        known: words cut by `morphs` already, to be copied instead of cut again; changes nothing but time.
        boundaries: float64, shape (characters of all words,): probability of a boundary after each character; None: 0.
        burial_cost: see `DEFAULT_BURIAL_COST`.
        min_frequency: least score of a pair, in occurrences.
        max_token_length: longest product in characters.
        forbidden: strings that must not become tokens.
        show_progress: a bar on stderr when it is a terminal.

    Raises:
        MwSError: `boundaries` has not one value a character.

    >>> words, counts = [" walk", " walked", " talked"], np.array([9, 1, 1])
    >>> learn_compositions(words, counts, sorted(set(" walkedt")), [(" ", "w"), ("e", "d")], 3).merges
    [('a', 'l'), ('al', 'k'), (' w', 'alk')]
    """
    words = Spelled.of(words)
    corpus = symbol_corpus(words, counts, alphabet)
    if boundaries is not None and len(words.points) != len(boundaries):
        raise MwSError(f"{len(boundaries)} boundary probabilities for {len(words.points)} characters; give one each")
    if known is None:
        segmentation = Segmentation(corpus)
        segmentation.apply(morphs)
    else:
        segmentation = Segmentation.continued(corpus, known, morphs)
        corpus = segmentation.corpus
    plain = boundaries is None or burial_cost == 0  # then a word's weight is the worth of all its junctions
    found = Learnt([])
    for discount in _DISCOUNTS:
        values = None if plain else _values(words, corpus, boundaries, burial_cost * discount)
        values = segmentation.cell_values(values)  # those by symbol can go
        more = segmentation.learn(
            values,
            n_merges - len(found.merges),
            min_value=max(1, min_frequency) * (1 if plain else _SCALE),
            max_token_length=max_token_length,
            forbidden=forbidden,
            show_progress=show_progress,
        )
        found = Learnt(found.merges + more.merges, found.scores + more.scores, more.exhausted)
        if len(found.merges) >= n_merges or plain:
            break
    return found


def _values(
    words: Spelled, corpus: SymbolCorpus, boundaries: npt.NDArray[np.float64] | None, burial_cost: float
) -> npt.NDArray[np.int64]:
    """Worth of the junction after each symbol, int64, in 1/256 of an occurrence."""
    values = np.repeat(corpus.weights * _SCALE, np.diff(corpus.starts))
    if boundaries is not None and burial_cost != 0 and len(values) > 0:
        mean = float(corpus.weights.sum()) / len(corpus)
        _take_prices(words.points, numbering(corpus.alphabet)[1], boundaries, burial_cost * mean * _SCALE, values)
    return values


@njit(nogil=True)
def _take_prices(
    points: npt.NDArray[np.int32], number: npt.NDArray[np.int32], boundaries: npt.NDArray[np.float64], price: float,
    values: npt.NDArray[np.int64],
) -> None:  # fmt: skip
    """Take the price of the boundary after each character of the alphabet off its value."""
    k = 0
    for i in range(len(points)):
        if number[points[i]] >= 0:
            values[k] -= np.int64(np.rint(price * boundaries[i]))
            k += 1
