"""Text from a file is printed so that it cannot control the terminal (`errors.printable`)."""

from __future__ import annotations

import json
import logging
import os
import re
import unicodedata

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mws_hf import MwSError, MwSTrainer, count_files
from mws_hf.errors import MissingTokenizerError, printable
from tests.in_process import Done, mws
from tests.small_tokenizers import small_fast

WIPE = "\x1b[2K\x1b[1A"
"""Wipes a line of the terminal and goes one line up."""
NASTY = [WIPE, "\x9b2J", "\x07", "\x7f", "\r", "\u2028", "\u202e", "\u2066"]


def obeyed(done: Done) -> set[str]:
    """Return the characters in the output that would control a terminal."""
    return {c for c in done.stdout + done.stderr if unicodedata.category(c) in ("Cc", "Zl", "Cs") and c != "\n"} | (
        set(done.stdout + done.stderr) & {"\u202e", "\u2066"}
    )


@pytest.fixture
def directory(tmp_path):
    small_fast().save_pretrained(tmp_path / "tok")
    return tmp_path / "tok"


def change(file, **entries):
    content = json.loads(file.read_text(encoding="utf-8")) | entries
    file.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


@pytest.mark.parametrize("code", NASTY)
def test_a_class_name_and_a_template_cannot_write_on_the_terminal(code, directory):
    change(directory / "tokenizer_config.json", tokenizer_class=f"Odd{code}\nevery text is right", chat_template=None)
    (directory / "chat_template.jinja").write_text(f"<|{code}|>", encoding="utf-8", newline="")
    done = mws("check", directory)
    assert not obeyed(done), done
    assert "Odd" in done.stdout and "\nevery text is right" not in done.stdout
    found = json.loads(mws("check", directory, "--json").stdout)
    assert any(f"Odd{code}\nevery" in finding["message"] for finding in found["findings"])
    assert not obeyed(mws("check", directory, "--json"))


def test_a_byte_order_mark_of_standard_input_is_left_out(directory):
    plain, marked = (mws("segment", directory, "--json", stdin=text) for text in ("слово\n", "\ufeffслово\r\n"))
    assert marked.returncode == 0 and marked.stdout == plain.stdout
    # inside the text it is a character
    assert "\ufeffb" in mws("segment", directory, "--json", stdin="a\n\ufeffb\n").stdout


@pytest.mark.parametrize("code", NASTY)
def test_segmented_words_of_a_text(code, directory):
    text = f"перечитать{code}записать"
    done = mws("segment", directory, stdin=text)
    assert done.returncode == 0 and not obeyed(done), done
    assert json.loads(mws("segment", directory, "--json", stdin=text).stdout)["text"] == text


def test_files_whose_names_are_not_utf8_are_read(directory, tmp_path):
    """An example is a file from an archive of another system, whose name is in cp1251."""
    named = os.fsdecode("кот".encode("cp1251"))
    folder, text, gold = tmp_path / named, tmp_path / f"{named}.txt", tmp_path / f"{named}.tsv"
    try:
        directory.rename(folder)
    except OSError as error:
        pytest.skip(f"this file system has only names in UTF-8 ({error})")
    text.write_text("".join(f"читатель{k % 9} читает и перечитывает книги\n" for k in range(200)), encoding="utf-8")
    gold.write_text("читает\tчита ет\nкниги\tкниг и\n", encoding="utf-8")
    table = pa.table({"text": ["читатель читает", "книги"]})
    pq.write_table(table, tmp_path / "table")
    with pa.OSFile(str(tmp_path / "stream"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    count_files(text).save(tmp_path / "counts")
    for name, kind, words in (("table", "parquet", 3), ("stream", "arrow", 3), ("counts", "parquet", 15)):
        file = (tmp_path / name).rename(tmp_path / f"{named}.{name}.{kind}")
        done = mws("count", file, "-o", tmp_path / "out.parquet", "--force", "--json")
        assert json.loads(done.stdout)["types"] == words, done.stderr
    trained = ("train", text, "--vocab-size", 300, "-o", tmp_path / "new", "-q")
    for arguments in [
        ("segment", folder, "читает"),
        ("evaluate", folder, "--gold", gold, "--text", text),
        ("report", folder, "--gold", gold, "-o", tmp_path / "r.html"),
        ("compare", text, "--gold", gold, "--systems", "characters", "--vocab-size", 300, "-o", tmp_path / "compared"),
        ("trim", folder, "--text", text, "--keep-size", 265, "-o", tmp_path / "trimmed"),
        ("extend", folder, text, "--add", 5, "-o", tmp_path / "extended"),
        trained,
    ]:
        done = mws(*arguments)
        assert done.returncode == 0, done.stderr
    (row,) = json.loads((tmp_path / "compared/results.json").read_text(encoding="utf-8"))["golds"]
    assert row["name"] == named
    assert r"\udcea\udcee\udcf2.txt" in (tmp_path / "trimmed/README.md").read_text(encoding="utf-8")
    (tmp_path / "new").rename(folder / named)
    done = mws("explain", "читает", "--model", folder / named)
    assert done.returncode == 0 and "damaged" not in done.stderr, done.stderr


def test_letters_that_only_look_unusual_stay_as_they_are(directory):
    for text in ("می\u200cخواهم", "क्\u200dष", "\U0001f469\u200d\U0001f680", "e\u0301", "a\u00a0b", "\u200fא"):
        assert printable(text) == text
    assert "\u200c" in mws("segment", directory, "می\u200cخواهم").stdout


def test_tokens_in_explanations(tmp_path):
    text = f"перечитать{WIPE[:4]}"
    trainer = MwSTrainer(vocab_size=400, composition=0, show_progress=False)
    trainer.train([f"{text} читать {text}"] * 30).save_pretrained(tmp_path)
    done = mws("explain", f"чит{WIPE}", "--model", tmp_path)
    assert not obeyed(done), done


def test_the_name_of_a_file_in_an_error(tmp_path):
    place = tmp_path / f"tok{WIPE}\nwarning: ours"
    done = mws("check", place)
    assert done.returncode == 2 and not obeyed(done) and done.stderr.count("\n") == 1, done


@pytest.mark.parametrize("kind", [MwSError, MissingTokenizerError])
def test_every_message_of_an_error_is_printable(kind):
    error = kind(f"{WIPE}: \ud800 is wrong\n; mend it")
    assert not re.search("[\x00-\x1f\ud800]", str(error)) and "\\u001b[2K" in str(error) and "\\ud800" in str(error)


def test_warnings_in_the_log(directory, tmp_path):
    from mws_hf.commands.entry import PrintableLines

    record = logging.LogRecord("mws_hf", logging.WARNING, "", 0, "%s: left out", (f"a{WIPE}\nb",), None)
    assert (
        PrintableLines("%(levelname)s: %(message)s").format(record)
        == "WARNING: a\\u001b[2K\\u001b[1A\\u000ab: left out"
    )
