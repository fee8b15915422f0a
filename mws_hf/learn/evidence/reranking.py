"""Re-rank the places inside words of a short list by two more views; the values of the mixture stay.

The mixture's values are handed out again in the new order, since the calibration and the constants of the merges are
made for them. First the paradigm view moves the places, then the affix view is started from the cuts that this gives.
Full lists need neither view: there the lexicon view knows as much.

The paradigm view asks: do other stems have two endings of this stem as well? Every word is split in all ways into a
stem and an ending, which may be empty. Two endings of one stem that begin with different letters are a pair. Endings
that begin alike, as ``-king`` and ``-ked`` after ``wal-``, may owe it to the letter alone. A split is worth the number
of other stems that have its ending and the partner that most of them share. After Goldsmith's signatures (2001) and
Schone and Jurafsky (2001), without their decisions.

The affix view is a second lexicon of prefixes, stems and suffixes. The lexicon view starts from all substrings and pays
for each; in a short list too few repay their spelling. Here the entries are the pieces of words that are cut already:
the longest piece of a word is its stem. Expectation maximisation goes on from there, over all ways to write each word.
An unknown stem is spelled by a letter model of the stems found.

The letter model tells each letter after the two before it, and the end of the stem: interpolated absolute discounting
(Ney et al. 1994) down to bigrams, letters and the uniform distribution. It is learnt from distinct stems, so that a
stem says how stems are spelled and not how frequent it is. Rare letters share one row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mws_hf.kernels import Bytes, Doubles, Floats, Ints, Longs, Mask
from mws_hf.kernels.arithmetic import column_sums, log_odds, logs, moments
from mws_hf.kernels.containers import find_pair, new_table, pair_key, put
from mws_hf.kernels.interning import intern_pairs
from mws_hf.kernels.jit import njit
from mws_hf.kernels.threads import ThreadPool
from mws_hf.learn.evidence.contexts import View
from mws_hf.learn.evidence.forms import inner_positions, share_threshold
from mws_hf.learn.evidence.lexicon import (
    LONGEST_PREFIX,
    LONGEST_SUFFIX,
    SINGLE_STEM,
    UNKNOWN_STEMS,
    Lattice,
    Moves,
    build_lattice,
    expect,
    maximize,
)
from mws_hf.learn.evidence.lexicon_kernels import PREFIX, STEM, SUFFIX, Arcs, StemSpelling, WordModel, drop_arcs
from mws_hf.learn.words import CodePoints, SymbolCorpus, cut_out, distinct

SHORT_LIST = 8_000
"""Types below which the views have the share of their weight that the list has of this number: with all of it 300 to
2,000 lemmas of Latin and Russian lose 0.01 to 0.04, Finnish, Hungarian, Turkish and Czech gain as much."""

RERANK_FULLY, RERANK_BELOW = 20_000, 60_000
"""Types up to which both views have their full weight, and from which on they have none; between them it falls in a
straight line. 20,000 / types is a tie, and has no end. Of 44,000 to 55,000 types Russian and Finnish gain 0.011 to
0.019, Hungarian and Turkish lose 0.004 to 0.007; of 77,000 Finnish loses 0.005."""

PARADIGM_WEIGHT = 0.3
"""Full weight of the paradigm view beside a mixture of standard scores. It falls with the square, for from 44,000 types
on that view alone loses 0.004 to 0.010 in English, Turkish and Russian. Of short lists 0.15 loses most of the gain on
Latin and Czech, 0.5 that on English."""

AFFIX_WEIGHT = 1.0
"""The same of the affix view; 0.7 and 1.5 are ties."""

SHORTEST_STEM, LONGEST_ENDING = 2, 8
"""Shortest stem and longest ending of a split, in symbols."""

MOST_ENDINGS = 150
"""Stems with more endings than this are beginnings of words that have nothing in common; their pairs are left out."""


class Splits(NamedTuple):
    """Splits whose stem and ending occur in several words, the splits of one stem one after another.

    `stems` are the numbers of the stems, ascending; stem k has the splits ``bounds[k]:bounds[k + 1]``. Of each split
    there are the `place` of the stem's last symbol, the `ending` (0: empty) and the ending's first `letter` (or -1).
    """

    stems: Ints
    bounds: Ints
    place: Ints
    ending: Ints
    letter: Ints


class Paradigms(NamedTuple):
    """The splits of a list, and for each pair of endings, the smaller number first, how many stems have both."""

    splits: Splits
    keys: Longs
    stems_of: Ints


def find_splits(corpus: SymbolCorpus, prefixes: Ints, suffixes: Ints) -> Splits:
    """List the splits of all words; prefixes and suffixes are numbered by symbol, 0 if one word alone has them."""
    rows = np.empty((4, len(corpus) * (LONGEST_ENDING + 1)), np.int32)
    rows = rows[:, : _list_splits(corpus.symbols, corpus.starts, prefixes, suffixes, rows)]
    stem, place, ending, letter = rows[:, np.argsort(rows[0], kind="stable")]
    first = np.nonzero(np.diff(stem, prepend=-1))[0]
    bounds = np.append(first, len(stem)).astype(np.int32)
    return Splits(stem[first], bounds, place, ending, letter)


@njit(nogil=True)
def _list_splits(symbols: Ints, starts: Longs, prefixes: Ints, suffixes: Ints, rows: Ints) -> int:
    """Write stem, last place, ending and its letter of each split into a column; returns the number of splits."""
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
    """Count, for every pair of endings of some stem, the stems that have both endings."""
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
    """Write both endings of every pair, the smaller number first, where there is room; returns the number of pairs."""
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
    """Compute log(1 + worth) of the split after each symbol, 0 without a split; `splits` may be of other words."""
    worth = np.zeros(n_symbols)
    _fill_worth(paradigms, splits, worth)
    return logs(1 + worth)


@njit(nogil=True)
def _fill_worth(paradigms: Paradigms, splits: Splits, worth: Doubles) -> None:
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
                worth[splits.place[i]] = best - own


def word_support(corpus: SymbolCorpus, prefixes: View, suffixes: View) -> Doubles:
    """Compute `paradigm_support` of the words it is fitted to, from their tries read forwards and backwards."""
    splits = find_splits(corpus, prefixes.ids, suffixes.ids)
    return paradigm_support(fit_paradigms(splits), splits, len(corpus.symbols))


MOST_LETTERS = 80
"""Letters with a row of their own: the most frequent ones. The table has the cube of their number of cells."""

AFFIX_STEPS = 4
"""Steps of maximisation; 2 are a tie."""

LONGEST_UNKNOWN_STEM = 15
"""Longest stem, in graphemes, that is spelled out."""

DISCOUNT = 0.75
_FLOOR = 1e-12


class Trigrams(NamedTuple):
    """Letter model: row of each symbol, share of the row; `table[x, y, z]`: z after x, y; last row: start and end."""

    letter_of: Ints
    share_of: Doubles
    table: Doubles


def fit_trigrams(corpus: SymbolCorpus, stems: CodePoints, most: int = MOST_LETTERS) -> Trigrams:
    """Learn how distinct stems are spelled; the `most` frequent letters of the corpus have a row of their own."""
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
    """Compute probabilities along the last axis; the shorter context spreads the discounted mass."""
    total = counts.sum(-1, keepdims=True)  # sums of whole numbers, the same in any order
    seen = (counts > 0).sum(-1, keepdims=True)
    per = np.maximum(total, 1)
    found: Doubles = np.where(total > 0, np.maximum(counts - DISCOUNT, 0) / per + DISCOUNT * seen / per * lower, lower)
    return found


def spell_stems(trigrams: Trigrams, corpus: SymbolCorpus) -> StemSpelling:
    """Spell stems of 2 to `LONGEST_UNKNOWN_STEM` symbols, all with one factor: the letter model has the end.

    `letters`: each symbol after the two before it, 1 for the first two of a word. `heads`: a stem begins with this
    symbol and the next, over the `letters` of both. `ends`: a stem ends after this symbol and the one before it.
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
"""Uses that an entry found in one class has in each of the others, before the first step."""

_LEAST_PROBABILITY = 1e-4
"""Cut probabilities are kept this far from 0 and 1 before their log-odds are taken."""


class AffixModel(NamedTuple):
    """Fitted affix view; `p` is 0 for entries that were not found."""

    p: Doubles
    moves: Moves
    trigrams: Trigrams


def fit_affixes(
    corpus: SymbolCorpus, lattice: Lattice, cut: Mask, pool: ThreadPool,
) -> AffixModel:  # fmt: skip
    """Learn the entries, their classes and the letters of stems from words and first cuts, one flag a symbol."""
    counts, stems = count_pieces(corpus, lattice, cut)
    p = piece_probabilities(counts, lattice.lengths)
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
    """Compute the log-odds of a cut after each symbol of words, whose lattice numbers the entries as the model does."""
    posterior = np.empty(len(corpus.symbols), np.float32)
    full = WordModel(model.p, *model.moves, 1 - UNKNOWN_STEMS, spell_stems(model.trigrams, corpus))
    expect(corpus, _found_arcs(lattice, model.p), full, posterior, pool)
    return log_odds(posterior, _LEAST_PROBABILITY)


def _found_arcs(lattice: Lattice, p: Doubles) -> Arcs:
    """Select the arcs of the entries that have a probability; the entries keep their numbers."""
    number = np.where((p > 0).any(1), np.arange(len(p)), -1).astype(np.int32)
    rows, entries, spans = lattice.rows.copy(), lattice.entries.copy(), lattice.spans.copy()
    left = drop_arcs(rows, entries, spans, number)
    return Arcs(rows, entries[:left].copy(), spans[:left].copy())


def piece_probabilities(counts: Longs, lengths: Bytes) -> Doubles:
    """Compute the probability of each entry in each class before the first step; 0 for entries that are no piece."""
    weights = counts + OTHER_CLASS * (counts.sum(1) > 0)[:, None]
    weights[lengths > LONGEST_PREFIX, PREFIX] = 0
    weights[lengths > LONGEST_SUFFIX, SUFFIX] = 0
    weights /= np.maximum(column_sums(weights), 1e-9)
    weights[lengths == 1, STEM] = SINGLE_STEM
    return weights


def count_pieces(corpus: SymbolCorpus, lattice: Lattice, cut: Mask) -> tuple[Longs, CodePoints]:
    """Count how often each entry is a piece in each class, and list the distinct stems of two symbols or more.

    A word's longest piece, the first of equal ones, is its stem: prefixes come before it, suffixes after it.
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


def short_list_weight(n_types: int) -> float:
    """Compute the share of their full weight that the two views have in a list of `n_types` types.

    Below `SHORT_LIST` types the share falls with their number: both views count how often stems and endings come back,
    and a list of some hundred words shows too few of them.

    >>> [short_list_weight(n) for n in (100, 4_000, 8_000, 20_000, 40_000, 60_000, 400_000)]
    [0.0125, 0.5, 1.0, 1.0, 0.5, 0.0, 0.0]
    """
    falling = (RERANK_BELOW - n_types) / (RERANK_BELOW - RERANK_FULLY)
    return min(1.0, n_types / SHORT_LIST, max(0.0, falling))


def rerank(
    mixed: Doubles, corpus: SymbolCorpus, support: Doubles, granularity: float, pool: ThreadPool,
) -> tuple[Doubles, Doubles]:  # fmt: skip
    """Permute the mixture's log-odds at the inner positions of a short list; also returns the two views, (n, 2).

    `granularity` is the share of the places cut at first, from which the affix view starts.
    """
    weight, inner = short_list_weight(len(corpus)), inner_positions(corpus.starts)
    lattice = pool.submit(build_lattice, corpus)
    paradigms = support[inner]
    order = standard_scores(mixed) + weight * weight * PARADIGM_WEIGHT * standard_scores(paradigms)
    cut = np.zeros(len(inner), bool)
    cut[inner] = handed_out(mixed, order) > share_threshold(mixed, granularity)
    model = fit_affixes(corpus, lattice.result(), cut, pool)
    affixes = affix_log_odds(model, corpus, lattice.result(), pool)[inner].astype(np.float64)
    order += weight * AFFIX_WEIGHT * standard_scores(affixes)
    return handed_out(mixed, order), np.stack([paradigms, affixes], axis=1)


def standard_scores(values: Doubles) -> Doubles:
    """Compute distances from the mean in standard deviations; 0 for each value where all are alike."""
    mean, deviation = moments(values[:, None])
    return (values - mean[0]) / max(float(deviation[0]), 1e-9)


def handed_out(values: Doubles, order: Doubles) -> Doubles:
    """Permute `values` so that their ranks follow `order`. Ties: lower value, then lower index."""
    found = np.empty(len(values))
    found[np.lexsort((values, order))] = np.sort(values)
    return found
