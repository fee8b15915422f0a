"""Training with strings that must be entries, and with characters that are kept apart."""

from __future__ import annotations

import json

import pytest

from mws_hf import MwSTrainer
from mws_hf.errors import MwSError
from mws_hf.tokenizer.opened import open_tokenizer
from mws_hf.tokenizer.training_record import read_record
from tests.in_process import mws

TEXT = ["readers read reading 12 21 players play playing it's 1212 assess pass"] * 30
WANTED = (" reading", "XQZ", " naïve")


def trained(**options):
    return MwSTrainer(vocab_size=400, show_progress=False, **options).train(TEXT)


@pytest.mark.parametrize("options", [{}, {"criterion": "classic"}, {"alphabet": "characters"}])
def test_strings_are_entries_and_the_size_stays(options):
    plain, asked = trained(**options), trained(tokens=WANTED, **options)
    for string in WANTED:
        assert len(asked.encode(string, add_special_tokens=False)) == 1
        assert len(plain.encode(string, add_special_tokens=False)) > 1 or string == " reading"
    assert len(asked) <= max(len(plain), 400)
    assert asked.decode(asked.encode(TEXT[0])) == TEXT[0]


def test_a_vocabulary_that_is_full_makes_room(tmp_path):
    small = MwSTrainer(vocab_size=280, show_progress=False)
    plain, asked = small.train(TEXT), MwSTrainer(vocab_size=280, tokens=["XQZ"], show_progress=False).train(TEXT)
    assert len(plain) == len(asked) == 280 and asked.tokenize("XQZ") == ["XQZ"]
    asked.save_pretrained(tmp_path)
    assert read_record(tmp_path, asked.backend_tokenizer)["tokens"] == ["XQZ"]
    assert open_tokenizer(tmp_path).kinds[-1] == ("required", 2)


def test_characters_and_pairs_are_kept_apart():
    tokenizer = trained(keep_apart=["'", "12", "ss"])
    tokens = [tokenizer.decode([index]) for index in range(len(tokenizer))]
    assert not [token for token in tokens if "'" in token and len(token) > 1]
    assert not [token for token in tokens if "12" in token or "ss" in token]
    assert any("21" in token for token in tokens)
    assert tokenizer.decode(tokenizer.encode(TEXT[0])) == TEXT[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokens": ["two words"]}, r"the split pattern cuts it \(two\| words\)"),
        ({"tokens": ["it'll"], "keep_apart": ["'"]}, "kept apart"),
        ({"tokens": ["é"], "normalization": "nfd"}, "normalization makes"),
        ({"tokens": "XQZ"}, "give a list"),
        ({"keep_apart": ["abc"]}, "cannot be kept apart"),
        (
            {"tokens": ["ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"], "vocab_size": 290},
            "ask for a larger vocabulary",
        ),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(MwSError, match=message):
        MwSTrainer(**{"vocab_size": 400, "show_progress": False} | options).train(TEXT)


def test_the_command(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(TEXT))
    (tmp_path / "tokens").write_text(" reading\nXQZ\n")
    (tmp_path / "apart").write_text("'\nss\n")
    lists = ("--tokens", tmp_path / "tokens", "--keep-apart", tmp_path / "apart")
    done = mws("train", tmp_path / "text.txt", "--vocab-size", 400, "-o", tmp_path / "t", *lists, "--json")
    assert done.returncode == 0, done.stderr
    vocabulary = json.loads((tmp_path / "t" / "tokenizer.json").read_text())["model"]["vocab"]
    assert {"Ġreading", "XQZ"} <= set(vocabulary) and not [token for token in vocabulary if "ss" in token]
    (tmp_path / "apart").write_text("'\nabc\n")
    done = mws("train", tmp_path / "text.txt", "-o", tmp_path / "u", *lists)
    assert done.returncode == 2 and f"{tmp_path / 'apart'}:2" in done.stderr
