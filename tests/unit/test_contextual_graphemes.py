"""Letters with combining marks: seen anywhere in the training words, no token of any text begins with such a mark."""

import unicodedata

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mws_hf import MwSTrainer, WordCounts
from mws_hf.learn.morphs import MarkedLetters, find_marked_letters, grapheme_merges
from mws_hf.learn.words import CodePoints, MergeLimits
from mws_hf.text.pattern import DEFAULT_PATTERN
from tests.agglutinative import make_language
from tests.examples import examples

ACUTE, DOTS, HOOK = "\u0301", "\u0308", "\u0328"


def torn(tokenizer, text):
    tokens = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).tokens
    return [token for token in tokens if unicodedata.category(token[0])[0] == "M"]


def trained(counts, **options):
    options = {"n_merges": 300, "show_progress": False, **options}
    return MwSTrainer(**options).train_from_counts(WordCounts.from_mapping(counts, pattern=DEFAULT_PATTERN))


def stressed_language():
    """Words of a made-up language, an accent on the first vowel of every third; some marked letters stand but once."""
    words = {}
    for i, word in enumerate(sorted(make_language())):
        at = next((k for k, c in enumerate(word) if c in "aeiou"), None)
        words[f" {word}" if i % 3 or at is None else f" {word[: at + 1]}{ACUTE}{word[at + 1 :]}"] = 5
    return words


def test_a_marked_letter_seen_once_is_whole_in_every_place_and_case():
    # too long for evidence, a single letter, in the middle, before another mark
    counts = {**stressed_language(), " y" + DOTS: 1, " " + "ka" * 20 + "w" + ACUTE: 1, " kaz" + HOOK + ACUTE + "a": 1}
    for composition in (0, 0.5):
        tokenizer = trained(counts, composition=composition)
        for letter in ("y" + DOTS, "w" + ACUTE, "z" + HOOK + ACUTE, "z" + HOOK):
            for text in (letter, " " + letter, "ka" + letter + "ta", " ta" + letter, letter + letter, "q" + letter):
                assert torn(tokenizer, text) == [], (composition, text)
                assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_the_other_case_is_whole_where_its_letter_is_known():
    tokenizer = trained({**stressed_language(), " Waka": 1, " kaw" + ACUTE: 1})
    assert torn(tokenizer, " W" + ACUTE + "aka") == []


TEXTS = st.text("akotie " + ACUTE + DOTS + HOOK, max_size=12)


@examples(40)
@given(st.lists(TEXTS, min_size=1, max_size=8), st.integers(0, 5))
def test_no_merge_of_marks_comes_between(texts, more):
    """Encoding by the merges alone, in rank order: whatever marked letter the words hold stays whole in any text."""
    words = CodePoints.of([text for text in texts if text.strip()] or ["a"])
    merges = grapheme_merges(
        find_marked_letters(words, np.ones(len(words), np.int64)), "akotie" + ACUTE + DOTS + HOOK, 999
    )
    assert all(unicodedata.category(left[0])[0] == "L" and len(right) == 1 for left, right in merges)
    products = {left + right for left, right in merges}
    assert len(products) == len(merges)
    for k, (left, _) in enumerate(merges):
        assert len(left) == 1 or left in {a + b for a, b in merges[:k]}
    for word in words.strings():
        for i in range(1, len(word)):
            start = i
            while start > 0 and unicodedata.category(word[start])[0] == "M":
                start -= 1
            if start < i and word[start].isalpha():
                assert word[start : i + 1] in products


def test_the_order_is_total_and_limits_hold():
    found = MarkedLetters({"o" + DOTS: 5, "o" + DOTS + ACUTE: 5, "a" + DOTS: 5, "e" + ACUTE: 9, "q" + ACUTE: 7}, {})
    every = [("e", ACUTE), ("a", DOTS), ("o", DOTS), ("o" + DOTS, ACUTE)]
    assert grapheme_merges(found, "aoe" + DOTS + ACUTE, 9) == every
    assert grapheme_merges(found, "aoe" + DOTS + ACUTE, 2) == every[:2]
    assert grapheme_merges(found, "aoe" + DOTS + ACUTE, 9, MergeLimits(max_token_length=2)) == every[:3]
    assert grapheme_merges(found, "aoe" + DOTS + ACUTE, 9, MergeLimits(forbidden=frozenset({"o" + DOTS}))) == every[:2]
