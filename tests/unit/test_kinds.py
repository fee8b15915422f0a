"""`mws_hf.corpus.kinds`, `octets`, `encodings`: one row per kind of input; what each kind reads and rejects.

Modules: corpus/encodings.py, corpus/kinds.py.
"""

from __future__ import annotations

import gzip
import json
import logging
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mws_hf.corpus.counting import count_documents, count_files, count_source
from mws_hf.corpus.encodings import candidates
from mws_hf.corpus.files import Reading
from mws_hf.corpus.kinds import InMemory, kind_of
from mws_hf.corpus.labeled_words import read_labels
from mws_hf.corpus.segmentations import read_gold
from mws_hf.corpus.sources import Source
from mws_hf.corpus.word_list import read_word_list
from mws_hf.errors import MwSError
from tests.in_process import mws
from tests.processes import one_line

TEXTS = ["кот и пёс", 'a "b"', "漢字"]
GROUPS = ["ru", "en", "zh"]
RECORDS = [{"text": text, "lang": group} for text, group in zip(TEXTS, GROUPS, strict=True)]


def write_text(path):
    path.write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")


def write_json_lines(path):
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS), encoding="utf-8")


def write_csv(path):
    path.write_text('text,lang\nкот и пёс,ru\n"a ""b""",en\n漢字,zh\n', encoding="utf-8")


def write_tsv(path):
    path.write_text('text\tlang\nкот и пёс\tru\na "b"\ten\n漢字\tzh\n', encoding="utf-8")


def write_parquet(path):
    pq.write_table(pa.Table.from_pylist(RECORDS), path)


def write_arrow(path):
    table = pa.Table.from_pylist(RECORDS)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def write_folder(path):
    pytest.importorskip("datasets").Dataset.from_list(RECORDS).save_to_disk(path)


class Row(NamedTuple):
    """A kind of file: how a test writes it, and its properties.

    Attributes:
        write: writes `RECORDS` as such a file.
        damaged: content that is an error, and a part of the message, or None.
        is_packable: whether such a file is read when it is compressed.
        has_columns, has_groups: whether it has columns, and whether one of them can name groups.
        is_word_list: whether lists of words have such names.
        title: the name in messages.
    """

    write: object
    damaged: tuple[bytes, str] | None
    is_packable: bool
    has_columns: bool
    has_groups: bool
    is_word_list: bool
    title: str


ROWS = {
    "a.txt": Row(write_text, (b"a\nb\xff", "a.txt:2: byte 3 is not utf-8"), True, False, False, True, "text"),
    "a.log": Row(write_text, (b"a\nb\0", "a.log:2: byte 3 is NUL"), True, False, False, True, "text"),
    "a.jsonl": Row(write_json_lines, (b'{"text": 3}', "a.jsonl:1: field"), True, True, False, False, "jsonl"),
    "a.csv": Row(write_csv, (b"text\na,b\n", "a.csv:2: not a readable"), True, True, True, False, "csv"),
    "a.tsv": Row(write_tsv, (b"text\na\tb\n", "a.tsv:2: not a readable"), True, True, True, True, "csv"),
    "a.parquet": Row(write_parquet, (b"PAR1", "a.parquet: not a readable P"), False, True, True, False, "parquet"),
    "a.arrow": Row(write_arrow, (b"ARROW1", "a.arrow: not a readable Arrow"), False, True, True, False, "arrow"),
    "folder": Row(write_folder, None, False, True, True, False, "dataset"),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_kind_of_file(name, tmp_path):
    row, path = ROWS[name], tmp_path / name
    row.write(path)
    kind = kind_of(path)
    kind.check([None])
    expected = [f"{text}\n" for text in TEXTS] if row.title == "text" else TEXTS
    assert list(kind.texts()) == expected
    assert b"".join(block.data.tobytes() for block in kind.blocks(division=None)).decode() == "".join(expected)
    assert count_files(path) == count_documents(["".join(expected)] if row.title == "text" else expected)
    assert (kind.title, kind.has_columns, kind.has_groups) == (row.title, row.has_columns, row.has_groups)
    assert kind.is_word_list == row.is_word_list and kind.head()
    if row.has_groups:
        expected_groups = {name: count_documents([text]) for name, text in zip(GROUPS, TEXTS, strict=True)}
        assert count_source(path, group_column="lang").groups == expected_groups
    else:
        with pytest.raises(MwSError, match="a column of groups is for tables"):
            count_source(path, column="text", group_column="lang")
    if row.has_columns:
        assert list(kind_of(path, Reading("lang")).texts()) == GROUPS
        with pytest.raises(
            MwSError, match=rf"{name}.*no (column|field) 'body'; (columns|fields) here: (text, lang|lang, text)"
        ):
            count_files(path, column="body")


@pytest.mark.parametrize("name", ROWS)
def test_a_damaged_or_compressed_file_of_each_kind(name, tmp_path):
    row = ROWS[name]
    if row.damaged is not None:
        content, message = row.damaged
        (tmp_path / name).write_bytes(content)
        for read in (count_files, lambda path: list(Source.of(path).documents())):
            with pytest.raises(MwSError, match=message):
                read(tmp_path / name)
        row.write(tmp_path / name)
        packed = tmp_path / f"{name}.gz"
        packed.write_bytes(gzip.compress((tmp_path / name).read_bytes()))
        if row.is_packable:
            assert count_files(packed) == count_files(tmp_path / name)
        else:
            with pytest.raises(MwSError, match="unpack it first"):
                count_files(packed)


def test_python_objects_are_a_kind():
    kind = InMemory(iter(TEXTS), Reading())
    kind.check([None])
    assert list(kind.texts()) == TEXTS
    with pytest.raises(MwSError, match="encoding and errors are for files, but list contains texts"):
        InMemory(TEXTS, Reading(encoding="cp1251")).check([None])


SAMPLES = {
    "polski": "Zażółć gęślą jaźń, a potem źle śpiewał pod dębem",
    "čeština": "Příliš žluťoučký kůň úpěl ďábelské ódy",
    "türkçe": "Başlıyorlarmış gibi değiştirdiğini söyledi, İstanbul'a gitmiş",
    "русский": "Съешь же ещё этих мягких французских булок",
    "українська": "Їхній ґанок, єдиний у селі, стояв порожній",
    "ελληνικά": "Η γάτα και ο σκύλος τρώνε το φαγητό τους",
    "日本語": "私はりんごが好きです。とてもおいしいです",
    "中文": "我喜欢吃苹果，因为它们很甜",
    "한국어": "나는 사과를 좋아한다 왜냐하면 달기 때문이다",
    "조선말": "대한민국의 수도는 서울이다. 안녕하세요",
    "カタカナ": "すべての人間は、生れながらにして自由であり、コンピュータ",
    "北京": "北京是中华人民共和国的首都，位于华北平原的北部",
    "français": "Où est la forêt où l'été brûlait déjà, garçon",
}
ENCODED = [
    ("polski", "cp1250"), ("polski", "iso8859-2"), ("čeština", "cp1250"), ("türkçe", "cp1254"),
    ("türkçe", "iso8859-9"), ("русский", "cp1251"), ("русский", "koi8-r"), ("русский", "cp866"),
    ("українська", "cp1251"), ("українська", "koi8-u"), ("ελληνικά", "cp1253"), ("日本語", "shift_jis"),
    ("中文", "gb18030"), ("한국어", "euc_kr"), ("français", "cp1252"), ("조선말", "euc_kr"),
    ("カタカナ", "euc_jp"), ("北京", "gb18030"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "encoding"), ENCODED)
def test_an_encoding_that_fits_is_proposed_for_bytes_that_are_not_utf8(language, encoding, tmp_path):
    text = SAMPLES[language]
    (tmp_path / "a.txt").write_bytes(f"{text}\n".encode(encoding) * 3)
    with pytest.raises(MwSError, match=r"a\.txt:1: byte \d+ is not utf-8") as error:
        count_files(tmp_path / "a.txt")
    named = str(error.value).partition("--encoding ")[2].partition(",")[0]
    assert text.encode(encoding).decode(named) == text  # the proposed encoding decodes the text
    assert count_files(tmp_path / "a.txt", encoding=named) == count_documents([f"{text}\n" * 3])
    assert encoding in candidates(text.encode(encoding), 0)[0].names


@pytest.mark.parametrize("use", [count_files, read_word_list, read_gold, read_labels])
def test_one_message_for_bytes_that_are_not_utf8(use, tmp_path):
    (tmp_path / "a.tsv").write_bytes("text\nпёс\tпёс\n".encode("cp1251"))
    with pytest.raises(MwSError, match=r"a\.tsv:2: byte 5 is not utf-8 .*'пёс' in cp1251.*--encoding cp1251.*iconv"):
        use(tmp_path / "a.tsv")


def test_lines_of_standard_input_get_the_same_message(tmp_path):
    done = mws("segment", "mws-ru-16k", stdin="кот\nпёс\n".encode("koi8-r"))
    assert one_line(done) and "-:1: byte 0 is not utf-8" in done.stderr and "'кот' in koi8-r" in done.stderr


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
@pytest.mark.parametrize("given", [{}, {"encoding": "cp1251"}, {"errors": "replace"}])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv.gz"])
def test_a_byte_order_mark_names_its_encoding(encoding, given, name, tmp_path):
    text = json.dumps({"text": "кот"}, ensure_ascii=False) if name == "a.jsonl" else "text\nкот\n"
    content = text.encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(
        MwSError,
        match=f"byte order mark of {encoding.upper()}; give --encoding {encoding}, .*\\(encoding= in Python\\).*iconv",
    ):
        count_files(tmp_path / name, **given)
    assert "кот" in count_files(tmp_path / name, encoding=encoding).words


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_wide_characters_without_a_mark_name_their_encoding(encoding, tmp_path):
    (tmp_path / "a.md").write_bytes("кот и пёс\nпёс\n".encode(encoding))
    with pytest.raises(MwSError, match=f"is NUL, which is not text; .*give --encoding {encoding}.*encoding= and"):
        count_files(tmp_path / "a.md")


@pytest.mark.parametrize("encoding", ["utf_16", "UTF32"])
@pytest.mark.parametrize("errors", ["strict", "ignore"])
def test_a_mark_that_the_encoding_needs_is_missing(encoding, errors, tmp_path):
    (tmp_path / "a.txt").write_text("кот и пёс\n", encoding="utf-8")
    with pytest.raises(MwSError, match=r"a.txt:1: has no byte order mark, .*--encoding utf-\d+-le"):
        count_files(tmp_path / "a.txt", encoding=encoding, errors=errors)


def test_damaged_utf8_is_not_taken_for_another_encoding(tmp_path):
    (tmp_path / "a.txt").write_bytes("žluťoučký kůň\n".encode() * 9 + b"\xff\n")
    with pytest.raises(MwSError, match="the text around it is UTF-8, so repair these bytes") as error:
        count_files(tmp_path / "a.txt")
    assert "--encoding" not in str(error.value)


@pytest.mark.parametrize(("language", "true"), [("čeština", "cp1250"), ("türkçe", "cp1254"), ("русский", "koi8-r")])
def test_words_of_mixed_scripts_are_a_warning(language, true, tmp_path, caplog):
    (tmp_path / "a.txt").write_bytes(f"{SAMPLES[language].title()}\n".encode(true) * 3)
    with caplog.at_level(logging.WARNING):
        count_files(tmp_path / "a.txt", encoding=true)
        assert not caplog.records
        count_files(tmp_path / "a.txt", encoding="cp1251")
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "a.txt: many words that are read as cp1251 mix scripts or cases, such as " in caplog.text


@pytest.mark.parametrize("encoding", ["punycode", "undefined", "idna", "rot13", "hex", ""])
def test_codecs_that_encode_no_files_are_rejected(encoding, tmp_path):
    (tmp_path / "a.txt").write_text("кот", encoding="utf-8")
    done = mws("count", tmp_path / "a.txt", "--encoding", encoding, "-o", tmp_path / "c")
    assert one_line(done) and ("unknown encoding" if encoding else "--encoding is empty") in done.stderr
    with pytest.raises(MwSError, match="unknown encoding"):
        count_files(tmp_path / "a.txt", encoding=encoding)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"sep=;\na;b\n", "a.csv:1: begins with a line for Excel that names the separator; remove this line"),
        ("a.csv", b"id;text\n1;a b\n", "a.csv:1: the columns seem to be separated by semicolons, not by commas; sep"),
        ("a.csv", b"id\ttext\n1\ta, b\n", "a.csv:1: .* by tabs, not by commas; rename the file to end in .tsv"),
        ("a.tsv", b"id,text\n1,a b\n", "a.tsv:1: .* by commas, not by tabs; .*, and rename the file to end in .csv"),
        ("a.tsv", b"Well, this is text\n", "which column contains the text. columns here: Well, this is text; choose"),
        ("a.csv", b"content\na b\n", "which column contains the text. columns here: content; choose"),
        ("a.feather", b"FEA1 and so on", "a Feather table of version 1; write version 2"),
        ("a.txt.lzma", b"\x5d\0\0\x80\0", "compressed by lzma, the predecessor of xz; unpack"),
        ("a.txt", b"ab\0cd\n", "leave out what is not text"),
        ("a.orc", b"ORC\x08\x03", "convert it to .parquet first"),
        ("a.json", b'{"text": "a"}\n{"text": "b"}\n', "one record per line, rename it to end in .jsonl"),
    ],
)
def test_unsupported_files_are_rejected_with_the_reason(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(MwSError, match=message):
        count_files(tmp_path / name)


def test_an_empty_file_is_named(tmp_path, caplog):
    (tmp_path / "a.txt").write_text("кот")
    (tmp_path / "b.txt").touch()
    with caplog.at_level(logging.WARNING):
        count_files([tmp_path / "a.txt", tmp_path / "b.txt"])
    assert [record.getMessage() for record in caplog.records] == [f"{tmp_path / 'b.txt'}: is empty"]


@pytest.mark.parametrize("also", [["-"], ["a.txt", "-"], ["--word-list", "-"]])
def test_standard_input_given_twice_is_an_error(also, tmp_path):
    (tmp_path / "a.txt").write_text("three\n")
    done = mws("count", "-", *also, "-o", "c", cwd=tmp_path, stdin=b"one two\n")
    assert one_line(done) and "-: is given twice, but standard input" in done.stderr
    assert "5 in all" in mws("count", "-", "a.txt", "-o", "c", cwd=tmp_path, stdin=b"one two\n").stdout


@pytest.mark.parametrize("text", ['{"text": "one two"}\n{"text": "three"}\n', ' {"a b" : 1, "text": "one two three"}'])
def test_json_lines_of_standard_input_that_are_read_as_text_are_a_warning(text, tmp_path):
    done = mws("count", "-", "-o", tmp_path / "a", stdin=text)
    assert "-: begins with a JSON record, but is read as text; for JSON lines give --column NAME" in done.stderr
    done = mws("count", "-", "--column", "text", "-o", tmp_path / "b", stdin=text)
    assert done.returncode == 0 and not done.stderr and "3 in all" in done.stdout


@pytest.mark.parametrize("text", ["", "\ufeff"])
def test_standard_input_that_is_empty_is_a_warning(text, tmp_path):
    (tmp_path / "a.txt").write_text("one")
    done = mws("count", "-", "a.txt", "-o", "c", cwd=tmp_path, stdin=text)
    assert done.returncode == 0 and "-: is empty" in done.stderr and "1 in all" in done.stdout


def test_a_text_that_begins_with_a_brace_is_not_called_json(tmp_path):
    for number, text in enumerate(["{one} two\n", '{"one" two}\n', "{\n}\n"]):
        assert not mws("count", "-", "-o", tmp_path / str(number), stdin=text).stderr


class Relation:
    """A query that computes its rows on request, as a relation of duckdb does; its columns are queries, too."""

    columns = ("text",)

    def __len__(self):
        return 1

    def __getitem__(self, name):
        return Relation()


def test_a_query_is_rejected_with_what_to_call(tmp_path):
    with pytest.raises(MwSError, match="Relation: is a query, not a table; give the table that it computes"):
        count_documents(Relation())


def test_a_line_of_a_text_that_would_match_as_a_glob_is_a_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("не то", encoding="utf-8")
    lines = ["Первая глава", "*****", "Жили-были дед да баба.", "?" * len("notes.txt")]
    assert count_source(lines).counts.sum() == count_documents(lines).counts.sum()
    with pytest.raises(MwSError, match="missing"):
        count_source(["notes.txt", "missing.txt"])
