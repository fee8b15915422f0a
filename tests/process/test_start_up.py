"""Start-up: commands load only the modules that they need, and the help is complete.

Modules: commands/entry.py.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from mws_hf.commands.app import COMMANDS
from tests.in_process import mws
from tests.processes import python
from tests.short_text import TEXT

HEAVY = (
    *("transformers", "numba", "numpy", "pyarrow", "tokenizers", "huggingface_hub", "rich", "pandas", "pydantic"),
    *("scipy.linalg", "numpy.f2py"),
)
SELDOM = tuple(
    f"mws_hf.{name}"
    for name in (
        "tokenizer.foreign",
        "tokenizer.places",
        "tokenizer.export",
        "corpus.word_list",
        "corpus.segmentations",
    )
)
"""Modules of the package that a training of text has no use for."""


MODULES_OF_A_TRAINING = 98
"""Modules of the package that a training of text imports, at most; a module has one subject, so they are many."""


def modules(code: str, *arguments: object) -> list[str]:
    """Return the modules that a process has loaded after running `code`, which may end with SystemExit."""
    script = f"import atexit, sys\natexit.register(lambda: print(*sys.modules, file=sys.stderr, sep=','))\n{code}"
    done = python(script, *arguments, check=True)
    return done.stderr.strip().splitlines()[-1].split(",")


def loaded(code: str, *arguments: object) -> list[str]:
    """Return which of the modules above a process has loaded after running `code`."""
    return [name for name in modules(code, *arguments) if name in (*HEAVY, *SELDOM)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("start") / "corpus.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], *([name, "--help"] for name in COMMANDS)])
def test_version_and_help_load_no_library(arguments: list[str]):
    assert loaded("from mws_hf.commands.entry import main; main()", *arguments) == []


def test_training_segmenting_and_encoding_never_load_transformers(corpus: Path, tmp_path: Path):
    run = "from mws_hf.commands.entry import main; main()"
    for arguments in (
        ["train", corpus, "--vocab-size", 500, "--output", tmp_path / "t", "--quiet"],
        ["encode", tmp_path / "t", corpus, "--output", tmp_path / "ids", "--quiet"],
    ):
        libraries = loaded(run, *arguments)
        assert "tokenizers" in libraries and "transformers" not in libraries
        assert not {"pandas", "pydantic"} & {*libraries}
        assert arguments[0] != "train" or not {*SELDOM} & {*libraries}
    again = ["encode", tmp_path / "t", corpus, "--output", tmp_path / "again", "--quiet"]
    assert "numba" not in loaded(run, *again)  # short texts are encoded without kernels
    assert {*loaded(run, "segment", tmp_path / "t", "читал")} - {*SELDOM} == {"tokenizers"}


def test_a_training_imports_few_modules_of_the_package(corpus: Path, tmp_path: Path):
    run = "from mws_hf.commands.entry import main; main()"
    found = modules(run, "train", corpus, "--vocab-size", 500, "--output", tmp_path / "t", "--quiet")
    assert len([name for name in found if name.split(".")[0] == "mws_hf"]) <= MODULES_OF_A_TRAINING


COUNT = """
import sys
from mws_hf import WordCounts
from mws_hf.corpus.counting import count_documents, count_files
count_files(sys.argv[1]).code_points()
WordCounts.load(sys.argv[2])
count_documents(["кот и кот"], normalization="nfc")
count_documents(["кот и кот"], pattern=".")
"""
LEARN = """
import sys
import numpy as np
from mws_hf import MwSTrainer
from mws_hf.corpus.counting import count_files
from mws_hf.kernels.interning import intern_hashed
left = np.arange(5000, dtype=np.int32)
intern_hashed(left, left, np.empty_like(left))  # what is done where many pairs are possible
MwSTrainer(n_merges=20, show_progress=False).learn(count_files(sys.argv[1]))
"""


@pytest.mark.parametrize("code", [COUNT, LEARN], ids=["count", "learn"])
def test_counting_and_learning_load_no_library_that_takes_longer_than_they(code: str, corpus: Path, tmp_path: Path):
    assert mws("count", corpus, "-o", tmp_path / "counts").returncode == 0
    found = loaded(code, corpus, tmp_path / "counts")
    assert "numpy" in found and not {"pandas", "scipy.linalg", "numpy.f2py", "transformers"} & {*found}


def test_the_module_is_the_command():
    command = [sys.executable, "-m", "mws_hf", "--version"]
    module = subprocess.run(command, capture_output=True, text=True, check=True)
    assert module.stdout == mws("--version").stdout


def test_the_list_of_commands_names_each_one():
    listed = mws("--help").stdout
    for name, line in COMMANDS.items():
        assert f"  {name} " in listed and line in listed
    assert "MWS_NUM_THREADS" in listed  # no command has an option for it


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_with_a_value_shows_its_default(name: str):
    for option in re.split(r"\n  (?=--)", mws(name, "--help").stdout)[1:]:
        if re.match(r"--[\w-]+ [\[{A-Za-z]", option):  # it has a value
            assert "[default: " in (said := " ".join(option.split())) or "[required]" in said, option


def test_help_says_tab_where_a_tab_is_meant():
    assert "word<TAB>count" in mws("train", "--help").stdout
    assert "word<TAB>m1 m2" in mws("evaluate", "--help").stdout


def test_sizes_are_given_as_people_write_them(corpus: Path, tmp_path: Path):
    for cap in ("2G", "500k", "1048576"):
        assert mws("count", corpus, "--memory-cap", cap, "--force", "--output", tmp_path / "c.parquet").returncode == 0
    refused = mws("count", corpus, "--memory-cap", "2Q", "--output", tmp_path / "d.parquet")
    assert refused.returncode == 2 and "2Q" in refused.stderr and not (tmp_path / "d.parquet").exists()


def test_one_is_singular(tmp_path: Path):
    (tmp_path / "one.txt").write_text("aba", encoding="utf-8")
    done = mws("train", tmp_path / "one.txt", "--n-merges", 1, "--composition", 1, "--output", tmp_path / "t")
    assert "tokens: 1 frequency merge and 258 bytes" in done.stdout, done.stderr
    assert "trained on 1 distinct word in" in done.stdout


def test_terms_of_a_pair_are_aligned_and_explained(corpus: Path):
    lines = mws("explain", "--pair", "ч", "и", "--from", corpus, "--quiet").stdout.splitlines()
    table = lines[: lines.index("")]
    legend = [line.split("  ")[0] for line in lines[lines.index("") + 1 :]]
    terms = [line.split()[0] for line in table[3:]]  # after the header and the two parts
    assert set(terms) <= {name for entry in legend for name in entry.split(", ")}
    assert len({line.index(line.split()[1]) for line in table}) == 1  # one column
