"""The whole comparison on a toy language: tables, plots, the cache, the command line."""

import ast
import csv
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import mws_hf
from mws_hf.corpus.segmentations import read_gold
from mws_hf.errors import MwSError
from mws_hf.evaluate import evaluate, score, segment_words
from mws_hf.research.baselines import BASELINES
from mws_hf.research.compare import compare, parse_systems
from mws_hf.research.compare.cache import ResultCache, counts_digest, text_record
from mws_hf.research.compare.plan import MWS_SYSTEMS, Job
from mws_hf.research.compare.results import summary
from mws_hf.trainer import MwSTrainer
from tests.examples import FULL
from tests.small_corpus import morphs, running_text, small_counts

SYSTEMS = (
    "mws,mws-morphs,mws-classic,bpe-character:types,bpe-byte:text,wordpiece:types,unigram:types,characters,words:text"
)
SIZES = [360, 420]


@pytest.fixture(scope="module")
def gold(tmp_path_factory):
    file = tmp_path_factory.mktemp("gold") / "toy.tsv"
    lines = ["".join(parts) + "\t" + " ".join(parts) for parts in morphs() if len(parts) > 1]
    file.write_text("\n".join([*lines, "bad\tb d"]) + "\n", encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def compared(gold, tmp_path_factory):
    folder = tmp_path_factory.mktemp("out")
    systems = parse_systems([SYSTEMS])
    return folder, compare(small_counts(), [gold], SIZES, folder, systems=systems, text=running_text(), resamples=50)


def test_every_system_at_every_size(compared):
    _, comparison = compared
    found = [(row.tokenizer.system, row.tokenizer.vocab_size) for row in comparison.rows]
    wanted = [(s, n) for s in SYSTEMS.split(",") if s != "characters" for n in SIZES]
    assert set(found) == {*wanted, ("characters", None)}
    assert len(found) == len(set(found))
    for row in comparison.rows:
        assert row.low <= row.scores.f1 <= row.high
        assert (row.mws_ahead is None) == (row.tokenizer.system == "mws")


def test_scores_are_those_of_the_saved_directories(compared, gold):
    folder, comparison = compared
    words = read_gold(gold).words
    for row in comparison.rows:
        directory = folder / row.tokenizer.directory
        cuts = segment_words(directory, [entry.word for entry in words])
        assert score(words, cuts) == row.scores, row.tokenizer.system


def test_a_tokenizer_trained_beside_others_is_the_one_trained_alone(gold, tmp_path):
    systems, sizes = parse_systems(["mws,mws-morphs,mws:text"]), [330, 360, 420, 600]
    comparison = compare(small_counts(), [gold], sizes, tmp_path, systems=systems, plots=False, resamples=10)
    for found in comparison.tokenizers:
        name, _, words = found.system.partition(":")
        trainer = MwSTrainer(
            **MWS_SYSTEMS[name], vocab_size=found.vocab_size, types=words != "text", show_progress=False
        )
        trainer.train_from_counts(small_counts()).save_pretrained(tmp_path / "alone")
        for file in ("tokenizer.json", "tokenizer_config.json"):
            alone = (tmp_path / "alone" / file).read_bytes()
            assert (tmp_path / found.directory / file).read_bytes() == alone, (found.system, found.vocab_size)


def test_tables_and_plots(compared):
    folder, comparison = compared
    plain = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert len(plain["rows"]) == len(comparison.rows)
    rows = list(csv.DictReader((folder / "results.csv").open(encoding="utf-8")))
    assert [float(row["f1"]) for row in rows] == [row.scores.f1 for row in comparison.rows]
    assert rows[0]["text_fertility"]
    table = (folder / "results.md").read_text(encoding="utf-8")
    for text in (
        "## toy",
        "1 of 162 lines left out)",
        "| mws |",
        "Bytes per token",
        "| gold |",
        "characters (",
        "360",
        "420",
    ):
        assert text in table
    pytest.importorskip("matplotlib")
    for name in ("f1-by-size.toy.png", "f1-by-fertility.toy.png", "examples.toy.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")


def written(folder):
    """When each file of the cache was written."""
    return {path: path.stat().st_mtime_ns for path in (folder / "cache").rglob("*") if path.is_file()}


def test_second_run_trains_nothing_and_agrees(compared, gold):
    folder, first = compared
    before = written(folder)
    options = {"systems": parse_systems([SYSTEMS]), "text": running_text(), "resamples": 50, "plots": False}
    assert compare(small_counts(), [gold], SIZES, folder, **options) == first
    assert written(folder) == before
    assert len(before) > len(first.tokenizers)


KILLED = """
import sys
from mws_hf.research.baselines import BASELINES
from mws_hf.research.compare import compare, parse_systems
from tests.small_corpus import small_counts
systems = parse_systems(["bpe-character:types"])
compare(small_counts(), [sys.argv[1]], range(300, 360), sys.argv[2], systems=systems, plots=False)
"""


def test_killed_run_resumes(gold, tmp_path):
    root = Path(mws_hf.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(gold), str(tmp_path)], env=environment, cwd=root)
    try:
        while child.poll() is None and not list(tmp_path.glob("cache/*.training.json")):
            time.sleep(0.002)
    finally:
        child.kill()
        child.wait()
    before = {path: when for path, when in written(tmp_path).items() if path.name.endswith(".training.json")}
    assert 0 < len(before) < 60
    options = {"systems": parse_systems(["bpe-character:types"]), "plots": False, "resamples": 10}
    resumed = compare(small_counts(), [gold], range(300, 360), tmp_path / ".", **options)
    assert {path: written(tmp_path)[path] for path in before} == before
    whole = compare(small_counts(), [gold], range(300, 360), tmp_path / "whole", **options)
    assert [row.scores for row in resumed.rows] == [row.scores for row in whole.rows]


def test_cache_depends_on_words_and_settings(tmp_path):
    counts = small_counts()
    spec = parse_systems(["bpe-character:types"])[0]
    one = ResultCache(tmp_path, counts_digest(counts), ("<s>",))
    others = [
        (ResultCache(tmp_path, counts_digest(counts.as_types()), ("<s>",)), Job(spec, 300)),
        (ResultCache(tmp_path, counts_digest(counts), ()), Job(spec, 300)),
        (one, Job(spec, 301)),
        (one, Job(parse_systems(["bpe-character:text"])[0], 300)),
    ]
    paths = [cache.directory(job) for cache, job in others] + [one.directory(Job(spec, 300))]
    assert len(set(paths)) == len(paths)
    assert counts_digest(small_counts()) == counts_digest(counts)


def test_a_rival_that_refuses_a_size_is_left_out(gold, tmp_path, caplog):
    pytest.importorskip("sentencepiece")
    systems = parse_systems(["bpe-character:types,sentencepiece-bpe:types"])
    comparison = compare(small_counts(), [gold], [270, 420], tmp_path, systems=systems, plots=False, resamples=10)
    assert [(t.system, t.vocab_size) for t in comparison.tokenizers] == [
        ("bpe-character:types", 270), ("bpe-character:types", 420), ("sentencepiece-bpe:types", 420)
    ]  # fmt: skip
    assert "sentencepiece-bpe.types-270 is left out" in caplog.text


def test_user_errors(gold, tmp_path, monkeypatch):
    with pytest.raises(MwSError, match="nothing to compare"):
        compare(small_counts(), [gold], [], tmp_path)
    with pytest.raises(MwSError, match="share a name"):
        compare(small_counts(), [gold, gold], [300], tmp_path)
    real = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "morfessor" else real(name))
    with pytest.raises(MwSError, match="pip install"):
        compare(small_counts(), [gold], [300], tmp_path, systems=parse_systems(["morfessor"]))


def test_command(gold, tmp_path):
    import typer
    from typer.testing import CliRunner

    from mws_hf.commands.compare import compare_command as command

    text = tmp_path / "text.txt"
    text.write_text("\n".join(running_text() * 3), encoding="utf-8")
    app = typer.Typer()
    app.command()(command)
    out = str(tmp_path / "out")
    arguments = [
        str(text),
        "--gold",
        str(gold),
        "--vocab-size",
        "330",
        "350",
        "--systems",
        "bpe-character:types,characters",
        "-o",
        out,
    ]
    result = CliRunner().invoke(app, [*arguments, "--text", str(text), "--no-plots", "--quiet", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"output": out, "tokenizers": 3, "rows": 3}


def test_without_gold_it_compares_length_and_bits(tmp_path):
    from typer.testing import CliRunner

    from mws_hf.commands.app import app

    text, held_out = tmp_path / "text.txt", tmp_path / "held_out.txt"
    text.write_text("\n".join(running_text() * 3), encoding="utf-8")
    held_out.write_text("\n".join(" ".join(reversed(line.split())) for line in running_text()), encoding="utf-8")
    options = ["--systems", "bpe-character:text,mws", "-o", str(tmp_path / "out"), "--quiet"]
    options += ["--text", str(held_out), "--bits", str(text)]
    result = CliRunner().invoke(app, ["compare", str(text), "--vocab-size", "0.35k,370", *options])
    assert result.exit_code == 0, result.exception
    header, *rows = [line.split() for line in result.stdout.split("\n\n")[0].splitlines()]
    assert header == ["370", "entries", "tokens/word", "bytes/token", "n-gram", "bits/byte"]
    saved = json.loads((tmp_path / "out/results.json").read_text(encoding="utf-8"))
    found = {each["system"]: each["text"] for each in saved["tokenizers"] if each["vocab_size"] == 370}
    assert {row[0] for row in rows} == set(found) == {"bpe-character:text", "mws"}
    for system, *figures in rows:
        measured = [found[system][name] for name in ("fertility", "bytes_per_token", "bits_per_byte")]
        assert figures == [f"{measured[0]:.3f}", f"{measured[1]:.3f}", f"{measured[2]:.4f}"]
    best = rows[0][0]
    assert found[best]["bits_per_byte"] == min(each["bits_per_byte"] for each in found.values())
    folders = {each["system"]: each["directory"] for each in saved["tokenizers"] if each["vocab_size"] == 370}
    for system, scores in found.items():
        folder = tmp_path / "out" / folders[system]
        lines = held_out.read_text(encoding="utf-8").splitlines()
        report = evaluate({"it": str(folder)}, text=lines, bits=text.read_text(encoding="utf-8").splitlines())
        assert report.bits["it"].value == scores["bits_per_byte"] and scores["restored_lines"] == 1
    table = (tmp_path / "out/results.md").read_text(encoding="utf-8")
    assert "n-gram bits per byte" in table and "## Held-out" in table
    assert "text_bits_per_byte" in (tmp_path / "out/results.csv").read_text(encoding="utf-8")
    nothing = CliRunner().invoke(app, ["compare", str(text), "--vocab-size", "370", "-o", str(tmp_path / "out")])
    assert "nothing to compare by" in str(nothing.exception)


def one_run(gold, folder):
    options = {"systems": parse_systems(["bpe-character:types,morfessor,mws"]), "text": running_text(), "plots": False}
    return compare(small_counts(), [gold], [360], folder, **options, resamples=10)


def untimed(comparison):
    return [replace(tokenizer, seconds=0.0) for tokenizer in comparison.tokenizers]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("*.training.json", b""),
        ("*.training.json", b"{}"),
        ("*.training.json", b"[" * 100_000),
        ("*.training.json", b'{"seconds": 1.0, "n_tokens": 3}'),
        ("*.text-*.json", b'{"fertility": 1.0}'),
        ("*.text-*.json", b"\xff\xfe"),
        ("*/tokenizer.json", b'{"version": "1.0"'),
        ("*/tokenizer_config.json", b"null"),
        ("*/segmentations.tsv", b"x"),
        ("*/baseline.json", b""),
    ],
)
def test_damaged_entries_are_made_again_and_said_once(gold, tmp_path, caplog, name, content):
    pytest.importorskip("morfessor")
    first = one_run(gold, tmp_path)
    damaged = sorted((tmp_path / "cache").glob(name))
    for file in damaged:
        file.write_bytes(content)
    with caplog.at_level("WARNING", logger="mws_hf.research.compare.cache"):
        again = one_run(gold, tmp_path)
    assert untimed(again) == untimed(first)
    assert len(damaged) > 0
    said = [record.message for record in caplog.records if record.name == "mws_hf.research.compare.cache"]
    assert [message.count("is damaged") for message in said] == [1] * len(damaged)
    caplog.clear()
    one_run(gold, tmp_path)
    assert not [record for record in caplog.records if record.name == "mws_hf.research.compare.cache"]


KEYS = """
from pathlib import Path
from mws_hf.research.compare.cache import ResultCache, text_record
from mws_hf.research.compare.plan import Job, parse_systems
cache = ResultCache(Path("c"), "", ())
print([cache.directory(Job(spec, 300)).name for spec in parse_systems(["mws,bpe"])] + [text_record(["a"])])
"""


def test_the_key_holds_the_code_of_training_and_of_evaluation(tmp_path):
    shutil.copytree(Path(mws_hf.__file__).parent, tmp_path / "mws_hf", ignore=shutil.ignore_patterns("__pycache__"))

    def keys():
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        return ast.literal_eval(
            subprocess.check_output([sys.executable, "-c", KEYS], env=environment, cwd=tmp_path, text=True)
        )

    found = [keys()]
    for file in ("evaluate/running_text.py", "learn/vocabulary.py", "research/baselines/bpe.py"):
        with (tmp_path / "mws_hf" / file).open("a") as stream:
            stream.write("# changed\n")
        found.append(keys())
    changed = [[a != b for a, b in zip(before, after, strict=True)] for before, after in pairwise(found)]
    assert changed == [[False, False, True], [True, False, False], [False, True, False]]


def test_the_key_holds_modules_wherever_they_move(tmp_path):
    package = tmp_path / "mws_hf"
    shutil.copytree(Path(mws_hf.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))

    def keys():
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        return ast.literal_eval(
            subprocess.check_output([sys.executable, "-c", KEYS], env=environment, cwd=tmp_path, text=True)
        )

    (package / "letters").mkdir()
    (package / "text" / "byte_alphabet.py").rename(package / "letters" / "byte_alphabet.py")
    for file in package.rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        file.write_text(source.replace("mws_hf.text.byte_alphabet", "mws_hf.letters.byte_alphabet"), encoding="utf-8")
    before = keys()
    with (package / "letters" / "byte_alphabet.py").open("a") as stream:
        stream.write("# changed\n")
    assert all(a != b for a, b in zip(before, keys(), strict=True))


@pytest.mark.parametrize("library", ["tokenizers", *(("numpy", "numba", "sentencepiece", "morfessor") if FULL else ())])
def test_the_key_holds_library_versions(library, tmp_path, monkeypatch):
    from mws_hf.research.compare.cache import program_digest

    cache = ResultCache(tmp_path, "", ())

    def keys():
        program_digest.cache_clear()
        return {cache.directory(Job(spec, 300)) for spec in parse_systems(["mws,bpe"])} | {text_record(["a"])}

    before, real = keys(), importlib.metadata.version
    monkeypatch.setattr("importlib.metadata.version", lambda name: "99" if name == library else real(name))
    after = keys()
    program_digest.cache_clear()
    assert len(before) == len(after) == 3 and not before & after


def test_another_run_into_the_folder_adds_to_the_table_if_the_words_are_the_same(gold, tmp_path):
    def systems(names, size, counts):
        options = {"systems": parse_systems([names]), "plots": False, "resamples": 10}
        found = compare(counts, [gold], [size], tmp_path, **options)
        assert found.rows == [replace(row, tokenizer=found.tokenizers[at]) for at, row in enumerate(found.rows)]
        return [(each.system, each.vocab_size) for each in found.tokenizers]

    first = systems("mws", 360, small_counts())
    assert first == [("mws", 360)]
    assert systems("bpe,characters", 360, small_counts()) == [*first, ("bpe-byte:text", 360), ("characters", None)]
    assert systems("mws", 380, small_counts())[-1] == ("mws", 380)
    table = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "| vocabulary | 360 | 380 |" in table and "bpe-byte:text" in table
    (tmp_path / "results.json").write_text('{"tokenizers": [{"system": "none", "vocab_size": 3}]}')
    assert systems("mws", 360, small_counts()) == [("mws", 360)]
    assert systems("characters", 360, small_counts().as_types()) == [("characters", None)]


def test_another_run_into_the_folder_keeps_the_gold_if_the_words_are_the_same(gold, tmp_path, caplog):
    second = tmp_path / "second.tsv"
    second.write_text("".join(gold.read_text(encoding="utf-8").splitlines(keepends=True)[:5]), encoding="utf-8")
    folder = tmp_path / "out"

    def run(names, counts, golds, **more):
        options = {"systems": parse_systems([names]), "plots": False, "resamples": 10, **more}
        found = compare(counts, golds, [360], folder, **options)
        rows = {(row.gold, row.tokenizer.system): row.scores.f1 for row in found.rows}
        assert list(rows) == [(each["name"], system) for each in found.golds for system in found.systems]
        return [each["name"] for each in found.golds], rows

    counts = small_counts()
    _, before = run("mws", counts, [gold])
    names, rows = run("characters", counts, [second])
    assert names == ["toy", "second"] and rows["toy", "mws"] == before["toy", "mws"]
    assert run("mws", counts, [gold])[0] == ["second", "toy"]  # a file given again is read once
    assert run("mws", counts, [], text=["word"])[0] == ["second", "toy"]
    second.unlink()
    assert run("mws", counts, [gold])[0] == ["toy"]
    assert "second, gold of an earlier run, is left out" in caplog.text
    other = tmp_path / "other.tsv"
    other.write_bytes(gold.read_bytes())
    assert run("characters", counts.as_types(), [other])[0] == ["other"]


def test_bits_of_a_system_that_loses_text_are_marked_in_every_form(tmp_path):
    pytest.importorskip("sentencepiece")
    lines = running_text()
    text, train = [*lines[::2], "Ａ ﬁ  x"], [" ".join(reversed(line.split())) for line in lines]
    options = {"systems": parse_systems(["sentencepiece-unigram,bpe"]), "text": text, "bits": train, "plots": False}
    found = compare(small_counts(), [], [420], tmp_path, **options)
    lossy, kept = "sentencepiece-unigram:text", "bpe-byte:text"
    cells = {row[0]: row[-1] for row in summary(found)}
    assert cells[lossy].endswith("(loses text)") and cells[kept].replace(".", "").isdigit()
    assert summary(found)[-1][0] == lossy
    table = (tmp_path / "results.md").read_text(encoding="utf-8").partition("n-gram bits")[2]
    assert f"| {lossy} | {cells[lossy]} |" in table and f"| {kept} | **{cells[kept]}** |" in table
    saved = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["tokenizers"]
    assert {each["system"]: each["bits_comparable"] for each in saved} == {lossy: False, kept: True}
    rows = list(csv.DictReader((tmp_path / "results.csv").read_text(encoding="utf-8").splitlines()))
    assert {row["system"]: row["text_bits_comparable"] for row in rows} == {lossy: "False", kept: "True"}


def test_the_help_names_every_system():
    from tests.in_process import mws

    said = set(re.findall(r"[\w-]+", mws("compare", "--help").stdout))
    assert {*BASELINES, *MWS_SYSTEMS, "bpe"} <= said
    assert [spec.label for spec in parse_systems(["bpe", "unigram", "morfessor", "mws"])] == [
        "bpe-byte:text", "unigram:text", "morfessor:types", "mws"
    ]  # fmt: skip
