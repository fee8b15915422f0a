"""A comparison on a toy language: tables, the picture, systems that are not trained again, the command.

Modules: commands/compare.py, compare/picture.py, compare/results.py, compare/run.py, compare/systems.py.
"""

import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest
from lab.cells import rows_of

import mws_hf
from mws_hf.compare import DEFAULT_SYSTEMS, compare, feed, parse_systems
from mws_hf.compare.baselines import BASELINE_SYSTEMS
from mws_hf.compare.results import summary
from mws_hf.compare.run import TrainedSystems
from mws_hf.compare.systems import MWS_SYSTEMS, default_systems, plan
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.segmentations import read_gold
from mws_hf.errors import MwSError
from mws_hf.scoring import evaluate, score, segment_words
from tests.in_process import mws
from tests.processes import python
from tests.small_corpus import morphs, running_text, small_counts

SYSTEMS = (
    "mws,mws-morphs,mws-classic,bpe-character:types,bpe-byte:text,wordpiece:types,unigram:types,characters,words:text"
)
SIZES = [360, 420]


def test_systems():
    with pytest.raises(MwSError, match="choose from mws"):
        parse_systems(["bpee"])
    with pytest.raises(MwSError, match="types"):
        parse_systems(["bpe:words"])


def test_defaults_cover_every_criterion_of_both_sides():
    names = {spec.name for spec in parse_systems(DEFAULT_SYSTEMS)}
    assert set(MWS_SYSTEMS) <= names
    variants = {"bpe-low-line", "morfessor-frequent", "morph-bpe", "sentencepiece-unigram-identity"}
    assert set(BASELINE_SYSTEMS) - names == variants


def test_missing_libraries_leave_the_defaults_with_a_warning(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "morfessor", None)
    assert "morfessor" not in {spec.name for spec in default_systems(100)}
    assert "morfessor" in caplog.text and "pip install" in caplog.text
    assert {spec.installed for spec in parse_systems(["morfessor,morfessor-frequent,morph-bpe"])} == {False}


def test_morfessor_is_named_if_there_are_many_words(caplog):
    assert "morfessor" not in {spec.name for spec in default_systems(30_001)}
    assert "morfessor is left out" in caplog.text and "30,000" in caplog.text


def test_plan_trains_unsized_systems_once():
    titles = [spec.title for spec in plan(parse_systems(["mws,morfessor"]), [500, 600])]
    assert titles == ["mws-500", "mws-600", "morfessor.types"]


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
    found = [(row["system"], row["vocab_size"]) for row in comparison.rows]
    wanted = [(s, n) for s in SYSTEMS.split(",") if s != "characters" for n in SIZES]
    assert set(found) == {*wanted, ("characters", None)}
    assert len(found) == len(set(found))
    for row in comparison.rows:
        assert row["f1_low"] <= row["f1"] <= row["f1_high"]
        assert ("mws_ahead_f1" not in row) == (row["system"] == "mws")


def test_scores_are_those_of_the_saved_directories(compared, gold):
    folder, comparison = compared
    words = read_gold(gold).words
    for row in comparison.rows:
        directory = folder / row["directory"]
        cuts = segment_words(directory, [entry.word for entry in words])
        assert asdict(score(words, cuts)).items() <= row.items(), row["system"]


def test_tables_and_plots(compared):
    folder, comparison = compared
    plain = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert len(plain["rows"]) == len(comparison.rows)
    assert plain["rows"] == comparison.rows
    assert plain["rows"][0]["text_fertility"]
    table = (folder / "results.md").read_text(encoding="utf-8")
    for text in (
        "## toy",
        "1 of 162 lines left out)",
        "| mws |",
        "| bytes/token |",
        "| characters |",
        "| vocabulary 360 |",
        "| vocabulary 420 |",
    ):
        assert text in table
    pytest.importorskip("matplotlib")
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_is_trained_if_no_line_is_left_for_n_gram_models(tmp_path):
    lines = running_text()
    with pytest.raises(MwSError, match=f"0 of the {len(lines):,} training lines are not among them"):
        compare(small_counts(), [], [300], tmp_path / "out", systems=parse_systems(["mws"]), text=lines, bits=lines)
    assert not (tmp_path / "out").exists()


def test_a_difference_in_a_table_is_that_of_its_own_figures(compared):
    """This includes systems without a size, which are compared with MwS of one size but are listed at every size."""
    folder, _ = compared
    tables = re.findall(
        r"(?m)^\| vocabulary \d+ \|.*\n\|[-:|]+\n((?:\|.*\n?)+)", (folder / "results.md").read_text("utf-8")
    )
    assert len(tables) == len(SIZES)
    shown = []
    for table in tables:
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
        (ours,) = (float(row[1]) for row in rows if row[0] == "mws")
        shown += [(row[0], float(row[6].split()[0]), ours - float(row[1])) for row in rows if row[6]]
    assert all(told == pytest.approx(difference, abs=0.0011) for _, told, difference in shown), shown
    assert [system for system, *_ in shown].count("characters") == 1


def written(folder):
    """Return the time at which each file of the tokenizers was written."""
    return {path: path.stat().st_mtime_ns for path in (folder / "tokenizers").rglob("*") if path.is_file()}


def test_second_run_trains_nothing_and_agrees(compared, gold):
    folder, first = compared
    before = written(folder)
    options = {"systems": parse_systems([SYSTEMS]), "text": running_text(), "resamples": 50, "picture": False}
    assert compare(small_counts(), [gold], SIZES, folder, **options) == first
    assert written(folder) == before
    assert len(before) > len(first.tokenizers)


KILLED = """
import sys
from mws_hf.compare import compare, parse_systems
from tests.small_corpus import small_counts
systems = parse_systems(["bpe-character:types"])
compare(small_counts(), [sys.argv[1]], range(300, 360), sys.argv[2], systems=systems, picture=False)
"""


def test_killed_run_resumes(gold, tmp_path):
    root = Path(mws_hf.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(gold), str(tmp_path)], env=environment, cwd=root)
    try:
        while child.poll() is None and not list(tmp_path.glob("tokenizers/*/comparison.json")):
            time.sleep(0.002)
    finally:
        child.kill()
        child.wait()
    before = {path: when for path, when in written(tmp_path).items() if path.name == "comparison.json"}
    assert 0 < len(before) < 60
    options = {"systems": parse_systems(["bpe-character:types"]), "picture": False, "resamples": 10}
    resumed = compare(small_counts(), [gold], range(300, 360), tmp_path / ".", **options)
    assert {path: written(tmp_path)[path] for path in before} == before
    whole = compare(small_counts(), [gold], range(300, 360), tmp_path / "whole", **options)
    assert [row["f1"] for row in resumed.rows] == [row["f1"] for row in whole.rows]


def test_other_words_special_tokens_and_versions_are_trained_again(tmp_path, monkeypatch):
    (spec,) = plan(parse_systems(["bpe-character:types"]), [300])

    def trained(counts, special_tokens=("<s>",)):
        systems = TrainedSystems(counts, tmp_path, special_tokens)
        systems.train(spec)
        return (tmp_path / "tokenizers" / spec.title / "comparison.json").stat().st_mtime_ns

    first = trained(small_counts())
    assert trained(small_counts()) == first
    times = [first, trained(small_counts().as_types()), trained(small_counts()), trained(small_counts(), ())]
    monkeypatch.setattr("mws_hf.__version__", "99")
    times.append(trained(small_counts(), ()))
    assert times == sorted(set(times))


@pytest.mark.parametrize("damage", ["[]", "{", "without a size"])
def test_a_system_with_a_damaged_record_is_trained_again(tmp_path, damage):
    (spec,) = plan(parse_systems(["bpe-character:types"]), [300])
    systems = TrainedSystems(small_counts(), tmp_path, ())
    first = systems.train(spec)
    file = tmp_path / "tokenizers" / spec.title / "comparison.json"
    left = {name: value for name, value in first.items() if name != "n_tokens"}
    file.write_text(json.dumps(left) if damage == "without a size" else damage, encoding="utf-8")
    assert systems.train(spec)["n_tokens"] == first["n_tokens"]
    assert json.loads(file.read_text(encoding="utf-8")).keys() == first.keys()


def test_systems_with_unknown_tokens_are_last_and_marked(tmp_path):
    options = {"systems": parse_systems(["words,bpe"]), "picture": False}
    found = compare(small_counts(), [], [300], tmp_path, text=["qqq zzz", "чита"], **options)
    rows = summary(found)[1:]
    assert [row[0].partition(":")[0] for row in rows] == ["bpe-byte", "words"]
    assert [row[1].endswith("(loses text)") for row in rows] == [False, True]


def test_a_baseline_that_rejects_a_size_is_left_out(gold, tmp_path, caplog):
    pytest.importorskip("sentencepiece")
    systems = parse_systems(["bpe-character:types,sentencepiece-bpe:types"])
    comparison = compare(small_counts(), [gold], [270, 420], tmp_path, systems=systems, picture=False, resamples=10)
    assert [(t["system"], t["vocab_size"]) for t in comparison.tokenizers] == [
        ("bpe-character:types", 270), ("bpe-character:types", 420), ("sentencepiece-bpe:types", 420)
    ]  # fmt: skip
    assert "sentencepiece-bpe.types-270 is left out" in caplog.text


def test_user_errors(gold, tmp_path, monkeypatch):
    with pytest.raises(MwSError, match="nothing to compare"):
        compare(small_counts(), [gold], [], tmp_path)
    for wrong, message in (
        ({"sizes": 300}, "sizes=300 is not a list of vocabulary sizes"),
        ({"systems": ["characters"]}, "systems: 'characters' is not a SystemSpec; give parse_systems"),
        ({"special_tokens": "ab"}, "special_tokens='ab' is not a list"),
        ({"output": gold}, "toy.tsv: is a file; give a folder to write"),
    ):
        with pytest.raises(MwSError, match=message):
            given = {"sizes": [300], "output": tmp_path, "systems": parse_systems(["characters"]), **wrong}
            compare({" кот": 3}, [], given.pop("sizes"), given.pop("output"), text=["кот"], **given)
    with pytest.raises(MwSError, match="names: the str 'mws,bpe' is not a list"):
        parse_systems("mws,bpe")
    with pytest.raises(MwSError, match="there are no systems to compare"):
        compare(small_counts(), [gold], [300], tmp_path, systems=parse_systems([","]))
    with pytest.raises(MwSError, match="have the same name"):
        compare(small_counts(), [gold, gold], [300], tmp_path)
    monkeypatch.setitem(sys.modules, "morfessor", None)
    with pytest.raises(MwSError, match="morfessor:types needs morfessor, which is not installed: pip"):
        compare(small_counts(), [gold], [300], tmp_path, systems=parse_systems(["morfessor"]))


def test_without_matplotlib_there_is_no_picture_but_a_warning(gold, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    (tmp_path / "text.txt").write_text("\n".join(running_text()), encoding="utf-8")
    out = tmp_path / "out"
    given = ["compare", tmp_path / "text.txt", "--gold", gold, "--text", tmp_path / "text.txt", "-o", out, "--json"]
    done = mws(*given, "--vocab-size", "330,350", "--systems", "bpe-character:types,characters")
    assert json.loads(done.stdout) == {"output": str(out), "tokenizers": 3, "rows": 3}
    assert done.returncode == 0 and "pip install matplotlib" in done.stderr and (out / "results.md").is_file()
    assert not (out / "picture.png").exists()


def test_without_gold_it_compares_length_and_bits(tmp_path):
    text, held_out = tmp_path / "text.txt", tmp_path / "held_out.txt"
    text.write_text("\n".join(running_text() * 3), encoding="utf-8")
    held_out.write_text("\n".join(" ".join(reversed(line.split())) for line in running_text()), encoding="utf-8")
    options = ["--systems", "bpe-character:text,mws", "-o", str(tmp_path / "out")]
    options += ["--text", str(held_out), "--bits", str(text)]
    result = mws("compare", text, "--vocab-size", "0.35k,370", *options)
    assert result.returncode == 0, result.stderr
    header, *rows = [line.split() for line in result.stdout.split("\n\n")[0].splitlines()]
    assert header == ["vocabulary", "370", "tokens/word", "bytes/token", "n-gram", "bits/byte"]
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
    assert "n-gram bits/byte" in table and "## Held-out" in table
    nothing = mws("compare", text, "--vocab-size", "370", "-o", tmp_path / "out")
    assert "nothing to compare by" in nothing.stderr


def test_a_damaged_tokenizer_is_named(gold, tmp_path):
    options = {"systems": parse_systems(["mws"]), "picture": False, "resamples": 10}
    compare(small_counts(), [gold], [420], tmp_path, **options)
    (tmp_path / "tokenizers/mws-420/tokenizer.json").write_bytes(b'{"version": "1.0"')
    with pytest.raises(MwSError, match="mws-420"):
        compare(small_counts(), [gold], [420], tmp_path, **options)


def test_counts_that_are_too_large_to_repeat_words_are_divided_with_a_warning(gold, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(feed, "_MAX_RUNNING_WORDS", 100_000)
    pytest.importorskip("sentencepiece")
    counts = WordCounts.from_mapping(
        {word: 100_000_000 + 50_000_000 * (number % 2) for number, word in enumerate(small_counts().words[:9])},
        pattern=small_counts().pattern,
    )
    systems = parse_systems(["bpe-byte,bpe-end-of-word:text,wordpiece,unigram,sentencepiece-unigram"])
    started = time.perf_counter()
    found = compare(counts, [gold], [300], tmp_path, systems=systems, picture=False, resamples=10)
    # if each word was repeated as often as its count, training would take hours
    assert time.perf_counter() - started < 300
    assert len(found.tokenizers) == 5
    assert 1 <= caplog.text.count("all counts divided by") <= 2  # the warning is logged once per list of words


def test_a_picture_is_drawn_whatever_the_notebook_set(compared, tmp_path):
    pytest.importorskip("matplotlib")
    code = "from mws_hf.compare.picture import figure_of, save; from pathlib import Path; import sys, os\n"
    code += "rows = [{'system': 'mws', 'vocab_size': 300, 'tokens_per_word': 2.0, 'f1': 0.5}]\n"
    code += "save(figure_of({'toy': rows}), Path(sys.argv[1])); print(os.environ['MPLBACKEND'])"
    backend = "module://matplotlib_inline.no_such_backend"
    file = tmp_path / "picture.png"
    done = python(code, file, adding={"MPLBACKEND": backend})
    assert done.stdout.strip() == backend, done.stderr
    assert file.read_bytes().startswith(b"\x89PNG")


def test_progress_is_a_line_a_system_off_a_terminal_too(gold, tmp_path, capsys):
    options = {"systems": parse_systems(["bpe-byte,characters"]), "picture": False, "resamples": 10}
    compare(small_counts(), [gold], [300], tmp_path, show_progress=True, **options)
    assert capsys.readouterr().err.splitlines() == [
        "tokenizer 1 of 2: bpe-byte.text-300",
        "tokenizer 2 of 2: characters",
    ]


def test_without_bits_there_is_no_column_of_bits_even_if_a_system_loses_text(tmp_path):
    options = {"systems": parse_systems(["words,bpe"]), "text": [*running_text(), "unseenword"], "picture": False}
    found = compare(small_counts(), [], [300], tmp_path, **options)
    table = (tmp_path / "results.md").read_text(encoding="utf-8").partition("## Held-out")[2]
    assert "(loses text)" in table and "bits" not in table + str(summary(found)[0])


@pytest.mark.parametrize("text", [[], ["", ""], Path("empty.txt")])
def test_an_empty_text_is_an_error_before_any_training(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("empty.txt").write_bytes(b"")
    with pytest.raises(MwSError, match="the held-out text is empty"):
        compare(small_counts(), [], [300], "out", systems=parse_systems(["bpe"]), text=text)
    assert not Path("out").exists()


def test_bits_of_a_system_that_loses_text_are_marked_in_every_form(tmp_path):
    pytest.importorskip("sentencepiece")
    lines = running_text()
    text, train = [*lines[::2], "Ａ ﬁ  x"], [" ".join(reversed(line.split())) for line in lines]
    options = {"systems": parse_systems(["sentencepiece-unigram,bpe"]), "text": text, "bits": train, "picture": False}
    found = compare(small_counts(), [], [420], tmp_path, **options)
    lossy, kept = "sentencepiece-unigram:text", "bpe-byte:text"
    cells = {row[0].partition(" (")[0]: row[-1] for row in summary(found)}
    assert cells[lossy].endswith("(loses text)") and cells[kept].replace(".", "").isdigit()
    assert summary(found)[-1][0].startswith(lossy)
    table = (tmp_path / "results.md").read_text(encoding="utf-8").partition("## Held-out")[2]
    rows = {line.split(" | ")[0][2:]: line.split(" | ") for line in table.splitlines() if line.startswith("| ")}
    assert cells[lossy] in rows[lossy] and cells[kept] in rows[kept]
    saved = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["tokenizers"]
    assert {each["system"]: each["bits_comparable"] for each in saved} == {lossy: False, kept: True}


def test_a_vocabulary_of_another_size_than_asked_for_is_labeled(tmp_path):
    """The 256 bytes exceed the size 100, and the text has fewer than 400 words."""
    systems = parse_systems(["bpe-byte,bpe-character,bpe-end-of-word,words"])
    options = {"systems": systems, "text": running_text(), "special_tokens": []}
    few = {row[0] for row in summary(compare(small_counts(), [], [100], tmp_path, **options))[1:]}
    assert {"bpe-byte:text (256 tokens)", "bpe-end-of-word:text", "words:text"} < few
    found = compare(small_counts(), [], [100, 400], tmp_path, **options)
    sizes = {each["system"]: each["n_tokens"] for each in found.tokenizers if each["vocab_size"] == 400}
    assert sizes["bpe-byte:text"] == 400 > sizes["words:text"]
    assert {"bpe-byte:text", f"words:text ({sizes['words:text']} tokens)"} < {row[0] for row in summary(found)}


def test_a_picture_of_an_earlier_run_does_not_stay(gold, tmp_path):
    pytest.importorskip("matplotlib")
    given = ["compare", tmp_path / "text.txt", "--systems", "characters", "--vocab-size", "300", "-o", tmp_path / "out"]
    (tmp_path / "text.txt").write_text("\n".join(running_text()), encoding="utf-8")
    assert mws(*given, "--gold", gold).returncode == 0 and (tmp_path / "out/picture.png").is_file()
    assert mws(*given, "--text", tmp_path / "text.txt", "--force").returncode == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["results.json", "results.md", "tokenizers"]


def test_every_command_that_scores_on_gold_reports_omitted_lines(tmp_path):
    gold, text, out = tmp_path / "part.csv", tmp_path / "text.txt", tmp_path / "out"
    gold.write_text("full_word,pt1,rest\nwalking,walk,ing\nwalked,walk,ed\nbad,b,d\n", encoding="utf-8")
    text.write_text("\n".join(running_text()), encoding="utf-8")
    done = mws("compare", text, "--gold", gold, "--systems", "characters", "--vocab-size", "300", "-o", out)
    lacks = "1 of 3 lines left out; only one or two boundaries per word are marked"
    assert done.returncode == 0 and f"part: {lacks}" in done.stderr
    page = (out / "results.md").read_text(encoding="utf-8")
    assert f"## part (2 words; {lacks}" in page and "p (Wilcoxon) compares ten overlapping samples" in page
    evaluated = mws("evaluate", out / "tokenizers/characters", "--gold", gold)
    page = tmp_path / "page.html"
    reported = mws("report", out / "tokenizers/characters", "--gold", gold, "-o", page)
    for command in (done, evaluated, reported):
        assert command.returncode == 0 and command.stderr.count("1 of 3 lines left out") == 1
        assert f"left out: {gold}:4: the morphs 'b d' do not spell 'bad'" in command.stderr
    assert lacks in evaluated.stdout
    assert lacks in page.read_text(encoding="utf-8")


def test_the_help_names_every_system():
    said = set(re.findall(r"[\w-]+", mws("compare", "--help").stdout))
    assert {*BASELINE_SYSTEMS, *MWS_SYSTEMS, "bpe"} <= said
    assert [spec.label for spec in parse_systems(["bpe", "unigram", "morfessor", "mws"])] == [
        "bpe-byte:text", "unigram:text", "morfessor:types", "mws"
    ]  # fmt: skip


PICTURES = [("rus", "rus.tikhonov"), ("fin", "fin.morphochallenge2010"), ("tur", "tur.morphochallenge2010")]


def rows_on(language, gold):
    return [row for row in rows_of("quality") if (row["language"], row["gold"]) == (language, gold)]


@pytest.fixture
def picture():
    """The module that draws pictures."""
    pytest.importorskip("matplotlib")
    return importlib.import_module("mws_hf.compare.picture")


@pytest.mark.parametrize(("language", "gold"), PICTURES)
@pytest.mark.parametrize("length", ["text_fertility", "tokens_per_word"])
def test_every_system_is_named_once_beside_its_point_in_the_color_of_its_line(
    picture, language, gold, length, tmp_path
):
    rows = [
        {n: v for n, v in row.items() if length == "text_fertility" or n != "text_fertility"}
        for row in rows_on(language, gold)
    ]
    figure = picture.figure_of({"gold": rows})
    picture.save(figure, tmp_path / "picture.png")
    (axes,) = figure.axes
    names = axes.texts
    assert sorted(text.get_text() for text in names) == sorted({row["system"] for row in rows if row.get(length)})
    absent = sorted({row["system"] for row in rows if not row.get(length)} - {"characters", "words"})
    said = "not drawn, because they do not encode text: " + ", ".join(absent)
    assert (said in axes.get_title(loc="left")) is bool(absent)
    assert {text.get_color() for text in names} == {line.get_color() for line in axes.lines}
    # the extent of the text, without the line to its point
    extent = importlib.import_module("matplotlib.text").Text.get_window_extent
    boxes = sorted((extent(text, figure.canvas.get_renderer()) for text in names), key=lambda box: box.y0)
    for below, above in zip(boxes, boxes[1:], strict=False):
        assert above.y0 >= below.y1 - 3 and figure.bbox.y0 <= below.y0 and above.y1 <= figure.bbox.y1


@pytest.mark.parametrize("name", [r"$\zz{$", "a <b> *c* $x$"])
def test_the_name_of_a_gold_file_is_text_in_tables_and_in_the_picture(picture, name, gold, tmp_path):
    named = Path(shutil.copy(gold, tmp_path / f"{name}.tsv"))
    systems = parse_systems(["characters,bpe"])
    found = compare(small_counts(), [named], [300], tmp_path / "out", systems=systems, resamples=10)
    (axes,) = picture.figure_of({name: found.rows_of(name)}).axes
    assert axes.get_title(loc="left").startswith(name) and (tmp_path / "out" / "picture.png").is_file()
    heading = next(line for line in (tmp_path / "out/results.md").read_text("utf-8").splitlines() if line[:3] == "## ")
    assert re.sub(r"\\([^a-z\s])", r"\1", heading).startswith(f"## {name} (")
    assert not re.search(r"(?<!\\)[<*]", heading), "nothing is markup"


def test_sizes_of_a_system_are_joined_by_a_line(picture):
    rows = rows_on(*PICTURES[1])
    lines = [line for line in picture.figure_of({"gold": rows}).axes[0].lines if len(line.get_xdata()) > 1]
    wanted = {
        tuple(sorted((row["text_fertility"], row["f1"]) for row in rows if row["system"] == system))
        for system in {row["system"] for row in rows if row.get("text_fertility")}
    }
    assert {tuple(sorted(map(tuple, line.get_xydata().tolist()))) for line in lines} == {
        w for w in wanted if len(w) > 1
    }


def test_the_same_results_give_the_same_bytes(picture, tmp_path):
    panels = {gold: rows_on(language, gold) for language, gold in PICTURES}
    first, second = (
        picture.save(picture.figure_of(panels), tmp_path / name).read_bytes() for name in ("a.png", "b.png")
    )
    assert first == second
