"""The same text in every container gives the same counts and ids; what is wrong is named, and nothing crashes."""

import bz2
import codecs
import csv
import gzip
import io
import json
import lzma
import random
import subprocess
import sys
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mws_hf import MwSTrainer, encode_corpus
from mws_hf.commands.sources import Words
from mws_hf.corpus.columns import checked_strings
from mws_hf.corpus.counting import count_documents, count_files
from mws_hf.corpus.sources import Source
from mws_hf.corpus.values import iterate_documents
from mws_hf.corpus.word_list import count_mapping, read_word_list
from mws_hf.errors import MwSError
from mws_hf.evaluate import read_lines as evaluation_lines
from tests.encode_cases import EOS, make_backend, random_merges, rust_ids

TEXTS = ['кот, и "кот";\n', "\ufeffпо дороге\tшёл 12\r\nдвадцать", "don't  stop 😀", "a,b\n\nв"]
LINES = ["кот, и кот;\n", "по дороге шёл\r\n", "\n", "конец 😀"]


def zstd(data):
    return pa.Codec("zstd").compress(data, asbytes=True)


COMPRESSORS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}


def as_jsonl(rows):
    return b"".join(b'{"n": 1, "text": "' + json.dumps(r.decode())[1:-1].encode() + b'"}\n' for r in rows)


def raw_jsonl(rows):
    return b"".join(b'{"n": 1, "text": "' + row + b'"}\n' for row in rows)


def as_csv(rows, delimiter=b","):
    quoted = (b'"' + row.replace(b'"', b'""') + b'"' for row in rows)
    return b"n" + delimiter + b"text\r\n" + b"".join(b"1" + delimiter + row + b"\r\n" for row in quoted)


def arrow_array(rows, kind=None):
    kind = kind or pa.string()
    binary = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}[kind]
    return pa.array(rows, binary).view(kind)


def as_parquet(rows, **options):
    sink = io.BytesIO()
    pq.write_table(pa.table({"n": [1] * len(rows), "text": arrow_array(rows)}), sink, **options)
    return sink.getvalue()


def as_ipc(rows, opener=pa.ipc.new_stream, column=None):
    sink = io.BytesIO()
    table = pa.table({"n": [1] * len(rows), "text": arrow_array(rows) if column is None else column})
    with opener(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)
    return sink.getvalue()


def dictionary(rows):
    return pa.DictionaryArray.from_arrays(pa.array(range(len(rows)), pa.int8()), arrow_array(rows))


# name of the file: what it holds, for rows that are bytes
TABLES = {
    "x.csv": as_csv,
    "x.tsv": lambda rows: as_csv(rows, b"\t"),
    "x.parquet": as_parquet,
    "plain.parquet": lambda rows: as_parquet(rows, use_dictionary=False),
    "stream.arrow": as_ipc,
    "file.arrow": lambda rows: as_ipc(rows, pa.ipc.new_file),
    "large.arrow": lambda rows: as_ipc(rows, column=arrow_array(rows, pa.large_string())),
    "view.arrow": lambda rows: as_ipc(rows, column=arrow_array(rows, pa.string_view())),
    "dictionary.arrow": lambda rows: as_ipc(rows, column=dictionary(rows)),
}
PACKED = {
    name + ending: (lambda rows, make=make, pack=pack: pack(make(rows)))
    for name, make in {"x.jsonl": as_jsonl, "x.csv": as_csv}.items()
    for ending, pack in COMPRESSORS.items()
}


@pytest.fixture(scope="module")
def backend():
    return make_backend(random_merges(6, 150))


def ids(backend, source, output, **options):
    corpus = encode_corpus(backend, source, output, separator=EOS, **options)
    return [corpus[k].tolist()[:-1] for k in range(len(corpus))]


def folder(path, texts):
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_dict({"n": [1] * len(texts), "text": texts}).save_to_disk(path)
    return path


@pytest.mark.parametrize("name", [*TABLES, *PACKED, "folder"])
def test_documents_in_every_container(backend, tmp_path, name):
    path = tmp_path / name
    if name == "folder":
        folder(path, TEXTS)
    else:
        path.write_bytes({**TABLES, **PACKED}[name]([text.encode() for text in TEXTS]))
    for number, options in enumerate([{"column": "text"}, {}]):
        assert count_files(path, **options) == count_documents(TEXTS)
        assert ids(backend, path, tmp_path / str(number), **options) == rust_ids(backend, TEXTS)


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
@pytest.mark.parametrize("ending", COMPRESSORS)
def test_text_in_every_container(backend, tmp_path, ending, mark):
    path = tmp_path / f"x.txt{ending}"
    path.write_bytes(COMPRESSORS[ending](mark + "".join(LINES).encode()))
    assert count_files(path) == count_documents(["".join(LINES)])
    assert ids(backend, path, tmp_path / "lines") == rust_ids(backend, LINES)
    assert ids(backend, path, tmp_path / "file", document="file") == rust_ids(backend, ["".join(LINES)])
    assert list(evaluation_lines(path)) == [line.strip() for line in LINES if line.strip()]
    (tmp_path / "empty.txt").write_bytes(mark)
    assert len(count_files(tmp_path / "empty.txt")) == 0


@pytest.mark.parametrize("encoding", ["cp1251", "utf-16", "utf-8-sig", "utf-16-le"])
@pytest.mark.parametrize("name", ["x.txt", "x.txt.gz", "x.jsonl", "x.csv"])
def test_encodings_hold_everywhere(backend, tmp_path, encoding, name):
    texts = ["кот, и кот;\n", "по дороге шёл"]
    rows = [text.encode() for text in texts]
    data = {"x.jsonl": as_jsonl, "x.csv": as_csv}.get(name, b"".join)(rows).decode()
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    (tmp_path / name).write_bytes(COMPRESSORS[".gz" if name.endswith(".gz") else ""]((mark + data).encode(encoding)))
    options = {"encoding": encoding}
    assert ids(backend, tmp_path / name, tmp_path / "ids", **options) == rust_ids(backend, texts)
    assert count_files(tmp_path / name, **options) == count_documents(["".join(texts)] if ".txt" in name else texts)


BAD = [b"one", b"two", b"caf\xe9 three", b"four"]
PLACES = {
    "x.txt": (lambda rows: b"\n".join(rows), r"x\.txt:3: "),
    "x.txt.gz": (lambda rows: gzip.compress(b"\n".join(rows)), r"x\.txt\.gz:3: "),
    "x.jsonl": (raw_jsonl, r"x\.jsonl:3: "),
    **{name: (make, rf"{name}, column 'text', row 3: ") for name, make in TABLES.items() if "sv" not in name},
    "x.csv": (as_csv, r"x\.csv(:4: |, column 'text', row 3: )"),
    "x.tsv": (lambda rows: as_csv(rows, b"\t"), r"x\.tsv(:4: |, column 'text', row 3: )"),
}
RUN = """
import sys
from mws_hf.commands.entry import main
sys.argv = ["mws", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize("name", PLACES)
def test_bytes_that_are_no_text_are_named_or_replaced(backend, tmp_path, name):
    make, place = PLACES[name]
    path = tmp_path / name
    path.write_bytes(make(BAD))
    options = {}
    with pytest.raises(MwSError, match=place + ".* not utf-8 .*--errors"):
        count_files(path, **options)
    with pytest.raises(MwSError, match=place + ".* not utf-8 .*--errors"):
        ids(backend, path, tmp_path / "bad", **options)
    replaced = [row.decode("utf-8", "replace") for row in BAD]
    lines = "\n".join(replaced).splitlines(keepends=True)
    expected = lines if ".txt" in name else replaced
    assert ids(backend, path, tmp_path / "ids", errors="replace", **options) == rust_ids(backend, expected)
    whole = ["\n".join(replaced)] if ".txt" in name else replaced
    assert count_files(path, errors="replace", **options) == count_documents(whole)


def test_a_row_that_ends_within_a_character_is_not_mended_by_the_next(tmp_path):
    (tmp_path / "x.parquet").write_bytes(as_parquet([b"a\xd0", b"\xb0b"], use_dictionary=False))
    with pytest.raises(MwSError, match="row 1"):
        count_files(tmp_path / "x.parquet", column="text")


def test_a_bad_row_behind_many_good_ones_is_named_by_its_number(tmp_path):
    rows = [*[b"fine"] * 8_499, b"caf\xe9", *[b"fine"] * 500]
    (tmp_path / "x.parquet").write_bytes(as_parquet(rows, use_dictionary=False))
    with pytest.raises(MwSError, match="row 8500: "):
        count_files(tmp_path / "x.parquet")


def test_the_command_says_it_in_one_line_and_does_not_crash(tmp_path):
    """Random bytes ended in a segmentation fault."""
    path, chooser = tmp_path / "x.parquet", random.Random(0)
    path.write_bytes(as_parquet([b"fine", *(chooser.randbytes(1 << 20) for _ in range(8))], use_dictionary=False))
    command = [sys.executable, "-c", RUN, "count", str(path), "--column", "text", "-o", str(tmp_path / "counts")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 2, result.stderr
    assert "x.parquet, column 'text', row 2" in result.stderr and "Traceback" not in result.stderr
    assert not (tmp_path / "counts").exists()


@pytest.mark.parametrize("offsets", [[0, 999_999_999, 4], [3, 1, 4]])
def test_offsets_that_point_nowhere(tmp_path, offsets):
    data = pa.py_buffer(b"abcd")
    array = pa.StringArray.from_buffers(2, pa.array(offsets, pa.int32()).buffers()[1], data)
    with pytest.raises(MwSError, match="damaged"):
        checked_strings(array, "x")
    (tmp_path / "x.arrow").write_bytes(as_ipc([b"ab", b"cd"], column=array))
    with pytest.raises(MwSError, match=r"x\.arrow"):
        count_files(tmp_path / "x.arrow", column="text")


def test_saved_counts_are_checked_too(tmp_path):
    from mws_hf.corpus.counts import WordCounts

    counts = count_documents(["кот и кот"])
    counts.save(tmp_path / "c.parquet")
    table = pq.read_table(tmp_path / "c.parquet")
    words = arrow_array([b" \xd0", b" \xff", b"\x80"], pa.large_string())
    pq.write_table(table.set_column(0, table.schema.field(0), words), tmp_path / "c.parquet")
    with pytest.raises(MwSError, match="c.parquet: words that are not UTF-8"):
        WordCounts.load(tmp_path / "c.parquet")
    with pytest.raises(MwSError, match="not UTF-8"):
        WordCounts.from_arrays(words, counts.counts[[0, 0, 0]], pattern=counts.pattern)


def test_word_lists_and_lemmas_know_marks_encodings_and_compression(tmp_path):
    expected = count_mapping({"кот": 3, "кое-кто": 2})
    for name, encoding in [("a.tsv", "utf-8-sig"), ("b.tsv.zst", "utf-8"), ("c.tsv.gz", "cp1251")]:
        ending = name[5:]
        (tmp_path / name).write_bytes(COMPRESSORS[ending]("кот\t3\nкое-кто\t2\n".encode(encoding)))
        given = "utf-8" if encoding == "utf-8-sig" else encoding
        assert read_word_list(tmp_path / name, encoding=given) == expected
    command = [sys.executable, "-c", RUN, "count", "--word-list", str(tmp_path / "c.tsv.gz"), "--encoding", "cp1251"]
    subprocess.run([*command, "-o", str(tmp_path / "x.parquet")], check=True, capture_output=True)
    (tmp_path / "lemmas.txt").write_bytes(codecs.BOM_UTF8 + "кот\n".encode())
    outputs = []
    for name in "lemmas.txt", "plain.txt":
        (tmp_path / "plain.txt").write_text("кот\n", encoding="utf-8")
        arguments = ["count", "--lemmas", str(tmp_path / name), "-o", str(tmp_path / "l.parquet"), "--json", "--force"]
        outputs.append(subprocess.run([sys.executable, "-c", RUN, *arguments], check=True, capture_output=True).stdout)
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("name", "data", "options", "message"),
    [
        ("x.json", b'[{"text": "a"}]', {}, r"x\.json: JSON in one piece .* \.jsonl|jq"),
        ("x.json.gz", gzip.compress(b"[]", mtime=0), {}, "jq"),
        ("x.zip", b"PK", {}, "unpack it"),
        ("x.tar.gz", gzip.compress(b"", mtime=0), {}, "unpack it"),
        ("x.docx", b"PK", {}, "convert it"),
        ("x.parquet.gz", b"", {"column": "text"}, "unpack it first"),
        ("x.txt.zst", b"no zstd", {}, "not compressed"),
        ("x.txt.xz", b"no xz", {}, "not compressed"),
        ("x.txt.bz2", bz2.compress(b"abc" * 999)[:-9], {}, "cannot be read to its end"),
        ("x.csv", b"a,b\n1,2\n", {}, "which column holds the text. columns here: a, b"),
        ("x.csv", b"a,b\n1,2\n", {"column": "c"}, "no column 'c'; columns here: a, b"),
        ("x.csv", b"", {"column": "c"}, "columns here: none"),
        ("x.csv", b"a,b\n1,2\n1,2,3\n", {"column": "a"}, r"x\.csv:3: not a readable CSV row: 3 fields"),
        ("x.arrow", b"", {"column": "c"}, r"x\.arrow: not a readable Arrow file"),
        ("x.arrow", as_ipc([b"a"])[:40], {"column": "c"}, r"x\.arrow: not a readable Arrow file"),
        ("x.arrow", as_ipc([b"a"]), {"column": "n"}, "holds int64, not text"),
        ("x.jsonl", b'{"t": "a"}\n{"t": ' + b"[" * 200_000 + b"\n", {"column": "t"}, r"x\.jsonl:2: .*nested too deep"),
        ("x.jsonl", b'{"t": ' + b"9" * 5000 + b"}\n", {"column": "t"}, r"x\.jsonl:1: "),
        ("x.txt", b"a", {"encoding": "klingon"}, "unknown encoding"),
    ],
)
def test_refused_by_name(backend, tmp_path, name, data, options, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(MwSError, match=message):
        count_files(tmp_path / name, **options)
    with pytest.raises(MwSError, match=message):
        ids(backend, tmp_path / name, tmp_path / "ids", **options)


@pytest.mark.parametrize("bad", ["absent.txt", "absent", "*.md", "folder", "x.json", "x.parquet"])
def test_said_before_any_work(backend, tmp_path, bad):
    (tmp_path / "folder").mkdir()
    (tmp_path / "x.json").write_text("[]")
    pq.write_table(pa.table({"body": ["a"]}), tmp_path / "x.parquet")
    (tmp_path / "first.txt").write_bytes(b"\xff not text: an error, if it were read")
    files = [tmp_path / "first.txt", tmp_path / bad]
    for use in (lambda: count_files(files), lambda: encode_corpus(backend, files, tmp_path / "ids", separator=EOS)):
        with pytest.raises(MwSError, match=bad.replace("*", r"\*")):
            use()
    assert not (tmp_path / "ids").exists()


@pytest.mark.parametrize("source", [{"files": ["absent"]}, {"word_list": ["absent"]}, {"lemmas": "absent"}])
def test_commands_look_for_files_before_any_work(tmp_path, source):
    path = tmp_path / "bad.tsv"
    path.write_text("word\tmany\n")
    named = {key: value if key == "lemmas" else [path, *value] for key, value in source.items()}
    with pytest.raises(MwSError, match="absent: no such file"):
        Words(**{"word_list": [path], **named}).gather(None, None, show_progress=False)


def trained(*arguments, **options):
    return MwSTrainer(n_merges=8, show_progress=False).train(*arguments, **options).backend_tokenizer.to_str()


def sources():
    """Everything that holds the documents TEXTS."""
    yield "list", TEXTS, {}
    yield "tuple", tuple(TEXTS), {}
    yield "iterator", iter(TEXTS), {}
    yield "generator", (text for text in TEXTS), {}
    yield "batches", [TEXTS[:1], TEXTS[1:]], {}
    yield "records", [{"text": text, "n": 1} for text in TEXTS], {"column": "text"}
    yield "array", pa.array([*TEXTS, None]), {}
    yield "chunked", pa.chunked_array([TEXTS[:1], TEXTS[1:]]), {}
    yield "table", pa.table({"n": [1] * 4, "text": TEXTS}), {"column": "text"}
    yield "batch", pa.record_batch({"n": [1] * 4, "text": TEXTS}), {"column": "text"}


@pytest.mark.parametrize("source", sources(), ids=lambda source: source[0])
def test_training_takes_what_holds_texts(source):
    assert trained(source[1], **source[2]) == trained(iter(TEXTS))


def test_training_takes_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": [*TEXTS, None, float("nan")], "n": 1})
    for source, options in [(frame["text"], {}), (frame, {"column": "text"}), (frame["text"].dropna().array, {})]:
        assert trained(source, **options) == trained(iter(TEXTS))
    assert trained(frame) == trained(iter(TEXTS))
    with pytest.raises(MwSError, match="no column 'body'; columns here: text, n"):
        trained(frame, column="body")
    with pytest.raises(MwSError, match="a single column"):
        trained(frame["text"], column="text")


def test_training_takes_all_four_kinds_of_datasets():
    datasets = pytest.importorskip("datasets")
    whole = datasets.Dataset.from_dict({"text": TEXTS, "n": [1] * 4})
    stream = whole.to_iterable_dataset()
    for source in (
        whole,
        stream,
        datasets.DatasetDict({"a": whole}),
        datasets.IterableDatasetDict({"a": stream}),
    ):
        assert trained(source, column="text") == trained(source)
        assert trained(source) == trained(iter(TEXTS))
        with pytest.raises(MwSError, match="no column 'body'; columns here: text, n"):
            trained(source, column="body")
    for kind, part in [(datasets.DatasetDict, whole), (datasets.IterableDatasetDict, stream)]:
        with pytest.raises(MwSError, match=r"splits \(train, test\).*dataset\['train'\]"):
            trained(kind({"train": part, "test": part}))
    assert trained(whole["text"]) == trained(iter(TEXTS))


def test_training_takes_files_however_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for k, text in enumerate(LINES):
        (tmp_path / f"{k}.txt").write_text(text, encoding="utf-8", newline="")
    paths = sorted(tmp_path.glob("*.txt"))
    expected = trained(paths)
    for source in ("*.txt", tmp_path / "*.txt", ["*.txt"], [str(path) for path in paths], ["0.txt", *paths[1:]]):
        assert trained(source) == expected
    with pytest.raises(MwSError, match="no such file"):
        trained(["0.txt", "a mistyped name.txt"])
    with pytest.raises(MwSError, match="give files as a list"):
        trained(tmp_path.glob("*.txt"))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("not a file", "'not a file': no such file.*train_from_iterator"),
        (["word", "list"], "not surely texts.*train_from_iterator"),
        (["corpus/a.txt", "a corpus/b.txt"], "not surely texts.*train_from_iterator"),
        (["some text", "see my corpus.txt.gz"], "train_from_iterator"),
        ([], "no input files"),
        ({"кот": 3}, "train_from_counts"),
        (Counter("abc"), "train_from_counts"),
        (count_documents(["a b"]), "train_from_counts"),
        (3, "holds no texts"),
        ([b"bytes"], "bytes; expected str .*decode it"),
        ([{"body": "a"}], "which field holds the text.*column="),
        (pa.array([1, 2]), "holds int64"),
        (pa.table({"a": ["x y"]}), "columns here: a"),
    ],
)
def test_what_cannot_be_told_apart_names_the_right_call(source, message):
    with pytest.raises(MwSError, match=message):
        trained(source)


def test_options_of_files_are_not_ignored_for_texts():
    with pytest.raises(MwSError, match="not a record; the column 'text'"):
        trained(TEXTS, column="text")
    with pytest.raises(MwSError, match="a single column; leave column='text' out"):
        trained(pa.array(TEXTS), column="text")


def test_a_file_object_of_another_encoding(tmp_path):
    (tmp_path / "x.txt").write_bytes("кот\nкот\n".encode("cp1251"))
    with open(tmp_path / "x.txt", encoding="utf-8") as file, pytest.raises(MwSError, match="document 1 .*not utf-8"):
        list(iterate_documents(file))


def test_counts_of_every_kind_train(tmp_path):
    words = {"читать": 5, "читала": 2, "кое-кто": 1}
    (tmp_path / "list.tsv").write_text("".join(f"{w}\t{c}\n" for w, c in words.items()), encoding="utf-8")
    counts = read_word_list(tmp_path / "list.tsv")
    counts.save(tmp_path / "c.parquet")
    trainer = MwSTrainer(n_merges=5, show_progress=False)
    expected = trainer.train_from_counts(counts).backend_tokenizer.to_str()
    for source in words, Counter(words), tmp_path / "c.parquet", str(tmp_path / "c.parquet"):
        assert trainer.train_from_counts(source).backend_tokenizer.to_str() == expected
    for bad, message in [
        ({"a": 0}, "the count 0 of 'a'"),
        ({"a": 1.5}, "1.5"),
        ({3: 1}, "3 is int, not a word"),
        ({"\ud800": 1}, "lone surrogate"),
        (["a"], "list: not counts"),
    ]:
        with pytest.raises(MwSError, match=message):
            trainer.train_from_counts(bad)
    with pytest.raises(MwSError, match="saved word counts, not text.*train_from_counts"):
        trainer.train(tmp_path / "c.parquet")


def test_long_fields_of_csv(tmp_path):
    long = "слово " * 100_000
    with open(tmp_path / "x.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["text", "n"], [long, 1], ["a\r\nb", 2]])
    assert count_files(tmp_path / "x.csv", column="text") == count_documents([long, "a\r\nb"])


def test_encoding_takes_lists_of_texts(backend, tmp_path):
    assert ids(backend, TEXTS, tmp_path / "ids") == rust_ids(backend, TEXTS)
    with pytest.raises(MwSError, match=r"encode_corpus\(tokenizer, iter\(texts\)"):
        ids(backend, ["word"], tmp_path / "2")


def test_texts_with_the_marks_of_globs_are_texts():
    assert not Source.of(["what is that?", "[a] b*"]).files


@pytest.mark.parametrize("size", [8, 1 << 20])
def test_progress_of_documents_is_in_bytes_of_text(size):
    texts = ["один два", "three", "четыре\n", ""]
    taken: list[int] = []
    held = sum(block.size for block in Source.of(iter(texts)).blocks(size=size, advance=taken.append))
    assert sum(taken) == held == len("".join(texts).encode())
