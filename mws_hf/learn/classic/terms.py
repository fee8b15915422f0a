"""Explain classic merges: every term of a coefficient at a given moment; no merge is chosen here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from mws_hf.errors import MwSError
from mws_hf.kernels.arrays import Array
from mws_hf.kernels.jit import njit
from mws_hf.learn.classic.coefficient import PUBLISHED, Counts, Terms, coefficient, is_candidate, terms_of
from mws_hf.learn.classic.learner import count_tokens, learn_classic
from mws_hf.learn.engine.pairs import INSIDE
from mws_hf.learn.engine.working_corpus import WorkingCorpus
from mws_hf.learn.settings import Settings
from mws_hf.learn.words import NO_LIMIT, MergeLimits, SymbolCorpus

Row: TypeAlias = dict[str, Any]
"""A pair with its `Counts`, its `Terms` (None where it never occurs), and what they come to.

``candidate``: whether the lengths allow the merge then; ``coefficient``: the total rounded to 1e-9, by which pairs are
compared, 0 when negative or no candidate.
"""


def explain_pair(
    corpus: SymbolCorpus, left: str, right: str, settings: Settings = PUBLISHED, *, show_progress: bool = False
) -> Row:
    """Compute every term of the coefficient of (left, right) after the merges that make its parts, if any.

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
            raise MwSError(f"{left!r} + {right!r}: {absent[0]!r} is neither a character nor a product")
        working.apply(merges[: max(map(products.index, made)) + 1])
    return _taken(working, [(left, right)], settings)[0]


def explain_merges(
    corpus: SymbolCorpus, n_merges: int, settings: Settings = PUBLISHED, *, show_progress: bool = False
) -> list[Row]:
    """Learn merges by the classic criterion, and compute every term of each at the time it was taken."""
    merges = learn_classic(corpus, n_merges, settings, MergeLimits(show_progress=show_progress)).merges
    return _taken(WorkingCorpus(corpus), merges, settings)


def _taken(working: WorkingCorpus, pairs: Sequence[tuple[str, str]], settings: Settings) -> list[Row]:
    """Merge pairs one after another, which changes the corpus, and explain each as it stands before its merge."""
    tokens, text, found = working.tokens, working.text, []
    values = working.cell_values(None)
    lengths = np.array([*map(len, tokens), *(len(left + right) for left, right in pairs)], np.int32)
    unigrams = np.zeros(len(lengths), np.int64)
    count_tokens(text, values, lengths, unigrams)
    ids = {token: number for number, token in enumerate(tokens)}
    weights, widths = working.corpus.weights, np.diff(working.corpus.starts)
    n_words, n_characters = int(weights[widths > 0].sum()), int((weights * widths).sum())
    for product, pair in enumerate(pairs, start=len(tokens)):
        left, right = ids[pair[0]], ids[pair[1]]
        u_l, u_r, n_tokens = int(unigrams[left]), int(unigrams[right]), int(unigrams.sum())
        b, merged = merge_and_count(text, values, lengths, left, right, product)
        sizes = max(1, len(pair[0].lstrip())), len(pair[1])
        counts = Counts(u_l, u_r, int(b), *sizes, n_tokens, n_tokens - n_words, n_characters)
        found.append(_row(pair, counts, settings))
        np.subtract.at(unigrams, [left, right], merged)
        unigrams[product] = merged
        ids["".join(pair)] = product
    return found


@njit
def merge_and_count(tok: Array, val: Array, length: Array, left: int, right: int, product: int) -> tuple[int, int]:
    """Merge a pair in all words, left to right; returns the weight of its places, which may overlap, and of merges."""
    b = merged = 0
    at, joined = 0, False  # whether the token at `at` is the right part of a merge already
    token = np.int64(tok[0])
    while at < len(tok) - 1:
        after = at + 1 if token < 0 else at + length[token]
        following = np.int64(tok[after])
        here = token == left and following == right
        if here:
            b += val[at]
        joined = here and not joined
        if joined:
            merged += val[at]
            last = after + length[right] - 1
            for cell in range(at + 1, last):
                tok[cell] = INSIDE
            tok[at] = tok[last] = product
        at, token = after, following
    return b, merged


def _row(pair: tuple[str, str], counts: Counts, settings: Settings) -> Row:
    """Work the terms out from the counts."""
    size = counts.left_size + counts.right_size
    limits = settings.max_merge_len, settings.max_len_delta
    possible = counts.n_tokens > 0 and is_candidate(size, counts.n_tokens, counts.n_characters, *limits)
    rules = settings.len_norm_factor, settings.log_base
    found = terms_of(counts, *rules)._asdict() if counts.b > 0 else dict.fromkeys(Terms._fields)
    last = {"candidate": possible, "coefficient": coefficient(counts, settings) if counts.b > 0 else 0.0}
    return {"left": pair[0], "right": pair[1], **counts._asdict(), **found, **last}
