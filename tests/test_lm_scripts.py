"""The scripts around language models run: the comparison on two presets, and both fine-tuning examples."""

# ruff: noqa: E402  (without torch the tests are skipped before anything that needs it is imported)

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("accelerate")

from mws_hf.lm.pretrain import pretrain
from mws_hf.lm.token_bytes import raw_bytes
from tests.small_language import sentences, small_run, write_corpus
from tests.small_tokenizers import small_fast

ROOT = Path(__file__).resolve().parent.parent


def script(name, *arguments):
    command = [sys.executable, str(ROOT / "scripts" / name), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory):
    """A model on an MwS directory, barely trained."""
    folder = tmp_path_factory.mktemp("mws")
    small_fast().save_pretrained(folder / "tokenizer")
    pretrain(
        small_run(folder / "tokenizer", write_corpus(folder, 300), train_bytes=5000, held_out_bytes=500), folder / "run"
    )
    return folder / "run" / "model"


def test_fine_tuning_with_trainer(model_dir, tmp_path):
    pytest.importorskip("datasets")
    text = tmp_path / "text.txt"
    text.write_text("\n".join(sentences(30)), encoding="utf-8")
    assert "loss" in script("finetune_trainer.py", model_dir, text, "--output", tmp_path / "out", "--max-steps", 3)
    assert (tmp_path / "out" / "model.safetensors").is_file()


def test_fine_tuning_with_trl_and_a_chat_template(model_dir, tmp_path):
    pytest.importorskip("trl")
    data = tmp_path / "dialogues.jsonl"
    turns = [{"role": "user", "content": "Дом?"}, {"role": "assistant", "content": "Стол."}]
    data.write_text("\n".join(json.dumps({"messages": turns}, ensure_ascii=False) for _ in range(8)), encoding="utf-8")
    assert "loss" in script("finetune_sft.py", model_dir, data, "--output", tmp_path / "out", "--max-steps", 2)
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert tokenizer.apply_chat_template(turns[:1], tokenize=False) == "### user\nДом?<|endoftext|>\n"
    assert raw_bytes(tokenizer.backend_tokenizer)[tokenizer.eos_token_id] == b""


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["cpu", "gpu"])
def test_the_comparison_takes_two_steps_of_each_preset(preset, tmp_path):
    corpus = write_corpus(tmp_path, 400)
    sizes = ["train_bytes=2500", "held_out_bytes=500", "batch_blocks=8" if preset == "cpu" else "batch_blocks=1"]
    small = ["hidden_size=64", "layers=2", "heads=2"] if preset == "gpu" else []
    only = ["bpe-8000-s0", "mws-8000-s0", "bpe-mtp-8000-s0"]
    arguments = ["--preset", preset, "--text", corpus, "--work", tmp_path / "work", "--results", tmp_path / "results"]
    output = script("compare_lm.py", *arguments, "--only", *only, "--set", *sizes, *small)
    assert all(name in output for name in only)
    results = json.loads((tmp_path / "results" / f"lm_{preset}.json").read_text(encoding="utf-8"))
    rows = {(row["system"], row["multi_token"]): row for row in results["rows"]}
    assert rows["mws", False]["difference"]["documents"] > 5 and rows["bpe", True]["speculation"]["steps"] > 0
    assert all(run["training"]["steps"] <= 3 for run in results["runs"])
    table = (tmp_path / "results" / f"lm_{preset}.md").read_text(encoding="utf-8")
    assert "| mws | 8000 | 1 |" in table
    assert (tmp_path / "results" / f"lm_{preset}.png").stat().st_size > 1000
    assert "mws,8000" in (tmp_path / "results" / f"lm_{preset}.csv").read_text(encoding="utf-8")
    again = script("compare_lm.py", *arguments, "--only", *only, "--set", *sizes, *small)
    assert float(again.split()[0]) < 5, "finished runs are not repeated"
