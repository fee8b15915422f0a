"""What is done with language models runs: a comparison of tokenizers, and fine-tuning with TRL."""

# ruff: noqa: E402  (without torch the tests are skipped before anything that needs it is imported)

import gzip
import json
import shutil

import pytest

pytest.importorskip("torch")
pytest.importorskip("accelerate")

from lab.cells import Experiment, Place, keep, measure, rows_of
from lm.compare import comparison
from lm.plan import Preset, runs
from lm.training import pretrain

from mws_hf.errors import MwSError
from mws_hf.extend.base import raw_bytes
from tests.small_language import small_run, write_corpus
from tests.small_tokenizers import small_fast


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
def test_a_comparison_goes_on_elsewhere_from_its_rows_and_refuses_other_works(tmp_path):
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
    shutil.rmtree(tmp_path / "work")  # another machine goes on from the rows alone
    assert small.due(rows_of("lm_small", place.results), again=False) == []
    keep(small, [{**rows[0], "n_bytes": [1]}], place.results)
    with pytest.raises(MwSError, match="held-out works differ"):
        list(measure(small, place, small.cells()[1:2]))
