"""Training small language models: they learn, resume on the same loss curve, keep budgets; commands, fine-tuning."""

# ruff: noqa: E402  (without torch the tests are skipped before anything that needs it is imported)

import gzip
import json
import shutil
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("accelerate")

from lab.cells import Experiment, Place, keep, measure, rows_of
from lm.__main__ import app
from lm.bfloat16 import Float32Products
from lm.compare import comparison
from lm.data import Codec
from lm.evaluation import evaluate_run
from lm.model import Cost, build_model
from lm.plan import Preset, runs
from lm.training import pretrain, training_blocks
from transformers import AutoModelForCausalLM, AutoTokenizer
from typer.testing import CliRunner

from mws_hf.errors import MwSError
from mws_hf.surgery.base import raw_bytes
from tests.paths import ROOT
from tests.processes import python
from tests.small_language import sentences, small_run, tokenizer_dir, write_corpus
from tests.small_tokenizers import small_fast


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def bpe(tmp_path_factory):
    return tokenizer_dir(tmp_path_factory.mktemp("tokenizers"), "bpe-character")


@pytest.fixture(scope="module")
def finished(corpus, bpe, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "whole"
    return folder, pretrain(small_run(bpe, corpus), folder)


def test_a_trained_model_predicts_better_than_its_start(finished):
    folder, report = finished
    assert report["curve"][-1]["loss"] < report["curve"][0]["loss"] - 1
    result = evaluate_run(folder)
    assert result["lossless"] and result["bits_per_byte"] < 1.2
    assert sum(result["n_bytes"]) >= 6_000
    assert json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))["nats"] == result["nats"]


def gradients(model, ids):
    """Return the loss under autocast to bfloat16, and the gradient of every parameter."""
    model.zero_grad()
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    return loss.item(), {name: value.grad.clone() for name, value in model.named_parameters()}


def test_float32_products_train_as_bfloat16_does(bpe, corpus):
    model = build_model(small_run(bpe, corpus), Codec.open(bpe))
    ids = torch.arange(24).reshape(2, 12)
    loss, expected = gradients(model, ids)
    with Float32Products():
        loss_here, found = gradients(model, ids)
    assert loss_here == pytest.approx(loss, rel=1e-3)
    for name, gradient in expected.items():
        assert torch.linalg.norm(found[name] - gradient) <= 0.02 * torch.linalg.norm(gradient), name


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float32])
def test_float32_products_are_exact_before_they_are_rounded(kind):
    left, right = torch.randn(3, 65).to(kind), torch.randn(65, 4).to(kind)
    with Float32Products():
        assert torch.equal(left @ right, (left.float() @ right.float()).to(kind))
        assert torch.equal(left.expand(2, 3, 65) @ right, (left.expand(2, 3, 65).float() @ right.float()).to(kind))


def test_model_and_tokenizer_load_with_the_auto_classes(finished, bpe):
    model = AutoModelForCausalLM.from_pretrained(finished[0] / "model")
    tokenizer = AutoTokenizer.from_pretrained(finished[0] / "model")
    assert type(model).__name__ == "LlamaForCausalLM"
    assert tokenizer("Дом")["input_ids"] == Codec.open(bpe).encode(["Дом"])[0].tolist()


@pytest.mark.parametrize("multi_token", [None, {"horizon": 3}])
def test_an_interrupted_run_follows_the_same_loss_curve(corpus, bpe, tmp_path, multi_token):
    config = small_run(bpe, corpus, train_bytes=30_000, save_every=6, log_every=1, multi_token=multi_token)
    whole = pretrain(config, tmp_path / "whole")
    first = pretrain(config, tmp_path / "sliced", max_steps=9)
    assert first["steps"] == 9 and not (tmp_path / "sliced" / "training.json").exists()
    (state,) = (tmp_path / "sliced" / "checkpoints").glob("checkpoint-9/trainer_state.json")
    used = json.loads(state.read_text(encoding="utf-8"))["log_history"][-1]["cpu_seconds"]
    one_more = pretrain(config, tmp_path / "sliced", max_steps=10)
    assert one_more["cpu_seconds"] > used, "the time before the interruption counts"
    rest = pretrain(config, tmp_path / "sliced")
    assert rest["steps"] == whole["steps"] > 12
    assert [point["loss"] for point in rest["curve"]] == [point["loss"] for point in whole["curve"]]
    again = pretrain(config, tmp_path / "sliced")
    assert again == rest, "a finished run is not repeated"


def test_another_config_in_the_same_place_is_rejected(finished, corpus, bpe):
    with pytest.raises(MwSError, match="other settings"):
        pretrain(small_run(bpe, corpus, seed=1), finished[0])


def test_all_tokenizers_read_the_same_text_and_have_equal_models(corpus, bpe):
    characters = tokenizer_dir(bpe.parent, "characters")
    runs = [small_run(path, corpus, embedding_rows=400) for path in (bpe, characters)]
    codecs = [Codec.open(path) for path in (bpe, characters)]
    blocks = [training_blocks(run, codec) for run, codec in zip(runs, codecs, strict=True)]
    assert blocks[0].n_bytes.sum() == blocks[1].n_bytes.sum() >= 60_000
    texts = [b"".join(c.pieces[i] for i in b.stream) for c, b in zip(codecs, blocks, strict=True)]
    assert texts[0] == texts[1]
    costs = [Cost.of(build_model(run, codec)) for run, codec in zip(runs, codecs, strict=True)]
    assert costs[0] == costs[1] and costs[0].embedding == 400 * 32
    assert costs[1].of_training(blocks[1]) > costs[0].of_training(blocks[0])


def test_a_compute_budget_is_kept(corpus, bpe, tmp_path):
    free = small_run(bpe, corpus)
    codec = Codec.open(bpe)
    cost = Cost.of(build_model(free, codec))
    budget = 0.4 * cost.of_training(training_blocks(free, codec))
    report = pretrain(small_run(bpe, corpus, flop_budget=budget), tmp_path / "run")
    assert 0.95 * budget < report["flops"] <= budget
    with pytest.raises(MwSError, match="used up"):
        cost.affordable(training_blocks(free, codec), 3 * budget)


def test_three_commands_from_a_corpus_to_a_sample(corpus, bpe, tmp_path):
    def command(*arguments):
        result = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    small = ["--set", "hidden_size=16", "--set", "layers=1", "--set", "heads=1", "--set", "context_bytes=80"]
    sizes = ["--train-bytes", 4000, "--held-out-bytes", 1000]
    command("pretrain", tmp_path / "run", "--tokenizer", bpe, "--text", corpus, *sizes, *small)
    held_out = tmp_path / "held-out.txt"
    held_out.write_text("\n".join(sentences(5, seed=9)), encoding="utf-8")
    assert json.loads(command("evaluate", tmp_path / "run", "--text", held_out))["documents"] == 5
    assert command("generate", tmp_path / "run", "--prompt", "Дом", "--max-new-tokens", 3).startswith("Дом")


def test_a_mistake_on_the_command_line_is_one_line(tmp_path):
    command = [sys.executable, "-m", "lm", "evaluate", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT / "scripts")
    assert result.returncode == 2 and result.stderr.startswith("error: ") and "Traceback" not in result.stderr


def test_without_torch_the_command_names_what_to_install():
    code = (
        "import importlib.util as u, runpy, sys; find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'torch' else find(name, *rest)\n"
        "sys.argv = ['lm', '--help']; runpy.run_path('lm/__main__.py', run_name='__main__')"
    )
    result = python(code, cwd=ROOT / "scripts")
    assert result.returncode == 1 and "error: language models need PyTorch" in result.stderr
    assert "pip install torch accelerate" in result.stderr


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory):
    """The folder of a barely trained model with an MwS tokenizer."""
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
def test_a_comparison_resumes_elsewhere_from_its_rows_and_rejects_other_books(tmp_path):
    settings = {
        "train_bytes": 2500,
        "held_out_bytes": 500,
        "batch_blocks": 1,
        "hidden_size": 32,
        "layers": 2,
        "heads": 2,
    }
    wanted = [*runs(("bpe-byte", "mws"), [600], 2e-3, [0]), *runs(["mws"], [600], 2e-3, [0], flop_matched=True)]
    preset = Preset(language="rus", settings=settings, vocabulary=600, rate=2e-3, runs=wanted)
    (tmp_path / "text").mkdir()
    text = write_corpus(tmp_path, 400).read_bytes()
    (tmp_path / "text" / "rus.some.txt.gz").write_bytes(gzip.compress(text))
    (tmp_path / "text" / "rus.rublimp.txt.gz").write_bytes(gzip.compress("Этого никто не читает.\n".encode()))
    works = tmp_path / "works.json"
    works.write_text(json.dumps({"rus.some": [[number, f"work {number} of many"] for number in range(0, 400, 10)]}))
    place = Place(tmp_path, tmp_path / "work", tmp_path / "results", {"works": str(works)})
    small = Experiment("lm_small", comparison("lm_small", preset))
    rows = list(measure(small, place, small.cells()))
    assert [row["flop_matched"] for row in rows] == [False, False, True] and small.due(rows, again=True) == []
    assert all(1 < row["training"]["steps"] <= 9 for row in rows)
    assert rows[2]["training"]["flops"] <= rows[0]["training"]["flops"]
    assert 0 < rows[0]["evaluation"]["development"] != rows[0]["evaluation"]["bits_per_byte"]
    read = [file.read_text("utf-8") for file in (tmp_path / "work").rglob("text/*.txt")]
    assert len(read) == 3 and not any("никто" in each for each in read)
    assert "| mws | 600 | 0.002 | 1 |" in (tmp_path / "results" / "lm_small.md").read_text(encoding="utf-8")
    listed = json.loads((tmp_path / "results" / "lm_small.works.json").read_text(encoding="utf-8"))
    names = {part: {name for name, _ in found} for part, found in listed.items()}
    assert names["held_out"] and names["development"] and not names["held_out"] & names["development"]
    assert len(rows[0]["nats"]) == len(names["held_out"])
    shutil.rmtree(tmp_path / "work")  # another machine continues with only the rows
    assert small.due(rows_of("lm_small", place.results), again=False) == []
    keep(small, [{**rows[0], "n_bytes": [1]}], place.results)
    with pytest.raises(MwSError, match="held-out works differ"):
        list(measure(small, place, small.cells()[1:2]))
