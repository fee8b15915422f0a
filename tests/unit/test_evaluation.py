"""The report and the command: what a user gets on standard output, as Markdown and as JSON."""

from __future__ import annotations

import json

import pytest
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

from mws_hf.errors import MwSError
from mws_hf.scoring import evaluate, score
from mws_hf.scoring.measures import BITS, TEXT
from mws_hf.scoring.score_tables import GOLD_COLUMNS
from tests.in_process import mws
from tests.paths import ROOT
from tests.processes import command, on_a_terminal

GOLD = "unlocked\tun lock ed\nlocked\tlock ed\nunlocks\tun lock s, unlock s\nlock\tlock\nbad\tx y\n"


def save(directory, merges):
    vocabulary = [*" unlockeds.", *(a + b for a, b in merges)]
    tokenizer = Tokenizer(models.BPE({token: index for index, token in enumerate(dict.fromkeys(vocabulary))}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r" ?\p{L}+|."), "isolated")
    directory.mkdir()
    tokenizer.save(str(directory / "tokenizer.json"))
    return directory


@pytest.fixture
def files(tmp_path):
    stem = [("l", "o"), ("lo", "c"), ("loc", "k"), ("e", "d"), ("u", "n")]
    save(tmp_path / "good", [*stem, (" ", "un"), (" ", "lock")])
    save(tmp_path / "poor", [("n", "l"), ("k", "e")])
    (tmp_path / "toy.tsv").write_text(GOLD, encoding="utf-8")
    (tmp_path / "text.txt").write_text("unlocked locks unlock.\nlock\n", encoding="utf-8")
    return tmp_path


def test_rows_scores_and_comparison(files):
    report = evaluate([files / "poor", files / "good"], [files / "toy.tsv"], files / "text.txt", resamples=100)
    assert [row.tokenizer for row in report.rows] == ["poor", "good", "(every character)", "(no cut)"]
    good = report.rows[1]
    assert good.scores.f1 == 1 and good.interval == (1, 1) and good.behind_best is None
    assert good.emma2.recall == 1
    assert report.rows[0].behind_best.f1 == pytest.approx(1 - report.rows[0].scores.f1)
    assert report.rows[2].behind_best is None
    assert report.rows[3].scores == score(report.golds[0].words, [(entry.word,) for entry in report.golds[0].words])
    assert list(report.text) == ["poor", "good"]
    assert report.text["good"].words == 4
    assert evaluate({"a": files / "good"}, [files / "toy.tsv"], baselines=False).rows[0].scores == good.scores


def test_functions_are_scored_on_gold_and_left_out_of_text(files):
    report = evaluate({"letters": list, "good": files / "good"}, [files / "toy.tsv"], ["unlocked lock"], resamples=10)
    assert report.rows[0].scores == report.rows[2].scores
    assert list(report.text) == ["good"]


def test_user_errors(files):
    with pytest.raises(MwSError, match="nothing to evaluate"):
        evaluate([files / "good"])
    with pytest.raises(MwSError, match="NAME=DIR"):
        evaluate([files / "good", files / "good"], [files / "toy.tsv"])
    with pytest.raises(MwSError, match="share a name"):
        evaluate([files / "good"], [files / "toy.tsv", files / "toy.tsv"])


@pytest.fixture
def run():
    return lambda *arguments: mws("evaluate", *arguments)


def test_markdown_on_standard_output(files, run):
    result = run(f"mine={files / 'good'}", files / "poor", "--gold", files / "toy.tsv", "--text", files / "text.txt")
    assert result.returncode == 0, result.stderr
    assert "### toy\n4 words, 2.25 morphs a word, format words; 1 of 5 lines left out" in result.stdout
    assert "| mine | 1.000 | 1.000-1.000 |" in result.stdout
    assert "### running text\n4 words, 26 bytes" in result.stdout
    assert "nan" not in result.stdout


def test_json_is_strict_and_complete(files, run):
    result = run(files / "good", "--gold", files / "toy.tsv", "--json", "--quiet")
    report = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(name))
    assert report["golds"]["toy"]["left_out"] == 1
    assert report["rows"][0]["f1"] == 1 and report["rows"][0]["emma2_f1"] == 1
    assert report["isolated"] == "space"
    assert run(files / "good", "--text", files / "text.txt", "--json").returncode == 0


def test_a_terminal_gets_five_columns_and_a_pipe_all(files, run):
    arguments = (files / "good", files / "poor", "--gold", files / "toy.tsv", "--text", files / "text.txt", "--quiet")
    short = on_a_terminal(command("evaluate", *arguments), "stdout")
    gold, text = [block.splitlines()[1:] for block in short.split("\n\n")[:2]]
    assert gold[0].split("  ")[0] == "tokenizer" and len(gold) == 5 and len(text) == 3
    assert [*filter(None, (title.strip() for title in gold[0].split("  ")))] == [
        "tokenizer", "F1", "95 %", "precision", "recall", "tokens/word",
    ]  # fmt: skip
    assert len([*filter(None, text[0].split("  "))]) == 6 and "|" not in short
    assert len({len(line.split()[0]) + line.index(line.split()[-1]) for line in gold[1:3]}) == 1  # aligned
    assert "μc" in run(*arguments).stdout and "Rényi" in run(*arguments).stdout


def test_every_column_is_defined_in_the_document():
    page = (ROOT / "docs/score.md").read_text(encoding="utf-8")
    for title in [*GOLD_COLUMNS, *(measure.short for measure in TEXT.values()), BITS.short]:
        assert title == "tokenizer" or f"\n| {title} |" in page or f"*{title}*" in page, title
