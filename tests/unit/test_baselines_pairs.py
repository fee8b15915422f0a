"""The incremental pair learner against the textbook recount."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mws_hf.compare.bpe import PairLearner, frequency, likelihood
from tests.examples import examples


def recount(words, weights, score, n_merges):
    """The textbook loop: recount everything, take the first best pair, merge it left to right."""
    cut = [list(word) for word in words]
    known = {symbol for word in cut for symbol in word}
    merges = []
    while len(merges) < n_merges:
        used, pairs = Counter(), Counter()
        for symbols, weight in zip(cut, weights, strict=True):
            for symbol in symbols:
                used[symbol] += weight
            for pair in zip(symbols, symbols[1:], strict=False):
                pairs[pair] += weight
        fresh = {p: score(c, used[p[0]], used[p[1]]) for p, c in pairs.items() if "".join(p) not in known}
        if not fresh:
            break
        best = max(fresh, key=fresh.__getitem__)
        merges.append(best)
        known.add("".join(best))
        for number, symbols in enumerate(cut):
            merged, i = [], 0
            while i < len(symbols):
                both = tuple(symbols[i : i + 2]) == best
                merged.append("".join(best) if both else symbols[i])
                i += 2 if both else 1
            cut[number] = merged
    return merges


@pytest.mark.parametrize("score", [frequency, likelihood])
@examples(150)
@given(
    st.lists(st.tuples(st.text("abc", min_size=1, max_size=8), st.integers(1, 5)), min_size=1, max_size=12),
)
def test_equals_the_recount(score, counted):
    words, weights = [w for w, _ in counted], [c for _, c in counted]
    learner = PairLearner([list(w) for w in words], weights, score, str.__add__)
    assert list(learner.merges(30)) == recount(words, weights, score, 30)


def test_token_counts_follow_merges():
    learner = PairLearner([list("aaab"), list("ab")], [2, 3], frequency, str.__add__)
    assert learner.merge_best() == ("a", "b")
    assert learner.token_counts() == {"a": 4, "b": 0, "ab": 5}
