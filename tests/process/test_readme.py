"""What the README shows is what happens: its Python prints it, its commands exist, its words are cut so."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.examples import thorough
from tests.paths import ROOT

CARDS = ROOT / "model_cards"
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMAND_LINE = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
SHOWN = re.findall(r"^print\(.*\)  # (.*)$", "\n".join(BLOCKS), re.MULTILINE)


@pytest.mark.slow
@pytest.mark.skipif(not CARDS.is_dir(), reason="the source distribution has no tokenizers")
def test_its_python_prints_what_it_shows(tmp_path):
    assert len(BLOCKS) >= 3 and len(SHOWN) >= 3
    environment = {**os.environ, "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(BLOCKS)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed = done.stdout.splitlines()
    if sys.version_info[:2] != (3, 11):  # the text that it trains on comes with Python, and that of 3.11 is shown
        assert len(printed) == len(SHOWN) and printed[0] == SHOWN[0] and printed[-1] == SHOWN[-1]
    else:
        assert printed == SHOWN


@pytest.mark.skipif(not CARDS.is_dir(), reason="the source distribution has no tokenizers")
def test_its_words_are_cut_by_the_tokenizers_that_one_downloads(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from lab.cells import rows_of
    from lab.experiments.words import LANGUAGES, our_cuts, table

    rows = rows_of("words")
    assert [row["ours"] for row in rows] == [cut for language in LANGUAGES for cut in our_cuts(language).values()]
    assert next(table(rows)) in README, "run `python scripts/lab run words --again` and `scripts/docs_tables.py`"


def test_the_commands_it_names_exist_and_the_reference_names_all():
    from mws_hf.commands.app import COMMANDS

    assert set(re.findall(r"`mws ([a-z]+)", README)) <= set(COMMANDS)
    assert set(re.findall(r"`mws ([a-z]+)", COMMAND_LINE)) == set(COMMANDS)


def test_it_names_exactly_two_commands_of_set_up():
    assert re.findall(r"^python3 (\S+ \w+)", README, re.MULTILINE) == [
        "scripts/project.py demo",
        "scripts/project.py test",
    ]


def test_it_is_short_and_begins_with_a_picture():
    assert len(README.split()) <= 750
    assert len(README[: README.index("\n```python")].split()) <= 120
    assert re.search(r"^!\[", "\n".join(README.splitlines()[:8]), re.MULTILINE)


@pytest.mark.slow
@thorough
def test_the_segmentations_of_the_lexicon_are_those_of_the_demo(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from lab.experiments.words import mws_cuts

    from mws_hf.corpus.word_list import lexicon_counts

    page = (ROOT / "docs" / "train.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^\| (\w+) \| [\w·]+ \| [\w·]+ \| ([\w·]+) \| [\w·]+ \|$", page, re.MULTILINE))
    cuts = mws_cuts(lexicon_counts("ru"))
    assert len(shown) == 3 and all(cuts[word] == cut for word, cut in shown.items())
