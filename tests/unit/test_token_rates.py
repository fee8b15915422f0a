"""Labels that act on the merges: probabilities inside the tokens of a first training, and what is learned from them.

Module: learn/token_rates.py.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from mws_hf import MwSTrainer, WordCounts
from mws_hf.corpus.segmentations import GoldWord
from mws_hf.learn.evidence.posteriors import Evidence
from mws_hf.learn.group_evidence import find_evidence
from mws_hf.learn.settings import Settings
from mws_hf.learn.token_rates import adjust_to_labels
from mws_hf.learn.vocabulary import words_learned_from
from mws_hf.learn.words import CodePoints
from mws_hf.surgery.base import raw_bytes
from mws_hf.text.pattern import DEFAULT_PATTERN
from mws_hf.tokenizer.backend import base_vocab, build_backend
from tests.agglutinative import boundary_f1, make_language
from tests.examples import thorough, with_more

MIXED = str.maketrans("aeiouptk", "äёıøüпթक")
"""Letters of two and three bytes in the words of the made-up language."""

LANGUAGE = {
    word.translate(MIXED): [morph.translate(MIXED) for morph in morphs]
    for word, morphs in make_language(n_stems=40).items()
}
LABELED = {word: [LANGUAGE[word]] for word in sorted(LANGUAGE)[::7]}


def counted(pattern: str = DEFAULT_PATTERN, normalization: str | None = None) -> WordCounts:
    words = {" " + word: 1 + len(word) % 5 for word in LANGUAGE}
    return WordCounts.from_mapping(words, pattern=pattern, normalization=normalization)


def quiet(**options: Any) -> MwSTrainer:
    return MwSTrainer(**{"n_merges": 300, "show_progress": False, "labels": LABELED, **options})


def once(trainer: MwSTrainer, counts: Any, evidence: Evidence) -> Any:
    """Learn merges from boundary probabilities that labels do not adjust."""
    return trainer.learn(counts, evidence=replace(evidence, label_shares={}))


def tokens_of(backend: Tokenizer, pieces: list[bytes], word: str) -> Iterator[tuple[int, int, int]]:
    """Yield id, first byte and end of each token of a word after a space; nothing if they do not spell it."""
    at = 0
    ids = backend.encode(" " + word, add_special_tokens=False).ids
    if b"".join(pieces[token] for token in ids) == (" " + word).encode():
        for token in ids:
            yield token, at, at + len(pieces[token])
            at += len(pieces[token])


def ends_of(word: str) -> list[int]:
    """Return the byte at which each letter of a word after a space ends."""
    return [1 + len(word[: at + 1].encode()) for at in range(len(word))]


def inside(word: str, begin: int, end: int) -> list[int]:
    """Return the letters of a word that are followed by a position inside a token."""
    return [letter for letter, last in enumerate(ends_of(word)) if begin < last < end]


def adjusted(
    backend: Tokenizer,
    evidence: Evidence,
    labels: Mapping[str, Mapping[str, list[list[str]]]],
    shares: Mapping[str, Mapping[str, float]],
) -> dict[str, list[float]]:
    """Adjust probabilities to labels word by word: the readable version of `adjust_to_labels`.

    Args:
        backend: tokenizer of the first training.
        evidence: the boundary probabilities.
        labels: morphs of labeled words by group.
        shares: share of a group in each word, by group.
    """
    words = [word.tolist() for word in np.split(evidence.probabilities, evidence.starts[1:-1])]
    chances = dict(zip(evidence.types, words, strict=True))
    pieces = raw_bytes(backend)
    spelled = {word: list(tokens_of(backend, pieces, word)) for word in chances}
    factors: dict[str, dict[int, float]] = {}
    for group in labels:
        uses, expected, seen, hidden = (dict.fromkeys(range(backend.get_vocab_size()), 0.0) for _ in range(4))
        for word, tokens in spelled.items():
            share = shares[group].get(word, 0.0)
            for token, begin, end in tokens:
                uses[token] += share
                expected[token] += share * sum(chances[word][letter] for letter in inside(word, begin, end))
        for word, analyses in labels[group].items():
            for token, begin, end in spelled[word]:
                seen[token] += 1
                for morphs in analyses:
                    bounds = {sum(map(len, morphs[:n])) - 1 for n in range(1, len(morphs))}
                    found = len(bounds.intersection(inside(word, begin, end)))
                    hidden[token] += found / len(analyses)
        factors[group] = {}
        for token in seen:
            usual = expected[token] / uses[token] if uses[token] else 0.0
            rate = (hidden[token] + 2 * usual) / (seen[token] + 2)
            factors[group][token] = min(5.0, max(0.2, rate / usual)) if usual and seen[token] else 1.0
    for word, tokens in spelled.items():
        own = {group: shares[group].get(word, 0.0) for group in labels}
        if not any(own.values()) or not tokens:
            continue
        for token, begin, end in tokens:
            factor = sum(own[group] * factors[group][token] for group in labels) + 1 - sum(own.values())
            for letter in inside(word, begin, end):
                chances[word][letter] *= factor
        chances[word] = [min(chance, 0.99) for chance in chances[word]]
    return chances


def by_word(evidence: Evidence) -> dict[str, list[float]]:
    words = np.split(evidence.probabilities, evidence.starts[1:-1])
    return {word: own.tolist() for word, own in zip(evidence.types, words, strict=True)}


def assert_same(found: Mapping[str, list[float]], expected: Mapping[str, list[float]]) -> None:
    assert found.keys() == expected.keys()
    for word, chances in expected.items():
        assert found[word] == pytest.approx(chances, abs=1e-9), word


KINDS: list[dict[str, Any]] = [
    {},
    {"composition": "fill", "n_merges": 900},
    {"types": False, "granularity": 0.15},
    {"keep_apart": ["n", "rs"]},
    {"required": [" näx", "ıııı"], "alphabet": "characters"},
    {"pattern": r" ?\p{L}{1,5}"},
    {"min_count": 3, "max_types": 200},
    {"capitals": "marker", "normalization": "nfc"},
]
MORE_KINDS: list[dict[str, Any]] = [
    {"alphabet": "characters"},
    {"composition": 0},
    {"max_token_length": 4},
    {"pattern": r"\p{L}+| "},
    {"limit_alphabet": 15, "alphabet": "characters"},
]


@pytest.mark.parametrize("options", with_more(KINDS, *MORE_KINDS), ids=str)
def test_the_merges_are_learned_again_from_the_adjusted_probabilities(options: dict[str, Any]):
    """The result equals that of a readable version, with all settings that change words, tokens or merges."""
    trainer = quiet(**options)
    counts = counted(trainer.split_pattern, trainer.normalization_steps)
    learned = trainer.learn(counts)
    before = find_evidence(words_learned_from(counts, trainer), trainer)
    first = once(trainer, counts, before)
    shares = {"": dict.fromkeys(before.types, 1.0)}
    assert learned.evidence is not None
    assert_same(by_word(learned.evidence), adjusted(trainer.backend(first), before, {"": LABELED}, shares))
    assert not np.array_equal(before.probabilities, learned.evidence.probabilities)
    assert learned.merges == once(trainer, counts, learned.evidence).merges
    assert len(learned.merges) <= trainer.n_merges and learned.n_required == first.n_required


def test_given_probabilities_make_no_difference_whether_adjusted_or_not():
    trainer, counts = quiet(), counted()
    learned = trainer.learn(counts)
    assert learned.evidence is not None
    assert trainer.learn(counts, evidence=find_evidence(counts, trainer)) == learned
    again = trainer.learn(counts, evidence=learned.evidence)
    assert again == learned and again.evidence is learned.evidence


def test_labels_too_few_to_be_used_adjust_nothing():
    few = {word: LANGUAGE[word] for word in sorted(LANGUAGE)[:4]}
    counts = counted()
    plain, learned = quiet(labels=()).learn(counts), quiet(labels=few).learn(counts)
    assert plain.evidence is not None and learned.evidence is not None
    assert learned.merges == plain.merges and not learned.evidence.label_shares
    assert np.array_equal(learned.evidence.probabilities, plain.evidence.probabilities)


def test_letter_case_of_labels_makes_no_difference():
    capital = {word.capitalize(): [parts[0].capitalize(), *parts[1:]] for word, (parts,) in LABELED.items()}
    assert len(capital) == len(LABELED) and capital.keys() != LABELED.keys()
    assert quiet(labels=capital).learn(counted()) == quiet().learn(counted())


@thorough
def test_words_that_are_not_labeled_are_split_better():
    others = {word: morphs for word, morphs in LANGUAGE.items() if word not in LABELED}
    trainer, counts = quiet(alphabet="characters"), counted()
    first = once(trainer, counts, find_evidence(counts, trainer))
    assert boundary_f1(trainer.learn(counts).merges, others) > boundary_f1(first.merges, others)


WORDS = ["aba", "abb", "abc", "abd", "abe", "abf", "xy"]
PARTS = {"aba": "a ba", "abb": "a bb", "abc": "a bc", "abd": "abd", "abe": "ab e", "xy": "x y"}
MERGES = [(" ", "a"), (" a", "b"), ("b", "x")]


def by_hand(shares: Mapping[str, list[float]], labels: Any) -> Evidence:
    """Probabilities of 0.1 inside all words."""
    words = CodePoints.of(WORDS)
    probabilities = np.full(len(words.points), 0.1)
    probabilities[words.starts[1:] - 1] = 0.0
    of_groups = {name: np.array(own) for name, own in shares.items()}
    return Evidence(words, probabilities, Settings(labels=labels), label_shares=of_groups)


def labeled(*words: str) -> tuple[GoldWord, ...]:
    return tuple(GoldWord(word, (tuple(PARTS[word].split()),)) for word in words)


def backend_of(merges: list[tuple[str, str]], normalization: str | None = None) -> Tokenizer:
    return build_backend(base_vocab((), " abcdefxyé", merges), merges, DEFAULT_PATTERN, normalization)


def test_figures_by_hand():
    """Three of five labeled uses of ` ab` hide a boundary: (3 + 2 * 0.1) / (5 + 2) is 4.57 times 0.1."""
    labels = labeled("aba", "abb", "abc", "abd", "abe")
    found = by_word(adjust_to_labels(by_hand({"": [1.0] * 7}, labels), backend_of(MERGES)))
    assert found == {
        **{word: pytest.approx([3.2 / 7, 0.1, 0]) for word in WORDS[:6]},  # the second position is between tokens
        "xy": pytest.approx([0.1, 0]),
    }


def test_a_factor_acts_in_proportion_to_the_share_of_its_group():
    """Words that only unlabeled groups have keep their probabilities; the factors of two groups are averaged."""
    labels = {"one": labeled("aba", "abb", "abc", "abd", "abe"), "two": labeled("abd", "abe", "aba", "abb", "xy")}
    shares = {"one": [1.0, 1.0, 1.0, 0.25, 0.5, 0.0, 0.0], "two": [0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 1.0]}
    found = by_word(adjust_to_labels(by_hand(shares, labels), backend_of(MERGES)))
    one, two = 3.2 / 7 / 0.1, (2 + 2 * 0.1) / (4 + 2) / 0.1
    first = {word: own[0] for word, own in found.items()}
    assert first == {
        **dict.fromkeys(("aba", "abb", "abc"), pytest.approx(0.1 * one)),
        "abd": pytest.approx(0.1 * (0.25 * one + 0.75)),
        "abe": pytest.approx(0.1 * (one + two) / 2),
        "abf": 0.1,
        "xy": 0.1,
    }


def test_factors_and_probabilities_have_limits():
    """No boundary becomes certain, and no factor is below 1/5 or above 5."""
    words = [f"ab{letter}" for letter in "abcdefxyé"]
    types = CodePoints.of(words)
    for expected, factor, split in ((0.1, 0.2, lambda word: [word]), (0.1, 5.0, list), (0.995, 0.99 / 0.995, list)):
        labels = tuple(GoldWord(word, (tuple(split(word)),)) for word in words)
        given = Evidence(
            types, np.tile([expected, 0.1, 0.0], 9), Settings(labels=labels), label_shares={"": np.ones(9)}
        )
        found = by_word(adjust_to_labels(given, backend_of(MERGES)))
        assert found == dict.fromkeys(words, pytest.approx([expected * factor, 0.1, 0]))


def test_words_that_their_tokens_do_not_spell_are_not_changed():
    """The words of these labels were not normalized, and normalization changes them."""
    words = CodePoints.of(["ab\u00e9x", "abe", "abf"])
    probabilities = np.array([0.1, 0.1, 0.1, 0, 0.995, 0.1, 0, 0.1, 0.1, 0])
    labels = tuple(GoldWord(word, (tuple(word),)) for word in (*words.strings(), "abcd", "abcx", "abcf"))
    types = CodePoints.of([*words.strings(), "abcd", "abcx", "abcf"])
    probabilities = np.concatenate([probabilities, [0.1, 0.1, 0.1, 0] * 3])
    given = Evidence(types, probabilities, Settings(labels=labels), label_shares={"": np.ones(6)})
    found = by_word(adjust_to_labels(given, backend_of(MERGES, "nfd")))
    assert found["ab\u00e9x"] == [0.1, 0.1, 0.1, 0]
    assert found["abe"][0] == 0.99 and found["abf"][0] > 0.1


def test_labels_in_another_normalization_act_as_those_of_the_text():
    def decomposed(word: str) -> str:
        return unicodedata.normalize("NFD", word)

    words = {" " + decomposed(word): 3 for word in LANGUAGE}
    labels = {decomposed(word): [[*map(decomposed, morphs)] for morphs in found] for word, found in LABELED.items()}
    assert labels != LABELED
    merges = []
    for given in (LABELED, labels):
        trainer = quiet(normalization="nfd", labels=given)
        counts = WordCounts.from_mapping(words, pattern=trainer.split_pattern, normalization="nfd")
        evidence, learned = find_evidence(counts, trainer), trainer.learn(counts)
        assert learned.merges != once(trainer, counts, evidence).merges, "the labels act on the merges"
        merges.append(learned.merges)
    assert merges[0] == merges[1]


def groups() -> dict[str, WordCounts]:
    """Two languages: the second one has the reversed words of the first one, and some words are in both."""
    other = {" " + word[::-1]: 2 for word in LANGUAGE} | {" " + word: 1 for word in sorted(LANGUAGE)[::4]}
    return {"one": counted(), "two": WordCounts.from_mapping(other, pattern=DEFAULT_PATTERN)}


def shares_of(counts: Mapping[str, WordCounts], types: list[str]) -> dict[str, dict[str, float]]:
    """Compute the share of each group in each word, by its relative frequency there; a labeled word occurs once."""
    known = {name: {word[1:]: times for word, times in own.items()} for name, own in counts.items()}
    for word in types:
        if not any(word in own for own in known.values()):
            known["one"][word] = 1
    often = {name: {word: times / sum(own.values()) for word, times in own.items()} for name, own in known.items()}
    total = {word: sum(own.get(word, 0.0) for own in often.values()) for word in types}
    return {name: {word: own.get(word, 0.0) / total[word] for word in types} for name, own in often.items()}


@pytest.mark.parametrize("both", [False, True])
def test_labels_of_a_group_act_on_its_words_only(both: bool):
    """The result equals that of a readable version; words of a group without labels keep their exact probabilities."""
    counts = groups()
    backwards = {word[::-1]: [[morph[::-1] for morph in LANGUAGE[word][::-1]]] for word in sorted(LANGUAGE)[::11]}
    labels = {"one": LABELED, **({"two": backwards} if both else {})}
    trainer = quiet(labels=labels, n_merges=500)
    before, learned = find_evidence(counts, trainer), trainer.learn(counts)
    first = once(trainer, counts, before)
    assert learned.evidence is not None and list(learned.label_fits) == list(labels)
    shares = {name: own for name, own in shares_of(counts, before.types).items() if name in labels}
    assert 0 < min(shares["one"][word] for word in LANGUAGE) < 1
    found = by_word(learned.evidence)
    assert_same(found, adjusted(trainer.backend(first), before, labels, shares))
    if not both:
        earlier = by_word(before)
        foreign = [word[::-1] for word in LANGUAGE if word[::-1] not in LANGUAGE]
        assert {word: found[word] for word in foreign} == {word: earlier[word] for word in foreign}
    assert learned.merges == once(trainer, counts, learned.evidence).merges
