"""`tokenizer/places.py`: which names are accepted, and the errors for other names."""

from __future__ import annotations

import pytest

import mws_hf
from mws_hf import MwSError, MwSTokenizer, MwSTokenizerFast
from mws_hf.tokenizer import places
from mws_hf.tokenizer.opened import open_tokenizer
from tests.in_process import mws
from tests.paths import ROOT
from tests.small_tokenizers import small_fast

needs_cards = pytest.mark.skipif(
    not (ROOT / "model_cards").is_dir(), reason="model_cards/ is not in the source distribution"
)


@pytest.mark.parametrize("kind", [MwSTokenizerFast, MwSTokenizer])
def test_a_missing_file_and_a_name_of_another_type_are_errors_in_one_line(kind, tmp_path):
    for file in ("tok/tokenizer.json", str(tmp_path / "user" / "repo")):
        with pytest.raises(OSError, match="no such file; give the path of a tokenizer.json"):
            kind(tokenizer_file=file)
    for name in (None, 5):
        with pytest.raises(MwSError, match=f"^{name} is not the name or the path of a tokenizer"):
            kind.from_pretrained(name)


@needs_cards
@pytest.mark.parametrize("kind", [MwSTokenizerFast, MwSTokenizer])
def test_the_classes_take_the_name_of_a_pretrained_tokenizer(kind):
    loaded = kind.from_pretrained("mws-fi-16k")
    text = "taloissammekin on hiljaista"
    assert loaded.encode(text) == mws_hf.pretrained("mws-fi-16k").encode(text)
    assert open_tokenizer(loaded).record == open_tokenizer("mws-fi-16k").record


def test_a_folder_of_that_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small_fast().save_pretrained("mws-fi-16k")
    assert len(MwSTokenizerFast.from_pretrained("mws-fi-16k")) == len(small_fast())


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("mws-tr-32", "mws-tr-32k"),
        ("mws_fi_16k", "mws-fi-16k"),
        ("MWS-HU-32K", "mws-hu-32k"),
        ("mws-turkish-32k", "mws-tr-32k"),  # mws-uk-32k is spelled more similarly
        ("ru-32k", "mws-ru-32k"),
    ],
)
def test_for_a_mistyped_name_the_most_similar_one_is_suggested(given, meant):
    hint = f"did you mean '{meant}'?"
    for load in (MwSTokenizerFast.from_pretrained, open_tokenizer, mws_hf.pretrained):
        with pytest.raises(MwSError) as caught:
            load(given)
        assert hint in str(caught.value)
    for command in (["segment", given, "a"], ["check", given], ["transplant", given, "mws-fi-16k", "-o", "out"]):
        assert hint in mws(*command).stderr


@pytest.mark.parametrize("given", ["tok", "k", "out/russian", "./mistyped", "mws-german-32k"])
def test_no_name_is_proposed_if_none_is_similar(given):
    assert "did you mean" not in mws("check", given).stderr


def test_a_pretrained_tokenizer_is_not_a_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = next(iter(places.pretrained_rows()))
    done = mws("transplant", name, "mws-fi-16k", "-o", "out")
    assert done.returncode == 2
    assert f"{name}: is a pretrained tokenizer of this project and not a model" in done.stderr, done.stderr
