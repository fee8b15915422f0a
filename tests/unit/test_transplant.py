"""Models with an extended tokenizer: old embeddings stay bit for bit, shards are streamed, configs are consistent.

Modules: commands/transplant.py, surgery/base.py, surgery/checkpoint.py, surgery/embeddings.py, surgery/mixtures.py,
surgery/model_tables.py.
"""

# ruff: noqa: E402  (without torch the tests are skipped before anything that needs it is imported)

import json
import math
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.examples import thorough
from tests.paths import ROOT

torch = pytest.importorskip("torch")
pytest.importorskip("accelerate")

import transformers
from lm.data import Codec
from lm.scoring import bits_per_byte
from lm.training import pretrain
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoTokenizer,
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForMaskedLM,
    BertForTokenClassification,
    Gemma3nForCausalLM,
    Gemma3nTextConfig,
    Gemma4ForCausalLM,
    Gemma4TextConfig,
    GenerationConfig,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    M2M100Config,
    PhiConfig,
    PhiForCausalLM,
    PreTrainedTokenizerFast,
    RobertaConfig,
    T5Config,
    T5ForConditionalGeneration,
)

from mws_hf import MwSError
from mws_hf.check import check
from mws_hf.corpus.counting import count_documents
from mws_hf.surgery.base import open_base, read_ids
from mws_hf.surgery.checkpoint import transplant_directory
from mws_hf.surgery.embeddings import transplant
from mws_hf.surgery.extension import extend
from mws_hf.surgery.ids import SIZES as IDS_SIZES
from mws_hf.surgery.mixtures import INITS, Spelling, mix_rows, quieted
from mws_hf.surgery.model_tables import read_shards
from mws_hf.surgery.trim import trim
from mws_hf.text.symbols import BYTE_CHARACTERS
from mws_hf.tokenizer.backend import base_vocab, build_backend
from tests.in_process import mws
from tests.processes import python
from tests.small_bases import (
    ENGLISH,
    SPECIAL,
    gemma_like,
    gpt2_like,
    llama2_like,
    llama3_like,
    metaspace_like,
    russian,
    save,
    turkish,
)
from tests.small_language import sentences, small_run, tokenizer_dir, train_steps, write_corpus

N_OLD, N_NEW = max(llama3_like().get_vocab().values()) + 1, 60
SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folders of a base and of its extension."""
    place = tmp_path_factory.mktemp("transplant")
    base = save(llama3_like(), place / "base", eos_token=SPECIAL[1], pad_token=SPECIAL[2])
    counts = count_documents(russian() + turkish(), workers=1)
    extend(base, counts, N_NEW).save(place / "larger", base)
    return place


def make(folder, name, *, rows=N_OLD, tied=True, dtype=torch.bfloat16, shard="30KB", kind="llama", base=None):
    """Save a random model with `rows` embeddings in shards, and the tokenizer of the folder `base`."""
    torch.manual_seed(1)
    ids = {"bos_token_id": N_OLD - 3, "eos_token_id": [N_OLD - 2, N_OLD - 1], "pad_token_id": None}
    if kind == "llama":
        model = LlamaForCausalLM(LlamaConfig(vocab_size=rows, tie_word_embeddings=tied, **SIZES, **ids))
    elif kind == "gpt2":
        model = GPT2LMHeadModel(GPT2Config(vocab_size=rows, n_embd=32, n_layer=2, n_head=2, **ids))
    else:  # an output bias
        model = PhiForCausalLM(PhiConfig(vocab_size=rows, **SIZES, **ids))
        torch.nn.init.normal_(model.lm_head.bias)
    model = model.to(dtype)
    with torch.no_grad():
        model.get_input_embeddings().weight[5] = -0.0  # equals 0, but has different bits
    model.generation_config = GenerationConfig(**{**ids, "temperature": 0.6, "do_sample": True})
    directory = folder / name
    model.save_pretrained(directory, max_shard_size=shard)
    AutoTokenizer.from_pretrained(base or folder / "base").save_pretrained(directory)
    (directory / "LICENSE").write_text("terms", encoding="utf-8")
    return directory, model


def tensors(directory: Path) -> dict:
    return {name: load_file(directory / file)[name] for name, file in read_shards(directory)[0].items()}


@pytest.fixture(scope="module")
def surgeries(folder):
    """The maps of ids for an extended tokenizer, a trimmed one, and one that was trimmed and extended."""
    smaller = trim(open_base(folder / "base"), ENGLISH[:2], keep_size=340)
    smaller.save(folder / "trimmed", folder / "base")
    both = extend(smaller.trimmed_base, count_documents(russian(), workers=1), 30)
    both.save(folder / "both", folder / "base")
    return {name: read_ids(folder / name / "ids.json") for name in ("larger", "trimmed", "both")}


def renamed(old, new, ids):
    """Return the old id of each kept token by its new id, after comparing the tokens."""
    kept = {number: index for index, number in ids.items() if number is not None}
    assert all(old.convert_ids_to_tokens(index) == new.convert_ids_to_tokens(number) for number, index in kept.items())
    return kept


@pytest.mark.parametrize("name", ["larger", "trimmed", "both"])
@pytest.mark.parametrize(
    ("kind", "tied", "dtype", "rows", "init", "expected"),
    [
        ("llama", True, torch.bfloat16, N_OLD, "mean", (N_OLD + N_NEW, 340, 370)),  # no padding
        # padding is used for new tokens, as with Qwen
        ("llama", False, torch.float32, N_OLD + 25, "quiet", (N_OLD + N_NEW, 340, 370)),
        ("llama", False, torch.float16, 640, "mean", (640, 384, 384)),  # more padding than needed; a multiple of 128
        ("gpt2", True, torch.float32, 448, "quiet", (512, 384, 384)),  # rounded up to a multiple of 64
        ("phi", False, torch.bfloat16, 512, "mean", (512, 512, 512)),  # rounded up to a multiple of 256
    ],
)
def test_rows_follow_the_map_and_padding_its_rule_in_files_as_in_memory(
    folder, surgeries, tmp_path, name, kind, tied, dtype, rows, init, expected
):
    """The row of a kept token equals that of its old id bit for bit, in every matrix and in the output bias."""
    shard = "1GB" if rows == 640 else "30KB"
    directory, model = make(folder, f"{name}-{kind}-{rows}", rows=rows, tied=tied, dtype=dtype, kind=kind, shard=shard)
    report = transplant_directory(directory, folder / name, tmp_path / "new", init)
    before, after = tensors(directory), tensors(tmp_path / "new")
    old, new = (AutoTokenizer.from_pretrained(place) for place in (directory, tmp_path / "new"))
    size = dict(zip(("larger", "trimmed", "both"), expected, strict=True))[name]
    assert report.special + report.copied + report.mixed + report.fallback == len(new) == size - report.padding
    kept = renamed(old, new, surgeries[name])
    assert len(kept) == (N_OLD if name == "larger" else 340) <= report.copied + report.special
    assert before.keys() == after.keys() and (len(set(read_shards(directory)[0].values())) > 1) == (shard == "30KB")
    resized = [key for key in before if before[key].shape[0] == rows]
    assert len(resized) == {"llama": 2 - tied, "gpt2": 1, "phi": 3}[kind]
    for key in before:
        one, other = (list(kept), list(kept.values())) if key in resized else (slice(None), slice(None))
        assert torch.equal(_bits(after[key][one]), _bits(before[key][other])), key
        assert after[key].dtype == dtype and (key not in resized or len(after[key]) == size)
    changed = AutoModelForCausalLM.from_pretrained(tmp_path / "new", dtype="auto")
    assert changed.config.vocab_size == size and not (tmp_path / "new" / "ids.json").exists()
    assert changed.config.bos_token_id == new.convert_tokens_to_ids(SPECIAL[0])
    assert changed.generation_config.eos_token_id == new.convert_tokens_to_ids(list(SPECIAL[1:]))
    twin, _ = transplant(model, old, new, init)
    assert all(torch.equal(one, other) for one, other in zip(changed.parameters(), twin.parameters(), strict=True))


@pytest.mark.parametrize("nested", [False, True])
def test_a_config_without_the_size_of_the_vocabulary_gets_it(folder, tmp_path, nested):
    """transformers 4 leaves defaults of the class out of nested configs, as in Gemma 3."""
    directory, _ = make(tmp_path, "model", base=folder / "base")
    settings = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    del settings["vocab_size"]
    settings = {"model_type": "gemma3", "text_config": settings} if nested else settings
    (directory / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    transplant_directory(directory, folder / "larger", tmp_path / "new")
    written = json.loads((tmp_path / "new" / "config.json").read_text(encoding="utf-8"))
    assert (written["text_config"] if nested else written)["vocab_size"] == N_OLD + N_NEW
    assert "vocab_size" not in json.loads((tmp_path / "new" / "generation_config.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("nested", [False, True])
def test_ids_that_a_config_leaves_out_follow(tmp_path, nested):
    """Without them, the model would take the defaults of its class, which are ids of the old tokenizer."""
    old = save(llama2_like(), tmp_path / "model", bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    settings = LlamaConfig(vocab_size=len(llama2_like().get_vocab()), **SIZES)
    assert (settings.bos_token_id, settings.eos_token_id) == (1, 2)
    LlamaForCausalLM(settings).save_pretrained(old)
    written = json.loads((old / "config.json").read_text("utf-8"))
    for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
        del written[name]
    written = {"model_type": "llava", "text_config": written} if nested else written
    (old / "config.json").write_text(json.dumps(written), encoding="utf-8")
    special = ["<pad>", "<end>", "<s>"]
    backend = build_backend(base_vocab(special), [], special_tokens=special)
    new = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="<end>", pad_token="<pad>")
    new.save_pretrained(tmp_path / "new")
    transplant_directory(old, tmp_path / "new", tmp_path / "out")
    config = AutoConfig.from_pretrained(tmp_path / "out")
    assert (config.get_text_config().bos_token_id, config.get_text_config().eos_token_id) == (2, 1)
    assert not nested or config.image_token_index == 32000  # this id was not a token of the old tokenizer, either


def test_code_of_a_model_is_neither_run_nor_offered(folder, tmp_path, monkeypatch):
    """In a terminal, transformers would ask whether to run a config class that the folder of a model defines."""
    directory, _ = make(tmp_path, "model", base=folder / "base")
    settings = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    settings["auto_map"] = {"AutoConfig": "configuration_own.OwnConfig"}
    settings["model_type"] = "own"
    (directory / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    (directory / "configuration_own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()", encoding="utf-8")
    monkeypatch.setattr("builtins.input", lambda question: pytest.fail(question))
    transplant_directory(directory, folder / "larger", tmp_path / "new")
    assert json.loads((tmp_path / "new" / "config.json").read_text("utf-8"))["auto_map"] == settings["auto_map"]
    assert not (tmp_path / "ran").exists()


def test_an_id_without_which_a_model_cannot_be_loaded_must_have_a_token(tmp_path):
    """An example is the id of images, which must be a number in transformers 5."""
    old = Tokenizer.from_str(metaspace_like().to_str())
    old.add_special_tokens(["<image>"])
    image = old.token_to_id("<image>")
    LlamaForCausalLM(LlamaConfig(vocab_size=image + 1, **SIZES)).save_pretrained(tmp_path / "model")
    file = tmp_path / "model" / "config.json"
    part = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({"model_type": "llava", "text_config": part, "image_token_index": image}), "utf-8")
    save(old, tmp_path / "model")
    for name, special in (("without", ["<pad>"]), ("with", ["<pad>", "<image>"])):
        save(build_backend(base_vocab(special), [], special_tokens=special), tmp_path / name)
    if int(transformers.__version__.partition(".")[0]) >= 5:
        with pytest.raises(MwSError, match="cannot load this model without image_token_index"):
            transplant_directory(tmp_path / "model", tmp_path / "without", tmp_path / "out")
        assert not (tmp_path / "out").exists()
    transplant_directory(tmp_path / "model", tmp_path / "with", tmp_path / "out")
    assert AutoConfig.from_pretrained(tmp_path / "out").image_token_index == 1


def test_a_token_with_a_role_follows_wherever_its_id_is(tmp_path):
    """T5 begins an answer with its pad token; BERT's padding row is that of its pad token."""
    base = PreTrainedTokenizerFast(tokenizer_object=metaspace_like(), pad_token="<unk>", eos_token="</s>")
    roles = {"pad_token": "<fill>", "eos_token": "<end>"}
    new = PreTrainedTokenizerFast(
        tokenizer_object=build_backend(base_vocab([*roles.values()]), [], special_tokens=[*roles.values()]), **roles
    )
    sizes = {"vocab_size": len(base), "d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    ids = {"pad_token_id": 0, "decoder_start_token_id": 0, "eos_token_id": [2]}
    model = T5ForConditionalGeneration(T5Config(**sizes, **ids))
    model.save_pretrained(tmp_path / "model")
    for tokenizer, name in ((base, "model"), (new, "new")):
        tokenizer.save_pretrained(tmp_path / name)
    transplant_directory(tmp_path / "model", tmp_path / "new", tmp_path / "out")
    for name in ("config.json", "generation_config.json"):
        config = json.loads((tmp_path / "out" / name).read_text("utf-8"))
        assert [config[field] for field in ids] == [0, 0, [1]]
    changed, _ = transplant(BertForMaskedLM(BertConfig(vocab_size=len(base), pad_token_id=0, **SIZES)), base, new)
    assert changed.get_input_embeddings().padding_idx == new.pad_token_id == changed.config.pad_token_id


@pytest.mark.parametrize("kind", ["bart", "tagger"])
def test_a_model_with_named_labels_keeps_them(tmp_path, kind):
    """The config.json of every BART model has them, and that of most classifiers."""
    base = PreTrainedTokenizerFast(tokenizer_object=metaspace_like(), pad_token="<unk>", eos_token="</s>")
    new = PreTrainedTokenizerFast(tokenizer_object=build_backend(base_vocab([]), []))
    labels = {0: "noun", 1: "verb", 2: "other"}
    if kind == "bart":
        sizes = {"d_model": 16, "max_position_embeddings": 32, "encoder_layers": 1, "decoder_layers": 1}
        sizes |= {f"{side}_{name}": 2 for side in ("encoder", "decoder") for name in ("attention_heads", "ffn_dim")}
        model = BartForConditionalGeneration(BartConfig(vocab_size=len(base), id2label=labels, **sizes))
    else:
        model = BertForTokenClassification(BertConfig(vocab_size=len(base), id2label=labels, **SIZES))
    for part, name in ((model, "model"), (base, "model"), (new, "new")):
        part.save_pretrained(tmp_path / name)
    transplant_directory(tmp_path / "model", tmp_path / "new", tmp_path / "out")
    config = AutoConfig.from_pretrained(tmp_path / "out")
    assert config.id2label == labels and config.vocab_size == len(new)
    assert type(model).from_pretrained(tmp_path / "out").get_input_embeddings().num_embeddings == len(new)


@pytest.mark.parametrize("config", [RobertaConfig, M2M100Config])
def test_the_padding_id_from_which_a_model_numbers_positions_must_stay(tmp_path, config):
    """With another one, the model would add the embeddings of other positions to every token."""
    base = PreTrainedTokenizerFast(tokenizer_object=metaspace_like(), pad_token="<s>", eos_token="</s>")
    assert base.pad_token_id == 1
    names = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1} if config is M2M100Config else SIZES
    model = AutoModel.from_config(config(vocab_size=len(base), pad_token_id=1, eos_token_id=2, **names))
    model.save_pretrained(tmp_path / "model")
    base.save_pretrained(tmp_path / "model")
    for special, message in (["<fill>"], "pad_token_id 0"), (["<end>"], "no pad token"), (["<end>", "<fill>"], None):
        backend = build_backend(base_vocab(special), [], special_tokens=special)
        roles = {"pad_token": "<fill>"} if "<fill>" in special else {}
        new = PreTrainedTokenizerFast(tokenizer_object=backend, **roles)
        new.save_pretrained(tmp_path / "new")
        if message is None:
            transplant_directory(tmp_path / "model", tmp_path / "new", tmp_path / "out")
            changed, _ = transplant(model, base, new)
            assert AutoConfig.from_pretrained(tmp_path / "out").pad_token_id == changed.config.pad_token_id == 1
            continue
        for work in (
            lambda: transplant_directory(tmp_path / "model", tmp_path / "new", tmp_path / "out"),
            lambda new=new: transplant(model, base, new),
        ):
            with pytest.raises(MwSError, match=f"{message}; give a tokenizer whose pad token has id 1"):
                work()
        assert not (tmp_path / "out").exists()


def test_a_beginning_that_the_new_tokenizer_lacks_is_named(folder, tmp_path, caplog):
    directory, _ = make(folder, "no-beginning")
    transplant_directory(directory, tokenizer_dir(tmp_path, "mws", 345), tmp_path / "new")
    assert json.loads((tmp_path / "new" / "config.json").read_text("utf-8"))["bos_token_id"] is None
    assert "config.json: bos_token_id has the id of a token that the new tokenizer lacks" in caplog.text


def test_words_of_a_word_piece_tokenizer_spell_tokens_with_a_space():
    vocab = {token: number for number, token in enumerate(["[UNK]", "walk", "##ing", "w", "##a"])}
    old = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    old.pre_tokenizer, old.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    spelling = Spelling(old)
    assert [spelling.spell(piece) for piece in (b" walk", b"walk", b" walking", b" wa")] == [[1], [1], [1, 2], [3, 4]]
    assert spelling.spell(b" ") == spelling.spell(b" xy") == []


class WithHead(LlamaForCausalLM):
    """A class of a user, whose instances cannot be created from only a config."""

    def __init__(self, config, width):
        super().__init__(config)
        self.more = torch.nn.Linear(config.hidden_size, width)


def test_a_model_in_memory_keeps_what_was_made_of_it(folder):
    model = WithHead(LlamaConfig(vocab_size=N_OLD, tie_word_embeddings=True, pad_token_id=N_OLD - 1, **SIZES), 3)
    model.lm_head.weight = torch.nn.Parameter(2 * model.lm_head.weight.detach())  # no longer tied
    model.model.layers[0].requires_grad_(False)
    model.get_input_embeddings().requires_grad_(False)
    model.register_parameter("scale", torch.nn.Parameter(torch.ones(2)))
    model.eval().gradient_checkpointing_enable()
    old, new = (AutoTokenizer.from_pretrained(folder / name) for name in ("base", "larger"))
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    changed, _ = transplant(model, old, new)
    assert torch.equal(torch.rand(1), expected)  # no random numbers were drawn
    given, found = (dict(each.named_parameters()) for each in (model, changed))
    assert {name: each.requires_grad for name, each in found.items()} == {
        name: each.requires_grad for name, each in given.items()
    }
    assert torch.equal(found["lm_head.weight"][:N_OLD], given["lm_head.weight"])
    assert torch.equal(found["model.embed_tokens.weight"][:N_OLD], given["model.embed_tokens.weight"])
    assert changed.is_gradient_checkpointing and not changed.training
    sizes = changed.config.vocab_size, changed.vocab_size, changed.lm_head.out_features, changed.model.config.vocab_size
    assert set(sizes) == {len(new)} == {changed.get_input_embeddings().num_embeddings}
    assert len(given["lm_head.weight"]) == model.config.vocab_size == N_OLD


def _bits(tensor):
    return tensor.contiguous().view(torch.uint8)


def test_a_new_embedding_is_the_mean_of_the_embeddings_of_the_old_tokens(folder, tmp_path):
    directory, _ = make(folder, "means", dtype=torch.float32)
    transplant_directory(directory, folder / "larger", tmp_path / "new", "mean", 1)
    before = tensors(directory)["model.embed_tokens.weight"]
    after = tensors(tmp_path / "new")["model.embed_tokens.weight"]
    old, new = (AutoTokenizer.from_pretrained(place) for place in (directory, tmp_path / "new"))
    assert len(after) == len(new) == N_OLD + N_NEW
    checked = 0
    for index in range(N_OLD, N_OLD + N_NEW):
        text = new.decode([index])
        if "\ufffd" not in text:
            pieces = old(text, add_special_tokens=False)["input_ids"]
            assert torch.allclose(after[index], before[pieces].mean(0), atol=1e-6)
            checked += 1
    assert checked > 40


def test_quiet_is_half_the_old_tokens_and_half_the_bytes_that_no_text_has(folder, tmp_path):
    directory, model = make(folder, "quiet", dtype=torch.float32, tied=False)
    old, new = (AutoTokenizer.from_pretrained(place) for place in (directory, folder / "larger"))
    in_texts = set(b"".join(chr(point).encode() for point in range(0x110000) if not 0xD800 <= point < 0xE000))
    never = [old.convert_tokens_to_ids(each) for byte, each in enumerate(BYTE_CHARACTERS) if byte not in in_texts]
    given, found = model.lm_head.weight, transplant(model, old, new, "quiet")[0].lm_head.weight
    assert len(never) == 13 and torch.equal(found[:N_OLD], given)
    text = next(text for text in map(new.decode, range(N_OLD, N_OLD + N_NEW)) if "\ufffd" not in text)
    pieces = old(text, add_special_tokens=False)["input_ids"]
    expected = given[pieces].mean(0) / 2 + given[never].mean(0) / 2
    assert torch.allclose(found[new(text, add_special_tokens=False)["input_ids"][0]], expected, atol=1e-6)
    with pytest.raises(MwSError, match="single bytes, which the old one lacks"):
        quieted([([0, 1], [0.5, 0.5])], Spelling(Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))))


def test_configs_index_and_other_files_fit(folder, tmp_path):
    directory, _ = make(folder, "configs", tied=False)
    transplant_directory(directory, folder / "larger", tmp_path / "new")
    read = lambda name: [json.loads((place / name).read_text("utf-8")) for place in (directory, tmp_path / "new")]  # noqa: E731
    old, new = read("config.json")
    assert new == {**old, "vocab_size": N_OLD + N_NEW}
    old, new = read("generation_config.json")
    assert new == old and new["eos_token_id"] == [N_OLD - 2, N_OLD - 1]
    old, new = read("model.safetensors.index.json")
    assert new["weight_map"] == old["weight_map"]
    assert new["metadata"]["total_size"] == sum(tensor.nbytes for tensor in tensors(tmp_path / "new").values())
    assert (tmp_path / "new" / "LICENSE").read_text("utf-8") == "terms"
    assert (tmp_path / "new" / "tokenizer.json").read_bytes() == (folder / "larger" / "tokenizer.json").read_bytes()


FOREIGN = ("tekken_v2.json", "tiktoken.model", "qwen.tiktoken", "spiece.model", "sentencepiece.bpe.model", "vocab.txt")


def test_no_vocabulary_of_another_program_stays_beside_a_new_tokenizer(folder, tmp_path):
    """No such file is copied from the model or the new tokenizer, and those in the output folder are removed."""
    directory, _ = make(folder, "foreign")
    larger = shutil.copytree(folder / "larger", tmp_path / "larger")
    (tmp_path / "new").mkdir()
    for place in (directory, larger, tmp_path / "new"):
        for name in FOREIGN:
            (place / name).write_bytes(b"old")
    transplant_directory(directory, larger, tmp_path / "new")
    extend(directory, count_documents(russian(), workers=1), 5).save(tmp_path / "new" / "more", directory)
    trim(open_base(directory), ENGLISH[:2], keep_size=350).save(tmp_path / "new" / "less", directory)
    assert not [file.name for name in FOREIGN for file in (tmp_path / "new").rglob(name)]


@thorough
def test_a_trained_model_keeps_its_english(folder, tmp_path):
    """Right after the extension, a trained model needs at most half a percent more bits per byte of English."""
    directory, model = make(folder, "trained", dtype=torch.float32, shard="1GB")
    codec = Codec.open(directory)
    train_steps(model, codec, ENGLISH * 10, 240, context_bytes=300, rate=5e-3)
    model.save_pretrained(directory)
    transplant_directory(directory, folder / "larger", tmp_path / "new")
    larger = AutoModelForCausalLM.from_pretrained(tmp_path / "new")
    before = bits_per_byte(model.eval(), codec, ENGLISH, 300).value
    after = bits_per_byte(larger.eval(), Codec.open(tmp_path / "new"), ENGLISH, 300).value
    assert before < 1.5 and before <= after < 1.005 * before


@pytest.fixture(scope="module")
def trained(folder):
    """A byte-level BPE model that has learned a small language."""
    tokenizer = tokenizer_dir(folder, "bpe-byte", 330)
    pretrain(small_run(tokenizer, write_corpus(folder), train_bytes=80_000), folder / "run")
    return folder / "run" / "model"


@pytest.mark.parametrize(("kind", "init"), zip(["mws", "bpe-character"], INITS, strict=True))
def test_with_a_tokenizer_of_another_family_a_model_is_far_below_random_at_once_and_recovers(
    trained, folder, init, kind
):
    model, directory = AutoModelForCausalLM.from_pretrained(trained).eval(), tokenizer_dir(folder, kind, 345)
    old, new = (AutoTokenizer.from_pretrained(place) for place in (trained, directory))
    changed, report = transplant(model, old, new, init)
    codec, held_out = Codec.open(directory), sentences(40, seed=77)
    assert report.special + report.copied + report.mixed + report.fallback == len(new) == changed.config.vocab_size
    assert report.copied > 30 and report.mixed > 5
    for role in ("eos_token_id", "pad_token_id"):
        given, made = (each.get_input_embeddings().weight for each in (model, changed))
        assert torch.equal(made[getattr(new, role)], given[getattr(old, role)])
        assert getattr(changed.config, role) in (None, getattr(new, role))

    torch.manual_seed(5)
    before, _ = measured(model, Codec.open(trained), held_out)
    at_once, perplexity = measured(changed, codec, held_out)
    assert perplexity < measured(LlamaForCausalLM(changed.config), codec, held_out)[1] / 5
    train_steps(changed, codec, sentences(400, seed=3), 30, context_bytes=160, rate=3e-3)
    assert measured(changed, codec, held_out)[0] < before + 0.5 * (at_once - before)


def measured(model, codec, documents):
    """Return the bits per byte and the perplexity per token."""
    scores = bits_per_byte(model.eval(), codec, documents, 160)
    return scores.value, math.exp(scores.nats.sum() / sum(map(len, scores.token_nats)))


_MEASURE = """
import resource, sys
from pathlib import Path
from mws_hf.surgery.checkpoint import transplant_directory
small, large, tokenizer, out = map(Path, sys.argv[1:])
transplant_directory(small, tokenizer, out / "small")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
transplant_directory(large, tokenizer, out / "large")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in KiB on Linux alone")
def test_memory_contains_only_the_embeddings(folder, tmp_path):
    """For a model of 190 MB in five shards, the process grows by less than a quarter of this size."""
    small, _ = make(folder, "small")
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=N_OLD, hidden_size=256, intermediate_size=30000, num_hidden_layers=2, num_attention_heads=2,
        tie_word_embeddings=False,
    )  # fmt: skip
    model, large = LlamaForCausalLM(config), tmp_path / "large"
    model.save_pretrained(large, max_shard_size="40MB")
    AutoTokenizer.from_pretrained(folder / "base").save_pretrained(large)
    size = sum(file.stat().st_size for file in large.glob("*.safetensors"))
    assert size > 150 << 20 and len(list(large.glob("*.safetensors"))) >= 4
    done = python(_MEASURE, small, large, folder / "larger", tmp_path / "out", check=True)
    grown = int(done.stdout.strip().splitlines()[-1]) << 10
    print(f"{size >> 20} MiB of weights, {grown >> 20} MiB more memory")
    assert grown < size / 4
    after = tensors(tmp_path / "out" / "large")
    assert all(torch.equal(after[n], t) for n, t in tensors(large).items() if t.shape[0] != N_OLD)


def test_a_tokenizer_of_another_family_is_still_taken(folder, tmp_path):
    directory, _ = make(folder, "other")
    target = tokenizer_dir(tmp_path, "mws", 345)
    report = transplant_directory(directory, target, tmp_path / "new")
    new, config = (json.loads((tmp_path / "new" / f"{n}config.json").read_text("utf-8")) for n in ("", "generation_"))
    tokenizer = AutoTokenizer.from_pretrained(target)
    ends = [tokenizer.eos_token_id, tokenizer.pad_token_id]  # the base ends a text with its pad token, too
    assert new["eos_token_id"] == config["eos_token_id"] == ends and new["vocab_size"] == len(tokenizer)
    assert report.copied > 30
    if (ROOT / "model_cards").is_dir():  # not in the source distribution
        transplant_directory(directory, "mws-ru-morphs-8k", tmp_path / "ready")
        assert len(AutoTokenizer.from_pretrained(tmp_path / "ready")) == 8000


def test_the_command(folder, tmp_path):
    directory, _ = make(folder, "command")
    done = mws("transplant", directory, folder / "larger", "-o", tmp_path / "new", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["copied"] + told["special"] == N_OLD
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "new").config.vocab_size == N_OLD + N_NEW
    for arguments, message in (
        ([directory, folder / "larger", "-o", directory], "overwritten"),
        ([folder / "base", folder / "larger", "-o", tmp_path / "x"], "so it has no weights of a model"),
        ([folder / "larger", directory, "-o", tmp_path / "x"], "so it has no weights of a model"),
        ([directory, folder / "nothing", "-o", tmp_path / "x"], "no such folder"),
        ([directory, folder / "larger", "-o", tmp_path / "x", "--init", "magic"], "invalid choice: 'magic'"),
    ):
        done = mws("transplant", *arguments)
        assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr
        assert not (tmp_path / "x").exists()


GEMMA = {
    **{"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "head_dim": 8},
    **{"num_key_value_heads": 1, "hidden_size_per_layer_input": 4, "num_kv_shared_layers": 0, "bos_token_id": 1},
    "layer_types": ["sliding_attention", "full_attention"],
}


def layered(kind, rows, short):
    """Return a small model with a separate table of `short` rows for each layer, and the name of the table."""
    torch.manual_seed(2)
    if kind == "gemma3n":
        more = {"laurel_rank": 4, "altup_num_inputs": 2, "activation_sparsity_pattern": [0.0, 0.0]}
        config = Gemma3nTextConfig(vocab_size=rows, vocab_size_per_layer_input=short, **GEMMA, **more)
        model = Gemma3nForCausalLM(config)
    elif kind == "gemma4":
        model = Gemma4ForCausalLM(Gemma4TextConfig(vocab_size=rows, vocab_size_per_layer_input=short, **GEMMA))
    else:  # a table with three axes, which no known model has
        model = LlamaForCausalLM(LlamaConfig(vocab_size=rows, **SIZES))
        model.model.register_parameter("lookup", torch.nn.Parameter(torch.randn(2, rows, 3)))
        return model.eval(), "model.lookup"
    return model.eval(), "model.embed_tokens_per_layer.weight"


@pytest.mark.parametrize("name", ["trimmed", "both", "larger"])
@pytest.mark.parametrize(("kind", "short"), [("gemma3n", N_OLD), ("gemma3n", 400), ("gemma4", N_OLD), ("own", N_OLD)])
def test_tables_of_single_layers_follow(folder, surgeries, tmp_path, name, kind, short):
    """A kept token reads the same row as before in each table, so logits stay the same; every id has a row."""
    model, table = layered(kind, N_OLD, short)
    directory = tmp_path / "model"
    model.save_pretrained(directory)
    AutoTokenizer.from_pretrained(folder / "base").save_pretrained(directory)
    transplant_directory(directory, folder / name, tmp_path / "new")
    assert ("warning" in [each.level for each in check(directory).findings if each.trap == "rows"]) == (short < N_OLD)
    assert "rows" not in {each.trap for each in check(tmp_path / "new").findings}
    old, new = (AutoTokenizer.from_pretrained(place) for place in (directory, tmp_path / "new"))
    if kind == "own":
        before, after = (tensors(place)[table] for place in (directory, tmp_path / "new"))
        assert all(torch.equal(after[:, b], before[:, a]) for a, b in surgeries[name].items() if b is not None)
        assert after.shape == (2, len(new), 3)
    changed = AutoModelForCausalLM.from_pretrained(tmp_path / "new").eval()
    twin = changed if kind == "own" else transplant(model, old, new)[0]
    assert all(getattr(changed.config, size, len(new)) == len(new) for size in IDS_SIZES)
    assert all(getattr(twin.config, size, len(new)) == len(new) for size in IDS_SIZES)
    kept = [token for token in new.get_vocab() if token in old.get_vocab()]
    ids = [tokenizer.convert_tokens_to_ids(kept) for tokenizer in (old, new)]
    with torch.inference_mode():
        read = lambda each, numbers: each(torch.tensor([numbers])).logits[0]  # noqa: E731
        given, found, other = read(model, ids[0]), read(changed, ids[1]), read(twin, ids[1])
        assert torch.allclose(given[:, ids[0]], found[:, ids[1]], atol=1e-5)
        assert torch.allclose(found, other, atol=1e-6)
        assert changed(torch.tensor([[len(new) - 1]])).logits.shape[-1] == len(new)


def with_tensors(directory, more):
    """Add tensors to the file of a model's weights, as tools do that keep tensors which transformers leaves out."""
    held = load_file(directory / "model.safetensors")
    save_file({**held, **more}, directory / "model.safetensors", {"format": "pt"})


def test_heads_of_layers_that_predict_further_tokens_follow_in_the_files(folder, surgeries, tmp_path):
    directory, _ = make(folder, "further", dtype=torch.float32, shard="1GB")
    names = [f"model.layers.2.{name}" for name in ("embed_tokens.weight", "shared_head.head.weight")]
    names += ["medusa_head.0.1.weight", "model.layers.2.eh_proj.weight"]
    with_tensors(directory, {name: torch.randn(N_OLD if n < 3 else 32, 32) for n, name in enumerate(names)})
    before = tensors(directory)
    transplant_directory(directory, folder / "trimmed", tmp_path / "new")
    after = tensors(tmp_path / "new")
    for name in names[:3]:
        for old, new in surgeries["trimmed"].items():
            assert new is None or torch.equal(after[name][new], before[name][old])
        assert len(after[name]) == len(after["model.embed_tokens.weight"])
    assert torch.equal(after[names[3]], before[names[3]])
    assert check(tmp_path / "new").ok
    # as a tool would write it that does not change this tensor
    with_tensors(tmp_path / "new", {names[0]: before[names[0]]})
    found = [finding.message for finding in check(tmp_path / "new").findings if finding.trap == "rows-config"]
    assert len(found) == 1 and "transplant" in found[0] and "config.json" not in found[0].partition("vocab_size")[2]


@pytest.mark.parametrize(
    ("name", "tensor", "reason"),
    [
        ("lm_head.qweight", torch.zeros((8, N_OLD), dtype=torch.int32), "quantized"),
        ("model.layers.0.mlp.gate.tid2eid", torch.zeros((N_OLD, 2), dtype=torch.int64), "ids"),
        ("model.layers.0.mlp.side_proj.weight", torch.zeros((N_OLD, 32)), "by chance"),
        ("draft.lm_head.weight", torch.zeros((N_OLD - 20, 32)), "have different numbers of rows"),
    ],
)
def test_a_tensor_by_vocabulary_that_cannot_follow_is_named(folder, tmp_path, name, tensor, reason):
    directory, _ = make(folder, f"named-{name}", dtype=torch.float32, shard="1GB")
    with_tensors(directory, {name: tensor})
    with pytest.raises(MwSError, match=f"{name}.*{reason}"):
        transplant_directory(directory, folder / "larger", tmp_path / "new")
    assert not (tmp_path / "new").exists() and name in str(check(directory).findings)


def test_ids_that_tables_of_images_begin_at_are_rejected(folder, tmp_path):
    directory, _ = make(folder, "offset")
    config = json.loads((directory / "config.json").read_text("utf-8"))
    config["vision_config"] = {"vocab_size": 16, "vocab_offset": N_OLD}
    (directory / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(MwSError, match="vocab_offset.*only the text model"):
        transplant_directory(directory, folder / "larger", tmp_path / "new")


@pytest.mark.parametrize("shard", ["1GB", "20KB"])
def test_a_model_without_its_settings_is_rejected(folder, tmp_path, shard):
    directory, _ = make(folder, f"no-settings-{shard}", dtype=torch.float32, shard=shard)
    (directory / "config.json").unlink()
    with pytest.raises(MwSError, match=r"no config\.json"):
        transplant_directory(directory, folder / "larger", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_unsuitable_arguments_are_rejected_with_the_reason(folder, surgeries, tmp_path):
    directory, model = make(folder, "unfit")
    with pytest.raises(MwSError, match="choose one of mean, quiet"):
        transplant(model, None, None, "magic")
    backend = Tokenizer.from_file(str(directory / "tokenizer.json"))
    with pytest.raises(MwSError, match="object is not a fast tokenizer"):
        transplant(model, object(), backend, "mean")
    with pytest.raises(MwSError, match="pad_to_multiple=2.5 is not a whole number"):
        transplant(model, backend, backend, pad_to_multiple=2.5)
    with pytest.raises(MwSError, match="str is not a model of transformers; .*transplant_directory"):
        transplant(str(directory), backend, backend)
    few, _ = make(folder, "few", rows=N_OLD - 9)
    other = tmp_path / "other"
    shutil.copytree(folder / "trimmed", other)
    ids = {str(old): new for old, new in surgeries["trimmed"].items()}
    first, second = [old for old, new in ids.items() if new is not None][300:302]
    swapped = {**ids, first: ids[second], second: ids[first]}
    for content, model, message in (
        (swapped, directory, "a different base"),
        ({"0": 0}, directory, "maps 1 ids but the model's tokenizer has"),
        ({**ids, first: ids[second]}, directory, "both become"),
        ({**ids, first: 10**30}, directory, "is not a pair of ids"),
        ({**ids, str(10**30): 0}, directory, "is not a pair of ids"),
        (ids, few, f"has {N_OLD - 9} rows of embeddings, but its tokenizer has {N_OLD} ids"),
    ):
        (other / "ids.json").write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(MwSError, match=message):
            transplant_directory(model, other, tmp_path / "new")
        assert not (tmp_path / "new").exists()


def test_check_compares_embeddings_with_ids(folder, tmp_path):
    exact, _ = make(folder, "exact")
    assert not check(exact).facts.get("embedding_rows")
    assert not {"rows", "rows-config", "vocab-size"} & {finding.trap for finding in check(exact).findings}
    directory, _ = make(folder, "checked", rows=N_OLD + 25)
    assert "last 25 have no token" in check(directory).facts["embedding_rows"]
    assert not {"rows", "rows-config", "vocab-size"} & {finding.trap for finding in check(directory).findings}
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(folder / "larger" / name, directory / name)
    found = {finding.trap for finding in check(directory).findings}
    assert {"rows", "vocab-size"} <= found and "rows-config" not in found
    config = json.loads((directory / "config.json").read_text("utf-8"))
    (directory / "config.json").write_text(json.dumps({**config, "vocab_size": 600}), encoding="utf-8")
    assert "rows-config" in {finding.trap for finding in check(directory).findings}


@pytest.mark.parametrize("make", [llama3_like, gpt2_like, llama2_like, gemma_like, metaspace_like])
@pytest.mark.parametrize("piece", [" walk", "walking", "жук", "ж", " ж", "¶¶", "ж".encode()[:1]])
def test_old_tokens_spell_a_new_token_byte_for_byte(make, piece):
    """The result is empty if a base cannot spell the token; all other results have its bytes, without a word mark."""
    spelling = Spelling(make())
    wanted = piece if isinstance(piece, bytes) else piece.encode()
    found = spelling.spell(wanted)
    assert found and b"".join(spelling.pieces[index] for index in found) == wanted


def test_a_tokenizer_with_a_marker_for_capitals_spells_words_as_it_writes_them():
    merges = [("Ġ", "w"), ("e", "l"), (".", "Ď")]
    old = build_backend(base_vocab((), (), merges, BYTE_CHARACTERS), merges, capitals="WЖ")
    spelling = Spelling(old)
    expected = {" Wel": ["Ď", "Ġw", "el"], "WEL": ["W", "E", "L"], ".\x0e": [".Ď"], "\x0eel": ["Ď", "el"]}
    expected["Ж"] = ["Ď", "Ð", "¶"]
    for text, tokens in expected.items():
        assert [old.id_to_token(index) for index in spelling.spell(text.encode())] == tokens


def state_of(directory: Path) -> dict:
    """Return the content, mode and modification time of each file, and the target of each link."""
    return {
        str(path.relative_to(directory)): (
            os.readlink(path) if path.is_symlink() else path.is_file() and path.read_bytes(),
            path.lstat().st_mode,
            path.lstat().st_mtime_ns,
        )
        for path in [directory, *directory.rglob("*")]
    }


@pytest.mark.parametrize(("name", "init"), [("larger", "mean"), ("trimmed", "quiet"), ("both", "mean")])
def test_the_folders_that_are_read_stay_byte_for_byte_whether_it_works_or_not(folder, surgeries, tmp_path, name, init):
    directory, _ = make(tmp_path, "model", tied=name == "both", base=folder / "base")
    (directory / "1_Pooling").mkdir()
    (directory / "1_Pooling" / "config.json").write_text("{}", encoding="utf-8")
    (directory / "terms.txt").symlink_to("LICENSE")
    (directory / "model.bin").write_bytes(b"of the old vocabulary")
    before = state_of(directory), state_of(folder / name)
    assert mws("transplant", directory, folder / name, "--init", init, "-o", tmp_path / "new").returncode == 0
    assert (state_of(directory), state_of(folder / name)) == before
    for place in (directory, folder / name):  # even if the command should overwrite this folder
        assert mws("transplant", directory, folder / name, "-o", place, "--force").returncode == 2
        assert (state_of(directory), state_of(folder / name)) == before, place
    for place in (directory, folder / name):
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(place)
        with pytest.raises(MwSError, match="would be overwritten"):
            transplant_directory(directory, folder / name, tmp_path / "link", init)
        assert (state_of(directory), state_of(folder / name)) == before, place
    shard = next(directory.glob("*.safetensors"))
    shard.write_bytes(shard.read_bytes()[:-1000])
    before = state_of(directory), state_of(folder / name)
    assert mws("transplant", directory, folder / name, "-o", tmp_path / "other").returncode == 2
    assert (state_of(directory), state_of(folder / name)) == before


def test_a_role_that_the_old_tokenizer_lacks_begins_as_its_end_token():
    backend = Tokenizer.from_str(llama3_like().to_str())
    backend.add_special_tokens(["<mask>"])
    old = PreTrainedTokenizerFast(tokenizer_object=llama3_like(), eos_token=SPECIAL[1])
    new = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=SPECIAL[1], mask_token="<mask>")
    mixtures, report = mix_rows(old, new, "mean", len(old), None)
    assert mixtures[new.mask_token_id] == ([old.eos_token_id], [1.0]) and report.fallback == 0


def test_a_token_with_a_word_mark_begins_at_the_space_that_the_mark_replaces(folder):
    places = tokenizer_dir(folder, "bpe-byte", 330), tokenizer_dir(folder, "sentencepiece-unigram", 380)
    old, new = map(AutoTokenizer.from_pretrained, places)
    mixtures, _ = mix_rows(old, new, "mean", len(old), None)
    marked = [token for token in new.get_vocab() if token.startswith("▁") and len(token) > 1]
    for token in marked:
        pieces = old(" " + token[1:], add_special_tokens=False)["input_ids"]
        assert mixtures[new.convert_tokens_to_ids(token)] == (pieces, [pytest.approx(1 / len(pieces))] * len(pieces))
    assert len(marked) > 20


@pytest.mark.parametrize(("place", "role"), [("config", "pad"), ("file", "pad"), ("file", None)])
def test_an_added_token_without_a_row_gets_one_with_a_warning(folder, tmp_path, caplog, place, role):
    """Examples are a pad token only in the config, or one in tokenizer.json with another name or without a role."""
    directory, _ = make(folder, f"rowless-{place}-{role}", dtype=torch.float32)
    if place == "config":
        file = directory / "tokenizer_config.json"
        config = json.loads(file.read_text("utf-8"))
        file.write_text(json.dumps({**config, "pad_token": "<|fill|>"}), encoding="utf-8")
    else:
        old = AutoTokenizer.from_pretrained(directory)
        old.add_tokens(["<|fill|>"], special_tokens=True)
        old.pad_token = "<|fill|>" if role else old.pad_token
        old.save_pretrained(directory)
    extend(directory, count_documents(russian(), workers=1), 20).save(tmp_path / "larger", directory)
    trim(open_base(directory), ENGLISH[:2], keep_size=340).save(tmp_path / "trimmed", directory)
    before = tensors(directory)["model.embed_tokens.weight"]
    for name, size in (("larger", N_OLD + 21), ("trimmed", 340)):
        caplog.clear()
        transplant_directory(directory, tmp_path / name, tmp_path / f"{name}-model")
        assert "has no embedding for '<|fill|>'" in caplog.text and "train the model before" in caplog.text
        new, after = AutoTokenizer.from_pretrained(tmp_path / f"{name}-model"), tensors(tmp_path / f"{name}-model")
        after = after["model.embed_tokens.weight"]
        assert after.shape[0] == len(new) == size and (new.pad_token == "<|fill|>") == (role == "pad")
        row = before[N_OLD - 2] if role else before.mean(0)  # a token with a role gets the row of the end token
        assert torch.allclose(after[new.convert_tokens_to_ids("<|fill|>")], row, atol=1e-6)
        kept = read_ids(tmp_path / name / "ids.json")
        assert all(torch.equal(after[n], before[o]) for o, n in kept.items() if n is not None and o < N_OLD)


def test_a_damaged_shard_is_named_and_nothing_is_written(folder, tmp_path):
    directory, _ = make(folder, "damaged")
    shards = read_shards(directory)[0]
    file = directory / shards["model.embed_tokens.weight"]
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(MwSError, match=file.name):
        transplant_directory(directory, folder / "larger", tmp_path / "new")
    assert not (tmp_path / "new").exists()
