"""The kernels of the boundary probabilities, compared with their reference implementations and with numpy.

Modules: kernels/interning.py, learn/evidence/context_view.py, learn/evidence/contexts.py,
learn/evidence/lexicon_kernels.py.
"""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from mws_hf.kernels.arithmetic import sigmoid
from mws_hf.kernels.interning import build_trie, intern_dense, intern_hashed, intern_pairs
from mws_hf.learn.evidence.context_view import (
    N_FLAGS,
    PER_VIEW,
    add_log_odds,
    curvature_of,
    factorize,
    fit_logistic,
    penalized_likelihood,
    sample_rows,
    substitute,
)
from mws_hf.learn.evidence.contexts import collect_contexts, normalized_variation, read_contexts, trie_view
from mws_hf.learn.evidence.forms import inner_positions
from mws_hf.learn.evidence.lexicon import build_lattice
from mws_hf.learn.evidence.lexicon_kernels import (
    FIXED_POINT,
    Arcs,
    Expected,
    StemSpelling,
    WordModel,
    best_splits,
    drop_arcs,
    forward_backward,
    variational_weights,
)
from mws_hf.learn.words import SymbolCorpus
from tests.reference import evidence as reference

CONTEXT_LENGTHS = (2, 3, 5)


def random_words(seed, n=300, letters="abcd", longest=9):
    random = np.random.default_rng(seed)
    return sorted({"".join(random.choice(list(letters), random.integers(1, longest))) for _ in range(n)})


@pytest.fixture(scope="module", params=[0, 1])
def words(request):
    return random_words(request.param)


@pytest.fixture(scope="module")
def corpus(words):
    return SymbolCorpus.from_words(words)


@pytest.fixture(scope="module")
def contexts(corpus):
    return collect_contexts(corpus, CONTEXT_LENGTHS, [trie_view(corpus, backwards) for backwards in (False, True)])


def entry_strings(corpus, lattice):
    text = "".join(corpus.alphabet[s] for s in corpus.symbols)
    return [text[s : s + n] for s, n in zip(lattice.first.tolist(), lattice.lengths.tolist(), strict=True)]


def test_pairs_are_numbered_in_order_of_appearance_beyond_the_first_table_size():
    random = np.random.default_rng(0)
    left, right = random.integers(-1, 300, 50_000).astype(np.int32), random.integers(0, 300, 50_000).astype(np.int32)
    pairs = intern_pairs(left, right)
    numbers = {}
    expected = [-1 if a < 0 else numbers.setdefault((a, b), len(numbers)) for a, b in zip(left, right, strict=True)]
    assert pairs.ids.tolist() == expected
    assert pairs.counts.tolist() == np.bincount(pairs.ids[pairs.ids >= 0]).tolist()
    assert all(pairs.ids[first] == i for i, first in enumerate(pairs.first))


def test_pairs_get_the_same_numbers_from_bits_and_from_hashing():
    random = np.random.default_rng(1)
    left, right = random.integers(-1, 90, 20_000).astype(np.int32), random.integers(0, 700, 20_000).astype(np.int32)
    ids = np.empty(20_000, np.int32)
    expected = ids, *intern_hashed(left, right, ids)
    assert [a.tolist() for a in intern_dense(left, right, 90, 700)] == [a.tolist() for a in expected]


def contexts_of(corpus, view):
    out = np.empty(len(corpus.symbols), np.int32)
    for w, (begin, end) in enumerate(pairwise(corpus.starts)):
        read_contexts(view, w, begin, end, out[begin:end])
    return out


def rows_of(corpus, contexts, positions):
    n = PER_VIEW * len(contexts.views)
    rows = np.empty((len(positions), n + N_FLAGS))
    sample_rows(contexts, corpus.starts, positions, rows)
    return rows


@pytest.mark.parametrize("backwards", [False, True])
def test_trie_nodes_are_the_distinct_prefixes_or_suffixes_as_far_as_words_share_them(words, corpus, backwards):
    trie = build_trie(corpus.symbols, corpus.starts, backwards)
    affixes = [word[i:] if backwards else word[: i + 1] for word in words for i in range(len(word))]
    above = [affix[1:] if backwards else affix[:-1] for affix in affixes]
    times = Counter(affixes)
    expected = [affix if times.get(root, 2) > 1 else None for affix, root in zip(affixes, above, strict=True)]
    names = dict(zip(trie.nodes.tolist(), expected, strict=True))
    assert names.pop(-1) is None
    assert len(trie.parents) == len(names) == len(set(names.values()))
    assert [names.get(n) for n in trie.nodes.tolist()] == expected
    assert trie.counts.tolist() == [times[names[n]] for n in range(len(names))]
    assert {names[n] for n in np.nonzero(trie.ends)[0].tolist()} == set(words) & set(names.values())


def test_branching_equals_the_reference_in_every_view(words, corpus, contexts):
    for v, (order, backwards) in enumerate((o, b) for o in (None, *CONTEXT_LENGTHS) for b in (False, True)):
        expected = [row for word in reference.branching(words, order, backwards=backwards) for row in word]
        found = contexts.views[v].table[contexts_of(corpus, contexts.views[v])]
        np.testing.assert_allclose(found, expected, atol=1e-5, err_msg=f"order {order}, backwards {backwards}")


def test_rows_contain_rises_distances_and_word_flags(words, corpus, contexts):
    positions = np.nonzero(inner_positions(corpus.starts))[0]
    rows = rows_of(corpus, contexts, positions)
    forward, backward = (reference.branching(words, 2, backwards=b) for b in (False, True))
    at = 0
    for word, f, b in zip(words, forward, backward, strict=True):
        for i in range(len(word) - 1):
            here, behind = f[i][0], f[i - 1][0] if i else 0.0
            view = rows[at, 2 * PER_VIEW : 3 * PER_VIEW]
            np.testing.assert_allclose(view, [here, here - behind, f[i + 1][0] - here, *f[i][1:]], atol=1e-5)
            here, behind = b[i + 1][0], b[i + 2][0] if i + 2 < len(word) else 0.0
            view = rows[at, 3 * PER_VIEW : 4 * PER_VIEW]
            np.testing.assert_allclose(view, [here, here - behind, b[i][0] - here, *b[i + 1][1:]], atol=1e-5)
            left, right = word[: i + 1], word[i + 1 :]
            flags = [len(left) == k for k in (1, 2, 3)] + [len(right) == k for k in (1, 2, 3)]
            assert rows[at, -N_FLAGS:].tolist() == [*flags, left in words, right in words, 1.0]
            at += 1


def test_scores_are_the_weighted_rows(corpus, contexts):
    random = np.random.default_rng(3)
    positions = np.nonzero(inner_positions(corpus.starts))[0]
    rows = rows_of(corpus, contexts, positions)
    linear, square = random.normal(size=(2, rows.shape[1]))
    out = np.zeros(len(corpus.symbols))
    add_log_odds(contexts, 0, corpus.starts[:6], linear, square, out)
    add_log_odds(contexts, 5, corpus.starts[5:], linear, square, out)
    np.testing.assert_allclose(out[positions], rows @ linear + rows**2 @ square, rtol=1e-9, atol=1e-9)
    assert not np.delete(out, positions).any()


@pytest.mark.parametrize(("longest", "least"), [(12, 2), (3, 4)])
def test_the_lattice_contains_exactly_the_frequent_substrings(words, corpus, longest, least):
    lattice = build_lattice(corpus, longest, least)
    names = entry_strings(corpus, lattice)
    assert dict(zip(names, lattice.counts.tolist(), strict=True)) == reference.substring_counts(words, longest, least)
    text, spans = "".join(words), lattice.spans.astype(int)
    for i in range(len(text)):
        arcs = range(lattice.rows[i], lattice.rows[i + 1])
        assert [names[lattice.entries[e]] for e in arcs] == [text[i : i + spans[e]] for e in arcs]
        assert (np.diff(spans[lattice.rows[i] : lattice.rows[i + 1]]) > 0).all()
    assert np.bincount(lattice.entries).tolist() == lattice.counts.tolist()


@pytest.mark.parametrize("edged", [False, True])
def test_expected_counts_and_moves_equal_going_through_all_ways_to_write(edged):
    words = random_words(4, n=80, longest=7)
    corpus = SymbolCorpus.from_words(words)
    random = np.random.default_rng(4)
    lattice = build_lattice(corpus, 12, 2)
    names = entry_strings(corpus, lattice)
    p, step, stop, start = random.random((len(names), 3)), random.random((3, 3)), random.random(3), random.random(3)
    p[random.random(p.shape) < 0.2] = 0
    p[lattice.lengths == 1, 1] = 0.1
    step[0, 2] = step[1, 0] = stop[0] = 0
    counts, moves = np.zeros((len(names), 3), np.int64), np.zeros((5, 3), np.int64)
    posterior = np.full(len(corpus.symbols), 9, np.float32)
    arcs = Arcs(lattice.rows, lattice.entries, lattice.spans)
    letters, heads, ends = random.random((3, len(corpus.alphabet)))
    lengths, nothing = np.array([0, 0, 0.2, 0.1, 0.05]), np.zeros(0)
    edges = (heads[corpus.symbols], ends[corpus.symbols]) if edged else (nothing, nothing)
    probabilities = WordModel(p, step, stop, start, 0.65, StemSpelling(lengths, letters[corpus.symbols], *edges))
    forward_backward(corpus.starts, arcs, probabilities, Expected(counts, moves, posterior))
    table = dict(zip(names, p.tolist(), strict=True))
    alone = reference.letters_alone(dict(zip(corpus.alphabet, letters, strict=True)), lengths)
    head, end = (dict(zip(corpus.alphabet, each, strict=True)) for each in (heads, ends))
    model = step.tolist(), stop.tolist(), start.tolist(), 0.65
    uses, moved, cuts = reference.expected_counts(
        words, table, *model, lambda stem: alone(stem) * (head[stem[0]] * end[stem[-1]] if edged else 1.0)
    )
    expected = [[uses.get((name, c), 0.0) for c in range(3)] for name in names]
    np.testing.assert_allclose(counts / FIXED_POINT, expected, atol=1e-6)
    np.testing.assert_allclose(moves / FIXED_POINT, moved, atol=1e-6)
    np.testing.assert_allclose(posterior, [x for word in cuts for x in word], atol=1e-6)


def test_a_word_that_cannot_be_written_adds_no_counts():
    corpus = SymbolCorpus.from_words(["ab"])
    lattice = build_lattice(corpus, 12, 2)
    counts, moves, posterior = np.zeros((2, 3), np.int64), np.zeros((5, 3), np.int64), np.ones(2, np.float32)
    arcs = Arcs(lattice.rows, lattice.entries, lattice.spans)
    nothing = StemSpelling(np.zeros(1), np.ones(2), np.zeros(0), np.zeros(0))
    model = WordModel(np.ones((2, 3)), np.zeros((3, 3)), np.ones(3), np.ones(3), 1.0, nothing)
    forward_backward(corpus.starts, arcs, model, Expected(counts, moves, posterior))
    assert not counts.any()
    assert not moves.any()
    assert not posterior.any()


def test_best_splits_equal_going_through_all_segmentations(corpus):
    lattice = build_lattice(corpus, 12, 2)
    names = entry_strings(corpus, lattice)
    logp = np.log(np.random.default_rng(4).random(len(names)))
    split = np.empty(len(names))
    best_splits(lattice.first, lattice.lengths, lattice.rows, lattice.entries, lattice.spans, logp, split)
    table = dict(zip(names, logp.tolist(), strict=True))
    np.testing.assert_allclose(split, [reference.best_split(name, table) for name in names], rtol=1e-12)


def test_variation_is_the_standardized_rise_of_entropy_from_both_sides(words, corpus, contexts):
    forward, backward = (reference.branching(words, None, backwards=b) for b in (False, True))
    rises, groups = ([], []), ([], [])
    for word, f, b in zip(words, forward, backward, strict=True):
        n = len(word)
        for i in range(n - 1):
            rises[0].append(f[i][0] - (f[i - 1][0] if i else 0))
            rises[1].append(b[i + 1][0] - (b[i + 2][0] if i + 2 < n else 0))
            groups[0].append(i)
            groups[1].append(n - 2 - i)
    expected = 0
    for rise, group in zip(map(np.array, rises), map(np.array, groups), strict=True):
        mean, deviation = ([f(rise[group == g]) for g in range(group.max() + 1)] for f in (np.mean, np.std))
        expected += (rise - np.array(mean)[group]) / (np.array(deviation)[group] + 1e-3)
    np.testing.assert_allclose(normalized_variation(corpus, contexts), expected, atol=1e-4)


def test_dropping_arcs_renumbers_what_is_left(corpus):
    lattice = build_lattice(corpus, 12, 2)
    number = np.full(len(lattice.first), -1, np.int32)
    kept = np.nonzero((np.arange(len(number)) % 3 == 0) | (lattice.lengths == 1))[0]
    number[kept] = np.arange(len(kept))
    rows, entries, spans = lattice.rows.copy(), lattice.entries.copy(), lattice.spans.copy()
    left = drop_arcs(rows, entries, spans, number)
    alive = number[lattice.entries] >= 0
    assert left == rows[-1] == alive.sum()
    assert entries[:left].tolist() == number[lattice.entries[alive]].tolist()
    assert spans[:left].tolist() == lattice.spans[alive].tolist()


def test_rare_lexicon_entries_get_no_weight_and_single_symbols_stay():
    column = (np.array([0.0, 0.0, 0.5, 2.0, 100.0]) * FIXED_POINT).astype(np.int64)
    p = np.empty((5, 3))
    variational_weights(np.stack([column] * 3, 1), np.array([1, 2, 2, 2, 2], np.uint8), 1e-7, p)
    # exp(digamma(x)) for x = .5, 2, 100 (Abramowitz and Stegun, table 6.1)
    expected = np.array([0.1, 0.0, 0.140366, 1.526205, 99.50041])
    for c in (0, 2):
        np.testing.assert_allclose(p[:, c], expected / expected.sum(), rtol=1e-5)
    np.testing.assert_allclose(p[1:, 1], p[1:, 0])
    assert p[0, 1] == 1e-7


def likelihood_and_gradient(rows, targets, ridge, weights):
    gradient = np.empty(len(weights))
    return penalized_likelihood(rows, targets, ridge, weights, gradient), gradient


def test_solver_and_derivatives_equal_numpy():
    random = np.random.default_rng(6)
    rows, targets, w = random.normal(size=(500, 7)), random.random(500), random.normal(size=7)
    p = sigmoid(rows @ w)
    value, gradient = likelihood_and_gradient(rows, targets, 2.0, w)
    assert value == pytest.approx((targets * np.log(p) + (1 - targets) * np.log(1 - p)).sum() - w @ w)
    np.testing.assert_allclose(gradient, rows.T @ (targets - p) - 2 * w)
    full = (rows.T * (p * (1 - p) + 1e-6)) @ rows + 2 * np.eye(7)
    factor = curvature_of(rows, 2.0, w)
    np.testing.assert_allclose(factor, np.tril(full))
    factorize(factor)
    np.testing.assert_allclose(substitute(factor, targets[:7]), np.linalg.solve(full, targets[:7]))


@pytest.mark.parametrize("n", [5000, 30_000])  # if there are many rows, a sample is fitted first
def test_fit_ends_where_the_gradient_vanishes_even_on_nearly_separable_collinear_data(n):
    random = np.random.default_rng(7)
    rows = random.normal(size=(n, 5))
    rows[:, 4] = rows[:, 3] + 1e-4 * rows[:, 4]
    targets = np.clip(sigmoid(20 * rows @ np.array([2.0, -1.0, 0.5, 0.0, 3.0])), 1e-3, 1 - 1e-3)
    weights = fit_logistic(rows, targets, 3.0)
    start = np.abs(likelihood_and_gradient(rows, targets, 3.0, np.zeros(5))[1]).max()
    assert np.abs(likelihood_and_gradient(rows, targets, 3.0, weights)[1]).max() < 1e-3 * start
    np.testing.assert_allclose(fit_logistic(rows, targets, 3.0, start=weights), weights, atol=1e-2)
