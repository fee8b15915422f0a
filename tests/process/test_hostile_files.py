"""Files made to bring a reader down: each is refused in one line, with exit code 2, within seconds."""

import json
import re
import time

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mws_hf import MwSTokenizerFast, MwSTrainer, encode_corpus
from mws_hf.corpus import blocks
from mws_hf.corpus.counting import count_documents, count_files, count_source
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.counts_file import fingerprint, is_counts_file
from mws_hf.distributed.partitions import Counting, partial_counts
from mws_hf.errors import MwSError
from mws_hf.text.pattern import NAMED_PATTERNS, check_backtracking
from mws_hf.tokenizer.backend import base_vocab, build_backend
from mws_hf.tokenizer.opened import open_tokenizer
from tests.in_process import invoke
from tests.processes import mws, one_line

PATTERN = "[a-z]+| "
SECONDS = 20
MERGES = [("o", "n"), (" ", "on")]
BOMB = "(a|a)*b|."


def said(*arguments, within=SECONDS):
    """What a command refuses with; never a traceback, never for long."""
    began = time.process_time()
    done = invoke([str(each) for each in arguments])
    assert time.process_time() - began < within
    if arguments[0] == "check":  # whose finding it is
        assert done.exit_code == 1 and done.output.startswith("error: ")
        return done.output
    assert isinstance(done.exception, MwSError), (done.exception, done.output)
    message = str(done.exception)
    assert message.count("\n") == 0 and len(message) < 1000
    return message


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    """Kernels are compiled before anything is timed."""
    count_documents(["on no"])
    MwSTrainer(n_merges=2, show_progress=False).train(["on no"])


def metadata(total, pattern=PATTERN, groups=None):
    names = [] if groups is None else sorted(groups) if isinstance(groups, dict) else []
    found = {
        "mws_hf.word_counts": "1" if groups is None else "2",
        "pattern": pattern,
        "normalization": "",
        "total": str(total),
        "fingerprint": fingerprint(pattern, None, names),
    }
    return found | ({} if groups is None else {"groups": groups if isinstance(groups, str) else json.dumps(groups)})


def counts_file(path, words=("ab", "cd"), counts=(3, 2), group=None, settings=None, **changes):
    columns = {"word": words if isinstance(words, pa.Array) else pa.array(words, pa.large_string())}
    columns["count"] = counts if isinstance(counts, pa.Array) else pa.array(counts, pa.int64())
    if group is not None:
        columns["group"] = group
    table = pa.table(columns)
    pq.write_table(table.replace_schema_metadata(settings or metadata(5, **changes)), path)
    return path


COUNTS = {
    "integer words": ({"words": pa.array([1, 2])}, "column 'word' holds int64"),
    "binary words": ({"words": pa.array([b"a", b"\xff"])}, "column 'word' holds binary"),
    "null words": ({"words": ["ab", None]}, "row 2: its word is missing or empty"),
    "empty words": ({"words": ["", "cd"]}, "row 1: its word is missing or empty"),
    "words of lists": ({"words": pa.array([["a"], ["b"]])}, "column 'word' holds list"),
    "null counts": ({"counts": [3, None]}, "row 2: its count is missing or below 1"),
    "negative counts": ({"counts": [6, -1]}, "row 2: its count is missing or below 1"),
    "counts of text": ({"counts": pa.array(["3", "2"])}, "column 'count' holds string"),
    "counts with a point": ({"counts": pa.array([3.0, 2.0])}, "column 'count' holds double"),
    "unsigned counts": ({"counts": pa.array([2**63, 2], pa.uint64())}, "not a readable Parquet file"),
    "counts that wrap": ({"counts": [2**62, 2**62], "settings": metadata(2**63)}, "more than 64 bits hold"),
    "another total": ({"settings": metadata(6)}, "do not match"),
    "no total": ({"settings": {"mws_hf.word_counts": "1"}}, "metadata cannot be read"),
    "a total of letters": ({"settings": metadata(5) | {"total": "x"}}, "metadata cannot be read"),
    "a total of 6,000 digits": ({"settings": metadata(5) | {"total": "9" * 6000}}, "metadata cannot be read"),
    "metadata of bytes": ({"settings": {b"mws_hf.word_counts": b"1", b"pattern": b"\xff", b"total": b"5"}}, "metadata"),
    "another version": ({"settings": metadata(5) | {"mws_hf.word_counts": "9"}}, "of format 9"),
    "deep groups": ({"group": pa.array(["a", "a"]), "groups": "[" * 100_000}, "metadata cannot be read"),
    "groups in a list": ({"group": pa.array(["a", "a"]), "groups": '["a"]'}, "metadata cannot be read"),
    "groups of text": ({"group": pa.array(["a", "a"]), "groups": '{"a": "5"}'}, "metadata cannot be read"),
    "integer groups": ({"group": pa.array([1, 1]), "groups": {"a": 5}}, "column 'group' holds int64"),
    "null groups": ({"group": pa.array(["a", None]), "groups": {"a": 5}}, "groups do not match"),
    "other groups": ({"group": pa.array(["a", "b"]), "groups": {"a": 5}}, "groups do not match"),
    "a word twice": ({"words": ["ab", "ab"]}, "row 2: 'ab' stands in row 1 too"),
    "a bomb of a pattern": ({"pattern": BOMB}, "tries ever more ways"),
    "a pattern that is none": ({"pattern": "("}, "does not compile"),
    "a pattern of nothing": ({"pattern": "x*"}, "matches the empty string"),
    "a normalization that is none": ({"settings": metadata(5) | {"normalization": "x"}}, "do not match"),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_refused(name, tmp_path):
    changes, message = COUNTS[name]
    file = counts_file(tmp_path / "c.parquet", **changes)
    assert is_counts_file(file)
    for command in ("train", "count"):
        if command == "count" and name == "a word twice":
            continue  # which adds them up
        told = said(command, file, "--output", tmp_path / "out")
        assert "c.parquet" in told and message in told
    assert not (tmp_path / "out").exists()
    with pytest.raises(MwSError, match=re.escape(message)):
        MwSTrainer(n_merges=2, show_progress=False).train_from_counts(file)


def test_cut_off_and_altered_counts_are_refused_wherever_they_are_cut(tmp_path):
    whole = counts_file(tmp_path / "c.parquet").read_bytes()
    random = np.random.default_rng(0)
    for k in range(60):
        size = int(random.integers(0, len(whole)))
        damaged = bytearray(whole[:size] if k % 2 else whole)
        if not k % 2:
            damaged[size] ^= 1 << int(random.integers(0, 8))
        (tmp_path / "c.parquet").write_bytes(damaged)
        try:
            read = WordCounts.load(tmp_path / "c.parquet")
        except MwSError as error:
            assert "\n" not in str(error)
        else:
            assert read.total == 5  # what was altered means nothing


def spec():
    backend = build_backend(base_vocab(["<|endoftext|>"], " no", MERGES), MERGES, special_tokens=["<|endoftext|>"])
    return json.loads(backend.to_str())


def changed(*path, value):
    def change(found):
        for step in path[:-1]:
            found = found[step]
        found[path[-1]] = value

    return change


def vocabulary(**tokens):
    return lambda found: found["model"]["vocab"].update(tokens)


def added(**changes):
    return lambda found: found["added_tokens"].append({**found["added_tokens"][0], **changes})


def pad(**changes):
    usual = {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0}
    return changed("padding", value={**usual, "pad_type_id": 0, "pad_token": "x", **changes})


def nested(depth):
    return changed("normalizer", value=json.loads('{"type":"Sequence","normalizers":[' * depth + "]}" * depth))


def cut(length, stride):
    value = {"direction": "Right", "max_length": length, "strategy": "LongestFirst", "stride": stride}
    return changed("truncation", value=value)


def replace(pattern):
    return {"type": "Replace", "pattern": pattern, "content": "x"}


TEMPLATE = {"type": "TemplateProcessing", "pair": [], "special_tokens": {}}
SPECS = {
    "ids shared": (vocabulary(zz=5), "share id 5"),
    "id 2^31": (vocabulary(zz=2**31), "has id 2147483648"),
    "id 2^64": (vocabulary(zz=2**64), "has id 18446744073709551616"),
    "id below 0": (vocabulary(zz=-1), "has id -1"),
    "id with a point": (vocabulary(zz=1.5), "has id 1.5"),
    "id of text": (vocabulary(zz="5"), "has id '5'"),
    "id true": (vocabulary(zz=True), "has id True"),
    "id of 3,000 digits": (vocabulary(zz=10**3000), "of 3001 characters"),
    "a byte token missing": (lambda found: found["model"]["vocab"].pop("<0x41>"), "byte token <0x41> is missing"),
    "no vocabulary": (changed("model", "vocab", value=None), "no vocabulary"),
    "a list for a model": (changed("model", value=[]), "with a model"),
    "no model": (lambda found: found.pop("model"), "with a model"),
    "a merge of no tokens": (lambda found: found["model"]["merges"].append(["q", "r"]), "save it again"),
    "a merge of three": (lambda found: found["model"]["merges"].append(["o", "n", "o"]), "save it again"),
    "a merge of a number": (lambda found: found["model"]["merges"].append(3), "save it again"),
    "added ids shared": (added(content="<x>"), "share id 0"),
    "added id 2^31": (added(content="<x>", id=2**31), "has id 2147483648"),
    "added without content": (added(content=None), "an added token is none"),
    "added no list": (changed("added_tokens", value={"a": 1}), "an added token is none"),
    "padding to 1e9": (pad(strategy={"Fixed": 10**9}), "padding to 1000000000 tokens"),
    "padding to multiples of 1e9": (pad(pad_to_multiple_of=10**9), "padding to 1000000000 tokens"),
    "padding to text": (pad(strategy={"Fixed": "9"}), "padding to '9' tokens"),
    "truncation with a long stride": (cut(2, 5), "stride of 5"),
    "truncation to nothing": (cut(0, 0), None),
    "an empty Replace": (changed("normalizer", value=replace({"String": ""})), "replaces the empty string"),
    "an empty Replace in the decoder": (changed("decoder", value=replace({"Regex": ""})), "replaces the empty string"),
    "an unfinished pattern": (changed("pre_tokenizer", "pattern", value={"Regex": "("}), "save it again"),
    "a bomb of a pattern": (changed("pre_tokenizer", "pattern", value={"Regex": BOMB}), "tries ever more ways"),
    "a bomb to normalize": (changed("normalizer", value=replace({"Regex": BOMB})), "tries ever more ways"),
    "pieces of length 0": (changed("pre_tokenizer", value={"type": "FixedLength", "length": 0}), "length 0"),
    "a damaged table": (
        changed("normalizer", value={"type": "Precompiled", "precompiled_charsmap": "/////w=="}),
        "damaged table of characters",
    ),
    "a template of no token": (
        changed("post_processor", value={**TEMPLATE, "single": [{"SpecialToken": {"id": "<no>", "type_id": 0}}]}),
        "puts in '<no>'",
    ),
    "a nested normalizer": (nested(400), "save it again"),
    "WordPiece without its unknown token": (
        changed("model", value={"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"a": 0}}),
        "unknown token '[UNK]'",
    ),
}


@pytest.mark.parametrize("name", SPECS)
def test_a_tokenizer_is_refused_wherever_it_is_read(name, tmp_path):
    change, message = SPECS[name]
    found = spec()
    change(found)
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "tokenizer.json").write_text(json.dumps(found), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"eos_token": "<|endoftext|>"}', encoding="utf-8")
    (tmp_path / "text.txt").write_text("on no on\n", encoding="utf-8")
    if message is None:  # nothing is wrong with it
        assert open_tokenizer(folder).backend.encode("on").ids == []
        return
    for arguments in (
        ("segment", folder, "on"),
        ("check", folder),
        ("evaluate", folder, "--text", tmp_path / "text.txt"),
        ("encode", folder, tmp_path / "text.txt", "--output", tmp_path / "ids"),
        ("extend", folder, tmp_path / "text.txt", "--add", "3", "--output", tmp_path / "e"),
        ("export", folder, "--format", "notebook", "--output", tmp_path / "n"),
    ):
        told = said(*arguments)
        assert "tokenizer.json" in told and message in told, (arguments, told)
    for opened in (open_tokenizer, MwSTokenizerFast.from_pretrained):
        with pytest.raises(MwSError, match=re.escape(message)):
            opened(folder)
    assert {path.name for path in tmp_path.iterdir()} <= {"t", "text.txt", "ids", "e", "n"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "no JSON object"),
        ('{"model": {"vocab": {"a": ' + "9" * 6000 + "}}}", "a number that cannot be read"),
        ('{"model": ', "not valid JSON"),
        ('"\\ud800"', "no JSON object"),
    ],
)
def test_what_is_no_json_of_a_tokenizer_is_refused(text, message, tmp_path):
    (tmp_path / "tokenizer.json").write_text(text, encoding="utf-8")
    told = said("segment", tmp_path, "on")
    assert "tokenizer.json" in told and message in told


@pytest.mark.parametrize("token", [5, [], {"content": 3}])
def test_a_token_of_a_configuration_that_is_none_is_refused(token, tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec()), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": token}), encoding="utf-8")
    (tmp_path / "text.txt").write_text("on\n", encoding="utf-8")
    assert "its eos_token is" in said("encode", tmp_path, tmp_path / "text.txt", "--output", tmp_path / "ids")


def test_a_panic_of_the_library_is_a_line(tmp_path):
    """A pattern that only Oniguruma is slow at: no check before can find all."""
    found = spec()
    found["pre_tokenizer"]["pattern"] = {"Regex": r"(?:\k<x>|(?<x>e+e+)+)y"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(found), encoding="utf-8")
    done = mws("segment", tmp_path, "e" * 40)
    assert "Traceback" not in done.stderr
    if done.returncode:
        assert done.returncode == 2 and done.stderr.splitlines()[-1].startswith("error: ")


def test_real_processes_end_in_one_line(tmp_path):
    found = spec()
    SPECS["padding to 1e9"][0](found)
    (tmp_path / "tokenizer.json").write_text(json.dumps(found), encoding="utf-8")
    assert one_line(mws("segment", tmp_path, "on"))
    assert one_line(mws("train", counts_file(tmp_path / "c.parquet", words=pa.array([1, 2])), "-o", tmp_path / "t"))


@pytest.mark.parametrize("pattern", [BOMB, "(xx|x)+y|.", "(?:ж|[а-я])*ъ|[ab]"])
def test_bombs_are_found(pattern):
    with pytest.raises(MwSError, match="tries ever more ways"):
        check_backtracking(pattern)


@pytest.mark.parametrize(
    "pattern", [*NAMED_PATTERNS.values(), r"\s+|\S+", ".", "[a-z]+|.", r"\p{L}+|\d|\s+|[^\s\p{L}]+"]
)
def test_patterns_in_use_are_no_bombs(pattern):
    check_backtracking(pattern)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"initial_alphabet": ["\ud800"]}, "lone surrogate"),
        ({"initial_alphabet": 5}, "initial_alphabet: int is no text"),
        ({"initial_alphabet": b"ab"}, "initial_alphabet: bytes is no text"),
        ({"types": "False"}, "types='False' is neither True nor False"),
        ({"show_progress": "no"}, "show_progress='no' is neither"),
        ({"pattern": BOMB}, "tries ever more ways"),
        ({"special_tokens": ["\ud800"]}, "surrogate"),
        ({"min_count": "2"}, "min_count='2' is not a whole number"),
        ({"granularity": "0.1"}, "granularity='0.1'"),
        ({"hidden_boundary_price": float("nan")}, "hidden_boundary_price"),
    ],
)
def test_arguments_of_another_kind_are_refused(arguments, message):
    with pytest.raises(MwSError, match=message):
        MwSTrainer(**arguments)


@pytest.mark.parametrize("workers", ["2", 1.5, True, 0, -1])
def test_workers_that_are_no_number_are_refused(workers, tmp_path):
    (tmp_path / "a.txt").write_text("on no\n")
    for use in (
        lambda: count_files(tmp_path / "a.txt", workers=workers),
        lambda: count_documents(["on no"], workers=workers),
        lambda: MwSTrainer(n_merges=2, show_progress=False).train(["on no"], workers=workers),
        lambda: encode_corpus(
            build_backend(base_vocab((), "on"), []), ["on no"], tmp_path / "ids", separator=None, workers=workers
        ),
    ):
        with pytest.raises(MwSError, match="workers="):
            use()
    with pytest.raises(MwSError, match="memory_cap='1G'"):
        count_files(tmp_path / "a.txt", memory_cap="1G")


def test_a_run_without_a_place_to_cut_is_refused_by_byte(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "LONGEST_RUN", 1_000_000)
    start = b"some words and\n"
    (tmp_path / "a.txt").write_bytes(start + b"x" * (3 << 20))
    assert "a.txt: byte 15: 1 MB follow without a space" in said("count", tmp_path / "a.txt", "-o", tmp_path / "c")
    (tmp_path / "a.txt").write_bytes(start + b"x" * (1 << 19) + b" end")
    assert count_files(tmp_path / "a.txt").total == 6


RUN = 5_000
LONG = "ab " * RUN + "x" * 2 * RUN  # 15,000 bytes that can be cut, then a run twice as long as is allowed


def _long_ways(home):
    """Each way to give a long run to counting and to encoding, and what the error begins with."""
    records = [{"text": "ab", "lang": "xx"}, {"text": LONG, "lang": "yy"}]
    texts = pa.table({name: [record[name] for record in records] for name in ("text", "lang")})
    (home / "a.txt").write_text("on\n" + LONG + "\n")
    (home / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (home / "a.csv").write_text("text,lang\nab,xx\n" + LONG + ",yy\n")
    pq.write_table(texts, home / "a.parquet")
    backend, out = build_backend(base_vocab((), "abxon "), []), home / "ids"

    def encode(source, **options):
        return lambda: encode_corpus(backend, source, out, separator=None, **options)

    here = home / "a"
    return [
        *((lambda name=name: count_files(f"{here}{name}"), f"{here}{name}, document 2: byte 14999: ")
          for name in (".jsonl", ".csv", ".parquet")),
        (lambda: count_files(home / "a.txt"), f"{here}.txt: byte 15002: "),
        (lambda: count_files(home / "a.txt", pattern="[ab]+|."), f"{here}.txt: byte 15002: "),
        (lambda: count_documents(["ab", LONG]), "iterator, document 2: byte 14999: "),
        (lambda: count_documents(texts), "iterator, document 2: byte 14999: "),
        (lambda: count_documents(datasets.Dataset.from_list(records)), "iterator, document 2: byte 14999: "),
        (lambda: count_source(texts, group_column="lang"), "a text of group 'yy': byte 14999: "),
        (lambda: list(partial_counts(texts.to_batches(), Counting("text"))), "column 'text': byte 14999: "),
        (encode(home / "a.txt"), f"{here}.txt: byte 15002: "),
        (encode(home / "a.txt", document="file"), f"{here}.txt: byte 15002: "),
        (encode(home / "a.jsonl"), f"{here}.jsonl, document 2: byte 14999: "),
        (encode(["ab", LONG]), "iterator, document 2: byte 14999: "),
    ]  # fmt: skip


def test_a_run_without_a_place_to_cut_is_refused_in_every_source(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "LONGEST_RUN", RUN)
    for use, where in _long_ways(tmp_path):
        with pytest.raises(MwSError) as refused:
            use()
        assert str(refused.value).startswith(where) and "follow without a space" in str(refused.value)
    (tmp_path / "mine").mkdir()
    build_backend(base_vocab((), "abxon "), []).save(str(tmp_path / "mine" / "tokenizer.json"))
    message = said("encode", tmp_path / "mine", tmp_path / "a.txt", "-o", tmp_path / "ids", "--separator", "none")
    assert message.startswith(f"{tmp_path}/a.txt: byte 15002: ")


def test_a_long_document_with_places_to_cut_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "LONGEST_RUN", RUN)
    text = ("ab " * 1000 + "x" * (RUN - 10)) * 4
    (tmp_path / "a.txt").write_text(text)
    assert count_documents([text]).total == count_files(tmp_path / "a.txt").total == 4001
