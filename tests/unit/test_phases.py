"""Morphs and compositions: tokens that a user sees, the penalty of hidden boundaries, a vocabulary that is filled.

Modules: learn/phases.py, learn/uppercase.py.
"""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from mws_hf import MwSError
from mws_hf.learn import phases
from mws_hf.learn.evidence.forms import TypeCounts, collect_forms, collect_types
from mws_hf.learn.evidence.posteriors import collect_evidence
from mws_hf.learn.phases import MORPH_LIMITS, SCALE, composition_scores, learn_compositions, learn_contextual
from mws_hf.learn.settings import Settings
from mws_hf.learn.uppercase import with_uppercase
from mws_hf.learn.words import CodePoints, SymbolCorpus
from mws_hf.learn.working_corpus import WorkingCorpus
from tests.agglutinative import boundary_f1, encoder, make_language


def alphabet_of(pretokens):
    return sorted(set("".join(pretokens)) | {" "})


def train(pretokens, n_merges, counts=None, settings=None, types=True, **limits):
    counts = np.ones(len(pretokens), np.int64) if counts is None else np.array(counts)
    forms = collect_forms(pretokens, counts)
    evidence = collect_evidence(collect_types(pretokens, counts), settings)
    return learn_contextual(
        forms, alphabet_of(pretokens), n_merges, evidence, types=types, limits=replace(MORPH_LIMITS, **limits)
    )[0], evidence


@pytest.fixture(scope="module")
def language():
    return make_language()


@pytest.fixture(scope="module")
def pretokens(language):
    words = sorted(language)
    return (
        [" " + w for w in words] + [w.capitalize() for w in words[::3]] + ["(" + w for w in words[::5]] + ["12", "ab7"]
    )


@pytest.fixture(scope="module")
def trained(pretokens):
    return train(pretokens, 1500)


def test_tokens_follow_the_morphs_far_better_than_frequency(language, pretokens, trained):
    learned, _ = trained
    morphs = boundary_f1(learned.merges, language)
    bpe = WorkingCorpus(SymbolCorpus.from_words(pretokens)).learn(None, len(learned.merges))
    assert morphs > 0.8
    assert morphs > boundary_f1(bpe.merges, language) + 0.2
    capitalized = {word.capitalize(): [morphs[0].capitalize(), *morphs[1:]] for word, morphs in language.items()}
    assert boundary_f1(learned.merges, capitalized, prefix="") > 0.75


def test_every_token_has_one_derivation_and_parts_come_first(pretokens, trained):
    known = set(alphabet_of(pretokens))
    for left, right in trained[0].merges:
        assert left in known
        assert right in known
        assert left + right not in known
        known.add(left + right)


def test_the_space_is_merged_with_every_letter_of_the_alphabet(pretokens, trained):
    merges = trained[0].merges
    letters = [c for c in alphabet_of(pretokens) if c.isalpha()]
    assert merges[: len(letters)] == [(" ", c) for c in letters]
    tokenizer = encoder(merges, alphabet_of(pretokens))
    assert all(" " not in tokenizer.encode(" " + c + rest).tokens for c in letters for rest in ("", "a", "kitap"))
    assert not any(token.endswith(" ") or "(" in token or "7" in token for pair in merges for token in ["".join(pair)])


def test_merges_do_not_depend_on_the_order_of_the_words_nor_on_threads(pretokens):
    learned, _ = train(pretokens, 300)
    forms = collect_forms(pretokens[::-1], np.ones(len(pretokens), np.int64))
    evidence = collect_evidence(TypeCounts(forms.types, forms.type_counts), n_threads=1)
    assert learn_contextual(forms, alphabet_of(pretokens), 300, evidence)[0].merges == learned.merges


def test_cased_forms_and_punctuation_share_the_evidence_of_the_letters(trained):
    _, evidence = trained
    known = evidence.types[0]
    values = evidence.word(known)
    assert len(values) == len(known)
    assert values[-1] == 0
    assert evidence.word(" " + known.upper()) == [0.0, *values]
    assert evidence.word("(" + known) == [1.0, *values]
    assert evidence.word("neverseen") is None
    assert evidence.word("12") is None
    many = [" " + known, "12", "?" + known]
    expected = [x for p in many for x in (evidence.word(p) or [0.0] * len(p))]
    assert evidence.boundaries(many).tolist() == expected


def test_inside_words_without_evidence_nothing_is_known(trained):
    _, evidence = trained
    for pretoken, expected in {
        "zqx": [0.5, 0.5, 0.0], " Zqx": [0.0, 0.5, 0.5, 0.0], "(zqx": [1.0, 0.5, 0.5, 0.0],
        "z": [0.0], " z": [0.0, 0.0],        "zq\u0301x": [0.5, 0.0, 0.5, 0.0], "123": [0.0, 0.0, 0.0],
    }.items():  # fmt: skip
        assert evidence.word(pretoken) is None
        assert evidence.boundaries(["12", pretoken, "."]).tolist() == [0.0, 0.0, *expected, 0.0]


def test_types_are_the_most_frequent_cores_of_fitting_length():
    words = [" aa", " bb", " Bb", " cc", " d", " " + "e" * 30, " " + "f" * 29]
    _, evidence = train(words, 5, counts=[2, 1, 2, 2, 9, 9, 9], settings=Settings(max_types=3))
    assert evidence.types[:2] == ["f" * 29, "bb"]
    assert evidence.types[2:] in (["aa"], ["cc"])


def test_limits(pretokens):
    learned, _ = train(pretokens, 400, max_token_length=4, forbidden=frozenset({" k", "lar"}))
    products = [left + right for left, right in learned.merges]
    assert max(map(len, products)) == 4
    assert not {" k", "lar"} & set(products)
    assert train(pretokens, 40, max_token_length=1)[0].merges == []
    assert len(train(pretokens, 0)[0].merges) == 0


def test_spaces_take_at_most_an_eighth_of_the_merges_the_frequent_ones():
    words = [" " + chr(0x4E00 + i) + chr(0x4E00 + k) for i in range(60) for k in range(i)]
    merges = train(words, 80)[0].merges
    assert merges[:10] == [(" ", chr(0x4E00 + i)) for i in range(50, 60)]
    assert merges[10][0] != " " or merges[10][1] < chr(0x4E00 + 50)


def test_weights_by_running_text_instead_of_types():
    words, counts = [" koda", " kosi", " kola", " reda", " resi", " rela"], [1, 1, 1, 1000, 1, 1]
    by_types = train(words, 20, counts)[0]
    by_counts = train(words, 20, counts, types=False)[0]
    assert by_types.merges[2:5] == [("s", "i"), (" k", "o"), (" r", "e")]  # equal scores: three forms each
    assert by_counts.merges[2:5] == [(" r", "e"), ("s", "i"), (" k", "o")]
    assert by_counts.scores[2] / by_types.scores[4] == pytest.approx(1002 / 3)


SCRIPTS = {
    "Georgian": "სახლი სახლები სახლებში კაცი კაცები კაცებში წიგნი წიგნები წიგნებში",
    "Armenian": "տուն տներ տներում գիրք գրքեր գրքերում քաղաք քաղաքներ քաղաքներում",
    "Devanagari": "लड़का लड़के लड़कों किताब किताबें किताबों शब्द शब्दों हिन्दी हिन्दियों",
    "Hangul": "학교 학교는 학교에서 집은 집에서 사람 사람은 사람에서",
    "Arabic": "كِتَاب الكِتَاب كُتُب الكُتُب بَيْت البَيْت",
    "Han": "漢字 漢語 中国 中国語 日本 日本語",
    "Thai": "ไก่ ไข่ไก่ น้ำ น้ำแข็ง",
    "Ukrainian": "п'ять п'ятий п’ять сім'я сім'ї",
    "Cyrillic NFD": unicodedata.normalize("NFD", "йод йодный ёлка ёлки зимой домой чай чайный"),
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_marks_stay_with_their_letters_in_every_script(script):
    words = SCRIPTS[script].split()
    pretokens = [" " + w for w in words] + words
    learned, evidence = train(pretokens, 400, min_occurrences=1)
    tokenizer = encoder(learned.merges, alphabet_of(pretokens))
    assert sorted(evidence.types) == sorted({w for w in words if len(w) > 1})
    for word in pretokens:
        tokens = tokenizer.encode(word).tokens
        assert "".join(tokens) == word
        assert not any(unicodedata.category(token[0])[0] == "M" or token == " " for token in tokens)


def test_lowercase_forms_of_words_that_occur_only_in_capitals_are_split_alike(language):
    capitals = [" " + word.capitalize() for word in language]
    merges = train(capitals + [" " + word for word in list(language)[:50]], 700)[0].merges
    assert boundary_f1(merges, language) > 0.8


@pytest.mark.parametrize("words", [[], ["12"], [" a"], [" ab"], [" ab", " cd"], [" aaaaaa", " aaa"], ["..", " ab"]])
def test_tiny_inputs(words):
    learned, _ = train(words, 50)
    assert learned.exhausted or len(learned.merges) == 50


def test_the_first_merges_are_those_of_a_higher_penalty(pretokens):
    """These are two fifths of the merges, or one fifth with several groups; a larger vocabulary has more of them."""
    counts = np.ones(len(pretokens), np.int64)
    evidence = collect_evidence(collect_types(pretokens, counts))
    mixed = replace(evidence, weights=np.ones(len(evidence.code_points)))

    def merges(of, n, penalty=16.0):
        forms = collect_forms(pretokens, counts)
        return learn_contextual(forms, alphabet_of(pretokens), n, of, crossing_penalty=penalty)[0].merges

    alone, longer, mixture = merges(evidence, 500), merges(evidence, 1000), merges(mixed, 500)
    assert alone[:200] == longer[:200] and alone != longer[:500]
    assert alone[:100] == mixture[:100] and alone[:200] != mixture[:200]
    assert merges(mixed, 500, 4.0)[:100] != mixture[:100]


WORDS = [" walk", " walks", " walked", " talk", " talks", " talked", " red", " bed"]
COUNTS = np.array([90, 20, 10, 50, 9, 5, 40, 3])
ALPHABET = sorted(set("".join(WORDS)))


def boundaries_before(endings: tuple[str, ...]) -> np.ndarray:
    """Return 1 before an ending that follows a stem in WORDS, and 0 elsewhere."""
    values = []
    for word in WORDS:
        cut = next((len(word) - len(e) for e in endings if word.endswith(e) and len(word) > 4 + len(e)), -1)
        values += [1.0 if i + 1 == cut else 0.0 for i in range(len(word))]
    return np.array(values)


def test_without_boundaries_it_is_frequency_bpe():
    corpus = SymbolCorpus.from_words(WORDS, COUNTS)
    assert learn_compositions(WORDS, COUNTS, ALPHABET, [], 9).merges == WorkingCorpus(corpus).learn(None, 9).merges


def test_merges_that_hide_boundaries_come_last():
    boundaries = partial(boundaries_before, ("s", "ed"))
    found = learn_compositions(WORDS, COUNTS, ALPHABET, [], 99, boundaries=boundaries, hidden_boundary_price=9.0)
    products = ["".join(pair) for pair in found.merges]
    across = [p for p in products if p.endswith(("ks", "ked"))]
    assert across and products.index(across[0]) > products.index(" walk")
    assert products[-len(across) :] == across  # only after all other merges


def test_the_morphs_stay_first_and_are_not_learned_again():
    morphs = [(" ", "w"), (" w", "a")]
    found = learn_compositions(WORDS, COUNTS, ALPHABET, morphs, 20).merges
    assert not set(found) & set(morphs)
    assert (" wa", "lk") in found or ("l", "k") in found


def test_a_wrong_number_of_boundaries_is_an_error():
    with pytest.raises(MwSError, match="one each"):
        learn_compositions(WORDS, COUNTS, ALPHABET, [], 5, boundaries=lambda: np.zeros(3))


def test_omitted_characters_do_not_shift_penalties(monkeypatch):
    """There is a boundary for each character, even if it is not a symbol; each thread has its own words."""
    monkeypatch.setattr("mws_hf.kernels.threads._MIN_STEPS_PER_THREAD", 2)
    monkeypatch.setenv("MWS_NUM_THREADS", "3")
    kept = [character for character in ALPHABET if character not in "ae"]
    chances = np.arange(sum(map(len, WORDS))) / 100
    laid = []

    def lay_out(_segmentation, values, price, *_):
        laid.append(values(partial(composition_scores, penalty=price * SCALE)))

    monkeypatch.setattr(phases, "compose", lay_out)
    learn_compositions(WORDS, COUNTS, kept, [], 5, boundaries=lambda: chances, hidden_boundary_price=2.0)
    found = laid[0]
    runs, at = [], 0  # a word is divided where a character is left out
    for word, count in zip(WORDS, COUNTS.tolist(), strict=True):
        places = [k for k, character in enumerate(word) if character in kept]
        for k in places:
            if k - 1 not in places:
                runs.append((count, []))
            runs[-1][1].append(chances[at + k])
        at += len(word)
    price = 2.0 * np.mean([count for count, _ in runs]) * SCALE
    cells = [[None, *(count * SCALE - round(price * chance) for chance in run)] for count, run in runs]
    wanted = [*sum(cells, []), None]  # cells between words have no score
    assert len(found) == len(wanted)
    assert [
        pair for pair in zip(found.tolist(), wanted, strict=True) if pair[1] is not None and pair[0] != pair[1]
    ] == []


def test_variants_in_capitals_are_written_as_the_language_writes_them():
    """Greek words in uppercase have no accents, and Georgian text has no uppercase."""
    words = [" λόγος", " ευρωπαϊκή", " სახლი", " дом"]
    added = with_uppercase(CodePoints.of(words), np.array([900, 900, 900, 900]))[0].strings()[4:]
    assert added == [" ΛΟΓΟΣ", " ΕΥΡΩΠΑΪΚΗ", " ДОМ"]
