"""Learn merges by the original MwS score, with the same result as evaluating every pair at every merge.

The formula of the coefficient and its symbols are in `classic_coefficient`: N is the number of tokens, B the number of
neighboring pairs, and avg the mean token length. Every merge changes N and B, and with them every coefficient, but only
within limits. Let the counts of a pair be fixed while N falls to N1 and B to B1, and let d = ln(N / N1) and
c = ln(B / B1). Then, in natural logarithms,

* ln(p_b / (p_l * p_r)) / 2 changes by (c - 1.75 * d) / 2, which is the same for all pairs;
* t falls, because p_r rises;
* -ln(log_base - factor + factor * penalty) rises by at most d, because avg rises by the factor exp(d);
* -p * ln(p) rises by at most exp(-2) * d for p_l and 0.75 * exp(-2) * d for p_r (the maximum of p * (-ln(p) - 1));
* p_b * ln(p_b) falls while p_b < exp(-1), and rises by at most c if it is larger.

The sum of these limits is an upper bound for the rise of any coefficient, and does not depend on the pair. These sums
are added up over all merges; the total is called `drift`. For each pair, `key` is its coefficient minus the drift at
the time when it was evaluated. So key + drift is never below the present coefficient. At a merge only two kinds of
pairs are evaluated: those whose own counts changed, because they contain a merged token, and those whose bound reaches
the best coefficient found so far. Keys are searched in blocks, each with an upper bound.

The table does not contain pairs whose product would be too long at present. When the mean token length allows longer
products, a new table is made (REBUILD).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mws_hf.corpus.files import progress_bar
from mws_hf.kernels import Array
from mws_hf.kernels.jit import njit
from mws_hf.learn.candidates import (
    EXHAUSTED,
    FULL,
    HASH_KNOWN,
    REACHED,
    known,
    make_room,
    open_table,
    remember,
    resized,
)
from mws_hf.learn.classic_coefficient import (
    PUBLISHED,
    UNITS,
    Counts,
    floor,
    is_candidate,
    terms_of,
    to_units,
)
from mws_hf.learn.limits import NO_LIMIT, UNLIMITED, LearnedMerges, MergeLimits
from mws_hf.learn.pairs import PAIRS, TOKENS, Bounds, PairTable, has_room, merge_pair
from mws_hf.learn.settings import Settings
from mws_hf.learn.words import SymbolCorpus
from mws_hf.learn.working_corpus import MERGES_PER_CALL, WorkingCorpus, learned_merges

REBUILD = 4
"""A status of `advance_classic`, in addition to those of candidates.py: a new pair table is needed."""
BLOCK = 128
"""Number of pairs in a block of keys."""
_MARGIN = 1e-6
"""Tolerance of bounds, which is larger than the rounding of coefficients to 1e-9 and than rounding errors."""
N_TOKENS, N_WORDS, N_CHARACTERS, LARGEST, BEST = 0, 1, 2, 3, 4
"""Indices of `Keys.totals`."""

PairArrays = tuple[Array, Array, Array]
"""`pairs`, `left_size` and `length` of a `PairTable`; passing the whole table counts too many references in a loop."""

_terms = njit(terms_of)
_is_candidate = njit(is_candidate)
_to_units = njit(to_units)


class Keys(NamedTuple):
    """Arrays of the search, in addition to the pair table.

    Attributes:
        unigrams: int64, count of each token.
        head: int32, shape (2, tokens), first pair of a token as left and as right part.
        link: int32, shape (2, pairs), the next such pair, -1 at the end.
        key: float64, by pair (see the docstring of the module); -inf if the pair can never be merged.
        top: float64, by block of pairs, not below its greatest key.
        drift: float64, shape (1,).
        totals: int64, shape (5,): number of tokens (N), weight of all words, number of characters, the largest count of
            a pair when the table was made, and the row of the best pair.
    """

    unigrams: Array
    head: Array
    link: Array
    key: Array
    top: Array
    drift: Array
    totals: Array


class Rules(NamedTuple):
    """The settings of the original MwS score as kernels need them.

    Attributes:
        len_norm_factor: weight of the length penalty.
        log_base: base of the logarithms.
        max_merge_len: maximum length of a product in characters.
        max_len_delta: maximum difference from the square root of the mean token length.
        floor: coefficient that a pair must exceed, in units of 1e-9.
        min_frequency: minimum count of a pair.
        limit: maximum length of a product at present.
        max_token_length: maximum length of a token, with its leading space.
    """

    len_norm_factor: float
    log_base: float
    max_merge_len: int
    max_len_delta: float
    floor: int
    min_frequency: int
    limit: int
    max_token_length: int


@njit
def count_tokens(tok: Array, val: Array, length: Array, unigrams: Array) -> None:
    """Add the weight of every token of the text to `unigrams`; `val` has the weight of a word in all its cells."""
    position = 0
    while position < len(tok):
        token = tok[position]
        if token < 0:
            position += 1
        else:
            unigrams[token] += val[position]
            position += length[token]


@njit
def _evaluate(pairs: PairArrays, unigrams: Array, totals: Array, rules: Rules, p: int) -> float:
    """Compute the coefficient of a pair, which can be negative; -inf if the pair can never be merged."""
    rows, left_size, length = pairs
    left, right, value = rows[p].left, rows[p].right, rows[p].value
    left_length, right_length = np.int64(max(1, left_size[left])), np.int64(length[right])
    n_tokens, n_characters = totals[N_TOKENS], totals[N_CHARACTERS]
    if value < rules.min_frequency or not _is_candidate(
        left_length + right_length, n_tokens, n_characters, rules.max_merge_len, rules.max_len_delta
    ):
        return -np.inf
    counts = Counts(
        unigrams[left],
        unigrams[right],
        value,
        int(left_length),
        int(right_length),
        n_tokens,
        n_tokens - totals[N_WORDS],
        n_characters,
    )
    return _terms(counts, rules.len_norm_factor, rules.log_base).total


@njit
def enter_pairs(t: PairTable, k: Keys, rules: Rules, first: int) -> None:
    """Link and evaluate the pairs from row `first` on."""
    rows, head, link, key, top = t.pairs, k.head, k.link, k.key, k.top
    pairs, unigrams, totals = (rows, t.left_size, t.length), k.unigrams, k.totals
    for p in range(first, t.used[PAIRS]):
        left, right = rows[p].left, rows[p].right
        link[0, p], head[0, left] = head[0, left], p
        link[1, p], head[1, right] = head[1, right], p
        key[p] = _evaluate(pairs, unigrams, totals, rules, p) - k.drift[0]
        top[p // BLOCK] = max(top[p // BLOCK], key[p])


@njit
def _renew(t: PairTable, k: Keys, rules: Rules, token: int) -> None:
    """Evaluate all pairs of a token whose count changed, and unlink those that can never be merged."""
    head, link, key, top, drift = k.head, k.link, k.key, k.top, k.drift[0]
    pairs, unigrams, totals = (t.pairs, t.left_size, t.length), k.unigrams, k.totals
    for side in range(2):
        before = np.int64(-1)
        p = np.int64(head[side, token])
        while p >= 0:
            after = np.int64(link[side, p])
            key[p] = _evaluate(pairs, unigrams, totals, rules, p) - drift
            top[p // BLOCK] = max(top[p // BLOCK], key[p])
            if key[p] > -np.inf:
                before = p
            elif before >= 0:
                link[side, before] = after
            else:
                head[side, token] = after
            p = after


@njit
def _highest(key: Array, top: Array, n_blocks: int) -> int:
    """Return the pair with the greatest key, or -1; updates the upper bounds of the blocks that it searches."""
    while n_blocks > 0:
        block = int(np.argmax(top[:n_blocks]))
        if top[block] == -np.inf:
            break
        best = block * BLOCK + int(np.argmax(key[block * BLOCK : (block + 1) * BLOCK]))
        if key[best] == top[block]:
            return best
        top[block] = key[best]
    return -1


@njit
def _before(pair: Any, other: Any) -> bool:
    """Return whether a pair comes before another one with an equal coefficient: by left, then by right token."""
    return bool(pair.left < other.left or (pair.left == other.left and pair.right < other.right))


@njit
def _best_pair(t: PairTable, k: Keys, rules: Rules) -> tuple[int, int]:
    """Return the row of the best pair, or -1, and its coefficient in units of 1e-9."""
    rows, key, top, drift = t.pairs, k.key, k.top, k.drift[0]
    pairs, unigrams, totals = (rows, t.left_size, t.length), k.unigrams, k.totals
    best, best_units = -1, rules.floor
    n_blocks = (t.used[PAIRS] + BLOCK - 1) // BLOCK
    guess = _highest(key, top, n_blocks)
    if guess >= 0:
        coefficient = _evaluate(pairs, unigrams, totals, rules, guess)
        best_units = max(best_units, _to_units(coefficient) - 1) if coefficient > -np.inf else best_units
    for block in range(n_blocks):
        if top[block] + drift + _MARGIN < best_units / UNITS:
            continue
        highest = -np.inf
        for p in range(block * BLOCK, (block + 1) * BLOCK):
            if key[p] + drift + _MARGIN >= best_units / UNITS:
                coefficient = _evaluate(pairs, unigrams, totals, rules, p)
                key[p] = coefficient - drift
                units = _to_units(coefficient) if coefficient > -np.inf else -1
                tie = best >= 0 and units == best_units
                if units > best_units or (tie and _before(rows[p], rows[best])):
                    best, best_units = p, units
            highest = max(highest, key[p])
        top[block] = highest
    return best, best_units


@njit
def _shift(k: Keys, log_base: float, n_new: int) -> None:
    """Set N to `n_new`, and raise the drift by the maximum rise of any coefficient."""
    n_old, words = k.totals[N_TOKENS], k.totals[N_WORDS]
    k.totals[N_TOKENS] = n_new
    if n_new == words:
        return
    d = math.log(n_old / n_new)
    e = math.log((n_old - words) / (n_new - words))
    pair_gain = 1.0 if k.totals[LARGEST] / (n_new - words) > 0.36 else 0.0
    k.drift[0] += ((1.0 - 0.875 + 1.75 * math.exp(-2.0)) * d + (0.5 + pair_gain) * e) / math.log(log_base)


@njit
def advance_classic(t: PairTable, k: Keys, strings: Array, goal: int, rules: Rules, accepted: int) -> int:
    """Merge until there are `goal` tokens or the caller is needed; then the pair is `k.totals[BEST]`.

    Args:
        t: the pair table.
        k: the arrays of the search.
        strings: set of the hashes of strings that must not become products.
        goal: number of tokens.
        rules: settings.
        accepted: a pair whose product has a known hash, but is a new string, as the caller found out; -1 if none.

    Returns:
        `REACHED`, `EXHAUSTED` (no candidate is left), `FULL` (the arrays must be enlarged), `HASH_KNOWN` (the hash of
        the product is in `strings`, so the caller must compare the strings themselves) or `REBUILD` (products of
        ``rules.limit + 1`` characters have become possible, so that a new table is needed).
    """
    while t.used[TOKENS] < goal:
        if k.totals[N_TOKENS] == k.totals[N_WORDS]:
            return EXHAUSTED
        mean = k.totals[N_CHARACTERS] / k.totals[N_TOKENS]
        if rules.limit < rules.max_merge_len and rules.limit + 1 - math.sqrt(mean) <= rules.max_len_delta:
            return REBUILD
        p, units = _best_pair(t, k, rules)
        k.totals[BEST] = p
        if p < 0:
            return EXHAUSTED
        left, right = np.int64(t.pairs[p].left), np.int64(t.pairs[p].right)
        product = t.token_hash[left] * t.token_power[right] + t.token_hash[right]
        if p != accepted and known(strings, product):
            return HASH_KNOWN
        if not has_room(t, p):
            return FULL
        first, new = t.used[PAIRS], t.used[TOKENS]
        t.token_score[new] = units / UNITS
        total = merge_pair(t, p, Bounds(1, rules.limit, rules.max_token_length))
        remember(strings, product)
        k.unigrams[new] = total
        k.unigrams[left] -= total
        k.unigrams[right] -= total
        _shift(k, rules.log_base, k.totals[N_TOKENS] - total)
        _renew(t, k, rules, left)
        _renew(t, k, rules, right)
        enter_pairs(t, k, rules, first)
    return REACHED


def learn_classic(
    corpus: SymbolCorpus | WorkingCorpus,
    n_merges: int,
    settings: Settings = PUBLISHED,
    limits: MergeLimits = UNLIMITED,
) -> LearnedMerges:
    """Repeatedly merge the neighboring pair with the highest coefficient of the original MwS (see `coefficient`).

    Pairs whose product is a token already are skipped. Learning stops early when no coefficient is above 0, or above
    the setting `stop_threshold` if that is higher.

    Args:
        corpus: the distinct words; a `WorkingCorpus` is changed in place.
        n_merges: maximum number of merges.
        settings: settings of the classic criterion; by default those of the original notebook.
        limits: what may be merged; ``min_occurrences``, ``min_value`` and ``excluded_pairs`` are ignored.

    Returns:
        The merges with their coefficients.

    >>> learned = learn_classic(SymbolCorpus.from_words(["читать", "читал", "читка", "писать", "писал"]), 2)
    >>> learned.merges, learned.scores
    ([('ч', 'и'), ('и', 'с')], [0.618186445, 1.123753196])
    """
    working = corpus if isinstance(corpus, WorkingCorpus) else WorkingCorpus(corpus)
    values = working.cell_values(None)
    opened = len(working.tokens)
    end = opened + n_merges
    found = LearnedMerges([])
    table, keys, rules = _open_keys(working, values, _rules(settings, limits))
    strings = working.taken_strings(table, limits.never)
    status, accepted = REACHED, -1
    wanted = n_merges if n_merges < NO_LIMIT else None
    with progress_bar(limits.show_progress, total=wanted, desc="morph merges", unit="") as bar:
        while status != EXHAUSTED and len(working.tokens) < end:
            goal = min(end, len(working.tokens) + MERGES_PER_CALL)
            status = advance_classic(table, keys, strings, goal, rules, accepted)
            bar.update(working.add_products(table))
            if status == HASH_KNOWN:
                accepted = working.accepted_pair(table, int(keys.totals[BEST]), limits.never)
            elif status == REBUILD:
                found = found.followed_by(learned_merges(table, working.tokens, opened, False))
                opened = len(working.tokens)
                table, keys, rules = _open_keys(working, values, rules)
            elif status == FULL:
                table = make_room(table, int(keys.totals[BEST]))
                keys = _resized(keys, table)
            if status in (FULL, REBUILD):
                strings = working.taken_strings(table, limits.never)
    return found.followed_by(learned_merges(table, working.tokens, opened, status == EXHAUSTED))


def _rules(settings: Settings, limits: MergeLimits) -> Rules:
    return Rules(
        len_norm_factor=float(settings.len_norm_factor),
        log_base=float(settings.log_base),
        max_merge_len=int(settings.max_merge_len),
        max_len_delta=float(settings.max_len_delta),
        floor=floor(settings),
        min_frequency=max(1, limits.min_frequency),
        limit=0,
        max_token_length=limits.longest,
    )


def _open_keys(working: WorkingCorpus, values: Array, rules: Rules) -> tuple[PairTable, Keys, Rules]:
    """Make the pair table and keys of the present corpus, with pairs of the lengths that are possible now."""
    tokens = working.tokens
    lengths = np.fromiter(map(len, tokens), np.int32, len(tokens))
    unigrams = np.zeros(len(tokens), np.int64)
    count_tokens(working.text, values, lengths, unigrams)
    n_tokens, n_characters = int(unigrams.sum()), int((unigrams * lengths).sum())
    mean = n_characters / n_tokens if n_tokens else 0.0
    possible = (n for n in range(rules.max_merge_len, 0, -1) if n - math.sqrt(mean) <= rules.max_len_delta)
    rules = rules._replace(limit=next(possible, 0))
    table = open_table(working.text, values, tokens, Bounds(1, rules.limit, rules.max_token_length), strip=True)
    n_words = int(working.corpus.weights[np.diff(working.corpus.starts) > 0].sum())
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


def _resized(keys: Keys, table: PairTable) -> Keys:
    """Enlarge keys to the numbers of tokens and pairs in the table; new rows are empty."""
    n_tokens, n_blocks = len(table.length), -(-len(table.pairs) // BLOCK)
    return keys._replace(
        unigrams=resized(keys.unigrams, n_tokens),
        head=resized(keys.head, n_tokens, -1),
        link=resized(keys.link, len(table.pairs), -1),
        key=resized(keys.key, n_blocks * BLOCK, -np.inf),
        top=resized(keys.top, n_blocks, -np.inf),
    )
