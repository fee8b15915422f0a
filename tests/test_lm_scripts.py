"""The scripts around language models run: the comparison on two presets, and both fine-tuning examples."""

# ruff: noqa: E402  (without torch the tests are skipped before anything that needs it is imported)

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("accelerate")

from mws_hf.lm.codec import raw_bytes
from mws_hf.lm.training import pretrain
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
@pytest.mark.parametrize(
    ("preset", "only", "sizes"),
    [
        ("cpu", ["bpe-8000-s0", "mws-8000-s0"], ["batch_blocks=2"]),
        ("gpu", ["bpe-mtp-8000-s0"], ["batch_blocks=1", "hidden_size=64", "layers=2", "heads=2"]),
    ],
)
def test_the_comparison_takes_two_steps_of_each_preset(preset, only, sizes, tmp_path):
    corpus, results = write_corpus(tmp_path, 400), tmp_path / "results"
    arguments = ["--preset", preset, "--text", corpus, "--work", tmp_path / "work", "--results", results]
    arguments += ["--only", *only, "--set", "train_bytes=2500", "held_out_bytes=500", *sizes]
    output = script("compare_lm.py", *arguments)
    assert all(name in output for name in only)
    document = json.loads((results / f"lm_{preset}.json").read_text(encoding="utf-8"))
    assert all(1 < run["training"]["steps"] <= 3 for run in document["runs"])
    rows = {row["system"]: row for row in document["rows"]}
    if preset == "cpu":
        assert rows["mws"]["differences"]["bpe"]["documents"] > 5
        assert "| mws | 8000 | 1 |" in (results / "lm_cpu.md").read_text(encoding="utf-8")
        assert "mws,8000" in (results / "lm_cpu.csv").read_text(encoding="utf-8")
    else:
        assert rows["bpe"]["speculation"]["steps"] > 0
    assert (results / f"lm_{preset}.png").stat().st_size > 1000
