"""scripts/checks/clients.py: what it compares, that differing clients are reported, and the installed clients."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from checks import clients
from tokenizers import Tokenizer

from mws_hf.text.sample_texts import NATURAL
from tests.paths import ROOT
from tests.small_tokenizers import small_fast


def run_check(call: str, place: Path, folder: Path, cases: list[dict]) -> dict:
    (folder / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
    script = str(ROOT / "scripts" / "checks" / "clients_python.py")
    return clients.run_child([sys.executable, script, call, str(place), str(folder / "cases.json")], folder)


def rows(tokenizer) -> list[dict]:
    found = clients.texts([], 0)
    return [{"text": text, "natural": natural, "ids": tokenizer.encode(text)} for text, natural in found.items()]


def test_the_texts_are_the_same_each_time_and_contain_lines_of_the_files(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n\nthree\n", encoding="utf-8")
    found = clients.texts([str(tmp_path / "a.txt")], 2)
    assert list(found) == list(clients.texts([str(tmp_path / "a.txt")], 2))
    assert found["one"] and found["two"] and found[NATURAL[0]] and not found["\ufeff"]
    assert "three" not in found and "" not in found


@pytest.mark.parametrize("alphabet", ["characters", "bytes"])
@pytest.mark.parametrize("client", clients.CLIENTS, ids=lambda client: client.name)
def test_a_client_installed_here_gives_the_same_ids_and_texts(client, alphabet, tmp_path):
    if client.reads == "convert_hf_to_gguf":
        pytest.skip("needs an environment with PyTorch; refuses, or is known to be wrong")
    # the first requirement does not name it
    own = {"llama_cpp", "onnxruntime_extensions", "vllm", "sglang", "xgrammar"}
    package = {call: call for call in own}.get(
        client.call, client.requirements[0].split("=")[0].split(">")[0] if client.requirements else "transformers"
    )
    if client.environment.startswith("transformers-4") or client.environment == "transformers-5.0.0":
        pytest.skip("another version of transformers: test_versions.py")
    if importlib.util.find_spec(package.replace("-", "_")) is None:
        pytest.skip(f"{package} is not installed")
    tokenizer = small_fast("llama3", alphabet=alphabet)
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    place, refusal = clients.exported(tmp_path / "tokenizer", client.reads, tmp_path)
    if place is None:
        assert alphabet == "characters" and "byte-level" in refusal
        return
    result = run_check(client.call, place, tmp_path, rows(tokenizer))
    if client.name in ("tokie", "gigatoken") and alphabet == "characters":
        assert result.get("wrong_ids") or "refused" in result  # if this fails, the verdict of `mws check` can be better
        return
    assert not result.get("wrong_ids") and "refused" not in result
    # a stream holds back text that ends in U+FFFD, because that may be the beginning of a character
    allowed = sum(text.endswith("\ufffd") for text in clients.texts([], 0)) if "Stream" in client.name else 0
    assert result["wrong_text"] == allowed


def test_a_client_that_differs_is_reported(tmp_path):
    tokenizer = small_fast()
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    other = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str().replace('"ByteFallback"', '"Fuse"'))
    other.save(str(tmp_path / "tokenizer" / "tokenizer.json"))
    cases = [{"text": text, "natural": True, "ids": tokenizer.encode(text)} for text in ("чит", "漢")]
    cases.append({"text": "а", "natural": False, "ids": [0, 0]})
    result = run_check("tokenizers", tmp_path / "tokenizer", tmp_path, cases)
    assert result == {"wrong_ids": 1, "natural": 0, "wrong_text": 2, "first": "漢"}
    assert clients.cell(result) == "1 (0) / 2"
