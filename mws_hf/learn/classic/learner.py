"""The classic criterion at the price of BPE: same merges as classic_reference.py, but each costs what it changes."""

from __future__ import annotations

import math

import numpy as np
from tqdm import tqdm

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
from mws_hf.learn.engine.segmentation import Segmentation, learnt
from mws_hf.learn.engine.strings import BYTE_TOKENS
from mws_hf.learn.engine.tables import NO_LIMIT, make_room, open_table, resized
from mws_hf.learn.words import LearnedMerges, SymbolCorpus

_MERGES_A_CALL = 500


def learn_classic(
    corpus: SymbolCorpus | Segmentation,
    n_merges: int,
    score: ClassicSettings | None = None,
    *,
    forbidden: frozenset[str] = frozenset(),
    max_token_length: int | None = None,
    min_frequency: int = 1,
    show_progress: bool = False,
) -> LearnedMerges:
    """Repeatedly merge the adjacent pair with the highest classic coefficient (see `mws_hf.learn.classic.coefficient`).

    Pairs whose product is a token already, is in `forbidden` or reads like a byte token ``<0x..>`` are passed over.

    Args:
        corpus: words as symbols, or a `Segmentation` to continue on (it is moved on in place).
        n_merges: how many merges are wanted; fewer are learnt when the best coefficient falls to 0 (or is not above
            `score.stop_threshold`).
        score: hyper-parameters; the published ones when absent.
        forbidden: strings that must not become tokens.
        max_token_length: longest product in characters, leading whitespace included; None: no limit.
        min_frequency: least weighted count of a pair.
        show_progress: a bar on stderr when it is a terminal.

    Returns:
        The merges and their coefficients, rounded to 1e-9.

    >>> words = SymbolCorpus.from_words(["читать", "читал", "читка", "писать", "писал"])
    >>> learn_classic(words, 3).merges
    [('ч', 'и'), ('и', 'с'), ('п', 'ис')]
    """
    segmentation = corpus if isinstance(corpus, Segmentation) else Segmentation(corpus)
    forbidden = forbidden.union(BYTE_TOKENS)
    values = segmentation.cell_values(None)
    opened = len(segmentation.tokens)
    end = opened + n_merges
    parts: list[LearnedMerges] = []
    rules = _rules(score or ClassicSettings(), min_frequency, max_token_length)
    table, keys, rules = _open(segmentation, values, rules)
    strings = segmentation.taken_strings(table, forbidden)
    status, accepted = REACHED, -1
    wanted = n_merges if n_merges < NO_LIMIT else None
    with tqdm(total=wanted, desc="morph merges", unit="", disable=None if show_progress else True) as bar:
        while status != EXHAUSTED and len(segmentation.tokens) < end:
            goal = min(end, len(segmentation.tokens) + _MERGES_A_CALL)
            status = advance_classic(table, keys, strings, goal, rules, accepted)
            bar.update(segmentation.add_products(table))
            if status == ASK:
                accepted = segmentation.accepted_pair(table, int(keys.totals[BEST]), forbidden)
            elif status == REBUILD:
                parts.append(learnt(table, segmentation.tokens, opened, False))
                opened = len(segmentation.tokens)
                table, keys, rules = _open(segmentation, values, rules)
            if status in (ROOM, REBUILD):
                table, keys = _enlarged(table, keys) if status == ROOM else (table, keys)
                strings = segmentation.taken_strings(table, forbidden)
    parts.append(learnt(table, segmentation.tokens, opened, False))
    merges = [merge for part in parts for merge in part.merges]
    return LearnedMerges(merges, [value for part in parts for value in part.scores], status == EXHAUSTED)


def _rules(score: ClassicSettings, min_frequency: int, max_token_length: int | None) -> Rules:
    return Rules(
        len_norm_factor=float(score.len_norm_factor),
        log_base=float(score.log_base),
        max_merge_len=int(score.max_merge_len),
        max_len_delta=float(score.max_len_delta),
        floor=score.floor,
        min_frequency=max(1, min_frequency),
        limit=0,
        max_token_length=max_token_length or NO_LIMIT,
    )


def _open(segmentation: Segmentation, values: Array, rules: Rules) -> tuple[PairTable, Keys, Rules]:
    """Pair table and keys of the segmentation as it is now, with pairs of the length now possible."""
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
    largest = int(table.value[: table.used[PAIRS]].max(initial=0))
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


def _enlarged(table: PairTable, keys: Keys) -> tuple[PairTable, Keys]:
    table = make_room(table, int(keys.totals[BEST]))
    return table, _resized(keys, table)


def _resized(keys: Keys, table: PairTable) -> Keys:
    """Keys with room for as many tokens and pairs as the table has; new rows are empty."""
    n_tokens, n_blocks = len(table.length), -(-len(table.left) // BLOCK)
    return keys._replace(
        unigrams=resized(keys.unigrams, n_tokens),
        head=resized(keys.head, n_tokens, -1),
        link=resized(keys.link, len(table.left), -1),
        key=resized(keys.key, n_blocks * BLOCK, -np.inf),
        top=resized(keys.top, n_blocks, -np.inf),
    )
