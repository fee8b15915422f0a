"""How free the continuation is: entropy, support and variety of the next symbol in a context.

Contexts are whole prefixes and suffixes (tries) and the last k symbols before a junction or the first k after it.
Sources: branching entropy, Tanaka-Ishii and Jin (2006); its rise, Magistry and Sagot (2012). No decision is made here.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mws_hf.jit import njit
from mws_hf.learn.contextual.interning import Ints, Longs, Trie, build_trie, intern_pairs
from mws_hf.learn.symbols import SymbolCorpus

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Contexts:
    """Context nodes of every symbol and what is known about each node.

    Views come in pairs (forward, backward): first the tries, then one pair a context order. A forward view's node of
    symbol i is the context that ends with i; a backward view's node is the context that begins with i.

    Attributes:
        nodes: int32, shape (n_symbols, n_views), rows of `table`.
        table: float32, shape (n_nodes, 3): entropy of the next symbol in bits, log2 of the number of words that
            continue (the end of a word counts as a symbol), log2 of the number of distinct continuations.
        is_word: bool, shape (n_trie_nodes,): the prefix or suffix of a node of the first two views is itself a word.
    """

    nodes: Ints
    table: Floats
    is_word: npt.NDArray[np.bool_]


def continuation_table(n_contexts: int, context: npt.NDArray[np.int32], counts: npt.NDArray[np.int32]) -> Floats:
    """Entropy, log2 support and log2 variety of each context's continuations.

    Args:
        n_contexts: number of contexts.
        context: int32, the context of each (context, next symbol) pair.
        counts: int32, how often the pair occurs; pairs are distinct.

    Returns:
        float32, shape (n_contexts, 3); zeros for a context that has no pair.

    >>> continuation_table(2, np.array([0, 0, 1], np.int32), np.array([1, 1, 4], np.int32)).tolist()
    [[1.0, 1.0, 1.0], [0.0, 2.0, 0.0]]
    """
    sums = np.zeros((n_contexts, 3))
    _add_up(context, counts, counts * np.log2(counts, dtype=np.float64), sums)
    support = np.maximum(sums[:, 0], 1)
    table = np.empty((n_contexts, 3), np.float32)
    log_support = np.log2(support)
    table[:, 1] = log_support
    table[:, 0] = log_support - sums[:, 2] / support
    table[:, 2] = np.log2(np.maximum(sums[:, 1], 1))
    return table


@njit(nogil=True)
def _add_up(context: Ints, counts: Ints, terms: npt.NDArray[np.float64], sums: npt.NDArray[np.float64]) -> None:
    """Sums of the counts, the number and the terms of each context's pairs, in order."""
    for k in range(len(context)):
        row = context[k]
        sums[row, 0] += counts[k]
        sums[row, 1] += 1
        sums[row, 2] += terms[k]


def _trie_table(trie: Trie) -> Floats:
    """Continuations of trie nodes: their children, and the end of the word where words end."""
    inner, final = np.nonzero(trie.parents >= 0)[0], np.nonzero(trie.ends)[0].astype(np.int32)
    context = np.concatenate([trie.parents[inner], final])
    return continuation_table(len(trie.parents), context, np.concatenate([trie.counts[inner], trie.ends[final]]))


def _padded(corpus: SymbolCorpus, pad: int) -> Ints:
    """All words with `pad` zeros before, between and after them; symbols are shifted by 1."""
    padded = np.zeros(len(corpus.symbols) + pad * (len(corpus) + 1), np.int32)
    _spread(corpus.symbols, corpus.starts, pad, padded)
    return padded


@njit(nogil=True)
def _spread(symbols: Ints, starts: Longs, pad: int, padded: Ints) -> None:
    for w in range(len(starts) - 1):
        for i in range(starts[w], starts[w + 1]):
            padded[i + pad * (w + 1)] = symbols[i] + 1


class _View(NamedTuple):
    """A view before its nodes are brought together: symbol i of word w has node ``ids[i + pad * (w + 1) + shift]``."""

    ids: Ints
    pad: int
    shift: int
    table: Floats


@njit(nogil=True)
def _write_nodes(starts: Longs, ids: Ints, pad: int, shift: int, offset: int, nodes: Ints, view: int) -> None:
    for w in range(len(starts) - 1):
        for i in range(starts[w], starts[w + 1]):
            nodes[i, view] = ids[i + pad * (w + 1) + shift] + offset


def _gram_views(corpus: SymbolCorpus, orders: tuple[int, ...]) -> list[_View]:
    """The forward and the backward view of each order.

    An n-gram is the context (order n - 1) of its last symbol forwards and of its first symbol backwards, so one set of
    n-gram counts, over words padded with zeros, serves both.
    """
    pad = max(orders)
    grams = padded = _padded(corpus, pad)
    views: list[_View] = []
    for order in range(1, pad + 1):
        longer = intern_pairs(grams[: len(grams) - 1], padded[order:])
        if order in orders:
            n_grams = int(grams.max()) + 1
            views.append(_View(grams, pad, 1 - order, continuation_table(n_grams, grams[longer.first], longer.counts)))
            backward = continuation_table(n_grams, grams[longer.first + 1], longer.counts)
            views.append(_View(grams, pad, 0, backward))
        grams = longer.ids
    return views


def _trie_view(corpus: SymbolCorpus, backwards: bool) -> tuple[_View, npt.NDArray[np.bool_]]:
    trie = build_trie(corpus.symbols, corpus.starts, backwards)
    return _View(trie.nodes, 0, 0, _trie_table(trie)), trie.ends > 0


def begin_contexts(corpus: SymbolCorpus, orders: tuple[int, ...], pool: Executor) -> Callable[[], Contexts]:
    """Start to collect all context views of distinct words; linear in the number of symbols.

    Args:
        corpus: distinct, non-empty words.
        orders: context lengths, ascending.
        pool: tries and n-grams are built side by side in it.

    Returns:
        A function that waits for the views and brings them together.
    """
    begun = [pool.submit(_trie_view, corpus, backwards) for backwards in (False, True)]
    grams = pool.submit(_gram_views, corpus, orders)

    def finish() -> Contexts:
        tries = [trie.result() for trie in begun]
        views = [*(view for view, _ in tries), *grams.result()]
        nodes = np.empty((len(corpus.symbols), len(views)), np.int32)
        offset = 0
        for v, view in enumerate(views):
            _write_nodes(corpus.starts, view.ids, view.pad, view.shift, offset, nodes, v)
            offset += len(view.table)
        table = np.concatenate([view.table for view in views])
        return Contexts(nodes, table, np.concatenate([is_word for _, is_word in tries]))

    return finish
