"""The model card: generated cards are written again, and edited ones stay.

Modules: cards/card.py.
"""

import ast
import json
import re
import shlex

import pytest

from mws_hf import MwSError
from mws_hf.cards.card import is_untouched, write_card
from mws_hf.tokenization_mws_fast import MwSTokenizerFast
from tests.in_process import mws
from tests.small_tokenizers import small_fast

TEXT = "---\ntags:\n- mws-hf\n---\n# Карта\n"


def test_a_generated_card_is_renewed(tmp_path, caplog):
    assert write_card(tmp_path, TEXT) and write_card(tmp_path, TEXT + "новое\n")
    assert (tmp_path / "README.md").read_text(encoding="utf-8").startswith(TEXT + "новое\n<!-- ")
    assert not caplog.records


@pytest.mark.parametrize(
    "edit",
    [
        lambda card: card.replace(b"# ", b"# My "),
        lambda card: card + b"\nMore by me.\n",
        lambda card: b"Mine.\n" + card,
        lambda card: b"# All mine, made with mws-hf\n",
        lambda card: b"",
        lambda card: b"\xff not UTF-8, mws-hf",
        lambda card: TEXT.encode(),  # as version 0.1 wrote it, without a hash that shows whether it was edited
    ],
)
def test_an_edited_card_is_never_overwritten(tmp_path, caplog, edit):
    write_card(tmp_path, TEXT)
    card = tmp_path / "README.md"
    card.write_bytes(edit(card.read_bytes()))
    before = card.read_bytes()
    assert not write_card(tmp_path, TEXT)
    assert card.read_bytes() == before
    assert "README.md: is kept" in caplog.text


def test_other_line_ends_are_not_an_edit(tmp_path):
    write_card(tmp_path, TEXT)
    card = tmp_path / "README.md"
    card.write_bytes(card.read_bytes().replace(b"\n", b"\r\n"))
    assert is_untouched(card)


def test_a_loaded_tokenizer_has_the_card_of_its_training_metadata_with_given_facts(tmp_path):
    (tmp_path / "corpus.txt").write_text("перечитать прочитать читатель писатель переписать " * 20, encoding="utf-8")
    assert mws("train", tmp_path / "corpus.txt", "--n-merges", 5, "-o", tmp_path / "out", "-q").returncode == 0
    loaded = MwSTokenizerFast.from_pretrained(tmp_path / "out")
    card = loaded.create_model_card("me/russian", data="novels", languages=["ru"], license="mit", words=["читать"])
    rows = [line for line in (tmp_path / "out" / "README.md").read_text("utf-8").splitlines() if line.startswith("| ")]
    kept = [row for row in rows[: rows.index("| word | tokens |")] if "trained on" not in row]
    assert "| command | `mws train" in card and all(row in card for row in kept)
    assert "| trained on | novels |" in card and 'from_pretrained("me/russian")' in card and "| читать | " in card
    assert "license: mit" in card
    assert card.split("# me/russian\n\n")[1].startswith("Use this tokenizer for a language model")
    assert "mws_hf" not in small_fast().create_model_card("plain").split("## Limits")[0]


@pytest.mark.parametrize(
    ("command", "row"),
    [
        (("extend", "base", "words.txt", "--add", 3, "--also", "signs.txt"), "| signs.txt | - | - | 1.00 | 1.00 | - |"),
        (("trim", "base", "--min-count", 1, "--text", "words.txt", "--text", "zero.txt"), "| zero.txt | 0 | 0 |"),
    ],
)
def test_figures_that_a_text_lacks_are_a_dash_in_the_card_also_after_loading(command, row, tmp_path):
    (tmp_path / "words.txt").write_text("перечитать прочитать читатель писатель переписать\n" * 20, encoding="utf-8")
    (tmp_path / "signs.txt").write_text("12 34 5678\n!!! ---\n" * 5, encoding="utf-8")
    (tmp_path / "zero.txt").write_text("", encoding="utf-8")
    assert mws("train", "words.txt", "--n-merges", 10, "-o", "base", "-q", cwd=tmp_path).returncode == 0
    done = mws(*command, "-o", "changed", "-q", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    card = MwSTokenizerFast.from_pretrained(tmp_path / "changed").create_model_card("changed")
    assert (
        row in card
        and "zero.txt, it needs" not in card
        and card.strip() in (tmp_path / "changed" / "README.md").read_text(encoding="utf-8")
    )
    record = tmp_path / "changed" / "mws_training.json"  # as version 0.4.0 wrote it
    record.write_text(record.read_text(encoding="utf-8").replace(" null", " NaN"), encoding="utf-8")
    assert MwSTokenizerFast.from_pretrained(tmp_path / "changed").create_model_card("changed") == card


@pytest.mark.parametrize(
    ("inputs", "shown"),
    [
        (["*/a*.txt", "ru/b.txt"], "\\*/a\\*.txt, b.txt"),
        (["ru/b.txt", "fi/b.txt"], "ru/b.txt, fi/b.txt"),
        (["x=fi/_a_.txt", "y=ru/*.txt"], "x=\\_a\\_.txt, y=ru/\\*.txt"),
    ],
)
def test_names_in_a_card_are_told_apart_and_are_no_markup(inputs, shown, tmp_path):
    for name in ("ru/b.txt", "fi/b.txt", "fi/_a_.txt", "fi/a1.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("перечитать прочитать читатель писатель переписать " * 20, encoding="utf-8")
    output = tmp_path / "<b>`x`"
    done = mws("train", *inputs, "--n-merges", 5, "-o", output, "-q", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    card = (output / "README.md").read_text(encoding="utf-8")
    assert f"| trained on | {shown} |" in card and "\n# \\<b>\\`x\\`\n" in card
    assert "| command | ``mws train" in card and "run ``mws evaluate '<b>`x`' " in card


@pytest.mark.parametrize("name", ["my tokenizer", 'it\'s "mine"', "$HOME`id`\\n"])
def test_the_names_in_the_commands_of_a_card_are_quoted(name, tmp_path):
    (tmp_path / "corpus.txt").write_text("перечитать прочитать читатель писатель переписать " * 20, encoding="utf-8")
    assert mws("train", tmp_path / "corpus.txt", "--n-merges", 5, "-o", tmp_path / name, "-q").returncode == 0
    card = (tmp_path / name / "README.md").read_text(encoding="utf-8")
    command = re.search(r"`(mws evaluate .*) openai-community/gpt2 ", card)
    loading = re.search(r"from_pretrained\((.*)\)", card)
    assert shlex.split(command[1]) == ["mws", "evaluate", name] and ast.literal_eval(loading[1]) == name


def test_train_keeps_an_edited_card_with_a_warning(tmp_path):
    (tmp_path / "corpus.txt").write_text("перечитать прочитать читатель писатель переписать " * 20, encoding="utf-8")
    settings = ("--n-merges", 5, "--criterion", "classic", "--pattern", "o200k")
    command = ("train", tmp_path / "corpus.txt", *settings, "--json", "-o", tmp_path / "out")
    first = mws(*command)
    card = tmp_path / "out" / "README.md"
    assert is_untouched(card) and first.stderr == ""
    edited = card.read_text(encoding="utf-8").replace("# out", "# Our tokenizer")
    card.write_text(edited, encoding="utf-8")
    again = mws(*command, "--force")
    assert card.read_text(encoding="utf-8") == edited
    assert again.stderr.count("\n") == 1 and "README.md" in again.stderr
    assert json.loads(again.stdout)["directory"] == str(tmp_path / "out")


@pytest.mark.parametrize(
    ("facts", "message"),
    [({"languages": "fi"}, "languages: .*'fi' is not a list"), ({"words": ["talo", 3]}, "words: element 1 is int")],
)
def test_a_fact_that_must_be_a_list_is_not_taken_for_its_letters(facts, message):
    with pytest.raises(MwSError, match=message):
        small_fast().create_model_card("plain", **facts)
