"""Only names of the form user/repo are asked of the Hub, and a Hub that does not answer costs one line."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mws_hf import MwSError, MwSTokenizerFast
from mws_hf.tokenizer_file import is_repository

LOAD = """
import sys
from mws_hf import MwSTokenizer, MwSTokenizerFast
from mws_hf.tokenizer_file import load_backend
for load in (MwSTokenizer.from_pretrained, MwSTokenizerFast.from_pretrained, load_backend):
    try:
        load(sys.argv[1])
    except OSError as error:
        print(error)
"""


def load(name: str, endpoint: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(home)}
    environment = {key: value for key, value in environment.items() if "OFFLINE" not in key}
    command = [sys.executable, "-c", LOAD, name]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=home)


def test_names_of_repositories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    assert is_repository("user/repo.v-1_0") and is_repository("Qwen/Qwen3-8B")
    for path in ("repo", "out/mistyped", "./a/b", "../b", "~/b", "/a/b", "a/b/c", "a/", "a/b c", ".hidden/b"):
        assert not is_repository(path), path


@pytest.mark.parametrize("name", ["mistyped", "/mistyped/directory", "./mistyped", "a/b/c"])
def test_a_mistyped_directory_is_said_at_once(name: str, tmp_path: Path):
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        do_GET = do_HEAD

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    done = load(name, f"http://127.0.0.1:{server.server_port}", tmp_path)
    server.shutdown()
    server.server_close()
    lines = done.stdout.splitlines()
    assert asked == [] and len(lines) == 3 and all("no such directory" in line for line in lines), done


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
