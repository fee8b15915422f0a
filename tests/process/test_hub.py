"""Only names of the form user/repo are asked of the Hub, and a Hub that does not answer costs one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mws_hf import MwSError, MwSTokenizerFast, MwSTrainer
from mws_hf.tokenizer.places import is_repository
from tests.fake_hub import running_hub
from tests.in_process import mws
from tests.paths import ROOT
from tests.processes import python
from tests.small_tokenizers import small_fast

LOAD = """
import sys
from mws_hf import MwSTokenizer, MwSTokenizerFast
from mws_hf.tokenizer.opened import open_tokenizer
for load in (MwSTokenizer.from_pretrained, MwSTokenizerFast.from_pretrained, open_tokenizer):
    try:
        load(sys.argv[1])
    except OSError as error:
        print(error)
"""


def load(name: str, endpoint: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(home)}
    environment = {key: value for key, value in environment.items() if "OFFLINE" not in key}
    return python(LOAD, name, env=environment, cwd=home)


def test_names_of_repositories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    assert is_repository("user/repo.v-1_0") and is_repository("Qwen/Qwen3-8B")
    for path in ("repo", "./a/b", "../b", "~/b", "/a/b", "a/b/c", "a/", "a/b c", ".hidden/b"):
        assert not is_repository(path), path
    assert is_repository("out/repo")  # a folder of the user's name hides nothing
    (tmp_path / "out" / "repo").mkdir()
    assert not is_repository("out/repo")


@pytest.mark.parametrize("name", ["mistyped", "/mistyped/directory", "./mistyped", "a/b/c"])
def test_a_mistyped_directory_is_said_at_once(name: str, tmp_path: Path):
    with running_hub() as hub:
        done = load(name, hub.address, tmp_path)
    lines = done.stdout.splitlines()
    assert hub.requests == [] and len(lines) == 3 and all("no such directory" in line for line in lines), done


def test_a_hub_that_does_not_answer_costs_one_line(tmp_path: Path):
    done = load("nobody/nothing", "http://127.0.0.1:9", tmp_path)
    assert "Retry" not in done.stderr and "Traceback" not in done.stderr, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3 and all("does not answer" in line and "nobody/nothing" in line for line in lines), done


def test_what_is_missing_is_an_os_error_as_transformers_documents(tmp_path: Path):
    for place in (tmp_path, tmp_path / "absent", "mistyped"):
        with pytest.raises(OSError) as caught:
            MwSTokenizerFast.from_pretrained(place)
        assert isinstance(caught.value, MwSError)


def commands_that_open(name: str, folder: Path) -> list[list[str]]:
    """Every command that opens a tokenizer, given one by name."""
    text, out = str(folder / "text.txt"), str(folder / "out")
    return [
        ["segment", name, "перечитать"],
        ["evaluate", name, "--text", text],
        ["check", name],
        ["explain", "перечитать", "--model", name],
        ["export", name, "--format", "byte-level", "-o", out],
        ["encode", name, text, "-o", out + ".ids", "--quiet"],
        ["extend", name, text, "--add", "3", "-o", out + ".more", "--quiet"],
    ]


def test_one_message_for_a_mistyped_name_in_every_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("перечитать\n", encoding="utf-8")
    commands = [*commands_that_open("mistyped", tmp_path), ["check", "mistyped", "--repair"]]
    said = {mws(*command).stderr for command in commands}
    (message,) = said
    assert "mistyped: no such directory" in message and "user/repo" in message


COMMANDS = """
import json, sys
from mws_hf.tokenizer.opened import open_tokenizer
from tests.in_process import mws
assert open_tokenizer("user/small").name == "user/small"
for line in sys.stdin:
    print(json.dumps(mws(*json.loads(line))))
"""


def test_hub_names_serve_every_command(tmp_path: Path):
    small_fast().save_pretrained(tmp_path / "small")
    files = {file.name: file.read_bytes() for file in (tmp_path / "small").iterdir()}
    (tmp_path / "gguf").mkdir()
    for folder in (tmp_path, tmp_path / "gguf"):
        (folder / "text.txt").write_text("перечитать записать\n" * 3, encoding="utf-8")
    with running_hub() as hub:
        weights = {"model.safetensors": b"never asked for"}
        hub.repositories |= {"user/small": files | weights, "gpt2": files, "user/empty": {"README.md": b"nothing"}}
        hub.repositories["user/gguf"] = {"model.gguf": b"weights of another program"}
        opening = commands_that_open("user/small", tmp_path)
        both = ["evaluate", "gpt2", f"mine={tmp_path / 'small'}", "--text", str(tmp_path / "text.txt")]
        refused = [["check", "user/small", "--repair"], ["segment", "user/absent", "a"]]
        absent = [["check", "user/empty"], *commands_that_open("user/gguf", tmp_path / "gguf")]
        commands = [*opening, both, *refused, *absent]
        given = "".join(json.dumps(command) + "\n" for command in commands)
        done = python(COMMANDS, input=given, env=hub.environment(tmp_path / "home"), cwd=ROOT)
    results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert len(results) == len(commands), done.stderr[-3000:]
    for command, (code, output, error) in zip(commands, results[: len(opening) + 1], strict=False):
        assert code == 0 and output, (command, error)
    assert "| gpt2 |" in results[len(opening)][1] and "| mine |" in results[len(opening)][1]
    repair, absent, empty, *nothing = (error for _, _, error in results[len(opening) + 1 :])
    assert "hf download user/small" in repair
    assert "no such repository" in absent and "user/empty: holds no tokenizer" in empty
    assert all("user/gguf: the repository has no file of a tokenizer" in error for error in nothing), nothing
    assert not [request for request in hub.requests if "safetensors" in request]


EXPLAIN = """
import sys
from mws_hf import MwSTokenizer, MwSTokenizerFast
for kind in (MwSTokenizerFast, MwSTokenizer):
    tokenizer = kind.from_pretrained("user/ours", subfolder="inside")
    assert tokenizer.explain("писатель").spelt, kind
tokenizer.set_dropout(0.5, kind="morph")
"""


def test_the_record_of_a_tokenizer_on_the_hub_is_found_in_its_subfolder(tmp_path: Path):
    text = ["перечитать читатель писатель писал читал переписать"] * 40
    MwSTrainer(vocab_size=420, show_progress=False).train(text).save_pretrained(tmp_path / "ours")
    with running_hub() as hub:
        files = {f"inside/{path.name}": path.read_bytes() for path in (tmp_path / "ours").iterdir()}
        hub.repositories["user/ours"] = files
        done = python(EXPLAIN, env=hub.environment(tmp_path / "home"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]


def test_push_and_load_by_name(tmp_path):
    with running_hub() as hub:
        hub.repositories["user/empty"] = {"README.md": b"nothing here"}
        hub.repositories["user/by-hand"] = {"README.md": b"# Mine\n"}
        hub.repositories["user/unknown"] = {"README.md": b"# Mine too\n"}
        hub.broken.add("user/unknown/README.md")
        command = [sys.executable, "-m", "tests.hub_child", str(tmp_path)]
        child = subprocess.run(
            command, capture_output=True, text=True, cwd=ROOT, env=hub.environment(tmp_path / "home"), check=False
        )
        assert child.returncode == 0, child.stderr[-4000:] + "\n".join(hub.requests[-20:])
    for name in ("user/pushed", "user/saved", "user/slow", "user/again"):
        files = hub.repositories[name]
        assert {"tokenizer.json", "tokenizer_config.json", "stock_tokenizer.py"} <= set(files)
        config = json.loads(files["tokenizer_config.json"])
        assert config["tokenizer_class"] == "PreTrainedTokenizerFast"
        assert config["auto_map"]["AutoTokenizer"][1] == "stock_tokenizer.PreTrainedTokenizerFast"
    pushed = hub.repositories["user/pushed"]  # transformers 4.51 keeps the template in the configuration
    assert "chat_template.jinja" in pushed or "chat_template" in json.loads(pushed["tokenizer_config.json"])
    trained = hub.repositories["user/trained"]
    card = trained["README.md"].decode()
    assert 'from_pretrained("user/trained")' in card and "generated by mws-hf" in card and "| morph merges | " in card
    assert {"mws_training.json", "mws_evidence.pq"} <= set(trained)
    for branch in ("refs/pr/1", "dev"):  # the card goes where the files go, in one commit
        assert set(hub.repositories[f"user/trained@{branch}"]) == set(trained)
    assert len(hub.messages) == 13 and set(hub.messages) == {"first", "Upload tokenizer"}
    assert "| morph merges | " in hub.repositories["user/loaded"]["README.md"].decode()  # by the record beside it
    for name, card in (("user/by-hand", b"# Mine\n"), ("user/unknown", b"# Mine too\n")):
        for branch in ("", "@dev"):
            assert hub.repositories[name + branch]["README.md"] == card
            assert "tokenizer.json" in hub.repositories[name + branch]
    assert child.stderr.count("user/unknown: no card was written, for the Hub does not show its own") == 2
