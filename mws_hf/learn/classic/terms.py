"""Explain classic merges: every term of a coefficient at a given moment; no merge is chosen here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mws_hf.errors import MwSError
from mws_hf.kernels.arrays import Longs
from mws_hf.kernels.hash_tables import find_pair
from mws_hf.learn.classic.coefficient import PUBLISHED, Counts, Terms, coefficient, is_candidate, terms
from mws_hf.learn.classic.learner import count_tokens, learn_classic
from mws_hf.learn.engine.pairs import TOKENS, PairTable, merge_pair
from mws_hf.learn.engine.tables import make_room, open_table
from mws_hf.learn.engine.working_corpus import WorkingCorpus
from mws_hf.learn.settings import Settings
from mws_hf.learn.words import NO_LIMIT, MergeLimits, SymbolCorpus

_ANY_PAIR = (1, NO_LIMIT, NO_LIMIT)


class MergeExplanation(NamedTuple):
    """Terms of one pair at one moment, if it occurs; `candidate`: whether the lengths allow the merge then.

    `coefficient` is the total rounded to 1e-9, by which pairs are compared, 0 when negative or no candidate.
    """

    left: str
    right: str
    counts: Counts
    terms: Terms | None
    candidate: bool
    coefficient: float

    def to_dict(self) -> dict[str, Any]:
        """Convert all numbers to one flat dict, for tables and JSON."""
        terms = dict.fromkeys(Terms._fields) if self.terms is None else self.terms._asdict()
        last = {"candidate": self.candidate, "coefficient": self.coefficient}
        return {"left": self.left, "right": self.right, **self.counts._asdict(), **terms, **last}


def explain_pair(
    corpus: SymbolCorpus,
    left: str,
    right: str,
    settings: Settings = PUBLISHED,
    merges: Sequence[tuple[str, str]] | None = None,
    *,
    show_progress: bool = False,
) -> MergeExplanation:
    """Compute every term of the coefficient of (left, right) after the merges that make its parts.

    `merges` are carried out first; None: the merges the criterion learns until both parts are tokens.

    >>> words = SymbolCorpus.from_words(["читать", "читал", "читка", "писать", "писал"])
    >>> found = explain_pair(words, "ч", "и")
    >>> found.counts.b, round(found.terms.pmi, 3), round(found.terms.gain, 3), found.coefficient
    (3, 2.12, 0.475, 0.618186445)
    """
    if merges is None and {left, right} <= {*corpus.alphabet}:
        merges = []
    elif merges is None:  # up to the last one that makes one of the parts
        merges = learn_classic(corpus, NO_LIMIT, settings, MergeLimits(show_progress=show_progress)).merges
        made = [rank for rank, pair in enumerate(merges) if "".join(pair) in {left, right}.difference(corpus.alphabet)]
        merges = merges[: made[-1] + 1] if made else merges
    return _replayed(corpus, merges, settings, (left, right))[-1]


def explain_merges(
    corpus: SymbolCorpus,
    merges: int | Sequence[tuple[str, str]],
    settings: Settings = PUBLISHED,
    *,
    show_progress: bool = False,
) -> list[MergeExplanation]:
    """Compute every term of each merge's coefficient at the time the merge was taken.

    `merges` is a merge list to replay, whoever learnt it, or the number of merges to learn by the classic criterion.
    """
    if isinstance(merges, int):
        merges = learn_classic(corpus, merges, settings, MergeLimits(show_progress=show_progress)).merges
    return _replayed(corpus, merges, settings)


def _replayed(
    corpus: SymbolCorpus,
    merges: Sequence[tuple[str, str]],
    settings: Settings,
    last: tuple[str, str] | None = None,
) -> list[MergeExplanation]:
    """Carry merges out one by one and explain each; or only the pair `last`, after all of them."""
    segmentation = WorkingCorpus(corpus)
    values = segmentation.cell_values(None)
    unigrams = np.zeros(len(segmentation.tokens) + len(merges), np.int64)
    count_tokens(segmentation.text, values, np.ones(len(unigrams), np.int32), unigrams)
    table = open_table(segmentation.text, values, segmentation.tokens, _ANY_PAIR)
    found = []
    for left, right in merges:
        ids = segmentation.add_merge(left, right)
        pair, b = _occurrences(table, ids)
        if last is None:
            found.append(_explanation(segmentation, unigrams, ids, b, settings))
        table = make_room(table, max(pair, 0))
        replaced = int(merge_pair(table, pair, _ANY_PAIR)) if b > 0 else _add_absent(table, *ids)
        np.subtract.at(unigrams, list(ids), replaced)
        unigrams[len(segmentation.tokens) - 1] = replaced
    if last is None:
        return found
    for part in last:
        if part not in segmentation.tokens:
            raise MwSError(f"{last[0]!r} + {last[1]!r}: {part!r} is neither a character nor a product")
    ids = segmentation.tokens.index(last[0]), segmentation.tokens.index(last[1])
    return [_explanation(segmentation, unigrams, ids, _occurrences(table, ids)[1], settings)]


def _occurrences(table: PairTable, ids: tuple[int, int]) -> tuple[int, int]:
    """Return the row of a pair in the table, and the weight of its occurrences; -1 and 0 where there are none."""
    pair = int(find_pair(table.keys, table.ids, *ids))
    present = pair >= 0 and table.pairs["listed"][pair] > 0
    return (pair, int(table.pairs["value"][pair])) if present else (-1, 0)


def _add_absent(table: PairTable, left: int, right: int) -> int:
    """Add a product that occurs nowhere, so that later merges may name it; return 0, its occurrences."""
    at = int(table.used[TOKENS])
    table.length[at] = table.left_size[at] = table.length[left] + table.length[right]
    table.token_left[at], table.token_right[at] = left, right
    table.used[TOKENS] = at + 1
    return 0


def _explanation(
    segmentation: WorkingCorpus, unigrams: Longs, ids: tuple[int, int], b: int, settings: Settings
) -> MergeExplanation:
    corpus = segmentation.corpus
    left, right = (segmentation.tokens[i] for i in ids)
    widths = np.diff(corpus.starts)
    n_tokens = int(unigrams.sum())
    counts = Counts(
        u_l=int(unigrams[ids[0]]),
        u_r=int(unigrams[ids[1]]),
        b=b,
        left_size=max(1, len(left.lstrip())),
        right_size=len(right),
        n_tokens=n_tokens,
        n_pairs=n_tokens - int(corpus.weights[widths > 0].sum()),
        n_characters=int((corpus.weights * widths).sum()),
    )
    size = counts.left_size + counts.right_size
    possible = n_tokens > 0 and is_candidate(
        size, n_tokens, counts.n_characters, settings.max_merge_len, settings.max_len_delta
    )
    found = terms(counts, settings) if b > 0 else None
    value = coefficient(counts, settings) if found is not None else 0.0
    return MergeExplanation(left, right, counts, found, possible, value)
