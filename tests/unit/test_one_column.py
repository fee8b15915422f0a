"""One option says where the text is, in JSON lines and in tables; wherever it would be passed over, it is an error."""

import io
import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mws_hf import MwSTrainer, encode_corpus
from mws_hf.corpus.counting import count_documents, count_files
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.word_list import read_word_list
from mws_hf.errors import MwSError
from mws_hf.evaluate.running_text import read_lines
from tests.encode_cases import make_backend, random_merges
from tests.in_process import invoke

TEXTS = ["кот и пёс", "кот, ещё кот", "читали и читали"]
BODY = [{"body": text, "n": 1} for text in TEXTS]
LINES = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in BODY)


def run(*arguments, given=None):
    return invoke([str(each) for each in arguments], given=given)


def refused(*arguments, given=None):
    done = run(*arguments, given=given)
    assert isinstance(done.exception, MwSError), (done.exception, done.output)
    return str(done.exception)


@pytest.fixture
def stdin(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINES.encode()), encoding="utf-8"))


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonlines", "a", "a.dump", "a.dump.gz", "-"])
def test_with_a_column_what_a_name_leaves_open_is_json_lines(name, tmp_path):
    import gzip

    data = LINES.encode()
    (tmp_path / name.replace("-", "x")).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    place = name if name == "-" else tmp_path / name
    done = run("count", place, "--column", "body", "-o", tmp_path / "c", given=data if name == "-" else None)
    assert done.exit_code == 0, (done.exception, done.output)
    assert WordCounts.load(tmp_path / "c") == count_documents(TEXTS)


def test_python_reads_standard_input_and_unknown_names_so_too(tmp_path, stdin):
    assert count_files("-", column="body") == count_documents(TEXTS)
    (tmp_path / "noext").write_text(LINES, encoding="utf-8")
    trained = [
        MwSTrainer(n_merges=8, show_progress=False).train(source, **options).backend_tokenizer.to_str()
        for source, options in [(iter(TEXTS), {}), (tmp_path / "noext", {"column": "body"}), (BODY, {"column": "body"})]
    ]
    assert trained[0] == trained[1] == trained[2]
    backend = make_backend(random_merges(6, 150))
    one = encode_corpus(backend, tmp_path / "noext", tmp_path / "1", separator=None, column="body")
    two = encode_corpus(backend, iter(TEXTS), tmp_path / "2", separator=None)
    assert [one[k].tolist() for k in range(len(one))] == [two[k].tolist() for k in range(len(two))]


def test_encode_reads_standard_input_as_json_lines(tmp_path, stdin):
    backend = make_backend(random_merges(6, 150))
    found = encode_corpus(backend, "-", tmp_path / "ids", separator=None, column="body")
    assert len(found) == len(TEXTS)


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.md"])
def test_a_column_of_plain_text_is_refused(name, tmp_path):
    (tmp_path / name).write_bytes(b"some text\n")
    place = tmp_path / name
    for arguments in (
        ("train", place, "--output", tmp_path / "t"),
        ("count", place, "--output", tmp_path / "c"),
    ):
        assert "plain text, which has no columns; leave --column body out" in refused(*arguments, "--column", "body")
    with pytest.raises(MwSError, match="leave --column body out"):
        encode_corpus(make_backend(random_merges(6, 150)), place, tmp_path / "ids", separator=None, column="body")
    assert {path.name for path in tmp_path.iterdir()} <= {name, "ids"}


def test_plain_text_beside_a_table_stays_plain_text(tmp_path):
    (tmp_path / "a.txt").write_text("ещё кот\n", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(LINES, encoding="utf-8")
    both = count_files([tmp_path / "a.txt", tmp_path / "b.jsonl"], column="body")
    assert both == count_documents(["ещё кот\n", *TEXTS])
    places = f"one={tmp_path / 'a.txt'}", f"two={tmp_path / 'b.jsonl'}"
    assert run("count", *places, "--column", "body", "-o", tmp_path / "c").exit_code == 0
    assert "no columns" in refused("count", places[0], "--column", "body", "-o", tmp_path / "d")


def test_without_a_name_it_is_text(tmp_path):
    records = [{"n": 1, "text": text} for text in TEXTS]
    (tmp_path / "a.jsonl").write_text("".join(map("{}\n".format, map(json.dumps, records))), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("n,text\n" + "".join(f'1,"{text}"\n' for text in TEXTS), encoding="utf-8")
    for source in (*map(tmp_path.joinpath, ("a.jsonl", "a.parquet", "a.csv")),):
        assert count_files(source) == count_documents(TEXTS)
        assert list(read_lines(source)) == TEXTS
    assert count_documents(records) == count_documents(pa.Table.from_pylist(records)) == count_documents(TEXTS)
    (tmp_path / "b.jsonl").write_text(LINES, encoding="utf-8")
    with pytest.raises(MwSError, match="b.jsonl:1: which field holds the text. fields here: body, n"):
        count_files(tmp_path / "b.jsonl")


@pytest.mark.parametrize("option", ["--word-list", "--lemmas"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet", "noext"])
def test_lists_of_words_are_not_read_from_records_and_tables(name, option, tmp_path):
    (tmp_path / name).write_text('{"text": "кот"}\n', encoding="utf-8")
    said = refused("count", option, tmp_path / name, "-o", tmp_path / "c")
    assert name in said and ("JSON record" in said if name == "noext" else "not a list of words" in said)
    (tmp_path / "list.tsv").write_text("кот\n", encoding="utf-8")
    assert "nothing is given that has columns" in refused(
        "count", option, tmp_path / "list.tsv", "--column", "text", "-o", tmp_path / "c"
    )
    assert not (tmp_path / "c").exists()


def test_a_table_of_tabs_is_still_a_list_of_words(tmp_path):
    (tmp_path / "list.tsv").write_text("кот\t3\n", encoding="utf-8")
    assert dict(read_word_list(tmp_path / "list.tsv").items()) == {" кот": 3}


def test_evaluate_reads_records(tmp_path):
    make_backend(random_merges(6, 150)).save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "a.jsonl").write_text(LINES, encoding="utf-8")
    (tmp_path / "a.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    arguments = ("evaluate", tmp_path, "--json", "--text")
    records = run(*arguments, tmp_path / "a.jsonl", "--column", "body")
    assert records.exit_code == 0, records.exception
    assert json.loads(records.stdout)["text"] == json.loads(run(*arguments, tmp_path / "a.txt").stdout)["text"]
    assert "which field" in refused(*arguments, tmp_path / "a.jsonl")
    assert "no columns" in refused(*arguments, tmp_path / "a.txt", "--column", "body")


def test_a_saved_dataset_of_several_splits_is_refused_by_name(tmp_path):
    datasets = pytest.importorskip("datasets")
    part = datasets.Dataset.from_dict({"text": TEXTS})
    datasets.DatasetDict({"train": part, "test": part}).save_to_disk(tmp_path / "both")
    said = refused("count", tmp_path / "both", "-o", tmp_path / "c")
    assert said.endswith(f"both: a dataset of 2 splits (train, test); give one: {tmp_path / 'both' / 'train'}")
    assert count_files(tmp_path / "both" / "train") == count_documents(TEXTS)
    datasets.DatasetDict({"train": part}).save_to_disk(tmp_path / "one")
    assert count_files(tmp_path / "one") == count_documents(TEXTS)
