"""Reading text: every container gives the same documents, and every error names the position of the fault.

Modules: corpus/arrow_arrays.py, corpus/columns.py, corpus/compression.py, corpus/files.py, corpus/repeated_texts.py,
corpus/sources.py, distributed/partitions.py.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import json
import logging
import lzma
import os
import random
import shutil
import sys
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mws_hf import MwSTrainer, encode_corpus
from mws_hf.corpus import blocks
from mws_hf.corpus.arrow_arrays import valid_strings
from mws_hf.corpus.columns import iterate_documents
from mws_hf.corpus.counting import count_documents, count_files, count_source
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.files import Reading, expand_paths
from mws_hf.corpus.labeled_words import read_labels
from mws_hf.corpus.segmentations import read_gold
from mws_hf.corpus.sources import Source, read_documents
from mws_hf.corpus.word_list import count_mapping, read_word_list
from mws_hf.distributed.partitions import Counting, partial_counts
from mws_hf.errors import MwSError
from mws_hf.scoring import read_lines
from tests.encode_cases import EOS, make_backend, random_merges, rust_ids, save_directory
from tests.in_process import mws
from tests.processes import mws as mws_process
from tests.processes import one_line
from tests.small_tokenizers import small_fast

TEXTS = ['кот, и "кот";\n', "\ufeffпо дороге\tшёл 12\r\nдвадцать", "", "don't  stop 😀", "a,b\n\nв"]
LINES = ["кот, и кот;\n", "по дороге \rшёл\r\n", "\n", "конец\u2028 😀"]
GOLD = "читали\tчит а л и\nписали\tпис а л и\n"


def zstd(data):
    return pa.Codec("zstd").compress(data, asbytes=True)


PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}


def as_jsonl(rows):
    return b"".join(json.dumps({"n": 1, "text": row and row.decode()}).encode() + b"\n" for row in rows)


def raw_jsonl(rows):
    return b"".join(b'{"n": 1, "text": "' + row + b'"}\n' for row in rows)


def as_csv(rows, delimiter=b","):
    quoted = (b'"' + (row or b"").replace(b'"', b'""') + b'"' for row in rows)
    return b"n" + delimiter + b"text\r\n" + b"".join(b"1" + delimiter + row + b"\r\n" for row in quoted)


def as_tsv(rows):
    return as_csv(rows, b"\t")


def column(rows, kind=None):
    kind = kind or pa.string()
    binary = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}[kind]
    return pa.array(rows, binary).view(kind)


def as_parquet(rows, **options):
    sink = io.BytesIO()
    pq.write_table(pa.table({"n": [1] * len(rows), "text": column(rows)}), sink, row_group_size=2, **options)
    return sink.getvalue()


def as_ipc(rows, opener=pa.ipc.new_stream, held=None):
    sink = io.BytesIO()
    table = pa.table({"n": [1] * len(rows), "text": column(rows) if held is None else held})
    with opener(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)
    return sink.getvalue()


def dictionary(rows):
    return pa.DictionaryArray.from_arrays(pa.array(range(len(rows)), pa.int8()), column(rows))


# files of tables and records: the name, and the function that makes the content from rows of bytes
TABLES = {
    "x.csv": as_csv,
    "x.tsv": as_tsv,
    "x.parquet": as_parquet,
    "plain.parquet": lambda rows: as_parquet(rows, use_dictionary=False),
    "stream.arrow": as_ipc,
    "file.arrow": lambda rows: as_ipc(rows, pa.ipc.new_file),
    "large.arrow": lambda rows: as_ipc(rows, held=column(rows, pa.large_string())),
    "view.arrow": lambda rows: as_ipc(rows, held=column(rows, pa.string_view())),
    "dictionary.arrow": lambda rows: as_ipc(rows, held=dictionary(rows)),
}
PACKED = {
    name + ending: (lambda rows, make=make, pack=pack: pack(make(rows)))
    for name, make in {"x.jsonl": as_jsonl, "x.csv": as_csv}.items()
    for ending, pack in PACK.items()
}
FILES = TABLES | PACKED


def dataset(texts):
    return pytest.importorskip("datasets").Dataset.from_dict({"n": [1] * len(texts), "text": texts})


def formatted_stream(texts, kind):
    try:
        return dataset(texts).to_iterable_dataset().with_format(kind)
    except NotImplementedError as error:
        pytest.skip(str(error))  # datasets 3.0 has fewer formats for streams


def splits(kind, *names):
    datasets = pytest.importorskip("datasets")
    one = dataset(TEXTS) if kind == "DatasetDict" else dataset(TEXTS).to_iterable_dataset()
    return getattr(datasets, kind)(dict.fromkeys(names or ["all"], one))


def frame(texts):
    return pytest.importorskip("pandas").DataFrame({"text": texts, "n": 1})


# Python objects with columns, then without: the name, and the function that makes them from texts or None
WITH_COLUMNS = {
    "records": lambda texts: [{"text": text, "n": 1} for text in texts],
    "table": lambda texts: pa.table({"n": [1] * len(texts), "text": texts}),
    "record batch": lambda texts: pa.record_batch({"n": [1] * len(texts), "text": texts}),
    "frame": frame,
    "frame of strings": lambda texts: frame(texts).astype({"text": "string"}),
    "dataset": dataset,
    "dataset stream": lambda texts: dataset(texts).to_iterable_dataset(),
    **{
        f"dataset as {kind}": (lambda texts, kind=kind: dataset(texts).with_format(kind))
        for kind in ("arrow", "pandas", "numpy")
    },
    **{
        f"stream as {kind}": (lambda texts, kind=kind: formatted_stream(texts, kind))
        for kind in ("arrow", "pandas", "numpy")
    },
    "dict of one dataset": lambda texts: pytest.importorskip("datasets").DatasetDict(a=dataset(texts)),
    "dict of one stream": lambda texts: pytest.importorskip("datasets").IterableDatasetDict(
        a=dataset(texts).to_iterable_dataset()
    ),
}
HELD = {
    **WITH_COLUMNS,
    "list": list,
    "tuple": tuple,
    "iterator": iter,
    "generator": lambda texts: (text for text in texts),
    "batches": lambda texts: iter([texts[:2], (), texts[2:]]),
    "array": pa.array,
    "chunked array": lambda texts: pa.chunked_array([texts[:3], texts[3:]]),
    "series": lambda texts: frame(texts)["text"],
    "extension array": lambda texts: frame(texts)["text"].astype("string").array,
    "column of a dataset": lambda texts: dataset(texts)["text"],
}
WHOLE = ("list", "tuple", "extension array")  # with None among their elements, these are not texts


@pytest.fixture(scope="module")
def backend():
    return make_backend(random_merges(6, 150))


def ids(backend, source, output, **options):
    corpus = encode_corpus(backend, source, output, **{"separator": EOS, "resume": False, **options})
    return [corpus[k].tolist()[:-1] for k in range(len(corpus))]


def documents(path, **how):
    return list(read_documents(path, Reading(**how)))


def trained(source, **options):
    return MwSTrainer(n_merges=8, show_progress=False).train(source, **options).backend_tokenizer.to_str()


def written(path, content, encoding="utf-8"):
    path.write_bytes((PACK[path.suffix] if path.suffix in PACK else bytes)(content.encode(encoding)))
    return path


def refused(message, use, *arguments, **options):
    with pytest.raises(MwSError, match=message) as error:
        use(*arguments, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


# Every container


@pytest.mark.parametrize("name", [*FILES, "saved dataset"])
def test_documents_of_every_file(backend, tmp_path, name):
    path = tmp_path / name
    rows = [text or None for text in TEXTS]  # a missing text is an empty document
    if name == "saved dataset":
        dataset(rows).save_to_disk(path)
    else:
        path.write_bytes(FILES[name]([row and row.encode() for row in rows]))
    for options in {"column": "text"}, {}:
        assert documents(path, **options) == TEXTS
        assert count_files(path, **options) == count_documents(TEXTS)
        assert ids(backend, path, tmp_path / "ids", **options) == rust_ids(backend, TEXTS)


def test_a_saved_dataset_without_rows_is_an_error(tmp_path):
    dataset([]).save_to_disk(tmp_path / "empty")
    pytest.importorskip("datasets").DatasetDict(train=dataset([])).save_to_disk(tmp_path / "one")
    for place in "empty", "one/train":
        with pytest.raises(MwSError, match=f"{place}: contains no rows; leave it out"):
            count_files(tmp_path / place)


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "saved dataset"])
def test_a_column_without_any_value_is_empty_documents(backend, tmp_path, name):
    empty = pa.table({"text": pa.nulls(3)})  # the type that writers choose if all values are missing
    if name == "saved dataset":
        dataset([None] * 3).save_to_disk(tmp_path / name)
    elif name == "x.parquet":
        pq.write_table(empty, tmp_path / name)
    else:
        with pa.ipc.new_file(str(tmp_path / name), empty.schema) as writer:
            writer.write_table(empty)
    (tmp_path / "part.txt").write_text("кот и кот\n", encoding="utf-8")
    assert documents(tmp_path / name) == list(iterate_documents(empty)) == [*iterate_documents(pa.nulls(3))] == [""] * 3
    assert count_files([tmp_path / name, tmp_path / "part.txt"]) == count_documents(["кот и кот\n"])
    assert ids(backend, tmp_path / name, tmp_path / "ids") == [[]] * 3


@pytest.mark.parametrize("name", HELD)
def test_documents_of_all_python_objects(backend, tmp_path, name):
    texts = TEXTS if name in WHOLE else [text or None for text in TEXTS]
    for options in [{}, {"column": "text"}] if name in WITH_COLUMNS else [{}]:
        assert list(iterate_documents(HELD[name](texts), **options)) == TEXTS
        assert trained(HELD[name](texts), **options) == trained(iter(TEXTS))
        assert ids(backend, HELD[name](texts), tmp_path / "ids", **options) == rust_ids(backend, TEXTS)


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8], ids=["bare", "marked"])
@pytest.mark.parametrize("ending", PACK)
def test_text_in_every_container(backend, tmp_path, ending, mark):
    path = tmp_path / f"x.txt{ending}"
    path.write_bytes(PACK[ending](mark + "".join(LINES).encode()))
    assert documents(path) == LINES
    assert count_files(path) == count_documents(["".join(LINES)])
    assert ids(backend, path, tmp_path / "lines") == rust_ids(backend, LINES)
    assert ids(backend, path, tmp_path / "file", document="file") == rust_ids(backend, ["".join(LINES)])
    assert list(read_lines(path)) == [line.strip() for line in LINES if line.strip()]
    (tmp_path / "empty.txt").write_bytes(mark)
    assert len(count_files(tmp_path / "empty.txt")) == 0


@pytest.mark.parametrize("encoding", ["cp1251", "utf-16", "utf-8-sig", "utf-16-le"])
@pytest.mark.parametrize("name", ["x.txt", "x.txt.gz", "x.jsonl", "x.csv"])
def test_encodings_are_used_everywhere(backend, tmp_path, encoding, name):
    texts = ["кот, и кот;\n", "по дороге шёл"] * 9
    rows = [text.encode() for text in texts]
    data = {"x.jsonl": as_jsonl, "x.csv": as_csv}.get(name, b"".join)(rows).decode()
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    written(tmp_path / name, mark + data, encoding)
    expected = "".join(texts).splitlines(keepends=True) if ".txt" in name else texts
    assert ids(backend, tmp_path / name, tmp_path / "ids", encoding=encoding) == rust_ids(backend, expected)
    whole = ["".join(texts)] if ".txt" in name else texts
    assert count_files(tmp_path / name, encoding=encoding) == count_documents(whole)


@pytest.mark.parametrize("ending", [".bz2", ".xz", ".zst"])
def test_the_first_bytes_say_how_a_file_is_compressed(ending, tmp_path):
    files = {"a.txt": "раз два\nтри", "b.jsonl": '{"text": "раз два"}\n', "c.csv.gz": "text\nраз два\n"}
    for (name, text), encoding in zip(files.items(), ("utf-8", "utf-16", "utf-8"), strict=True):
        (tmp_path / name).write_bytes(PACK[ending](text.encode(encoding)))
        assert documents(tmp_path / name, encoding=encoding)[0].strip() == "раз два"
    (tmp_path / "gold").write_bytes(PACK[ending](GOLD.encode()))
    assert [word.word for word in read_gold(tmp_path / "gold").words] == ["читали", "писали"]
    (tmp_path / "list.txt").write_bytes(PACK[ending]("кот\t3\n".encode()))
    assert dict(read_word_list(tmp_path / "list.txt").items()) == {" кот": 3}


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
def test_all_streams_of_a_compressed_file_are_read(ending, tmp_path):
    first, second, file = PACK[ending]("раз два\n".encode()), PACK[ending]("три\n".encode()), tmp_path / "a.txt"
    for between in (b"", bytes(4), bytes(1 << 17)):  # zeros, with which xz and tapes pad streams
        file.write_bytes(first + between + second + bytes(12))
        assert documents(file) == ["раз два\n", "три\n"]
    for rest in (
        "три\n".encode() * 9,
        second[:-9],
        second[:4] + b"?" * 40,
        gzip.compress(b"x") if ending != ".gz" else b"xx",
    ):
        file.write_bytes(first + rest)
        refused("cannot be read to its end", documents, file)


def test_a_missing_value_is_an_empty_text(tmp_path):
    assert [*iterate_documents(["раз", None, float("nan"), ["два", float("nan")]])] == ["раз", "", "", "два", ""]
    (tmp_path / "a.jsonl").write_text('{"text": null}\n{"text": NaN}\n{"text": "два"}\n', encoding="utf-8")
    assert documents(tmp_path / "a.jsonl") == ["", "", "два"]
    (tmp_path / "a.jsonl").write_text('{"text": Infinity}\n', encoding="utf-8")
    refused("a.jsonl:1: field 'text' contains float, not text", documents, tmp_path / "a.jsonl")


def test_names_of_tsv_columns_can_be_quoted_though_other_marks_are_text(tmp_path):
    (tmp_path / "a.tsv").write_text('"id"\t"text"\n1\t"раз" два\n', encoding="utf-8")
    assert documents(tmp_path / "a.tsv") == ['"раз" два']


def test_the_suffix_decides_whether_tabs_divide_the_columns(tmp_path):
    for name, text in (("from.tsv.csv", "n,text\n1,раз\tдва\n"), ("from.csv.tsv", "n\ttext\n1\tраз,два\n")):
        for ending, packed in (("", text.encode()), (".gz", gzip.compress(text.encode()))):
            (tmp_path / (name + ending)).write_bytes(packed)
            assert documents(tmp_path / (name + ending))[0][:3] == "раз"


PIPED = {"x.txt": "раз два", "x.jsonl": '{"text": "раз два"}\n', "x.tsv": "n\ttext\n1\tраз два\n"}
PIPED |= dict.fromkeys(["x.csv", "x.csv.gz"], "n,text\n1,раз два\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of POSIX")
@pytest.mark.parametrize("name", PIPED)
def test_a_named_pipe_is_read_once(name, tmp_path):
    os.mkfifo(tmp_path / name)
    writer = threading.Thread(target=written, args=[tmp_path / name, PIPED[name]])
    writer.start()
    assert dict(count_files(tmp_path / name).items()) == {"раз": 1, " два": 1}
    writer.join(10)
    os.mkfifo(tmp_path / "x.parquet")
    refused("pipe", count_files, tmp_path / "x.parquet")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of POSIX")
def test_a_pipe_that_would_be_read_twice_is_an_error_before_it_is_opened(tmp_path):
    os.mkfifo(tmp_path / "a.txt")
    (tmp_path / "link.txt").symlink_to("a.txt")
    small_fast().save_pretrained(tmp_path / "tok")
    refused("given twice, but standard input and pipes", count_files, [tmp_path / "a.txt", tmp_path / "link.txt"])
    for line, message in (
        ("trim tok --text a.txt --keep-size 300", "a.txt: mws trim reads text twice to see which tokens it uses"),
        ("extend tok a.txt --add 2 --replace", "a.txt: --replace reads text twice to see which tokens it uses"),
        ("report tok --text a.txt", "a.txt: can be read only once"),
    ):
        done = mws(*line.split(), "-o", "out", cwd=tmp_path)
        assert one_line(done) and message in done.stderr
    assert one_line(done := mws("evaluate", "tok", "--text", "-")) and "-: can be read only once" in done.stderr


def test_standard_input_is_read_by_line_and_rejected_where_closed(tmp_path, monkeypatch):
    for read, expected in ((documents, ["раз\n", "два"]), (lambda name: count_files(name).words, ["\n", "два", "раз"])):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("раз\nдва".encode())))
        assert sorted(read("-")) == sorted(expected)
    done = mws("train", "-", "--output", tmp_path / "t", stdin=b"good\nb\xe4d\n")
    assert one_line(done) and "-:2: " in done.stderr and not (tmp_path / "t").exists()
    monkeypatch.setattr(sys, "stdin", None)
    refused("standard input is closed", count_files, "-")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    ("text", "lines"), [("ab\rcd", ["ab\r", "cd"]), ("\rab", ["\r", "ab"]), ("a\nb\rc\rd", ["a\n", "b\rc\rd"])]
)
def test_line_ends_among_the_first_three_bytes_count(text, lines, encoding, tmp_path):
    path = written(tmp_path / "a.txt", text, encoding)
    assert documents(path, encoding=encoding) == lines
    blocks = Source.of(path, Reading(encoding=encoding)).blocks()
    assert [each for block in blocks for each in block.documents()] == lines


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_carriage_returns_end_lines_if_there_is_no_line_feed(backend, encoding, tmp_path):
    lines = [f"строка {k}\r" for k in range(300)]
    path = written(tmp_path / "a.txt", "".join(lines), encoding)
    assert documents(path, encoding=encoding) == lines
    corpus = encode_corpus(backend, path, tmp_path / "ids", separator=None, encoding=encoding, shard_size=512)
    assert len(corpus) == 300 and len(corpus.ids) > 1
    assert len(read_gold(written(tmp_path / "gold.tsv", GOLD.replace("\n", "\r"))).words) == 2
    words = read_word_list(written(tmp_path / "list.txt", "кот\t3\rкит\t2\r"))
    assert dict(words.items()) == {" кот": 3, " кит": 2}


@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
def test_a_long_field_is_a_document(name, tmp_path):
    texts = ["слово " * 100_000, "a\r\nb"]
    (tmp_path / name).write_bytes(TABLES[name]([text.encode() for text in texts]))
    assert count_files(tmp_path / name, column="text") == count_documents(texts)


# Every fault

BAD = [b"one", b"two", b"caf\xe9 three", b"four"]
LINE_OR_ROW = r"(:4: |, column 'text', row 3: )"
NOT_UTF8 = {
    "x.txt": (b"\n".join, r"x\.txt:3: "),
    "x.txt.gz": (lambda rows: gzip.compress(b"\n".join(rows)), r"x\.txt\.gz:3: "),
    "x.jsonl": (raw_jsonl, r"x\.jsonl:3: "),
    **{name: (make, rf"{name}, column 'text', row 3: ") for name, make in TABLES.items()},
    "x.csv": (as_csv, "x.csv" + LINE_OR_ROW),
    "x.tsv": (as_tsv, "x.tsv" + LINE_OR_ROW),
}


@pytest.mark.parametrize("name", NOT_UTF8)
def test_bytes_that_are_not_text_are_named_replaced_or_left_out(backend, tmp_path, name):
    make, place = NOT_UTF8[name]
    path = tmp_path / name
    path.write_bytes(make(BAD))
    # --encoding does not apply to tables, whose strings are always UTF-8
    is_arrow = name.endswith((".parquet", ".arrow"))
    advice = "strings of a table .*; write the table again, .*--errors" if is_arrow else "--encoding.*--errors"
    for use in (count_files, lambda path: ids(backend, path, tmp_path / "bad"), documents):
        refused(place + ".* not utf-8 .*" + advice, use, path)
    for errors in ("replace", "ignore"):
        rows = [row.decode("utf-8", errors) for row in BAD]
        lines = "\n".join(rows).splitlines(keepends=True) if ".txt" in name else rows
        assert documents(path, errors=errors) == lines
        assert ids(backend, path, tmp_path / "ids", errors=errors) == rust_ids(backend, lines)
        assert count_files(path, errors=errors) == count_documents(["".join(lines)] if ".txt" in name else rows)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_byte_far_into_a_file_is_named_by_its_line_and_place(workers, tmp_path):
    start = ("кот и пёс\n" * 40_000).encode()  # longer than a block
    path = tmp_path / "x.txt"
    for encoding in ("cp1251", "utf-16"):
        written(path, start.decode(), encoding)
        assert count_files(path, workers=workers, encoding=encoding) == count_documents([start.decode()])
    path.write_bytes(start + b"\xd0 \n" + start)
    refused(f"x.txt:40001: byte {len(start)} is not utf-8 .*--errors.*errors= in", count_files, path, workers=workers)
    path.write_bytes(start.decode().encode("utf-16") + b"\x00\xd8\n\x00")
    refused("x.txt:40001: byte 800002 is not utf-16", count_files, path, encoding="utf-16")
    (tmp_path / "x.parquet").write_bytes(as_parquet([*[b"fine"] * 8_499, b"caf\xe9", b"fine"], use_dictionary=False))
    refused("row 8500: ", count_files, tmp_path / "x.parquet")
    (tmp_path / "x.parquet").write_bytes(as_parquet([b"a\xd0", b"\xb0b"], use_dictionary=False))
    refused("row 1: ", count_files, tmp_path / "x.parquet")  # the next row does not make it valid


def test_random_bytes_of_a_table_do_not_crash_the_command(tmp_path):
    """Before, they ended in a segmentation fault."""
    chooser = random.Random(0)
    rows = [b"fine", *(chooser.randbytes(1 << 20) for _ in range(8))]
    (tmp_path / "x.parquet").write_bytes(as_parquet(rows, use_dictionary=False))
    done = mws_process("count", tmp_path / "x.parquet", "--column", "text", "-o", tmp_path / "counts")
    assert one_line(done) and "x.parquet, column 'text', row 2" in done.stderr
    assert not (tmp_path / "counts").exists()


@pytest.mark.parametrize("offsets", [[0, 999_999_999, 4], [3, 1, 4]], ids=["beyond", "backwards"])
def test_offsets_that_point_nowhere(tmp_path, offsets):
    array = pa.StringArray.from_buffers(2, pa.array(offsets, pa.int32()).buffers()[1], pa.py_buffer(b"abcd"))
    refused("damaged", valid_strings, array)
    (tmp_path / "x.arrow").write_bytes(as_ipc([b"ab", b"cd"], held=array))
    refused(r"x\.arrow", count_files, tmp_path / "x.arrow", column="text")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32-be"])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.jsonl", "a.csv"])
def test_text_of_wide_characters_is_not_read_as_narrow_ones(backend, encoding, name, tmp_path):
    path = written(tmp_path / name, "text\nsome words\n" * 20, encoding)
    for coding in ("utf-8", "latin-1"):
        for read in (count_files, documents):
            refused(rf"{name}:1: byte \d+ is NUL", read, path, encoding=coding)
    if name == "a.txt":
        assert count_files(path, encoding=encoding) == count_documents(["text\nsome words\n" * 20])
        refused(r"a\.txt:1: byte", ids, backend, path, tmp_path / "i", document="file")


def test_a_nul_far_into_a_file_with_each_value_of_errors(tmp_path):
    text = "слово\n" * 300_000
    path = written(tmp_path / "a.log", text + "а\0б\n")
    place = rf"a\.log:300001: byte {len(text.encode()) + 2} is NUL"
    refused(place, count_files, path, workers=2)
    assert count_files(path, errors="replace") == count_documents([text + "а\ufffdб\n"])
    assert count_files(path, errors="ignore") == count_documents([text + "аб\n"])
    assert count_documents(["а\0б"]).total  # Python strings may contain a NUL


@pytest.mark.parametrize("text", ["а\0б\n", "\0ab\n", "ab\0", "\ufeff\0ab", "\ufeffa\0b\n"])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_nul_among_the_first_bytes(text, ending, tmp_path):
    path = written(tmp_path / f"a.log{ending}", text)
    for read in (count_files, documents):
        refused(rf"a\.log{ending}:1: byte {len(text[: text.index(chr(0))].encode())} is NUL", read, path)


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d" * 32 + b"\nsize 12345\n"
POINTERS = {"lf": POINTER, "crlf": POINTER.replace(b"\n", b"\r\n"), "annex": b"/annex/objects/SHA256E-s12--ab.txt\n"}


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv", "a.parquet", "a.arrow", "a.md"])
@pytest.mark.parametrize("pointer", POINTERS)
def test_a_pointer_to_a_file_is_not_the_file(name, pointer, tmp_path):
    (tmp_path / name).write_bytes(POINTERS[pointer])
    for use in (count_files, documents, lambda path: count_source({"ru": path})):
        refused(rf"{name}: a (Git LFS|git-annex) pointer", use, tmp_path / name)
    (tmp_path / name).rename(tmp_path / "words.tsv")
    for use in (read_gold, read_word_list, read_labels):
        refused("pointer", use, tmp_path / "words.tsv")


@pytest.mark.parametrize(
    ("name", "texts", "where"),
    [
        ("x.txt", ["ok\n", "a \ud800"], "x.txt:2: .* not utf-8"),
        ("x.jsonl", ["ok", "a \ud800"], "x.jsonl:2: field 'text': the lone surrogate"),
        ("iterator", ["ok", "a \ud800"], r"document 2: .*lone surrogate '\\ud800' at character 2"),
    ],
)
def test_lone_surrogates(backend, name, texts, where, tmp_path):
    source, count = iter(texts), count_documents
    if name != "iterator":
        lines = [json.dumps({"text": text}) + "\n" for text in texts] if name == "x.jsonl" else texts
        source, count = tmp_path / name, count_files
        source.write_text("".join(lines), encoding="utf-8", errors="surrogatepass")
    refused(where, count, source)
    refused(where, ids, backend, iter(texts) if name == "iterator" else source, tmp_path / "ids")


CUT = {name: FILES[name] for name in ("file.arrow", "stream.arrow", "x.parquet")} | {
    f"x.txt{ending}": (lambda rows, pack=pack: pack(b"\n".join(rows))) for ending, pack in PACK.items() if ending
}


@pytest.mark.parametrize("name", CUT)
def test_a_truncated_or_altered_file_is_named(backend, name, tmp_path):
    whole = CUT[name]([str(k).encode() for k in range(999)])
    damaged = [whole[: len(whole) // 2], whole[:-20]] if name != "stream.arrow" else [whole[: len(whole) // 2]]
    if name == "x.txt.gz":
        damaged.append(whole[:30] + b"\0\0\0" + whole[33:])
    for data in damaged:
        (tmp_path / name).write_bytes(data)
        for use in (count_files, lambda path: ids(backend, path, tmp_path / "ids")):
            refused(f"{name}: (cannot be read to its end|not a readable)", use, tmp_path / name)


TABLE = b"a,b\n1,2\n"
OTHER_FILES = {
    "a single JSON document": ("x.json", b'[{"text": "a"}]', {}, r"x\.json: a single JSON document .*jq"),
    "a single JSON document, packed": ("x.json.gz", gzip.compress(b"[]", mtime=0), {}, "jq"),
    "zip": ("x.zip", b"PK", {}, "unpack it"),
    "zip by its bytes": ("a.txt", b"PK\x03\x04 and so on", {}, "zip archive"),
    "tar": ("x.tar.gz", gzip.compress(b"", mtime=0), {}, "unpack it"),
    "tar by its bytes": ("a.txt", gzip.compress(b"x" * 257 + b"ustar  \0", mtime=0), {}, "tar archive"),
    "Word": ("x.docx", b"PK", {}, "convert it"),
    "packed twice": ("a.txt", gzip.compress(gzip.compress(b"text", mtime=0), mtime=0), {}, "compressed twice"),
    "packed long": ("a.jsonl", b"\x28\xb5\x2f\xfd\x00\xa8\x21\0\0text", {}, r"zstd -d --long=31"),
    "not packed": ("a.txt.bz2", b"some text", {}, "not compressed"),
    "not packed by zstd": ("x.txt.zst", b"no zstd", {}, "not compressed"),
    "Parquet in text": ("a.txt", b"PAR1\x15\x04", {}, r"give it as a file whose name ends in \.parquet"),
    "Parquet packed": ("x.parquet.gz", b"", {"column": "text"}, "unpack it first"),
    "Parquet packed by its bytes": ("a.parquet", gzip.compress(b"PAR1", mtime=0), {}, "was compressed as a whole"),
    "Arrow of nothing": ("x.arrow", b"", {"column": "c"}, r"x\.arrow: not a readable Arrow file"),
    "no usual column": ("x.csv", TABLE, {}, "which column contains the text. columns here: a, b"),
    "no such column": ("x.csv", TABLE, {"column": "c"}, "no column 'c'; columns here: a, b"),
    "no such column of Parquet": (
        "x.parquet",
        as_parquet([b"a"]),
        {"column": "c"},
        "no column 'c'; columns here: n, t",
    ),
    "no column": ("x.csv", b"", {"column": "c"}, "columns here: none"),
    "a row too long": ("x.csv", TABLE + b"1,2,3\n", {"column": "a"}, r"x\.csv:3: not a readable CSV row: 3 fields"),
    "numbers of Arrow": ("x.arrow", as_ipc([b"a"]), {"column": "n"}, "contains int64, not text"),
    "numbers of Parquet": ("x.parquet", as_parquet([b"a"]), {"column": "n"}, "contains int64"),
    "numbers of JSON": ("x.jsonl", b'{"t": 3}\n', {"column": "t"}, "x.jsonl:1: field 't' contains int, not text"),
    "no JSON": ("x.jsonl", b'{"text": "a"}\n{oops\n', {}, "x.jsonl:2: not JSON"),
    "no record": ("x.jsonl", b'{"text": "a"}\n[1]\n', {}, "x.jsonl:2: a JSON list"),
    "no such field": (
        "x.jsonl",
        b'{"b": "x", "i": 1}\n',
        {"column": "t"},
        "x.jsonl:1: no field 't'; fields here: b, i",
    ),
    "no usual field": (
        "x.jsonl",
        b'{"b": "x"}\n',
        {},
        "which field contains the text. fields here: b; choose one with --column, .*, or rename it to text",
    ),
    "deep JSON": ("x.jsonl", b'{"t": "a"}\n' + b"[" * 200_000 + b"\n", {"column": "t"}, r"jsonl:2: .*nested too deep"),
    "a long number": ("x.jsonl", b'{"t": ' + b"9" * 5000 + b"}\n", {"column": "t"}, r"x\.jsonl:1: "),
    "unknown encoding": ("x.txt", b"a", {"encoding": "klingon"}, "unknown encoding"),
    "unknown errors": ("x.txt", b"a", {"errors": "surrogateescape"}, "choose strict, replace or ignore"),
    "a column of text": ("x.md", b"a", {"column": "text"}, "plain text, which has no columns; leave --column text out"),
}


@pytest.mark.parametrize("fault", OTHER_FILES)
def test_files_without_text_are_rejected_by_name(backend, tmp_path, fault):
    name, data, options, message = OTHER_FILES[fault]
    (tmp_path / name).write_bytes(data)
    refused(message, count_files, tmp_path / name, **options)
    refused(message, ids, backend, tmp_path / name, tmp_path / "ids", **options)


@pytest.mark.parametrize("name", WITH_COLUMNS)
def test_columns_without_text_are_rejected(name):
    refused("contains (int|int64|int64_t), not text", list, iterate_documents(HELD[name](TEXTS), "n"))
    refused("no (column|field) 'body'; (columns|fields) here: ", trained, HELD[name](TEXTS), column="body")


OTHER_VALUES = {
    "a name": ("not a file", {}, "'not a file': no such file.*train_from_iterator"),
    "words": (["word", "list"], {}, "may not be texts.*train_from_iterator"),
    "names": (["corpus/a.txt", "a corpus/b.txt"], {}, "may not be texts.*train_from_iterator"),
    "a path and a text": ([Path("absent.txt"), "some text"], {}, "absent.txt: no such file"),
    "a text and a name": (["some text", "see my corpus.txt.gz"], {}, "train_from_iterator"),
    "nothing": ([], {}, "an empty list contains neither files nor texts"),
    "nothing in a group": ({"a": TEXTS, "b": []}, {}, "group 'b': an empty list contains neither"),
    "a missing file in a group": ({"a": TEXTS, "b": [Path("b.txt")]}, {}, "group 'b': b.txt: no such file"),
    "a mapping of counts": ({"кот": 3}, {}, "train_from_counts"),
    "a Counter": (Counter("abc"), {}, "train_from_counts"),
    "counts": (count_documents(["a b"]), {}, "train_from_counts"),
    "a number": (3, {}, "is not text"),
    "bytes": ([b"bytes"], {}, "element 0 .* bytes; expected str .*decode it"),
    "a number in a batch": (iter(["a", ["b", 3]]), {}, "batch 1 .* int"),
    "batches of rows": (iter([{"text": TEXTS, "id": [1, 2]}]), {}, r"element 0 .* several texts.*batch\['text'\] for"),
    "a batch of an array": ([{"text": np.array(TEXTS)}], {}, r"element 0 .* several texts.*batch\['text'\] for"),
    "records of another field": ([{"body": "a"}], {}, "which field contains the text.*column="),
    "an array without a dimension": (np.array("a text"), {}, "ndarray is not text"),
    "an array of numbers": (pa.array([1, 2]), {}, "contains int64"),
    "a table of another column": (pa.table({"a": ["x y"]}), {}, "columns here: a"),
    "a table of lists": (pa.table({"text": [["x y"]]}), {}, "column 'text': it contains list"),
    "a column of texts": (TEXTS, {"column": "text"}, "not a record, so it has no column 'text'"),
    "a column of an array": (pa.array(TEXTS), {"column": "text"}, "a single column; leave column='text' out"),
}


@pytest.mark.parametrize("value", OTHER_VALUES)
def test_for_values_without_texts_the_error_names_the_right_call(value):
    source, options, message = OTHER_VALUES[value]
    refused(message, trained, source, **options)


def test_a_dict_of_columns_is_read_if_it_has_one_and_otherwise_the_error_names_the_text():
    for texts in (TEXTS, tuple(TEXTS), pa.array(TEXTS), frame(TEXTS)["text"], frame(TEXTS)):
        assert list(iterate_documents({"text": texts})) == TEXTS
    refused(r"columns \(id, text\).*data\['text'\]", list, iterate_documents({"id": [1], "text": ["a"]}))
    refused(r"\(a, b\).*data\['a'\]", list, iterate_documents({"a": ["x"], "b": ["y"]}))
    refused(r"\(test, train\).*data\['train'\]", list, iterate_documents({"test": ["x"], "train": ["y"]}))
    refused("an empty dict contains no texts", list, iterate_documents({}))


def test_one_string_a_list_of_words_and_a_column_of_one_column_are_rejected(backend, tmp_path):
    refused("one string", list, iterate_documents("text"))
    refused(r"encode_corpus\(tokenizer, iter\(texts\)", ids, backend, ["word"], tmp_path / "ids")
    series = frame(TEXTS)["text"]
    refused("a single column", trained, series, column="text")
    assert not Source.of(["what is that?", "[a] b*"]).files  # characters of globs do not make a text a file name
    for texts in (["我喜欢吃苹果。", "好"], ["私はりんごが好きです"], ["ผมชอบแอปเปิล"], ["ខ្ញុំចូលចិត្ត"]):
        assert not Source.of(texts).files
        refused("may not be texts", Source.of, [*texts, "苹果.txt"])


def test_a_column_that_is_there_twice_is_rejected():
    pd = pytest.importorskip("pandas")
    table = pa.table([["раз"], ["ru"], ["en"]], names=["text", "lang", "lang"])
    for source in (table, table.to_batches()[0], pd.DataFrame([["раз", "ru", "en"]], columns=["text", "lang", "lang"])):
        refused("more than one column 'lang'", count_source, source, group_column="lang")
        assert dict(count_documents(source).items()) == {"раз": 1}
    numbered = pd.DataFrame([["раз", "два"]])
    assert list(iterate_documents(numbered, "1")) == ["два"]
    refused("no column '7'; columns here: 0, 1", count_documents, numbered, column="7")


@pytest.mark.parametrize("kind", ["DatasetDict", "IterableDatasetDict"])
def test_several_splits_are_rejected_by_name(kind, tmp_path):
    refused(r"splits or columns \(train, test\).*data\['train'\]", trained, splits(kind, "train", "test"))
    if kind == "DatasetDict":
        splits(kind, "train", "test").save_to_disk(tmp_path / "both")
        said = refused("both: is a dataset of 2 splits", count_files, tmp_path / "both")
        assert said.endswith(f"(train, test); give one of them: {tmp_path / 'both' / 'train'}")
        splits(kind, "train").save_to_disk(tmp_path / "one")
        assert count_files(tmp_path / "both" / "train") == count_files(tmp_path / "one") == count_documents(TEXTS)


def test_a_file_object_of_another_encoding(tmp_path):
    written(tmp_path / "x.txt", "кот\nкот\n", "cp1251")
    with open(tmp_path / "x.txt", encoding="utf-8") as file:
        refused("document 1 .*not utf-8", list, iterate_documents(file))


RUN = 5_000
LONG = "ab " * RUN + "x" * 2 * RUN  # 15,000 bytes that can be divided, then a run that is twice as long as allowed
RUN_RECORDS = [{"text": "ab", "lang": "xx"}, {"text": LONG, "lang": "yy"}]
RUN_TABLE = pa.Table.from_pylist(RUN_RECORDS)
RUN_FILES = {
    "a.txt": f"on\n{LONG}\n".encode(),
    "a.jsonl": "".join(json.dumps(record) + "\n" for record in RUN_RECORDS).encode(),
    "a.csv": f"text,lang\nab,xx\n{LONG},yy\n".encode(),
}
RUNS = {
    "text": (lambda: count_files("a.txt"), "a.txt: byte 15002: "),
    "text by a pattern of one's own": (lambda: count_files("a.txt", pattern="[ab]+|."), "a.txt: byte 15002: "),
    **{
        name: (lambda name=name: count_files(name), f"{name}, document 2: byte 14999: ")
        for name in ("a.jsonl", "a.csv", "a.parquet")
    },
    "list": (lambda: count_documents(["ab", LONG]), "iterator, document 2: byte 14999: "),
    "table": (lambda: count_documents(RUN_TABLE), "iterator, document 2: byte 14999: "),
    "dataset": (lambda: count_documents(dataset(["ab", LONG])), "iterator, document 2: byte 14999: "),
    "groups": (lambda: count_source(RUN_TABLE, group_column="lang"), "a text of group 'yy': byte 14999: "),
    "Spark": (
        lambda: list(partial_counts(RUN_TABLE.to_batches(), Counting("text"))),
        "column 'text': byte 14999: ",
    ),
    "encoded text": ("a.txt", {}, "a.txt: byte 15002: "),
    "encoded file": ("a.txt", {"document": "file"}, "a.txt: byte 15002: "),
    "encoded records": ("a.jsonl", {}, "a.jsonl, document 2: byte 14999: "),
    "encoded list": (["ab", LONG], {}, "iterator, document 2: byte 14999: "),
}


@pytest.mark.parametrize("way", RUNS)
def test_a_text_that_cannot_be_divided_is_rejected_in_every_source(backend, way, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "MAX_UNDIVIDED_BYTES", RUN)
    monkeypatch.chdir(tmp_path)
    for name, content in RUN_FILES.items():
        (tmp_path / name).write_bytes(content)
    pq.write_table(RUN_TABLE, "a.parquet")
    *use, where = RUNS[way]
    said = refused("follow without a space", use[0] if len(use) == 1 else lambda: ids(backend, use[0], "ids", **use[1]))
    assert said.startswith(where)


def test_a_long_document_that_can_be_divided_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "MAX_UNDIVIDED_BYTES", RUN)
    text = ("ab " * 1000 + "x" * (RUN - 10)) * 4
    assert count_documents([text]).total == count_files(written(tmp_path / "a.txt", text)).total == 4001


# Quotation marks in tables

ROWS = [f"строка {k}, вторая" for k in range(40)]
MARKS = {"a.csv": ",", "a.tsv": "\t", "a.csv.gz": ",", "a.tsv.gz": "\t"}


def unquoted(name, texts):
    """Return the content of a file of unquoted rows, as people write who do not quote, and its texts."""
    texts = [text.replace(",", ";") if MARKS[name] == "," else text for text in texts]
    return "".join(f"{a}{MARKS[name]}{b}\n" for a, b in [("id", "text"), *enumerate(texts, start=1)]), texts


@pytest.mark.parametrize("name", MARKS)
def test_a_mark_within_a_field_is_text(name, tmp_path):
    content, texts = unquoted(name, [*ROWS, 'дюйм 5" и', 'в "кавычках" слово', '5"', "'одна", *ROWS])
    assert documents(written(tmp_path / name, content)) == texts


@pytest.mark.parametrize("text", ['"открыл и забыл', '"открыл", и закрыл', '"закрыл" и дальше'])
def test_a_stray_mark_in_csv_is_an_error_with_its_line(text, tmp_path):
    path = written(tmp_path / "a.csv", unquoted("a.csv", [*ROWS[:10], text, *ROWS])[0])
    refused(r"a\.csv:12: ", documents, path)
    refused(r"a\.csv:12: ", count_source, {"ru": path}, column="text")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_carriage_return_within_a_field_is_an_error_with_its_line(name, tmp_path):
    path = written(tmp_path / name, unquoted(name, [*ROWS[:10], "один\rдва", *ROWS])[0])
    refused(r":12: a field without quotation marks contains a carriage return; quote the field", documents, path)


@pytest.mark.parametrize("stray", ['"открыл и забыл', '"один" и дальше', '""', '"'])
def test_a_stray_mark_in_tsv_is_text_everywhere_in_the_file(stray, tmp_path, caplog):
    texts = [*ROWS[:10], '"весь в кавычках"', stray, *ROWS, 'ещё одна"', *ROWS]
    path = written(tmp_path / "a.tsv", unquoted("a.tsv", texts)[0])
    fits = stray == '""'  # with an empty quoted field, the whole file can be read with quoting
    expected = [text[1:-1] if fits and text[0] == text[-1] == '"' else text for text in texts]
    assert documents(path) == expected
    assert count_files(path) == count_documents(expected)
    assert not caplog.records


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_fields_over_lines_are_read_and_reported(name, tmp_path, caplog):
    texts = ["раз\nдва", f"три{MARKS[name]}четыре", 'пять "шесть"', "", f"семь{MARKS[name]}\r\n\r\nвосемь"]
    content = io.StringIO()
    csv.writer(content, delimiter=MARKS[name]).writerows([["id", "text"], *enumerate(texts)])
    path = written(tmp_path / name, content.getvalue())
    assert documents(path) == texts
    assert f"{path}: 2 rows span several lines, the first one lines 2 to 3" in caplog.text


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
@pytest.mark.parametrize("fields", [["3"], ["3", "раз", "два"]], ids=["short", "long"])
def test_rows_of_another_length_are_errors_with_their_line(name, fields, tmp_path):
    path = written(tmp_path / name, unquoted(name, ROWS[:4])[0] + MARKS[name].join(fields) + "\n")
    refused(rf"{name}:6: .*{len(fields)} field", documents, path)


def test_a_quotation_mark_that_is_not_closed_is_noticed_within_a_bounded_text(tmp_path):
    path = written(tmp_path / "a.csv", 'text\n"' + ("слово " * 1000 + "\n") * 3000)
    refused(r"a\.csv:2: a field has more than 16,777,216 characters; close its quotation mark", documents, path)
    written(path, "text\n" + "слово " * 3_000_000)
    refused(r"a\.csv:2: a field has more than .* or divide its text into several rows", documents, path)
    written(path, 'text\n"слово\nслово\n')
    refused(r"a\.csv:2: a quotation mark opens a field here, but none closes it", documents, path)


# Names of files


def test_files_however_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for k, text in enumerate(LINES):
        (tmp_path / f"{k}.txt").write_text(text, encoding="utf-8", newline="")
    paths = sorted(tmp_path.glob("*.txt"))
    assert expand_paths("*.txt") == [f"{k}.txt" for k in range(4)]
    expected = trained(paths)
    for source in ("*.txt", tmp_path / "*.txt", ["*.txt"], [str(path) for path in paths], ["0.txt", *paths[1:]]):
        assert trained(source) == expected
    refused("no such file", trained, ["0.txt", "a mistyped name.txt"])
    refused("such as 'a mistyped name' names no file", trained, ["0.txt", "a mistyped name"])
    refused("give files as a list", trained, tmp_path.glob("*.txt"))
    refused("a folder; give a glob", expand_paths, tmp_path)


@pytest.mark.parametrize("bad", ["absent.txt", "absent", "*.md", "folder", "x.json", "x.parquet"])
def test_a_wrong_name_is_reported_before_any_work(backend, tmp_path, bad):
    (tmp_path / "folder").mkdir()
    (tmp_path / "x.json").write_text("[]")
    pq.write_table(pa.table({"body": ["a"]}), tmp_path / "x.parquet")
    (tmp_path / "first.txt").write_bytes(b"\xff not text: an error, if it were read")
    files = [tmp_path / "first.txt", tmp_path / bad]
    for use in (lambda: count_files(files), lambda: encode_corpus(backend, files, tmp_path / "ids", separator=EOS)):
        refused(bad.replace("*", r"\*"), use)
    assert not (tmp_path / "ids").exists()


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("corups.txt", "did you mean corpus.txt?"),
        ("ru/novel.txt.gz", "did you mean ru/novels.txt.gz?"),
        ("fi/novels.txt", "there is no folder fi; check the path"),
        ("другое", "no such file; check the path"),
        ("link.txt", "is a broken link"),
    ],
)
def test_the_error_for_a_missing_file_says_where_to_look(tmp_path, name, advice):
    written(tmp_path / "corpus.txt", "раз два")
    (tmp_path / "ru").mkdir()
    written(tmp_path / "ru" / "novels.txt.gz", "раз два")
    (tmp_path / "link.txt").symlink_to("nowhere")
    done = mws("count", "corpus.txt", name, "-o", "c", cwd=tmp_path)
    assert one_line(done) and advice in done.stderr


@pytest.mark.parametrize(
    ("inside", "advice"),
    [
        (["a.md", "b.md", "notes.txt", ".hidden.csv"], "*.md"),
        (["a.v2.jsonl.gz", "b.jsonl.gz"], "*.jsonl.gz"),
        (["ru/a.txt.zst"], "**/*.txt.zst"),
        (["one", "two"], "*"),
        ([], "*.txt"),
    ],
)
def test_the_glob_proposed_for_a_folder_matches_its_files(tmp_path, inside, advice):
    for name in inside:
        (tmp_path / "c[1]" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "c[1]" / name).write_text("раз два")
    (tmp_path / "c[1]").mkdir(exist_ok=True)
    refused = mws("count", "c[1]", "-o", "out", cwd=tmp_path)
    assert refused.stderr == f"error: c[1]: is a folder; give a glob of its files, such as 'c[[]1]/{advice}'\n"
    assert {tmp_path / "c[1]" / name for name in inside[:1]} <= {*tmp_path.glob(f"c[[]1]/{advice}")}


@pytest.mark.parametrize("named", [["absent"], ["--word-list", "absent"]])
def test_commands_look_for_files_before_any_work(tmp_path, named):
    written(tmp_path / "bad.tsv", "word\tmany\n")
    done = mws("count", "--word-list", "bad.tsv", *named, "-o", "c", cwd=tmp_path)
    assert one_line(done) and "absent: no such file" in done.stderr


def test_a_name_with_an_equals_sign_is_the_file_that_is_there(tmp_path):
    (tmp_path / "x=y.txt").write_text("раз два")
    assert mws("count", "x=y.txt", "-o", "out", cwd=tmp_path).stdout == "out: 2 distinct pre-tokens, 2 in all\n"
    (tmp_path / "y.txt").write_text("три")
    done = mws("count", "x=y.txt", "-o", "two", cwd=tmp_path)
    assert done.returncode == 2 and "x=./y.txt" in done.stderr and "./x=y.txt" in done.stderr
    assert "two, x: 1 distinct" in mws("count", "x=./y.txt", "-o", "two", cwd=tmp_path).stdout
    assert "3: 2 distinct" in mws("count", "./x=y.txt", "-o", "3", cwd=tmp_path).stdout


def test_circular_links_are_read_once_or_rejected(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.txt").write_text("раз")
    (tmp_path / "d" / "up").symlink_to("..", target_is_directory=True)
    assert expand_paths(tmp_path / "**" / "*.txt") == [str(tmp_path / "d" / "a.txt")]
    for a, b in ("one", "two"), ("two", "one"):
        (tmp_path / a).symlink_to(b)
    for command in (["count", "one", "-o", "c"], ["train", "one", "-o", "t"]):
        done = mws(*command, cwd=tmp_path)
        assert done.returncode == 2 and "one: is a broken link" in done.stderr
    for command in (["train", "d/a.txt"], ["encode", "none", "d/a.txt"]):
        done = mws(*command, "-o", "two", cwd=tmp_path)
        assert done.returncode == 2 and "two: is a broken link" in done.stderr


def test_a_broken_link_among_the_files_of_a_glob_is_an_error(tmp_path):
    (tmp_path / "a.txt").write_text("раз")
    (tmp_path / "b.txt").symlink_to("not-fetched")
    for glob in ("*.txt", "**/*.txt", "[b]*"):
        assert f"{tmp_path / 'b.txt'}: is a broken link" in refused("restore its file", count_files, tmp_path / glob)
    assert count_files(tmp_path / "a*").words == ["раз"]


@pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else True, reason="root may read everything")
def test_what_may_not_be_read_is_named(tmp_path):
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "a.txt").write_text("раз")
    (tmp_path / "closed").chmod(0)
    try:
        for line in ("count closed/a.txt -o c", "segment closed слово", "check closed"):
            done = mws_process(*line.split(), cwd=tmp_path)
            assert one_line(done) and "error: closed/" in done.stderr and "Permission denied" in done.stderr
    finally:
        (tmp_path / "closed").chmod(0o755)


# The column

JSONL = "\n".join(json.dumps({"body": text, "n": 1}) + "\n" for text in TEXTS)  # blank lines are not records


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonlines", "a", "a.dump", "a.dump.gz", "-"])
def test_with_a_column_unknown_names_are_read_as_json_lines(backend, name, tmp_path, monkeypatch):
    place = name if name == "-" else written(tmp_path / name, JSONL)
    done = mws("count", place, "--column", "body", "-o", tmp_path / "c", stdin=JSONL)
    assert done.returncode == 0 and WordCounts.load(tmp_path / "c") == count_documents(TEXTS)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(JSONL.encode()), encoding="utf-8"))
    assert ids(backend, place, tmp_path / "ids", column="body") == rust_ids(backend, TEXTS)


def test_every_command_that_reads_has_a_column_option_and_rejects_it_for_plain_text(tmp_path):
    save_directory(make_backend(random_merges(6, 150)), tmp_path / "tok")
    records, text = written(tmp_path / "b.jsonl", JSONL), written(tmp_path / "a.txt", "ещё кот\n")
    for arguments in (
        ("train", text, "--output", tmp_path / "t"),
        ("count", text, "--output", tmp_path / "c"),
        ("count", f"one={text}", "--output", tmp_path / "c"),
        ("encode", tmp_path / "tok", text, "--output", tmp_path / "ids"),
        ("evaluate", tmp_path / "tok", "--text", text),
    ):
        done = mws(*arguments, "--column", "body")
        assert done.returncode == 2 and "plain text, which has no columns; leave --column body out" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"tok", "a.txt", "b.jsonl", "ids"}
    # the text file is read as plain text
    assert count_files([text, records], column="body") == count_documents(["ещё кот\n", *TEXTS])
    assert mws("count", f"one={text}", f"two={records}", "--column", "body", "-o", tmp_path / "c").returncode == 0
    scored = mws("evaluate", tmp_path / "tok", "--text", records, "--column", "body", "--json")
    (tmp_path / "lines.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    lines = mws("evaluate", tmp_path / "tok", "--text", tmp_path / "lines.txt", "--json")
    assert json.loads(scored.stdout)["text"] == json.loads(lines.stdout)["text"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet", "noext"])
def test_lists_of_words_are_not_read_from_records_and_tables(name, tmp_path):
    written(tmp_path / name, '{"text": "кот"}\n')
    said = mws("count", "--word-list", tmp_path / name, "-o", tmp_path / "c").stderr
    assert name in said and ("JSON record" in said if name == "noext" else "not a list of words" in said)
    written(tmp_path / "list.tsv", "кот\n")
    said = mws("count", "--word-list", tmp_path / "list.tsv", "--column", "text", "-o", tmp_path / "c").stderr
    assert "none of the inputs has columns" in said and not (tmp_path / "c").exists()


@pytest.mark.parametrize(("ending", "encoding"), [("", "utf-8-sig"), (".zst", "utf-8"), (".gz", "cp1251")])
def test_word_lists_know_marks_encodings_and_compression(ending, encoding, tmp_path):
    path = written(tmp_path / f"a.tsv{ending}", "кот\t3\nкое-кто\t2\n", encoding)
    given = encoding.removesuffix("-sig")
    assert read_word_list(path, encoding=given) == count_mapping({"кот": 3, "кое-кто": 2})
    assert mws("count", "--word-list", path, "--encoding", given, "-o", tmp_path / "c").returncode == 0


@pytest.mark.parametrize("lines", [[f"кот\t{10**20}\n"], [f"кот\t{2**63 - 1}\n", "пёс\t1\n"]])
def test_counts_of_a_list_that_exceed_64_bits_are_an_error(lines, tmp_path):
    path = written(tmp_path / "a.tsv", "".join(lines))
    refused("add up to .* more than a 64-bit integer", read_word_list, path)
    refused("add up to .* more than a 64-bit integer", count_mapping, {"кот": 10**20})


# Texts given twice


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts")
    (path / "a.txt").write_text("кот и пёс и кот\n" * 9000, encoding="utf-8")
    (path / "b.txt").write_text("другой текст\n" * 9000, encoding="utf-8")
    shutil.copy(path / "a.txt", path / "copy of a.txt")
    (path / "a.txt.gz").write_bytes(gzip.compress((path / "a.txt").read_bytes(), mtime=1))
    os.link(path / "b.txt", path / "c.txt")
    pq.write_table(pa.table({"text": ["кот и пёс"] * 99}), path / "rows.parquet")
    shutil.copy(path / "rows.parquet", path / "same.parquet")
    for name, files in {"a": ["a.txt"], "ab": ["a.txt", "b.txt"], "named": ["ru=a.txt", "en=b.txt"]}.items():
        assert mws("count", *files, "-o", f"{name}.counts", cwd=path).stderr == ""
    assert mws("count", "a.counts", "-o", "again.counts", cwd=path).stderr == ""
    return path


@pytest.mark.parametrize(
    "given",
    [
        "a.txt|copy of a.txt", "a.txt|a.txt.gz", "b.txt|c.txt", "rows.parquet|same.parquet", "a.counts|a.counts",
        "rows.parquet|./rows.parquet", "a.counts|ab.counts", "a.txt|a.counts", "b.txt|ab.counts", "a.txt|again.counts",
        "ru=a.txt|en=a.txt", "ru=a.txt|en=copy of a.txt", "ru=b.txt|en=ab.counts", "ru=a.counts|en=again.counts",
    ],
)  # fmt: skip
def test_texts_given_twice_are_reported(given, folder):
    first, second = given.split("|")
    said = mws("count", first, second, "-o", "out", "--force", cwd=folder)
    assert said.returncode == 0 and said.stderr.count("WARNING") == 1
    for name in (first, second):
        assert os.path.normpath(name.rpartition("=")[2]) in said.stderr


@pytest.mark.parametrize("given", ["a.txt|b.txt", "b.txt|a.counts", "ru=a.txt|en=b.txt", "a.txt|rows.parquet"])
def test_different_texts_are_not_reported(given, folder):
    assert mws("count", *given.split("|"), "-o", "out", "--force", cwd=folder).stderr == ""


@pytest.mark.parametrize(
    ("whole", "given"),
    [
        ("a.txt|b.txt", "a.counts|b.txt"),
        ("ru=a.txt|en=b.txt", "ru=a.counts|en=b.txt"),
        ("a.txt|b.txt|rows.parquet", "rows.parquet|ab.counts"),
        ("ru=a.txt|en=b.txt|en=rows.parquet", "named.counts|en=rows.parquet"),
    ],
)
def test_counts_do_not_depend_on_which_texts_were_counted_before(whole, given, folder):
    for name, sources in {"whole": whole, "parts": given}.items():
        assert mws("count", *sources.split("|"), "-o", name, "--force", cwd=folder).returncode == 0
    assert (folder / "whole").read_bytes() == (folder / "parts").read_bytes()


def test_counts_with_groups_of_their_own_need_no_group(folder):
    refused = mws("count", "named.counts", "a.txt", "-o", "mixed", cwd=folder)
    assert one_line(refused) and refused.stderr.startswith("error: a.txt: belongs to no group, but other sources do")
    refused = mws("count", "a.counts", "en=b.txt", "-o", "mixed", cwd=folder)
    assert one_line(refused) and refused.stderr.startswith("error: a.counts: belongs to no group")
    assert mws("count", "named.counts", "fi=rows.parquet", "-o", "mixed", cwd=folder).returncode == 0
    assert list(WordCounts.load(folder / "mixed").groups) == ["en", "fi", "ru"]


def test_training_and_encoding_a_text_twice_are_reported(backend, folder, tmp_path, caplog):
    pairs = ["a.txt", "a.txt"], ["b.txt", "c.txt"], ["rows.parquet", "same.parquet"]
    for first, second in ([folder / name for name in pair] for pair in pairs):
        for use in (
            lambda *files: encode_corpus(backend, files, tmp_path / "ids", separator=None, resume=False),
            lambda *files: count_source(list(files)),
            lambda first, second: count_source({"ru": first, "en": second}),
        ):
            caplog.clear()
            with caplog.at_level(logging.WARNING):
                use(first, second)
            assert len(caplog.records) == 1 and str(second) in caplog.text


@pytest.mark.parametrize("size", [8, 1 << 20])
def test_progress_of_documents_is_in_bytes_of_text(size):
    texts = ["один два", "three", "четыре\n", ""]
    taken: list[int] = []
    held = sum(block.size for block in Source.of(iter(texts)).blocks(size=size, advance=taken.append))
    assert sum(taken) == held == len("".join(texts).encode())
