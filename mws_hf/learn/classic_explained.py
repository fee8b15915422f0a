"""Explain merges of the original MwS: compute all terms of their coefficients at the time of the merge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from mws_hf.errors import MwSError
from mws_hf.kernels.containers import find_pair
from mws_hf.learn.candidates import make_room, open_table
from mws_hf.learn.classic import count_tokens, learn_classic
from mws_hf.learn.classic_coefficient import PUBLISHED, Counts, Terms, coefficient, is_candidate, terms_of
from mws_hf.learn.limits import NO_LIMIT, MergeLimits
from mws_hf.learn.pairs import Bounds, merge_pair
from mws_hf.learn.settings import Settings
from mws_hf.learn.words import SymbolCorpus
from mws_hf.learn.working_corpus import WorkingCorpus

_ALL_PAIRS = Bounds(1, NO_LIMIT, NO_LIMIT)
"""No limits, because any pair may have to be explained."""

Row: TypeAlias = dict[str, Any]
"""A pair with its `Counts`, its `Terms` (None if it does not occur), and two results.

``candidate`` is True if the lengths allow the merge at this time. ``coefficient`` is the total rounded to 1e-9, by
which pairs are compared; it is 0 if the total is negative or the pair is not a candidate.
"""


def explain_pair(
    corpus: SymbolCorpus, left: str, right: str, settings: Settings = PUBLISHED, *, show_progress: bool = False
) -> Row:
    """Compute all terms of the coefficient of a pair.

    If a part is not a character, merges are learned and applied first, up to the one that makes this part.

    Args:
        corpus: the distinct words.
        left: left part.
        right: right part.
        settings: settings of the score.
        show_progress: show a progress bar on stderr if it is a terminal.

    Returns:
        The pair with its counts and terms.

    Raises:
        MwSError: a part is neither a letter of the training words nor a token that a merge makes.

    >>> words = SymbolCorpus.from_words(["читать", "читал", "читка", "писать", "писал"])
    >>> found = explain_pair(words, "ч", "и")
    >>> found["b"], round(found["pmi"], 3), round(found["gain"], 3), found["coefficient"]
    (3, 2.12, 0.475, 0.618186445)
    """
    working = WorkingCorpus(corpus)
    if made := {left, right}.difference(corpus.alphabet):
        merges = learn_classic(corpus, NO_LIMIT, settings, MergeLimits(show_progress=show_progress)).merges
        products = ["".join(pair) for pair in merges]
        if absent := sorted(made.difference(products)):
            raise MwSError(
                f"{left!r} + {right!r}: {absent[0]!r} is neither a letter of the training words nor a token that a "
                "merge makes; give other parts, or other words"
            )
        working.apply(merges[: max(map(products.index, made)) + 1])
    return _explained(working, [(left, right)], settings)[0]


def explain_merges(
    corpus: SymbolCorpus, n_merges: int, settings: Settings = PUBLISHED, *, show_progress: bool = False
) -> list[Row]:
    """Learn merges by the original MwS score, and compute all terms of each at the time of the merge.

    Args:
        corpus: the distinct words.
        n_merges: maximum number of merges.
        settings: settings of the score.
        show_progress: show a progress bar on stderr if it is a terminal.

    Returns:
        The pair of each merge with its counts and terms, in the order of the merges.

    >>> rows = explain_merges(SymbolCorpus.from_words(["читать", "читал", "читка", "писать", "писал"]), 2)
    >>> [(row["left"], row["right"], row["b"]) for row in rows]
    [('ч', 'и', 3), ('и', 'с', 2)]
    """
    merges = learn_classic(corpus, n_merges, settings, MergeLimits(show_progress=show_progress)).merges
    return _explained(WorkingCorpus(corpus), merges, settings)


def _explained(working: WorkingCorpus, pairs: Sequence[tuple[str, str]], settings: Settings) -> list[Row]:
    """Explain each pair directly before it is merged; the corpus is changed by the merges."""
    values, ids = working.cell_values(None), {token: number for number, token in enumerate(working.tokens)}
    table, found = open_table(working.text, values, working.tokens, _ALL_PAIRS), []
    unigrams = np.zeros(len(ids) + len(pairs), np.int64)
    count_tokens(working.text, values, table.length, unigrams)
    weights, widths = working.corpus.weights, np.diff(working.corpus.starts)
    n_words, n_characters = int(weights[widths > 0].sum()), int((weights * widths).sum())
    for product, pair in enumerate(pairs, start=len(ids)):
        left, right = ids[pair[0]], ids[pair[1]]
        u_l, u_r, n_tokens = int(unigrams[left]), int(unigrams[right]), int(unigrams.sum())
        row = int(find_pair(table.keys, table.ids, left, right))
        b = int(table.pairs["value"][row]) if row >= 0 else 0
        sizes = max(1, len(pair[0].lstrip())), len(pair[1])
        counts = Counts(u_l, u_r, b, *sizes, n_tokens, n_tokens - n_words, n_characters)
        found.append(_row(pair, counts, settings))
        if b > 0:
            table = make_room(table, row)
            unigrams[product] = merge_pair(table, row, _ALL_PAIRS)
            np.subtract.at(unigrams, [left, right], unigrams[product])
            ids["".join(pair)] = product
    return found


def _row(pair: tuple[str, str], counts: Counts, settings: Settings) -> Row:
    """Compute the terms of a pair from its counts."""
    size = counts.left_size + counts.right_size
    limits = settings.max_merge_len, settings.max_len_delta
    possible = counts.n_tokens > 0 and is_candidate(size, counts.n_tokens, counts.n_characters, *limits)
    rules = settings.len_norm_factor, settings.log_base
    found = terms_of(counts, *rules)._asdict() if counts.b > 0 else dict.fromkeys(Terms._fields)
    last = {"candidate": possible, "coefficient": coefficient(counts, settings) if counts.b > 0 else 0.0}
    return {"left": pair[0], "right": pair[1], **counts._asdict(), **found, **last}
