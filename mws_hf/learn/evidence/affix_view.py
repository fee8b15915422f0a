"""The affix view: a second lexicon of prefixes, stems and suffixes, built from words that are already split.

The lexicon view begins with all substrings and removes those whose gain is below their price. In a short list, too few
of them remain. Therefore this view begins with the parts of words that are already split, where the longest part of a
word is its stem. EM then re-estimates their probabilities over all ways to write each word. A stem that is not an entry
is spelled out by a letter model, which is learned from the stems that were found.

The letter model predicts each letter from the two before it, and also the end of the stem, with interpolated absolute
discounting (Ney et al. 1994) down to bigrams, letters and the uniform distribution. It is learned from distinct stems,
so that it describes how stems are spelled, whether they are frequent or not. Rare letters share one row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mws_hf.kernels import Bytes, Doubles, Floats, Ints, Longs, Mask
from mws_hf.kernels.arithmetic import column_sums, log_odds
from mws_hf.kernels.jit import njit
from mws_hf.kernels.threads import ThreadPool
from mws_hf.learn.evidence.lexicon import (
    LONGEST_PREFIX,
    LONGEST_SUFFIX,
    SINGLE_STEM,
    UNKNOWN_STEMS,
    Lattice,
    Moves,
    expect,
    maximize,
)
from mws_hf.learn.evidence.lexicon_kernels import PREFIX, STEM, SUFFIX, Arcs, StemSpelling, WordModel, drop_arcs
from mws_hf.learn.words import CodePoints, SymbolCorpus, distinct, slices_as_words

MOST_LETTERS = 80
"""Maximum number of letters that have their own row in the letter model, the most frequent ones. The table grows with
the cube of this number."""

AFFIX_STEPS = 4
"""EM steps of the affix view; with 2 the difference is not significant."""

LONGEST_UNKNOWN_STEM = 15
"""Maximum length of a spelled-out stem, in graphemes."""

DISCOUNT = 0.75
"""Discount of the letter model, in counts."""

_FLOOR = 1e-12
"""Minimum probability in the letter model."""


class Trigrams(NamedTuple):
    """The letter model of stems.

    Attributes:
        letter_of: int32, shape (n_symbols of the alphabet,): the row of each symbol; rare ones share a row.
        share_of: float64, same shape: the share of the symbol in its row.
        table: float64, shape (n_rows, n_rows, n_rows): the probability of z after x and y. The last row stands for the
            start and the end of a stem.
    """

    letter_of: Ints
    share_of: Doubles
    table: Doubles


def fit_trigrams(corpus: SymbolCorpus, stems: CodePoints, most: int = MOST_LETTERS) -> Trigrams:
    """Learn from distinct stems how stems are spelled.

    Args:
        corpus: the words, whose most frequent symbols get their own row.
        stems: distinct stems, with symbols of the corpus instead of code points.
        most: maximum number of symbols that have their own row.
    """
    frequency = np.bincount(corpus.symbols, minlength=len(corpus.alphabet))
    order = np.argsort(-frequency, kind="stable")
    n = min(len(order), most)
    letter_of = np.full(len(order), n, np.int32)
    letter_of[order[:n]] = np.arange(n, dtype=np.int32)
    share_of = np.ones(len(order))
    rare = order[n:]
    share_of[rare] = frequency[rare] / max(int(frequency[rare].sum()), 1)
    edge = n + 1
    counts = np.zeros((edge + 1, edge + 1, edge + 1))
    _add_trigrams(letter_of[stems.points], stems.starts, edge, counts)
    pairs = counts.sum(0)
    single = pairs.sum(0)
    lower = _smoothed(single, np.full(edge + 1, 1 / (edge + 1)))
    return Trigrams(letter_of, share_of, _smoothed(counts, _smoothed(pairs, lower)[None]))


@njit(nogil=True)
def _add_trigrams(letters: Ints, starts: Longs, edge: int, counts: Doubles) -> None:
    for w in range(len(starts) - 1):
        x = y = np.int64(edge)
        for i in range(starts[w], starts[w + 1]):
            z = np.int64(letters[i])
            counts[x, y, z] += 1
            x, y = y, z
        counts[x, y, edge] += 1


def _smoothed(counts: Doubles, lower: Doubles) -> Doubles:
    """Compute probabilities along the last axis; the discounted mass is distributed by `lower`, the shorter context."""
    total = counts.sum(-1, keepdims=True)  # sums of whole numbers, which are the same in any order
    seen = (counts > 0).sum(-1, keepdims=True)
    per = np.maximum(total, 1)
    found: Doubles = np.where(total > 0, np.maximum(counts - DISCOUNT, 0) / per + DISCOUNT * seen / per * lower, lower)
    return found


def spell_stems(trigrams: Trigrams, corpus: SymbolCorpus) -> StemSpelling:
    """Compute the factors with which stems of 2 to `LONGEST_UNKNOWN_STEM` symbols are spelled out.

    All lengths have the same factor, because the letter model predicts the end of a stem. Its other factors are:

    * ``letters``: the probability of each symbol after the two before it; 1 for the first two symbols of a word.
    * ``heads``: the probability that a stem begins with this symbol and the next, divided by the ``letters`` of both.
    * ``ends``: the probability that a stem ends after this symbol and the one before it.
    """
    lengths = np.full(LONGEST_UNKNOWN_STEM + 1, UNKNOWN_STEMS)
    lengths[:2] = 0
    factors = np.ones((3, len(corpus.symbols)))
    letters, shares = trigrams.letter_of[corpus.symbols], trigrams.share_of[corpus.symbols]
    _fill_letters(letters, shares, corpus.starts, trigrams.table, *factors)
    return StemSpelling(lengths, *factors)


@njit(nogil=True)
def _fill_letters(
    symbols: Ints, shares: Doubles, starts: Longs, table: Doubles, letters: Doubles, heads: Doubles, ends: Doubles
) -> None:
    edge = len(table) - 1
    for w in range(len(starts) - 1):
        begin, end = starts[w], starts[w + 1]
        for i in range(begin + 1, end):
            if i > begin + 1:
                letters[i] = max(table[symbols[i - 2], symbols[i - 1], symbols[i]] * shares[i], _FLOOR)
            ends[i] = max(table[symbols[i - 1], symbols[i], edge], _FLOOR)
        for i in range(begin, end - 1):
            first, second = table[edge, edge, symbols[i]] * shares[i], table[edge, symbols[i], symbols[i + 1]]
            heads[i] = max(first * second * shares[i + 1], _FLOOR) / (letters[i] * letters[i + 1])


OTHER_CLASS = 0.1
"""Count that is added in every class, before the first EM step, to each entry that occurs in any class."""

_LEAST_PROBABILITY = 1e-4
"""Minimum distance of boundary probabilities from 0 and 1, before their log-odds are computed."""


class AffixModel(NamedTuple):
    """The fitted affix view.

    Attributes:
        p: float64, shape (n_entries, 3): probability of each entry in each class; 0 for entries that are not used.
        moves: transition probabilities of the classes.
        trigrams: the letter model of stems.
    """

    p: Doubles
    moves: Moves
    trigrams: Trigrams


def fit_affixes(
    corpus: SymbolCorpus, lattice: Lattice, is_split: Mask, pool: ThreadPool,
) -> AffixModel:  # fmt: skip
    """Learn the entries, their classes and the letters of stems from words that are already split.

    Args:
        corpus: the words.
        lattice: all candidates for entries.
        is_split: bool, shape (n_symbols,): whether the word is split after each symbol.
        pool: threads that work on it.
    """
    counts, stems = count_parts(corpus, lattice, is_split)
    p = part_probabilities(counts, lattice.lengths)
    arcs = _found_arcs(lattice, p)
    model = AffixModel(p, Moves.first(), fit_trigrams(corpus, stems))
    posterior = np.empty(len(corpus.symbols), np.float32)
    spelling = spell_stems(model.trigrams, corpus)
    for _ in range(AFFIX_STEPS):
        full = WordModel(p, *model.moves, 1 - UNKNOWN_STEMS, spelling)
        used, moved = expect(corpus, arcs, full, posterior, pool)
        model = model._replace(moves=maximize(used, moved, lattice.lengths, p))
    return model


def affix_log_odds(
    model: AffixModel, corpus: SymbolCorpus, lattice: Lattice, pool: ThreadPool,
) -> Floats:  # fmt: skip
    """Compute the log-odds of a boundary after each symbol: float32, shape (n_symbols,).

    The entries must have the same numbers in the lattice and in the model.
    """
    posterior = np.empty(len(corpus.symbols), np.float32)
    full = WordModel(model.p, *model.moves, 1 - UNKNOWN_STEMS, spell_stems(model.trigrams, corpus))
    expect(corpus, _found_arcs(lattice, model.p), full, posterior, pool)
    return log_odds(posterior, _LEAST_PROBABILITY)


def _found_arcs(lattice: Lattice, p: Doubles) -> Arcs:
    """Select the arcs of the entries with a probability above 0; the entries keep their numbers."""
    number = np.where((p > 0).any(1), np.arange(len(p)), -1).astype(np.int32)
    rows, entries, spans = lattice.rows.copy(), lattice.entries.copy(), lattice.spans.copy()
    left = drop_arcs(rows, entries, spans, number)
    return Arcs(rows, entries[:left].copy(), spans[:left].copy())


def part_probabilities(counts: Longs, lengths: Bytes) -> Doubles:
    """Compute the probability of each entry in each class before the first EM step; 0 for entries without a count."""
    weights = counts + OTHER_CLASS * (counts.sum(1) > 0)[:, None]
    weights[lengths > LONGEST_PREFIX, PREFIX] = 0
    weights[lengths > LONGEST_SUFFIX, SUFFIX] = 0
    weights /= np.maximum(column_sums(weights), 1e-9)
    weights[lengths == 1, STEM] = SINGLE_STEM
    return weights


def count_parts(corpus: SymbolCorpus, lattice: Lattice, is_split: Mask) -> tuple[Longs, CodePoints]:
    """Count how often each entry is a part of a word in each class, and list the stems.

    The longest part of a word, or the first of several longest ones, is its stem. The parts before it are prefixes, and
    those after it are suffixes.

    Returns:
        int64, shape (n_entries, 3): the counts; and the distinct stems of two or more symbols.
    """
    counts = np.zeros((len(lattice.first), 3), np.int64)
    begins, ends = np.empty(len(corpus), np.int64), np.empty(len(corpus), np.int64)
    _count_parts(corpus.starts, is_split, lattice.rows, lattice.entries, lattice.spans, counts, begins, ends)
    long = ends - begins > 1
    stems = slices_as_words(corpus.symbols, begins[long], ends[long])
    return counts, stems.take(distinct(stems).first)


@njit(nogil=True)
def _count_parts(
    starts: Longs, is_split: Mask, rows: Ints, entries: Ints, spans: Bytes, counts: Longs,
    begins: Longs, ends: Longs,
) -> None:  # fmt: skip
    """Write where the stem of each word begins and ends, then count the parts of the word."""
    for w in range(len(starts) - 1):
        start, end = starts[w], starts[w + 1]
        begins[w] = ends[w] = begin = start
        for i in range(start, end):
            if is_split[i] or i + 1 == end:
                if i + 1 - begin > ends[w] - begins[w]:
                    begins[w], ends[w] = begin, i + 1
                begin = i + 1
        begin = start
        for i in range(start, end):
            if is_split[i] or i + 1 == end:
                kind = PREFIX if begin < begins[w] else (STEM if begin == begins[w] else SUFFIX)
                for e in range(rows[begin], rows[begin + 1]):
                    if spans[e] == i + 1 - begin:
                        counts[entries[e], kind] += 1
                begin = i + 1
