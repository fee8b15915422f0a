"""Bits per byte against hand calculations on toy models, its independence of batching, and the paired bootstrap."""

# ruff: noqa: E402  (without torch the tests are skipped before anything that needs it is imported)

import math
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from lm.data import Codec
from lm.scoring import (
    Window,
    bits_per_byte,
    passes,
    score_groups,
    windows_of,
    word_forms,
)
from transformers import LlamaConfig, LlamaForCausalLM

from mws_hf.errors import MwSError
from mws_hf.evaluate.significance import paired_bootstrap
from tests.small_language import sentences, tokenizer_dir


class Toy(torch.nn.Module):
    """P(next = current) = 1/2, the other half spread evenly: a model one can compute with by hand."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = torch.nn.Parameter(torch.tensor(float(size)))

    def forward(self, input_ids):
        size = int(self.size)
        rest = math.log(0.5 / (size - 1))
        logits = torch.full((*input_ids.shape, size), rest)
        logits.scatter_(2, input_ids[..., None], math.log(0.5))
        return SimpleNamespace(logits=logits + 7.0)


@pytest.fixture(scope="module")
def codec(tmp_path_factory):
    return Codec.open(tokenizer_dir(tmp_path_factory.mktemp("tokenizers"), "characters"))


@pytest.fixture(scope="module")
def llama(codec):
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=codec.vocabulary_size,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
    )
    return LlamaForCausalLM(config).eval()


def test_equals_a_hand_calculation(codec):
    size = codec.vocabulary_size
    scores = bits_per_byte(Toy(size), codec, ["ддом", "漢"], 100)
    # ддом: only the second letter repeats the one before; 漢: three byte tokens, E6 BC A2
    surprise = math.log(2 * (size - 1))
    assert scores.nats == pytest.approx([math.log(2) + 3 * surprise, 3 * surprise])
    assert scores.n_bytes.tolist() == [8, 3]
    assert scores.value == pytest.approx((math.log(2) + 6 * surprise) / (11 * math.log(2)))
    assert scores.lossless


def test_equals_an_independent_loop(codec, llama):
    documents = sentences(5)
    scores = bits_per_byte(llama, codec, documents, 1000)
    for document, nats in zip(documents, scores.nats, strict=True):
        ids = [codec.separator, *codec.encode([document])[0].tolist()]
        with torch.no_grad():
            log_p = llama(torch.tensor([ids])).logits[0].double().log_softmax(-1)
        expected = -sum(float(log_p[place, ids[place + 1]]) for place in range(len(ids) - 1))
        assert nats == pytest.approx(expected, rel=1e-5)


def test_batch_size_does_not_matter(codec, llama):
    documents = [*sentences(13), " ".join(sentences(9))]
    results = [bits_per_byte(llama, codec, documents, 80, batch_size=size) for size in (1, 3, 64)]
    for other in results[1:]:
        assert other.nats == pytest.approx(results[0].nats, rel=1e-5)
        assert [len(part) for part in other.token_nats] == [len(part) for part in results[0].token_nats]


@pytest.mark.parametrize("kind", ["bpe-character", "characters", "bpe-byte"])
def test_windows_score_every_token_once_within_the_context(kind, tmp_path):
    codec = Codec.open(tokenizer_dir(tmp_path, kind))
    documents = [" ".join(sentences(20, seed)) for seed in range(3)]
    encoded = codec.encode(documents)
    context = 64
    for index, ids in enumerate(encoded):
        windows = [window for window in windows_of(codec, encoded, context) if window.document == index]
        assert np.concatenate([window.ids[-window.scored :] for window in windows]).tolist() == ids.tolist()
        assert all(codec.lengths[window.ids].sum() <= context for window in windows)
        # all but the first see half of the context before what they score, less than one token
        spare = int(codec.lengths.max())
        for window in windows[1:]:
            assert codec.lengths[window.ids[: -window.scored]].sum() >= context // 2 - 2 * spare


def test_only_represented_documents_count(tmp_path):
    codec = Codec.open(tokenizer_dir(tmp_path, "wordpiece"))
    documents = ["дом стол", "дом漢, стол"]
    scores = bits_per_byte(Toy(codec.vocabulary_size), codec, documents, 100)
    assert scores.represented.tolist() == [True, False] and not scores.lossless
    assert scores.value == pytest.approx(scores.nats[0] / (math.log(2) * 15))
    with pytest.raises(MwSError, match="gives no document back"):
        _ = bits_per_byte(Toy(codec.vocabulary_size), codec, documents[1:], 100).value


def test_words_by_novelty_add_up(codec):
    document = "Дом, дому кот."
    size = codec.vocabulary_size
    scores = bits_per_byte(Toy(size), codec, [document], 100)
    assert word_forms([document]) == {"дом", "дому", "кот"}
    result = score_groups(scores, codec, [document], {"дом": "seen form", "дому": "unseen form", "кот": "names"})
    surprise = math.log(2 * (size - 1)) / math.log(2)
    assert [result[name].n_bytes for name in ("seen form", "unseen form", "names")] == [6, 9, 7]
    assert result["seen form"].bits_per_byte == pytest.approx(3 * surprise / 6)
    assert result["unseen form"].bits_per_byte == pytest.approx(5 * surprise / 9)
    assert result["names"].words == 1


def test_the_paired_interval_is_narrower_than_the_spread_of_documents():
    generator = np.random.default_rng(0)
    sizes = generator.integers(50, 500, 400)
    base = sizes * generator.normal(1.0, 0.3, 400)
    better = base - 0.01 * sizes + generator.normal(0, 0.5, 400)
    result = paired_bootstrap([better], [base], sizes)
    assert result.value == pytest.approx(-0.01 / math.log(2), abs=5e-4)
    assert result.low < result.value < result.high < 0
    assert result.high - result.low < 0.005
    mirrored = paired_bootstrap([base], [better], sizes)
    assert mirrored.value == pytest.approx(-result.value)
    half = np.arange(400) < 200
    assert paired_bootstrap([better], [base], sizes, represented=half).documents == 200
    with pytest.raises(MwSError, match="same documents"):
        paired_bootstrap([better[:5]], [base], sizes)


def test_seeds_widen_the_interval():
    sizes = np.full(500, 100)
    base = [np.full(500, 100.0), np.full(500, 104.0)]
    result = paired_bootstrap(base, [np.full(500, 100.0)], sizes)
    assert result.low == pytest.approx(0.0) and result.high == pytest.approx(0.04 / math.log(2))


def test_a_large_vocabulary_is_scored_in_smaller_passes():
    """32 windows of 600 ids times 32,000 entries would be 2.5 GB of scores, in several copies."""
    lengths = [1, 600, 599, 30, 8, 600, 70_000] * 9
    windows = [Window(0, np.zeros(length, np.int64), 1) for length in lengths]
    for vocabulary in (300, 32_000, 1_000_000):
        groups = list(passes(windows, 32, vocabulary))
        assert sorted(index for group in groups for index in group) == list(range(len(windows)))
        for group in groups:
            longest = max(len(windows[index].ids) for index in group)
            assert len(group) <= 32
            assert len(group) == 1 or len(group) * longest * vocabulary <= 1 << 26
    assert len(list(passes(windows, 32, 1))) == 2  # 63 windows, nothing but their number to bound them
