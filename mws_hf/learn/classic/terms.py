"""Explain classic merges: every term of a coefficient at a given moment; no merge is chosen here."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from mws_hf.errors import MwSError
from mws_hf.kernels.arrays import Array
from mws_hf.learn.classic.coefficient import PUBLISHED, Counts, Terms, coefficient, is_candidate, terms_of
from mws_hf.learn.classic.learner import count_tokens, learn_classic
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
    return _row(working, working.cell_values(None), (left, right), settings)


def explain_merges(
    corpus: SymbolCorpus, n_merges: int, settings: Settings = PUBLISHED, *, show_progress: bool = False
) -> list[Row]:
    """Learn merges by the classic criterion, and compute every term of each at the time it was taken."""
    working = WorkingCorpus(corpus)
    values = working.cell_values(None)
    found = []
    for pair in learn_classic(corpus, n_merges, settings, MergeLimits(show_progress=show_progress)).merges:
        found.append(_row(working, values, pair, settings))
        working.apply([pair])
    return found


def _row(working: WorkingCorpus, values: Array, pair: tuple[str, str], settings: Settings) -> Row:
    """Count the tokens and the pair in the corpus as it stands; `values` are the weights by cell."""
    corpus, tokens, text = working.corpus, working.tokens, working.text
    lengths = np.fromiter(map(len, tokens), np.int32, len(tokens))
    unigrams = np.zeros(len(tokens), np.int64)
    count_tokens(text, values, lengths, unigrams)
    left, right = map(tokens.index, pair)
    b = int(values[:-1][(text[:-1] == left) & (text[1:] == right)].sum())
    if left == right and lengths[left] == 2:
        b -= int(unigrams[left])  # the two cells of one token are no pair
    widths = np.diff(corpus.starts)
    n_tokens = int(unigrams.sum())
    counts = Counts(
        u_l=int(unigrams[left]),
        u_r=int(unigrams[right]),
        b=b,
        left_size=max(1, len(pair[0].lstrip())),
        right_size=len(pair[1]),
        n_tokens=n_tokens,
        n_pairs=n_tokens - int(corpus.weights[widths > 0].sum()),
        n_characters=int((corpus.weights * widths).sum()),
    )
    size = counts.left_size + counts.right_size
    limits = settings.max_merge_len, settings.max_len_delta
    possible = n_tokens > 0 and is_candidate(size, n_tokens, counts.n_characters, *limits)
    rules = settings.len_norm_factor, settings.log_base
    found = terms_of(counts, *rules)._asdict() if b > 0 else dict.fromkeys(Terms._fields)
    last = {"candidate": possible, "coefficient": coefficient(counts, settings) if b > 0 else 0.0}
    return {"left": pair[0], "right": pair[1], **counts._asdict(), **found, **last}
