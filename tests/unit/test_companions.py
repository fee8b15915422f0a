"""The files next to a model's weights (`surgery/companions.py`), and names and headers of untrusted weights."""

# ruff: noqa: E402  (without torch the tests are skipped before anything that needs it is imported)

import json
import logging
import struct
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("accelerate")

from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

from mws_hf import MwSError
from mws_hf.corpus.counting import count_documents
from mws_hf.surgery.checkpoint import transplant_directory
from mws_hf.surgery.embeddings import transplant
from mws_hf.surgery.extension import extend
from mws_hf.surgery.model_tables import read_tensor_header
from tests.in_process import mws
from tests.small_bases import SPECIAL, llama3_like, russian, save

ROWS = max(llama3_like().get_vocab().values()) + 1
INDEX = "model.safetensors.index.json"


@pytest.fixture(scope="module")
def larger(tmp_path_factory):
    """The folder of a base and of its extension."""
    place = tmp_path_factory.mktemp("companions")
    base = save(llama3_like(), place / "base", eos_token=SPECIAL[1])
    extend(base, count_documents(russian(), workers=1), 20).save(place / "larger", base)
    return place / "larger"


@pytest.fixture
def model(larger, tmp_path):
    """A small model in several shards, with its tokenizer."""
    torch.manual_seed(1)
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = LlamaConfig(vocab_size=ROWS, tie_word_embeddings=False, **sizes)
    LlamaForCausalLM(config).save_pretrained(tmp_path / "model", max_shard_size="20KB")
    AutoTokenizer.from_pretrained(larger.parent / "base").save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def write(file: Path, content) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), encoding="utf-8")


def index_of(model):
    return json.loads((model / INDEX).read_text("utf-8"))


def shard_with(model, name, place):
    """Change the file that the index names for a tensor."""
    index = index_of(model)
    old = index["weight_map"][name]
    index["weight_map"] = {key: place if file == old else file for key, file in index["weight_map"].items()}
    write(model / INDEX, index)
    return model / old


@pytest.mark.parametrize("kind", ["parent", "absolute", "link", "number", "missing"])
def test_no_file_outside_is_written_or_read(model, larger, tmp_path, kind):
    mine = tmp_path / "mine" / "weights.safetensors"
    mine.parent.mkdir()
    save_file({"x": torch.zeros(3)}, mine)
    before = mine.read_bytes()
    name = {"parent": "deep/../../mine/weights.safetensors", "absolute": str(mine), "number": 7}.get(kind, "gone")
    shard = shard_with(model, "model.norm.weight", name)
    if kind == "link":
        shard_with(model, "lm_head.weight", "here.safetensors")
        (model / "here.safetensors").symlink_to(mine)
        shard_with(model, "model.norm.weight", shard.name)
    done = mws("transplant", model, larger, "-o", tmp_path / "new")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert mine.read_bytes() == before and not (tmp_path / "new").exists()
    checked = mws("check", model)
    assert checked.returncode == 1 and str(model) in checked.stdout + checked.stderr


@pytest.mark.parametrize("name", ["gone\ud800.safetensors", "n" * 300, "parts/\0"])
def test_a_name_that_no_file_can_have_is_an_error(model, larger, tmp_path, name):
    shard_with(model, "model.norm.weight", name)
    with pytest.raises(MwSError, match="is not the name of a file"):
        transplant_directory(model, larger, tmp_path / "new")
    assert mws("check", model).returncode == 1


@pytest.mark.parametrize("named", [None, "other.safetensors", INDEX])
def test_the_weights_that_transformers_loads_are_transplanted(model, larger, tmp_path, named):
    """A single file has priority over an index, and a file that config.json names has priority over both."""
    loaded = AutoModelForCausalLM.from_pretrained(model)
    for file, number in (("model.safetensors", 1), ("other.safetensors", 2)):
        save_file({key: value + number for key, value in loaded.state_dict().items()}, model / file, {"format": "pt"})
    config = json.loads((model / "config.json").read_text("utf-8"))
    write(model / "config.json", config if named is None else {**config, "transformers_weights": named})
    transplant_directory(model, larger, tmp_path / "new")
    old, new = (AutoModelForCausalLM.from_pretrained(place) for place in (model, tmp_path / "new"))
    assert torch.equal(new.model.embed_tokens.weight[:ROWS], old.model.embed_tokens.weight)
    assert torch.equal(new.model.norm.weight, old.model.norm.weight)


def test_a_table_that_the_index_does_not_name_follows(model, larger, tmp_path):
    loaded = AutoModelForCausalLM.from_pretrained(model)
    save_file(loaded.state_dict(), model / "all.safetensors", {"format": "pt"})
    named = dict.fromkeys(set(index_of(model)["weight_map"]) - {"lm_head.weight"}, "all.safetensors")
    write(model / INDEX, {"metadata": {}, "weight_map": named})
    transplant_directory(model, larger, tmp_path / "new")
    old, new = (AutoModelForCausalLM.from_pretrained(place) for place in (model, tmp_path / "new"))
    assert torch.equal(new.lm_head.weight[:ROWS], old.lm_head.weight)


def test_shards_in_subfolders_stay_where_they_are(model, larger, tmp_path):
    for name in ("model.embed_tokens.weight", "model.norm.weight"):
        place = index_of(model)["weight_map"][name]
        if "/" not in place:
            shard = shard_with(model, name, f"./parts/of/{place}")
            (model / "parts/of").mkdir(parents=True, exist_ok=True)
            shard.rename(model / "parts/of" / shard.name)
    write(model / "parts" / "notes.json", {"kept": True})
    transplant_directory(model, larger, tmp_path / "new")
    assert index_of(tmp_path / "new")["weight_map"] == index_of(model)["weight_map"]
    assert (tmp_path / "new/parts/notes.json").is_file()
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "new")
    old = AutoModelForCausalLM.from_pretrained(model)
    assert torch.equal(loaded.model.embed_tokens.weight[:ROWS], old.model.embed_tokens.weight)
    assert torch.equal(loaded.model.norm.weight, old.model.norm.weight)


def test_totals_and_params_json_have_the_new_sizes(model, larger, tmp_path):
    index = index_of(model)
    loaded = AutoModelForCausalLM.from_pretrained(model)
    write(model / INDEX, {**index, "metadata": {**index["metadata"], "total_parameters": loaded.num_parameters()}})
    write(model / "params.json", {"dim": 16, "vocab_size": ROWS})
    transplant_directory(model, larger, tmp_path / "new")
    new, rows = AutoModelForCausalLM.from_pretrained(tmp_path / "new"), ROWS + 20
    assert new.config.vocab_size == rows
    assert index_of(tmp_path / "new")["metadata"]["total_parameters"] == new.num_parameters()
    assert json.loads((tmp_path / "new/params.json").read_text("utf-8")) == {"dim": 16, "vocab_size": rows}


def test_folders_of_the_model_are_copied_whole(model, larger, tmp_path, caplog):
    """Copied are folders that modules.json names, with any weights, and all others without the old vocabulary."""
    paths = ["", "1_Pooling", "2_Dense", "modules/3_LayerNorm"]
    write(model / "modules.json", [{"idx": n, "path": path, "type": "x.Y"} for n, path in enumerate(paths)])
    write(model / "1_Pooling/config.json", {"word_embedding_dimension": 16})
    (model / "2_Dense").mkdir()
    save_file({"linear.weight": torch.ones(4, 16)}, model / "2_Dense/model.safetensors")
    (model / "modules/3_LayerNorm").mkdir(parents=True)
    (model / "modules/3_LayerNorm/pytorch_model.bin").write_bytes(b"weights")
    (model / "speech").mkdir()
    save_file({"codebook.weight": torch.ones(9, 16)}, model / "speech/model.safetensors")
    (model / "custom_generate").mkdir()
    (model / "custom_generate/generate.py").write_text("steps = 3\n", encoding="utf-8")
    kept = {
        file.relative_to(model): file.read_bytes()
        for folder in ("1_Pooling", "2_Dense", "modules", "speech", "custom_generate")
        for file in (model / folder).rglob("*")
        if file.is_file()
    }
    (model / ".cache").mkdir()
    (model / ".cache/lock").write_text("x", encoding="utf-8")
    transplant_directory(model, larger, tmp_path / "new")
    assert {name: (tmp_path / "new" / name).read_bytes() for name in kept} == kept and len(kept) == 5
    assert not (tmp_path / "new/.cache").exists() and "left behind" not in caplog.text


def test_copies_of_the_old_model_are_left_behind_and_named(model, larger, tmp_path, caplog):
    (model / "onnx").mkdir()
    (model / "onnx/model.onnx").write_bytes(b"graph")
    write(model / "original/tokenizer.json", {})
    (model / "checkpoint-5").mkdir()
    save_file({"lm_head.weight": torch.ones(ROWS, 16)}, model / "checkpoint-5/model.safetensors")
    (model / "pytorch_model.bin").write_bytes(b"weights")
    (model / "graph").mkdir()
    (model / "graph/model.onnx_data").write_bytes(b"weights of a graph")
    with caplog.at_level(logging.WARNING):
        transplant_directory(model, larger, tmp_path / "new")
    assert "checkpoint-5/, graph/, onnx/, original/, pytorch_model.bin;" in caplog.text
    left = ("checkpoint-5", "onnx", "original", "pytorch_model.bin")
    assert not [name for name in left if (tmp_path / "new" / name).exists()]


@pytest.mark.parametrize("by", ["modules.json", "router_config.json"])
def test_a_module_with_the_old_vocabulary_stops_the_command(model, larger, tmp_path, by):
    write(
        model / by, [{"path": "query_1_Static"}] if by == "modules.json" else {"structure": {"q": ["query_1_Static"]}}
    )
    (model / "query_1_Static").mkdir()
    save_file({"weight": torch.ones(ROWS)}, model / "query_1_Static/model.safetensors")
    with pytest.raises(MwSError, match=r"query_1_Static/model.safetensors: has a row for each token"):
        transplant_directory(model, larger, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("path", ["../shared/2_Dense", "/shared/2_Dense"])
def test_a_module_outside_of_the_model_stops_the_command(model, larger, tmp_path, path):
    write(model / "modules.json", [{"path": "", "type": "x.Transformer"}, {"path": path, "type": "x.Dense"}])
    with pytest.raises(MwSError, match=r"modules.json: needs .*2_Dense', which is outside of the model"):
        transplant_directory(model, larger, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[]", r"config.json: not a JSON object of settings"),
        ('{"model_type": "llama", "vocab_size": "x"}', r"repair .*config.json or config.json"),
    ],
)
def test_a_damaged_config_is_named(model, larger, tmp_path, content, says):
    """The settings of the model are damaged, not those of the tokenizer next to them."""
    (model / "config.json").write_text(content, encoding="utf-8")
    with pytest.raises(MwSError, match=says):
        transplant_directory(model, larger, tmp_path / "new")


def test_an_adapter_beside_the_weights_stops_the_command(model, larger, tmp_path):
    write(model / "adapter_config.json", {"peft_type": "LORA", "base_model_name_or_path": "x"})
    with pytest.raises(MwSError, match=r"adapter_config.json: transformers loads this adapter .*merge_and_unload"):
        transplant_directory(model, larger, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_adapters_in_folders_follow_unless_they_name_ids(model, larger, tmp_path, caplog):
    adapters = {
        "vision-lora": {"peft_type": "LORA", "trainable_token_indices": None},
        "words-lora": {"peft_type": "LORA", "trainable_token_indices": [3, 5]},
        "words-only": {"peft_type": "TRAINABLE_TOKENS", "token_indices": [3, 5]},
    }
    for name, settings in adapters.items():
        write(model / name / "adapter_config.json", settings)
        save_file({"q.lora_A.weight": torch.ones(2, 16)}, model / name / "adapter_model.safetensors")
    transplant_directory(model, larger, tmp_path / "new")
    assert (
        load_file(tmp_path / "new/vision-lora/adapter_model.safetensors") and "words-lora/, words-only/;" in caplog.text
    )
    assert not any((tmp_path / "new" / name).exists() for name in ("words-lora", "words-only"))


def test_an_adapter_in_memory_that_trains_single_tokens_is_named(model, larger):
    held = AutoModelForCausalLM.from_pretrained(model)
    old, new = (AutoTokenizer.from_pretrained(place) for place in (model, larger))
    for given in ({"trainable_token_indices": {"embed_tokens": [3]}}, {"token_indices": [3]}):
        held.peft_config = {"mine": SimpleNamespace(**given)}
        with pytest.raises(MwSError, match=f"'mine' has {next(iter(given))}"):
            transplant(held, old, new)


def test_an_adapter_in_memory_with_norms_of_the_embeddings_is_named(model, larger):
    held = AutoModelForCausalLM.from_pretrained(model)
    held.peft_config = {"mine": SimpleNamespace(use_dora=True)}
    old, new = (AutoTokenizer.from_pretrained(place) for place in (model, larger))
    transplant(held, old, new)  # DoRA on other layers is allowed
    embeddings = held.get_input_embeddings()
    embeddings.lora_embedding_A = torch.nn.ParameterDict({"mine": torch.nn.Parameter(torch.zeros(2, len(old)))})
    with pytest.raises(MwSError, match="'mine' applies DoRA to the embeddings"):
        transplant(held, old, new)


HEADERS = {
    "long": struct.pack("<Q", 16 << 30) + b"{}",
    "beyond the format": struct.pack("<Q", 100_000_001) + b" " * 100,
    "list": b"[1]",
    "deep": b"[" * 100_000,
    "no offsets": b'{"a": {"dtype": "F32", "shape": [1]}}',
    "offsets beyond": b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 99]}}',
    "more elements": b'{"a": {"dtype": "F32", "shape": [1000000000000000000000, 9], "data_offsets": [0, 4]}}',
    "negative": b'{"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}',
    "shape of text": b'{"a": {"dtype": "F32", "shape": "ab", "data_offsets": [0, 4]}}',
    "no object": b'{"a": 5}',
    "no type": b'{"a": {"dtype": 4, "shape": [1], "data_offsets": [0, 4]}}',
    "not UTF-8": b'{"\xff": 1}',
    "empty": b"",
}


@pytest.mark.parametrize("kind", HEADERS)
def test_a_damaged_header_is_an_error_with_the_file(model, tmp_path, kind):
    content = HEADERS[kind]
    if content[:1] in b"{[" and content:
        content = struct.pack("<Q", len(content)) + content + b"\0" * 4
    file = model / index_of(model)["weight_map"]["model.norm.weight"]
    file.write_bytes(content)
    with pytest.raises(MwSError, match="not a readable .safetensors file"):
        read_tensor_header(file)
    done = mws("check", model)
    assert done.returncode == 1 and file.name in done.stdout


@pytest.mark.parametrize(
    "content", [[], {}, {"weight_map": []}, {"weight_map": {"a": None}}, {"weight_map": {"a": [1]}, "metadata": 3}]
)
def test_a_damaged_index_is_an_error_with_the_file(model, larger, tmp_path, content):
    write(model / INDEX, content)
    with pytest.raises(MwSError, match=INDEX):
        transplant_directory(model, larger, tmp_path / "new")
    assert mws("check", model).returncode == 1
