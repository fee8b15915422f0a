"""What the README shows is what happens: its Python runs, its commands exist, its segmentations are the demo's."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.small_corpus import running_text

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
SMALL = {"hidden_size=512": "hidden_size=16", "num_hidden_layers=8": "num_hidden_layers=1", "heads=8": "heads=2"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A place with the text that the README's code reads."""
    place = tmp_path_factory.mktemp("readme")
    (place / "corpus").mkdir()
    text = "\n".join(running_text() * 3)
    (place / "corpus.txt").write_text(text, encoding="utf-8")
    import gzip

    with gzip.open(place / "corpus" / "part.txt.gz", "wt", encoding="utf-8") as stream:
        stream.write(text)
    return place


@pytest.mark.slow
def test_its_python_runs_from_top_to_bottom(folder):
    pytest.importorskip("torch")
    pytest.importorskip("datasets")
    assert len(BLOCKS) >= 2
    code = "\n".join(BLOCKS).replace("32_000", "400").replace('("runs/lm")', '("runs/lm", max_steps=1)')
    for large, small in SMALL.items():
        code = code.replace(large, small)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_commands_it_names_exist():
    from mws_hf.commands.app import COMMANDS

    named = set(re.findall(r"`mws ([a-z]+)", README))
    assert named <= set(COMMANDS) and set(COMMANDS) <= named


def test_it_names_exactly_two_commands_of_set_up():
    assert re.findall(r"^python3 (\S+ \w+)", README, re.MULTILINE) == [
        "scripts/project.py demo",
        "scripts/project.py test",
    ]


def test_it_is_short():
    assert README.count("\n") < 180


@pytest.mark.slow
def test_its_segmentations_are_those_of_the_demo(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from segmentation_table import WORDS, mws_cuts

    from mws_hf.corpus.dictionary import lexicon_counts

    shown = dict(re.findall(r"^\| (\w+) \| [\w·]+ \| ([\w·]+) \|$", README, re.MULTILINE))
    assert [shown[word] for word in WORDS] == mws_cuts(lexicon_counts("ru"))
