"""Documents come out of files, iterators and datasets as they are, and what is wrong is named."""

import gzip
import io
import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mws_hf.corpus.files import Reading, expand_paths
from mws_hf.corpus.readers import stored_lines
from mws_hf.corpus.sources import read_documents
from mws_hf.corpus.values import iterate_documents
from mws_hf.errors import MwSError

TEXT = "первая\r\nвторая \rстрока\n\n\u2028конец без перевода"


def test_lines_keep_their_ends(tmp_path):
    (tmp_path / "a.txt").write_bytes(TEXT.encode())
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    (tmp_path / "c.txt").write_bytes(TEXT.encode("utf-16"))
    expected = ["первая\r\n", "вторая \rстрока\n", "\n", "\u2028конец без перевода"]
    assert list(read_documents(str(tmp_path / "[ab].txt*"))) == expected * 2
    assert list(stored_lines(tmp_path / "c.txt", Reading(encoding="utf-16"))) == expected


def test_globs_are_sorted_and_paths_checked(tmp_path):
    for name in "b.txt", "a.txt":
        (tmp_path / name).write_text("x")
    assert [p[-5:] for p in expand_paths(tmp_path / "*.txt")] == ["a.txt", "b.txt"]
    for bad, message in [
        (tmp_path, "a folder; give a glob"),
        (tmp_path / "no.txt", "no such file"),
        (tmp_path / "*.csv", "no file matches"),
        ([], "no input files"),
    ]:
        with pytest.raises(MwSError, match=message):
            expand_paths(bad)


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("раз\nдва".encode())))
    assert list(read_documents("-")) == ["раз\n", "два"]


def test_bad_bytes_name_file_line_and_byte(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes("раз\nдва\n".encode() + b"\xff\xfe\n")
    with pytest.raises(MwSError, match=r"x.txt:3: byte 14 is not utf-8 .*--encoding cp1251.*--errors"):
        list(stored_lines(path))
    assert list(stored_lines(path, Reading(errors="replace")))[2] == "\ufffd\ufffd\n"
    assert list(stored_lines(path, Reading(errors="ignore")))[2] == "\n"
    assert list(stored_lines(path, Reading(encoding="latin-1")))[2] == "ÿþ\n"
    with pytest.raises(MwSError, match="unknown encoding"):
        list(stored_lines(path, Reading(encoding="klingon")))
    with pytest.raises(MwSError, match="choose strict, replace or ignore"):
        list(stored_lines(path, Reading(errors="surrogateescape")))


@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda b: b[:30] + b"\0\0\0" + b[33:], lambda b: b"plain text"])
def test_damaged_gzip(tmp_path, damage):
    path = tmp_path / "x.txt.gz"
    path.write_bytes(damage(gzip.compress("".join(map(str, range(999))).encode())))
    with pytest.raises(MwSError, match="x.txt.gz"):
        list(stored_lines(path))


def write_jsonl(path, *lines):
    path.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def test_json_lines(tmp_path):
    path = write_jsonl(tmp_path / "x.jsonl", {"text": "раз\n", "n": 1}, "\n", {"text": None}, {"text": "два"})
    assert list(read_documents(path, Reading("text"))) == ["раз\n", "", "два"]


@pytest.mark.parametrize(
    ("line", "field", "message"),
    [
        ("{oops\n", "text", "x.jsonl:2: not JSON"),
        ("[1]\n", "text", "x.jsonl:2: a JSON list"),
        ({"body": "x", "id": 1}, "text", "x.jsonl:2: no field 'text'; fields here: body, id .choose with --column"),
        ({"text": 3}, "text", "x.jsonl:2: field 'text' holds int, not text"),
        ({"body": "x"}, None, "x.jsonl:2: which field holds the text. fields here: body .choose with --column"),
    ],
)
def test_bad_json_lines(tmp_path, line, field, message):
    path = write_jsonl(tmp_path / "x.jsonl", {"text": "a"}, line)
    with pytest.raises(MwSError, match=message):
        list(read_documents(path, Reading(field)))


def test_parquet(tmp_path):
    path = tmp_path / "x.parquet"
    table = pa.table({"text": ["раз", None, "два"], "n": [1, 2, 3], "d": pa.array(["a", "b", "a"]).dictionary_encode()})
    pq.write_table(table, path)
    assert list(read_documents(path, Reading("text"))) == list(read_documents(path)) == ["раз", "", "два"]
    assert list(read_documents(path, Reading(column="d"))) == ["a", "b", "a"]
    for column, message in [
        ("body", "no column 'body'; columns here: text, n, d"),
        ("n", "holds int64"),
    ]:
        with pytest.raises(MwSError, match=message):
            list(read_documents(path, Reading(column=column)))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(MwSError, match="not a readable Parquet file"):
        list(read_documents(path, Reading(column="text")))


def test_iterators():
    assert list(iterate_documents(iter(["a", ("b", "c"), []]))) == ["a", "b", "c"]
    for bad, message in [("text", "one string"), ([b"x"], "element 0 .* bytes"), (["a", ["b", 3]], "batch 1 .* int")]:
        with pytest.raises(MwSError, match=message):
            list(iterate_documents(bad))


def test_datasets():
    datasets = pytest.importorskip("datasets")
    whole = datasets.Dataset.from_dict({"text": ["раз", None, "два"], "n": [1, 2, 3]})
    assert list(iterate_documents(whole, "text")) == list(iterate_documents(whole)) == ["раз", "", "два"]
    assert list(iterate_documents(datasets.DatasetDict({"train": whole}), "text")) == ["раз", "", "два"]
    with pytest.raises(MwSError, match=r"splits \(train, test\)"):
        list(iterate_documents(datasets.DatasetDict({"train": whole, "test": whole}), "text"))
    assert list(iterate_documents(whole.to_iterable_dataset(), "text")) == ["раз", "", "два"]
    for column, message in [("body", "columns here: text, n"), ("n", "holds int")]:
        with pytest.raises(MwSError, match=message):
            list(iterate_documents(whole, column))
