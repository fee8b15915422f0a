"""The report of `evaluate` and the command: standard output, Markdown and JSON.

Modules: scoring/measures.py.
"""

from __future__ import annotations

import json
import re
import shutil

import pytest
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from mws_hf.errors import MwSError
from mws_hf.scoring import evaluate, read_gold, score, score_text
from mws_hf.scoring.measures import BITS, TEXT
from mws_hf.scoring.score_tables import GOLD_COLUMNS
from mws_hf.tokenizer.opened import open_tokenizer
from mws_hf.tokenizer.places import named_sources
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
    assert [row.tokenizer for row in report.rows] == ["poor", "good", "(every character)", "(no split)"]
    good = report.rows[1]
    assert good.scores.f1 == 1 and good.interval == (1, 1) and good.behind_best is None
    assert good.emma2.recall == 1
    assert report.rows[0].behind_best.f1 == pytest.approx(1 - report.rows[0].scores.f1)
    assert report.rows[2].behind_best is None
    assert report.rows[3].scores == score(report.golds[0].words, [(entry.word,) for entry in report.golds[0].words])
    assert list(report.text) == ["poor", "good"]
    assert report.text["good"].words == 4
    assert evaluate({"a": files / "good"}, [files / "toy.tsv"], baselines=False).rows[0].scores == good.scores


def test_nothing_may_have_the_name_of_a_part_of_the_report(files):
    """A row or table with this name would silently replace the part of the report."""
    with pytest.raises(MwSError, match="every character.* is the name of a part of the report"):
        evaluate({"(every character)": files / "good"}, [files / "toy.tsv"])
    (files / "running text.tsv").write_text(GOLD, encoding="utf-8")
    with pytest.raises(MwSError, match="'running text' is the name of a part of the report"):
        evaluate({"good": files / "good"}, [files / "running text.tsv"], files / "text.txt")
    only = evaluate({"(no split)": files / "good"}, [files / "running text.tsv"], baselines=False)
    assert only.figures["(no split)"]["running text"]["f1"] == 1


def test_functions_are_scored_on_gold_and_left_out_of_text(files):
    report = evaluate({"letters": list, "good": files / "good"}, [files / "toy.tsv"], ["unlocked lock"], resamples=10)
    assert report.rows[0].scores == report.rows[2].scores
    assert list(report.text) == ["good"]


def test_user_errors(files):
    with pytest.raises(MwSError, match="nothing to evaluate"):
        evaluate([files / "good"])
    with pytest.raises(MwSError, match="two tokenizers are called 'good'; pass a dict from names"):
        evaluate([files / "good", files / "good"], [files / "toy.tsv"])
    with pytest.raises(MwSError, match="two tokenizers are called 'x'; pass a dict from names"):
        evaluate(["a/x", list, files / "b" / "x"], [files / "toy.tsv"])
    with pytest.raises(MwSError, match="have the same name"):
        evaluate([files / "good"], [files / "toy.tsv", files / "toy.tsv"])


@pytest.fixture
def run():
    return lambda *arguments: mws("evaluate", *arguments)


def test_missing_files_of_every_option_are_looked_for_by_similar_names(files, run):
    for option, name, near in [("--gold", "toi.tsv", "toy.tsv"), ("--text", "test.txt", "text.txt")]:
        refused = run(files / "good", option, files / name)
        assert refused.stderr == f"error: {files / name}: no such file; did you mean {files / near}?\n"
        with pytest.raises(MwSError, match=f"did you mean {files / near}"):
            evaluate(files / "good", **{option[2:]: files / name})
    (files / "lost.tsv").symlink_to("nowhere.tsv")
    assert "is a broken link" in run(files / "good", "--gold", files / "lost.tsv").stderr
    refused = run(files / "good", f"good={files / 'poor'}", "--gold", files / "toy.tsv")
    assert refused.stderr == "error: two tokenizers are called 'good'; write NAME=PATH to tell them apart\n"


def test_markdown_on_standard_output(files, run):
    result = run(f"mine={files / 'good'}", files / "poor", "--gold", files / "toy.tsv", "--text", files / "text.txt")
    assert result.returncode == 0, result.stderr
    assert "### toy\n4 words, 2.25 morphs per word (file format: words); 1 of 5 lines left out" in result.stdout
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


def test_a_terminal_and_a_pipe_get_the_same_columns(files, run):
    arguments = (files / "good", files / "poor", "--gold", files / "toy.tsv", "--text", files / "text.txt", "--quiet")
    short = on_a_terminal(command("evaluate", *arguments), "stdout")
    gold, text = [block.splitlines()[1:] for block in short.split("\n\n")[:2]]
    assert gold[0].split("  ")[0] == "tokenizer" and len(gold) == 5 and len(text) == 3
    assert [*filter(None, (title.strip() for title in gold[0].split("  ")))] == [
        "tokenizer", "F1", "95 %", "precision", "recall", "tokens/word",
    ]  # fmt: skip
    assert len([*filter(None, text[0].split("  "))]) == 6 and "|" not in short
    assert len({len(line.split()[0]) + line.index(line.split()[-1]) for line in gold[1:3]}) == 1  # aligned
    piped = [line for line in run(*arguments).stdout.splitlines() if line.startswith("| tokenizer")]
    titles = [[title.strip() for title in line.strip("|").split("|")] for line in piped]
    assert titles == [[*filter(None, (title.strip() for title in block[0].split("  ")))] for block in (gold, text)]


def test_one_tokenizer_and_one_gold_file_as_people_call_it(files):
    """A tokenizer is a path or an object, single, in a list or by name; a gold file is a str, a path or in a list."""
    good, toy = files / "good", files / "toy.tsv"
    expected = evaluate({"x": good}, [toy], baselines=False).rows[0].scores
    live = Tokenizer.from_file(str(good / "tokenizer.json"))
    cases = [
        (str(good), ["good"]),
        (good, ["good"]),
        ((str(good),), ["good"]),
        (live, ["Tokenizer"]),
        (open_tokenizer(good), ["good"]),
        ([live, live], ["Tokenizer", "Tokenizer 2"]),
        (iter([good, live]), ["good", "Tokenizer"]),
        ({"a": live, "b": str(good)}, ["a", "b"]),
    ]
    for given, names in cases:
        report = evaluate(given, str(toy), baselines=False)
        assert [row.tokenizer for row in report.rows] == names
        assert all(row.scores == expected for row in report.rows)
    for gold in (toy, (toy,), iter([str(toy)]), read_gold(toy), [read_gold(toy)]):
        assert evaluate(good, gold, baselines=False).rows[0].scores == expected
    text = ["unlocked locks unlock.", "lock"]
    assert evaluate(live, text=str(files / "text.txt")).text["Tokenizer"] == score_text(live, text)
    assert score_text(live, str(files / "text.txt")) == score_text(live, text)


def test_a_model_loaded_from_a_folder_has_its_name(files):
    loaded = PreTrainedTokenizerFast(tokenizer_file=str(files / "good" / "tokenizer.json"), name_or_path="me/mine")
    assert list(evaluate([loaded, loaded], text=["unlock"]).text) == ["mine", "mine 2"]


def test_the_former_name_of_the_gold_files_warns(files):
    with pytest.warns(DeprecationWarning, match="gold="):
        report = evaluate(files / "good", gold_files=[files / "toy.tsv"])
    assert report.golds[0].name == "toy"


@pytest.mark.parametrize("gold", [5, [None], {"toy": "toy.tsv"}, [["toy.tsv"]]])
def test_gold_of_another_type_is_named(files, gold):
    with pytest.raises(MwSError, match="give the path of a file, or a list of paths"):
        evaluate(files / "good", gold)


@pytest.mark.parametrize("resamples", [0, -1, 2.5, "many", True])
def test_an_impossible_number_of_resamples_is_named(files, resamples):
    with pytest.raises(MwSError, match="is not a number of bootstrap resamples"):
        evaluate(files / "good", files / "toy.tsv", resamples=resamples)


@pytest.mark.parametrize("part", ["text", "bits"])
@pytest.mark.parametrize("lines", [7, b"a line", ["a line", 7], [["a line"]], ["a line", "\udc80"]])
def test_lines_that_are_not_text_are_rejected(files, part, lines):
    with pytest.raises(MwSError, match=r"texts: (.* is not a list of str|element [01])"):
        evaluate(files / "good", **{"text": ["a line"], part: lines})


@pytest.mark.parametrize("result", [None, 3, [b"x"], ["x", None]])
def test_a_function_that_does_not_return_strings_is_named(files, result):
    with pytest.raises(MwSError, match="the segmenter split .* its pieces must spell the word"):
        evaluate(lambda word: result, files / "toy.tsv")


@pytest.mark.parametrize(
    "line",
    ["segment NAME", "check NAME", "evaluate NAME --gold toy.tsv", "evaluate good --gold NAME", "report NAME -o x"],
)
def test_a_text_in_the_place_of_a_name_is_an_error_in_one_line(files, line):
    """A text of more than 255 bytes cannot be the name of a file, and Python raises a different error for it."""
    text = "unlocked locks " * 200
    done = mws(*(text if part == "NAME" else part for part in line.split()), cwd=files)
    assert done.returncode == 2 and done.stderr.startswith("error: unlocked locks") and done.stderr.count("\n") == 1
    assert len(done.stderr) < 2100


def test_long_lines_of_gold_are_shortened(files):
    long = "x" * 100_000
    (files / "long.tsv").write_text(f"{GOLD}{long}\ta b\n{long}\n", encoding="utf-8")
    done = mws("evaluate", "good", "--gold", "long.tsv", cwd=files)
    assert done.returncode == 0 and "long.tsv:6: the morphs 'a b' do not spell 'xxx" in done.stderr
    assert len(done.stdout + done.stderr) < 5000
    with pytest.raises(MwSError) as error:
        raise MwSError(f"{long}; what to do")
    assert len(str(error.value)) == 2000 and str(error.value).endswith("x; what to do")


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_a_name_that_no_file_can_have_is_named(files, name):
    with pytest.raises(MwSError, match="no such folder"):
        evaluate(name, files / "toy.tsv")
    with pytest.raises(MwSError, match="no file can have this name"):
        evaluate(list, name)
    with pytest.raises(MwSError, match="no such file"):
        evaluate(list, files / "toy.tsv", text=name)


def test_two_links_to_tokenizers_with_one_name_are_two_tokenizers(files):
    for link, target in (("first", "one/tok"), ("second", "two/tok")):
        (files / target).mkdir(parents=True)
        (files / link).symlink_to(files / target)
    assert [*named_sources([files / "first", files / "second"])] == ["first", "second"]


def test_bytes_are_not_a_list_of_tokenizers():
    with pytest.raises(MwSError, match="bytes is not a type of tokenizer"):
        evaluate(b"out/one", text=["one line"])


def test_one_word_and_one_line_are_singular(files):
    (files / "single.tsv").write_text("locks\tlock s\n", encoding="utf-8")
    report = evaluate(files / "good", files / "single.tsv", text=["locks"])
    assert "single (1 word)" in repr(report)
    assert "\n1 word, 2.00 morphs per word" in report.to_markdown() and "\n1 word, 5 bytes" in report.to_markdown()
    assert "1 words" not in report.to_markdown()


@pytest.mark.parametrize("name", ["<mine> *old*", "[a](b) `c` _d_", "a|b"])
def test_names_are_no_markup_in_the_tables(name, files):
    shutil.copy(files / "toy.tsv", files / f"{name}.tsv")
    report = evaluate(
        {name: files / "good"}, files / f"{name}.tsv", files / "text.txt", bits=["unlock it", "locks", "lo"]
    )
    shown = report.to_markdown()
    assert not re.search(r"(?<!\\)[<*`\[]|(?<![\w\\])_", shown), "nothing is markup"
    assert re.sub(r"\\([^a-z\s])", r"\1", shown).count(f"| {name} |") == 2
    assert [table.title for table in report.tables()] == [name, "running text"] and report.tables()[0].rows[0][
        0
    ] == name


def test_a_report_is_short_and_has_its_figures_by_name(files):
    (files / "long.tsv").write_text(
        "".join(f"lock{'s' * k}\tlock {'s' * k}\n" for k in range(1, 400)), encoding="utf-8"
    )
    report = evaluate(files / "good", files / "long.tsv", files / "text.txt", bits=["unlock it", "locks", "lo"])
    assert len(repr(report)) < 200 and "long (399 words)" in repr(report) and len(repr(report.golds)) < 300
    assert report._repr_markdown_() == report.to_markdown() and "### long" in report.to_markdown()
    figures = report.figures["good"]
    assert figures["long"]["f1"] == report.rows[0].scores.f1
    assert figures["long"]["emma2_f1"] == report.rows[0].emma2.f1
    assert figures["running text"]["fertility"] == report.text["good"].fertility
    assert figures["running text"]["bits_per_byte"] == report.bits["good"].value
    assert [*report.figures] == ["good", "(every character)", "(no split)"]


def test_thai_and_chinese_get_a_note_on_tokens_per_word(files, run):
    for name, line in (("tha", "ฉันกินข้าวกับปลาทุกวัน"), ("zho", "我每天都吃米饭和鱼。"), ("rus", "Я ем рыбу каждый день")):
        (files / f"{name}.txt").write_text(f"{line}\n" * 3, encoding="utf-8")
        said = run("mws-ru-morphs-8k", "--text", files / f"{name}.txt").stdout
        assert ("compare bytes per token and not tokens per word" in said) == (name != "rus")


def test_every_column_is_defined_in_the_document():
    page = (ROOT / "docs/score.md").read_text(encoding="utf-8")
    for title in [*GOLD_COLUMNS, *(measure.short for measure in TEXT.values()), BITS.short]:
        assert title == "tokenizer" or f"\n| {title} |" in page or f"*{title}*" in page, title
