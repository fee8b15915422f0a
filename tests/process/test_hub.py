"""Only names of the form user/repo are looked up on the Hub, and a Hub that does not answer is reported in one line.

Modules: tokenizer/opened.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import transformers

from mws_hf import MwSError, MwSTokenizerFast, MwSTrainer
from mws_hf.tokenizer.layout import RECORD_FILE
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
    assert is_repository("out/repo")  # a folder with the name of the user makes no difference
    (tmp_path / "out" / "repo").mkdir()
    assert not is_repository("out/repo")


@pytest.mark.parametrize("name", ["mistyped", "/mistyped/directory", "./mistyped", "a/b/c"])
def test_a_mistyped_directory_is_reported_at_once(name: str, tmp_path: Path):
    with running_hub() as hub:
        done = load(name, hub.address, tmp_path)
    lines = done.stdout.splitlines()
    assert hub.requests == [] and len(lines) == 3 and all("no such folder" in line for line in lines), done


@pytest.mark.parametrize("name", ["tokenizer.json", "my-tokenizer.json"])
def test_a_local_file_is_loaded_without_a_request(name: str, tmp_path: Path):
    small_fast().save_pretrained(tmp_path)
    (tmp_path / "my-tokenizer.json").write_bytes((tmp_path / "tokenizer.json").read_bytes())
    with running_hub() as hub:
        done = load(name, hub.address, tmp_path)
    assert (done.returncode, done.stdout, hub.requests) == (0, "", []), done


def test_a_hub_that_does_not_answer_is_reported_in_one_line(tmp_path: Path):
    done = load("nobody/nothing", "http://127.0.0.1:9", tmp_path)
    assert "Retry" not in done.stderr and "Traceback" not in done.stderr, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3 and all("does not answer" in line and "nobody/nothing" in line for line in lines), done


def test_a_missing_tokenizer_is_an_os_error_as_transformers_documents(tmp_path: Path):
    for place in (tmp_path, tmp_path / "absent", "mistyped"):
        with pytest.raises(OSError) as caught:
            MwSTokenizerFast.from_pretrained(place)
        assert isinstance(caught.value, MwSError)


def commands_that_open(name: str, folder: Path) -> list[list[str]]:
    """Return every command that opens a tokenizer, with the name of a tokenizer."""
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
    assert "mistyped: no such folder" in message and "user/repo" in message


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
        assert code == 0 and (output or "--quiet" in command), (command, error)
    assert "| gpt2 |" in results[len(opening)][1] and "| mine |" in results[len(opening)][1]
    repair, absent, empty, *nothing = (error for _, _, error in results[len(opening) + 1 :])
    assert "hf download user/small" in repair
    assert "no such repository" in absent and "user/empty: has no tokenizer" in empty
    assert all("user/gguf: the repository has no file of a tokenizer" in error for error in nothing), nothing
    assert not [request for request in hub.requests if "safetensors" in request]


TRY_BOTH = """
import sys
from mws_hf import MwSError, MwSTokenizerFast
from mws_hf.tokenizer.opened import open_tokenizer
for load in (MwSTokenizerFast.from_pretrained, open_tokenizer):
    for name in sys.argv[1:]:
        try:
            load(name)
            print("loaded")
        except MwSError as error:
            print(error)
"""
ANSWERS = {
    401: "requires a login, or rejects your token (HTTP status 401); log in",
    403: "denies access (HTTP status 403); check that your token may read",
    429: "has had too many requests from here (HTTP status 429); wait a few minutes",
    500: "fails at the moment (HTTP status 500); try again later",
    503: "fails at the moment (HTTP status 503); try again later",
    200: "answers with a page that is not the Hub's, such as the login page of a network; log in to the network",
}


@pytest.fixture(scope="module")
def filled_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that has all files of user/whole and only the configuration of user/half."""
    home = tmp_path_factory.mktemp("cache")
    small_fast().save_pretrained(home / "small")
    files = {file.name: file.read_bytes() for file in (home / "small").iterdir()}
    with running_hub() as hub:
        hub.repositories |= {"user/whole": files, "user/half": {"config.json": b"{}", "README.md": b""}}
        fetch = "from huggingface_hub import snapshot_download as get; get('user/whole'); get('user/half')"
        done = python(fetch, env=hub.environment(home / "home"), cwd=home)
        assert done.returncode == 0, done.stderr
    return home / "home"


@pytest.mark.parametrize("status", ANSWERS)
def test_the_answer_of_the_hub_is_reported_and_the_cache_is_used(status: int, filled_cache: Path, tmp_path: Path):
    with running_hub() as hub:
        hub.always = status
        names = ("user/whole", "user/half", "user/absent")
        done = python(TRY_BOTH, *names, env=hub.environment(filled_cache), cwd=tmp_path)
        requests = len(hub.requests)
    lines = [line for line in done.stdout.splitlines() if line]
    assert lines[0] == lines[3] == "loaded", done
    for line in (lines[1], lines[4]):
        assert line.startswith("user/half: the cache has files of this repository and no tokenizer, while"), line
    for line in (lines[2], lines[5]):
        assert line.startswith("user/absent: no such folder, and as a Hub name it is not in the cache"), line
    assert all(ANSWERS[status] in line for line in lines if line != "loaded"), lines
    assert requests <= 6, "each name is asked for once"


def test_offline_the_variable_is_named_and_not_the_network(filled_cache: Path, tmp_path: Path):
    environment = {**os.environ, "HF_HOME": str(filled_cache), "HF_HUB_OFFLINE": "1"}
    done = python(TRY_BOTH, "user/whole", "user/half", "user/absent", env=environment, cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert [line == "loaded" for line in lines] == [True, False, False] * 2, done
    assert all("HF_HUB_OFFLINE" in line for line in lines if line != "loaded")
    assert "the cache has files of this repository and no tokenizer" in lines[1] and lines[1] == lines[4]


def test_a_hub_that_fails_in_the_middle_of_a_download(tmp_path: Path):
    with running_hub() as hub:
        small_fast().save_pretrained(tmp_path / "small")
        hub.repositories["user/part"] = {file.name: file.read_bytes() for file in (tmp_path / "small").iterdir()}
        hub.broken.add("user/part/tokenizer_config.json")
        done = python(TRY_BOTH, "user/part", env=hub.environment(tmp_path / "home"), cwd=tmp_path)
    line = done.stdout.splitlines()[-1]
    # transformers 4.51 treats a forbidden file like a missing one
    ignored = line == "loaded" and transformers.__version__ < "5"
    assert ignored or "denies access (HTTP status 403)" in line, done


EXPLAIN = """
import sys
from mws_hf import MwSTokenizer, MwSTokenizerFast
for kind in (MwSTokenizerFast, MwSTokenizer):
    tokenizer = kind.from_pretrained("user/ours", subfolder="inside")
    assert tokenizer.explain("писатель").spelled_words, kind
tokenizer.set_dropout(0.5, kind="morph")
"""


def test_the_metadata_of_a_tokenizer_on_the_hub_are_found_in_its_subfolder(tmp_path: Path):
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
    pushed = hub.repositories["user/pushed"]  # transformers 4.51 stores the template in tokenizer_config.json
    assert "chat_template.jinja" in pushed or "chat_template" in json.loads(pushed["tokenizer_config.json"])
    trained = hub.repositories["user/trained"]
    card = trained["README.md"].decode()
    assert 'from_pretrained("user/trained")' in card and "generated by mws-hf" in card and "| morph merges | " in card
    assert {RECORD_FILE, "mws_evidence.pq"} <= set(trained)
    for branch in ("refs/pr/1", "dev"):  # the card is in the same commit as the files
        assert set(hub.repositories[f"user/trained@{branch}"]) == set(trained)
    assert len(hub.messages) == 13 and set(hub.messages) == {"first", "Upload tokenizer"}
    # from the training metadata next to it
    assert "| morph merges | " in hub.repositories["user/loaded"]["README.md"].decode()
    for name, card in (("user/by-hand", b"# Mine\n"), ("user/unknown", b"# Mine too\n")):
        for branch in ("", "@dev"):
            assert hub.repositories[name + branch]["README.md"] == card
            assert "tokenizer.json" in hub.repositories[name + branch]
    assert child.stderr.count("user/unknown: no card was written, because the one on the Hub cannot be read") == 2
