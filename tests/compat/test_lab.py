"""scripts/lab: what is due, a run that is killed and goes on, tables that the rows in git give, one experiment run."""

from __future__ import annotations

import gzip
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lab.cells import RESULTS, Experiment, Place, keep, measure, names, rows_of
from lab.data import cut, head, mixed
from lab.experiments.mixture import ORDER, excess, parity_bpe
from lab.tables import mean
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from mws_hf.errors import MwSError
from mws_hf.text.pattern import DEFAULT_PATTERN
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


def made_up(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the made-up experiment in a process of its own."""
    return python(MADE_UP, folder, *more, cwd=ROOT)


def test_a_run_that_was_killed_goes_on(tmp_path: Path):
    assert made_up(tmp_path, "kill").returncode == -signal.SIGKILL
    assert len(rows_of("made_up", tmp_path)) == 3
    again = made_up(tmp_path)
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
    keep(experiment, rows, tmp_path)
    for kind in ("md", "jsonl"):
        written = (tmp_path / f"{name}.{kind}").read_text(encoding="utf-8")
        assert written == (RESULTS / f"{name}.{kind}").read_text(encoding="utf-8"), f"python scripts/lab table {name}"
    for some in (rows[:1], rows[1::3]):  # a run may stop anywhere
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


def test_what_a_place_lacks_is_named():
    with pytest.raises(MwSError, match="--with treebanks=PATH"):
        Place().path("treebanks", "clones")


def test_lines_of_so_many_bytes_are_whole():
    assert head(["дом\n", "дома\n", "кот\n"], 16) == ["дом\n", "дома\n"]
    assert mean([0.1, 0.3], "+.1f") == "+0.2 ± 1.3"


def test_text_is_mixed_and_cut_at_a_line(tmp_path: Path):
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


def test_balanced_bpe_cuts_the_language_of_little_text_less_often():
    large = ["they walked and talked while others waited for the walking talkers"] * 200
    small = ["talossa talosta taloista autossa autosta autoista"] * 2
    plain = Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.Split(Regex(DEFAULT_PATTERN), "isolated")
    plain.train_from_iterator([*large, *small], trainers.BpeTrainer(vocab_size=60, show_progress=False))
    balanced = parity_bpe([iter(large), iter(small)], 60)
    assert balanced.get_vocab_size() == plain.get_vocab_size() == 60
    lengths = [len(each.encode(small[0]).tokens) for each in (balanced, plain)]
    assert lengths[0] < lengths[1]
