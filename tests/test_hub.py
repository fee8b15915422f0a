"""Pushing to and loading from the Hub by name, against a server on the loopback interface."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.fake_hub import running_hub

ROOT = Path(__file__).resolve().parent.parent


def test_push_and_load_by_name(tmp_path):
    with running_hub() as hub:
        hub.repositories["user/empty"] = {"README.md": b"nothing here"}
        environment = {key: value for key, value in os.environ.items() if not key.upper().startswith(("HF_", "HTTP"))}
        environment |= {"HF_ENDPOINT": hub.address, "HF_TOKEN": "hf_" + "x" * 34, "HF_HOME": str(tmp_path / "home")}
        environment |= {"NO_PROXY": "127.0.0.1", "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
        command = [sys.executable, "-m", "tests.hub_child", str(tmp_path)]
        child = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
        assert child.returncode == 0, child.stderr[-4000:] + "\n".join(hub.requests[-20:])
    for name in ("user/pushed", "user/saved", "user/slow", "user/again"):
        files = hub.repositories[name]
        assert {"tokenizer.json", "tokenizer_config.json", "stock_tokenizer.py"} <= set(files)
        config = json.loads(files["tokenizer_config.json"])
        assert config["tokenizer_class"] == "PreTrainedTokenizerFast"
        assert config["auto_map"]["AutoTokenizer"][1] == "stock_tokenizer.PreTrainedTokenizerFast"
    pushed = hub.repositories["user/pushed"]  # transformers 4.51 keeps the template in the configuration
    assert "chat_template.jinja" in pushed or "chat_template" in json.loads(pushed["tokenizer_config.json"])
    assert {"vocabulary.json", "merges.json"} <= set(hub.repositories["user/slow"])
