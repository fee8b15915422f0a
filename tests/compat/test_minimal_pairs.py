"""Minimal pairs: the file formats, accuracy by hand, and both judges against hand calculations."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lm.minimal_pairs import (
    Pair,
    accuracies,
    accuracy_difference,
    margins_of,
    ngram_judge,
    read_pairs,
    wilson,
)
from tokenizers import Tokenizer, decoders, models

from mws_hf.errors import MwSError
from tests.paths import ROOT

RUSSIAN = (
    'id,source_sentence,target_sentence,phenomenon,PID\n7,"Он, мент, уходит.","Он, мент, уходет.",Inflection,verb\n'
)
TURKISH = "good_sentence;bad_sentence;good_cue;phenomenon\nGelir.;Geler.;Gelir;irregular  \nGelir.;Gelir.;x;irregular\n"


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_both_benchmarks_and_a_hand_made_file_are_read(tmp_path):
    files = [
        written(tmp_path, "rus.csv", RUSSIAN),
        written(tmp_path, "tur.csv", TURKISH),
        written(tmp_path, "own.tsv", "\ufeffgood_sentence\tbad_sentence\r\nдома, \tдомы\r\n\r\n"),
    ]
    assert read_pairs(files) == [
        Pair("Он, мент, уходит.", "Он, мент, уходет.", "verb"),
        Pair("Gelir.", "Geler.", "irregular"),  # the pair of two equal sentences is left out
        Pair("дома,", "домы", "own"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", r"pairs.csv:1: no column good_sentence or source_sentence; the header names a, b"),
        ("good_sentence,bad_sentence\nx,y\nx,\n", r"pairs.csv:3: a sentence of the pair is missing"),
        ("good_sentence,bad_sentence\nx,x\n", "no pair of two different sentences"),
        ("", "no column good_sentence or source_sentence; the header names nothing"),
    ],
)
def test_a_bad_file_is_told_with_its_line(text, message, tmp_path):
    with pytest.raises(MwSError, match=message):
        read_pairs([written(tmp_path, "pairs.csv", text)])


def test_a_file_that_is_not_utf8_or_absent_is_told(tmp_path):
    (tmp_path / "latin.csv").write_bytes("good_sentence,bad_sentence\né,e\n".encode("latin-1"))
    for name in ("latin.csv", "absent.csv"):
        with pytest.raises(MwSError, match=f"{name}: not readable"):
            read_pairs([tmp_path / name])


def test_accuracy_by_hand():
    pairs = [Pair("a", "b", "x"), Pair("a c", "b c", "x"), Pair("a", "d", "x"), Pair("a", "b.", "w")]
    found = accuracies(pairs, np.array([1.0, -0.5, 0.0, 2.0]))
    assert [found[name].changes for name in ("w", "x", "all")] == [1, 2, 2]
    assert list(found) == ["w", "x", "all"]
    assert found["x"].pairs == 3 and found["x"].value == 0.5 and found["w"].value == 1.0
    assert found["all"].value == pytest.approx(2.5 / 4)
    assert (found["w"].low, found["w"].high) == pytest.approx((1 / (1 + 1.959963984540054**2), 1.0))


@pytest.mark.parametrize(("right", "number"), [(0, 5), (3, 7), (45, 50), (1000, 1000)])
def test_the_interval_solves_its_own_equation(right, number):
    """Wilson's ends are the shares p whose distance to the observed one is 1.96 standard errors of p itself."""
    share = right / number
    for end in wilson(right, number):
        assert (share - end) ** 2 == pytest.approx(1.959963984540054**2 * end * (1 - end) / number, abs=1e-12)


def test_the_ngram_judge_by_hand():
    """Unigrams over letters: a 5 times, b once, the end twice; none 3 times, so the discounts are .5, 1, 1.5."""
    letters = Tokenizer(models.BPE({"a": 0, "b": 1}, []))
    letters.decoder = decoders.Fuse()
    kept, each = (1.5 + 0.5 + 1) / 8, 1 / 3
    a, b = (5 - 1.5) / 8 + kept * each, (1 - 0.5) / 8 + kept * each
    pairs = [Pair("a", "b", "x"), Pair("bb", "ba", "x")]
    margins = ngram_judge(letters, ["aaa", "aab"], pairs, orders=[1])
    assert margins == pytest.approx([np.log(a / b), np.log(b / a)])
    assert accuracies(pairs, margins)["x"].value == 0.5


def test_pairs_of_one_change_count_once_in_the_interval():
    """A hundred copies of five changes know no more than the five."""
    pairs = [Pair("a", mark, "x") for mark in "bcdef"]
    points = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    few, many = (accuracies(pairs * times, np.tile(points - 0.5, times))["x"] for times in (1, 100))
    assert (few.low, few.high) == (many.low, many.high) and many.pairs == 500
    once, often = (
        accuracy_difference(pairs * times, np.tile(points, times), np.zeros(len(points) * times)) for times in (1, 100)
    )
    assert once == pytest.approx(often)
    assert once[2] - once[0] == pytest.approx(1.96 * points.std(ddof=1) / 5**0.5)


@pytest.mark.parametrize(
    ("good", "bad", "change"),
    [
        ("Он уходит.", "Он уходет.", ("уходит", "уходет")),
        ("a b c", "a x y c", ("b", "x y")),
        ("a a", "a", ("a", "")),
        ("a", "a a", ("", "a")),
    ],
)
def test_the_change_of_a_pair(good, bad, change):
    assert Pair(good, bad, "").change == change


def test_margins_are_cost_of_the_bad_minus_cost_of_the_good():
    pairs = [Pair("aa", "aaaaa", "x"), Pair("aaaa", "a", "x")]
    assert margins_of(pairs, lambda texts: np.array([float(len(text)) for text in texts])).tolist() == [3.0, -3.0]


def test_pairs_are_fetched_once_and_checked(tmp_path):
    """From a folder laid out as GitHub's addresses; a file with another content than expected is refused."""
    path = "RussianNLP/RuBLiMP/9f0d8dfa993b2c0f0acf12660258540376779543/datasets/add_new_suffix.csv"
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text("something else", encoding="utf-8")
    command = [sys.executable, str(ROOT / "scripts" / "minimal_pairs.py"), "fetch", "--language", "rus"]
    command += ["--cache", str(tmp_path / "cache"), "--from", tmp_path.as_uri()]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1 and "another file than expected" in result.stderr
    assert not list(tmp_path.glob("cache/rus/*"))


def test_a_language_model_judges_as_an_independent_loop_does(tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("accelerate")
    from lm import judge
    from lm.__main__ import app
    from lm.data import Codec
    from lm.training import pretrain
    from transformers import AutoModelForCausalLM
    from typer.testing import CliRunner

    from tests.small_language import small_run, tokenizer_dir, write_corpus

    run = tmp_path / "run"
    tokenizer = tokenizer_dir(tmp_path, "mws")
    corpus = write_corpus(tmp_path, 400)
    pretrain(small_run(tokenizer, corpus, train_bytes=8000, held_out_bytes=1000), run)
    pairs = [Pair("Дом стола реку.", "Дом реку стола.", "order"), Pair("Дом.", "Домь.", "form")]
    model, codec = AutoModelForCausalLM.from_pretrained(run / "model").eval(), Codec.open(run / "model")

    def log_probability(text):
        ids = torch.tensor([[codec.separator, *codec.encode([text])[0].tolist()]])
        with torch.no_grad():
            chances = model(input_ids=ids).logits[0].log_softmax(-1)
        return sum(float(chances[place, index]) for place, index in enumerate(ids[0, 1:].tolist()))

    expected = [log_probability(pair.good) - log_probability(pair.bad) for pair in pairs]
    assert judge(run, pairs) == pytest.approx(expected, abs=1e-4)
    assert judge(run / "model", pairs) == pytest.approx(expected, abs=1e-4)

    rows = "\n".join("\t".join(pair) for pair in pairs)
    file = written(tmp_path, "pairs.tsv", f"good_sentence\tbad_sentence\tparadigm\n{rows}\n")
    found = json.loads(CliRunner().invoke(app, ["judge", str(run), str(file)]).stdout)
    assert [found[name]["value"] for name in ("order", "form")] == [float(margin > 0) for margin in expected]
    by_ngrams = CliRunner().invoke(app, ["judge", str(tokenizer), str(file), "--ngram", str(corpus)])
    assert json.loads(by_ngrams.stdout)["all"]["pairs"] == 2
    with pytest.raises(MwSError, match="no run and no model there"):
        judge(tmp_path, pairs)
