"""Tokenizer transplant: a tiny model trained here keeps what it knows under another tokenizer."""

# ruff: noqa: E402  (without torch the tests are skipped before anything that needs it is imported)

import math

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("accelerate")

from lm.data import Codec
from lm.scoring import bits_per_byte
from lm.training import pretrain
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

from mws_hf.errors import MwSError
from mws_hf.extend.embeddings import INITS, transplant
from tests.small_language import sentences, small_run, tokenizer_dir, train_steps, write_corpus


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("transplant")


@pytest.fixture(scope="module")
def old(folder):
    """A byte-level BPE model that has learnt the language."""
    tokenizer = tokenizer_dir(folder, "bpe-byte", 330)
    pretrain(small_run(tokenizer, write_corpus(folder), train_bytes=80_000), folder / "run")
    return folder / "run" / "model"


def _random_like(model):
    torch.manual_seed(5)
    return LlamaForCausalLM(model.config).eval()


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("kind", ["mws", "bpe-character"])
def test_far_below_random_at_once_and_recovers(old, folder, init, kind):
    directory = tokenizer_dir(folder, kind, 345)
    model = AutoModelForCausalLM.from_pretrained(old).eval()
    new_tokenizer = AutoTokenizer.from_pretrained(directory)
    changed, report = transplant(model, AutoTokenizer.from_pretrained(old), new_tokenizer, init)
    codec, held_out = Codec.open(directory), sentences(40, seed=77)
    assert changed.get_input_embeddings().weight.shape[0] == codec.vocabulary_size
    assert report.special + report.copied + report.mixed + report.fallback == codec.vocabulary_size
    assert report.copied > 30 and report.mixed > 5

    before, _ = measure(model, Codec.open(old), held_out)
    at_once, perplexity = measure(changed, codec, held_out)
    _, random = measure(_random_like(changed), codec, held_out)
    assert perplexity < random / 5
    train_steps(changed, codec, sentences(800, seed=3), 60, context_bytes=160, rate=3e-3)
    recovered, _ = measure(changed, codec, held_out)
    assert recovered < before + 0.5 * (at_once - before)


def measure(model, codec, documents):
    """Bits per byte, and perplexity per token."""
    scores = bits_per_byte(model.eval(), codec, documents, 160)
    return scores.value, math.exp(scores.nats.sum() / sum(map(len, scores.token_nats)))


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_ties_dtype_and_special_tokens_are_kept(folder, tied, dtype):
    source = tokenizer_dir(folder, "bpe-byte", 330)
    target = tokenizer_dir(folder, "sentencepiece-unigram", 380)
    tokenizers = [AutoTokenizer.from_pretrained(path) for path in (source, target)]
    options = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    size = len(tokenizers[0])
    named = {role: getattr(tokenizers[0], role) for role in ("eos_token_id", "pad_token_id")}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=size, tie_word_embeddings=tied, **named, **options)).to(dtype)
    kept = model.get_input_embeddings().weight.clone()
    changed, report = transplant(model, *tokenizers, "mean")
    given, made = model.get_input_embeddings().weight, changed.get_input_embeddings().weight
    outputs = model.get_output_embeddings().weight, changed.get_output_embeddings().weight
    assert torch.equal(given, kept), "the model given is left as it is"
    assert made.dtype == dtype and (outputs[1] is made) == tied
    for role in ("eos_token_id", "pad_token_id"):
        ids = [getattr(tokenizer, role) for tokenizer in tokenizers]
        assert torch.equal(made[ids[1]], given[ids[0]]) and torch.equal(outputs[1][ids[1]], outputs[0][ids[0]])
        assert getattr(changed.config, role) == ids[1]
    assert changed.config.vocab_size == len(made) and report.special >= 2
    # " а" is a token of its own bytes in both: ▁а here, Ġ + two byte characters there, or pieces of it
    ids = Codec.open(source).encode([" а"])[0]
    row = tokenizers[1].convert_tokens_to_ids("▁а")
    if row != tokenizers[1].unk_token_id:
        expected = given[ids].float().mean(0).to(dtype)
        assert torch.allclose(made[row].float(), expected.float(), atol=1e-2)


def test_to_its_own_tokenizer_nothing_changes(old):
    model = AutoModelForCausalLM.from_pretrained(old)
    tokenizer = AutoTokenizer.from_pretrained(old)
    for init in INITS:
        changed, report = transplant(model, tokenizer, tokenizer, init)
        rows = len(tokenizer)
        assert torch.equal(changed.get_input_embeddings().weight, model.get_input_embeddings().weight[:rows])
        assert report.mixed == 0


def test_mistakes_are_named(old):
    model = AutoModelForCausalLM.from_pretrained(old)
    with pytest.raises(MwSError, match="choose one of mean, quiet"):
        transplant(model, None, None, "magic")
    with pytest.raises(MwSError, match="slow"):
        transplant(model, object(), Tokenizer.from_file(str(old / "tokenizer.json")), "mean")
