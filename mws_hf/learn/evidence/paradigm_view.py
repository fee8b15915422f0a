"""The paradigm view: a split of a word is supported by other stems that share two endings with its stem.

Every word is split in all ways into a stem and an ending, which may be empty. Two endings of a stem that begin with
different letters are a pair. Endings that begin with the same letter are not, because the letter may belong to the
stem: for example, ``-king`` and ``-ked`` after ``wal-``. The ending of a split forms a pair with each other ending of
its stem. Of these pairs, the view chooses the one that the largest number of other stems have, too. The number of these
stems is the support of the split. This follows the signatures of Goldsmith (2001) and Schone and Jurafsky (2001), but
makes no decisions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mws_hf.kernels import Doubles, Ints, Longs
from mws_hf.kernels.arithmetic import logs
from mws_hf.kernels.containers import find_pair, new_table, pair_key, put
from mws_hf.kernels.interning import intern_pairs
from mws_hf.kernels.jit import njit
from mws_hf.learn.evidence.contexts import View
from mws_hf.learn.words import SymbolCorpus

SHORTEST_STEM, LONGEST_ENDING = 2, 8
"""Shortest stem and longest ending of a split, in symbols."""

MOST_ENDINGS = 150
"""Maximum number of endings of a stem whose pairs are counted. A stem with more endings is only the beginning of many
unrelated words."""


class Splits(NamedTuple):
    """Splits of words into a stem and an ending that both occur in several words, ordered by stem.

    Attributes:
        stems: int32, shape (n_stems,): numbers of the stems, ascending.
        bounds: int32, shape (n_stems + 1,): stem k has the splits ``bounds[k]:bounds[k + 1]``.
        stem_end: int32, shape (n_splits,): the last symbol of the stem, in the corpus.
        ending: int32, shape (n_splits,): number of the ending; 0 is the empty one.
        letter: int32, shape (n_splits,): the first symbol of the ending, or -1 if it is empty.
    """

    stems: Ints
    bounds: Ints
    stem_end: Ints
    ending: Ints
    letter: Ints


class Paradigms(NamedTuple):
    """The splits of a list of words, and how many stems have each pair of endings.

    Attributes:
        splits: the splits.
        keys: keys of a hash table, made of both endings, the smaller number first.
        stems_of: for each key the number of stems that have both endings.
    """

    splits: Splits
    keys: Longs
    stems_of: Ints


def find_splits(corpus: SymbolCorpus, prefixes: Ints, suffixes: Ints) -> Splits:
    """List the splits of all words.

    Args:
        corpus: the words.
        prefixes: int32, shape (n_symbols,): number of the prefix that ends with each symbol, or 0 if only one word has
            it.
        suffixes: int32, shape (n_symbols,): number of the suffix that begins with each symbol, or 0 if only one word
            has it.
    """
    rows = np.empty((4, len(corpus) * (LONGEST_ENDING + 1)), np.int32)
    rows = rows[:, : _list_splits(corpus.symbols, corpus.starts, prefixes, suffixes, rows)]
    stem, stem_end, ending, letter = rows[:, np.argsort(rows[0], kind="stable")]
    first = np.nonzero(np.diff(stem, prepend=-1))[0]
    bounds = np.append(first, len(stem)).astype(np.int32)
    return Splits(stem[first], bounds, stem_end, ending, letter)


@njit(nogil=True)
def _list_splits(symbols: Ints, starts: Longs, prefixes: Ints, suffixes: Ints, rows: Ints) -> int:
    """Write stem, last symbol of the stem, ending and its letter of each split to a column; returns the number."""
    n = 0
    for w in range(len(starts) - 1):
        end = starts[w + 1]
        for i in range(max(starts[w] + SHORTEST_STEM, end - LONGEST_ENDING) - 1, end):
            whole = i + 1 == end
            if prefixes[i] > 0 and (whole or suffixes[i + 1] > 0):
                rows[0, n], rows[1, n] = prefixes[i], i
                rows[2, n] = 0 if whole else suffixes[i + 1]
                rows[3, n] = -1 if whole else symbols[i + 1]
                n += 1
    return n


def fit_paradigms(splits: Splits) -> Paradigms:
    """Count for every pair of endings how many stems have both."""
    nothing = np.zeros(0, np.int32)
    size = _write_pairs(splits, nothing, nothing)
    left, right = np.empty(size, np.int32), np.empty(size, np.int32)
    _write_pairs(splits, left, right)
    pairs = intern_pairs(left, right)
    keys, stems_of = new_table(len(pairs.first))
    _enter_pairs(left[pairs.first], right[pairs.first], pairs.counts, keys, stems_of)
    return Paradigms(splits, keys, stems_of)


@njit(nogil=True)
def _write_pairs(splits: Splits, left: Ints, right: Ints) -> int:
    """Write both endings of every pair, the smaller number first, and return the number of pairs.

    Nothing is written if `left` is empty.
    """
    n = 0
    for k in range(len(splits.stems)):
        begin, end = splits.bounds[k], splits.bounds[k + 1]
        if end - begin <= MOST_ENDINGS:
            for i in range(begin, end):
                for j in range(i + 1, end):
                    if splits.letter[i] != splits.letter[j]:
                        if len(left):
                            left[n] = min(splits.ending[i], splits.ending[j])
                            right[n] = max(splits.ending[i], splits.ending[j])
                        n += 1
    return n


@njit(nogil=True)
def _enter_pairs(left: Ints, right: Ints, counts: Ints, keys: Longs, stems_of: Ints) -> None:
    for k in range(len(left)):
        put(keys, stems_of, pair_key(left[k], right[k]), counts[k])


def paradigm_support(paradigms: Paradigms, splits: Splits, n_symbols: int) -> Doubles:
    """Compute log(1 + support) of the split after each symbol: float64, shape (n_symbols,), 0 without a split.

    Args:
        paradigms: pairs of endings of the words that they were fitted to.
        splits: splits of these words or of others; stems and endings must have the same numbers.
        n_symbols: number of symbols of the corpus that `splits` belong to.
    """
    support = np.zeros(n_symbols)
    _fill_support(paradigms, splits, support)
    return logs(1 + support)


@njit(nogil=True)
def _fill_support(paradigms: Paradigms, splits: Splits, support: Doubles) -> None:
    known, keys, stems_of = paradigms
    stem = 0
    for k in range(len(splits.stems)):
        while stem < len(known.stems) and known.stems[stem] < splits.stems[k]:
            stem += 1
        if stem == len(known.stems) or known.stems[stem] != splits.stems[k]:
            continue
        begin, end = known.bounds[stem], known.bounds[stem + 1]
        if end - begin > MOST_ENDINGS:
            continue
        for i in range(splits.bounds[k], splits.bounds[k + 1]):
            best, own, x = np.int64(0), 0, splits.ending[i]
            for j in range(begin, end):
                y = known.ending[j]
                own += y == x
                if known.letter[j] != splits.letter[i]:
                    best = max(best, find_pair(keys, stems_of, min(x, y), max(x, y)))
            if best > own:
                support[splits.stem_end[i]] = best - own  # without the stem itself


def word_support(corpus: SymbolCorpus, prefixes: View, suffixes: View) -> Doubles:
    """Compute `paradigm_support` of a list of words within itself, from its forward and its backward trie."""
    splits = find_splits(corpus, prefixes.ids, suffixes.ids)
    return paradigm_support(fit_paradigms(splits), splits, len(corpus.symbols))
