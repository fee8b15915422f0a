"""What a source says of itself: stray quotation marks, empty rows, texts given twice, files that are none of text."""

import bz2
import csv
import gzip
import io
import json
import logging
import lzma
import os
import shutil
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mws_hf import MwSTrainer, encode_corpus
from mws_hf.corpus.counting import count_documents, count_files, count_source
from mws_hf.corpus.files import Reading, expand_paths
from mws_hf.corpus.segmentations import read_gold, read_labels
from mws_hf.corpus.sources import read_documents
from mws_hf.corpus.values import iterate_documents
from mws_hf.corpus.word_list import read_word_list
from mws_hf.errors import MwSError
from mws_hf.text.pattern import GPT4_PATTERN
from tests.encode_cases import make_backend, random_merges
from tests.in_process import mws

ROWS = [f"строка {k}, вторая" for k in range(40)]


def table(name, texts):
    """A file of unquoted rows, as somebody writes who has never heard of quoting."""
    mark = "\t" if ".tsv" in name else ","
    texts = [text.replace(",", ";") if mark == "," else text for text in texts]
    return "".join(f"{a}{mark}{b}\n" for a, b in [("id", "text"), *enumerate(texts, start=1)]), texts


def written(path, text, encoding="utf-8"):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wb") as file:
        file.write(text.encode(encoding))
    return path


def documents(path, **how):
    return list(read_documents(path, Reading(**how)))


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.tsv.gz"])
@pytest.mark.parametrize("text", ['дюйм 5" и', 'в "кавычках" слово', '5"', "'одна", "без"])
def test_a_mark_within_a_field_is_text(name, text, tmp_path):
    content, texts = table(name, [*ROWS, text, *ROWS])
    assert documents(written(tmp_path / name, content)) == texts


@pytest.mark.parametrize(
    ("text", "line"), [('"открыл и забыл', 12), ('"открыл", и закрыл', None), ('"закрыл" и дальше', 12)]
)
def test_a_stray_mark_in_csv_is_an_error_with_its_line(text, line, tmp_path):
    path = written(tmp_path / "a.csv", table("a.csv", [*ROWS[:10], text, *ROWS])[0])
    with pytest.raises(MwSError, match=r"a\.csv:12: " if line else r"a\.csv:12: (text follows|.*fields)"):
        documents(path)
    with pytest.raises(MwSError, match=r"a\.csv:12: "):
        count_source({"ru": path}, column="text")


@pytest.mark.parametrize("stray", ['"открыл и забыл', '"один" и дальше', '""', '"'])
def test_a_stray_mark_in_tsv_is_text_everywhere_in_the_file(stray, tmp_path, caplog):
    texts = [*ROWS[:10], '"весь в кавычках"', stray, *ROWS, 'ещё одна"', *ROWS]
    texts = [*texts, stray] if stray == '""' else texts
    path = written(tmp_path / "a.tsv", table("a.tsv", texts)[0])
    fits = stray == '""'  # an empty field in marks: nothing in this file speaks against quoting
    expected = [text[1:-1] if fits and text[0] == text[-1] == '"' else text for text in texts]
    assert documents(path) == expected
    assert count_files(path) == count_documents(expected)
    assert not caplog.records


@pytest.mark.parametrize(("name", "mark"), [("a.csv", ","), ("a.tsv", "\t")])
def test_fields_over_lines_are_read_and_reported(name, mark, tmp_path, caplog):
    texts = ["раз\nдва", f"три{mark}четыре", 'пять "шесть"', "", f"семь{mark}\r\n\r\nвосемь"]
    content = io.StringIO()
    csv.writer(content, delimiter=mark).writerows([["id", "text"], *enumerate(texts)])
    path = written(tmp_path / name, content.getvalue())
    assert documents(path) == texts
    assert f"{path}: rows that go over several lines: 2, the first in lines 2 to 3" in caplog.text


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
@pytest.mark.parametrize("row", ["3", "3{0}раз{0}два"])
def test_rows_of_another_length_are_errors_with_their_line(name, row, tmp_path):
    content, _ = table(name, ROWS[:4])
    row = row.format("\t" if name == "a.tsv" else ",")
    with pytest.raises(MwSError, match=rf"{name}:6: .*{len(row.split(chr(9) if 'tsv' in name else ','))} fields"):
        documents(written(tmp_path / name, f"{content}{row}\n"))


def test_a_mark_that_nobody_closes_is_noticed_within_a_bounded_text(tmp_path):
    path = written(tmp_path / "a.csv", 'text\n"' + ("слово " * 1000 + "\n") * 3000)
    with pytest.raises(MwSError, match=r"a\.csv:2: a quotation mark opens a field"):
        documents(path)


def frame(values):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"text": values}, dtype="string")


TEXTS = [None, "кот и пёс", None, "", "кот", None]
IN_MEMORY = {
    "table": lambda: pa.table({"text": TEXTS}),
    "array": lambda: pa.chunked_array([TEXTS[:3], TEXTS[3:]]),
    "list": lambda: iter(TEXTS),
    "batches": lambda: iter([TEXTS[:2], TEXTS[2:]]),
    "records": lambda: iter([{"text": text} for text in TEXTS]),
    "frame": lambda: frame(TEXTS),
    "series": lambda: frame(TEXTS)["text"],
}


@pytest.mark.parametrize("kind", ["a.parquet", "a.arrow", "a.jsonl", *IN_MEMORY])
def test_a_missing_text_is_an_empty_document(kind, tmp_path):
    path, expected = tmp_path / kind, [text or "" for text in TEXTS]
    if kind in IN_MEMORY:
        assert list(iterate_documents(IN_MEMORY[kind]())) == expected
        path = IN_MEMORY[kind]()
    elif kind == "a.parquet":
        pq.write_table(pa.table({"text": TEXTS}), path, row_group_size=2)
    elif kind == "a.arrow":
        with pa.ipc.new_file(path, pa.schema({"text": pa.string()})) as writer:
            writer.write_table(pa.table({"text": TEXTS}))
    else:
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    corpus = encode_corpus(make_backend(random_merges(6, 150)), path, tmp_path / "ids", separator=None)
    assert [corpus.document_bytes(k) for k in range(len(corpus))] == [len(text.encode()) for text in expected]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("texts")
    (tmp_path / "a.txt").write_text("кот и пёс и кот\n" * 9000, encoding="utf-8")
    (tmp_path / "b.txt").write_text("другой текст\n" * 9000, encoding="utf-8")
    shutil.copy(tmp_path / "a.txt", tmp_path / "copy of a.txt")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress((tmp_path / "a.txt").read_bytes(), mtime=1))
    os.link(tmp_path / "b.txt", tmp_path / "c.txt")
    pq.write_table(pa.table({"text": ["кот и пёс"] * 99}), tmp_path / "rows.parquet")
    shutil.copy(tmp_path / "rows.parquet", tmp_path / "same.parquet")
    for name, files in {"a": ["a.txt"], "ab": ["a.txt", "b.txt"], "named": ["ru=a.txt", "en=b.txt"]}.items():
        assert mws("count", *files, "-o", f"{name}.counts", cwd=tmp_path).stderr == ""
    assert mws("count", "a.counts", "-o", "again.counts", cwd=tmp_path).stderr == ""
    return tmp_path


@pytest.mark.parametrize(
    "given",
    [
        ("a.txt", "copy of a.txt"), ("a.txt", "a.txt.gz"), ("b.txt", "c.txt"), ("rows.parquet", "same.parquet"),
        ("rows.parquet", "./rows.parquet"), ("a.counts", "a.counts"), ("a.counts", "ab.counts"),
        ("a.txt", "a.counts"), ("b.txt", "ab.counts"), ("a.txt", "again.counts"), ("ru=a.txt", "en=a.txt"),
        ("ru=a.txt", "en=copy of a.txt"), ("ru=b.txt", "en=ab.counts"), ("ru=a.counts", "en=again.counts"),
    ],
)  # fmt: skip
def test_texts_given_twice_are_reported(given, folder):
    said = mws("count", *given, "-o", "out", "--force", cwd=folder)
    assert said.returncode == 0 and said.stderr.count("WARNING") == 1
    first, second = (name.partition("=")[2] or name for name in given)
    assert os.path.normpath(second) in said.stderr and os.path.normpath(first) in said.stderr


@pytest.mark.parametrize(
    "given", [("a.txt", "b.txt"), ("b.txt", "a.counts"), ("ru=a.txt", "en=b.txt"), ("a.txt", "rows.parquet")]
)
def test_different_texts_are_not_reported(given, folder):
    assert mws("count", *given, "-o", "out", "--force", cwd=folder).stderr == ""


@pytest.mark.parametrize("given", [["a.txt", "a.txt"], ["b.txt", "c.txt"], ["rows.parquet", "same.parquet"]])
def test_encoding_a_text_twice_is_reported(given, folder, tmp_path, caplog):
    backend = make_backend(random_merges(6, 150))
    with caplog.at_level(logging.WARNING):
        encode_corpus(backend, [folder / name for name in given], tmp_path / "ids", separator=None)
    assert len(caplog.records) == 1 and str(folder / given[1]) in caplog.text


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32-be"])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.jsonl", "a.csv"])
@pytest.mark.parametrize("coding", ["utf-8", "latin-1"])
def test_text_of_wide_characters_is_not_read_as_narrow_ones(encoding, name, coding, tmp_path):
    path = written(tmp_path / name, "text\nsome words\n" * 20, encoding)
    for read in (count_files, lambda path, **how: documents(path, **how)):
        with pytest.raises(MwSError, match=rf"{name}:1: byte \d+ is NUL"):
            read(path, encoding=coding)
    if name == "a.txt":
        assert count_files(path, encoding=encoding) == count_documents(["text\nsome words\n" * 20])
        with pytest.raises(MwSError, match=r"a\.txt:1: byte"):
            encode_corpus(make_backend(random_merges(6, 150)), path, tmp_path / "i", document="file", separator=None)


def test_a_nul_far_into_a_file_and_what_errors_make_of_it(tmp_path):
    text = "слово\n" * 300_000
    path = written(tmp_path / "a.log", text + "а\0б\n")
    with pytest.raises(MwSError, match=rf"a\.log:300001: byte {len(text.encode()) + 2} is NUL"):
        count_files(path, workers=2)
    assert count_files(path, errors="replace") == count_documents([text + "а\ufffdб\n"])
    assert count_files(path, errors="ignore") == count_documents([text + "аб\n"])
    assert count_documents(["а\0б"]).total  # texts that Python holds are its user's


def test_a_name_with_an_equals_sign_is_the_file_that_is_there(tmp_path):
    (tmp_path / "x=y.txt").write_text("раз два")
    assert mws("count", "x=y.txt", "-o", "out", cwd=tmp_path).stdout == "out: 2 distinct pre-tokens, 2 in all\n"
    (tmp_path / "y.txt").write_text("три")
    refused = mws("count", "x=y.txt", "-o", "two", cwd=tmp_path)
    assert refused.returncode == 2 and "x=./y.txt" in refused.stderr and "./x=y.txt" in refused.stderr
    assert "two, x: 1 distinct" in mws("count", "x=./y.txt", "-o", "two", cwd=tmp_path).stdout
    assert "3: 2 distinct" in mws("count", "./x=y.txt", "-o", "3", cwd=tmp_path).stdout


def test_a_folder_that_links_to_itself_is_read_once(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.txt").write_text("раз")
    (tmp_path / "d" / "up").symlink_to("..", target_is_directory=True)
    assert expand_paths(tmp_path / "**" / "*.txt") == [str(tmp_path / "d" / "a.txt")]
    for a, b in ("one", "two"), ("two", "one"):
        (tmp_path / a).symlink_to(b)
    for command in (["count", "one", "-o", "c"], ["train", "one", "-o", "t"]):
        refused = mws(*command, cwd=tmp_path)
        assert refused.returncode == 2 and "one: no such file" in refused.stderr
    for command in (["train", "d/a.txt"], ["encode", "none", "d/a.txt"]):
        refused = mws(*command, "-o", "two", cwd=tmp_path)
        assert refused.returncode == 2 and "two: is a link that leads nowhere" in refused.stderr


SPECIAL = ["[SEP]", "<|user|>", "<|user|>x", "Ω"]
MARKED = "кот[SEP]пёс <|user|> кот<|user|>xкотΩ [SEP"
CUT = ["кот", "пёс ", " кот", "кот", " [SEP"]


@pytest.mark.parametrize("pattern", [None, GPT4_PATTERN, r"\w+|\W+"])
@pytest.mark.parametrize("normalization", [None, "nfd"])
def test_special_tokens_in_texts_are_cut_out(pattern, normalization, tmp_path):
    options = {"normalization": normalization} | ({"pattern": pattern} if pattern else {})
    expected = count_documents(CUT, **options, special_tokens=[])
    path = written(tmp_path / "a.txt", MARKED)
    assert count_documents([MARKED], **options, special_tokens=SPECIAL) == expected
    assert count_files(path, **options, special_tokens=SPECIAL) == expected
    assert count_source({"ru": [MARKED]}, **options, special_tokens=SPECIAL)["ru"] == expected
    rows = [{"text": MARKED, "lang": "ru"}]
    assert count_source(rows, group_column="lang", **options, special_tokens=SPECIAL)["ru"] == expected


@pytest.mark.parametrize("special", ["[SEP]", "<turn>", "<|endoftext|>"])
def test_no_part_of_a_special_token_is_learnt(special, tmp_path):
    clean = ["он читал книгу, она читала газету", "они читали и писали"] * 30
    marked = [special.join(text.split(" ", 2)) for text in clean]
    cut = [part for text in clean for part in text.split(" ", 2)]
    trainer = MwSTrainer(n_merges=20, special_tokens=[special], show_progress=False)
    expected = trainer.train(iter(cut)).backend_tokenizer.to_str()
    path = written(tmp_path / "a.jsonl", "".join(json.dumps({"text": text}) + "\n" for text in marked))
    for source in (iter(marked), path):
        assert trainer.train(source).backend_tokenizer.to_str() == expected
    done = mws("train", path, "--n-merges", 20, "--special-token", special, "-o", tmp_path / "out", "--quiet")
    assert done.returncode == 0
    vocab = json.loads((tmp_path / "out" / "tokenizer.json").read_text())["model"]["vocab"]
    assert vocab == json.loads(expected)["model"]["vocab"]
    again = trainer.train(iter(cut)).train_new_from_iterator(iter(marked), 330, show_progress=False)
    assert again.get_vocab() == trainer.train(iter(cut)).train_new_from_iterator(iter(cut), 330).get_vocab()


def test_training_on_a_text_twice_is_reported(folder, caplog):
    for source in ([folder / "a.txt", folder / "a.txt.gz"], {"ru": folder / "a.txt", "en": folder / "copy of a.txt"}):
        caplog.clear()
        count_source(source)
        assert len(caplog.records) == 1 and "whose words then count twice" in caplog.text


def zstd(raw):
    return pa.Codec("zstd").compress(raw, asbytes=True)


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d" * 32 + b"\nsize 12345\n"
GOLD = "читали\tчит а л и\nписали\tпис а л и\n"


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv", "a.parquet", "a.arrow", "a.md"])
@pytest.mark.parametrize("content", [POINTER, POINTER.replace(b"\n", b"\r\n"), b"/annex/objects/SHA256E-s12--ab.txt\n"])
def test_a_pointer_to_a_file_is_not_the_file(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    for use in (count_files, documents, lambda path: count_source({"ru": path})):
        with pytest.raises(MwSError, match=rf"{name}: a (Git LFS|git-annex) pointer"):
            use(tmp_path / name)
    for use in (read_gold, read_word_list, read_labels):
        with pytest.raises(MwSError, match="pointer"):
            use((tmp_path / name).rename(tmp_path / "words.tsv"))
        (tmp_path / "words.tsv").rename(tmp_path / name)


@pytest.mark.parametrize("packed", [bz2.compress, lzma.compress, zstd])
@pytest.mark.parametrize("errors", ["strict", "replace", "ignore"])
def test_the_first_bytes_say_how_a_file_is_compressed(packed, errors, tmp_path):
    for name, text in [
        ("a.txt", "раз два\nтри"),
        ("b.jsonl", '{"text": "раз два"}\n'),
        ("c.csv.gz", "text\nраз два\n"),
    ]:
        (tmp_path / name).write_bytes(packed(text.encode("utf-16" if errors == "replace" else "utf-8")))
        (tmp_path / ("plain" + name.removesuffix(".gz"))).write_text(text, encoding="utf-8")
        encoding = "utf-16" if errors == "replace" else "utf-8"
        assert documents(tmp_path / name, errors=errors, encoding=encoding) == documents(
            tmp_path / ("plain" + name.removesuffix(".gz"))
        )
    (tmp_path / "gold").write_bytes(packed(GOLD.encode()))
    assert [word.word for word in read_gold(tmp_path / "gold").words] == ["читали", "писали"]
    (tmp_path / "list.txt").write_bytes(packed("кот\t3\n".encode()))
    assert dict(read_word_list(tmp_path / "list.txt").items()) == {" кот": 3}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"PK\x03\x04 and so on", "zip archive"),
        ("a.txt", gzip.compress(gzip.compress(b"text", mtime=0), mtime=0), "compressed twice"),
        ("a.txt", gzip.compress(b"x" * 257 + b"ustar  \0", mtime=0), "tar archive"),
        ("a.txt", b"PAR1\x15\x04", r"end its name in \.parquet"),
        ("a.parquet", gzip.compress(b"PAR1", mtime=0), "compressed as a whole"),
        ("a.txt.bz2", b"some text", "not compressed"),
        ("a.jsonl", b"\x28\xb5\x2f\xfd\x00\xa8\x21\0\0text", r"zstd -d --long=31"),
    ],
)
def test_files_that_hold_no_text_are_named(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    for errors in ("strict", "replace"):
        with pytest.raises(MwSError, match=message):
            count_files(tmp_path / name, errors=errors)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of POSIX")
@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl", "x.txt", "x.csv.gz"])
def test_a_named_pipe_is_read_once(name, tmp_path):
    content = {"csv": "n,text\n1,раз два\n", "tsv": "n\ttext\n1\tраз два\n", "json": '{"text": "раз два"}\n'}
    raw = content.get(name[2:].removesuffix(".gz").removesuffix("l"), "раз два").encode()
    os.mkfifo(tmp_path / name)
    writer = threading.Thread(target=(tmp_path / name).write_bytes, args=[gzip.compress(raw) if "gz" in name else raw])
    writer.start()
    assert dict(count_files(tmp_path / name).items()) == {"раз": 1, " два": 1}
    writer.join(10)
    os.mkfifo(tmp_path / "x.parquet")
    with pytest.raises(MwSError, match="pipe"):
        count_files(tmp_path / "x.parquet")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_carriage_returns_alone_end_lines_where_there_is_no_line_feed(encoding, tmp_path):
    lines = [f"строка {k}\r" for k in range(300)]
    (tmp_path / "a.txt").write_bytes("".join(lines).encode(encoding))
    assert documents(tmp_path / "a.txt", encoding=encoding) == lines
    backend = make_backend(random_merges(6, 150))
    corpus = encode_corpus(
        backend, tmp_path / "a.txt", tmp_path / "ids", separator=None, encoding=encoding, shard_size=512
    )
    assert len(corpus) == 300 and len(corpus.ids) > 1
    (tmp_path / "gold.tsv").write_bytes(GOLD.replace("\n", "\r").encode())
    assert len(read_gold(tmp_path / "gold.tsv").words) == 2
    (tmp_path / "list.txt").write_bytes("кот\t3\rкит\t2\r".encode())
    assert dict(read_word_list(tmp_path / "list.txt").items()) == {" кот": 3, " кит": 2}
    (tmp_path / "b.txt").write_bytes(b"one \r line\nanother\n")
    assert documents(tmp_path / "b.txt") == ["one \r line\n", "another\n"]


def test_a_column_that_is_there_twice_is_refused(tmp_path):
    pd = pytest.importorskip("pandas")
    table = pa.table([["раз"], ["ru"], ["en"]], names=["text", "lang", "lang"])
    for source in (table, table.to_batches()[0], pd.DataFrame([["раз", "ru", "en"]], columns=["text", "lang", "lang"])):
        with pytest.raises(MwSError, match="more than one column 'lang'"):
            count_source(source, group_column="lang")
        assert dict(count_documents(source).items()) == {"раз": 1}
    numbered = pd.DataFrame([["раз", "два"]])
    assert list(iterate_documents(numbered, "1")) == ["два"]
    with pytest.raises(MwSError, match="no column '7'; columns here: 0, 1"):
        count_documents(numbered, column="7")


@pytest.mark.parametrize("kind", ["arrow", "pandas", "numpy", None])
def test_datasets_in_any_format_give_their_texts(kind):
    datasets = pytest.importorskip("datasets")
    held = datasets.Dataset.from_dict({"text": ["раз", None, "два"], "n": [1, 2, 3]}).with_format(kind)
    for source in (held, held.to_iterable_dataset().with_format(kind)):
        assert list(iterate_documents(source)) == ["раз", "", "два"]
        with pytest.raises(MwSError, match="holds (int64|int), not text"):
            list(iterate_documents(source, "n"))


def test_closed_standard_input_is_named(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(MwSError, match="standard input is closed"):
        count_files("-")
