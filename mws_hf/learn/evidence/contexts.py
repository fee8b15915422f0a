"""Measure how predictable the next symbol after a context is: its entropy, support and variety.

The contexts of a position are the whole part of the word before it and after it (in tries), the last k symbols before
it, and the first k symbols after it. The measure is branching entropy (Tanaka-Ishii and Jin 2006) and its rise
(Magistry and Sagot 2012). This module only measures; `context_view` decides.

Another view, normalized variation, is in this module, too. Where a morph ends, the next symbol is less predictable.
The view takes the rise of the entropy from one position to the next, in the trie of prefixes and in the trie of
suffixes. It compares this rise with the rises at the same distance from the edge of the word, because deeper contexts
occur in fewer words. Nothing is fitted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mws_hf.kernels import Doubles, Floats, Ints, Longs, Mask
from mws_hf.kernels.arithmetic import log2s
from mws_hf.kernels.interning import build_trie, intern_pairs
from mws_hf.kernels.jit import njit
from mws_hf.kernels.threads import give_back
from mws_hf.learn.words import SymbolCorpus

CONTEXT_LENGTHS = (2, 3, 4, 5)
"""Lengths of contexts, in symbols. A single symbol predicts hardly anything, and more than 5 are nearly the whole
prefix, which the tries contain."""


class View(NamedTuple):
    """The contexts of all symbols in one view.

    Symbol i of the corpus, in word w, has the context ``up[ids[i + pad * (w + 1) + shift]]``, or ``ids[...]`` if `up`
    is empty. All n-gram views share the array `ids`, which contains the longest contexts.

    Attributes:
        ids: int32: number of the context at each position of the padded corpus.
        up: int32: number of the shorter context with which each longest context begins; empty if it is not needed.
        pad: number of padding symbols between words.
        shift: offset of a symbol's context in `ids`.
        table: float32, shape (n_contexts, 3): entropy of the next symbol in bits, log2 of the number of occurrences
            (support), log2 of the number of distinct next symbols (variety). The end of a word counts as a symbol. The
            shape is (n_contexts, 0) if contexts are only numbered.
    """

    ids: Ints
    up: Ints
    pad: int
    shift: int
    table: Floats


@dataclass(frozen=True)
class Contexts:
    """All views of the contexts of a corpus.

    Attributes:
        views: pairs of a forward and a backward view: first the tries, then one pair for each length of context. In a
            forward view, the context of symbol i ends with symbol i; in a backward view, it begins with symbol i.
        is_word: for the forward and the backward trie: bool, shape (n_contexts,), whether a context that several words
            have is also a whole word.
    """

    views: list[View]
    is_word: tuple[Mask, Mask]


@njit(inline="always")
def _context_of(view: View, w: int, i: int) -> int:
    """Return the context of symbol `i`, which is in word `w`."""
    node = view.ids[i + view.shift + view.pad * (w + 1)]
    return view.up[node] if len(view.up) else node


@njit(nogil=True)
def read_contexts(view: View, w: int, begin: int, end: int, out: Ints) -> None:
    """Write the contexts of the symbols [begin, end), which are word `w`, to the beginning of `out`."""
    for i in range(begin, end):
        out[i - begin] = _context_of(view, w, i)


def continuation_table(n_contexts: int, context: Ints, counts: Ints, *, empty: bool = False) -> Floats:
    """Compute the table of a `View` from distinct pairs of a context and the next symbol.

    Args:
        n_contexts: number of contexts.
        context: int32, shape (n_pairs,): the context of each pair.
        counts: int32, shape (n_pairs,): how often each pair occurs.
        empty: return a table of shape (n_contexts, 0), which saves time if contexts are only numbered.
    """
    if empty:
        return np.empty((n_contexts, 0), np.float32)
    support, variety, terms = np.zeros(n_contexts, np.int32), np.zeros(n_contexts, np.int32), np.zeros(n_contexts)
    _add_up(context, counts, support, variety)
    weighted_logs = log2s(counts)
    weighted_logs *= counts
    _add_terms(context, weighted_logs, terms)
    del weighted_logs
    table = np.empty((n_contexts, 3), np.float32)
    log_support = log2s(np.maximum(support, 1))
    table[:, 1] = log_support
    terms /= np.maximum(support, 1)
    table[:, 0] = np.subtract(log_support, terms, out=terms)
    table[:, 2] = log2s(np.maximum(variety, 1))
    return table


@njit(nogil=True)
def _add_up(context: Ints, counts: Ints, support: Ints, variety: Ints) -> None:
    """Add up the counts of the pairs of each context, and count the pairs."""
    for k in range(len(context)):
        support[context[k]] += counts[k]
        variety[context[k]] += 1


@njit(nogil=True)
def _add_terms(context: Ints, terms: Doubles, sums: Doubles) -> None:
    for k in range(len(context)):
        sums[context[k]] += terms[k]


def _padded(corpus: SymbolCorpus, pad: int) -> Ints:
    """Write the symbols plus 1 of all words into one array, with `pad` zeros before, between and after the words."""
    padded = np.zeros(len(corpus.symbols) + pad * (len(corpus) + 1), np.int32)
    _spread(corpus.symbols, corpus.starts, pad, padded)
    return padded


@njit(nogil=True)
def _spread(symbols: Ints, starts: Longs, pad: int, padded: Ints) -> None:
    for w in range(len(starts) - 1):
        for i in range(starts[w], starts[w + 1]):
            padded[i + pad * (w + 1)] = symbols[i] + 1


def _gram_views(corpus: SymbolCorpus, orders: tuple[int, ...], *, empty: bool) -> list[View]:
    """Build the forward and the backward view of each length of context.

    An n-gram is both the forward context of its last symbol and the backward context of its first symbol. So one
    numbering of the n-grams of padded words is enough for both views. `View.up` leads from the longest contexts to the
    shorter ones with which they begin. The n-grams that are longer by one symbol show the next symbol in both
    directions.
    """
    pad = max(orders)
    grams = padded = _padded(corpus, pad)
    shorter: dict[int, Ints] = {}
    tables: dict[int, tuple[Floats, Floats]] = {}
    for order in range(1, pad + 1):
        longer = intern_pairs(grams[:-1], padded[order:])
        begins_with = grams[longer.first]
        if order in orders:
            n_grams = int(grams.max()) + 1
            after = continuation_table(n_grams, begins_with, longer.counts, empty=empty)
            before = continuation_table(n_grams, grams[longer.first + 1], longer.counts, empty=empty)
            tables[order] = after, before
            give_back()
        if order < pad:
            shorter = {n: up[begins_with] for n, up in shorter.items()}
            if order in orders:
                shorter[order] = begins_with
            grams = longer.ids
        del longer
    nothing = np.zeros(0, np.int32)
    return [
        View(grams, shorter.get(order, nothing), pad, 0 if backwards else 1 - order, tables[order][backwards])
        for order in orders
        for backwards in (False, True)
    ]


def trie_view(corpus: SymbolCorpus, backwards: bool, *, empty: bool = False) -> tuple[View, Mask]:
    """Build the view of a trie, and find out which of its contexts are words.

    A node is followed by its children and, if a word ends there, by the end of the word. All nodes that only one word
    has are context 0, because nothing is known about what follows them.

    Args:
        corpus: distinct words.
        backwards: whether words are read from their end, so that nodes are suffixes.
        empty: whether the table of the view may be empty, as in `continuation_table`.

    Returns:
        The view, and `is_word` of `Contexts` for it.
    """
    trie = build_trie(corpus.symbols, corpus.starts, backwards)
    shared = trie.counts > 1
    number = np.where(shared, np.cumsum(shared, dtype=np.int32), np.int32(0))
    inner, final = np.nonzero(trie.parents >= 0)[0], np.nonzero(trie.ends)[0]
    inner, final = inner[shared[trie.parents[inner]]], final[shared[final]]
    context = number[np.concatenate([trie.parents[inner], final])]
    n_contexts = int(number.max(initial=0)) + 1
    counts = np.concatenate([trie.counts[inner], trie.ends[final]])
    table = continuation_table(n_contexts, context, counts, empty=empty)
    is_word = np.append(False, trie.ends[shared] > 0)
    _renumber(trie.nodes, number)
    return View(trie.nodes, np.zeros(0, np.int32), 0, 0, table), is_word


@njit(nogil=True)
def _renumber(ids: Ints, number: Ints) -> None:
    for k in range(len(ids)):
        ids[k] = number[ids[k]] if ids[k] >= 0 else 0


def collect_contexts(
    corpus: SymbolCorpus, orders: tuple[int, ...], tries: Sequence[tuple[View, Mask]], *, empty: bool = False
) -> Contexts:
    """Build all views of the contexts of distinct words, in time that is linear in the number of symbols.

    Args:
        corpus: distinct words.
        orders: lengths of the contexts, such as `CONTEXT_LENGTHS`.
        tries: the results of `trie_view` for the words read forwards and backwards.
        empty: whether the tables may be empty, as in `continuation_table`.
    """
    (prefixes, left_is_word), (suffixes, right_is_word) = tries
    return Contexts([prefixes, suffixes, *_gram_views(corpus, orders, empty=empty)], (left_is_word, right_is_word))


def contexts_of_each(corpus: SymbolCorpus, contexts: Contexts, n_listed: int) -> list[Contexts]:
    """Count the contexts of each new word as if the corpus contained only the listed words and this one.

    So the contexts of a word do not depend on the other new words of the same call.

    Args:
        corpus: the listed words, then the new words; all are distinct.
        contexts: the contexts of the corpus; their tables may be empty.
        n_listed: the number of listed words.

    Returns:
        The contexts of each new word, numbered as in a corpus of only this word.
    """
    edge = corpus.starts[n_listed]
    spans = [slice(begin, end) for begin, end in pairwise((corpus.starts[n_listed:] - edge).tolist())]
    found: list[tuple[list[View], list[Mask]]] = [([], []) for _ in spans]
    following = _following(corpus.symbols, corpus.starts)
    for v, view in enumerate(contexts.views):
        nodes = _nodes_of(view, corpus.starts[n_listed:], n_listed)
        listed = _pairs_of(view, corpus.starts[: n_listed + 1], nodes, following[v % 2], is_trie=v < 2)
        if v < 2:  # in a trie, 0 stands for every node that a single word has
            nodes[nodes == 0] = len(view.table) + np.arange(np.count_nonzero(nodes == 0))
        number = np.full(len(view.table) + len(nodes), -1, np.int32)
        for span, (views, is_word) in zip(spans, found, strict=True):
            ids = np.unique(nodes[span], return_inverse=True)[1].astype(np.int32)
            number[nodes[span]] = ids
            context, symbol, counts = _with_pairs_of_word(number, listed, nodes[span], following[v % 2][edge:][span])
            number[nodes[span]] = -1
            n_contexts = int(ids.max()) + 1
            views.append(View(ids, np.zeros(0, np.int32), 0, 0, continuation_table(n_contexts, context, counts)))
            is_word.append(np.isin(np.arange(n_contexts), context[symbol == 0]))
    return [Contexts(views, (is_word[0], is_word[1])) for views, is_word in found]


class _Pairs(NamedTuple):
    """Distinct pairs of a context and the symbol that follows it, 0 at the end of a word; and how often each occurs."""

    contexts: Ints
    following: Ints
    counts: Ints


def _following(symbols: Ints, starts: Longs) -> tuple[Ints, Ints]:
    """Look up the symbol after each symbol, and the one before it, each plus 1; 0 stands for the end of the word."""
    after, before = np.append(symbols[1:] + 1, np.int32(0)), np.append(np.int32(0), symbols[:-1] + 1)
    after[starts[1:] - 1] = 0
    before[starts[:-1]] = 0
    return after, before


def _nodes_of(view: View, starts: Longs, first: int) -> Ints:
    """Look up the context of each symbol of the words from number `first` on, which begin at `starts`."""
    nodes = np.empty(starts[-1] - starts[0], np.int32)
    for w, (begin, end) in enumerate(pairwise(starts.tolist()), start=first):
        read_contexts(view, w, begin, end, nodes[begin - starts[0] :])
    return nodes


def _pairs_of(view: View, starts: Longs, nodes: Ints, following: Ints, *, is_trie: bool) -> _Pairs:
    """Count what follows the contexts `nodes` in the listed words, which begin at `starts`."""
    wanted = np.zeros(len(view.table), bool)
    wanted[nodes] = True
    if is_trie:
        wanted[0] = False
    symbols, contexts = np.empty((2, starts[-1]), np.int32)
    n = _find_contexts(view, starts, wanted, symbols, contexts)
    contexts, after = contexts[:n], following[symbols[:n]]
    pairs = intern_pairs(contexts, after)
    return _Pairs(contexts[pairs.first], after[pairs.first], pairs.counts)


@njit(nogil=True)
def _find_contexts(view: View, starts: Longs, wanted: Mask, symbols: Ints, contexts: Ints) -> int:
    """Write the symbols whose context is wanted, and their contexts; return how many there are."""
    n = 0
    for w in range(len(starts) - 1):
        for i in range(starts[w], starts[w + 1]):
            node = _context_of(view, w, i)
            symbols[n], contexts[n] = i, node
            n += wanted[node]
    return n


def _with_pairs_of_word(number: Ints, listed: _Pairs, nodes: Ints, following: Ints) -> _Pairs:
    """Add the pairs of a word to those that the listed words have in the same contexts.

    Args:
        number: for each context its number among the contexts of the new word; -1 if the word does not have it.
        listed: the pairs of the listed words.
        nodes: the contexts of the word's symbols.
        following: the symbol after each of them in the word.

    Returns:
        The pairs of the contexts of the new word, which are numbered by `number`.
    """
    chosen = np.nonzero(number[listed.contexts] >= 0)[0]
    contexts = number[np.append(listed.contexts[chosen], nodes)]
    after = np.append(listed.following[chosen], following)
    pairs = intern_pairs(contexts, after)
    counts = np.append(listed.counts[chosen], np.ones(len(nodes), np.int32))
    return _Pairs(contexts[pairs.first], after[pairs.first], np.bincount(pairs.ids, counts).astype(np.int32))


MAX_DISTANCE = 25
"""Distance from the edge of a word, in symbols, from which on all positions are compared together, because there are
too few at each single distance."""


@njit(inline="always")
def _rise(nodes: Ints, table: Floats, begin: int, end: int, i: int, backwards: bool) -> tuple[float, int]:
    """Compute the rise of the entropy after symbol `i` in the direction of a trie, and the distance from the edge."""
    here, distance = (i + 1, end - 2 - i) if backwards else (i, i - begin)
    last = here + 1 if backwards else here - 1
    rise = np.float64(table[nodes[here], 0])
    if distance > 0:
        rise -= np.float64(table[nodes[last], 0])
    return rise, min(distance, MAX_DISTANCE)


@njit(nogil=True)
def _add_standard_rises(
    starts: Longs, nodes: Ints, table: Floats, backwards: bool, sums: Doubles, scores: Doubles
) -> None:
    """Add the standard score of each rise, among the rises at the same distance, to `scores`.

    `sums`, shape (5, `MAX_DISTANCE` + 1), contains zeros and is overwritten.
    """
    size, total, squares, mean, deviation = sums[0], sums[1], sums[2], sums[3], sums[4]
    for w in range(len(starts) - 1):
        for i in range(starts[w], starts[w + 1] - 1):
            rise, g = _rise(nodes, table, starts[w], starts[w + 1], i, backwards)
            size[g] += 1
            total[g] += rise
            squares[g] += rise * rise
    for g in range(MAX_DISTANCE + 1):
        n = max(size[g], 1.0)
        mean[g] = total[g] / n
        deviation[g] = math.sqrt(max(squares[g] / n - mean[g] * mean[g], 0.0)) + 1e-3
    k = 0
    for w in range(len(starts) - 1):
        for i in range(starts[w], starts[w + 1] - 1):
            rise, g = _rise(nodes, table, starts[w], starts[w + 1], i, backwards)
            scores[k] += (rise - mean[g]) / deviation[g]
            k += 1


def normalized_variation(corpus: SymbolCorpus, contexts: Contexts) -> Doubles:
    """Add up the standard scores of the rise of the entropy in both tries, at each position inside words.

    Args:
        corpus: the words.
        contexts: their contexts, of which only the two tries are used.

    Returns:
        float64, shape (n positions inside words,).
    """
    scores = np.zeros(len(corpus.symbols) - len(corpus))
    for backwards, trie in enumerate(contexts.views[:2]):
        sums = np.zeros((5, MAX_DISTANCE + 1))
        _add_standard_rises(corpus.starts, trie.ids, trie.table, bool(backwards), sums, scores)
    return scores
