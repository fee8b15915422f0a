"""scripts/check_clients.py without npm: what is encoded, and that a client which differs is seen."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from tests.small_tokenizers import small_fast

SCRIPT = Path(__file__).parents[1] / "scripts" / "check_clients.py"
spec = importlib.util.spec_from_file_location("check_clients", SCRIPT)
clients = importlib.util.module_from_spec(spec)
sys.modules["check_clients"] = clients
spec.loader.exec_module(clients)


def test_the_texts_are_the_same_each_time_and_hold_lines_of_the_files(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n\nthree\n", encoding="utf-8")
    found = clients.texts([str(tmp_path / "a.txt")], 2, 50)
    assert found == clients.texts([str(tmp_path / "a.txt")], 2, 50)
    assert {"one", "two"} < set(found) and "three" not in found and "" not in found


def test_streaming_restores_all_texts_and_a_wrong_decoder_is_seen():
    tokenizer = small_fast()
    rows = [
        {"text": text, "ids": tokenizer(text, add_special_tokens=False)["input_ids"]}
        for text in clients.texts([], 0, 50)
    ]
    assert clients.decoding(lambda ids: clients.streamed(tokenizer.backend_tokenizer, ids), rows)["wrong_text"] == 0
    wrong = [row["text"] for row in rows if "я" in row["text"]]
    seen = clients.decoding(lambda ids: tokenizer.decode(ids).replace("я", "ja"), rows)
    assert (seen["wrong_text"], seen["first"]) == (len(wrong), wrong[0])
