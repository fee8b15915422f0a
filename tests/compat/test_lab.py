"""scripts/lab: cells that are due, resumed runs, tables from rows, robustness, public test sets on made-up files."""

from __future__ import annotations

import gzip
import json
import random
import re
import signal
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from data_index import differences, digest
from lab import made_up
from lab.cells import RESULTS, Experiment, Place, keep, measure, names, older, rows_of, stamps
from lab.data import cut, head, mixed
from lab.experiments import blind as public_sets
from lab.experiments.mixture import ORDER, excess, parity_bpe
from lab.tables import mean
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from mws_hf import WordCounts
from mws_hf.corpus.segmentations import GoldWord
from mws_hf.errors import MwSError
from mws_hf.text.pattern import DEFAULT_PATTERN, WORD_PATTERN, split
from tests.agglutinative import make_language
from tests.paths import ROOT
from tests.processes import python

MADE_UP = '''
import os, signal, sys, types
from pathlib import Path
sys.path.insert(0, "scripts")
from lab.cells import Experiment, Place, measure, rows_of
module = types.ModuleType("made_up", "A made-up experiment.")
module.AXES, module.SHARED = {"language": ["a", "b"], "size": [1, 2]}, 1
def measured(place, cells):
    for cell in cells:
        if cell == {"language": "b", "size": 2} and len(sys.argv) > 2:
            os.kill(os.getpid(), signal.SIGKILL)
        yield cell, {"figure": 10 * cell["size"]}
module.measure, module.table = measured, lambda rows: [f"{len(rows)} rows"]
made_up, place = Experiment("made_up", module), Place(results=Path(sys.argv[1]))
import lab.cells
lab.cells.code = lambda experiment: "now"
due = made_up.due(rows_of("made_up", place.results), again=False)
print(len(due))
list(measure(made_up, place, due))
'''  # fmt: skip


def run_made_up(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the made-up experiment in a separate process."""
    return python(MADE_UP, folder, *more, cwd=ROOT)


def test_a_killed_run_is_resumed(tmp_path: Path):
    assert run_made_up(tmp_path, "kill").returncode == -signal.SIGKILL
    assert len(rows_of("made_up", tmp_path)) == 3
    again = run_made_up(tmp_path)
    assert (again.returncode, again.stdout.strip()) == (0, "1"), again.stderr
    rows = [(row["language"], row["size"], row["figure"], row["code"]) for row in rows_of("made_up", tmp_path)]
    assert rows == [("a", 1, 10, "now"), ("a", 2, 20, "now"), ("b", 1, 10, "now"), ("b", 2, 20, "now")]
    assert (tmp_path / "made_up.md").read_text().startswith("# A made-up experiment\n\n4 rows\n")


@pytest.mark.parametrize("name", names())
def test_tables_are_those_of_their_rows(name: str, tmp_path: Path):
    try:
        experiment, rows = Experiment.of(name), rows_of(name)
    except ModuleNotFoundError as error:
        pytest.skip(str(error))
    if not rows:
        pytest.skip(f"no row of {name} is stored yet")
    keep(experiment, rows, tmp_path)
    for kind in ("md", "jsonl"):
        written = (tmp_path / f"{name}.{kind}").read_text(encoding="utf-8")
        assert written == (RESULTS / f"{name}.{kind}").read_text(encoding="utf-8"), f"python scripts/lab table {name}"
    for some in (rows[:1], rows[1::3]):  # a run may stop at any cell
        if not getattr(experiment.module, "TOGETHER", False):
            assert all(isinstance(part, str) for part in experiment.module.table(some))
    keys = [experiment.key(row) for row in rows]
    assert len(set(keys)) == len(keys) and experiment.cells()


def test_the_command_lists_what_is_due_and_names_what_is_wrong(tmp_path: Path):
    def lab(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "scripts/lab", *arguments, "--results", str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)

    plan = lab("plan", "entries", "--only", "language=tur,fin", "size=8000")
    assert "entries: 4 cells are due" in plan.stdout, plan.stderr
    system = "system=mws-morphs, 20 labels"
    assert "small_texts: 30 cells are due" in lab("plan", "small_texts", "--only", system, "sample=0").stdout
    assert "entries has no language=tyr" in lab("plan", "entries", "--only", "language=tyr").stderr
    assert "no such experiment" in lab("run", "nothing").stderr
    assert "run needs the name of an experiment" in lab("run").stderr
    unnamed = lab("run", "labels", "--with", "baseline=x", "some/folder")
    assert "--with some/folder: a name is missing" in unnamed.stderr and "Traceback" not in unnamed.stderr


def test_a_row_has_two_stamps_and_each_can_be_older():
    entries = Experiment.of("entries")
    rows = [{**cell, **stamps(entries)} for cell in entries.cells()]
    assert entries.due(rows, again=True) == [] and older(entries, rows[0]) == []
    rows[3]["recipe"] = "another"
    del rows[5]["code"]
    assert older(entries, rows[3]) == ["recipe"] and older(entries, rows[5]) == ["code"]
    assert entries.due(rows, again=True) == [entries.cells()[3], entries.cells()[5]]
    assert entries.due(rows, again=False) == []


def test_a_run_uses_the_tracked_rows_only_if_asked_to(tmp_path: Path):
    def due(*arguments: str) -> str:
        command = [sys.executable, str(ROOT / "scripts" / "lab"), "plan", "entries", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        return done.stdout.splitlines()[-1] if done.returncode == 0 else done.stderr.splitlines()[-1]

    assert due() == "entries: 24 cells are due"
    assert due("--keep") == "entries: 0 cells are due"
    assert "not allowed with" in due("--keep", "--results", "elsewhere")


def test_the_index_of_data_finds_a_file_that_is_missing_or_differs(tmp_path: Path):
    (tmp_path / "text").mkdir()
    for name in ("same", "other"):
        (tmp_path / "text" / name).write_text(name)
    page = "".join(
        f"| `text/{name}` | a | b | `{digest(tmp_path / 'text' / 'same')}` | c |\n"
        for name in ("same", "other", "gone")
    )
    other, gone = differences(tmp_path, page)
    assert other.startswith("text/other differs") and gone == "text/gone is missing"


def test_an_experiment_measures_what_is_due(tmp_path: Path):
    stems = [a + b + c for a in "kptmsr" for b in ("al", "is", "or", "un", "e") for c in "ktlmns"]
    words = [(stem, end) for stem in stems for end in ("lla", "ista")]
    for folder in ("text", "gold"):
        (tmp_path / folder).mkdir()
    lines = "".join(f"{stem}{end}\n" for stem, end in words * 2).encode()
    (tmp_path / "text" / "hun.eltec.txt.gz").write_bytes(gzip.compress(lines))
    gold = "".join(f"{stem}{end}\t{stem} {end}\n" for stem, end in words)
    (tmp_path / "gold" / "hun.sigmorphon2022.tsv").write_text(gold, encoding="utf-8")
    place, small = Place(tmp_path, tmp_path, tmp_path), Experiment.of("small_texts")
    only = {"language": ["hun"], "megabytes": ["0.1"], "sample": ["0"]}
    only["system"] = ["mws-morphs", "mws-morphs, 20 labels", "bpe-byte"]
    due = small.due([], only, again=False)
    rows = list(measure(small, place, due))
    assert [row["words"] for row in rows] == [len(words) - 300] * 3
    assert rows[1]["f1"] > rows[2]["f1"]
    assert small.due(json.loads(json.dumps(rows)), only, again=True) == []


def test_cells_that_are_compared_are_measured_together():
    other = Experiment.of("other_text")
    rows = [{**cell, "code": None} for cell in other.cells()[1:]]
    assert len(other.due(rows, again=False)) == 6


def test_missing_data_and_programs_are_named():
    with pytest.raises(MwSError, match="--with treebanks=PATH"):
        Place().path("treebanks", "clones")


def test_lines_of_so_many_bytes_are_not_divided():
    assert head(["дом\n", "дома\n", "кот\n"], 16) == ["дом\n", "дома\n"]
    assert mean([0.1, 0.3], "+.1f") == "+0.2 ± 1.3"


def test_text_is_shuffled_and_ends_at_a_line(tmp_path: Path):
    (tmp_path / "text").mkdir()
    lines = "".join(f"слово{i % 700} и другое{i % 31}\n" for i in range(3000))
    (tmp_path / "text" / "rus.made.txt.gz").write_bytes(gzip.compress(lines.encode()))
    text = mixed(tmp_path, "rus.*.txt.gz", tmp_path / "work")
    assert sorted(text.read_text("utf-8").splitlines()) == sorted(lines.splitlines())
    assert cut(text, 1) == text and cut(text, 0.01).read_bytes().endswith(b"\n")
    text.write_text("no line end here", encoding="utf-8")
    with pytest.raises(MwSError, match="no line end in its first 5e-06 MB"):
        cut(text, 5e-6)


def test_the_readme_names_every_experiment_and_every_table_of_the_pages():
    page = (ROOT / "scripts" / "README.md").read_text(encoding="utf-8")
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    tables = {name for each in pages for name in re.findall(r"<!-- from figures:(\w+) -->", each.read_text("utf-8"))}
    assert tables and not [name for name in (*names(), *tables) if not re.search(rf"\b{name}\b", page)]


def test_the_length_of_a_mixture_beside_bpe_of_its_size():
    lengths = {"mws": 1.3, "bpe": 1.25, "mws-morphs": 2.0}
    rows = [
        {"system": system, "vocab_size": size, "language": name, "tokens_per_word": length}
        for system, length in lengths.items()
        for size in (64, 128)
        for name in ORDER
        if (system, size) != ("bpe", 128)
    ]
    text = excess(rows)
    assert "| mws, 64 |" in text and text.count("+4.0%") == 8 and "128" not in text


def test_balanced_bpe_splits_the_language_with_little_text_less_often():
    large = ["they walked and talked while others waited for the walking talkers"] * 200
    small = ["talossa talosta taloista autossa autosta autoista"] * 2
    plain = Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.Split(Regex(DEFAULT_PATTERN), "isolated")
    plain.train_from_iterator([*large, *small], trainers.BpeTrainer(vocab_size=60, show_progress=False))
    balanced = parity_bpe([iter(large), iter(small)], 60)
    assert balanced.get_vocab_size() == plain.get_vocab_size() == 60
    lengths = [len(each.encode(small[0]).tokens) for each in (balanced, plain)]
    assert lengths[0] < lengths[1]


LANGUAGES = {
    "rus": ["tikhonov", "wiktionary-forms", "running-text-forms"],
    "fin": ["morphochallenge2010"],
    "eng": ["morphochallenge2010"],
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder like ../shared/data, in which each file contains a small made-up language."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("text", "gold", "words"):
        (folder / name).mkdir()
    for seed, (language, golds) in enumerate(LANGUAGES.items()):
        words = make_language(n_stems=60, seed=seed)
        draw = random.Random(seed).choices
        lines = [" ".join(draw(list(words), k=12)) + ".\n" for _ in range(2500)]
        with gzip.open(folder / "text" / f"{language}.made.txt.gz", "wt", encoding="utf-8", newline="\n") as stream:
            stream.writelines(lines)
        table = "".join(f"{word}\t{' '.join(morphs)}\n" for word, morphs in words.items())
        for gold in golds:
            (folder / "gold" / f"{language}.{gold}.tsv").write_text(table, encoding="utf-8")
    with gzip.open(folder / "words" / "est.made.tsv.gz", "wt", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{word}\t{i + 1}\n" for i, word in enumerate(words))
    return folder


@pytest.mark.slow
def test_a_tiny_run_of_every_part_measures_and_writes_its_page(data, tmp_path):
    experiment, placed = Experiment.of("robustness"), Place(data, tmp_path / "work", tmp_path / "results")
    parts = (("growth", "rus"), ("noise", "fin"), ("seeds", "fin"), ("unseen", "est"), ("unseen", "hin"))
    due = [
        cell for part, name in parts for cell in experiment.due([], {"part": [part], "language": [name]}, again=False)
    ]
    assert len(due) == 3 + 7 + 3 + 1 + 1
    records = {tuple(row[name] for name in experiment.axes): row for row in measure(experiment, placed, due)}
    for record in records.values():
        for row in record.get("rows", []):
            assert 0 <= row["f1_low"] <= row["f1"] <= row["f1_high"] <= 1
    assert [len(records["growth", "rus", f"{n}x"]["rows"]) for n in (1, 3, 9)] == [3, 3, 3]
    clean = records["noise", "fin", "clean"]
    for variant in ("foreign", "typos", "capitals", "hyphens", "numbers", "all"):
        noisy = records["noise", "fin", variant]
        assert noisy["types"] > 1.05 * clean["types"]
        assert noisy["rows"][0]["delta"] == pytest.approx(noisy["rows"][0]["f1"] - clean["rows"][0]["f1"])
    assert records["seeds", "fin", "0"]["rows"] != records["seeds", "fin", "1"]["rows"]
    assert records["unseen", "est", ""]["not_restored"] == 0 and records["unseen", "hin", ""]["marks_torn_off"] == 0
    page = (placed.results / "robustness.md").read_text(encoding="utf-8")
    for text in ("| rus.tikhonov | 9x |", "| fin.morphochallenge2010 | foreign |", "| Hindi verbs", "Generated lists"):
        assert text in page


def test_noise_adds_a_tenth_and_takes_nothing_away():
    words = [f" {word}" for word in make_language(n_stems=60)]
    clean = WordCounts.from_mapping(dict.fromkeys(words, 20), pattern=DEFAULT_PATTERN)
    donor = WordCounts.from_mapping(
        {f" {w.upper()[::-1].lower()}q": 3 for w in make_language(seed=9)}, pattern=DEFAULT_PATTERN
    )
    for kind in made_up.KINDS:
        noisy = made_up.polluted(clean, donor, [kind])
        before, after = dict(clean.items()), dict(noisy.items())
        assert all(after[word] >= n for word, n in before.items())
        added = noisy.total - clean.total
        forms = {"foreign": 3, "capitals": 2}.get(kind, 1)
        assert added >= forms * round(0.1 * len(words)), kind  # a form may be several pre-tokens
        assert made_up.polluted(clean, donor, [kind]) == noisy
        assert all(split(word) == [word] for word in noisy.words)
    everything = made_up.polluted(clean, donor, list(made_up.KINDS))
    assert len(everything) > 1.35 * len(clean)


def test_made_up_words_are_spelled_by_their_morphs_and_are_one_pretoken():
    for name, each in made_up.made_up_lists().items():
        assert len(each.gold) >= 400 and {"".join(morphs) for morphs in each.gold.values()} == set(each.gold)
        for word, morphs in each.gold.items():
            assert "".join(morphs) == word and split(" " + word, WORD_PATTERN) == [" " + word]
            assert not any(unicodedata.combining(morph[0]) for morph in morphs), name
        assert all(split(" " + word, WORD_PATTERN) == [" " + word] for word in each.training)
        assert 0.5 < len(set(each.training) & set(each.gold)) / len(each.gold) < 0.7


STEMS = [a + b + c for a in "ptkms" for b in "aeiou" for c in ("lan", "rit", "sok", "nu")]
ENDINGS = ("ssa", "sta", "lle", "n")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Repositories with a few made-up words, in the folders that `git clone` would create, and a text."""
    folder = tmp_path / "fetched"
    surface = [f"{stem}{end}\t{stem} @@{end}\t100" for stem in STEMS[:20] for end in ENDINGS]
    write(folder / "2022SegmentationST/data/mon.word.test.gold.tsv", [*surface, "panu\tpan @@ua\t100"])
    train = [f"{stem}{end}\t{stem} @@{end}\t100" for stem in STEMS for end in ENDINGS]
    write(folder / "2022SegmentationST/data/surprise/mon.word.train.tsv", train)
    write(folder / "morphscore/data/zulu_morph_data.csv", [",full_word,pt1,rest", f"0,{STEMS[0]}ssa,{STEMS[0]},ssa"])
    forms = [f"{stem}\t{stem}{end}\tN;SG" for stem in STEMS[:30] for end in ENDINGS]
    write(folder / "conll2017/all/task2/english-train-high", [*forms, "put up\tputs up\tV"])
    (tmp_path / "text").mkdir()
    with gzip.open(tmp_path / "text" / "eng.made-up.txt.gz", "wt", encoding="utf-8") as file:
        file.writelines(" ".join(f"{stem}{end}" for stem in STEMS) + "\n" for end in ENDINGS * 30)
    return Place(tmp_path, tmp_path / "out", tmp_path, {"fetched": str(folder)})


def write(file: Path, lines: list[str]) -> None:
    """Write lines to a file, and create its parent folders."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_sets_are_scored_and_languages_without_words_are_named(place: Place):
    blind = Experiment.of("blind")
    only = {"language": ["mon", "zul"], "system": ["mws", "bpe-byte"]}
    rows = list(measure(blind, place, blind.due([], only, again=False)))
    scored = [row for row in rows if "left_out" not in row]
    assert {(row["language"], row["kind"], row["vocab_size"]) for row in scored} == {("mon", "sigmorphon", 8000)}
    # "pan ua" does not spell the word of its line
    assert {(row["words"], row["rows_of_set"]) for row in scored} == {(80, 81)}
    assert all(row["f1_low"] <= row["f1"] <= row["f1_high"] for row in scored)
    page = (place.results / "blind.md").read_text(encoding="utf-8")
    assert "because there are no words to learn from: zul." in page and f"{scored[0]['f1']:.3f}" in page
    assert not blind.due(rows, only, again=True)


def test_forms_that_begin_with_their_lemma_make_a_set(tmp_path: Path):
    rows = ["1\tKoirassa\tkoira\tNOUN", "2\tkoira\tkoira\tNOUN", "3\ttulee\ttulla\tVERB", "4\tNokian\tNokia\tPROPN"]
    for part in ("dev", "test"):
        write(tmp_path / f"UD_Finnish-FTB/fi_ftb-ud-{part}.conllu", rows)
    found = public_sets.sets_of("fin", tmp_path)
    assert found == {"lemma": (1, [GoldWord("koirassa", (("koira", "ssa"),))])}


def test_no_root_is_in_two_folds(tmp_path: Path):
    tagged = ["дом\tдом:ROOT", "домик\tдом:ROOT/ик:SUFF", "паровоз\tпар:ROOT/о:LINK/воз:ROOT", "кот\tкот:ROOT"]
    write(tmp_path / "word2morph/datasets/rus.train", tagged)
    roots = public_sets.roots(tmp_path)
    assert roots == {"дом": "дом", "домик": "дом", "кот": "кот"}
    many = roots | {f"{letter}{n}": letter for letter in "абвгдежз" for n in range(5)}
    parts = public_sets.folds(tuple(GoldWord(word, ((word,),)) for word in [*many, "паровоз"]), many, 5)
    assert sorted(word.word for part in parts for word in part) == sorted(many)
    seen = [{many[word.word] for word in part} for part in parts]
    assert sum(map(len, seen)) == len(set.union(*seen))


def test_forms_share_their_stem(place: Place):
    paradigms = Experiment.of("paradigms")
    due = paradigms.due([], {"source": ["eng"], "vocab_size": ["8000"]}, again=False)
    rows = {row["system"]: row for row in measure(paradigms, place, due)}
    assert {(row["lexemes"], row["forms"]) for row in rows.values()} == {(30, 120)}
    assert rows["mws-morphs"]["same_stem"] > 0.9 and rows["bpe-byte"]["shared"] < rows["mws-morphs"]["shared"]
    assert "eng" in (place.results / "paradigms.md").read_text(encoding="utf-8")
