"""`mws pretrained` and `mws_hf.pretrained`: the project's tokenizers by name, from wherever they lie, unchanged."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import tarfile
import threading
import zipfile

import pytest
from transformers import AutoTokenizer
from typer.testing import CliRunner

import mws_hf
from mws_hf.commands.app import app
from mws_hf.errors import MwSError
from mws_hf.tokenizer import hub
from tests.fake_hub import running_hub
from tests.paths import ROOT
from tests.processes import mws, one_line
from tests.unit.test_card_and_push import surroundings

CARDS = ROOT / "model_cards"
NAME = "mws-ru-morphs-8k"
WORD = " перечитывающая"

pytestmark = pytest.mark.skipif(not CARDS.is_dir(), reason="model_cards/ is not in the source distribution")


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """No checkout, and a cache of one's own, as after `pip install`."""
    monkeypatch.setattr(hub, "BESIDE", tmp_path / "absent")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(hub.VARIABLE, raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """One folder in archives of several kinds, as a release and as GitHub pack it, and bare."""
    home = tmp_path_factory.mktemp("archives")
    with zipfile.ZipFile(home / "release.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted((CARDS / NAME).iterdir()):
            archive.write(file, f"{NAME}/{file.name}")
        archive.writestr(f"../../{NAME}/evil.txt", "not wanted")
    with tarfile.open(home / "source.tar.gz", "w:gz") as tar:
        tar.add(CARDS / NAME, f"mws-hf-0.2.0/model_cards/{NAME}")
    shutil.copytree(CARDS / NAME, home / "folder" / NAME)
    return home


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments], prog_name="mws")


def test_the_index_is_that_of_the_folders(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from pretrained_index import index

    rows = json.loads((ROOT / "scripts/results/pretrained.json").read_text(encoding="utf-8"))["rows"]
    written = json.loads(hub.INDEX.read_text(encoding="utf-8"))["tokenizers"]
    assert written == index(CARDS, rows), "run `python scripts/pretrained_index.py`"
    assert {row["name"] for row in written} == {path.name for path in CARDS.iterdir()}
    for row in rows:
        (entry,) = [each for each in written if each["name"] == row["name"]]
        assert entry["tokens_per_word"] == row["systems"]["MwS"]["tokens_per_word"]
        assert entry["f1"] == next(iter(row["systems"]["MwS"]["f1"].values()), None)


@pytest.mark.parametrize("kind", ["release.zip", "source.tar.gz", "folder", f"folder/{NAME}", "URL"])
def test_it_is_had_from_an_archive_a_folder_or_a_url_and_then_by_name(elsewhere, archives, kind):
    with pytest.raises(MwSError, match=r"not on this machine.*--from.*MWS_PRETRAINED"):
        mws_hf.pretrained(NAME)
    if kind == "URL":
        handler = functools.partial(_Silent, directory=str(archives))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            loaded = mws_hf.pretrained(NAME, f"http://127.0.0.1:{server.server_address[1]}/release.zip")
            server.shutdown()
    else:
        loaded = mws_hf.pretrained(NAME, archives / kind)
    expected = AutoTokenizer.from_pretrained(CARDS / NAME)(WORD)["input_ids"]
    assert loaded(WORD)["input_ids"] == expected
    kept = hub.cache_folder() / NAME
    assert {path.name for path in kept.iterdir()} == {path.name for path in (CARDS / NAME).iterdir()}
    assert mws_hf.pretrained(NAME)(WORD)["input_ids"] == expected and mws_hf.pretrained_folder(NAME) == kept


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_) -> None:
        pass


def test_the_variable_names_a_source_for_machines_without_a_network(elsewhere, archives, monkeypatch):
    monkeypatch.setenv(hub.VARIABLE, str(archives / "release.zip"))
    assert len(mws_hf.pretrained(NAME)) == 8000
    monkeypatch.setenv(hub.VARIABLE, str(archives / "absent.zip"))
    with pytest.raises(MwSError, match="no such file or folder"):
        mws_hf.pretrained(NAME)


def test_it_is_had_from_the_hub(tmp_path):
    with running_hub() as hub:
        hub.repositories[f"user/{NAME}"] = {file.name: file.read_bytes() for file in (CARDS / NAME).iterdir()}
        around = surroundings(hub.address, tmp_path / "home") | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
        done = mws("pretrained", NAME, "--from", "hub:user", "-o", tmp_path / "out", env=around)
        assert done.returncode == 0, done.stderr
        absent = mws("pretrained", NAME, "--from", "hub:nobody", "-o", tmp_path / "out", env=around)
    assert one_line(absent) and "nobody" in absent.stderr
    assert (tmp_path / "out" / "tokenizer.json").read_bytes() == (CARDS / NAME / "tokenizer.json").read_bytes()


def test_what_was_changed_or_is_not_there_is_told(elsewhere, archives):
    folder = elsewhere / "folder" / NAME
    shutil.copytree(CARDS / NAME, folder)
    content = (folder / "tokenizer.json").read_text(encoding="utf-8")
    (folder / "tokenizer.json").write_text(content.replace("8", "9", 1), encoding="utf-8")
    with pytest.raises(MwSError, match=f"{NAME}/tokenizer.json is not the file"):
        mws_hf.pretrained(NAME, folder.parent)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(MwSError, match=f"{NAME}/tokenizer.json is missing"):
        mws_hf.pretrained(NAME, folder.parent)
    with pytest.raises(MwSError, match="holds no folder mws-ru-32k"):
        mws_hf.pretrained("mws-ru-32k", archives / "release.zip")
    (elsewhere / "text.zip").write_text("no archive", encoding="utf-8")
    with pytest.raises(MwSError, match="not a readable .zip or .tar archive"):
        mws_hf.pretrained(NAME, elsewhere / "text.zip")
    with pytest.raises(MwSError, match="no tokenizer of this project has that name; choose one of mws-ru-16k"):
        mws_hf.pretrained("mws-ru-33k")
    with pytest.raises(MwSError, match=r"cannot be downloaded .*check the address or the network"):
        mws_hf.pretrained(NAME, "http://127.0.0.1:9/release.zip")
    assert not hub.cache_folder().exists()


def test_line_ends_that_git_changed_are_no_change(elsewhere):
    folder = elsewhere / NAME
    shutil.copytree(CARDS / NAME, folder)
    card = (folder / "README.md").read_bytes()
    (folder / "README.md").write_bytes(card.replace(b"\n", b"\r\n"))
    assert len(mws_hf.pretrained(NAME, folder)) == 8000


def test_the_command_lists_writes_and_every_command_knows_the_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = json.loads(run("pretrained", "--json").stdout)
    assert [row["name"] for row in rows] == list(hub.ready_made()) and rows[0]["here"] == "installed"
    assert "mws-fi-16k" in run("pretrained").stdout
    written = run("pretrained", NAME)
    assert written.exit_code == 0 and written.stdout.startswith(f"{NAME}: {NAME}, 8,000 entries")
    assert (tmp_path / NAME / "README.md").read_bytes() == (CARDS / NAME / "README.md").read_bytes()
    assert run("pretrained", NAME, "-o", "other").exit_code == 0 and (tmp_path / "other" / "tokenizer.json").is_file()
    shutil.rmtree(tmp_path / NAME)
    cut = run("segment", NAME, WORD.strip()).stdout.strip()
    assert cut == run("segment", "other", WORD.strip()).stdout.strip() and "·" in cut


def test_the_archive_is_the_same_for_the_same_folders(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from pretrained_index import write_archive

    shutil.copytree(CARDS / NAME, tmp_path / "cards" / NAME)
    for name in ("one.zip", "two.zip"):
        write_archive(tmp_path / name, tmp_path / "cards")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    assert hub._files_of_archive(tmp_path / "one.zip", "one.zip", hub.ready_made()[NAME])
