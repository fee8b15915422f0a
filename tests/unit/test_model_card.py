"""The model card: generated ones are renewed, what a person wrote stays."""

import json
import subprocess
import sys

import pytest

from mws_hf.cards.readme import is_untouched, write_card

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
        lambda card: TEXT.encode(),  # as version 0.1 wrote it: nobody knows whether it was edited
    ],
)
def test_an_edited_card_is_never_overwritten(tmp_path, caplog, edit):
    write_card(tmp_path, TEXT)
    card = tmp_path / "README.md"
    card.write_bytes(edit(card.read_bytes()))
    before = card.read_bytes()
    assert not write_card(tmp_path, TEXT)
    assert card.read_bytes() == before
    assert "README.md: left as it is" in caplog.text


def test_other_line_ends_are_no_edit(tmp_path):
    write_card(tmp_path, TEXT)
    card = tmp_path / "README.md"
    card.write_bytes(card.read_bytes().replace(b"\n", b"\r\n"))
    assert is_untouched(card)


def test_train_leaves_an_edited_card_and_says_so(tmp_path):
    (tmp_path / "corpus.txt").write_text("перечитать прочитать читатель писатель переписать " * 20, encoding="utf-8")
    command = [
        sys.executable,
        "-c",
        "from mws_hf.commands.entry import main; main()",
        "train",
        str(tmp_path / "corpus.txt"),
    ]
    command += [
        "--n-merges",
        "5",
        "--criterion",
        "classic",
        "--pattern",
        "o200k",
        "--json",
        "-o",
        str(tmp_path / "out"),
    ]
    first = subprocess.run(command, capture_output=True, text=True, check=True)
    card = tmp_path / "out" / "README.md"
    assert is_untouched(card) and first.stderr == ""
    edited = card.read_text(encoding="utf-8").replace("# out", "# Our tokenizer")
    card.write_text(edited, encoding="utf-8")
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert card.read_text(encoding="utf-8") == edited
    assert again.stderr.count("\n") == 1 and "README.md" in again.stderr
    assert json.loads(again.stdout)["directory"] == str(tmp_path / "out")
