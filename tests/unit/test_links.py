"""`tokenizer/links.py`: which names and links inside a folder are followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from mws_hf.errors import MwSError
from mws_hf.tokenizer.links import file_inside
from tests.in_process import mws
from tests.small_bases import gpt2_like, save
from tests.small_tokenizers import small_fast


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder with a file and a file in a subfolder, and another file next to the folder."""
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
def test_names_that_lead_out_of_the_folder_or_are_not_names_are_rejected(model, name):
    with pytest.raises(MwSError, match="correct the name|regular file"):
        file_inside(model, name)


def test_an_absolute_name_is_rejected_even_inside(model):
    with pytest.raises(MwSError, match="leads out"):
        file_inside(model, str(model / "one"))


def test_a_link_out_of_the_directory_is_rejected_and_named(model, tmp_path):
    (model / "template").symlink_to(tmp_path / "mine")
    with pytest.raises(MwSError, match=r"template: is a link to .*mine, outside.*copy of that file"):
        file_inside(model, "template")


def test_a_linked_folder_does_not_lead_out_of_the_folder(model, tmp_path):
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
def test_a_file_that_is_not_regular_is_named(model, kind):
    (model / "broken").symlink_to("nowhere")
    (model / "loop").symlink_to("loop")
    (model / "folder").mkdir()
    with pytest.raises(MwSError, match=f"{kind}: is (missing|not a regular file)"):
        file_inside(model, kind)


LINKED = [
    "chat_template.jinja",
    "special_tokens_map.json",
    "tokenizer_config.json",
    "additional_chat_templates/tool.jinja",
]


def commands_that_copy(base: Path, folder: Path) -> dict[str, list[object]]:
    """Return every command that copies files next to a tokenizer into its output."""
    return {
        "extend": ["extend", base, folder / "text.txt", "--add", 3, "-q", "-o", folder / "out"],
        "trim": ["trim", base, "--text", folder / "text.txt", "--keep-size", 300, "-q", "-o", folder / "out"],
        "export": ["export", base, "--format", "byte-level", "-o", folder / "out"],
    }


@pytest.mark.parametrize("name", LINKED)
@pytest.mark.parametrize("command", ["extend", "trim", "export"])
def test_no_output_contains_the_content_of_a_file_outside(command, name, tmp_path):
    base = save(small_fast().to_backend() if command == "export" else gpt2_like(), tmp_path / "base")
    (tmp_path / "text.txt").write_text("перечитать записать переписать\n" * 20, encoding="utf-8")
    (tmp_path / "secret").write_text('{"key": "do not copy"}')
    file = base / name
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    file.symlink_to(tmp_path / "secret")
    done = mws(*commands_that_copy(base, tmp_path)[command])
    copied = [path for path in (tmp_path / "out").rglob("*") if path.is_file() and b"do not copy" in path.read_bytes()]
    assert not copied
    if command != "export" or name != "special_tokens_map.json":  # `mws export` does not copy this file
        assert done.returncode == 2 and f"{name}: is a link to" in done.stderr and not (tmp_path / "out").exists()


def test_transplant_copies_no_file_from_outside(tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("torch")
    base, new = save(gpt2_like(), tmp_path / "model"), save(gpt2_like(), tmp_path / "new")
    config = transformers.GPT2Config(vocab_size=gpt2_like().get_vocab_size(), n_embd=8, n_layer=1, n_head=1)
    transformers.GPT2LMHeadModel(config).save_pretrained(base)
    (tmp_path / "secret").write_text("do not copy")
    for place in (base / "NOTES", new / "chat_template.jinja"):
        place.symlink_to(tmp_path / "secret")
        done = mws("transplant", base, new, "-o", tmp_path / "out")
        assert done.returncode == 2 and f"{place.name}: is a link to" in done.stderr, done
        assert not (tmp_path / "out").exists()
        place.unlink()
    (base / "NOTES").symlink_to("config.json")
    assert mws("transplant", base, new, "-o", tmp_path / "out").returncode == 0
