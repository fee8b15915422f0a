"""What the documentation shows is what happens: the code of every page runs.

Blocks marked `python` and `bash` are run; `py` (it needs a cluster) and `text` are not.
"""

from __future__ import annotations

import ast
import gzip
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.examples import FULL
from tests.paths import ROOT
from tests.small_corpus import morphs, running_text

PAGES = sorted(
    path
    for path in (ROOT / "docs").rglob("*.md")
    if re.search(r"^```(python|bash)$", path.read_text(encoding="utf-8"), re.M)
)
BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```", re.DOTALL | re.MULTILINE)
SMALL = {
    "32_000": "400",
    "32000": "400",
    "64000": "600",
    "max_steps=20": "max_steps=2",
}


def write_sources(folder):
    """The files that the pages speak of."""
    text = "\n".join(running_text() * 3)
    held_out = [" ".join(reversed(line.split())) for line in running_text()]
    (folder / "corpus.txt").write_text(text, encoding="utf-8")
    (folder / "heldout.txt").write_text("\n".join(held_out), encoding="utf-8")
    (folder / "corpus").mkdir()
    with gzip.open(folder / "corpus" / "part.txt.gz", "wt", encoding="utf-8") as stream:
        stream.write(text)
    rows = [json.dumps({"text": line}, ensure_ascii=False) for line in text.splitlines()]
    (folder / "records.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    gold = ["".join(parts) + "\t" + " ".join(parts) for parts in morphs() if "'" not in "".join(parts)]
    (folder / "gold.tsv").write_text("\n".join(gold) + "\n", encoding="utf-8")
    (folder / "labels.tsv").write_text("\n".join(gold[::3]) + "\n", encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the blocks are bash")
@pytest.mark.skipif(not FULL, reason="before a release; `project.py try-wheel` runs the quick start on every push")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_of_a_page_runs_from_top_to_bottom(page, tmp_path):
    for module in ("torch", "datasets"):
        pytest.importorskip(module)
    write_sources(tmp_path)
    if page.name == "pretrained.md" and not (ROOT / "model_cards").is_dir():
        pytest.skip("the source distribution has no tokenizers")
    python: list[str] = []
    for language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        for large, small in SMALL.items():
            code = code.replace(large, small)
        if language == "python":
            python.append(code)
            continue
        run(tmp_path, [sys.executable, "-c", "\n".join(python)])  # what the commands read may be what it saved
        run(tmp_path, ["bash", "-euo", "pipefail", "-c", code])
    run(tmp_path, [sys.executable, "-c", "\n".join(python)])


def run(folder, command):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{command[-1]}\n{done.stderr}"


UNRUN = [
    line
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for block in re.findall(r"^```text\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
    if line.startswith("mws ")
]


@pytest.mark.parametrize("line", UNRUN)
def test_commands_that_need_a_network_or_minutes_are_commands(line):
    """They are not run, but their options exist and have such values."""
    from mws_hf.commands.app import parser_of

    _, name, *arguments = shlex.split(line, comments=True)
    parser_of(name).parse_intermixed_args(arguments)


def test_such_commands_are_found():
    assert {"extend", "trim", "transplant"} <= {line.split()[1] for line in UNRUN}


IMPORTS = sorted(
    {
        (page.relative_to(ROOT).as_posix(), node.module, alias.name)
        for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
        for code in re.findall(r"^ *```(?:py|python)\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.DOTALL | re.M)
        for node in ast.walk(ast.parse(textwrap.dedent(code)))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "mws_hf"
        for alias in node.names
    }
)


@pytest.mark.parametrize(("page", "module", "name"), IMPORTS)
def test_every_block_imports_names_that_are_there(page, module, name):
    found = importlib.import_module(module)
    if name == "BlockDataset":
        pytest.importorskip("torch")
    assert hasattr(found, name) or importlib.util.find_spec(f"{module}.{name}"), f"{page}: {module}.{name}"
