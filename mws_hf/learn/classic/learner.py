"""Learn merges by the classic criterion, equal to those of `reference`, but each at the cost of what it changes."""

from __future__ import annotations

import math

import numpy as np

from mws_hf.corpus.progress import progress_bar
from mws_hf.kernels.arrays import Array
from mws_hf.learn.classic.coefficient import ClassicSettings
from mws_hf.learn.classic.kernels import (
    BEST,
    BLOCK,
    REBUILD,
    Keys,
    Rules,
    advance_classic,
    count_tokens,
    enter_pairs,
)
from mws_hf.learn.engine.greedy import ASK, EXHAUSTED, REACHED, ROOM
from mws_hf.learn.engine.pairs import PAIRS, PairTable
from mws_hf.learn.engine.segmentation import MERGES_A_CALL, Segmentation, learnt
from mws_hf.learn.engine.tables import make_room, open_table, resized
from mws_hf.learn.words import NO_LIMIT, UNLIMITED, LearnedMerges, MergeLimits, SymbolCorpus


def learn_classic(
    corpus: SymbolCorpus | Segmentation,
    n_merges: int,
    settings: ClassicSettings | None = None,
    limits: MergeLimits = UNLIMITED,
) -> LearnedMerges:
    """Merge the adjacent pair with the highest classic coefficient again and again (see `coefficient`).

    Pairs whose product is a token already are passed over.

    Args:
        corpus: words as symbols, or a `Segmentation` to continue on, which is changed in place.
        n_merges: how many merges are wanted. Fewer are learnt when the best coefficient falls to 0, or is not above
            `stop_threshold`.
        settings: hyper-parameters; the published ones when absent.
        limits: conditions that pairs must meet; ``min_occurrences``, ``min_value`` and ``struck`` do not count.

    Returns:
        The merges and their coefficients, rounded to 1e-9.

    >>> words = SymbolCorpus.from_words(["читать", "читал", "читка", "писать", "писал"])
    >>> learn_classic(words, 3).merges
    [('ч', 'и'), ('и', 'с'), ('п', 'ис')]
    """
    segmentation = corpus if isinstance(corpus, Segmentation) else Segmentation(corpus)
    values = segmentation.cell_values(None)
    opened = len(segmentation.tokens)
    end = opened + n_merges
    found = LearnedMerges([])
    table, keys, rules = _open(segmentation, values, _rules(settings or ClassicSettings(), limits))
    strings = segmentation.taken_strings(table, limits.never)
    status, accepted = REACHED, -1
    wanted = n_merges if n_merges < NO_LIMIT else None
    with progress_bar(limits.show_progress, total=wanted, desc="morph merges", unit="") as bar:
        while status != EXHAUSTED and len(segmentation.tokens) < end:
            goal = min(end, len(segmentation.tokens) + MERGES_A_CALL)
            status = advance_classic(table, keys, strings, goal, rules, accepted)
            bar.update(segmentation.add_products(table))
            if status == ASK:
                accepted = segmentation.accepted_pair(table, int(keys.totals[BEST]), limits.never)
            elif status == REBUILD:
                found = found.then(learnt(table, segmentation.tokens, opened, False))
                opened = len(segmentation.tokens)
                table, keys, rules = _open(segmentation, values, rules)
            if status in (ROOM, REBUILD):
                table, keys = _with_room(table, keys) if status == ROOM else (table, keys)
                strings = segmentation.taken_strings(table, limits.never)
    return found.then(learnt(table, segmentation.tokens, opened, status == EXHAUSTED))


def _rules(settings: ClassicSettings, limits: MergeLimits) -> Rules:
    return Rules(
        len_norm_factor=float(settings.len_norm_factor),
        log_base=float(settings.log_base),
        max_merge_len=int(settings.max_merge_len),
        max_len_delta=float(settings.max_len_delta),
        floor=settings.floor,
        min_frequency=max(1, limits.min_frequency),
        limit=0,
        max_token_length=limits.longest,
    )


def _open(segmentation: Segmentation, values: Array, rules: Rules) -> tuple[PairTable, Keys, Rules]:
    """Open the pair table and keys of the present segmentation, with pairs of the length that is now possible."""
    tokens = segmentation.tokens
    lengths = np.fromiter(map(len, tokens), np.int32, len(tokens))
    unigrams = np.zeros(len(tokens), np.int64)
    count_tokens(segmentation.text, values, lengths, unigrams)
    n_tokens, n_characters = int(unigrams.sum()), int((unigrams * lengths).sum())
    mean = n_characters / n_tokens if n_tokens else 0.0
    possible = (n for n in range(rules.max_merge_len, 0, -1) if n - math.sqrt(mean) <= rules.max_len_delta)
    rules = rules._replace(limit=next(possible, 0))
    table = open_table(segmentation.text, values, tokens, (1, rules.limit, rules.max_token_length), strip=True)
    n_words = int(segmentation.corpus.weights[np.diff(segmentation.corpus.starts) > 0].sum())
    largest = int(table.pairs["value"][: table.used[PAIRS]].max(initial=0))
    keys = _resized(
        Keys(
            unigrams=unigrams,
            head=np.zeros((2, 0), np.int32),
            link=np.zeros((2, 0), np.int32),
            key=np.zeros(0),
            top=np.zeros(0),
            drift=np.zeros(1),
            totals=np.array([n_tokens, n_words, n_characters, largest, -1], np.int64),
        ),
        table,
    )
    enter_pairs(table, keys, rules, 0)
    return table, keys, rules


def _with_room(table: PairTable, keys: Keys) -> tuple[PairTable, Keys]:
    table = make_room(table, int(keys.totals[BEST]))
    return table, _resized(keys, table)


def _resized(keys: Keys, table: PairTable) -> Keys:
    """Make room in keys for as many tokens and pairs as the table has; new rows are empty."""
    n_tokens, n_blocks = len(table.length), -(-len(table.pairs) // BLOCK)
    return keys._replace(
        unigrams=resized(keys.unigrams, n_tokens),
        head=resized(keys.head, n_tokens, -1),
        link=resized(keys.link, len(table.pairs), -1),
        key=resized(keys.key, n_blocks * BLOCK, -np.inf),
        top=resized(keys.top, n_blocks, -np.inf),
    )
