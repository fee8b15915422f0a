"""The two views of short lists equal their readable twins, tell of unseen words, and leave longer lists alone."""

import math

import numpy as np
import pytest

from mws_hf.kernels.threads import ThreadPool
from mws_hf.learn.evidence import short_lists
from mws_hf.learn.evidence.affixes import affix_log_odds, count_pieces, fit_affixes, fit_trigrams, spell_stems
from mws_hf.learn.evidence.contexts import trie_view
from mws_hf.learn.evidence.ensemble import boundary_posteriors, mix_views
from mws_hf.learn.evidence.forms import inner_positions
from mws_hf.learn.evidence.lexicon import build_lattice
from mws_hf.learn.evidence.short_lists import (
    LONGEST_ENDING,
    MOST_ENDINGS,
    SHORTEST_STEM,
    find_splits,
    fit_paradigms,
    paradigm_support,
)
from mws_hf.learn.settings import Settings
from mws_hf.learn.words import CodePoints, SymbolCorpus
from tests.agglutinative import make_language
from tests.twins import evidence as reference


def random_words(seed, n=400, letters="abcde", longest=9):
    random = np.random.default_rng(seed)
    return sorted({"".join(random.choice(list(letters), random.integers(1, longest))) for _ in range(n)})


def splits_of(corpus):
    return find_splits(corpus, *(trie_view(corpus, backwards)[0].ids for backwards in (False, True)))


@pytest.mark.parametrize("words", [random_words(1), random_words(2, 3000, "ab", 10), ["ab"], ["a", "ab", "abc"]])
def test_paradigms_equal_counting_stems_by_pair_of_endings(words):
    corpus = SymbolCorpus.from_words(words)
    splits = splits_of(corpus)
    found = paradigm_support(fit_paradigms(splits), splits, len(corpus.symbols))
    worth = reference.paradigm_worth(words, SHORTEST_STEM, LONGEST_ENDING, MOST_ENDINGS)
    inner = inner_positions(corpus.starts)
    np.testing.assert_allclose(found[inner], np.log1p([x for row in worth for x in row])[inner], rtol=1e-14)


def test_paradigms_of_one_list_tell_of_words_that_are_not_in_it():
    """After `jump-`, which has `-s` and `-ed` in the list, a third ending is as good as its best company elsewhere."""
    listed = [stem + end for stem in ("walk", "talk", "call") for end in ("s", "ed", "ing")] + ["jumps", "jumped"]
    both = SymbolCorpus.from_words([*listed, "jumping"])
    n = sum(map(len, listed))
    splits = splits_of(both)
    rows = splits.place < n
    stem_of = np.repeat(splits.stems, np.diff(splits.bounds))[rows]
    first = np.nonzero(np.diff(stem_of, prepend=-1))[0]
    fitted = fit_paradigms(
        splits._replace(
            stems=stem_of[first], bounds=np.append(first, rows.sum()).astype(np.int32), place=splits.place[rows],
            ending=splits.ending[rows], letter=splits.letter[rows],
        )
    )  # fmt: skip
    found = paradigm_support(fitted, splits, len(both.symbols))[n:]
    assert np.exp(found).round().tolist() == [1, 1, 1, 4, 1, 1, 1]


@pytest.mark.parametrize("most", [80, 3])
def test_letters_of_stems_equal_the_readable_model(most):
    words, stems = random_words(3, 60, "abcde", 8), random_words(4, 30, "abcd", 6)
    corpus = SymbolCorpus.from_words(words)
    number = {letter: k for k, letter in enumerate(corpus.alphabet)}
    points = np.array([number[c] for stem in stems for c in stem], np.int32)
    spelt = CodePoints(points, np.cumsum([0, *map(len, stems)]))
    _, letters, heads, ends = spell_stems(fit_trigrams(corpus, spelt, most), corpus)
    text = "".join(words)
    model = reference.letter_model(stems, {c: text.count(c) for c in corpus.alphabet}, most)
    for w, word in enumerate(words):
        s = int(corpus.starts[w])
        for i in range(len(word)):
            for j in range(i + 2, len(word) + 1):
                found = heads[s + i] * math.prod(letters[s + i : s + j]) * ends[s + j - 1]
                assert found == pytest.approx(model(word[i:j]), rel=1e-9)


def test_the_longest_piece_is_the_stem_and_stems_are_listed_once():
    words = ["unkindness", "kinds", "abcd", "kindred"]
    cuts = [["un", "kind", "ness"], ["kind", "s"], ["ab", "cd"], ["kind", "red"]]
    corpus = SymbolCorpus.from_words(words)
    lattice = build_lattice(corpus, 12, 1)
    cut = np.zeros(len(corpus.symbols), bool)
    for w, pieces in enumerate(cuts):
        cut[corpus.starts[w] + np.cumsum([len(piece) for piece in pieces]) - 1] = True
    counts, stems = count_pieces(corpus, lattice, cut)
    expected = {}
    for pieces in cuts:
        for piece, kind in zip(pieces, reference.pieces_by_class(pieces), strict=True):
            expected.setdefault(piece, [0, 0, 0])[kind] += 1
    text = "".join(words)
    names = [text[a : a + n] for a, n in zip(lattice.first.tolist(), lattice.lengths.tolist(), strict=True)]
    assert {name: row for name, row in zip(names, counts.tolist(), strict=True) if any(row)} == expected
    assert ["".join(corpus.alphabet[ord(c)] for c in stem) for stem in stems.strings()] == ["kind", "ab"]


def test_affixes_of_one_list_cut_words_that_are_not_in_it():
    stems = [a + b + c for a in "kptm" for b in ("al", "is", "or", "un") for c in "kt"]
    listed = [stem + end for stem in stems[:-1] for end in ("", "lla", "ssa", "ista")]
    both = SymbolCorpus.from_words([*listed, stems[-1] + "ssa", stems[-1] + "ista"])
    learnt = SymbolCorpus(both.alphabet, both.symbols[: sum(map(len, listed))], both.starts[: len(listed) + 1],
                          both.weights[: len(listed)])  # fmt: skip
    cut = np.zeros(len(learnt.symbols), bool)
    cut[learnt.starts[:-1] + 3] = True
    lattice = build_lattice(both)
    with ThreadPool(2) as pool:
        model = fit_affixes(learnt, lattice, cut, pool)
        found = affix_log_odds(model, both, lattice, pool)[both.starts[len(listed)] :]
    assert [int(np.argmax(found[:7])), int(np.argmax(found[7:]))] == [3, 3]


def rerank_between(monkeypatch, fully, below):
    monkeypatch.setattr(short_lists, "RERANK_FULLY", fully)
    monkeypatch.setattr(short_lists, "RERANK_BELOW", below)


def test_a_short_list_keeps_the_values_of_the_mixture_in_an_order_that_no_number_of_threads_changes(monkeypatch):
    corpus = SymbolCorpus.from_words(sorted(make_language()))
    ranked = mix_views(corpus, Settings(), 2, keep=True)
    with monkeypatch.context() as patch:
        rerank_between(patch, 1, 2)
        plain = mix_views(corpus, Settings(), 2, keep=True)
    assert plain.views.shape[1] == 4 and ranked.views.shape[1] == 6
    np.testing.assert_array_equal(plain.views, ranked.views[:, :4])
    np.testing.assert_array_equal(np.sort(plain.log_odds), np.sort(ranked.log_odds))
    assert (plain.log_odds != ranked.log_odds).mean() > 0.2
    for threads in (1, 3):
        np.testing.assert_array_equal(mix_views(corpus, Settings(), threads).log_odds, ranked.log_odds)


def test_a_list_that_is_not_short_is_left_as_it_was(monkeypatch):
    corpus = SymbolCorpus.from_words(sorted(make_language()))
    found = []
    for fully, below in ((1, 2), (len(corpus) - 1, len(corpus)), (len(corpus) - 1, len(corpus) + 1)):
        rerank_between(monkeypatch, fully, below)
        found.append(boundary_posteriors(corpus, Settings())[0])
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()
