"""The scripts around language models run: the comparison on two presets, and both fine-tuning examples."""

# ruff: noqa: E402  (without torch the tests are skipped before anything that needs it is imported)

import gzip
import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.paths import ROOT

pytest.importorskip("torch")
pytest.importorskip("accelerate")

from lm.training import pretrain

from mws_hf.extend.spelling import raw_bytes
from tests.small_language import small_run, write_corpus
from tests.small_tokenizers import small_fast


def script(name, *arguments):
    command = [sys.executable, *([ROOT / "scripts" / name] if name.endswith(".py") else ["-m", name]), *arguments]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "scripts")])}
    result = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, cwd=ROOT, env=environment
    )
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


SETTINGS = {"learning_rate": 3e-4, "report_to": [], "save_strategy": "no", "disable_tqdm": True, "use_cpu": True}


# The end token closes every message, so that a tokenizer without special tokens for roles needs no new ids.
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '### ' + message['role'] + '\n' }}{% if message['role'] == 'assistant' %}"
    "{% generation %}{{ message['content'] + eos_token }}{% endgeneration %}"
    "{% else %}{{ message['content'] + eos_token }}{% endif %}{{ '\n' }}{% endfor %}"
)


def test_fine_tuning_with_trl_and_a_chat_template(model_dir, tmp_path):
    trl, datasets = pytest.importorskip("trl"), pytest.importorskip("datasets")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    turns = [{"role": "user", "content": "Дом?"}, {"role": "assistant", "content": "Стол."}]
    tokenizer, model = (kind.from_pretrained(model_dir) for kind in (AutoTokenizer, AutoModelForCausalLM))
    tokenizer.chat_template = CHAT_TEMPLATE
    arguments = trl.SFTConfig(
        output_dir=str(tmp_path / "out"), max_steps=2, max_length=256, assistant_only_loss=True, bf16=False,
        gradient_checkpointing=False, **SETTINGS,
    )  # fmt: skip
    data = datasets.Dataset.from_list([{"messages": turns}] * 8)
    trainer = trl.SFTTrainer(model=model, args=arguments, train_dataset=data, processing_class=tokenizer)
    assert trainer.train().training_loss > 0
    trainer.save_model(str(tmp_path / "out"))
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert tokenizer.apply_chat_template(turns[:1], tokenize=False) == "### user\nДом?<|endoftext|>\n"
    assert raw_bytes(tokenizer.backend_tokenizer)[tokenizer.eos_token_id] == b""


@pytest.mark.slow
def test_the_comparison_takes_two_steps_and_goes_on_elsewhere_from_its_rows(tmp_path):
    only = ["mws-16000-lr0.002-s0", "bpe-byte-16000-lr0.002-s0"]
    sizes = ["batch_blocks=1", "hidden_size=64", "layers=2", "heads=2", "passes=1"]
    (tmp_path / "text").mkdir()
    text = write_corpus(tmp_path, 400).read_bytes()
    (tmp_path / "text" / "rus.some.txt.gz").write_bytes(gzip.compress(text))
    (tmp_path / "text" / "rus.rublimp.txt.gz").write_bytes(gzip.compress("Этого никто не читает.\n".encode()))
    results, works = tmp_path / "results", tmp_path / "works.json"
    works.write_text(json.dumps({"rus.some": [[number, f"work {number} of many"] for number in range(0, 400, 10)]}))
    arguments = ["--preset", "gpu", "--data", tmp_path, "--work", tmp_path / "work", "--results", results]
    arguments += ["--works", works]
    for setting in ("train_bytes=2500", "held_out_bytes=500", *sizes):
        arguments += ["--set", setting]
    chosen = [part for name in only for part in ("--only", name)]
    output = script("lm", "compare", *arguments, *chosen)
    assert all(name in output for name in only)
    document = json.loads((results / "lm_gpu.json").read_text(encoding="utf-8"))
    records = (results / "lm_gpu.runs.jsonl").read_text(encoding="utf-8").splitlines()
    runs = [json.loads(line) for line in records[1:]]
    assert all(1 < run["training"]["steps"] <= 3 for run in runs)
    configs = [json.loads(file.read_text(encoding="utf-8")) for file in (tmp_path / "work").rglob("configs/*.json")]
    assert configs and not any("rublimp" in file for config in configs for file in config["text"])
    rows = {row["system"]: row for row in document["rows"]}
    difference = rows["mws"]["differences"]["bpe-byte"]
    assert difference["low"] < difference["value"] < difference["high"]
    assert "| mws | 16000 | 0.002 | 1 |" in (results / "lm_gpu.md").read_text(encoding="utf-8")
    assert (results / "lm.png").stat().st_size > 1000
    assert 0 < runs[0]["evaluation"]["development"] != runs[0]["evaluation"]["bits_per_byte"]
    listed = json.loads((results / "lm_gpu.works.json").read_text(encoding="utf-8"))
    names = {part: {name for name, _ in found} for part, found in listed.items()}
    assert names["held_out"] and names["development"] and not names["held_out"] & names["development"]
    assert len(runs[0]["nats"]) == len(names["held_out"])
    assert "due      " in script("lm", "compare", *arguments, "--plan")
    shutil.rmtree(tmp_path / "work")  # another machine goes on from the records alone
    assert script("lm", "compare", *arguments, *chosen) == "" and not (tmp_path / "work").exists()
