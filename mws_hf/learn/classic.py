"""Learn merges by the classic criterion, equal to those of its twin, without evaluating every pair at every merge.

Merges learnt can be explained: every term of a coefficient at a given moment.

Every merge changes N and B, and with them every coefficient, but not arbitrarily. Let a pair's own counts be fixed
while N falls to N1 and B to B1; write d = ln(N / N1), e = ln(B / B1). Then, in natural logarithms,

* ln(p_b / (p_l * p_r)) / 2 moves by (e - 1.75 * d) / 2, the same for all pairs;
* t falls, since p_r rises;
* -ln(log_base - factor + factor * penalty) rises by at most d, since avg rises by the factor exp(d);
* -p * ln(p) rises by at most exp(-2) * d for p_l and 0.75 * exp(-2) * d for p_r (the maximum of p * (-ln(p) - 1));
* p_b * ln(p_b) falls while p_b < 1 / e, and rises by at most e otherwise.

The sum of these is a bound `drift` on the rise that does not depend on the pair. A pair keeps `key`, its coefficient
less the drift at the time it was evaluated, so key + drift now is never below its coefficient now. At a merge only
pairs are evaluated whose own counts changed (those with a merged token), and pairs whose bound reaches the best
coefficient found. Keys are searched by blocks with an upper bound each. Pairs longer than a product may be at present
are not in the table; when the mean token length lets longer ones in, a new table is opened (REBUILD).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mws_hf.corpus.files import progress_bar
from mws_hf.errors import MwSError
from mws_hf.kernels import Array
from mws_hf.kernels.containers import find_pair
from mws_hf.kernels.jit import njit
from mws_hf.learn.candidates import ASK, EXHAUSTED, REACHED, ROOM, known, make_room, open_table, remember, resized
from mws_hf.learn.classic_coefficient import (
    PUBLISHED,
    UNITS,
    Counts,
    Terms,
    coefficient,
    floor,
    is_candidate,
    terms_of,
    to_units,
)
from mws_hf.learn.limits import NO_LIMIT, UNLIMITED, LearnedMerges, MergeLimits
from mws_hf.learn.pairs import PAIRS, TOKENS, Bounds, PairTable, has_room, merge_pair
from mws_hf.learn.settings import Settings
from mws_hf.learn.words import SymbolCorpus
from mws_hf.learn.working_corpus import MERGES_A_CALL, WorkingCorpus, learned_merges

REBUILD = 4
BLOCK = 128
# covers the rounding to 1e-9 and the rounding errors of bounds
_MARGIN = 1e-6
N_TOKENS, N_WORDS, N_CHARACTERS, LARGEST, BEST = 0, 1, 2, 3, 4

# pairs, left_size, length of a PairTable: the whole table costs too many reference counts in a loop
PairArrays = tuple[Array, Array, Array]

_terms = njit(terms_of)
_is_candidate = njit(is_candidate)
_to_units = njit(to_units)


class Keys(NamedTuple):
    """Arrays of the search, beside the pair table.

    `unigrams` int64 by token; `head` int32, (2, tokens), first pair of a token as left and as right member; `link`
    int32, (2, pairs), the next one (-1 ends); `key` float64 by pair (-inf: out of the race); `top` float64 by block of
    pairs, not below its greatest key; `drift` float64, one number; `totals` int64: N, weight of all words, characters,
    the largest b when the table was opened, the best pair.
    """

    unigrams: Array
    head: Array
    link: Array
    key: Array
    top: Array
    drift: Array
    totals: Array


class Rules(NamedTuple):
    """Hyper-parameters in the form kernels take; `floor` in units of 1e-9, `limit` the longest product at present."""

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
    """Add the weight of every token of the text to `unigrams`; all cells of a word hold its weight in `val`."""
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
    """Compute the coefficient of a pair, not cut at 0; -inf when it is out of the race for good."""
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
    """Chain and evaluate the pairs from row `first` on."""
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
    """Evaluate all pairs of a token whose count changed, and drop pairs that are out of the race from its chains."""
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
    """Find the pair with the greatest key, or -1; corrects the bounds of the blocks it looks into."""
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
    """Decide which of two pairs of equal coefficient comes first: by left, then by right token."""
    return bool(pair.left < other.left or (pair.left == other.left and pair.right < other.right))


@njit
def _best_pair(t: PairTable, k: Keys, rules: Rules) -> tuple[int, int]:
    """Find the pair with the highest coefficient by the total order, and its units; (-1, floor) when there is none."""
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
    """Move N to `n_new` and raise the drift by the most that any coefficient can have risen."""
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
    """Merge until there are `goal` tokens or the caller is needed; the pair in question is `k.totals[BEST]`.

    Returns REACHED, EXHAUSTED, ROOM (enlarge the arrays), ASK (is the product's string new?) or REBUILD (products of
    rules.limit + 1 characters have become possible: open a new table).
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
            return ASK
        if not has_room(t, p):
            return ROOM
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
    """Merge the adjacent pair with the highest classic coefficient (see `coefficient`) again and again.

    Pairs whose product is a token already are passed over. Fewer merges than wanted are learnt when the best
    coefficient falls to 0, or is not above `stop_threshold`. A `WorkingCorpus` is changed in place. Of the limits,
    ``min_occurrences``, ``min_value`` and ``struck`` do not count.
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
            goal = min(end, len(working.tokens) + MERGES_A_CALL)
            status = advance_classic(table, keys, strings, goal, rules, accepted)
            bar.update(working.add_products(table))
            if status == ASK:
                accepted = working.accepted_pair(table, int(keys.totals[BEST]), limits.never)
            elif status == REBUILD:
                found = found.then(learned_merges(table, working.tokens, opened, False))
                opened = len(working.tokens)
                table, keys, rules = _open_keys(working, values, rules)
            elif status == ROOM:
                table = make_room(table, int(keys.totals[BEST]))
                keys = _resized(keys, table)
            if status in (ROOM, REBUILD):
                strings = working.taken_strings(table, limits.never)
    return found.then(learned_merges(table, working.tokens, opened, status == EXHAUSTED))


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
    """Open the pair table and keys of the corpus as it stands, with pairs of the length that is now possible."""
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
    """Make room in keys for as many tokens and pairs as the table has; new rows are empty."""
    n_tokens, n_blocks = len(table.length), -(-len(table.pairs) // BLOCK)
    return keys._replace(
        unigrams=resized(keys.unigrams, n_tokens),
        head=resized(keys.head, n_tokens, -1),
        link=resized(keys.link, len(table.pairs), -1),
        key=resized(keys.key, n_blocks * BLOCK, -np.inf),
        top=resized(keys.top, n_blocks, -np.inf),
    )


_ALL_PAIRS = Bounds(1, NO_LIMIT, NO_LIMIT)
"""Bounds of the pair table: none, for any pair may be asked for."""

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
    """Work the terms out from the counts."""
    size = counts.left_size + counts.right_size
    limits = settings.max_merge_len, settings.max_len_delta
    possible = counts.n_tokens > 0 and is_candidate(size, counts.n_tokens, counts.n_characters, *limits)
    rules = settings.len_norm_factor, settings.log_base
    found = terms_of(counts, *rules)._asdict() if counts.b > 0 else dict.fromkeys(Terms._fields)
    last = {"candidate": possible, "coefficient": coefficient(counts, settings) if counts.b > 0 else 0.0}
    return {"left": pair[0], "right": pair[1], **counts._asdict(), **found, **last}
