"""mu_c and mu_e against their definitions, spelled out."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mws_hf.corpus.segmentations import GoldWord
from mws_hf.evaluate.boundaries import consistency, edit_distance

pieces = st.lists(st.sampled_from(["a", "b", "ab", "ba", "bb"]), min_size=1, max_size=4)


def distance(first: tuple[str, ...], second: tuple[str, ...]) -> int:
    @cache
    def at(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return i + j
        change = at(i - 1, j - 1) + (first[i - 1] != second[j - 1])
        return min(at(i - 1, j) + 1, at(i, j - 1) + 1, change)

    return at(len(first), len(second))


long = st.lists(st.sampled_from(["a", "b", "ab"]), max_size=90)  # more than a machine word


@given(pieces | long, pieces | long)
def test_edit_distance_is_the_recurrence(first: list[str], second: list[str]):
    assert edit_distance(first, second) == distance(tuple(first), tuple(second)) == edit_distance(second, first)


@given(st.lists(st.tuples(pieces, st.integers(0, 2**8)), min_size=2, max_size=6))
def test_consistency_is_a_count_over_all_pairs(rows: list[tuple[list[str], int]]):
    gold = [GoldWord("".join(morphs), (tuple(morphs),)) for morphs, _ in rows]
    cut = []
    for entry, (_, bits) in zip(gold, rows, strict=True):
        marked = "".join(c + ("|" if bits >> i & 1 else "") for i, c in enumerate(entry.word[:-1])) + entry.word[-1]
        cut.append(marked.split("|"))
    pairs = list(permutations(range(len(rows)), 2))
    tokens = {(i, j) for i, j in pairs if set(cut[i]) & set(cut[j])}
    morphs = {(i, j) for i, j in pairs if set(rows[i][0]) & set(rows[j][0])}
    found = consistency(gold, cut)
    assert found.precision == pytest.approx(len(tokens & morphs) / len(tokens) if tokens else 1)
    assert found.recall == pytest.approx(len(tokens & morphs) / len(morphs) if morphs else 1)
    assert found.edit_distance == pytest.approx(
        sum(distance(tuple(m), tuple(c)) for (m, _), c in zip(rows, cut, strict=True)) / len(rows)
    )


def test_gold_itself_is_perfect():
    gold = [GoldWord("cats", (("cat", "s"),)), GoldWord("dogs", (("dogs",), ("dog", "s")))]
    found = consistency(gold, [("cat", "s"), ("dog", "s")])
    assert (found.f1, found.edit_distance) == (1.0, 0.0)
