"""`mws pretrained` and `mws_hf.pretrained`: the project's tokenizers by name."""

from __future__ import annotations

import json
import shutil

import pytest

import mws_hf
from mws_hf.errors import MwSError
from mws_hf.tokenizer import places
from tests.in_process import invoke
from tests.paths import ROOT

CARDS = ROOT / "model_cards"
NAME = "mws-ru-morphs-8k"
WORD = " перечитывающая"

pytestmark = pytest.mark.skipif(not CARDS.is_dir(), reason="model_cards/ is not in the source distribution")


def run(*arguments):
    return invoke([str(each) for each in arguments])


def test_the_index_is_that_of_the_folders(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from pretrained_card import index

    rows = json.loads((ROOT / "scripts/results/pretrained.json").read_text(encoding="utf-8"))["rows"]
    written = json.loads(places.INDEX.read_text(encoding="utf-8"))["tokenizers"]
    assert written == index(CARDS, rows), "run `python scripts/pretrained_card.py`"
    assert {row["name"] for row in written} == {path.name for path in CARDS.iterdir()}
    for row in rows:
        (entry,) = [each for each in written if each["name"] == row["name"]]
        assert entry["tokens_per_word"] == row["systems"]["MwS"]["tokens_per_word"]
        assert entry["f1"] == next(iter(row["systems"]["MwS"]["f1"].values()), None)


@pytest.fixture
def own(monkeypatch, tmp_path):
    """The folder of one tokenizer in a copy of one's own."""
    monkeypatch.setattr(places, "BESIDE", tmp_path)
    return shutil.copytree(CARDS / NAME, tmp_path / NAME)


def test_what_is_not_there_is_reported(own):
    (own / "tokenizer.json").unlink()
    with pytest.raises(MwSError, match=f"{NAME}/tokenizer.json: is missing; install"):
        mws_hf.pretrained(NAME)
    with pytest.raises(MwSError, match="no tokenizer of this project has that name; choose one of mws-ru-16k"):
        mws_hf.pretrained("mws-ru-33k")


def test_the_command_lists_writes_and_every_command_knows_the_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = json.loads(run("pretrained", "--json").stdout)
    assert [row["name"] for row in rows] == list(places.ready_made())
    assert "mws-fi-16k" in run("pretrained").stdout
    written = run("pretrained", NAME)
    assert written.exit_code == 0 and written.stdout.startswith(f"{NAME}: {NAME}, 8,000 entries")
    assert (tmp_path / NAME / "README.md").read_bytes() == (CARDS / NAME / "README.md").read_bytes()
    assert run("pretrained", NAME, "-o", "other").exit_code == 0 and (tmp_path / "other" / "tokenizer.json").is_file()
    shutil.rmtree(tmp_path / NAME)
    cut = run("segment", NAME, WORD.strip()).stdout.strip()
    assert cut == run("segment", "other", WORD.strip()).stdout.strip() and "·" in cut
