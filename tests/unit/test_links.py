"""`tokenizer/links.py`: which names and links inside a directory are followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from mws_hf.errors import MwSError
from mws_hf.tokenizer.links import file_inside


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A directory with a file, one in a subfolder, and a file beside the directory."""
    (tmp_path / "mine").write_text("secret")
    folder = tmp_path / "model"
    (folder / "shards").mkdir(parents=True)
    (folder / "shards/one").write_text("1")
    (folder / "one").write_text("1")
    return folder


@pytest.mark.parametrize("name", ["one", "shards/one", "./one", "linked", "chained"])
def test_names_and_links_inside_are_followed(model, name):
    (model / "linked").symlink_to("shards/one")
    (model / "chained").symlink_to(model / "linked")
    assert file_inside(model, name).read_text() == "1"


@pytest.mark.parametrize("name", ["../mine", "shards/../../mine", "shards/../one", "", ".", "a\0b", None, 3, ["one"]])
def test_names_that_lead_out_or_are_no_names_are_refused(model, name):
    with pytest.raises(MwSError, match="correct the name|regular file"):
        file_inside(model, name)


def test_an_absolute_name_is_refused_even_inside(model):
    with pytest.raises(MwSError, match="leads out"):
        file_inside(model, str(model / "one"))


def test_a_link_out_of_the_directory_is_refused_and_named(model, tmp_path):
    (model / "template").symlink_to(tmp_path / "mine")
    with pytest.raises(MwSError, match=r"template: is a link to .*mine, outside.*copy of that file"):
        file_inside(model, "template")


def test_a_linked_folder_is_no_way_out(model, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/file").write_text("secret")
    (model / "templates").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MwSError, match="outside"):
        file_inside(model, "templates/file")


def test_a_directory_that_is_itself_a_link_is_as_good_as_the_directory(model, tmp_path):
    (tmp_path / "link").symlink_to(model)
    assert file_inside(tmp_path / "link", "one").read_text() == "1"


def test_a_snapshot_may_lead_to_the_blobs_of_its_repository_and_no_farther(tmp_path):
    repository = tmp_path / "cache/models--user--name"
    snapshot = repository / "snapshots/abc"
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    (repository / "blobs/5e").write_text("content")
    (tmp_path / "cache/token").write_text("secret")
    (snapshot / "tokenizer.json").symlink_to("../../blobs/5e")
    (snapshot / "config.json").symlink_to("../../../token")
    assert file_inside(snapshot, "tokenizer.json").read_text() == "content"
    with pytest.raises(MwSError, match="outside"):
        file_inside(snapshot, "config.json")


def test_a_link_into_the_cache_of_the_hub_is_followed(model, tmp_path, monkeypatch):
    from huggingface_hub import constants

    (tmp_path / "hub").mkdir()
    (tmp_path / "hub/blob").write_text("content")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    (model / "weights").symlink_to(tmp_path / "hub/blob")
    assert file_inside(model, "weights").read_text() == "content"


@pytest.mark.parametrize("kind", ["absent", "broken", "loop", "folder"])
def test_what_is_no_regular_file_is_named(model, kind):
    (model / "broken").symlink_to("nowhere")
    (model / "loop").symlink_to("loop")
    (model / "folder").mkdir()
    with pytest.raises(MwSError, match=f"{kind}: is (missing|not a regular file)"):
        file_inside(model, kind)
