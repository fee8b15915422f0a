"""The wording of commands: sizes, options as they are typed, headings of the help.

Modules: commands/apostrophes.py, commands/app.py, commands/count.py, commands/evaluate.py, commands/explain.py,
commands/options.py, commands/parser.py, commands/segment.py, commands/sources.py, commands/train.py,
learn/defaults.py, learn/settings.py.
"""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from mws_hf import MwSTrainer
from mws_hf.commands.apostrophes import apostrophe_notice
from mws_hf.commands.app import COMMANDS, parser_of
from mws_hf.corpus.counting import count_documents
from mws_hf.errors import SettingError
from mws_hf.learn.defaults import (
    DEFAULT_COMPOSITION,
    DEFAULT_GRANULARITY,
    DEFAULT_HIDDEN_BOUNDARY_PRICE,
    DEFAULT_VOCAB_SIZE,
)
from mws_hf.learn.settings import SETTINGS
from mws_hf.text.pattern import NAMED_PATTERNS, split
from tests.in_process import mws
from tests.small_corpus import running_text
from tests.small_tokenizers import small_fast


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("words") / "text.txt"
    file.write_text("\n".join(running_text()), encoding="utf-8")
    return file


def test_sizes_are_written_as_people_do(text: Path, tmp_path: Path):
    code, said, _ = mws("train", text, "--vocab-size", "0.35k", "-o", tmp_path / "t", "--quiet", "--json")
    assert code == 0 and json.loads(said)["vocab_size"] == 350
    code, said, error = mws("extend", tmp_path / "t", text, "--add", "0.002k", "-o", tmp_path / "more", "--json", "-q")
    assert code == 0 and len(json.loads((tmp_path / "more/tokenizer.json").read_text())["model"]["vocab"]) == 352, error
    for wrong in ("8q", "0", "1.5", "-3", "many", "", "8.000", "32.000"):
        for command in (
            ["train", text, "--vocab-size", wrong],
            ["compare", text, "--text", text, "--vocab-size", wrong],
        ):
            code, _, error = mws(*command, "-o", tmp_path / "x")
            assert code == 2 and "--vocab-size" in error or not wrong, (command, error)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--vocab-size", 500, "--n-merges", 3], "--vocab-size 500 is given together with a number of merges"),
        (["--granularity", 3], "--granularity 3.0 must be"),
        (["--composition", 3], "--composition 3.0 must be a number from 0 to 1"),
        (
            ["--criterion", "classic", "--granularity", 0.1],
            "--granularity 0.1 belongs to the contextual criterion",
        ),
        (["--hidden-boundary-price", -3], "--hidden-boundary-price -3.0 must be"),
        (["--min-count", -1], "--min-count -1 is negative"),
        (["--min-count", 99999], "no training words occur at least 99,999 times"),
        (["--digits", "odd"], "--digits: invalid choice: 'odd' (choose from "),
        (["--alphabet", "letters"], "--alphabet: invalid choice: 'letters' (choose from "),
        (["--min-count", "all"], "--min-count: not a whole number: 'all'"),
        (["--granularity", "fine"], "--granularity: not a number: 'fine'"),
        (["--composition", "half"], "--composition: 'half' is neither a share from 0 to 1 nor 'fill'"),
    ],
)
def test_errors_name_options_as_they_are_typed(text: Path, tmp_path: Path, options: list[object], says: str):
    code, _, error = mws("train", text, "-o", tmp_path / "t", "--quiet", *options)
    assert code and says in error, error
    for word in ("Input should", "parse string", "vocab_size", "n_merges", "min_count", "criterion="):
        assert word not in error


def test_labeled_words_are_not_printed_as_objects_in_the_error(text: Path, tmp_path: Path):
    labels = tmp_path / "labels.tsv"
    labels.write_text("".join(f"stem{chr(n)}s\tstem{chr(n)} s\n" for n in range(0x430, 0x450)), encoding="utf-8")
    code, _, error = mws("train", text, "-o", tmp_path / "t", "--labels", labels, "--criterion", "classic")
    assert code == 2 and "--labels belongs to the contextual criterion; leave it out" in error and len(error) < 300
    assert "GoldWord" not in error
    with pytest.raises(SettingError, match="^labels belongs to the contextual criterion; leave it out$"):
        MwSTrainer(criterion="classic", labels=[("cats", "cat s")])


def test_export_asks_for_a_format_and_lists_them(tmp_path: Path):
    small_fast().save_pretrained(tmp_path / "t")
    code, _, error = mws("export", tmp_path / "t", "-o", tmp_path / "out")
    assert code == 2 and "--format is missing; for example: mws export" in error
    _, _, error = mws("export", tmp_path / "t", "-o", tmp_path / "out", "--format", "onnx")
    assert all(name in error for name in ("gguf", "tiktoken", "byte-level", "notebook"))


def test_missing_and_mistyped_arguments_are_reported_with_a_suggestion():
    assert "the first argument is the tokenizer: mws segment TOKENIZER szavak" in mws("segment", "szavak")[2]
    assert "(did you mean 'evaluate'?)" in mws("evalute", "x")[2]
    assert "--gld: mws evaluate takes no such argument (did you mean '--gold'?)" in mws("evaluate", "x", "--gld=y")[2]
    assert "--output is missing; for example: mws count " in mws("count", "text.txt")[2]
    assert "TOKENIZER is missing; for example: mws check " in mws("check")[2]
    assert "error: TOKENIZER is missing; for example: mws segment " in mws("segment")[2]  # words may be left out


@pytest.mark.parametrize(
    "command",
    [
        "train x --tokens y", "train x --seed 1", "train x --workers 2", "train x --byte-level", "train x --characters",
        "train x --max-token-length 9", "encode x y --workers 2", "evaluate x --all",
        "transplant x y --pad-to-multiple 8",
    ],
)  # fmt: skip
def test_no_suggestion_is_made_for_an_option_that_is_not_similar_to_any(command: str):
    code, said, error = mws(*command.split(), "-o", "z")
    assert (code, said) == (2, "") and "takes no such argument; `mws" in error, error


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("extend x y --add 16.000", "'16.000' is not a whole number above 0; write it without separators"),
        ("trim x --text y --keep-size 64.000", "'64.000' is not a whole number above 0"),
        ("count y --memory-cap 500.000", "'500.000' is not a number of bytes above 0"),
        ("compare y --vocab-size 8,192", "'8,192' would be several sizes; write 8192 without commas"),
        ("compare bpe wordpiece --text y --vocab-size 4k", "bpe: is a system and not a file; write the systems with"),
        ("segment kitap --model x", "give the tokenizer as the first argument, without an option"),
    ],
)
def test_common_slips_get_advice_that_fits(tmp_path: Path, command: str, says: str):
    code, said, error = mws(*command.split(), *([] if command.startswith("segment") else ["-o", tmp_path / "z"]))
    assert (code, said) == (2, "") and says in error, error
    assert not (tmp_path / "z").exists()


@pytest.mark.parametrize("option", ["--output", "-q"])
def test_an_option_before_the_command_is_not_called_a_command(option: str):
    code, said, error = mws(option, "train", "x")
    assert (code, said) == (2, "") and f"{option}: write options after a command" in error, error


@pytest.mark.parametrize("command", ["encode y {} -o z", "train {} -o z"])
def test_a_tokenizer_in_the_place_of_text_is_called_a_tokenizer(text: Path, tmp_path: Path, command: str):
    (tmp_path / "t").mkdir()
    (tmp_path / "t/tokenizer.json").write_text("{}", encoding="utf-8")
    code, _, error = mws(*command.replace("y", str(text)).format(tmp_path / "t").split())
    assert code == 2 and "is a folder with a tokenizer, but text is needed here" in error, error


@pytest.mark.parametrize("written", ["3e8", "300 MB", "0.3 gib", "300_000K"])
def test_bytes_are_written_as_people_do(text: Path, tmp_path: Path, written: str):
    assert mws("count", text, "-o", tmp_path / "c.parquet", "--memory-cap", written, "--quiet")[0] == 0


@pytest.mark.parametrize("given", [("слово", "--pair", "с", "л"), ("--pair", "с", "л", "--merges", "3")])
def test_explain_does_not_ignore_any_argument(text: Path, given: tuple[str, ...]):
    code, said, error = mws("explain", *given, "--from", text)
    assert (code, said) == (2, "") and "cannot be explained together; run the command once for each" in error


def test_explain_names_only_settings_that_differ_from_the_defaults(text: Path, tmp_path: Path):
    for options, named in (
        ([], ""),
        (["--composition", "0", "--min-count", 2], "min_count=2, composition=0.0, "),
        (["--pattern", "tekken"], "pattern=tekken"),
        (["--pattern", "llama3", "--digits", "single"], "pattern=llama3, digits single"),
        (["--pattern", "[^ ]+|."], "pattern='[^ ]+|.'"),
    ):
        assert mws("train", text, "--vocab-size", 400, *options, "-o", tmp_path / "t", "-q", "--force")[0] == 0
        _, _, notes = mws("explain", "слово", "--model", tmp_path / "t")
        listed = notes.splitlines()[0].partition(": trained with ")[2]
        assert set(listed.split(", ")) == {*filter(None, named.split(", ")), "vocab_size=400"}


def test_explain_counts_the_labels_of_the_training(text: Path, tmp_path: Path):
    lines = ["словами\tслов ами\n", "слово\tслов о\n"]
    for given in (lines[:1], lines):
        (tmp_path / "labels.tsv").write_text("".join(given), encoding="utf-8")
        options = ["--labels", tmp_path / "labels.tsv", "--vocab-size", 400, "-o", tmp_path / "t", "-q", "--force"]
        assert mws("train", text, *options)[0] == 0
        _, _, notes = mws("explain", "слово", "--model", tmp_path / "t")
        assert f"labels of {'1 word' if len(given) == 1 else '2 words'}" in notes and "GoldWord" not in notes


def test_a_list_in_which_some_parts_repeat_is_still_a_list_of_words(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    letters = "abcdefghijkl"
    words = [f"{a}{b}{c}" for a in letters for b in letters for c in letters]
    (tmp_path / "words.txt").write_text("\n".join([*words, "e-mail", "e-book"]), encoding="utf-8")
    (tmp_path / "text.txt").write_text("\n".join(words + words[::5]), encoding="utf-8")
    for name, warned in (("words.txt", True), ("text.txt", False)):
        caplog.clear()
        assert mws("train", tmp_path / name, "--vocab-size", 400, "-o", tmp_path / "t", "--force")[0] == 0
        assert ("no word is known to be frequent" in caplog.text) == warned


def test_a_text_given_as_a_tokenizer_is_called_neither_one_nor_a_list_of_words(text: Path):
    for command in ("check", "segment"):
        _, said, error = mws(command, text, *(["слово"] * (command == "segment")))
        assert "neither a tokenizer, such as a folder that `mws train` wrote, nor a list" in said + error


def test_check_reports_a_fault_if_a_program_gets_the_tokenizer_wrong(tmp_path: Path):
    small_fast().save_pretrained(tmp_path / "t")
    code, said, _ = mws("check", tmp_path / "t")
    wrong = [line for line in said.splitlines() if line.endswith("(train with --alphabet bytes)")]
    assert wrong == ["  tiktoken: wrong ids or text, without an error (train with --alphabet bytes)"]
    assert code == 0 and "nothing is wrong" not in said
    assert "every sample text decodes to the original, but not in all programs" in said


def test_the_help_has_headings_with_what_matters_first():
    said = mws("train", "--help")[1]
    places = [said.index(f"\n{title}:\n") for title in ("Arguments", "Options", "How it learns", "Input", "Output")]
    assert places == sorted(places) and "list[" not in said
    for option in "output vocab-size composition granularity labels pattern special".split():
        assert f" --{option}" in said[places[1] : places[2]]
    assert " --column" in said[places[3] : places[4]] and " --force" in said[places[4] :]


def test_commands_list_their_options_once():
    assert all((said := mws(name, "--help")[1]).count("--help") == said.count("\nOptions:") == 1 for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_h_is_short_for_help_and_the_help_names_no_file_of_a_checkout(name: str):
    assert mws(name, "-h") == mws(name, "--help")
    assert not re.search(r"docs/|scripts/|README|CHANGELOG", mws(name, "-h")[1])


def test_the_example_of_an_error_is_for_everyday_use():
    assert "for example: mws train 'corpus/*.txt.gz' --vocab-size 32k --output" in mws("train", "text.txt")[2]
    assert "for example: mws export my-tokenizer --format gguf" in mws("export", "x")[2]


def test_quiet_prints_nothing_of_what_was_written_and_no_warnings(text: Path, tmp_path: Path):
    few = tmp_path / "few.txt"
    few.write_text("п'ять слів п'ять\n", encoding="utf-8")  # has an inner apostrophe, and too few merges
    commands = [
        ("train", few, "-o", tmp_path / "t"),
        ("count", text, "-o", tmp_path / "c"),
        ("encode", tmp_path / "t", text, "-o", tmp_path / "ids"),
        ("export", tmp_path / "t", "--format", "byte-level", "--pattern", "llama3", "-o", tmp_path / "bytes"),
    ]
    for command in commands:
        assert mws(*command, "--quiet") == (0, "", ""), command
        assert mws(*command, "--force").stdout, command
    assert json.loads(mws(*commands[1], "-q", "--json", "--force").stdout)["types"] > 10
    assert mws("explain", "слів", "--model", tmp_path / "t", "-q").stdout
    assert mws("train", few, "-o", tmp_path / "t", "-q")[::2] == (2, mws("train", few, "-o", tmp_path / "t")[2])


def test_every_command_that_writes_has_the_same_options_for_writing():
    for name in COMMANDS:
        options = set(parser_of(name)._option_string_actions)
        if options & {"--output", "--plot"}:
            assert {"--force", "--quiet", "--json"} <= options, name


def test_an_export_is_printed_as_json(tmp_path: Path):
    small_fast(alphabet="characters").save_pretrained(tmp_path / "t")
    command = ("export", tmp_path / "t", "--format", "byte-level", "-o", tmp_path / "new")
    code, said, error = mws(*command, "--json", "--quiet")
    found = json.loads(said)
    assert code == 0 and error == "" and found["format"] == "byte-level" and found["output"] == str(tmp_path / "new")
    code, said, error = mws(*command, "--force")
    assert said == f"{tmp_path / 'new'}: {found['tokens']} tokens, byte-level\n" and found["note"] in error


def test_each_setting_is_described_once_and_as_the_library_has_it():
    assert list(SETTINGS) == [field.name for field in fields(MwSTrainer) if field.init]
    for name, setting in SETTINGS.items():
        assert f"\n    {name}: {setting.about}" in (MwSTrainer.__doc__ or "")
    assert all(name in SETTINGS["pattern"].about for name in NAMED_PATTERNS)
    defaults = {"vocab_size": DEFAULT_VOCAB_SIZE, "granularity": DEFAULT_GRANULARITY}
    defaults |= {"composition": DEFAULT_COMPOSITION, "hidden_boundary_price": DEFAULT_HIDDEN_BOUNDARY_PRICE}
    for name, value in defaults.items():
        assert float(re.match(r"[\d.,]+\d|\d", SETTINGS[name].default)[0].replace(",", "")) == value, name


def test_a_finished_corpus_is_reported(text: Path, tmp_path: Path):
    small_fast().save_pretrained(tmp_path / "t")
    command = ("encode", tmp_path / "t", text, "-o", tmp_path / "ids")
    first, second = mws(*command)[1], mws(*command)[1]
    assert "already there" not in first and "MB/s" in first
    assert "already there" in second and "MB/s" not in second
    assert json.loads(mws(*command, "--json")[1])["already_there"] is True
    assert "already there" not in mws(*command, "--force")[1]


def test_examples_of_the_help_are_on_one_line_and_name_existing_options():
    shown = 0
    for name in COMMANDS:
        examples = re.findall(r"(?m)^    (?:\w+ \S+ \| )?mws (\w+)(.*)$", mws(name, "--help")[1])
        for called, arguments in examples:
            known = set(parser_of(called)._option_string_actions)
            assert set(re.findall(r"(?<= )--?[a-z][\w-]*", arguments)) <= known, (called, arguments)
            shown += 1
    assert shown > 40


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("encode", "DIR", "TEXT", "-o", "OUT", "--dropout", "2"), "--dropout 2.0 is not a probability"),
        (("extend", "DIR", "TEXT", "-o", "OUT", "--add", "3", "--composition", "1.5"), "--composition 1.5 must be"),
    ],
)
def test_a_value_that_the_library_rejects_is_named_as_it_was_typed(tmp_path, arguments, says):
    small_fast().save_pretrained(tmp_path / "made")
    (tmp_path / "text.txt").write_text("\n".join(running_text()), encoding="utf-8")
    places = {"DIR": tmp_path / "made", "TEXT": tmp_path / "text.txt", "OUT": tmp_path / "out"}
    code, said, error = mws(*(places.get(each, each) for each in arguments))
    said += error
    assert code != 0 and says in said and not re.search(r"\b[a-z_]+=", said)


def notice(text: str, pattern: str = "o200k") -> str:
    return apostrophe_notice(count_documents([text], pattern=pattern))


def warned(tmp_path, caplog, text, *arguments):
    """The lines about patterns that the command logs, which go to stderr."""
    caplog.clear()
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    done = mws("train", tmp_path / "a.txt", "--vocab-size", 300, "-o", tmp_path / "out", "--force", *arguments)
    assert done.returncode == 0, done.stderr
    return [record.getMessage() for record in caplog.records if "pattern" in record.getMessage()]


@pytest.mark.parametrize("pattern", NAMED_PATTERNS)
@pytest.mark.parametrize("apostrophe", "'’")
def test_the_share_is_that_of_the_words_with_an_inner_apostrophe(apostrophe, pattern):
    """Two of ten words; an apostrophe before, after or without a word does not count, nor do English contractions."""
    inner = f"п{apostrophe}ять Ankara{apostrophe}ya"
    text = f"{inner} one two, three (four) five {apostrophe} six seven{apostrophe} eight"
    told = notice(text, pattern)
    assert (told == "") == (pattern in ("words", "tekken"))
    assert told == "" or told.startswith("20.0 % of the words") and f"(…{apostrophe}" in told


TURKISH = "Meclis'te İstanbul'dan gelen bir Mehmet'ten, Selçuk'tan söz etti. Avrupa'daki Ali'dir. " * 3 + "kelime " * 90
TURKISH += "Ankara'ya Ankara'nın " * 9


def test_a_suffix_split_inside_is_reported_with_a_pattern_that_does_not_split_it():
    for pattern in ("o200k", "llama3", "gpt4"):
        told = notice(TURKISH, pattern)
        assert "as an English contraction" in told and "--pattern tekken" in told
    assert "such as Ali'd|…, Avrupa'd|…, Mehmet't|…, because" in notice(TURKISH)
    for pattern in ("tekken", "words"):
        assert notice(TURKISH, pattern) == ""
        assert not any(piece in ("a", "e", "an", "en") for piece in split(TURKISH, pattern))


@pytest.mark.parametrize(
    "text",
    [
        "B'mod li m'hemmx dubju, f'dan l-għaxija b'tant xogħol f'din id-dar ta' Malta; b'saħħa u t'Alla x'għamilt.",
        "Bakı'da yaşayır və Gəncə'yə gedir, Şuşa'dan gəlir Türkiyə'nin paytaxtı Ankara'da.",
    ],
)
def test_words_of_other_languages_are_reported_like_turkish_ones(text):
    assert "split one letter after their apostrophe" in notice(text)


def test_older_english_is_not_taken_for_turkish():
    """Its participles end in 'd after any verb, and nothing follows there."""
    text = "The king hath call'd thee and banish'd all who lov'd him; is't not so?\nwe look'd o'er the sea, and a ship "
    assert "contraction" not in notice(text * 5)


@pytest.mark.parametrize("pattern", NAMED_PATTERNS)
@pytest.mark.parametrize("apostrophe", "'’")
def test_english_contractions_are_not_reported(apostrophe, pattern):
    text = "I don't think she'd say it's John's, and we've seen they'll go; that'd do. He can't, won't, isn't. "
    assert notice(text.replace("'", apostrophe) * 5, pattern) == ""


def test_a_share_above_two_in_a_thousand_is_reported_with_its_effect():
    text = "п'ять " + "слово " * 499
    assert notice(text + "слово ") == ""  # .2 % of 501 is more than one
    told = notice("п'ять " + text)
    assert told.startswith("0.4 % of the words are split at an inner apostrophe by split pattern o200k")
    assert "(…'ять)" in told
    assert "--pattern words keeps them whole, but " in told
    for engine in ("tokenizers 1.0", "gigatoken", "llama.cpp", "onnxruntime-extensions"):
        assert engine in told.split(" cannot read it")[0]
    assert told.endswith("tokie splits it differently") and "\n" not in told


def test_the_command_reports_it_in_one_line(tmp_path, caplog):
    assert warned(tmp_path, caplog, "слово слово дом " * 20) == []
    assert len(warned(tmp_path, caplog, "п'ять слів " * 20)) == 1
    assert warned(tmp_path, caplog, "п'ять слів " * 20, "--pattern", "words") == []


@pytest.mark.parametrize(
    ("tokens", "lost"),
    [
        (["<|user|>"], "eos_token or the pad_token"),
        (["</s>"], "pad_token"),
        (["[PAD]", "[CLS]"], "eos_token"),
        (["</s>", "[PAD]"], ""),
        ([], ""),
    ],
)
def test_special_tokens_that_leave_a_role_empty_are_reported(tmp_path, caplog, tokens, lost):
    (tmp_path / "a.txt").write_text("слово дом " * 20, encoding="utf-8")
    given = [option for token in tokens for option in ("--special-token", token)]
    done = mws("train", tmp_path / "a.txt", "--vocab-size", 300, "-o", tmp_path / "out", *given)
    assert done.returncode == 0, done.stderr
    reported = [record.getMessage() for record in caplog.records if "replace the default" in record.getMessage()]
    assert bool(reported) == bool(lost) and (not lost or f"is the {lost};" in reported[0])
