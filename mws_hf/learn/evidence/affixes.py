"""The affix view, for short lists: a second lexicon of prefixes, stems and suffixes, started from given cuts.

The lexicon view starts from all substrings and pays for each; in a short list too few repay their spelling. Here the
entries are the pieces of words that are cut already: the longest piece of a word is its stem. Expectation maximisation
goes on from there, over all ways to write each word. An unknown stem is spelled by a letter model of the stems found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mws_hf.kernels.arithmetic import column_sums, log_odds
from mws_hf.kernels.arrays import Bytes, Doubles, Floats, Ints, Longs, Mask
from mws_hf.kernels.jit import njit
from mws_hf.kernels.threads import ThreadPool
from mws_hf.learn.evidence.expectation import Moves, expect, maximise
from mws_hf.learn.evidence.kernels import PREFIX, STEM, SUFFIX, Arcs, StemSpelling, WordModel, drop_arcs
from mws_hf.learn.evidence.settings import EvidenceSettings
from mws_hf.learn.evidence.substrings import Lattice
from mws_hf.learn.evidence.trigrams import Trigrams, fit_trigrams, spell_stems
from mws_hf.learn.words import CodePoints, SymbolCorpus, cut_out, distinct

OTHER_CLASS = 0.1
"""Uses that an entry found in one class has in each of the others, before the first step."""

_LEAST_PROBABILITY = 1e-4
"""Cut probabilities are kept this far from 0 and 1 before their log-odds are taken."""


class AffixModel(NamedTuple):
    """Fitted affix view.

    Attributes:
        p: float64, shape (n_entries, 3), probability of each entry of a lattice in each class; 0 for entries not found.
        moves: probabilities of going from class to class.
        trigrams: the letter model of unknown stems.
    """

    p: Doubles
    moves: Moves
    trigrams: Trigrams


def fit_affixes(
    corpus: SymbolCorpus, lattice: Lattice, cut: Mask, settings: EvidenceSettings, pool: ThreadPool,
) -> AffixModel:  # fmt: skip
    """Learn the entries, their classes and the letters of stems from words and first cuts.

    Args:
        corpus: distinct words.
        lattice: their substrings, from `build_lattice`.
        cut: bool, one a symbol: words are cut after it at first.
        settings: of the lexicon; `affix_steps` of maximisation.
        pool: threads; the result does not depend on their number.
    """
    counts, stems = count_pieces(corpus, lattice, cut)
    p = piece_probabilities(counts, lattice.lengths, settings)
    arcs = _found_arcs(lattice, p)
    model = AffixModel(p, Moves.first(), fit_trigrams(corpus, stems))
    posterior = np.empty(len(corpus.symbols), np.float32)
    spelling = _spelling(model, corpus, settings)
    for _ in range(settings.affix_steps):
        full = WordModel(p, *model.moves, 1 - settings.unknown_stems, spelling)
        used, moved = expect(corpus, arcs, full, posterior, pool)
        model = model._replace(moves=maximise(used, moved, lattice.lengths, settings.single_stem, p))
    return model


def affix_log_odds(
    model: AffixModel, corpus: SymbolCorpus, lattice: Lattice, settings: EvidenceSettings, pool: ThreadPool,
) -> Floats:  # fmt: skip
    """Compute the log-odds of a cut after each symbol of words, those that the model was fitted to or others.

    Args:
        model: from `fit_affixes`.
        corpus: words over the same alphabet.
        lattice: their substrings, where the entries of the model keep their numbers.
        settings: as in the fit.
        pool: threads; the result does not depend on their number.

    Returns:
        float32, one a symbol.
    """
    posterior = np.empty(len(corpus.symbols), np.float32)
    full = WordModel(model.p, *model.moves, 1 - settings.unknown_stems, _spelling(model, corpus, settings))
    expect(corpus, _found_arcs(lattice, model.p), full, posterior, pool)
    return log_odds(posterior, _LEAST_PROBABILITY)


def _spelling(model: AffixModel, corpus: SymbolCorpus, settings: EvidenceSettings) -> StemSpelling:
    """Spell stems of 2 to `max_unknown_stem` symbols, all lengths with one factor: the letter model has the end."""
    lengths = np.full(settings.max_unknown_stem + 1, settings.unknown_stems)
    lengths[:2] = 0
    return StemSpelling(lengths, *spell_stems(model.trigrams, corpus))


def _found_arcs(lattice: Lattice, p: Doubles) -> Arcs:
    """Select the arcs of the entries that have a probability; the entries keep their numbers."""
    number = np.where((p > 0).any(1), np.arange(len(p)), -1).astype(np.int32)
    rows, entries, spans = lattice.rows.copy(), lattice.entries.copy(), lattice.spans.copy()
    left = drop_arcs(rows, entries, spans, number)
    return Arcs(rows, entries[:left].copy(), spans[:left].copy())


def piece_probabilities(counts: Longs, lengths: Bytes, settings: EvidenceSettings) -> Doubles:
    """Compute the probability of each entry in each class before the first step; 0 for entries that are no piece."""
    weights = counts + OTHER_CLASS * (counts.sum(1) > 0)[:, None]
    weights[lengths > settings.max_prefix, PREFIX] = 0
    weights[lengths > settings.max_suffix, SUFFIX] = 0
    weights /= np.maximum(column_sums(weights), 1e-9)
    weights[lengths == 1, STEM] = settings.single_stem
    return weights


def count_pieces(corpus: SymbolCorpus, lattice: Lattice, cut: Mask) -> tuple[Longs, CodePoints]:
    """Count the pieces of words by class, and list the distinct stems of two symbols or more.

    A word's longest piece, the first of equal ones, is its stem; pieces before it are prefixes, pieces behind it
    suffixes.

    Returns:
        int64, shape (n_entries, 3), how often each entry of the lattice is a piece; the stems, in symbols.
    """
    counts = np.zeros((len(lattice.first), 3), np.int64)
    begins, ends = np.empty(len(corpus), np.int64), np.empty(len(corpus), np.int64)
    _count_pieces(corpus.starts, cut, lattice.rows, lattice.entries, lattice.spans, counts, begins, ends)
    long = ends - begins > 1
    stems = cut_out(corpus.symbols, begins[long], ends[long])
    return counts, stems.take(distinct(stems).first)


@njit(nogil=True)
def _count_pieces(
    starts: Longs, cut: Mask, rows: Ints, entries: Ints, spans: Bytes, counts: Longs,
    begins: Longs, ends: Longs,
) -> None:  # fmt: skip
    """Write where each word's stem begins and ends, then count its pieces."""
    for w in range(len(starts) - 1):
        start, end = starts[w], starts[w + 1]
        begins[w] = ends[w] = begin = start
        for i in range(start, end):
            if cut[i] or i + 1 == end:
                if i + 1 - begin > ends[w] - begins[w]:
                    begins[w], ends[w] = begin, i + 1
                begin = i + 1
        begin = start
        for i in range(start, end):
            if cut[i] or i + 1 == end:
                kind = PREFIX if begin < begins[w] else (STEM if begin == begins[w] else SUFFIX)
                for e in range(rows[begin], rows[begin + 1]):
                    if spans[e] == i + 1 - begin:
                        counts[entries[e], kind] += 1
                begin = i + 1
