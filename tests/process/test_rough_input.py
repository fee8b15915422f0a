"""Ctrl-C at any moment, bytes that are no text, damaged files, a terminal without Cyrillic: one line, no traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mws_hf.corpus.blocks import LITTLE
from tests.in_process import mws
from tests.short_text import TEXT

RUN = "from mws_hf.commands.entry import main; main()"
DEEP = "[" * 100_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus and a tokenizer trained on it."""
    path = tmp_path_factory.mktemp("rough")
    (path / "corpus.txt").write_text(TEXT, encoding="utf-8")
    assert mws("train", path / "corpus.txt", "--n-merges", 50, "--output", path / "t", "--quiet").returncode == 0
    return path


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("module", ["mws_hf.commands.encode", "numba", "pyarrow", "tokenizers"])
def test_ctrl_c_while_libraries_are_loaded(module: str, name: str, folder: Path, tmp_path: Path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(TEXT * (1 + 2 * LITTLE // len(TEXT)), encoding="utf-8")  # enough that numba is loaded
    interrupt = (
        "import os, signal, sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.{name})\n"
        f"sys.meta_path.insert(0, Interrupt())\n{RUN}"
    )
    words = ["encode", str(folder / "t"), str(corpus), "--output", str(tmp_path / "ids")]
    done = subprocess.run(
        [sys.executable, "-c", interrupt, *words],
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert done.stdout == ""
    assert done.returncode == {"SIGINT": 130, "SIGTERM": 143}[name]
    assert done.stderr.strip().startswith({"SIGINT": "interrupted", "SIGTERM": "terminated"}[name])
    assert done.stderr.strip().count("\n") == 0
    assert not (tmp_path / "ids").exists()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_says_that_encoding_goes_on(folder: Path, tmp_path: Path):
    command = [sys.executable, "-c", RUN, "encode", str(folder / "t"), "-", "--output", str(tmp_path / "ids")]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdin is not None
    process.stdin.write(TEXT * 1000)  # returns once the command has read nearly all of it and waits for more
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130 and errors.strip() == "interrupted; the same command goes on from here"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_redirected_output_is_utf8_whatever_the_locale(encoding: str, folder: Path):
    environment = {**os.environ, "PYTHONIOENCODING": encoding}

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", RUN, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, encoding="utf-8", env=environment)

    cut = run("segment", folder / "t", "читал")
    assert cut.returncode == 0 and cut.stdout.strip().replace("·", "") == "читал", cut
    (told,) = run("segment", folder / "t", "читал", "--json").stdout.splitlines()
    assert json.loads(told)["text"] == "читал"
    assert "нет.txt" in run("count", "нет.txt", "-o", folder / "none.parquet").stderr
    assert run("segment", folder / "t", "walked", "--separator", " ").returncode == 0
    for name in ("train", "segment", "explain"):
        assert run(name, "--help").returncode == 0
