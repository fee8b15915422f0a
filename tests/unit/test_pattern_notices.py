"""`mws train` says in a line what its split pattern costs: words cut at apostrophes, programs that cannot run it."""

from __future__ import annotations

import pytest

from mws_hf.commands.train import cut_at_apostrophes, pattern_notices
from mws_hf.corpus.counting import count_documents
from mws_hf.errors import MwSError
from mws_hf.text.pattern import NAMED_PATTERNS, check_backtracking, with_digits
from tests.in_process import invoke


def notices(text: str, pattern: str = "o200k") -> str:
    return "\n".join(pattern_notices(count_documents([text], pattern=pattern)))


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
    found = cut_at_apostrophes(count_documents([text], pattern=pattern))
    assert found.share == pytest.approx(0 if pattern == "words" else 0.2)
    assert found.example in ("",) if pattern == "words" else (f"{apostrophe}ять", f"{apostrophe}ya")


def test_above_two_in_a_thousand_it_is_told_with_what_it_costs():
    text = "п'ять " + "слово " * 499
    assert notices(text + "слово ") == ""  # .2 % of 501 is more than one
    told = notices("п'ять " + text)
    assert told.startswith("at least 0.4 % of the words have an inner apostrophe, and split pattern o200k cuts them")
    assert "(…'ять)" in told
    assert "--pattern words keeps them whole, but " in told
    for engine in ("tokenizers 1.0", "gigatoken", "llama.cpp", "onnxruntime-extensions"):
        assert engine in told.split(" refuse it")[0]
    assert told.endswith("tokie cuts it otherwise") and "\n" not in told


def test_english_endings_are_whole_by_default_and_cut_by_llama3():
    text = "dog's tail isn't ours "
    assert notices(text) == ""
    assert "llama3 cuts" in notices(text, "llama3")


@pytest.mark.parametrize(
    ("pattern", "digits", "runs"),
    [
        ("o200k", None, True), ("llama3", None, True), ("llama3", "single", True), ("o200k", "single", False),
        ("llama3", "right", False), ("words", None, False), ("gpt4", None, False), (r"\w+|\W", None, False),
    ],
)  # fmt: skip
def test_a_pattern_that_tokenizers_1_cannot_run_is_told(pattern, digits, runs):
    """As tried with 1.0.0rc3; tests/compat/test_tokenizers_one.py tries them again."""
    told = notices("слово", with_digits(pattern, digits))
    assert (told == "") == runs
    if not runs:
        assert told.startswith("tokenizers 1.0 cannot run ") and "--pattern o200k" in told
        assert (digits is None) or f"--digits {digits}" in told.split(":")[0]


def test_the_command_says_so_in_one_line(tmp_path, caplog):
    assert train(tmp_path, caplog, "слово слово дом " * 20) == []
    assert len(train(tmp_path, caplog, "п'ять слів " * 20)) == 1
    (told,) = train(tmp_path, caplog, "п'ять слів " * 20, "--pattern", "words")
    assert told.startswith("tokenizers 1.0 cannot run")
    (told,) = train(tmp_path, caplog, "слово слово дом " * 20, "--criterion", "classic")
    assert told.startswith("tokenizers 1.0 cannot run split pattern gpt4")


@pytest.mark.parametrize("pattern", ["(a|a)*b|.", "(xx|x)+y|.", "(?:ж|[а-я])*ъ|[ab]"])
def test_bombs_are_found(pattern):
    with pytest.raises(MwSError, match="tries ever more ways"):
        check_backtracking(pattern)


@pytest.mark.parametrize(
    "pattern", [*NAMED_PATTERNS.values(), r"\s+|\S+", ".", "[a-z]+|.", r"\p{L}+|\d|\s+|[^\s\p{L}]+"]
)
def test_patterns_in_use_are_no_bombs(pattern):
    check_backtracking(pattern)
