"""The scripts that probe tokenizers: capitals as a marker, cuts of BPE over characters and over bytes."""

# ruff: noqa: E402  (without torch the tests are skipped before anything that needs it is imported)

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")
from byte_cuts import first_merges, in_common, token_ends
from capitals import MARKER, PLACES, rewritten
from lm.data import Codec

from tests.small_language import sentences, tokenizer_dir

TEXT = st.text(st.one_of(st.characters(exclude_characters=MARKER), st.sampled_from(" АбВгИıİßǅΣς")), max_size=30)


@given(TEXT, st.sampled_from(PLACES))
def test_marked_capitals_can_be_undone(text, place):
    """So the rewritten text holds all the information that its bits are counted for."""
    marked = rewritten(text, place)
    assert regex.sub(f"(?s){MARKER}( ?.)", lambda match: match[1].upper(), marked) == text


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("none", "Да, в СССР"),
        ("letter", "⇧да, в ⇧с⇧с⇧с⇧р"),
        ("space", "⇧да, в⇧ с⇧с⇧с⇧р"),
    ],
)
def test_the_places_of_the_marker(place, expected):
    assert rewritten("Да, в СССР", place) == expected


def test_cuts_in_common_by_hand():
    assert in_common([{1, 2, 3}, {4}], [{2, 3}, {4, 5}]) == 3 / 5


def test_token_ends_are_places_in_bytes(tmp_path):
    codec = Codec.open(tokenizer_dir(tmp_path, "characters"))
    assert token_ends(codec, ["до"]) == [{2, 4}]


def test_first_merges_over_bytes_show_what_is_no_character(tmp_path):
    """Nearly every letter of the language begins with one of two bytes, so the first merges are not of letters."""
    directory = tokenizer_dir(tmp_path, "bpe-byte")
    assert any("\\xd0" in merge for merge in first_merges(directory))
    assert all(len(merge.split(" + ")) == 2 for merge in first_merges(directory))
    documents = sentences(20)
    for name in ("bpe-character", "bpe-byte"):
        ends = token_ends(Codec.open(tokenizer_dir(tmp_path, name)), documents)
        assert [max(places) for places in ends] == [len(document.encode()) for document in documents]
