"""Named alphabets: their characters are tokens whether the text has them or not; and entries hardly used are told."""

from __future__ import annotations

import json

import pytest
from tokenizers import Tokenizer

from mws_hf import MwSError, MwSTrainer
from mws_hf.text.symbols import EVERYDAY, NAMED_ALPHABETS
from mws_hf.tokenizer.check import check
from tests.in_process import invoke

TEXT = "the old man walked home and talked to the old woman who walked and talked\n" * 3


def tokens_of(folder, text):
    return Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).tokens


def train(tmp_path, *arguments):
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    out = tmp_path / "out"
    done = invoke(["train", str(tmp_path / "text.txt"), "--vocab-size", "900", "-o", str(out), *arguments])
    return done, out


@pytest.mark.parametrize("character", "…€•«»→ß№")
def test_everyday_characters_are_tokens_on_request(tmp_path, character):
    trainer = MwSTrainer(vocab_size=900, initial_alphabet=[*EVERYDAY], show_progress=False)
    assert len(trainer.train_from_counts({"walked": 3, "walk": 2}).tokenize(character)) == 1


def test_the_trainer_takes_names_and_characters(tmp_path):
    trainer = MwSTrainer(vocab_size=900, initial_alphabet=["currency", "hungarian", "漢"], show_progress=False)
    trainer.train_from_counts({"walked": 3, "walk": 2}).save_pretrained(tmp_path)
    assert [len(tokens_of(tmp_path, c)) for c in ("€", "Ű", "漢", "→")] == [1, 1, 1, 3]


def test_a_string_is_its_characters_and_a_name_as_a_string_is_refused():
    assert MwSTrainer(initial_alphabet="ru").initial_alphabet == ["r", "u"]
    assert MwSTrainer(initial_alphabet=["arrows", "r"]).initial_alphabet == ["r", *sorted(NAMED_ALPHABETS["arrows"])]
    with pytest.raises(MwSError, match=r"\['russian'\]"):
        MwSTrainer(initial_alphabet="russian")


def test_languages_have_both_cases():
    for name in ("russian", "turkish", "german", "finnish"):
        letters = set(NAMED_ALPHABETS[name])
        assert {c.upper() for c in letters if len(c.upper()) == 1} <= letters


def test_the_share_of_entries_hardly_used_is_told(tmp_path):
    done, out = train(tmp_path, "--quiet", "--json")
    told = json.loads(done.stdout)["rare_entries"]
    model = json.loads((out / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    ids = [i for line in TEXT.splitlines(keepends=True) for i in tokenizer.encode(line, add_special_tokens=False).ids]
    made = [model["vocab"]["".join(pair)] for pair in model["merges"]]
    assert told == {
        "unused": round(sum(ids.count(i) == 0 for i in made) / len(made), 4),
        "under_5": round(sum(ids.count(i) < 5 for i in made) / len(made), 4),
    }
    words = f"{told['under_5']:.1%} fewer than 5 times, {told['unused']:.1%} never".replace("%", " %")
    assert check(out).facts["hardly_used"] == words
    assert f"| merges hardly used by its training text | {words} |" in (out / "README.md").read_text(encoding="utf-8")
