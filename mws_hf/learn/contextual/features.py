"""The context view's description of a junction: 50 numbers from the context tables, their squares, 9 flags. No fitting.

Of each view: entropy at the junction, its rise from the previous junction (seen in the view's direction), the next
rise, log2 support, log2 variety. Flags: left part is 1, 2, 3 symbols long, the same for the right part, the left part
is a word, the right part is a word, constant.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mws_hf.jit import njit
from mws_hf.learn.contextual.contexts import Contexts
from mws_hf.learn.contextual.interning import Ints

Doubles = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]

PER_VIEW = 5
N_FLAGS = 9


@njit(nogil=True)
def fill_row(
    i: int,
    begin: int,
    end: int,
    nodes: Ints,
    table: npt.NDArray[np.float32],
    is_word: npt.NDArray[np.bool_],
    row: Doubles,
) -> None:
    """Numbers and flags of the junction after symbol `i` of the word [begin, end)."""
    n_views = nodes.shape[1]
    for v in range(n_views):
        if v % 2 == 0:
            here, last, following, edge = i, i - 1, i + 1, i == begin
        else:
            here, last, following, edge = i + 1, i + 2, i, i + 2 == end
        node = nodes[here, v]
        entropy = np.float64(table[node, 0])
        row[PER_VIEW * v] = entropy
        row[PER_VIEW * v + 1] = entropy if edge else entropy - table[nodes[last, v], 0]
        row[PER_VIEW * v + 2] = table[nodes[following, v], 0] - entropy
        row[PER_VIEW * v + 3] = table[node, 1]
        row[PER_VIEW * v + 4] = table[node, 2]
    flags = PER_VIEW * n_views
    for k in range(3):
        row[flags + k] = i - begin == k
        row[flags + 3 + k] = end - 2 - i == k
    row[flags + 6] = is_word[nodes[i, 0]]
    row[flags + 7] = is_word[nodes[i + 1, 1]]
    row[flags + 8] = 1.0


@njit(nogil=True)
def gather(
    junctions: Longs, words: Longs, starts: Longs, nodes: Ints, table: npt.NDArray[np.float32],
    is_word: npt.NDArray[np.bool_], out: Doubles,
) -> None:  # fmt: skip
    """Rows of the given junctions (symbol index each, in the given words)."""
    for k in range(len(junctions)):
        w = words[k]
        fill_row(junctions[k], starts[w], starts[w + 1], nodes, table, is_word, out[k])


@njit(nogil=True)
def score(
    starts: Longs, nodes: Ints, table: npt.NDArray[np.float32], is_word: npt.NDArray[np.bool_], linear: Doubles,
    square: Doubles, out: npt.NDArray[np.float32],
) -> None:  # fmt: skip
    """Log-odds of every junction: linear . row + square . row ** 2, without keeping the rows."""
    row = np.empty(len(linear))
    for w in range(len(starts) - 1):
        for i in range(starts[w], starts[w + 1] - 1):
            fill_row(i, starts[w], starts[w + 1], nodes, table, is_word, row)
            total = 0.0
            for k in range(len(row)):
                total += (linear[k] + square[k] * row[k]) * row[k]
            out[i] = total


def sample_rows(contexts: Contexts, starts: Longs, junctions: Longs) -> Doubles:
    """Raw rows, shape (n, 5 * n_views + 9), of the junctions after the given symbols.

    Args:
        contexts: from `begin_contexts`.
        starts: word starts of the corpus.
        junctions: ascending symbol indices, none of them the last of its word.
    """
    words = np.searchsorted(starts, junctions, side="right") - 1
    out = np.empty((len(junctions), PER_VIEW * contexts.nodes.shape[1] + N_FLAGS))
    gather(junctions, words, starts, contexts.nodes, contexts.table, contexts.is_word, out)
    return out
