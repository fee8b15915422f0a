"""`mws train` says in a line that its split pattern cuts words at apostrophes."""

from __future__ import annotations

import pytest

from mws_hf.commands.train import apostrophe_notice
from mws_hf.corpus.counting import count_documents
from mws_hf.text.pattern import NAMED_PATTERNS
from tests.in_process import invoke


def notice(text: str, pattern: str = "o200k") -> str:
    return apostrophe_notice(count_documents([text], pattern=pattern))


def train(tmp_path, caplog, text, *arguments):
    """The lines about patterns that the command logs, which go to stderr."""
    caplog.clear()
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    done = invoke(
        ["train", tmp_path / "a.txt", "--vocab-size", 300, "-o", tmp_path / "out", "-q", "--force", *arguments]
    )
    assert done.exit_code == 0, done.stderr
    return [record.getMessage() for record in caplog.records if "pattern" in record.getMessage()]


@pytest.mark.parametrize("pattern", NAMED_PATTERNS)
@pytest.mark.parametrize("apostrophe", "'’")
def test_the_share_is_that_of_the_words_with_an_inner_apostrophe(apostrophe, pattern):
    """Two of ten words; an apostrophe before or behind a word, or alone, is none."""
    inner = f"п{apostrophe}ять Ankara{apostrophe}ya"
    text = f"{inner} one two, three (four) five {apostrophe} six seven{apostrophe} eight"
    told = notice(text, pattern)
    assert (told == "") == (pattern == "words")
    assert told == "" or told.startswith("at least 20.0 % of the words") and f"(…{apostrophe}" in told


def test_above_two_in_a_thousand_it_is_told_with_what_it_costs():
    text = "п'ять " + "слово " * 499
    assert notice(text + "слово ") == ""  # .2 % of 501 is more than one
    told = notice("п'ять " + text)
    assert told.startswith("at least 0.4 % of the words have an inner apostrophe, and split pattern o200k cuts them")
    assert "(…'ять)" in told
    assert "--pattern words keeps them whole, but " in told
    for engine in ("tokenizers 1.0", "gigatoken", "llama.cpp", "onnxruntime-extensions"):
        assert engine in told.split(" refuse it")[0]
    assert told.endswith("tokie cuts it otherwise") and "\n" not in told


def test_english_endings_are_whole_by_default_and_cut_by_llama3():
    text = "dog's tail isn't ours "
    assert notice(text) == ""
    assert "llama3 cuts" in notice(text, "llama3")


def test_the_command_says_so_in_one_line(tmp_path, caplog):
    assert train(tmp_path, caplog, "слово слово дом " * 20) == []
    assert len(train(tmp_path, caplog, "п'ять слів " * 20)) == 1
    assert train(tmp_path, caplog, "п'ять слів " * 20, "--pattern", "words") == []
