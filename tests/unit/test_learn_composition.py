"""Composition: frequency where there are no boundaries, a price where there are, a full vocabulary at the end."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from mws_hf import MwSError
from mws_hf.learn import compositions
from mws_hf.learn.compositions import SCALE, composition_worth, learn_compositions
from mws_hf.learn.engine.segmentation import Segmentation
from mws_hf.learn.words import SymbolCorpus

WORDS = [" walk", " walks", " walked", " talk", " talks", " talked", " red", " bed"]
COUNTS = np.array([90, 20, 10, 50, 9, 5, 40, 3])
ALPHABET = sorted(set("".join(WORDS)))


def boundaries_before(endings: tuple[str, ...]) -> np.ndarray:
    """1 before an ending that follows a stem in WORDS, 0 elsewhere."""
    values = []
    for word in WORDS:
        cut = next((len(word) - len(e) for e in endings if word.endswith(e) and len(word) > 4 + len(e)), -1)
        values += [1.0 if i + 1 == cut else 0.0 for i in range(len(word))]
    return np.array(values)


def test_without_boundaries_it_is_frequency_bpe():
    corpus = SymbolCorpus.from_words(WORDS, COUNTS)
    assert learn_compositions(WORDS, COUNTS, ALPHABET, [], 9).merges == Segmentation(corpus).learn(None, 9).merges


def test_boundaries_are_hidden_last():
    boundaries = partial(boundaries_before, ("s", "ed"))
    found = learn_compositions(WORDS, COUNTS, ALPHABET, [], 99, boundaries=boundaries, hidden_boundary_price=9.0)
    products = ["".join(pair) for pair in found.merges]
    across = [p for p in products if p.endswith(("ks", "ked"))]
    assert across and products.index(across[0]) > products.index(" walk")
    assert products[-len(across) :] == across  # only when nothing else is left


def test_the_morphs_stay_first_and_are_not_learnt_again():
    morphs = [(" ", "w"), (" w", "a")]
    found = learn_compositions(WORDS, COUNTS, ALPHABET, morphs, 20).merges
    assert not set(found) & set(morphs)
    assert (" wa", "lk") in found or ("l", "k") in found


def test_a_wrong_number_of_boundaries_is_an_error():
    with pytest.raises(MwSError, match="one each"):
        learn_compositions(WORDS, COUNTS, ALPHABET, [], 5, boundaries=lambda: np.zeros(3))


def test_characters_left_out_shift_no_price_in_any_part(monkeypatch):
    """Boundaries are told of all characters, also of those that are no symbols; each thread has words of its own."""
    monkeypatch.setattr("mws_hf.kernels.threads._LEAST", 2)
    monkeypatch.setenv("MWS_NUM_THREADS", "3")
    kept = [character for character in ALPHABET if character not in "ae"]
    chances = np.arange(sum(map(len, WORDS))) / 100
    laid = []

    def lay_out(_segmentation, values, price, *_):
        laid.append(values(partial(composition_worth, price=price * SCALE)))

    monkeypatch.setattr(compositions, "compose", lay_out)
    learn_compositions(WORDS, COUNTS, kept, [], 5, boundaries=lambda: chances, hidden_boundary_price=2.0)
    found = laid[0]
    runs, at = [], 0  # a word falls apart where a character is left out
    for word, count in zip(WORDS, COUNTS.tolist(), strict=True):
        places = [k for k, character in enumerate(word) if character in kept]
        for k in places:
            if k - 1 not in places:
                runs.append((count, []))
            runs[-1][1].append(chances[at + k])
        at += len(word)
    price = 2.0 * np.mean([count for count, _ in runs]) * SCALE
    cells = [[None, *(count * SCALE - round(price * chance) for chance in run)] for count, run in runs]
    wanted = [*sum(cells, []), None]  # cells between words hold no worth
    assert len(found) == len(wanted)
    assert [
        pair for pair in zip(found.tolist(), wanted, strict=True) if pair[1] is not None and pair[0] != pair[1]
    ] == []
